/* SPDX-License-Identifier: Apache-2.0
 * Synthetic tasks with targets at chosen words: every example against the definition of its task,
 * read from the words alone; every input of small sizes drawn, as many as the closed form counts;
 * chances of places against closed forms. */
#include "testing.h"

#include "synthetic/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 512, WITHOUT = -1 };

static oa_context *context;

/* ---- examples ---- */

struct sequence {
    const long *size;
    long count, word[MOST_WORDS], target[MOST_WORDS];
};
typedef void sequence_check(const struct sequence *s);

static long read_words(const char *text, long *out)
{
    long n = 0;
    char *copy = strdup(text), *rest = NULL;
    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        assert_true(n < MOST_WORDS);
        out[n++] = strcmp(w, "-") == 0 ? WITHOUT : atol(w);
    }
    free(copy);
    return n;
}

struct checked {
    struct oa_synthetic_plan plan;
    sequence_check *check;
    long count;
};

static enum oa_error check_example(void *argument, const struct oa_example *e)
{
    struct checked *k = argument;
    struct sequence s = { .size = k->plan.size };
    s.count = read_words(e->input.s, s.word);
    assert_int_equal(read_words(e->output.s, s.target), s.count);
    assert_int_equal(e->words, s.count);
    assert_in_range(s.count, s.size[OA_LEAST], s.size[OA_MOST]);
    k->check(&s);
    k->count++;
    return OA_OK;
}

static void check_task(const char *task, const long size[OA_SIZES], long count,
                       sequence_check *check)
{
    struct checked k = { .check = check };
    struct oa_drawing *d;
    const long examples[OA_DATA_SETS] = { count, 0, 0 };
    assert_int_equal(oa_synthetic_make_plan(context, task, size, examples, 5, &k.plan), OA_OK);
    assert_int_equal(oa_drawing_open(context, &k.plan, &d), OA_OK);
    assert_int_equal(oa_drawing_part(d, OA_TRAIN_SET, check_example, &k), OA_OK);
    assert_int_equal(k.count, count);
    oa_drawing_close(d);
}

/* All examples of a data set are different, so as many as there are inputs are all of them; one
 * more is refused. */
static void check_all(const char *task, const long size[OA_SIZES], long inputs,
                      sequence_check *check)
{
    struct oa_synthetic_plan plan;
    const char *why;
    const long more[OA_DATA_SETS] = { inputs + 1, 0, 0 };
    check_task(task, size, inputs, check);
    assert_int_equal(oa_synthetic_make_plan(context, task, size, more, 5, &plan), OA_ARGUMENT);
    oa_last_error(context, &why);
    assert_non_null(strstr(why, "distinct examples"));
    oa_clear_error(context);
}

/* ---- MQAR ---- */

static long asked_at[MOST_WORDS], contradictions;

static void check_mqar(const struct sequence *s, bool clean)
{
    long pairs = s->size[OA_PAIRS], half = s->size[OA_ALPHABET] / 2, targets = 0;
    for (long i = 0; i < pairs; i++) {
        assert_in_range(s->word[2 * i], 1, half - 1);
        assert_in_range(s->word[2 * i + 1], half, s->size[OA_ALPHABET] - 1);
        for (long k = 0; k < i; k++)
            assert_true(s->word[2 * k] != s->word[2 * i] &&
                        s->word[2 * k + 1] != s->word[2 * i + 1]);
    }
    for (long t = 0; t < s->count; t++) {
        long bound = WITHOUT;
        assert_in_range(s->word[t], 0, s->size[OA_ALPHABET] - 1);
        for (long i = 0; i < pairs && t >= 2 * pairs; i++)
            bound = s->word[2 * i] == s->word[t] ? s->word[2 * i + 1] : bound;
        if (s->target[t] != WITHOUT) { /* each key once, at an even place, and its value */
            assert_true(t >= 2 * pairs && t % 2 == 0 && s->target[t] == bound);
            asked_at[(t - 2 * pairs) / 2]++;
            targets++;
        } else if (bound != WITHOUT) {
            assert_false(clean);
            contradictions++;
        }
    }
    assert_int_equal(targets, pairs);
}

static void check_clean_mqar(const struct sequence *s)
{
    check_mqar(s, true);
}

static void check_zoology_mqar(const struct sequence *s)
{
    check_mqar(s, false);
}

