/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison against a baseline: p-values from scipy 1.17.1 (ttest_rel, two one-sided tests by
 * stats.t), times the number of comparisons; what is equal to the bit, or as good as can be.
 */
#include "results_reader.h"
#include "testing.h"

#include "report/report.h"

#include <math.h>
#include <string.h>

enum { MOST = 5, SEEDS = 6 };

struct made {
    struct oa_comparison comparison;
    struct oa_entry entries[MOST];
    struct oa_run runs[MOST][SEEDS];
};

static void set_loss(struct made *m, int entry, int seed, double loss)
{
    m->runs[entry][seed] = (struct oa_run){ .seed = (uint64_t)seed + 1, .valid_loss = loss };
}

static void make(struct made *m, const char *const *names, double margin)
{
    *m = (struct made){ .comparison = {
                            .count = MOST, .seeds = SEEDS, .baseline = 1, .margin = margin } };
    m->comparison.entries = m->entries;
    for (int i = 0; i < MOST; i++)
        m->entries[i] =
            (struct oa_entry){ .attention = (char *)(uintptr_t)names[i], .runs = m->runs[i] };
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void as_scipy(void **state)
{
    static const char *const names[] = { "softmax", "lower", "beside", "higher", "open" };
    static const double losses[MOST][SEEDS] = { { 1.6377, 1.6391, 1.6325, 1.6602, 1.6299, 1.6412 },
                                                { 1.6011, 1.6102, 1.6087, 1.6220, 1.6055, 1.6101 },
                                                { 1.6380, 1.6389, 1.6331, 1.6598, 1.6310, 1.6405 },
                                                { 1.7101, 1.7288, 1.7071, 1.7294, 1.7033, 1.7150 },
                                                { 1.6401, 1.6300, 1.6475, 1.6700, 1.6201,
                                                  1.6512 } };
    static const double p[] = { 0, 6.046632566867817e-05, 0.6889967307755358,
                                1.6661677032722502e-06, 0.5080519755363394 };
    static const double adjusted[] = { 0, 0.00024186530267471267, 1, 6.664670813089001e-06, 1 };
    static const double equivalence[] = { 0, 1, 1.2552076135974645e-06, 1, 0.6617138671092432 };
    static const enum oa_against_verdict verdicts[] = { OA_AGAINST_NONE, OA_AGAINST_BETTER,
                                                        OA_AGAINST_EQUIVALENT, OA_AGAINST_WORSE,
                                                        OA_AGAINST_UNRESOLVED };
    static struct made m;
    struct oa_summary s;
    struct oa_text table, json;
    oa_context *c = oa_open(NULL);
    (void)state;
    make(&m, names, 0.01);
    for (int i = 0; i < MOST; i++)
        for (int r = 0; r < SEEDS; r++)
            set_loss(&m, i, r, losses[i][r]);
    assert_int_equal(oa_summary_make(c, &m.comparison, &s), OA_OK);
    for (int i = 1; i < MOST; i++) {
        near(oa_compared_pair(&s, i, 0)->p, p[i]);
        near(oa_compared_pair(&s, i, 0)->adjusted, adjusted[i]);
        near(oa_compared_pair(&s, i, 0)->equivalence, equivalence[i]);
    }
    for (int i = 0; i < MOST; i++)
        assert_int_equal(oa_compared_pair(&s, i, 0)->verdict, verdicts[i]);
    assert_string_equal(
        s.conclusion,
        "lower has the lowest loss. lower is better than the baseline, softmax, by 0.030 nats a "
        "token. beside is equivalent to the baseline, softmax: within 0.01 nats a token. open "
        "shows "
        "no significant difference to the baseline, softmax, at the level of 5 % with 6 seeds; 21 "
        "or more seeds are needed to tell it from softmax. higher is worse than the baseline, "
        "softmax, by 0.076 nats a token.");
    oa_text_init(&table, c);
    oa_report_table(&m.comparison, &s, 0, &table);
    assert_non_null(strstr(table.s, "+0.0001 ±0.0010   <1e-4  equivalent"));
    assert_non_null(strstr(table.s, "+0.0755 ±0.0112   <1e-4  worse"));
    oa_text_init(&json, c);
    oa_report_json(&m.comparison, &s, &json);
    struct oa_comparison again;
    assert_int_equal(oa_comparison_from_json(c, json.s, &again), OA_OK);
    assert_int_equal(again.baseline, 1);
    assert_true(again.margin == 0.01);
    oa_comparison_free(&again);
    oa_text_free(&table);
    oa_text_free(&json);
    oa_summary_free(&s);
    oa_close(c);
}

/* The same losses, judged so that one may look again: intervals by the formula of anytime.c at
 * 0.05/4. */
static void any_number_of_looks(void **state)
{
    static const char *const names[] = { "softmax", "lower", "beside", "higher", "open" };
    static struct made m;
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    (void)state;
    make(&m, names, 0.02);
    m.comparison.sequential = true;
    for (int i = 0; i < MOST; i++)
        for (int r = 0; r < SEEDS; r++)
            set_loss(&m, i, r,
                     2 + 0.05 * r +
                         (i == 1   ? -0.1
                          : i == 3 ? 0.1
                                   : 0) +
                         (i == 4 ? 0.02 : 0.001) * (r * (i + 2) % 5));
    assert_int_equal(oa_summary_make(c, &m.comparison, &s), OA_OK);
    static const enum oa_against_verdict verdicts[] = { OA_AGAINST_NONE, OA_AGAINST_BETTER,
                                                        OA_AGAINST_EQUIVALENT, OA_AGAINST_WORSE,
                                                        OA_AGAINST_UNRESOLVED };
    for (int i = 0; i < MOST; i++)
        assert_int_equal(oa_compared_pair(&s, i, 0)->verdict, verdicts[i]);
    const struct oa_against *a = oa_compared_pair(&s, 1, 0);
    assert_true(a->half == oa_anytime_half(&a->difference, 0.05 / 4));
    assert_true(a->half > a->difference.half);
    assert_true(isnan(a->adjusted));
    oa_summary_free(&s);
    oa_close(c);
}

static void twins_and_stuck_runs_are_said(void **state)
{
    static const char *const names[] = { "softmax", "local(window=64)", "stuck", "x", "y" };
    static struct made m;
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    (void)state;
    make(&m, names, 0.01);
    for (int r = 0; r < SEEDS; r++)
        for (int i = 0; i < MOST; i++)
            set_loss(&m, i, r, 2 + 0.125 * r + (i < 2 ? 0 : i * (i > 2 ? 0.01 * r + 0.1 : 1)));
    assert_int_equal(oa_summary_make(c, &m.comparison, &s), OA_OK);
    assert_int_equal(oa_compared_pair(&s, 1, 0)->verdict, OA_AGAINST_IDENTICAL);
    assert_int_equal(oa_compared_pair(&s, 2, 0)->verdict, OA_AGAINST_UNJUDGED);
    for (int i = 1; i < MOST; i++)
        for (int j = 1; j < MOST; j++)
            assert_int_equal(oa_compared_pair(&s, i, j)->verdict, OA_AGAINST_NONE);
    oa_summary_free(&s);
    oa_close(c);
}

/* ---- as good as can be ---- */

/* The share of right answers of five attentions. At 100 % with every seed two are equivalent,
 * though their losses differ; at another constant they cannot be tested; where one of two spreads
 * they can. */
static void at_the_ceiling(void **state)
{
    static const char *const names[] = { "softmax", "perfect", "stuck", "spread", "same" };
    static const struct oa_measure measures[] = { { "loss", "valid loss", "nats", 4, false, 0 },
                                                  { "accuracy", "accuracy", "%", 2, true, 100 },
                                                  { .name = NULL } };
    static const struct {
        double baseline;
        int seeds;
        enum oa_against_verdict perfect, stuck, spread;
    } cases[] = {
        { 100, 6, OA_AGAINST_EQUIVALENT, OA_AGAINST_UNJUDGED, OA_AGAINST_WORSE },
        { 100, 4, OA_AGAINST_FEW_SEEDS, OA_AGAINST_UNJUDGED, OA_AGAINST_FEW_SEEDS },
        { 90, 6, OA_AGAINST_UNJUDGED, OA_AGAINST_UNJUDGED, OA_AGAINST_WORSE },
    };
    static struct made m;
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make(&m, names, 0);
        m.comparison.seeds = cases[k].seeds;
        assert_int_equal(oa_comparison_set_measures(c, &m.comparison, measures, 1), OA_OK);
        for (int i = 0; i < MOST; i++)
            for (int r = 0; r < SEEDS; r++) {
                set_loss(&m, i, r, 0.01 + 0.001 * r + (i % 4) * 1e-4);
                m.runs[i][r].scores[1] = i == 2 ? 70 : i == 3 ? 80 + r : cases[k].baseline;
            }
        assert_int_equal(oa_summary_make(c, &m.comparison, &s), OA_OK);
        assert_int_equal(oa_compared_pair(&s, 1, 0)->verdict, cases[k].perfect);
        assert_int_equal(oa_compared_pair(&s, 2, 0)->verdict, cases[k].stuck);
        assert_int_equal(oa_compared_pair(&s, 3, 0)->verdict, cases[k].spread);
        assert_int_equal(oa_compared_pair(&s, 4, 0)->verdict, OA_AGAINST_IDENTICAL);
        if (k == 0)
            assert_non_null(strstr(s.conclusion, " perfect is equivalent to the baseline, softmax: "
                                                 "the best possible accuracy with every seed."));
        oa_summary_free(&s);
        oa_free(m.comparison.measures);
    }
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_scipy),
        cmocka_unit_test(any_number_of_looks),
        cmocka_unit_test(twins_and_stuck_runs_are_said),
        cmocka_unit_test(at_the_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
