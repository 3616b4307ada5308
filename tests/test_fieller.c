/* SPDX-License-Identifier: Apache-2.0
 * Fieller's set for a ratio of means: against roots of SciPy's t test, cases that can be solved by
 * hand, and the share of simulated samples whose set holds the true ratio. */
#include "testing.h"

#include "statistics/fieller.h"
#include "statistics/statistics.h"

#include <math.h>

/* The r at which p of scipy.stats.ttest_1samp(N - r D, 0) is the level: brentq between the changes
 * of sign on a grid of 200,001 angles whose tangent is r. SciPy 1.17.1. */
static const struct reference {
    int n;
    double level, numerator[20], denominator[20];
    enum oa_fieller_form form;
    double value, low, high;
} references[] = {
    { 3,
      0.05,
      { 0.372, 0.357, 0.413 },
      { 0.496, 0.503, 0.498 },
      OA_FIELLER_BOUNDED,
      0.7628590514362058,
      0.6129223227074564,
      0.9157913575555564 },
    { 5,
      0.05,
      { 0.459, 0.359, 0.37, 0.337, 0.449 },
      { 0.614, 0.378, 0.419, 0.349, 0.546 },
      OA_FIELLER_BOUNDED,
      0.8560277536860366,
      0.7655016866906126,
      1.024358594666564 },
    { 5,
      0.05,
      { -0.13, -0.091, -0.193, -0.162, -0.12 },
      { 0.305, 0.273, 0.252, 0.291, 0.258 },
      OA_FIELLER_BOUNDED,
      -0.504713560551124,
      -0.7086936675590788,
      -0.3183661468866806 },
    { 10,
      0.05,
      { 0.195, 0.348, 0.32, 0.042, 0.221, 0.252, 0.18, 0.228, 0.089, 0.245 },
      { 0.113, 0.347, 0.148, 0.139, 0.128, 0.107, 0.135, 0.319, 0.126, 0.381 },
      OA_FIELLER_BOUNDED,
      1.0910962429233146,
      0.7511722654071594,
      1.697757924727298 },
    { 20,
      0.05,
      { 0.023, -0.022, 0.064,  0.024, -0.031, 0.022,  -0.059, -0.014, 0.024, 0.036,
        0.026, 0.066,  -0.063, 0.043, -0.024, -0.061, -0.003, -0.017, 0.028, -0.001 },
      { 0.011, 0.033,  0.101,  0.022, -0.036, -0.007, -0.007, -0.01, 0.012,  0.05,
        0.01,  -0.018, -0.015, 0.059, -0.007, 0.006,  0.134,  0.023, -0.033, 0.109 },
      OA_FIELLER_EVERYTHING,
      0.13958810068649888,
      -INFINITY,
      INFINITY },
    { 5,
      0.05,
      { 0.23, 0.316, 0.381, 0.403, 0.452 },
      { 0.062, 0.209, 0.088, 0.082, 0.104 },
      OA_FIELLER_BOUNDED,
      3.2697247706422012,
      1.7456545899158649,
      9.865728885232402 },
    { 4,
      0.05,
      { -0.023, -0.118, 0.254, 0.012 },
      { -0.074, 0.032, 0.129, -0.07 },
      OA_FIELLER_EVERYTHING,
      7.35294117647059,
      -INFINITY,
      INFINITY },
    { 10,
      0.05,
      { -0.296, -0.215, -0.282, -0.323, -0.242, -0.037, -0.04, -0.348, -0.393, -0.027 },
      { -0.372, -0.367, -0.457, -0.199, -0.214, -0.313, -0.19, -0.248, -0.56, -0.337 },
      OA_FIELLER_BOUNDED,
      0.6763893153208473,
      0.39285386414826534,
      1.0017635886219523 },
    { 6,
      0.01,
      { 0.258, 0.482, 0.359, 0.261, 0.415, 0.423 },
      { 0.371, 0.506, 0.522, 0.679, 0.561, 0.417 },
      OA_FIELLER_BOUNDED,
      0.7192408376963352,
      0.38016455829046925,
      1.2906728394853273 },
    { 8,
      0.05,
      { -0.107, -0.476, -0.258, -0.247, -0.457, -0.318, -0.468, -0.289 },
      { 0.12, -0.054, 0.111, 0.016, -0.07, -0.1, 0.087, 0.077 },
      OA_FIELLER_OUTSIDE,
      -14.010695187165778,
      -2.6158769746794195,
      7.528718259806338 },
    { 5,
      0.05,
      { 24.741, 11.174, 18.568, 33.163, 23.75 },
      { 25.815, 17.574, 21.223, 35.279, 29.253 },
      OA_FIELLER_BOUNDED,
      0.8625720126370563,
      0.6810607059280412,
      0.9760540489441105 },
    { 3,
      0.05,
      { 0.366, 0.262, 0.331 },
      { 0.031, 0.093, -0.019 },
      OA_FIELLER_OUTSIDE,
      9.133333333333335,
      -3.8464870687510655,
      1.2127644321705213 },
};

