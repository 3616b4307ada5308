/* SPDX-License-Identifier: Apache-2.0
 *
 * One declared family a report: how often a report contains a false statement, by simulation of
 * comparisons of which the truth is known, and what differences its seeds find.
 *
 *     test_family table [REPORTS]     prints the table of docs/statistics-errors.md
 *
 * Every comparison is judged by the code that real ones run (oa_compare_all). False is a better,
 * worse or equivalent that is not true, and an interval of the family that does not contain its
 * true difference. Best is said where everything else is worse, and is false only where that is.
 */
#include "arena.h"
#include "report/power.h"

#include <stdlib.h>

/* ---- what is false ---- */

/* Truths in deviations of a difference, the margin 1. */
enum { EQUAL, MARGIN, MIXED, TRUTHS };
static const char *const truth_names[TRUTHS] = { "equal", "at the margin", "mixed" };

/* Of a mixture a third is equal to the first, a third at the margin and a third far from it. */
static double truth_of(int truth, int entry)
{
    return truth == EQUAL || entry == 0 ? 0
           : truth == MARGIN            ? 1
                                        : (const double[]){ 1, 0, 4 }[entry % 3];
}

struct scenario {
    enum oa_family_kind family;
    int truth, count, seeds;
    double margin;
};

static void open_scenario(struct arena *a, const struct scenario *w, int trial)
{
    struct simulated s = { .count = w->count, .margin = w->margin };
    for (int i = 0; i < w->count; i++)
        s.truth[i] = truth_of(w->truth, i);
    arena_open(a, &s, trial, w->seeds);
    a->comparison.sequential = false;
    a->comparison.family = w->family;
    a->comparison.baseline = w->family == OA_FAMILY_BASELINE;
    a->entries[w->count - 1].uniform = w->count > 2 || w->family == OA_FAMILY_UNIFORM;
    for (int i = 0; i < w->count; i++)
        for (int r = 0; r < w->seeds; r++)
            a->runs[i][r].absent = false;
}

static bool is_false(enum oa_against_verdict v, double apart, double margin)
{
    const double hair = 1e-9;
    return (v == OA_AGAINST_BETTER && apart > -hair) || (v == OA_AGAINST_WORSE && apart < hair) ||
           (v == OA_AGAINST_EQUIVALENT && fabs(apart) > margin - hair);
}

/* A report counts once, whatever is false in it. */
struct counted {
    int statements, intervals; /* reports with any that is false */
};

static void count_false(const struct arena *a, const struct scenario *w, const struct oa_summary *s,
                        struct counted *n)
{
    bool statement = false, interval = false;
    for (int i = 0; i < w->count; i++)
        for (int j = 0; j < w->count; j++) {
            const struct oa_against *one = oa_compared_pair(s, i, j);
            double apart = truth_of(w->truth, i) - truth_of(w->truth, j);
            statement = statement || is_false(one->verdict, apart, w->margin);
            interval = interval || fabs(one->difference.mean - apart) > one->half;
            assert_true(isfinite(one->half) == oa_in_family(&a->comparison, i, j));
        }
    n->statements += statement;
    n->intervals += interval;
}

static struct counted simulate_reports(oa_context *c, const struct scenario *w, int reports)
{
    static struct arena a;
    static struct oa_against pairs[SIM_ENTRIES * SIM_ENTRIES];
    struct oa_standing standings[SIM_ENTRIES] = { { 0 } };
    struct oa_summary s = { .entries = standings, .pairs = pairs, .uniform = -1 };
    struct counted n = { 0, 0 };
    s.count = w->count;
    s.seeds = w->seeds;
    for (int trial = 0; trial < reports; trial++) {
        open_scenario(&a, w, trial);
        assert_int_equal(oa_compare_all(c, &a.comparison, &s, pairs), OA_OK);
        count_false(&a, w, &s, &n);
    }
    return n;
}

static const enum oa_family_kind families[] = { OA_FAMILY_BASELINE, OA_FAMILY_UNIFORM,
                                                OA_FAMILY_PAIRS };

/* 5 %, and three deviations of so many reports. */
static double most_false(int reports)
{
    return reports * (0.05 + 3 * sqrt(0.05 * 0.95 / reports));
}

static void reports_are_rarely_false(void **state)
{
    static const struct {
        int count, seeds;
    } sizes[] = { { 2, 5 }, { 4, 10 }, { 6, 5 }, { 12, 20 } };
    int reports = tries(300), any = 0;
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int f = 0; f < 3; f++)
        for (int truth = 0; truth < TRUTHS; truth++)
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                struct scenario w = { families[f], truth, sizes[k].count, sizes[k].seeds, 1 };
                if (w.count == 2 && w.family == OA_FAMILY_UNIFORM)
                    continue;
                struct counted n = simulate_reports(c, &w, reports);
                if (n.intervals > most_false(reports) || n.statements > n.intervals)
                    fail_msg("%s, %s, %d attentions, %d seeds: of %d reports %d with a false "
                             "statement, %d with a wrong interval",
                             oa_family_name(w.family), truth_names[truth], w.count, w.seeds,
                             reports, n.statements, n.intervals);
                any += n.intervals;
            }
    oa_close(c);
    assert_true(any > 0); /* it can fail */
}

