/* SPDX-License-Identifier: Apache-2.0
 * Synthetic tasks: every example against the definition of its task, chances against closed forms,
 * examples all different and always the same. */
#include "testing.h"

#include "synthetic/listops_law.h"
#include "synthetic/synthetic.h"

#include <math.h>
#include <stdio.h>

static oa_context *context;

/* ---- data sets in memory ---- */

enum { MOST = 40000 };

struct set {
    long count, words[MOST], label[MOST];
    char *input[MOST], *output[MOST];
};

static enum oa_error keep(void *argument, const struct oa_example *e)
{
    struct set *s = argument;
    assert_true(s->count < MOST);
    s->input[s->count] = strdup(e->input.s);
    s->output[s->count] = strdup(e->output.s);
    s->words[s->count] = e->words;
    s->label[s->count++] = e->label;
    return OA_OK;
}

static void free_set(struct set *s)
{
    for (long i = 0; i < s->count; i++) {
        free(s->input[i]);
        free(s->output[i]);
    }
    free(s);
}

/* Sizes in the order of enum oa_synthetic_size; 0: the task's. */
static enum oa_error plan_of(const char *task, const long size[OA_SIZES], long train, long valid,
                             long test, uint64_t seed, struct oa_synthetic_plan *plan)
{
    return oa_synthetic_make_plan(context, task, size, (const long[]){ train, valid, test }, seed,
                                  plan);
}

/* The parts in the order test, validation, training, one after another. */
static struct set *drawn(oa_context *c, const char *task, const long size[OA_SIZES],
                         const long examples[OA_DATA_SETS], uint64_t seed)
{
    struct oa_synthetic_plan plan;
    struct oa_drawing *d;
    struct set *s = calloc(1, sizeof *s);
    assert_int_equal(oa_synthetic_make_plan(c, task, size, examples, seed, &plan), OA_OK);
    assert_int_equal(oa_drawing_open(c, &plan, &d), OA_OK);
    for (int part = OA_DATA_SETS; part-- > 0;)
        assert_int_equal(oa_drawing_part(d, (enum oa_synthetic_part)part, keep, s), OA_OK);
    oa_drawing_close(d);
    return s;
}

static struct set *train_only(const char *task, const long size[OA_SIZES], long count)
{
    return drawn(context, task, size, (const long[]){ count, 0, 0 }, 1);
}

/* Draws as they come: what the rule does not take is kept as well, and nothing is drawn again. */
static struct set *raw(const char *task, const long size[OA_SIZES], long count)
{
    struct oa_synthetic_plan plan;
    struct set *s = calloc(1, sizeof *s);
    int32_t *room = calloc(100000, sizeof *room);
    assert_int_equal(plan_of(task, size, 1, 0, 0, 0, &plan), OA_OK);
    for (long i = 0; i < count; i++) {
        struct oa_dice dice = oa_dice_of(oa_stream_child(oa_stream_named(9, "test"), (uint64_t)i));
        struct oa_example e = { .room = room };
        oa_text_init(&e.input, context);
        oa_text_init(&e.output, context);
        if (!plan.task->draw(plan.size, &dice, &e))
            e.label = -1;
        oa_text_add(&e.output, "", 0);
        keep(s, &e);
        oa_text_free(&e.input);
        oa_text_free(&e.output);
    }
    free(room);
    return s;
}

/* ---- words ---- */

/* Cuts a copy of a line into words, which the caller frees as word[-1]. */
static char **words_of(const char *line, long *count)
{
    char *copy = strdup(line), **word = calloc(strlen(line) + 2, sizeof *word), *rest = NULL;
    *count = 0;
    *word++ = copy;
    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        word[(*count)++] = w;
    return word;
}

static void free_words(char **word)
{
    free(word[-1]);
    free(word - 1);
}

/* "a" is 0, "z" 25, "aa" 26: a number in base 26 with digits from 1 on, less 1. */
static long letters(const char *word)
{
    long n = 0;
    for (; *word; word++) {
        assert_true(*word >= 'a' && *word <= 'z');
        n = 26 * n + (*word - 'a' + 1);
    }
    return n - 1;
}

static long number(const char *word)
{
    char *end;
    long n = strtol(word, &end, 10);
    assert_true(*word >= '0' && *word <= '9' && !*end && (word[0] != '0' || !word[1]));
    return n;
}

/* ---- chances ---- */

/* What χ² with k degrees of freedom exceeds once in a million times, by the approximation of Wilson
 * and Hilferty: its third root is normal with the mean 1 - 2/9k, in units of that of k, and the
 * variance 2/9k. */
static double chi_square_bound(double k)
{
    double root = 1 - 2 / (9 * k) + 4.75 * sqrt(2 / (9 * k));
    return k * root * root * root;
}