static void near(double a, double b, double relative)
{
    if (a != b && !(fabs(a - b) <= relative * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void sets_are_those_of_t_tests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const struct reference *r = &references[i];
        struct oa_fieller f = oa_fieller_of(r->numerator, r->denominator, r->n, r->level);
        assert_int_equal(f.form, r->form);
        assert_int_equal(f.n, r->n);
        near(f.value, r->value, 1e-14);
        near(f.low, r->low, 1e-10);
        near(f.high, r->high, 1e-10);
    }
}

/* A constant denominator of 2 leaves the t interval of the numerators, halved. */
static void constant_denominators_give_a_t_interval(void **state)
{
    (void)state;
    static const double n[] = { 1.5, 1.25, 2, 1.75 }, d[] = { 2, 2, 2, 2 };
    struct oa_estimate e = oa_estimate_of(n, 4);
    struct oa_fieller f = oa_fieller_of(n, d, 4, 0.05);
    assert_int_equal(f.form, OA_FIELLER_BOUNDED);
    near(f.value, e.mean / 2, 1e-15);
    near(f.low, (e.mean - e.half) / 2, 1e-13);
    near(f.high, (e.mean + e.half) / 2, 1e-13);
    near(f.gain, 2, 0);
}

/* Deviations of a millionth of the means: the interval of N - r D with D = 1 + e, N = r D. */
static void small_deviations_do_not_cancel(void **state)
{
    (void)state;
    static const double e[] = { 1, -1, 2, -2 }, f[] = { 1, -1, -1, 1 };
    double n[4], d[4];
    for (int i = 0; i < 4; i++) {
        d[i] = 1 + ldexp(e[i], -40);
        n[i] = 0.5 * d[i] + ldexp(f[i], -42);
    }
    struct oa_fieller set = oa_fieller_of(n, d, 4, 0.05);
    double half = 3.182446305283710 * sqrt(4 / 3.0) / 2 * ldexp(1, -42); /* t(0.975, 3) sd / √4 */
    near(set.high - set.low, 2 * half, 1e-3); /* the last bits of numbers near 0.5 */
    near(set.value, 0.5, 1e-12);
}

static void a_ratio_of_equals_is_one(void **state)
{
    (void)state;
    static const double x[] = { 0.2, 0.5, 0.3, 0.45, 0.37 };
    struct oa_fieller f = oa_fieller_of(x, x, 5, 0.05);
    assert_int_equal(f.form, OA_FIELLER_BOUNDED);
    near(f.value, 1, 0);
    near(f.low, 1, 1e-7);
    near(f.high, 1, 1e-7);
}

static void what_has_no_set(void **state)
{
    (void)state;
    static const double zero[] = { 0, 0, 0 }, one[] = { 1, 1, 1 }, around[] = { -1, 0, 1 };
    assert_int_equal(oa_fieller_of(one, one, 0, 0.05).form, OA_FIELLER_NONE);
    assert_true(isnan(oa_fieller_of(one, one, 0, 0.05).value));
    struct oa_fieller single = oa_fieller_of(one, one, 1, 0.05);
    assert_int_equal(single.form, OA_FIELLER_NONE);
    near(single.value, 1, 0);
    assert_int_equal(oa_fieller_of(one, zero, 3, 0.05).form, OA_FIELLER_NONE);
    assert_int_equal(oa_fieller_of(around, zero, 3, 0.05).form, OA_FIELLER_EVERYTHING);
}

/* Denominators with √3 d' / s = t, which barely differ from 0 at the level, and N = 1 throughout:
 * a is 0 but for rounding, and r >= 1 / (2 d') is what (1 - r d')² <= r² d'² leaves. */
static void a_set_with_one_end(void **state)
{
    (void)state;
    double d = oa_t_quantile(0.975, 2) / sqrt(3);
    const double one[] = { 1, 1, 1 }, around[] = { d - 1, d, d + 1 };
    struct oa_fieller f = oa_fieller_of(one, around, 3, 0.05);
    bool from_high = fabs(f.high) < 1e3;
    near(from_high ? f.high : f.low, 1 / (2 * d), 1e-6);
    assert_true(fabs(from_high ? f.low : f.high) > 1e6);
    /* without rounding: mean and deviation of the denominators are 1 */
    static const double exact[] = { 0, 1, 2 }, minus[] = { -1, -1, -1 };
    f = oa_fieller_within(one, exact, 3, 1); /* |1 - r| <= |r| */
    assert_int_equal(f.form, OA_FIELLER_OUTSIDE);
    assert_true(f.low == -INFINITY && f.high == 0.5);
    f = oa_fieller_within(minus, exact, 3, 1); /* |-1 - r| <= |r| */
    assert_int_equal(f.form, OA_FIELLER_OUTSIDE);
    assert_true(f.low == -0.5 && f.high == INFINITY);
}

static double distance_from_the_interval(const struct reference *r, double ratio, double level)
{
    double rest[20];
    for (int i = 0; i < r->n; i++)
        rest[i] = r->numerator[i] - ratio * r->denominator[i];
    struct oa_estimate e = oa_estimate_of(rest, r->n);
    return fabs(e.mean) - oa_anytime_half(&e, level);
}

/* At the ends of the set the anytime-valid interval of N - r D ends at 0. */
static void other_intervals_than_that_of_the_t_test(void **state)
{
    (void)state;
    int bounded = 0;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const struct reference *r = &references[i];
        struct oa_estimate one = { .n = r->n, .sd = 1 };
        double half = oa_anytime_half(&one, 0.05);
        struct oa_fieller f = oa_fieller_within(r->numerator, r->denominator, r->n, half);
        if (isinf(half))
            assert_int_equal(f.form, OA_FIELLER_EVERYTHING);
        if (f.form != OA_FIELLER_BOUNDED)
            continue;
        bounded++;
        assert_true(fabs(distance_from_the_interval(r, f.low, 0.05)) < 1e-9);
        assert_true(fabs(distance_from_the_interval(r, f.high, 0.05)) < 1e-9);
        assert_true(distance_from_the_interval(r, f.value, 0.05) < 0);
    }
    assert_true(bounded >= 4);
}