/* Three or four seeds say nothing, whatever the truth is. */
static void few_seeds_give_no_verdict(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int seeds = 2; seeds < OA_VERDICT_SEEDS; seeds++)
        for (int f = 0; f < 3; f++) {
            static struct arena a;
            struct scenario w = { families[f], MIXED, 6, seeds, 1 };
            for (int trial = 0; trial < tries(20); trial++) {
                struct oa_summary s;
                open_scenario(&a, &w, trial);
                assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
                for (int i = 0; i < w.count * w.count; i++) {
                    const struct oa_against *one = &s.pairs[i];
                    bool in = oa_in_family(&a.comparison, i / w.count, i % w.count);
                    assert_int_equal(one->verdict, in ? OA_AGAINST_FEW_SEEDS : OA_AGAINST_NONE);
                    assert_true(isfinite(one->half) == in && isnan(one->p));
                }
                assert_non_null(strstr(s.conclusion, "seeds give estimates and no verdicts: use at "
                                                     "least 5 (--seeds 5)."));
                oa_summary_free(&s);
            }
        }
    oa_close(c);
}

/* ---- the family ---- */

/* Everything but the family is described. What failed counts for the level all the same. */
static void declared_families(void **state)
{
    static const struct {
        enum oa_family_kind declared;
        bool baseline;
        enum oa_family_kind kind;
        int comparisons;
    } cases[] = { { OA_FAMILY_AUTO, true, OA_FAMILY_BASELINE, 3 },
                  { OA_FAMILY_AUTO, false, OA_FAMILY_PAIRS, 6 },
                  { OA_FAMILY_UNIFORM, true, OA_FAMILY_UNIFORM, 3 },
                  { OA_FAMILY_PAIRS, true, OA_FAMILY_PAIRS, 6 } };
    static struct arena a;
    (void)state;
    oa_context *c = oa_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario w = { cases[i].declared, EQUAL, 4, 6, 0 };
        struct oa_summary s;
        open_scenario(&a, &w, 1);
        a.comparison.baseline = cases[i].baseline;
        a.runs[2][1].failed = true;
        assert_int_equal(oa_family_kind_of(&a.comparison), cases[i].kind);
        assert_int_equal(oa_family_size(&a.comparison), cases[i].comparisons);
        assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++) {
                const struct oa_against *one = oa_compared_pair(&s, j, k);
                bool in =
                    j != k && j != 2 && k != 2 &&
                    (cases[i].kind == OA_FAMILY_PAIRS ||
                     (cases[i].kind == OA_FAMILY_BASELINE ? j == 0 || k == 0 : j == 3 || k == 3));
                assert_true((one->verdict != OA_AGAINST_NONE) == in);
                assert_true(isfinite(one->half) == in);
                if (in)
                    assert_true(one->level == 0.05 / cases[i].comparisons);
            }
        oa_summary_free(&s);
    }
    oa_close(c);
}

/* ---- what the seeds find ---- */

/* scipy 1.17.1: the noncentrality at which P(|T| > t(1 - 0.05/(2 m), df)) is 0.8, by brentq over
 * the integral of the normal distribution's over the density of the deviation. */
static void detectable_differences(void **state)
{
    static const struct {
        int comparisons;
        double df, found;
    } cases[] = { { 1, 4, 3.7610595538250204 },  { 3, 4, 5.124283403114951 },
                  { 6, 4, 6.169898824161457 },   { 6, 2, 13.89000517930549 },
                  { 10, 9, 4.6930495416651326 }, { 66, 19, 4.952771516246859 },
                  { 6, 6, 4.943107100587767 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double found = oa_detectable(OA_FAMILY_LEVEL, cases[i].comparisons, cases[i].df);
        if (!(fabs(found / cases[i].found - 1) < 1e-7))
            fail_msg("%d comparisons: %.12g instead of %.12g", cases[i].comparisons, found,
                     cases[i].found);
    }
    assert_true(isnan(oa_detectable(OA_FAMILY_LEVEL, 3, NAN)));
}

/* Two attentions whose differences go up and down by 0.01, without their own noise: with 5 seeds
 * the deviation is 0.01·√1.2, with 3 it is 0.01·√(4/3); what they find follows from the table
 * above: of one comparison 3.7611 standard errors. */
static void what_the_runs_show(void **state)
{
    static const struct {
        int seeds;
        double deviation;
        const char *text;
    } cases[] = {
        { 5, 0.0109544512,
          " Judged by these runs, true differences above 0.018 nats a token are "
          "found with a probability of 80 %." },
        { 3, 0.0115470054,
          " Judged by these runs, 5 seeds would find true differences above 0.019 "
          "nats a token with a probability of 80 %." },
    };
    (void)state;
    oa_context *c = oa_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct arena a;
        struct scenario w = { OA_FAMILY_PAIRS, EQUAL, 2, cases[i].seeds, 0 };
        struct oa_summary s;
        struct oa_text t;
        open_scenario(&a, &w, 0);
        for (int r = 0; r < cases[i].seeds; r++) {
            a.runs[0][r].valid_loss = 2 + 0.125 * r;
            a.runs[1][r].valid_loss = a.runs[0][r].valid_loss + (r % 2 ? -0.01 : 0.01);
        }
        assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
        assert_true(fabs(oa_family_deviation(&a.comparison, &s) / cases[i].deviation - 1) < 1e-7);
        double found = 3.7610595538250204 * cases[i].deviation / sqrt(5);
        assert_true(fabs(oa_detectable_difference(&a.comparison, &s) / found - 1) < 1e-6);
        oa_text_init(&t, c);
        oa_power_sentence(&a.comparison, &s, &t);
        assert_string_equal(t.s, cases[i].text);
        oa_text_free(&t);
        oa_summary_free(&s);
    }
    oa_close(c);
}

