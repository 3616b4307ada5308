/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison against a baseline: p-values from scipy 1.17.1 (ttest_rel, two one-sided tests by
 * stats.t) with Holm's correction by statsmodels 0.15.0; error rates by simulating comparisons of
 * which the truth is known.
 */
#include "results_reader.h"
#include "testing.h"

#include "report/against.h"
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
    static const double holm[] = { 0, 0.0001813989770060345, 1, 6.664670813089001e-06, 1 };
    static const double equivalence[] = { 0, 1, 6.276038067987332e-07, 1, 0.24814270016596618 };
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
        near(s.entries[i].baseline.p, p[i]);
        near(s.entries[i].baseline.holm, holm[i]);
        near(s.entries[i].baseline.equivalence, equivalence[i]);
    }
    for (int i = 0; i < MOST; i++)
        assert_int_equal(s.entries[i].baseline.verdict, verdicts[i]);
    assert_non_null(
        strstr(s.conclusion,
               " lower is better than the baseline, softmax. beside is equivalent to the baseline, "
               "softmax: within 0.01 nats a token. higher is worse than the baseline, softmax. "
               "open shows no significant difference to the baseline, softmax."));
    oa_text_init(&table, c);
    oa_report_table(&m.comparison, &s, 0, &table);
    assert_non_null(strstr(table.s, "+0.0001 ±0.0009 equivalent"));
    assert_non_null(strstr(table.s, "+0.0755 ±0.0112 worse"));
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
        assert_int_equal(s.entries[i].baseline.verdict, verdicts[i]);
    struct oa_estimate d = s.entries[1].baseline.difference;
    assert_true(d.half == oa_anytime_half(&d, 0.05 / 4));
    assert_true(d.half > oa_t_quantile(0.975, SEEDS - 1) * d.sd / sqrt(SEEDS));
    assert_true(isnan(s.entries[1].baseline.holm));
    oa_summary_free(&s);
    oa_close(c);
}

static void twins_and_stuck_runs_are_said(void **state)
{
    static const char *const names[] = { "softmax", "local(window=64)", "stuck", "x", "y" };
    static struct made m;
    struct oa_against out[MOST];
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    (void)state;
    make(&m, names, 0.01);
    for (int r = 0; r < SEEDS; r++)
        for (int i = 0; i < MOST; i++)
            set_loss(&m, i, r, 2 + 0.125 * r + (i < 2 ? 0 : i * (i > 2 ? 0.01 * r + 0.1 : 1)));
    assert_int_equal(oa_summary_make(c, &m.comparison, &s), OA_OK);
    assert_int_equal(s.entries[1].baseline.verdict, OA_AGAINST_IDENTICAL);
    assert_int_equal(s.entries[2].baseline.verdict, OA_AGAINST_UNJUDGED);
    assert_int_equal(oa_compare_against(c, &m.comparison, &s, -1, 0, false, out), OA_OK);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(out[i].verdict, OA_AGAINST_NONE);
    oa_summary_free(&s);
    oa_close(c);
}

/* ---- error rates: docs/statistics.md has them ---- */

/* The share of comparisons in which any of four attentions, all `apart` from the baseline, gets one
 * of two verdicts. */
static double share(oa_context *c, double apart, double margin, enum oa_against_verdict a,
                    enum oa_against_verdict b)
{
    enum { TRIALS = 3000 };
    static const char *const names[] = { "baseline", "a", "b", "c", "d" };
    static struct made m;
    struct oa_against out[MOST];
    int hits = 0;
    make(&m, names, margin);
    struct oa_standing standings[MOST] = { 0 };
    struct oa_summary s = { .entries = standings, .count = MOST, .seeds = SEEDS, .uniform = -1 };
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int i = 0; i < MOST; i++)
            for (int r = 0; r < SEEDS; r++)
                set_loss(&m, i, r,
                         10 + (i ? apart : 0) +
                             0.01 * oa_random_normal(oa_stream_named(5, names[i]),
                                                     (uint64_t)(trial * SEEDS + r)));
        assert_int_equal(oa_compare_against(c, &m.comparison, &s, 0, margin, false, out), OA_OK);
        bool hit = false;
        for (int i = 1; i < MOST; i++)
            hit = hit || out[i].verdict == a || out[i].verdict == b;
        hits += hit;
    }
    return (double)hits / TRIALS;
}

/* 0.012: three deviations of a share of 0.05 in 3000 trials. */
static void wrong_verdicts_are_rare(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    double unequal = share(c, 0, 0, OA_AGAINST_BETTER, OA_AGAINST_WORSE);
    double equal = share(c, 0.03, 0.03, OA_AGAINST_EQUIVALENT, OA_AGAINST_EQUIVALENT);
    double found = share(c, 0, 0.04, OA_AGAINST_EQUIVALENT, OA_AGAINST_EQUIVALENT);
    double worse = share(c, 0.05, 0, OA_AGAINST_WORSE, OA_AGAINST_WORSE);
    printf("equal and called different %.4f, at the margin and called as good %.4f; equal and "
           "called as good %.4f, worse and called so %.4f\n",
           unequal, equal, found, worse);
    assert_true(unequal < 0.05 + 0.012);
    assert_true(equal < 0.05 + 0.012);
    assert_true(found > 0.9 && worse > 0.9);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_scipy),
        cmocka_unit_test(any_number_of_looks),
        cmocka_unit_test(twins_and_stuck_runs_are_said),
        cmocka_unit_test(wrong_verdicts_are_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
