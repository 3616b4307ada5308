/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics against values from elsewhere. The tables of t come from mpmath (40 digits: betainc
 * and a root of it), the powers from mpmath's quad over the noncentral t and, independently, from
 * scipy.stats.nct, the sizes of samples from scipy.stats.nct by trying n = 2, 3, …, the paired
 * tests from scipy.stats.ttest_rel (verdicts/family.py).
 */
#include "testing.h"

#include "report/report.h"

#include <math.h>
#include <string.h>

static void near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fmax(fabs(expected), 1e-300)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void t_distribution(void **state)
{
    static const double cases[][3] = { /* t, df, P(T <= t) */
                                       { 0, 3, 0.5 },
                                       { 1, 1, 0.75 },
                                       { -2.5, 2, 0.064805860110755405 },
                                       { 4.302652729911275, 2, 0.97500000000174168 },
                                       { 0.001, 7, 0.50038499137750058 },
                                       { 12, 4, 0.99986178572574851 },
                                       { -40, 2, 0.00031220733609237032 },
                                       { 2, 0.5, 0.77724255490843438 },
                                       { 1.96, 1000, 0.97486340752212564 },
                                       { -6, 30, 6.9713843836023714e-7 },
                                       { 0.3, 250, 0.6177867754919752 },
                                       { -1e5, 1, 3.1830988617318034e-6 },
                                       { 1e-9, 5, 0.50000000037960669 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(oa_t_cdf(cases[i][0], cases[i][1]), cases[i][2], 1e-12);
    near(oa_t_cdf(INFINITY, 3), 1, 0);
    near(oa_t_cdf(-1e300, 3), 0, 0);
    assert_true(isnan(oa_t_cdf(NAN, 3)) && isnan(oa_t_cdf(1, 0)));
}

static void t_quantiles(void **state)
{
    static const double cases[][3] = {
        /* p, df, t */
        { 0.975, 1, 12.706204736174693 },   { 0.975, 2, 4.3026527297494618 },
        { 0.975, 3, 3.1824463052837084 },   { 0.975, 4, 2.7764451051977935 },
        { 0.975, 9, 2.262157162798205 },    { 0.975, 29, 2.0452296421327039 },
        { 0.975, 999, 1.9623414611334496 }, { 0.95, 5, 2.0150483733330235 },
        { 0.995, 2, 9.9248432009182886 },   { 0.9983333333333333, 2, 17.277176700043731 },
        { 0.025, 7, -2.3646242515927853 },  { 0.6, 12, 0.259032745676887 },
        { 1e-6, 2, -707.10572052593382 },   { 0.9999, 1, 3183.0987571185015 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(oa_t_quantile(cases[i][0], cases[i][1]), cases[i][2], 1e-11);
    assert_true(oa_t_quantile(0.5, 4) == 0);
    assert_true(isnan(oa_t_quantile(0, 4)) && isnan(oa_t_quantile(1, 4)) &&
                isnan(oa_t_quantile(0.9, 0)));
}

static void power(void **state)
{
    static const double cases[][4] = { /* noncentrality, df, critical, power */
                                       { 0, 2, 4.302652729911275, 0.0499999999965166 },
                                       { 3, 2, 4.302652729911275, 0.38740012850548 },
                                       { 30, 2, 17.27, 0.950253481501621 },
                                       { 2.9, 9, 2.2621571628, 0.733030336771342 },
                                       { 3.2, 99, 1.98, 0.887446340604577 },
                                       { 1.5, 1, 12.706, 0.0973646700574825 },
                                       { 200, 1, 190.98, 0.704999903685699 },
                                       { 2.8, 999, 1.9623414611, 0.798801174467741 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(oa_t_power(cases[i][0], cases[i][1], cases[i][2]), cases[i][3], 1e-10);
}

static void seeds_needed(void **state)
{
    static const double cases[][4] = {
        /* mean, sd, level, n */
        { 1, 1, 0.05, 10 },    { 0.5, 1, 0.05, 34 },    { -0.2, 1, 0.05, 199 },
        { 0.1, 1, 0.05, 787 }, { 0.05, 1, 0.05, 1001 }, { 3, 1, 0.05, 4 },
        { 10, 1, 0.05, 3 },    { 1, 1, 0.05 / 15, 19 }, { 0.5, 1, 0.01, 51 },
        { 100, 1, 0.05, 2 },   { 0, 1, 0.05, 1001 },    { 0, 0, 0.05, 1001 },
        { 1e-9, 0, 0.05, 2 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(oa_seeds_needed(cases[i][0], cases[i][1], cases[i][2]), (int)cases[i][3]);
}

static void estimates(void **state)
{
    static const double differences[] = { 1.6411 - 1.6377, 1.6502 - 1.6391, 1.6387 - 1.6325,
                                          1.6620 - 1.6602, 1.6455 - 1.6299 };
    struct oa_estimate e = oa_estimate_of(differences, 5);
    (void)state;
    near(e.mean, 0.00762, 1e-12);
    near(e.sd, 0.0056896397073979855, 1e-12);
    near(e.half, 0.0070646207874266774, 1e-11);
}

static void small_samples(void **state)
{
    static const double equal[] = { 0.1, 0.1, 0.1 }, zeros[] = { 0, 0, 0 };
    struct oa_estimate none = oa_estimate_of(equal, 0), one = oa_estimate_of(equal, 1);
    (void)state;
    assert_true(isnan(none.mean) && isnan(none.sd) && isnan(none.half));
    assert_true(one.mean == 0.1 && isnan(one.sd) && isnan(one.half));
    struct oa_estimate same = oa_estimate_of(equal, 3), zero = oa_estimate_of(zeros, 3);
    assert_true(same.mean == 0.1 && same.sd == 0 && same.half == 0);
    assert_true(zero.mean == 0 && zero.sd == 0);
}

/* ---- whole comparisons ---- */

enum { MOST_ENTRIES = 12, MOST_SEEDS = 10 };

/* A comparison with nothing but losses in it; a loss of -1 is a run that failed. */
struct losses {
    struct oa_comparison comparison;
    struct oa_entry entries[MOST_ENTRIES];
    struct oa_run runs[MOST_ENTRIES][MOST_SEEDS];
    char names[MOST_ENTRIES][2];
};

static void set_losses(struct losses *l, int count, int seeds, const double *losses)
{
    memset(l, 0, sizeof *l);
    l->comparison = (struct oa_comparison){ .entries = l->entries, .count = count, .seeds = seeds };
    for (int i = 0; i < count; i++) {
        l->names[i][0] = (char)('a' + i);
        l->entries[i] =
            (struct oa_entry){ .attention = l->names[i], .trainable = 100, .runs = l->runs[i] };
        for (int s = 0; s < seeds; s++) {
            l->runs[i][s].seed = (uint64_t)s;
            l->runs[i][s].valid_loss = losses[i * seeds + s];
            l->runs[i][s].failed = losses[i * seeds + s] < 0;
            l->runs[i][s].tokens_per_second = 1000;
        }
    }
}

static struct oa_summary summarise(struct losses *l, int count, int seeds, const double *losses)
{
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    set_losses(l, count, seeds, losses);
    assert_int_equal(oa_summary_make(c, &l->comparison, &s), OA_OK);
    oa_close(c);
    return s;
}

static void a_whole_summary(void **state)
{
    static const double losses[] = { 1.50,  1.52,  1.47,  1.55,  1.51,  1.56,  1.585,
                                     1.525, 1.612, 1.573, 1.512, 1.519, 1.493, 1.551,
                                     1.520, 1.70,  1.71,  1.66,  1.76,  1.72 };
    static const double adjusted[] = { NAN, 2.175334466176541e-05, 0.6272399986702708,
                                       8.970078561432198e-06 };
    static const double half[] = { NAN, 0.008260969704188468, 0.02086497625034915,
                                   0.021694369276384518 };
    static struct losses l;
    struct oa_summary s = summarise(&l, 4, 5, losses);
    (void)state;
    assert_int_equal(s.reference, 0);
    assert_int_equal(s.order[1], 2);
    for (int i = 1; i < 4; i++) {
        near(oa_compared_pair(&s, i, 0)->adjusted, adjusted[i], 1e-9);
        near(oa_compared_pair(&s, i, 0)->half, half[i], 1e-9);
    }
    near(oa_compared_pair(&s, 2, 0)->p, 0.10453999977837847, 1e-9);
    near(oa_compared_pair(&s, 1, 0)->difference.mean, 0.061, 1e-12);
    near(s.entries[1].percent, 4.039735099337747, 1e-12);
    assert_int_equal(s.entries[0].verdict, OA_VERDICT_LOWEST);
    assert_int_equal(s.entries[1].verdict, OA_VERDICT_WORSE);
    assert_int_equal(s.entries[2].verdict, OA_VERDICT_UNRESOLVED);
    assert_int_equal(s.entries[2].seeds_needed, 18);
    assert_int_equal(s.entries[2].seeds_range.low, 9); /* scipy.stats.nct */
    assert_int_equal(s.entries[2].seeds_range.high, 376);
    assert_int_equal(s.entries[1].seeds_needed, 0);
    assert_string_equal(s.conclusion,
                        "a has the lowest loss. c shows no significant difference to a, at the "
                        "level of 5 % with 5 seeds; about 9 to 376 seeds are needed to tell it "
                        "from a. b and d are worse, by 0.061 to 0.20 nats a token.");
    oa_summary_free(&s);
}

/* p = 0.053: an effect this large may need fewer seeds than there are, which did not suffice. */
static void more_seeds_are_needed_than_there_are(void **state)
{
    static const double losses[] = { 1.50, 1.52, 1.47, 1.55, 1.51, 1.50, 1.54, 1.52, 1.63, 1.61 };
    static struct losses l;
    struct oa_summary s = summarise(&l, 2, 5, losses);
    (void)state;
    assert_int_equal(s.entries[1].verdict, OA_VERDICT_UNRESOLVED);
    assert_true(oa_seeds_range_of(&oa_compared_pair(&s, 1, 0)->difference, 0.05).low <= 5);
    assert_int_equal(s.entries[1].seeds_range.low, 6);
    oa_summary_free(&s);
}

static void verdicts(void **state)
{
    static struct losses l;
    static const struct {
        int count, seeds;
        double losses[15];
        enum oa_verdict verdict[3];
        const char *conclusion;
    } cases[] = {
        { 2,
          5,
          { 1, 1.1, 1.2, 1.3, 1.4, 2, 2.11, 2.2, 2.31, 2.4 },
          { OA_VERDICT_BEST, OA_VERDICT_WORSE },
          "a is best: b is worse, by 1.0 nats a token." },
        { 2,
          5,
          { 1, 1.25, 1.5, 1.25, 1.5, 1.5, 1.25, 1, 1.5, 1.25 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNRESOLVED },
          "a and b share the lowest loss. b shows no significant difference to a, at the level of "
          "5 % with 5 seeds; 26 or more seeds are needed to tell it from a." },
        /* The same models, also where neither is the best: said, not tested. */
        { 2,
          5,
          { 1, 1.1, 1.2, 1.3, 1.4, 1, 1.1, 1.2, 1.3, 1.4 },
          { OA_VERDICT_LOWEST, OA_VERDICT_IDENTICAL },
          "a has the lowest loss. b is identical to a: bitwise the same loss with every seed." },
        { 3,
          5,
          { 1, 1.1, 1.2, 1.3, 1.4, 1.2, 1.25, 1.2, 1.3, 1.1, 1, 1.1, 1.2, 1.3, 1.4 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNRESOLVED, OA_VERDICT_IDENTICAL },
          NULL },
        { 3,
          5,
          { 2, 2.11, 2.2, 2.31, 2.4, 1, 1.1, 1.2, 1.3, 1.4, 2, 2.11, 2.2, 2.31, 2.4 },
          { OA_VERDICT_WORSE, OA_VERDICT_BEST, OA_VERDICT_WORSE },
          "b is best: a and c are worse, by 1.0 nats a token. c is identical to a: bitwise the "
          "same loss with every seed." },
        { 2,
          1,
          { 2, 2 },
          { OA_VERDICT_LOWEST, OA_VERDICT_IDENTICAL },
          "a has the lowest loss. b is identical to a: bitwise the same loss with every seed." },
        /* Seeds that change nothing, or nothing beyond rounding: no p, however far apart. */
        { 2,
          5,
          { 1, 1, 1, 1, 1, 2, 2, 2, 2, 2 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNJUDGED },
          "a has the lowest loss. b cannot be tested: the difference to a is the same with every "
          "seed, so there is no variance to test against." },
        { 3,
          5,
          { 1, 1.1, 1.2, 1.3, 1.4, 2, 2.1, 2.2, 2.3, 2.4, 3, 3.01, 3, 3.01, 3 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNJUDGED, OA_VERDICT_WORSE },
          "a has the lowest loss. c is worse, by 1.8 nats a token. b cannot be tested: the "
          "difference to a is the same with every seed, so there is no variance to test "
          "against." },
        /* Too few seeds. */
        { 2,
          1,
          { 2, 1 },
          { OA_VERDICT_ONE_SEED, OA_VERDICT_LOWEST },
          "b has the lowest loss. One seed gives no verdict: the variance between seeds is "
          "unknown. Use at least 5 seeds (--seeds 5)." },
        { 2,
          4,
          { 1, 1.1, 1.2, 1.3, 2, 2.11, 2.2, 2.31 },
          { OA_VERDICT_LOWEST, OA_VERDICT_FEW_SEEDS },
          "a has the lowest loss. 4 seeds give estimates and no verdicts: use at least 5 (--seeds "
          "5)." },
        { 1,
          3,
          { 1, 1, 1 },
          { OA_VERDICT_LOWEST },
          "a reached a validation loss of 1.0000 nats a token; there is nothing to compare it "
          "with." },
        { 2,
          2,
          { -1, 1, -1, -1 },
          { OA_VERDICT_FAILED, OA_VERDICT_FAILED },
          "No attention finished all its runs: nothing can be compared." },
        { 3,
          5,
          { 0.5, 0.6, -1, 0.5, 0.6, 2, 2, 2, 2, 2, 3, 3.1, 3, 3.1, 3 },
          { OA_VERDICT_FAILED, OA_VERDICT_BEST, OA_VERDICT_WORSE },
          "b is best: c is worse, by 1.0 nats a token. a did not finish every run and cannot be "
          "compared." },
        { 0, 3, { 0 }, { 0 }, "Nothing was compared." },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_summary s = summarise(&l, cases[i].count, cases[i].seeds, cases[i].losses);
        for (int e = 0; e < cases[i].count; e++)
            assert_int_equal(s.entries[e].verdict, cases[i].verdict[e]);
        if (cases[i].conclusion)
            assert_string_equal(s.conclusion, cases[i].conclusion);
        oa_summary_free(&s);
    }
}

static void failures_take_no_part(void **state)
{
    static struct losses l;
    static const double losses[] = { 1, 1.1, -1, 2, 2.1, 2.2 };
    struct oa_summary s = summarise(&l, 2, 3, losses);
    (void)state;
    assert_int_equal(s.reference, 1);
    assert_int_equal(s.order[0], 1);
    assert_int_equal(s.entries[0].failed, 1);
    const struct oa_against *a = oa_compared_pair(&s, 0, 1);
    assert_int_equal(a->difference.n, 2);
    near(a->difference.mean, -1, 1e-12);
    assert_true(isnan(a->p) && isnan(a->half) && a->verdict == OA_AGAINST_NONE);
    assert_false(s.entries[0].front_speed);
    assert_true(s.entries[1].front_speed && s.entries[1].front_parameters);
    oa_summary_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_distribution),  cmocka_unit_test(t_quantiles),
        cmocka_unit_test(power),           cmocka_unit_test(seeds_needed),
        cmocka_unit_test(estimates),       cmocka_unit_test(small_samples),
        cmocka_unit_test(a_whole_summary), cmocka_unit_test(more_seeds_are_needed_than_there_are),
        cmocka_unit_test(verdicts),        cmocka_unit_test(failures_take_no_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