/* Pearson's χ² of counts against chances. */
static void fits(const long *seen, const double *chance, int classes)
{
    double all = 0, sum = 0, degrees = -1;
    for (int i = 0; i < classes; i++)
        all += (double)seen[i];
    for (int i = 0; i < classes; i++) {
        double wanted = all * chance[i];
        if (wanted <= 0) {
            assert_int_equal(seen[i], 0);
            continue;
        }
        assert_true(wanted > 8);
        sum += ((double)seen[i] - wanted) * ((double)seen[i] - wanted) / wanted;
        degrees++;
    }
    if (sum > chi_square_bound(degrees))
        fail_msg("chi-square is %.1f with %.0f degrees of freedom", sum, degrees);
}

static void fits_uniform(const long *seen, int classes)
{
    double chance[200];
    assert_true(classes <= 200);
    for (int i = 0; i < classes; i++)
        chance[i] = 1.0 / classes;
    fits(seen, chance, classes);
}

static void is_share(long seen, long all, double chance)
{
    double deviation = sqrt((double)all * chance * (1 - chance));
    if (fabs((double)seen - (double)all * chance) > 4 * deviation)
        fail_msg("%ld of %ld, but the chance is %.6f", seen, all, chance);
}

/* With the range 3·2^29 the words of 32 bits fall 2 or 3 to a result, the residues of 3 in turn;
 * those that are one too many must be drawn again. */
static void bounded_integers_are_unbiased(void **state)
{
    (void)state;
    enum { DRAWS = 60000 };
    const long range = 3L << 29;
    struct oa_dice dice = oa_dice_of(oa_stream_named(3, "dice"));
    long seen[3] = { 0 }, small[7] = { 0 }, third[3] = { 0 };
    for (int i = 0; i < DRAWS; i++) {
        long x = oa_dice_below(&dice, range);
        assert_true(x >= 0 && x < range);
        seen[x % 3]++;
        third[x / (range / 3)]++;
        small[oa_dice_between(&dice, -2, 4) + 2]++;
    }
    fits_uniform(seen, 3);
    fits_uniform(third, 3);
    fits_uniform(small, 7);
}

/* The words of a stream, each once: against the blocks of the generator. */
static void every_random_word_is_used(void **state)
{
    (void)state;
    struct oa_stream stream = oa_stream_named(3, "dice");
    struct oa_dice dice = oa_dice_of(stream);
    for (uint64_t block = 0; block < 3; block++) {
        uint32_t word[4];
        oa_random_block(stream, block, word);
        for (int i = 0; i < 4; i++)
            assert_int_equal(oa_dice_word(&dice), word[i]);
    }
}

static void symbols_are_written_as_words(void **state)
{
    (void)state;
    struct oa_text t;
    oa_text_init(&t, context);
    static const long symbol[] = { 0, 25, 26, 27, 701, 702, 9999 };
    for (size_t i = 0; i < sizeof symbol / sizeof *symbol; i++)
        oa_letters_add(&t, symbol[i]);
    oa_number_add(&t, 0);
    oa_number_add(&t, 9999);
    assert_string_equal(t.s, "a z aa ab zz aaa ntp 0 9999");
    assert_int_equal(letters("ntp"), 9999);
    oa_text_free(&t);
}

/* ---- ListOps ---- */

enum { DEEPEST = 16, WIDEST = 10, NOTHING = -1 };

/* What the trees of a set are made of. */
struct shape {
    long node[DEEPEST + 1], leaf[DEEPEST + 1]; /* by level from 1 on */
    long operator[4], children[WIDEST + 1], digit[10];
};

struct open_list {
    int operator;
    int value[WIDEST + 1], count;
};

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int value_of(struct open_list *l)
{
    int sum = 0;
    qsort(l->value, (size_t)l->count, sizeof(int), by_value);
    for (int i = 0; i < l->count; i++)
        sum += l->value[i];
    double middle = l->count % 2 ? l->value[l->count / 2]
                                 : (l->value[l->count / 2 - 1] + l->value[l->count / 2]) / 2.0;
    switch (l->operator) {
    case 0:
        return l->value[0];
    case 1:
        return l->value[l->count - 1];
    case 2:
        return (int)floor(middle);
    default:
        return sum % 10;
    }
}

/* A machine with a stack: the value of a tree, which must be one and whole. */
static int evaluate(const char *text, struct shape *shape, long *count)
{
    static const char *const names[] = { "[MIN", "[MAX", "[MED", "[SM" };
    struct open_list stack[DEEPEST + 1];
    int top = 0, result = NOTHING;
    char **word = words_of(text, count);
    for (long i = 0; i < *count; i++) {
        int which = 0, value = NOTHING;
        assert_int_equal(result, NOTHING); /* nothing follows a whole tree */
        while (which < 4 && strcmp(word[i], names[which]) != 0)
            which++;
        if (which < 4) {
            assert_true(top < DEEPEST);
            stack[top++] = (struct open_list){ .operator= which };
            shape->node[top]++;
            shape->operator[which]++;
            continue;
        }
        if (strcmp(word[i], "]") == 0) {
            assert_true(top > 0);
            shape->children[stack[top - 1].count]++;
            value = value_of(&stack[--top]);
        } else {
            value = (int)number(word[i]);
            assert_in_range(value, 0, 9);
            shape->digit[value]++;
            shape->leaf[top + 1]++;
        }
        if (top == 0)
            result = value;
        else {
            assert_true(stack[top - 1].count < WIDEST);
            stack[top - 1].value[stack[top - 1].count++] = value;
        }
    }
    free_words(word);
    assert_int_not_equal(result, NOTHING);
    return result;
}

