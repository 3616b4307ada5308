/* SPDX-License-Identifier: Apache-2.0
 * Beam search over a model that is a table: a beam that is wide enough finds what an enumeration of
 * all sequences finds, a beam of one is greedy, and a source's result does not depend on those
 * next to it. */
#include "testing.h"

#include "decode/beam.h"

#include <math.h>
#include <string.h>

enum { V = 4, END = 3, BEGIN = 0, LONGEST = 4, ALL = 120 };

/* A model that remembers the whole prefix of each row as a number in base V + 1. */
struct table {
    long prefix[3 * ALL];
    int rows;
};
static long rows_asked; /* of `next` since it was set to 0 */

static double logit(int source, long prefix, int id)
{
    return 3 * sin(1.7 * (double)prefix + 2.3 * id + 0.9 * source * id) - (id == END ? 0.3 : 0);
}

/* Of what is finite: that something is not must be seen in the logits. */
static void sum_rows(int rows, long vocabulary, const float *logits, double *sums)
{
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (long id = 0; id < vocabulary; id++)
            sum += isfinite(logits[r * vocabulary + id]) ? exp((double)logits[r * vocabulary + id])
                                                         : 0;
        sums[r] = log(sum);
    }
}

static enum oa_error next(void *argument, int rows, const int *source, const int *parent,
                          const int32_t *ids, float *logits, double *sums)
{
    struct table *t = argument;
    long prefix[3 * ALL];
    assert_in_range(rows, 1, 3 * ALL);
    rows_asked += rows;
    for (int r = 0; r < rows; r++) {
        assert_in_range(parent[r] + 1, 0, t->rows);
        prefix[r] = parent[r] < 0 ? 0 : t->prefix[parent[r]] * (V + 1) + ids[r] + 1;
        assert_true(parent[r] >= 0 || ids[r] == BEGIN);
        for (int id = 0; id < V; id++)
            logits[r * V + id] = (float)logit(source[r], prefix[r], id);
    }
    sum_rows(rows, V, logits, sums);
    memcpy(t->prefix, prefix, sizeof prefix);
    t->rows = rows;
    return OA_OK;
}

/* ---- the enumeration ---- */

static double log_p(int source, long prefix, int id)
{
    double sum = 0;
    for (int k = 0; k < V; k++)
        sum += exp((double)(float)logit(source, prefix, k));
    return (double)(float)logit(source, prefix, id) - log(sum);
}

struct best {
    int ids[LONGEST], count;
    double rank, score;
};

static void enumerate(int source, double penalty, int longest, int *ids, int count, long prefix,
                      double score, struct best *best)
{
    double whole = score + log_p(source, prefix, END), rank = whole / pow(count + 1, penalty);
    if (rank > best->rank) {
        *best = (struct best){ .count = count, .rank = rank, .score = whole };
        memcpy(best->ids, ids, (size_t)count * sizeof *ids);
    }
    for (int id = 0; id < V && count < longest; id++) {
        if (id == END)
            continue;
        ids[count] = id;
        enumerate(source, penalty, longest, ids, count + 1, prefix * (V + 1) + id + 1,
                  score + log_p(source, prefix, id), best);
    }
}

static void search(oa_context *c, struct oa_beam how, int sources, const int *longest,
                   struct oa_hypothesis *out)
{
    struct table t = { .rows = 0 };
    assert_int_equal(oa_beam_search(c, &how, sources, longest, next, &t, out), OA_OK);
}

static void a_wide_beam_finds_the_most_probable_sequence(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int i = 0; i < 4; i++) {
        double penalty = 0.5 * i;
        struct oa_hypothesis h[3];
        int longest[3] = { LONGEST, 2, LONGEST - 1 };
        search(c, (struct oa_beam){ ALL, 1, penalty, true, BEGIN, END, V, 0 }, 3, longest, h);
        for (int source = 0; source < 3; source++) {
            struct best best = { .rank = (double)-INFINITY };
            int ids[LONGEST];
            enumerate(source, penalty, longest[source], ids, 0, 0, 0, &best);
            assert_int_equal(h[source].count, best.count);
            for (int k = 0; k < best.count; k++)
                assert_int_equal(h[source].ids[k], best.ids[k]);
            assert_true(fabs(h[source].score - best.score) < 1e-12);
            assert_true(fabs(h[source].rank - best.rank) < 1e-12);
            assert_false(h[source].cut);
        }
        oa_hypotheses_free(h, 3);
    }
    oa_close(c);
}

static void width_one_is_greedy(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_hypothesis h[3];
    int longest[3] = { LONGEST, LONGEST, LONGEST };
    long rows = 0;
    rows_asked = 0;
    search(c, (struct oa_beam){ 1, 1, 1, false, BEGIN, END, V, 0 }, 3, longest, h);
    for (int source = 0; source < 3; source++) {
        long prefix = 0;
        double score = 0;
        int count = 0;
        for (;; count++) {
            int id = 0;
            for (int k = 1; k < V; k++)
                if (logit(source, prefix, k) > logit(source, prefix, id))
                    id = k;
            if (count == LONGEST && id != END)
                break;
            score += log_p(source, prefix, id);
            if (id == END)
                break;
            assert_int_equal(h[source].ids[count], id);
            prefix = prefix * (V + 1) + id + 1;
        }
        assert_int_equal(h[source].count, count);
        if (!h[source].cut)
            assert_true(fabs(h[source].score - score) < 1e-12);
        rows += count + 1;
    }
    assert_int_equal(rows_asked, rows); /* a source that has ended is not read on */
    oa_hypotheses_free(h, 3);
    oa_close(c);
}

