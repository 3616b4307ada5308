/* SPDX-License-Identifier: Apache-2.0
 *
 * Equivalence, and intervals that may be looked at after every seed, against values from elsewhere:
 * p-values of equivalence from statsmodels 0.15.0 (DescrStatsW.ttost_mean), evidence by integrating
 * scipy 1.17.1's noncentral t density over the effect. The error rates are simulated: comparisons
 * of which the truth is known, looked at after every seed.
 */
#include "testing.h"

#include "report/against.h"
#include "report/report.h"

#include <math.h>

static void near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void equivalence(void **state)
{
    static const double small[] = { 0.0034, 0.0111, 0.0062, 0.0018, 0.0156 },
                        wide[] = { -0.02, 0.01, 0.005 };
    static const double far[] = { 0.3, 0.31, 0.29, 0.305, 0.302, 0.298, 0.3011, 0.2999 };
    struct oa_estimate a = oa_estimate_of(small, 5), b = oa_estimate_of(wide, 3),
                       c = oa_estimate_of(far, 8);
    (void)state;
    near(oa_equivalence_test(&a, 0.01), 0.20127911438989685, 1e-11);
    near(oa_equivalence_test(&a, 0.02), 0.004123443429859119, 1e-11);
    near(oa_equivalence_test(&a, 0.5), 2.1391506823951554e-09, 1e-6);
    near(oa_equivalence_test(&b, 0.01), 0.23197186629055128, 1e-11);
    near(oa_equivalence_test(&b, 0.02), 0.09342830097498492, 1e-11);
    near(oa_equivalence_test(&b, 0.5), 0.00017328601096190844, 1e-11);
    near(oa_equivalence_test(&c, 0.01), 0.999999999999895, 1e-11);
    struct oa_estimate one = oa_estimate_of(small, 1);
    assert_true(isnan(oa_equivalence_test(&one, 0.01)));
}

static struct oa_estimate with_t(int n, double t)
{
    return (struct oa_estimate){ .n = n, .mean = t * 0.3 / sqrt(n), .sd = 0.3 };
}

/* M(n) of src/statistics/anytime.c with g = 3: how much likelier the mean is under an effect drawn
 * from N(0, g) than under none. */
static double evidence_of(const struct oa_estimate *e)
{
    double n = e->n, spread = 1 + 3 * n;
    double u = n * e->mean * e->mean / (e->sd * e->sd) / (n - 1); /* t²/v */
    return exp(n / 2 * (log1p(u) - log1p(u / spread)) - log(spread) / 2);
}