static void listops_values_are_those_of_their_trees(void **state)
{
    (void)state;
    static const struct {
        long count, size[OA_SIZES], least, most, depth;
    } sets[] = {
        { 600, { 0 }, 501, 1999, 10 }, /* of the Long Range Arena */
        { 3000, { [OA_LEAST] = 4, [OA_MOST] = 60, [OA_DEPTH] = 4, [OA_ARGUMENTS] = 5 }, 4, 60, 4 },
        { 10, { [OA_LEAST] = 1, [OA_MOST] = 1 }, 1, 1, 1 },
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct shape shape = { .digit = { 0 } };
        struct set *s = train_only("listops", sets[i].size, sets[i].count);
        long longest = 0, shortest = 1 << 20;
        for (long j = 0; j < s->count; j++) {
            long words;
            int value = evaluate(s->input[j], &shape, &words);
            assert_int_equal(value, s->label[j]);
            assert_int_equal(number(s->output[j]), value);
            assert_int_equal(words, s->words[j]);
            assert_in_range(words, sets[i].least, sets[i].most);
            longest = words > longest ? words : longest;
            shortest = words < shortest ? words : shortest;
        }
        for (long level = sets[i].depth; level <= DEEPEST; level++)
            assert_int_equal(shape.node[level], 0);
        assert_true(shortest < sets[i].least + 20 && longest > sets[i].most - 200);
        free_set(s);
    }
    struct shape shape;
    long words;
    assert_int_equal(evaluate("[MED 1 4 [SM 9 9 ] 3 ]", &shape, &words), 3);
    assert_int_equal(evaluate("[MED 1 [MIN 3 2 ] ]", &shape, &words), 1);
}

/* Trees of any length: chances of operators by level, kinds, numbers of children, digits. */
static void listops_trees_have_the_probabilities_of_the_rule(void **state)
{
    (void)state;
    enum { TREES = 12000 };
    struct shape shape = { .digit = { 0 } };
    struct set *s =
        raw("listops", (const long[OA_SIZES]){ [OA_LEAST] = 1, [OA_MOST] = 4096, [OA_DEPTH] = 8 },
            TREES);
    for (long i = 0; i < s->count; i++) {
        long words;
        assert_int_not_equal(s->label[i], -1);
        assert_int_equal(evaluate(s->input[i], &shape, &words), s->label[i]);
    }
    for (int level = 1; level < 8; level++)
        is_share(shape.node[level], shape.node[level] + shape.leaf[level], 0.25);
    assert_int_equal(shape.node[8], 0);
    assert_true(shape.leaf[8] > 1000);
    fits_uniform(shape.operator, 4);
    fits_uniform(shape.children + 2, 9);
    fits_uniform(shape.digit, 10);
    free_set(s);
}

/* The value of an operator over two or three values, added to their chances. */
static void combine(const double *p, int a, int b, int c, double *out)
{
    struct open_list l;
    for (int which = 0; which < 4; which++) {
        l = (struct open_list){ .operator= which, .value = { a, b, c }, .count = c < 0 ? 2 : 3 };
        out[value_of(&l)] += p[a] * p[b] * (c < 0 ? 1 : p[c]) * 0.25 / 4 / 2;
    }
}

/* Labels of trees with two or three arguments and four levels, by going through all of them level
 * by level. */
static void listops_labels_have_the_expected_shares(void **state)
{
    (void)state;
    double p[10], next[10];
    long seen[10] = { 0 };
    for (int i = 0; i < 10; i++)
        p[i] = 0.1;
    for (int level = 3; level >= 1; level--) {
        for (int i = 0; i < 10; i++)
            next[i] = 0.075;
        for (int n = 0; n < 1000; n++) {
            combine(p, n / 100, n / 10 % 10, n % 10, next);
            if (n < 100)
                combine(p, n / 10, n % 10, -1, next);
        }
        memcpy(p, next, sizeof p);
    }
    struct set *s = raw("listops",
                        (const long[OA_SIZES]){
                            [OA_LEAST] = 1, [OA_MOST] = 60, [OA_DEPTH] = 4, [OA_ARGUMENTS] = 3 },
                        MOST);
    for (long i = 0; i < s->count; i++)
        seen[s->label[i]]++;
    fits(seen, p, 10);
    free_set(s);
}

static void assert_near(double x, double wanted)
{
    if (!(fabs(x - wanted) <= 1e-12 * wanted))
        fail_msg("%.17g instead of %.17g", x, wanted);
}