/* Also where sources end at different lengths, and for all of the n best, which are ranked and
 * differ. */
static void results_do_not_depend_on_other_sources(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_beam how = { 3, 3, 0.6, false, BEGIN, END, V, 0 };
    struct oa_hypothesis all[9], first[3];
    int longest[3] = { LONGEST, 3, LONGEST };
    search(c, how, 3, longest, all);
    search(c, how, 1, longest, first);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(all[k].count, first[k].count);
        assert_true(all[k].score == first[k].score);
        if (all[k].count > 0)
            assert_memory_equal(all[k].ids, first[k].ids, (size_t)all[k].count * sizeof(int32_t));
    }
    for (int i = 0; i < 9; i++)
        if (i % 3 && all[i].count >= 0) {
            assert_true(all[i].rank <= all[i - 1].rank);
            assert_true(
                all[i].count != all[i - 1].count ||
                memcmp(all[i].ids, all[i - 1].ids, (size_t)all[i].count * sizeof(int32_t)) != 0);
        }
    oa_hypotheses_free(all, 9);
    oa_hypotheses_free(first, 3);
    oa_close(c);
}

/* A model that never ends gives what it has at the greatest length, and says so. */
static enum oa_error endless(void *argument, int rows, const int *source, const int *parent,
                             const int32_t *ids, float *logits, double *sums)
{
    enum oa_error e = next(argument, rows, source, parent, ids, logits, sums);
    for (int r = 0; r < rows; r++)
        logits[r * V + END] = -INFINITY;
    sum_rows(rows, V, logits, sums);
    return e;
}

static void test_the_greatest_length_cuts(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_beam how = { 2, 2, 1, true, BEGIN, END, V, 0 };
    struct table t = { .rows = 0 };
    struct oa_hypothesis h[2];
    int longest = LONGEST;
    assert_int_equal(oa_beam_search(c, &how, 1, &longest, endless, &t, h), OA_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(h[k].count, LONGEST);
        assert_true(h[k].cut);
        assert_true(fabs(h[k].rank - h[k].score / LONGEST) < 1e-15);
    }
    assert_true(h[0].rank > h[1].rank);
    oa_hypotheses_free(h, 2);
    oa_close(c);
}

static enum oa_error nonsense(void *argument, int rows, const int *source, const int *parent,
                              const int32_t *ids, float *logits, double *sums)
{
    enum oa_error e = next(argument, rows, source, parent, ids, logits, sums);
    logits[1] = NAN;
    return e;
}

/* 0.6 and 0.4 for the first token; after 0 the end has 0.55 and another 0 0.45, after 1 0.6 and
 * 0.4; then comes the end. */
static enum oa_error by_hand(void *argument, int rows, const int *source, const int *parent,
                             const int32_t *ids, float *logits, double *sums)
{
    int *length = argument;
    (void)source, (void)parent;
    for (int r = 0; r < rows; r++) {
        double p[V] = { *length == 0 ? 0.6 : 0, *length == 0 ? 0.4 : 0, 0, *length > 0 };
        if (*length == 1) {
            p[END] = ids[r] ? 0.6 : 0.55;
            p[0] = 1 - p[END];
        }
        for (int id = 0; id < V; id++)
            logits[r * V + id] = (float)log(p[id]);
    }
    sum_rows(rows, V, logits, sums);
    ++*length;
    return OA_OK;
}

/* After 1 the end has 0.24, behind 0.33 and 0.27: it is third of candidates in a beam of two, and
 * no hypothesis. */
static void an_end_token_beyond_the_width_does_not_finish(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_hypothesis h[2];
    int longest = LONGEST, length = 0;
    struct oa_beam how = { 2, 2, 0, false, BEGIN, END, V, 0 };
    assert_int_equal(oa_beam_search(c, &how, 1, &longest, by_hand, &length, h), OA_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(h[k].count, 1 + k);
        for (int i = 0; i < h[k].count; i++)
            assert_int_equal(h[k].ids[i], 0);
        assert_true(fabs(h[k].score - log(k ? 0.27 : 0.33)) < 1e-6);
    }
    oa_hypotheses_free(h, 2);
    oa_close(c);
}

/* 0.6 for the end at once, 0.25 for 0, after which 0 is all that comes, and at last the end. */
static enum oa_error late_riser(void *argument, int rows, const int *source, const int *parent,
                                const int32_t *ids, float *logits, double *sums)
{
    int *length = argument;
    (void)source, (void)parent, (void)ids;
    for (int r = 0; r < rows; r++) {
        double p[V] = { *length == 0 ? 0.25 : *length < LONGEST, *length == 0 ? 0.15 : 0, 0,
                        *length == 0 ? 0.6 : *length == LONGEST };
        for (int id = 0; id < V; id++)
            logits[r * V + id] = (float)log(p[id]);
    }
    sum_rows(rows, V, logits, sums);
    ++*length;
    return OA_OK;
}