static void evidence(void **state)
{
    static const double cases[][3] = {
        /* n, t, likelihood ratio */
        { 2, 1.5, 0.9295882984821535 },  { 3, 4.3, 3.884105976376832 },
        { 5, -2.0, 1.2153256137434543 }, { 5, 6.5, 32.00346201332791 },
        { 10, 3.9, 19.400566847220325 }, { 30, 0.4, 0.11374365490374376 },
        { 30, 3.5, 19.306309276775806 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_estimate e = with_t((int)cases[i][0], cases[i][1]);
        near(evidence_of(&e), cases[i][2], 1e-10);
    }
}

/* The interval ends where the evidence against its end is 1/level. */
static void interval_and_evidence_agree(void **state)
{
    (void)state;
    for (int n = 2; n <= 40; n++)
        for (int k = 1; k <= 3; k++) {
            double level = 0.05 / k;
            struct oa_estimate e = { .n = n, .sd = 0.7 };
            e.mean = oa_anytime_half(&e, level);
            if (isinf(e.mean)) /* not even an endless t is enough evidence */
                e.mean = 1e9;
            double found = evidence_of(&e) * level;
            if (e.mean == 1e9)
                assert_true(found < 1);
            else
                near(found, 1, 1e-9);
        }
}

static void relevance(void **state)
{
    (void)state;
    assert_int_equal(oa_relevance_of(0.05, 0.01, 0.02), OA_RELEVANCE_WORSE);
    assert_int_equal(oa_relevance_of(-0.05, 0.01, 0.02), OA_RELEVANCE_BETTER);
    assert_int_equal(oa_relevance_of(0.005, 0.01, 0.02), OA_RELEVANCE_EQUIVALENT);
    assert_int_equal(oa_relevance_of(0.05, 0.04, 0.02),
                     OA_RELEVANCE_OPEN); /* not 0, but perhaps within the margin */
    assert_int_equal(oa_relevance_of(0.005, 0.03, 0.02), OA_RELEVANCE_OPEN);
    assert_int_equal(oa_relevance_of(0.5, NAN, 0.02), OA_RELEVANCE_OPEN);
    assert_int_equal(oa_relevance_of(0.5, INFINITY, 0.02), OA_RELEVANCE_OPEN);
}

/* ---- simulated comparisons, looked at after every seed ---- */

enum { TRIALS = 4000, SEEDS = 30 };

/* How the trial-th sample is decided: at the first look whose interval decides; OPEN when all seeds
 * are used up. */
static enum oa_relevance decide(double truth, double margin, double level, int trial, int *seeds)
{
    double x[SEEDS];
    for (*seeds = 1; *seeds <= SEEDS; ++*seeds) {
        x[*seeds - 1] = truth + oa_random_normal(oa_stream_named(7, "looks"),
                                                 (uint64_t)(trial * SEEDS + *seeds));
        struct oa_estimate e = { .n = *seeds,
                                 .mean = oa_mean(x, *seeds),
                                 .sd = oa_deviation(x, *seeds) };
        enum oa_relevance r = oa_relevance_of(e.mean, oa_anytime_half(&e, level), margin);
        if (r != OA_RELEVANCE_OPEN)
            return r;
    }
    --*seeds;
    return OA_RELEVANCE_OPEN;
}

struct rates {
    double of[4]; /* share of each relevance */
    double seeds; /* mean number used */
};

static struct rates simulate(double truth, double margin, double level)
{
    struct rates r = { .seeds = 0 };
    for (int trial = 0; trial < TRIALS; trial++) {
        int seeds;
        r.of[decide(truth, margin, level, trial, &seeds)] += 1.0 / TRIALS;
        r.seeds += (double)seeds / TRIALS;
    }
    return r;
}

static void print(double truth, double margin, double level, struct rates r)
{
    printf("truth %4.1f margin %.1f level %.3f: better %.4f worse %.4f equivalent %.4f open %.4f, "
           "%.1f seeds\n",
           truth, margin, level, r.of[OA_RELEVANCE_BETTER], r.of[OA_RELEVANCE_WORSE],
           r.of[OA_RELEVANCE_EQUIVALENT], r.of[OA_RELEVANCE_OPEN], r.seeds);
}

/* A wrong verdict, at any look, is as rare as promised: whatever the truth, also on the edge of the
 * margin. 0.011 are three deviations of a share of 0.05 in 4000 trials. */
static void wrong_verdicts_are_rare(void **state)
{
    static const double truths[] = { 0, 0.5, 1, 2, 4 };
    (void)state;
    for (int k = 1; k <= 5; k += 4)
        for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
            double level = 0.05 / k;
            struct rates r = simulate(truths[i], 1, level);
            double wrong = r.of[OA_RELEVANCE_BETTER] +
                           (truths[i] > 1 ? 0 : r.of[OA_RELEVANCE_WORSE]) +
                           (truths[i] < 1 ? 0 : r.of[OA_RELEVANCE_EQUIVALENT]);
            print(truths[i], 1, level, r);
            assert_true(wrong <= level + 0.011);
        }
}

/* And right ones are reached: the figures of docs/sequential.md. */
static void right_verdicts_come(void **state)
{
    (void)state;
    struct rates none = simulate(0, 1, 0.05), large = simulate(4, 1, 0.05),
                 nothing = simulate(1, 0, 0.05);
    print(1, 0, 0.05, nothing);
    assert_true(none.of[OA_RELEVANCE_EQUIVALENT] > 0.95);
    assert_true(large.of[OA_RELEVANCE_WORSE] > 0.99 && large.seeds < 6);
    assert_true(nothing.of[OA_RELEVANCE_WORSE] > 0.95 && nothing.seeds < 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equivalence),
        cmocka_unit_test(evidence),
        cmocka_unit_test(interval_and_evidence_agree),
        cmocka_unit_test(relevance),
        cmocka_unit_test(wrong_verdicts_are_rare),
        cmocka_unit_test(right_verdicts_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