/* Shares and numbers of trees: stored from NumPy 2.4.6 (powers of polynomials by Horner's rule;
 * whole numbers in Python), counted by hand, and against draws. */
static void listops_lengths_have_the_computed_shares(void **state)
{
    (void)state;
    const long arena[OA_SIZES] = {
        [OA_LEAST] = 501, [OA_MOST] = 1999, [OA_DEPTH] = 10, [OA_ARGUMENTS] = 10
    };
    const long middle[OA_SIZES] = {
        [OA_LEAST] = 20, [OA_MOST] = 40, [OA_DEPTH] = 5, [OA_ARGUMENTS] = 4
    };
    const long some[OA_SIZES] = {
        [OA_LEAST] = 5, [OA_MOST] = 15, [OA_DEPTH] = 4, [OA_ARGUMENTS] = 3
    };
    const long two[OA_SIZES] = {
        [OA_LEAST] = 2, [OA_MOST] = 10, [OA_DEPTH] = 3, [OA_ARGUMENTS] = 2
    };
    const long one[OA_SIZES] = {
        [OA_LEAST] = 1, [OA_MOST] = 1, [OA_DEPTH] = 1, [OA_ARGUMENTS] = 2
    };
    assert_near(oa_listops_share(arena), 0.08275526403939112);
    assert_near(oa_listops_share(middle), 0.043293125657315246);
    assert_near(oa_listops_trees(some), 250408836000);
    assert_near(oa_listops_trees(two), 4 * 100 + 4 * 2 * 10 * 400 + 4 * 400 * 400);
    assert_near(oa_listops_trees(one), 10);
    assert_true(oa_listops_share(one) == 1);
    assert_true(oa_listops_trees(arena) >= 1e200 && isfinite(oa_listops_trees(arena)));
    struct set *s = raw("listops", middle, 20000);
    long taken = 0;
    for (long i = 0; i < s->count; i++)
        taken += s->label[i] >= 0;
    is_share(taken, s->count, oa_listops_share(middle));
    free_set(s);
}

/* ---- sequences to sequences ---- */

/* Both sides of all examples by definition; symbols and lengths are uniform. */
static void check_sequences(const char *task, long (*symbol)(const char *word))
{
    static const long size[OA_SIZES] = { [OA_LEAST] = 5, [OA_MOST] = 14, [OA_ALPHABET] = 30 };
    struct set *s = train_only(task, size, 4000);
    long length[15] = { 0 }, seen[30] = { 0 };
    for (long i = 0; i < s->count; i++) {
        long n, m, tally[30] = { 0 };
        char **in = words_of(s->input[i], &n), **out = words_of(s->output[i], &m);
        assert_int_equal(n, m);
        assert_int_equal(n, s->words[i]);
        assert_in_range(n, 5, 14);
        length[n]++;
        for (long j = 0; j < n; j++) {
            assert_in_range(symbol(in[j]), 0, 29);
            seen[symbol(in[j])]++;
            tally[symbol(in[j])]++;
            tally[symbol(out[j])]--;
            if (strcmp(task, "copy") == 0)
                assert_string_equal(in[j], out[j]);
            if (strcmp(task, "reverse") == 0)
                assert_string_equal(in[j], out[n - 1 - j]);
            if (strcmp(task, "sort") == 0 && j)
                assert_true(symbol(out[j - 1]) <= symbol(out[j]));
        }
        for (int j = 0; j < 30; j++)
            assert_int_equal(tally[j], 0);
        free_words(in);
        free_words(out);
    }
    fits_uniform(length + 5, 10);
    fits_uniform(seen, 30);
    free_set(s);
}

static void targets_follow_the_rule(void **state)
{
    (void)state;
    check_sequences("copy", letters);
    check_sequences("reverse", letters);
    check_sequences("sort", number);
}

/* ---- recall, induction ---- */

static void recall_answers_with_the_value_of_the_key(void **state)
{
    (void)state;
    static const long size[OA_SIZES] = {
        [OA_LEAST] = 6, [OA_MOST] = 6, [OA_ALPHABET] = 28, [OA_VALUES] = 12
    };
    struct set *s = train_only("recall", size, 6000);
    long asked[6] = { 0 }, keys[28] = { 0 }, values[12] = { 0 }, labels[12] = { 0 };
    for (long i = 0; i < s->count; i++) {
        long n;
        int found = 0;
        bool used[28] = { false };
        char **word = words_of(s->input[i], &n);
        assert_int_equal(n, 14);
        assert_int_equal(s->words[i], 14);
        assert_string_equal(word[12], "?");
        for (int pair = 0; pair < 6; pair++) {
            long key = letters(word[2 * pair]), value = number(word[2 * pair + 1]);
            assert_true(key < 28 && value < 12 && !used[key]);
            used[key] = true;
            keys[key]++;
            values[value]++;
            if (strcmp(word[2 * pair], word[13]) != 0)
                continue;
            asked[pair]++;
            found++;
            assert_string_equal(s->output[i], word[2 * pair + 1]);
            assert_int_equal(s->label[i], value);
            labels[value]++;
        }
        assert_int_equal(found, 1);
        free_words(word);
    }
    fits_uniform(asked, 6);
    fits_uniform(keys, 28);
    fits_uniform(values, 12);
    fits_uniform(labels, 12);
    free_set(s);
}