static void mqar_asks_for_each_key_once(void **state)
{
    (void)state;
    check_task("mqar", (const long[OA_SIZES]){ 0 }, 500, check_clean_mqar);
    check_task("mqar",
               (const long[OA_SIZES]){
                   [OA_LEAST] = 40, [OA_MOST] = 128, [OA_ALPHABET] = 41, [OA_PAIRS] = 10 },
               500, check_clean_mqar);
    /* 1 key of 1, 1 value of 2, 1 gap, 1 word of 3; two gaps and 3 words of 3; both lengths */
    check_all(
        "mqar",
        (const long[OA_SIZES]){ [OA_LEAST] = 4, [OA_MOST] = 4, [OA_ALPHABET] = 4, [OA_PAIRS] = 1 },
        2 * 3, check_clean_mqar);
    check_all(
        "mqar",
        (const long[OA_SIZES]){ [OA_LEAST] = 4, [OA_MOST] = 6, [OA_ALPHABET] = 4, [OA_PAIRS] = 1 },
        2 * 3 + 2 * 2 * 27, check_clean_mqar);
}

/* The published filler: of the words that are no key of a pair, 1 in V is one key, so of T − 3·n
 * words n in V. */
static void published_filler_contradicts_pairs(void **state)
{
    enum { EXAMPLES = 4000, LENGTH = 16, PAIRS = 2, WORDS = 20 };
    (void)state;
    contradictions = 0;
    check_task(
        "mqar-zoology",
        (const long[OA_SIZES]){
            [OA_LEAST] = LENGTH, [OA_MOST] = LENGTH, [OA_ALPHABET] = WORDS, [OA_PAIRS] = PAIRS },
        EXAMPLES, check_zoology_mqar);
    double all = EXAMPLES * (LENGTH - 3 * PAIRS), chance = (double)PAIRS / WORDS;
    assert_true(fabs((double)contradictions - all * chance) <
                4 * sqrt(all * chance * (1 - chance)));
}

/* Of one pair the gap g has the chance (1/(g + 1)) / Σ 1/k. */
static void gaps_are_inversely_likely(void **state)
{
    enum { EXAMPLES = 20000, GAPS = 15 };
    (void)state;
    double sum = 0, chi = 0;
    memset(asked_at, 0, sizeof asked_at);
    check_task("mqar",
               (const long[OA_SIZES]){
                   [OA_LEAST] = 32, [OA_MOST] = 32, [OA_ALPHABET] = 100, [OA_PAIRS] = 1 },
               EXAMPLES, check_clean_mqar);
    for (int g = 0; g < GAPS; g++)
        sum += 1.0 / (g + 1);
    for (int g = 0; g < GAPS; g++) {
        double wanted = EXAMPLES / (g + 1) / sum;
        chi += pow((double)asked_at[g] - wanted, 2) / wanted;
    }
    assert_true(chi < 55); /* 14 degrees of freedom exceed it once in a million */
}

/* ---- recall ---- */

static void check_recall(const struct sequence *s)
{
    long keys = s->size[OA_ALPHABET] / 2, value[MOST_WORDS], pairs = 0;
    for (long k = 0; k < keys; k++)
        value[k] = WITHOUT;
    for (long t = 0; t < s->count; t += 2) {
        long key = s->word[t], next = s->word[t + 1];
        assert_int_equal(s->target[t + 1], WITHOUT);
        if (key >= s->size[OA_ALPHABET]) {
            assert_in_range(next, s->size[OA_ALPHABET],
                            s->size[OA_ALPHABET] + s->size[OA_NOISE_WORDS] - 1);
            assert_int_equal(s->target[t], WITHOUT);
            assert_true(t + 2 < s->count);
            continue;
        }
        assert_in_range(key, 0, keys - 1);
        assert_in_range(next, keys, s->size[OA_ALPHABET] - 1);
        assert_int_equal(s->target[t], value[key]);
        assert_true(value[key] == WITHOUT || value[key] == next);
        value[key] = next;
        pairs++;
    }
    assert_true(pairs >= 2 && s->target[s->count - 2] != WITHOUT);
}

static void recall_has_the_first_value(void **state)
{
    (void)state;
    check_task("context-recall", (const long[OA_SIZES]){ 0 }, 300, check_recall);
    check_task("noisy-recall", (const long[OA_SIZES]){ 0 }, 300, check_recall);
    /* Two pairs: 2 keys, 2 values. Three: (2·2)·1·1 with one key, 2·2·2 orders with two keys of
     * which the last repeats either: keys 2, values 4, last 2. */
    check_all("context-recall",
              (const long[OA_SIZES]){ [OA_LEAST] = 4, [OA_MOST] = 4, [OA_ALPHABET] = 4 }, 4,
              check_recall);
    check_all("context-recall",
              (const long[OA_SIZES]){ [OA_LEAST] = 6, [OA_MOST] = 6, [OA_ALPHABET] = 4 },
              4 + 2 * 4 * 2, check_recall);
    /* With noise of one word: three pairs are as before, or noise is first or second: 2·4. */
    check_all("noisy-recall",
              (const long[OA_SIZES]){ [OA_LEAST] = 6,
                                      [OA_MOST] = 6,
                                      [OA_ALPHABET] = 4,
                                      [OA_NOISE] = 50,
                                      [OA_NOISE_WORDS] = 1 },
              20 + 2 * 4, check_recall);
}

