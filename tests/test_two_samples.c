/* SPDX-License-Identifier: Apache-2.0
 * Welch's test, against SciPy 1.17.1: ttest_ind(a, b, equal_var=False) with its interval; and how
 * often families of such tests err. test_two_samples table REPETITIONS prints that. */
#include "testing.h"

#include "base/base.h"
#include "statistics/family.h"
#include "statistics/two_samples.h"

#include <math.h>
#include <stdio.h>

static const struct {
    int n;
    double a[20];
    int m;
    double b[12], t, df, p, low, high;
} vectors[] = {
    { 5,
      { 3.001, 3.299, 2.726, 2.109, 2.545 },
      5,
      { 2.508, 3.56, 4.84, 3.008, 2.88 },
      -1.3718241327021985,
      5.8607343780937269,
      0.22031198743501221,
      -1.7412313119130995,
      0.49483131191309915 },
    { 3,
      { 3.49, 3.357, 3.105 },
      12,
      { -0.222, 3.383, 6.281, -1.877, 1.67, -4.105, -1.658, -3.867, 2.56, -1.57, 4.585, 4.127 },
      2.5288746000111595,
      11.272785897203228,
      0.027575200362773302,
      0.33607257523766521,
      4.7474274247623356 },
    { 20,
      { 2.813, 0.483, 2.461, 2.951, 3.113, 1.47, 2.522, 2.021, 2.191, 4.061,
        2.192, 2.967, 3.884, 2.416, 2.888, 3.11, 3.064, 1.775, 3.076, 4.359 },
      2,
      { 3.345, 3.586 },
      -3.315141346449312,
      10.092884861413502,
      0.0077155412439576312,
      -1.2946510688644677,
      -0.254648931135532 },
    { 8,
      { 3.119, 2.359, 5.0, 3.762, 1.801, 3.075, 3.577, 2.811 },
      6,
      { 4.183, 3.433, 4.167, 4.939, 2.824, 3.703 },
      -1.5178789905525003,
      11.991128317637589,
      0.15495971770139266,
      -1.6728171260207527,
      0.2991504593540858 },
};

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void as_scipy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct oa_estimate a = oa_estimate_of(vectors[i].a, vectors[i].n),
                           b = oa_estimate_of(vectors[i].b, vectors[i].m),
                           d = oa_unpaired_difference(&a, &b);
        struct oa_standard_error e = oa_welch(&a, &b);
        near(d.mean / e.se, vectors[i].t);
        near(e.df, vectors[i].df);
        near(2 * oa_t_cdf(-fabs(vectors[i].t), e.df), vectors[i].p);
        near(d.mean - d.half, vectors[i].low);
        near(d.mean + d.half, vectors[i].high);
        near(d.sd / sqrt(d.n), e.se);
    }
}

static void samples_without_an_error(void **state)
{
    (void)state;
    static const double same[] = { 1, 1, 1 }, two[] = { 2, 2 };
    struct oa_estimate a = oa_estimate_of(same, 3), b = oa_estimate_of(two, 2),
                       one = oa_estimate_of(two, 1), none = oa_estimate_of(NULL, 0);
    struct oa_estimate d = oa_unpaired_difference(&a, &b);
    assert_float_equal(d.mean, -1, 0);
    assert_float_equal(d.sd, 0, 0);
    assert_float_equal(d.half, 0, 0);
    assert_int_equal(d.n, 2);
    assert_true(isnan(oa_unpaired_difference(&a, &one).half));
    assert_true(isnan(oa_welch(&a, &one).se));
    assert_true(isnan(oa_unpaired_difference(&a, &none).mean));
    assert_int_equal(oa_unpaired_difference(&a, &none).n, 0);
}

/* ---- chances of an error ---- */

enum { SYSTEMS = 4, MOST = 20, PAIRS = SYSTEMS * (SYSTEMS - 1) / 2 };

struct design {
    const char *name;
    int runs[SYSTEMS];
    double sd[SYSTEMS];
};

static const struct design designs[] = {
    { "5 runs each, equal spreads", { 5, 5, 5, 5 }, { 1, 1, 1, 1 } },
    { "5 runs each, one spreads four times as much", { 5, 5, 5, 5 }, { 1, 1, 1, 4 } },
    { "5, 5, 10 and 20 runs, the fewest spread most", { 5, 5, 10, 20 }, { 4, 1, 1, 1 } },
    { "20 runs each, equal spreads", { 20, 20, 20, 20 }, { 1, 1, 1, 1 } },
};

static struct oa_against compared(const struct oa_estimate *x, int a, int b)
{
    struct oa_against pair = oa_against_nothing();
    struct oa_standard_error e = oa_welch(&x[a], &x[b]);
    pair.a = a;
    pair.b = b;
    pair.difference = oa_unpaired_difference(&x[a], &x[b]);
    pair.se = e.se;
    pair.df = e.df;
    return pair;
}

/* Is any pair of equal systems called different? */
static bool errs(const struct design *d, struct oa_stream stream)
{
    static const struct oa_family family = { .comparisons = PAIRS, .verdict_seeds = 5 };
    struct oa_estimate x[SYSTEMS];
    struct oa_against pairs[PAIRS];
    double y[MOST];
    int n = 0;
    bool wrong = false;
    for (int i = 0; i < SYSTEMS; i++) {
        for (int r = 0; r < d->runs[i]; r++)
            y[r] = d->sd[i] * oa_random_normal(stream, (uint64_t)(MOST * i + r));
        x[i] = oa_estimate_of(y, d->runs[i]);
        for (int j = 0; j < i; j++)
            pairs[n++] = compared(x, i, j);
    }
    oa_family_judge(&family, pairs, n);
    for (int i = 0; i < n; i++)
        wrong =
            wrong || pairs[i].verdict == OA_AGAINST_BETTER || pairs[i].verdict == OA_AGAINST_WORSE;
    return wrong;
}

static double error_rate(const struct design *d, int repetitions)
{
    int wrong = 0;
    for (int i = 0; i < repetitions; i++)
        wrong += errs(d, oa_stream_child(oa_stream_named(1, d->name), (uint64_t)i));
    return (double)wrong / repetitions;
}

/* Within four standard deviations of a share of 5 %. */
static void families_of_samples_err_seldom(void **state)
{
    (void)state;
    int repetitions = tries(2000);
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        double rate = error_rate(&designs[i], repetitions);
        if (rate > 0.05 + 4 * sqrt(0.05 * 0.95 / repetitions))
            fail_msg("%s: %g", designs[i].name, rate);
    }
}

static int print_table(int repetitions)
{
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
        printf("%-50s %.1f %%\n", designs[i].name, 100 * error_rate(&designs[i], repetitions));
    return 0;
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_of_samples_err_seldom),
        cmocka_unit_test(as_scipy),
        cmocka_unit_test(samples_without_an_error),
    };
    if (count == 3 && strcmp(words[1], "table") == 0)
        return print_table(atoi(words[2]));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