/* Pairs and answer, by a search of the text; lengths and arrangements are equally likely. */
static void scattered_recall_answers_from_any_place(void **state)
{
    (void)state;
    enum { PAIRS = 3, MOST_WORDS = 13, SLOTS = MOST_WORDS - 2 - PAIRS };
    static const long size[OA_SIZES] = { [OA_LEAST] = 10,
                                         [OA_MOST] = MOST_WORDS,
                                         [OA_ALPHABET] = 28,
                                         [OA_VALUES] = 12,
                                         [OA_PAIRS] = PAIRS };
    struct set *s = train_only("scattered-recall", size, 12000);
    long length[4] = { 0 }, keys[28] = { 0 }, values[12] = { 0 }, labels[12] = { 0 },
         asked[PAIRS] = { 0 }, arrangement[1 << SLOTS] = { 0 }, seen[56], arrangements = 0;
    for (long i = 0; i < s->count; i++) {
        long n, pair = 0, slots = 0, found = 0;
        bool used[28] = { false };
        char **word = words_of(s->input[i], &n);
        assert_in_range(n, 10, MOST_WORDS);
        assert_int_equal(s->words[i], n);
        assert_string_equal(word[n - 2], "?");
        for (long j = 0; j < n - 2; j++) {
            bool filler = strcmp(word[j], ".") == 0;
            slots = 2 * slots + !filler;
            if (filler)
                continue;
            long key = letters(word[j]), value = number(word[j + 1]);
            assert_true(key < 28 && value < 12 && !used[key]);
            used[key] = true;
            keys[key]++;
            values[value]++;
            if (strcmp(word[j], word[n - 1]) == 0) {
                asked[pair]++;
                found++;
                assert_string_equal(s->output[i], word[j + 1]);
                assert_int_equal(s->label[i], value);
                labels[value]++;
            }
            pair++;
            j++;
        }
        assert_int_equal(pair, PAIRS);
        assert_int_equal(found, 1);
        length[n - 10]++;
        arrangement[slots] += n == MOST_WORDS;
        free_words(word);
    }
    for (int i = 0; i < 1 << SLOTS; i++) /* with three of its eight bits set */
        if (arrangement[i])
            seen[arrangements++] = arrangement[i];
    assert_int_equal(arrangements, 56);
    fits_uniform(seen, 56);
    fits_uniform(length, 4);
    fits_uniform(asked, PAIRS);
    fits_uniform(keys, 28);
    fits_uniform(values, 12);
    fits_uniform(labels, 12);
    free_set(s);
}

static void induction_answers_with_the_successor(void **state)
{
    (void)state;
    static const long size[OA_SIZES] = { [OA_LEAST] = 12, [OA_MOST] = 12, [OA_ALPHABET] = 9 };
    struct set *s = train_only("induction", size, 9000);
    long distance[12] = { 0 }, labels[9] = { 0 }, asked[9] = { 0 }, rest[9] = { 0 };
    for (long i = 0; i < s->count; i++) {
        long n, last = 10;
        char **word = words_of(s->input[i], &n);
        assert_int_equal(n, 12);
        while (last >= 0 && strcmp(word[last], word[11]) != 0)
            last--;
        assert_true(last >= 0);
        assert_string_equal(s->output[i], word[last + 1]);
        assert_int_equal(letters(s->output[i]), s->label[i]);
        distance[11 - last]++;
        asked[letters(word[11])]++;
        labels[s->label[i]]++;
        for (long j = 0; j < last; j++)
            rest[letters(word[j])]++;
        free_words(word);
    }
    assert_int_equal(distance[1], 0);
    fits_uniform(distance + 2, 10);
    fits_uniform(labels, 9);
    fits_uniform(asked, 9);
    fits_uniform(rest, 9);
    free_set(s);
}

/* ---- bits ---- */

static void parity_and_majority_are_those_of_the_bits(void **state)
{
    (void)state;
    static const long size[OA_SIZES] = { [OA_LEAST] = 17, [OA_MOST] = 20 };
    for (int majority = 0; majority < 2; majority++) {
        struct set *s = train_only(majority ? "majority" : "parity", size, 8000);
        long labels[2] = { 0 };
        for (long i = 0; i < s->count; i++) {
            long n, ones = 0;
            char **word = words_of(s->input[i], &n);
            for (long j = 0; j < n; j++)
                ones += number(word[j]);
            assert_in_range(n, 17, 20);
            assert_true(!majority || 2 * ones != n);
            assert_int_equal(s->label[i], majority ? ones > n - ones : ones & 1);
            assert_int_equal(number(s->output[i]), s->label[i]);
            labels[s->label[i]]++;
            free_words(word);
        }
        fits_uniform(labels, 2);
        free_set(s);
    }
}

