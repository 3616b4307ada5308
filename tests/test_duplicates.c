/* SPDX-License-Identifier: Apache-2.0
 * Duplicates of documents against a brute-force Jaccard similarity, and how many of them are found
 * against the theory of MinHash with bands. */
#include "testing.h"

#include "data/duplicates.h"
#include "data/repeats.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { SHINGLE = 3, WORDS = 80, PAIRS = 400, WORD_TEXT = 16 };
static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    return context == NULL;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

/* ---- the reference ---- */

/* Pair p: WORDS numbers of words, of which the second document has about p % 40 others. */
static uint32_t pair_word[PAIRS][2][WORDS];

static void draw_pairs(void)
{
    struct oa_stream s = oa_stream_named(7, "duplicates");
    uint64_t draw = 0;
    for (int p = 0; p < PAIRS; p++) {
        for (int i = 0; i < WORDS; i++)
            pair_word[p][0][i] = pair_word[p][1][i] = (uint32_t)oa_random_below(s, draw++, 1000000);
        for (int k = 0; k < p % 40 / 4; k++) {
            uint64_t place = oa_random_below(s, draw++, WORDS);
            pair_word[p][1][place] = (uint32_t)oa_random_below(s, draw++, 1000000);
        }
    }
}

static bool shingle_in(const uint32_t *shingle, const uint32_t *words, int from)
{
    for (int i = from; i + SHINGLE <= WORDS; i++)
        if (memcmp(shingle, words + i, SHINGLE * sizeof *words) == 0)
            return true;
    return false;
}

/* |A ∩ B| / |A ∪ B| of the sets of shingles, by comparing all with all. */
static double jaccard(const uint32_t *a, const uint32_t *b)
{
    int of_a = 0, of_b = 0, both = 0;
    for (int i = 0; i + SHINGLE <= WORDS; i++) {
        bool new_in_a = !shingle_in(a + i, a, i + 1);
        of_a += new_in_a;
        of_b += !shingle_in(b + i, b, i + 1);
        both += new_in_a && shingle_in(a + i, b, 0);
    }
    return (double)both / (of_a + of_b - both);
}

static double binomial(int n, int k, double p)
{
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) * pow(p, k) * pow(1 - p, n - k);
}

/* The probability that two documents of similarity s, 0 < s < 1, agree in a whole band and in at
 * least `least` of all values. part[0][n], part[1][n]: that n of the values so far are equal,
 * without and with a whole band. */
static double probability_of_finding(struct oa_bands b, double s, double least)
{
    double part[2][OA_SIGNATURE_HASHES + 1] = { { 1 } }, sum = 0;
    for (int done = 0, more; done < OA_SIGNATURE_HASHES; done += more) {
        double next[2][OA_SIGNATURE_HASHES + 1] = { { 0 } };
        bool band = done < b.rows * b.bands;
        more = band ? b.rows : 1;
        for (int whole = 0; whole < 2; whole++)
            for (int n = 0; n <= done; n++)
                for (int k = 0; k <= more; k++)
                    next[whole || (band && k == more)][n + k] +=
                        part[whole][n] * binomial(more, k, s);
        memcpy(part, next, sizeof part);
    }
    for (int n = 0; n <= OA_SIGNATURE_HASHES; n++)
        sum += n >= least ? part[1][n] : 0;
    return sum;
}

/* ---- files ---- */

static void write_words(FILE *f, const uint32_t *words, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(f, "%sw%u", i ? " " : "", words[i]);
    fputc('\n', f);
}

static void find_duplicates(const char *path, int shingle, double threshold, uint64_t memory,
                            struct oa_duplicates *out)
{
    struct oa_documents *d;
    struct oa_signature_file *f;
    assert_int_equal(oa_documents_open(context, path, OA_DOCUMENTS_LINES, "text", &d), OA_OK);
    assert_int_equal(oa_signature_file_make(context, d, shingle, ".", NULL, NULL, &f), OA_OK);
    assert_int_equal(oa_duplicates_find(context, f, threshold, memory, NULL, NULL, out), OA_OK);
    oa_signature_file_close(f);
    oa_documents_close(d);
}

/* ---- tests ---- */