/* Of 3 comparisons and 5 seeds 5.1243/√5 = 2.29 deviations; with 8 degrees of freedom 1.774 (scipy,
 * as above). */
static void what_seeds_can_show(void **state)
{
    static const struct {
        int seeds;
        bool sequential;
        double deviation;
        const char *text;
        enum oa_error_estimate test;
        bool declared;
    } cases[] = {
        { 5, false, NAN,
          "5 seeds and 3 comparisons: true differences above 2.3 standard deviations "
          "of a paired difference are found with a probability of 80 %",
          OA_PAIRED_ERRORS, false },
        { 5, false, 0.01,
          "5 seeds and 3 comparisons: true differences above 2.3 standard "
          "deviations of a paired difference are found with a probability of 80 %, "
          "judged by the last report above 0.023 nats a token",
          OA_PAIRED_ERRORS, false },
        { 4, false, NAN, "4 seeds give estimates and no verdicts: use at least 5 (--seeds 5)",
          OA_PAIRED_ERRORS, false },
        { 1, false, NAN, "1 seed gives no verdicts: use at least 5 (--seeds 5)", OA_PAIRED_ERRORS,
          false },
        { 3, false, NAN,
          "3 seeds, as declared: the report of the comparison has no verdicts, and predictions are "
          "judged by their intervals",
          OA_PAIRED_ERRORS, true },
        { 1, false, NAN,
          "1 seed, as declared: the report of the comparison has no verdicts, and predictions "
          "about scores are not testable",
          OA_PAIRED_ERRORS, true },
        { 5, true, NAN, NULL, OA_PAIRED_ERRORS, false },
        { 5, false, NAN,
          "5 seeds and 3 comparisons: true differences above 1.8 standard deviations of a paired "
          "difference are found with a probability of 80 %",
          OA_TWO_WAY_ERRORS, false },
    };
    (void)state;
    oa_context *c = oa_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct arena a;
        struct scenario w = { OA_FAMILY_PAIRS, EQUAL, 3, cases[i].seeds, 0 };
        struct oa_text t;
        open_scenario(&a, &w, 0);
        a.comparison.sequential = cases[i].sequential;
        a.comparison.test = cases[i].test;
        oa_text_init(&t, c);
        oa_power_announcement(&a.comparison, cases[i].deviation, cases[i].declared, &t);
        if (cases[i].text)
            assert_string_equal(t.s, cases[i].text);
        else
            assert_int_equal(t.length, 0);
        oa_text_free(&t);
    }
    oa_close(c);
}

/* ---- the table ---- */

static void print_family_table(int reports)
{
    static const int counts[] = { 2, 4, 8, 12 }, seeds[] = { 5, 10, 20 };
    oa_context *c = oa_open(NULL);
    printf("| family | truth | attentions | 5 seeds | 10 seeds | 20 seeds |\n");
    for (int f = 0; f < 3; f++)
        for (int truth = 0; truth < TRUTHS; truth++)
            for (int k = 0; k < 4; k++) {
                if (counts[k] == 2 && families[f] == OA_FAMILY_UNIFORM)
                    continue;
                printf("| %s | %s | %d |", oa_family_name(families[f]), truth_names[truth],
                       counts[k]);
                for (int n = 0; n < 3; n++) {
                    struct scenario w = { families[f], truth, counts[k], seeds[n], 1 };
                    struct counted found = simulate_reports(c, &w, reports);
                    printf(" %.1f / %.1f |", 100.0 * found.statements / reports,
                           100.0 * found.intervals / reports);
                }
                printf("\n");
                fflush(stdout);
            }
    oa_close(c);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        print_family_table(argc > 2 ? atoi(argv[2]) : 1000);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_rarely_false), cmocka_unit_test(few_seeds_give_no_verdict),
        cmocka_unit_test(declared_families),        cmocka_unit_test(detectable_differences),
        cmocka_unit_test(what_the_runs_show),       cmocka_unit_test(what_seeds_can_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