/* ---- all different, and always the same ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every input that there is, and not one more: as many as the table says. */
static void check_all_inputs(const char *task, const long size[OA_SIZES], long all)
{
    struct oa_synthetic_plan plan;
    const char *why;
    struct set *s =
        drawn(context, task, size, (const long[]){ all / 2, all / 4, all - all / 2 - all / 4 }, 5);
    assert_int_equal(s->count, all);
    qsort(s->input, (size_t)all, sizeof *s->input, by_text);
    for (long i = 1; i < all; i++)
        assert_string_not_equal(s->input[i - 1], s->input[i]);
    free_set(s);
    assert_int_equal(plan_of(task, size, all, 1, 0, 0, &plan), OA_ARGUMENT);
    oa_last_error(context, &why);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "there are only %ld inputs", all);
    assert_non_null(strstr(why, wanted));
    oa_clear_error(context);
}

static void all_inputs_are_found(void **state)
{
    (void)state;
    check_all_inputs("parity", (const long[OA_SIZES]){ 2, 7 }, 4 + 8 + 16 + 32 + 64 + 128);
    check_all_inputs("majority", (const long[OA_SIZES]){ 3, 6 }, 8 + 10 + 32 + 44);
    check_all_inputs("copy", (const long[OA_SIZES]){ 1, 2, 20 }, 20 + 400);
    check_all_inputs("sort", (const long[OA_SIZES]){ 2, 2, 30 }, 900);
    check_all_inputs("reverse", (const long[OA_SIZES]){ 1, 5, 3 }, 3 + 9 + 27 + 81 + 243);
    /* a?a; a?ba (2 · 3 · 3 before or between …): of 3 letters and 3 or 4 symbols, 3·2, and 3·3·2 +
     * 3·2·2. */
    check_all_inputs("induction", (const long[OA_SIZES]){ 3, 4, 3 }, 6 + 18 + 12);
    check_all_inputs("recall", (const long[OA_SIZES]){ 1, 2, 3, 2 }, 3 * 2 + 3 * 2 * 2 * 2 * 2);
    /* 4 words: one of 2 keys, 2 values; 5: the filler before or after the pair as well. */
    check_all_inputs(
        "scattered-recall",
        (const long[OA_SIZES]){
            [OA_LEAST] = 4, [OA_MOST] = 5, [OA_ALPHABET] = 2, [OA_VALUES] = 2, [OA_PAIRS] = 1 },
        4 + 2 * 4);
    /* Two pairs of 3 keys: 6 orders, 4 values, 2 questions; 1, 3 or 6 arrangements with filler. */
    check_all_inputs(
        "scattered-recall",
        (const long[OA_SIZES]){
            [OA_LEAST] = 6, [OA_MOST] = 8, [OA_ALPHABET] = 3, [OA_VALUES] = 2, [OA_PAIRS] = 2 },
        (1 + 3 + 6) * 6 * 4 * 2);
    check_all_inputs("listops", (const long[OA_SIZES]){ 1, 4, 0, 0, 2, 10 }, 10 + 400);
}

static void assert_same(const struct set *a, const struct set *b, long count)
{
    for (long i = 0; i < count; i++) {
        assert_string_equal(a->input[i], b->input[i]);
        assert_string_equal(a->output[i], b->output[i]);
    }
}

/* More training examples and more threads change nothing before them; another seed changes
 * everything. Inputs are so few that many draws are repeated ones. */
static void examples_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const long size[OA_SIZES] = { [OA_LEAST] = 3, [OA_MOST] = 4, [OA_ALPHABET] = 8 };
    struct set *few = drawn(context, "reverse", size, (const long[]){ 300, 100, 300 }, 1);
    oa_context *three = oa_open(&(struct oa_settings){ .threads = 3 });
    struct set *many = drawn(three, "reverse", size, (const long[]){ 3000, 100, 300 }, 1);
    struct set *others = drawn(context, "reverse", size, (const long[]){ 300, 100, 300 }, 2);
    long same = 0;
    assert_same(few, many, few->count);
    for (long i = 0; i < few->count; i++)
        same += strcmp(few->input[i], others->input[i]) == 0;
    assert_true(same < 10);
    free_set(few);
    free_set(many);
    free_set(others);
    oa_close(three);
}

/* Draws that were thrown away, of a set in which each input comes once: all draws less all
 * examples. */