/* Of pairs whose similarity is known, as many are found as the theory has, within 5 standard
 * deviations, and none whose similarity is far below the threshold. */
static void as_many_near_duplicates_are_found_as_minhash_predicts(void **state)
{
    static const char path[] = "test_duplicates_pairs.txt";
    static const double thresholds[] = { 0.5, 0.7, 0.8 };
    (void)state;
    draw_pairs();
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int side = 0; side < 2; side++)
        for (int p = 0; p < PAIRS; p++)
            write_words(f, pair_word[p][side], WORDS);
    assert_int_equal(fclose(f), 0);
    for (int t = 0; t < 3; t++) {
        double expected = 0, variance = 0, least = thresholds[t] * OA_SIGNATURE_HASHES;
        struct oa_bands b = oa_bands_for(thresholds[t]);
        struct oa_duplicates found;
        int number = 0, exact = 0;
        find_duplicates(path, SHINGLE, thresholds[t], 1 << 26, &found);
        assert_int_equal(found.documents, 2 * PAIRS);
        for (int p = 0; p < PAIRS; p++) {
            double s = jaccard(pair_word[p][0], pair_word[p][1]);
            bool duplicate = found.first[PAIRS + p] != OA_NO_DUPLICATE;
            assert_int_equal(found.first[p], OA_NO_DUPLICATE);
            if (duplicate)
                assert_int_equal(found.first[PAIRS + p], p);
            if (s == 1) {
                exact++;
                assert_int_equal(found.equal[PAIRS + p], OA_EXACT);
                continue;
            }
            double chance = probability_of_finding(b, s, least);
            double sigma = sqrt(s * (1 - s) / OA_SIGNATURE_HASHES);
            if (duplicate)
                assert_true(s > thresholds[t] - 5 * sigma);
            expected += chance;
            variance += chance * (1 - chance);
            number += duplicate;
        }
        assert_true(expected > PAIRS / 10.0 && exact >= PAIRS / 10);
        if (!(fabs(number - expected) <= 5 * sqrt(variance)))
            fail_msg("threshold %g: %d found, not %.1f ± %.1f", thresholds[t], number, expected,
                     sqrt(variance));
        assert_int_equal(found.exact, exact);
        assert_int_equal(found.near, number);
        oa_duplicates_free(&found);
    }
    remove(path);
}

/* The share of equal values of signatures is the similarity, within 5 standard deviations of the
 * mean over all pairs. */
static void equal_values_estimate_the_similarity(void **state)
{
    double error = 0, variance = 0;
    (void)state;
    draw_pairs();
    for (int p = 0; p < PAIRS; p++) {
        struct oa_signature made[2];
        int equal = 0;
        for (int side = 0; side < 2; side++) {
            struct oa_signature_maker *m;
            char text[WORDS * WORD_TEXT];
            size_t n = 0;
            for (int i = 0; i < WORDS; i++)
                n += (size_t)snprintf(text + n, sizeof text - n, "%cord%u, ", side ? 'W' : 'w',
                                      pair_word[p][side][i]);
            assert_int_equal(oa_signature_begin(context, SHINGLE, &m), OA_OK);
            oa_signature_add(m, text, 5);
            oa_signature_add(m, text + 5, n - 5);
            oa_signature_end(m, &made[side]);
            oa_signature_close(m);
            assert_int_equal(made[side].words, WORDS);
        }
        for (int i = 0; i < OA_SIGNATURE_HASHES; i++)
            equal += made[0].min[i] == made[1].min[i];
        double s = jaccard(pair_word[p][0], pair_word[p][1]);
        error += (double)equal / OA_SIGNATURE_HASHES - s;
        variance += s * (1 - s) / OA_SIGNATURE_HASHES;
        if (s == 1)
            assert_int_equal(equal, OA_SIGNATURE_HASHES);
    }
    if (!(fabs(error) <= 5 * sqrt(variance)))
        fail_msg("errors add up to %g, not ± %g", error, sqrt(variance));
}

static bool agree_in_a_band(const struct oa_signature *a, const struct oa_signature *b,
                            struct oa_bands bands)
{
    for (int band = 0; band < bands.bands; band++) {
        size_t at = (size_t)(band * bands.rows);
        if (memcmp(a->min + at, b->min + at, (size_t)bands.rows * sizeof *a->min) == 0)
            return true;
    }
    return false;
}