/* ---- coverage ---- */

enum { MOST = 20 };

/* Normal, or t with 3 degrees of freedom at the same variance. */
static double noise(struct oa_stream s, uint64_t *i, bool heavy)
{
    double z = oa_random_normal(s, (*i)++), sum = 0;
    for (int k = 0; heavy && k < 3; k++) {
        double x = oa_random_normal(s, (*i)++);
        sum += x * x;
    }
    return heavy ? z / sqrt(sum / 3) / sqrt(3) : z;
}

static bool is_inside(const struct oa_fieller *f, double r)
{
    return f->form == OA_FIELLER_OUTSIDE ? r <= f->low || r >= f->high
                                         : r >= f->low && r <= f->high;
}

/* Costs of the uniform baseline, softmax and x with noise of deviation √(2/3) of their own; what a
 * seed gives to all of them is in none of the differences. */
static double coverage(int n, double gain, double share, bool heavy, int samples, int *bounded)
{
    struct oa_stream s = oa_stream_named(7, heavy ? "heavy" : "normal");
    uint64_t at = (uint64_t)n << 40 | (uint64_t)(gain * 1000) << 24;
    int inside = 0;
    *bounded = 0;
    for (int i = 0; i < samples; i++) {
        double above[MOST], below[MOST];
        for (int r = 0; r < n; r++) {
            double uniform = noise(s, &at, heavy) * sqrt(2 / 3.0),
                   softmax = noise(s, &at, heavy) * sqrt(2 / 3.0) - gain,
                   x = noise(s, &at, heavy) * sqrt(2 / 3.0) - share * gain;
            above[r] = uniform - x;
            below[r] = uniform - softmax;
        }
        struct oa_fieller f = oa_fieller_of(above, below, n, 0.05);
        inside += is_inside(&f, share);
        *bounded += f.form == OA_FIELLER_BOUNDED;
    }
    return (double)inside / samples;
}

/* Normal costs: 95 % exactly, whatever the gain is. Heavy tails: more. Four standard errors. */
static void sets_cover_the_true_share(void **state)
{
    (void)state;
    int samples = tries(20000), bounded, heavy_bounded;
    static const int sizes[] = { 3, 5, 10, 20 };
    double error = 4 * sqrt(0.05 * 0.95 / samples);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int g = 0; g < 3; g++) {
            static const double gains[] = { 0.5, 3, 12 }; /* in deviations of a run */
            double normal = coverage(sizes[i], gains[g], 0.85, false, samples, &bounded);
            double heavy = coverage(sizes[i], gains[g], 0.85, true, samples, &heavy_bounded);
            print_message("%d seeds, gain of %g deviations: %.1f %% normal, %.1f %% t3, bounded in "
                          "%.0f %%\n",
                          sizes[i], gains[g], 100 * normal, 100 * heavy, 100.0 * bounded / samples);
            assert_true(fabs(normal - 0.95) < error);
            assert_true(heavy > 0.95 - error && heavy < 0.985);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_those_of_t_tests),
        cmocka_unit_test(constant_denominators_give_a_t_interval),
        cmocka_unit_test(small_deviations_do_not_cancel),
        cmocka_unit_test(a_ratio_of_equals_is_one),
        cmocka_unit_test(what_has_no_set),
        cmocka_unit_test(a_set_with_one_end),
        cmocka_unit_test(other_intervals_than_that_of_the_t_test),
        cmocka_unit_test(sets_cover_the_true_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