static void rejected_draws_are_counted(void **state)
{
    (void)state;
    static const long size[OA_SIZES] = { [OA_LEAST] = 4, [OA_MOST] = 4 };
    struct oa_synthetic_plan plan;
    struct oa_drawing *d;
    struct set *s = calloc(1, sizeof *s);
    long not_taken, repeated, ties = 0, again = 0;
    bool used[16] = { false };
    assert_int_equal(plan_of("majority", size, 10, 0, 0, 4, &plan), OA_OK);
    assert_int_equal(oa_drawing_open(context, &plan, &d), OA_OK);
    assert_int_equal(oa_drawing_part(d, OA_TRAIN_SET, keep, s), OA_OK);
    oa_drawing_thrown(d, &not_taken, &repeated);
    struct oa_stream part = oa_stream_named(4, "data/majority/train");
    for (uint64_t i = 0; i < 10; i++) { /* the length is one word, each bit another */
        for (uint64_t attempt = 0;; attempt++) {
            struct oa_stream stream = oa_stream_child(oa_stream_child(part, i), attempt);
            uint32_t word[8];
            oa_random_block(stream, 0, word);
            oa_random_block(stream, 1, word + 4);
            int bits = 0, ones = 0;
            for (int j = 1; j <= 4; j++) {
                bits = 2 * bits + (int)(word[j] >> 31);
                ones += (int)(word[j] >> 31);
            }
            if (ones == 2)
                ties++;
            else if (used[bits])
                again++;
            else {
                used[bits] = true;
                char wanted[16];
                snprintf(wanted, sizeof wanted, "%d %d %d %d", bits >> 3, bits >> 2 & 1,
                         bits >> 1 & 1, bits & 1);
                assert_string_equal(s->input[i], wanted);
                break;
            }
        }
    }
    assert_int_equal(not_taken, ties);
    assert_int_equal(repeated, again);
    assert_true(ties > 0 && again > 0);
    oa_drawing_close(d);
    free_set(s);
}

/* The bytes of small data sets, first digits of the SHA-256, from an independent implementation of
 * the generator, the streams and the rules in Python 3.11. Whoever changes them changes what
 * published seeds mean. */
static void files_keep_their_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *task, *digest;
        long size[OA_SIZES];
    } stored[] = {
        { "listops", "3249a735b95b7706", { [OA_LEAST] = 20, [OA_MOST] = 80 } },
        { "copy", "012eaeb8d1b48db6", { 0 } },
        { "reverse", "cb7d77dfb4630279", { 0 } },
        { "sort", "0c03965eceec934b", { 0 } },
        { "induction", "4e6f1899725397eb", { 0 } },
        { "recall", "5e81461cbc030c0d", { 0 } },
        { "scattered-recall", "d905b82d58313254", { 0 } },
        { "parity", "a4b00413f3a44547", { 0 } },
        { "majority", "358faaf4fb93ca96", { 0 } },
    };
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        struct oa_text all;
        oa_text_init(&all, context);
        struct set *s =
            drawn(context, stored[i].task, stored[i].size, (const long[]){ 20, 5, 5 }, 2026);
        for (long j = 0; j < s->count; j++)
            oa_text_printf(&all, "%s\t%s\n", s->output[j], s->input[j]);
        struct oa_digest digest = oa_digest_of(all.s, all.length);
        if (strncmp(digest.hex, stored[i].digest, 16) != 0)
            fail_msg("%s: sha256 %s", stored[i].task, digest.hex);
        oa_text_free(&all);
        free_set(s);
    }
}

/* ---- what is refused ---- */

static void refused(const char *words, const char *task, const long size[OA_SIZES], long train)
{
    struct oa_synthetic_plan plan;
    const char *why;
    assert_int_equal(plan_of(task, size, train, 0, 0, 0, &plan), OA_ARGUMENT);
    oa_last_error(context, &why);
    if (!strstr(why, words))
        fail_msg("\"%s\" is not in: %s", words, why);
    oa_clear_error(context);
}

/* What is just possible, and the same with one size changed by as little as can be, which is not.
 */
static void limits_of_sizes_are_exact(void **state)
{
    static const struct {
        const char *task;
        long size[OA_SIZES];
        enum oa_synthetic_size changed;
        long to;
        const char *words;
    } limits[] = {
        { "recall", { 1, 5, 5 }, OA_MOST, 6, "--max-length, the pairs of an example" },
        { "scattered-recall", { 10, 10, 4, [OA_PAIRS] = 4 }, OA_LEAST, 9, "2 times --pairs and 2" },
        { "scattered-recall", { 10, 10, 4, [OA_PAIRS] = 4 }, OA_ALPHABET, 3, "exceeds --alphabet" },
        { "mqar", { 16, 32, 12, [OA_PAIRS] = 4 }, OA_LEAST, 14, "less than 4 times --pairs" },
        { "mqar", { 16, 32, 12, [OA_PAIRS] = 4 }, OA_LEAST, 17, "must be even" },
        { "mqar", { 16, 32, 12, [OA_PAIRS] = 4 }, OA_MOST, 31, "must be even" },
        { "mqar", { 24, 32, 12, [OA_PAIRS] = 5 }, OA_ALPHABET, 11, "the number of keys" },
        { "mqar-zoology", { 16, 32, 12, [OA_PAIRS] = 4 }, OA_LEAST, 14, "4 times --pairs" },
        { "context-recall", { 16, 32, 12 }, OA_LEAST, 15, "must be even" },
        { "noisy-recall", { 16, 32, 12 }, OA_MOST, 31, "must be even" },
        { "memorisation", { 16, 32, 12 }, OA_MOST, 31, "must be even" },
        { "fuzzy-recall", { 12, 32, 12, [OA_MOTIF] = 3 }, OA_LEAST, 11, "4 times --motif" },
        { "selective-copy", { 9, 32, 12, [OA_COPIES] = 4 }, OA_LEAST, 8, "2 times --copies and 1" },
    };
    struct oa_synthetic_plan plan;
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        long size[OA_SIZES];
        memcpy(size, limits[i].size, sizeof size);
        if (plan_of(limits[i].task, size, 1, 0, 0, 0, &plan) != OA_OK)
            fail_msg("limit %zu of %s is refused", i, limits[i].task);
        size[limits[i].changed] = limits[i].to;
        refused(limits[i].words, limits[i].task, size, 1);
    }
}