/* log 0.6 is above log 0.25 / 2, which one more token could make of the other, but not above log
 * 0.25 / 5. */
static void test_patience_lasts_to_the_greatest_length(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_hypothesis h;
    int longest = LONGEST, length = 0;
    struct oa_beam how = { 2, 1, 1, true, BEGIN, END, V, 0 };
    assert_int_equal(oa_beam_search(c, &how, 1, &longest, late_riser, &length, &h), OA_OK);
    assert_int_equal(h.count, LONGEST);
    assert_true(fabs(h.rank - log(0.25) / (LONGEST + 1)) < 1e-6);
    oa_hypotheses_free(&h, 1);
    oa_close(c);
}

static void logits_that_are_not_finite_are_rejected(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_beam how = { 2, 1, 1, true, BEGIN, END, V, 0 };
    struct table t = { .rows = 0 };
    struct oa_hypothesis h;
    int longest = LONGEST;
    assert_int_equal(oa_beam_search(c, &how, 1, &longest, nonsense, &t, &h), OA_DIVERGED);
    oa_hypotheses_free(&h, 1);
    oa_close(c);
}

/* ---- a large vocabulary ---- of which most logits are not looked at one by one */

enum { LARGE = 1000, LARGE_END = 997, WANTED = 4 };

/* First tokens as `first` has them, and the end behind them. */
static enum oa_error large(void *argument, int rows, const int *source, const int *parent,
                           const int32_t *ids, float *logits, double *sums)
{
    const float *first = argument;
    (void)source;
    (void)ids;
    for (int r = 0; r < rows; r++)
        for (int id = 0; id < LARGE; id++)
            logits[r * LARGE + id] = parent[r] < 0 ? first[id] : id == LARGE_END ? 50 : 0;
    sum_rows(rows, LARGE, logits, sums);
    return OA_OK;
}

static enum oa_error search_large(oa_context *c, float *first, struct oa_hypothesis *h)
{
    struct oa_beam how = { WANTED, WANTED, 1, true, BEGIN, LARGE_END, LARGE, 0 };
    int longest = 1;
    first[LARGE_END] = -INFINITY;
    return oa_beam_search(c, &how, 1, &longest, large, first, h);
}

/* The likeliest tokens wherever they stand, of equals the lower ids; every number that is none is
 * noticed. */
static void test_a_large_vocabulary(void **state)
{
    (void)state;
    static const int places[][WANTED] = { { 999, 998, 64, 63 },
                                          { 0, 640, 639, 5 },
                                          { 130, 128, 900, 2 } };
    oa_context *c = oa_open(NULL);
    float first[LARGE];
    struct oa_hypothesis h[WANTED];
    for (int p = 0; p < 3; p++) {
        for (int id = 0; id < LARGE; id++)
            first[id] = (float)(2 * sin(0.7 * id + p));
        for (int k = 0; k < WANTED; k++)
            first[places[p][k]] = 5 - (float)k / 8;
        assert_int_equal(search_large(c, first, h), OA_OK);
        for (int k = 0; k < WANTED; k++)
            assert_int_equal(h[k].ids[0], places[p][k]);
        oa_hypotheses_free(h, WANTED);
        for (int id = 0; id < LARGE; id++)
            first[id] = id < 300 ? 1 : 2;
        assert_int_equal(search_large(c, first, h), OA_OK);
        for (int k = 0; k < WANTED; k++)
            assert_int_equal(h[k].ids[0], 300 + k);
        oa_hypotheses_free(h, WANTED);
        for (int id = 0; id < LARGE; id++)
            first[id] = (float)id / LARGE; /* each block has a little likelier ones */
        assert_int_equal(search_large(c, first, h), OA_OK);
        for (int k = 0; k < WANTED; k++)
            assert_int_equal(h[k].ids[0], LARGE - 1 - k - (LARGE - 1 - k <= LARGE_END));
        oa_hypotheses_free(h, WANTED);
        first[places[p][2]] = p == 1 ? INFINITY : NAN;
        assert_int_equal(search_large(c, first, h), OA_DIVERGED);
        oa_hypotheses_free(h, WANTED);
        oa_close(c);
        c = oa_open(NULL);
    }
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_beam_finds_the_most_probable_sequence),
        cmocka_unit_test(width_one_is_greedy),
        cmocka_unit_test(results_do_not_depend_on_other_sources),
        cmocka_unit_test(test_the_greatest_length_cuts),
        cmocka_unit_test(an_end_token_beyond_the_width_does_not_finish),
        cmocka_unit_test(test_patience_lasts_to_the_greatest_length),
        cmocka_unit_test(logits_that_are_not_finite_are_rejected),
        cmocka_unit_test(test_a_large_vocabulary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