/* A threshold that is the estimated similarity of a pair, to the bit, finds it, if it is compared;
 * the next one does not. */
static void a_similarity_at_the_threshold_is_enough(void **state)
{
    static const char path[] = "test_duplicates_threshold.txt";
    int compared = 0;
    (void)state;
    draw_pairs();
    for (int p = 4; p < 36; p += 4) {
        struct oa_documents *d;
        struct oa_signature_file *f;
        struct oa_signed_document two[2];
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        for (int side = 0; side < 2; side++)
            write_words(out, pair_word[p][side], WORDS);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(oa_documents_open(context, path, OA_DOCUMENTS_LINES, "text", &d), OA_OK);
        assert_int_equal(oa_signature_file_make(context, d, SHINGLE, ".", NULL, NULL, &f), OA_OK);
        assert_int_equal(oa_signature_file_read(f, 0, 2, two), OA_OK);
        int equal = 0;
        for (int i = 0; i < OA_SIGNATURE_HASHES; i++)
            equal += two[0].signature.min[i] == two[1].signature.min[i];
        for (int more = 0; more < 2; more++) {
            struct oa_duplicates found;
            double threshold = (double)(equal + more) / OA_SIGNATURE_HASHES;
            bool candidate =
                agree_in_a_band(&two[0].signature, &two[1].signature, oa_bands_for(threshold));
            assert_int_equal(oa_duplicates_find(context, f, threshold, 1 << 26, NULL, NULL, &found),
                             OA_OK);
            assert_int_equal(found.near, candidate && !more);
            compared += candidate && !more;
            oa_duplicates_free(&found);
        }
        oa_signature_file_close(f);
        oa_documents_close(d);
    }
    assert_true(compared >= 4);
    remove(path);
}

/* 95 of 100 pairs at the threshold are compared, and no band could be longer. */
static void bands_are_the_longest_that_find_95_percent(void **state)
{
    (void)state;
    for (double t = 0.3; t < 0.96; t += 0.05) {
        struct oa_bands b = oa_bands_for(t), longer = { b.rows + 1, 128 / (b.rows + 1) };
        assert_true(b.rows * b.bands <= OA_SIGNATURE_HASHES);
        assert_true(1 - pow(1 - pow(t, b.rows), b.bands) >= 0.95);
        assert_true(1 - pow(1 - pow(t, longer.rows), longer.bands) < 0.95);
    }
    struct oa_bands common = oa_bands_for(0.8);
    assert_int_equal(common.rows, 7);
    assert_int_equal(common.bands, 18);
}

/* The first document is the original, whatever the white space; little memory gives the same. */
static void the_first_of_many_is_kept_with_any_memory(void **state)
{
    static const char path[] = "test_duplicates_many.txt";
    enum { ORIGINALS = 50000, COPIES = 3 };
    struct oa_duplicates found, little;
    uint32_t documents = ORIGINALS * COPIES;
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int copy = 0; copy < COPIES; copy++)
        for (int i = 0; i < ORIGINALS; i++)
            fprintf(f, copy == 1 ? "  a%d  b\t\n" : "a%d b\n", i);
    assert_int_equal(fclose(f), 0);
    find_duplicates(path, 0, 0, 1 << 26, &found);
    find_duplicates(path, 0, 0, 5 * documents + (1 << 20), &little);
    assert_int_equal(found.documents, documents);
    assert_int_equal(found.exact, ORIGINALS * (COPIES - 1));
    assert_int_equal(found.near, 0);
    for (uint32_t i = 0; i < documents; i++) {
        assert_int_equal(found.first[i], i < ORIGINALS ? OA_NO_DUPLICATE : i % ORIGINALS);
        assert_int_equal(little.first[i], found.first[i]);
    }
    oa_duplicates_free(&found);
    oa_duplicates_free(&little);
    remove(path);
}