static void impossible_requests_are_rejected(void **state)
{
    (void)state;
    static const long none[OA_SIZES] = { 0 };
    refused("unknown task \"indction\"; did you mean induction?", "indction", none, 1);
    refused("are all 0: nothing to generate", "copy", none, 0);
    refused("--train is 100000001", "copy", none, 100000001);
    refused("--values has no effect on task copy", "copy",
            (const long[OA_SIZES]){ [OA_VALUES] = 3 }, 1);
    refused("--depth has no effect on task recall", "recall",
            (const long[OA_SIZES]){ [OA_DEPTH] = 3 }, 1);
    refused("--alphabet is 1; for induction it must be from 2 to 10000", "induction",
            (const long[OA_SIZES]){ 0, 0, 1 }, 1);
    refused("--min-length is 2; for induction it must be from 3", "induction",
            (const long[OA_SIZES]){ 2 }, 1);
    refused("--min-length = 9 exceeds --max-length = 8", "copy", (const long[OA_SIZES]){ 9, 8 }, 1);
    refused("exceeds --alphabet, the number of distinct keys", "recall",
            (const long[OA_SIZES]){ 1, 5, 4 }, 1);
    refused("--pairs exceeds --alphabet", "scattered-recall",
            (const long[OA_SIZES]){ [OA_ALPHABET] = 3 }, 1);
    refused("--min-length is less than 2 times --pairs and 2", "scattered-recall",
            (const long[OA_SIZES]){ [OA_LEAST] = 9 }, 1);
    refused("only 0 inputs of 13 to 1999 words", "listops",
            (const long[OA_SIZES]){ [OA_LEAST] = 13, [OA_DEPTH] = 2 }, 1);
    refused("only one in ", "listops", (const long[OA_SIZES]){ 200, 300, 0, 0, 5, 4 }, 1);
    refused("only 10 inputs of 1 to 3 words; ask for fewer or longer ones", "listops",
            (const long[OA_SIZES]){ [OA_LEAST] = 1, [OA_MOST] = 3 }, 11);
    refused("or a larger alphabet", "copy", (const long[OA_SIZES]){ 1, 1, 4 }, 5);
    struct oa_synthetic_plan plan; /* one bound takes the other along */
    assert_int_equal(plan_of("copy", (const long[OA_SIZES]){ 0, 5 }, 1, 0, 0, 0, &plan), OA_OK);
    assert_int_equal(plan.size[OA_LEAST], 5);
    assert_int_equal(plan_of("copy", (const long[OA_SIZES]){ 50 }, 1, 0, 0, 0, &plan), OA_OK);
    assert_int_equal(plan.size[OA_MOST], 50);
}

static int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 1 });
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounded_integers_are_unbiased),
        cmocka_unit_test(every_random_word_is_used),
        cmocka_unit_test(symbols_are_written_as_words),
        cmocka_unit_test(listops_values_are_those_of_their_trees),
        cmocka_unit_test(listops_trees_have_the_probabilities_of_the_rule),
        cmocka_unit_test(listops_labels_have_the_expected_shares),
        cmocka_unit_test(listops_lengths_have_the_computed_shares),
        cmocka_unit_test(targets_follow_the_rule),
        cmocka_unit_test(recall_answers_with_the_value_of_the_key),
        cmocka_unit_test(scattered_recall_answers_from_any_place),
        cmocka_unit_test(induction_answers_with_the_successor),
        cmocka_unit_test(parity_and_majority_are_those_of_the_bits),
        cmocka_unit_test(all_inputs_are_found),
        cmocka_unit_test(examples_do_not_depend_on_threads),
        cmocka_unit_test(rejected_draws_are_counted),
        cmocka_unit_test(files_keep_their_bytes),
        cmocka_unit_test(limits_of_sizes_are_exact),
        cmocka_unit_test(impossible_requests_are_rejected),
    };
    threads_only("examples_do_not_depend_on_threads");
    return cmocka_run_group_tests(tests, open_context, close_context);
}