static long noisy_pairs, all_pairs;

static void count_noise(const struct sequence *s)
{
    for (long t = 0; t < s->count; t += 2)
        noisy_pairs += s->word[t] >= s->size[OA_ALPHABET];
    all_pairs += s->count / 2 - 2; /* but the last and the one that never is */
}

static void noise_has_its_share(void **state)
{
    (void)state;
    noisy_pairs = all_pairs = 0;
    check_task("noisy-recall", (const long[OA_SIZES]){ 0 }, 1000, count_noise);
    double all = (double)all_pairs;
    assert_true(fabs((double)noisy_pairs - 0.2 * all) < 4 * sqrt(all * 0.2 * 0.8));
}

/* ---- fuzzy recall: the motifs are read from the words ---- */

struct motif {
    long first, words;
};

static struct motif motif_at(const struct sequence *s, long at, bool key)
{
    struct motif m = { at, 0 };
    while (at < s->count && (s->word[at] < s->size[OA_ALPHABET] / 2) == key)
        m.words++, at++;
    assert_in_range(m.words, 1, s->size[OA_MOTIF]);
    return m;
}

static bool equal_motifs(const struct sequence *s, struct motif a, struct motif b)
{
    return a.words == b.words &&
           memcmp(s->word + a.first, s->word + b.first, (size_t)a.words * sizeof *s->word) == 0;
}

static void check_fuzzy(const struct sequence *s)
{
    struct motif key[MOST_WORDS], value[MOST_WORDS];
    long at = 0, pairs = 0, targets = 0;
    for (; s->word[at] == s->size[OA_ALPHABET]; at++)
        assert_int_equal(s->target[at], WITHOUT);
    assert_true(at < 2 * s->size[OA_MOTIF]);
    for (; at < s->count; pairs++) {
        bool known = false;
        key[pairs] = motif_at(s, at, true);
        value[pairs] = motif_at(s, at + key[pairs].words, false);
        for (long k = 0; k < pairs; k++)
            if (equal_motifs(s, key[k], key[pairs])) {
                assert_true(equal_motifs(s, value[k], value[pairs]));
                known = true;
            }
        long end = value[pairs].first + value[pairs].words;
        for (; at < end; at++) { /* a target where the next word is one of a known value */
            bool target = known && at + 1 >= value[pairs].first && at + 1 < end;
            assert_int_equal(s->target[at], target ? s->word[at + 1] : WITHOUT);
            targets += target;
        }
    }
    assert_true(targets > 0);
}

static void fuzzy_recall_has_whole_values(void **state)
{
    (void)state;
    check_task("fuzzy-recall", (const long[OA_SIZES]){ 0 }, 500, check_fuzzy);
    check_task(
        "fuzzy-recall",
        (const long[OA_SIZES]){ [OA_LEAST] = 8, [OA_MOST] = 40, [OA_ALPHABET] = 4, [OA_MOTIF] = 2 },
        500, check_fuzzy);
}

/* ---- selective copying, memorisation ---- */

static void check_copying(const struct sequence *s)
{
    long copies = s->size[OA_COPIES], blank = s->size[OA_ALPHABET] - 1, k = 0,
         copy = s->count - copies - 1;
    for (long t = 0; t < s->count; t++) {
        assert_int_equal(s->word[t] == blank - 1, t == copy);
        assert_true((s->target[t] != WITHOUT) == (t > copy));
        assert_true(t <= copy || s->word[t] == blank);
        if (t < copy && s->word[t] != blank)
            assert_int_equal(s->target[copy + 1 + k++], s->word[t]);
    }
    assert_int_equal(k, copies);
}

static void copied_words_are_those_between_blanks(void **state)
{
    (void)state;
    check_task("selective-copy", (const long[OA_SIZES]){ 0 }, 300, check_copying);
    /* 2 of 4 places, 2 words each */
    check_all(
        "selective-copy",
        (const long[OA_SIZES]){ [OA_LEAST] = 7, [OA_MOST] = 7, [OA_ALPHABET] = 4, [OA_COPIES] = 2 },
        6 * 4, check_copying);
}