/* More than OA_MOST_COMPARED near duplicates of one text: all but the first are found. */
static void crowds_of_near_duplicates_are_found(void **state)
{
    static const char path[] = "test_duplicates_crowd.txt";
    enum { CROWD = 300 };
    struct oa_duplicates found;
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (uint32_t i = 0; i < CROWD; i++) {
        uint32_t words[400];
        for (uint32_t k = 0; k < 399; k++)
            words[k] = k * k;
        words[399] = 1000000 + i;
        write_words(f, words, 400);
    }
    assert_int_equal(fclose(f), 0);
    find_duplicates(path, 5, 0.8, 1 << 26, &found);
    assert_int_equal(found.exact, 0);
    assert_int_equal(found.near, CROWD - 1);
    for (uint32_t i = 1; i < CROWD; i++)
        assert_int_equal(found.first[i], 0);
    oa_duplicates_free(&found);
    remove(path);
}

/* A document without words is no near duplicate of another; one of few words has one shingle. */
static void texts_without_words_are_not_alike(void **state)
{
    static const char path[] = "test_duplicates_few.txt",
                      text[] = "...\n!!! ???\nThree words only\nthree WORDS only!\nthree words\n"
                               "...\n\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97\n"
                               "\xe4\xb8\xad \xe6\x96\x87\xe3\x80\x82\xe5\xad\x97\n\xff\n\xfe\n";
    static const uint32_t first[] = { OA_NO_DUPLICATE, OA_NO_DUPLICATE,
                                      OA_NO_DUPLICATE, 2,
                                      OA_NO_DUPLICATE, 0,
                                      OA_NO_DUPLICATE, 6,
                                      OA_NO_DUPLICATE, OA_NO_DUPLICATE };
    struct oa_duplicates found;
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, sizeof text - 1, f), sizeof text - 1);
    assert_int_equal(fclose(f), 0);
    find_duplicates(path, 5, 0.8, 1 << 26, &found);
    assert_int_equal(found.documents, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(found.first[i], first[i]);
    assert_int_equal(found.exact, 1);
    assert_int_equal(found.near, 2);
    oa_duplicates_free(&found);
    remove(path);
}

static struct oa_repeats_sum count_repeats(int documents, int distinct, bool backwards)
{
    struct oa_repeats *r;
    assert_int_equal(oa_repeats_open(context, &r), OA_OK);
    for (int i = 0; i < documents; i++) {
        char text[64];
        int number = (backwards ? documents - 1 - i : i) % distinct;
        int n = snprintf(text, sizeof text, "document  number %d of a corpus", number);
        oa_repeats_add(r, text, (size_t)n);
    }
    struct oa_repeats_sum sum = oa_repeats_count(r);
    oa_repeats_close(r);
    return sum;
}

/* Few documents are counted, many are sampled: 300,000 different ones of 400,000. */
static void repeated_documents_are_counted_or_sampled(void **state)
{
    enum { ALL = 400000, DISTINCT = 300000 };
    (void)state;
    struct oa_repeats_sum few = count_repeats(1000, 600, false);
    assert_false(few.sampled);
    assert_int_equal(few.documents, 1000);
    assert_int_equal(few.repeated, 400);
    struct oa_repeats_sum many = count_repeats(ALL, DISTINCT, false),
                          backwards = count_repeats(ALL, DISTINCT, true);
    assert_true(many.sampled && many.documents > 50000);
    double share = (double)many.repeated / (double)many.documents;
    assert_true(fabs(share - 0.25) < 5 * sqrt(0.25 * 0.75 / (double)many.documents));
    assert_int_equal(backwards.documents, many.documents);
    assert_int_equal(backwards.repeated, many.repeated);
    assert_int_equal(backwards.bytes, many.bytes);
    assert_int_equal(backwards.repeated_bytes, many.repeated_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_near_duplicates_are_found_as_minhash_predicts),
        cmocka_unit_test(equal_values_estimate_the_similarity),
        cmocka_unit_test(a_similarity_at_the_threshold_is_enough),
        cmocka_unit_test(bands_are_the_longest_that_find_95_percent),
        cmocka_unit_test(the_first_of_many_is_kept_with_any_memory),
        cmocka_unit_test(crowds_of_near_duplicates_are_found),
        cmocka_unit_test(texts_without_words_are_not_alike),
        cmocka_unit_test(repeated_documents_are_counted_or_sampled),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