static long memory_map[MOST_WORDS];

static void check_memory(const struct sequence *s)
{
    long blank = s->size[OA_ALPHABET] - 1, keys = blank / 2;
    for (long t = 0; t < s->count; t += 2) {
        long key = s->word[t], value = s->target[t + 1];
        assert_in_range(key, 0, keys - 1);
        assert_int_equal(s->word[t + 1], blank);
        assert_int_equal(s->target[t], WITHOUT);
        assert_in_range(value, keys, blank - 1);
        assert_true(memory_map[key] == 0 || memory_map[key] == value);
        memory_map[key] = value;
    }
}

/* The map is one for all examples, lengths and seeds, and of more than a few values. */
static void memorised_values_never_change(void **state)
{
    (void)state;
    long different = 0;
    memset(memory_map, 0, sizeof memory_map);
    check_task("memorisation", (const long[OA_SIZES]){ 0 }, 256, check_memory);
    check_task("memorisation", (const long[OA_SIZES]){ [OA_LEAST] = 2, [OA_MOST] = 64 }, 256,
               check_memory);
    for (int k = 0; k < 127; k++) {
        bool first = memory_map[k] > 0;
        for (int i = 0; i < k; i++)
            first = first && memory_map[i] != memory_map[k];
        different += first;
    }
    assert_in_range(different, 60, 100); /* 128 (1 − 1/e) are expected: 81 */
    check_all("memorisation",
              (const long[OA_SIZES]){ [OA_LEAST] = 4, [OA_MOST] = 4, [OA_ALPHABET] = 256 },
              127 * 127, check_memory);
}

/* Two pairs of motifs of 3 words take up to 12 words. */
static void fuzzy_recall_needs_room_for_two_pairs(void **state)
{
    struct oa_synthetic_plan plan;
    const char *why;
    const long one[OA_DATA_SETS] = { 1, 0, 0 };
    long size[OA_SIZES] = { [OA_LEAST] = 12, [OA_MOST] = 20, [OA_ALPHABET] = 4, [OA_MOTIF] = 3 };
    (void)state;
    check_task("fuzzy-recall", size, 20, check_fuzzy);
    size[OA_LEAST] = 11;
    assert_int_equal(oa_synthetic_make_plan(context, "fuzzy-recall", size, one, 1, &plan),
                     OA_ARGUMENT);
    oa_last_error(context, &why);
    assert_non_null(strstr(why, "room for two pairs"));
    oa_clear_error(context);
}

/* 9 words: 0 is filler, 1 to 3 are keys, 4 to 8 values, so that 3 pairs are the most. */
static void pairs_need_a_key_each(void **state)
{
    struct oa_synthetic_plan plan;
    const char *why;
    const long one[OA_DATA_SETS] = { 1, 0, 0 };
    long size[OA_SIZES] = { [OA_LEAST] = 32, [OA_MOST] = 32, [OA_ALPHABET] = 9, [OA_PAIRS] = 3 };
    (void)state;
    check_task("mqar", size, 20, check_clean_mqar);
    size[OA_PAIRS] = 4;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            oa_synthetic_make_plan(context, i ? "mqar" : "mqar-zoology", size, one, 1, &plan),
            OA_ARGUMENT);
        oa_last_error(context, &why);
        assert_non_null(strstr(why, "--pairs exceeds the number of keys"));
        oa_clear_error(context);
    }
}

static void compression_is_refused_with_the_reason(void **state)
{
    struct oa_synthetic_plan plan;
    const char *why;
    const long none[OA_SIZES] = { 0 }, one[OA_DATA_SETS] = { 1, 0, 0 };
    (void)state;
    assert_int_equal(oa_synthetic_make_plan(context, "compression", none, one, 1, &plan),
                     OA_ARGUMENT);
    oa_last_error(context, &why);
    assert_non_null(strstr(why, "by a network of its own"));
    oa_clear_error(context);
}

static int open_all(void **state)
{
    (void)state;
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mqar_asks_for_each_key_once),
        cmocka_unit_test(published_filler_contradicts_pairs),
        cmocka_unit_test(gaps_are_inversely_likely),
        cmocka_unit_test(recall_has_the_first_value),
        cmocka_unit_test(noise_has_its_share),
        cmocka_unit_test(fuzzy_recall_has_whole_values),
        cmocka_unit_test(copied_words_are_those_between_blanks),
        cmocka_unit_test(memorised_values_never_change),
        cmocka_unit_test(fuzzy_recall_needs_room_for_two_pairs),
        cmocka_unit_test(pairs_need_a_key_each),
        cmocka_unit_test(compression_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
