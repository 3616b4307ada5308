/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares: Clopper and Pearson's interval and Boschloo's test against SciPy 1.17.1
 * (binomtest.proportion_ci with method exact; boschloo_exact with n = 256), and the test's size by
 * enumeration of all tables: `test_shares table` prints size and power of it and of Fisher's test.
 */
#include "statistics/shares.h"

#include "base/base.h"
#include "testing.h"

#include <math.h>
#include <stdio.h>

static void close_to(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", found, expected);
}

static void intervals(void **state)
{
    static const struct {
        int k, n;
        double low, high;
    } scipy[] = {
        { 0, 1, 0, 0.97499999999999998 },
        { 0, 5, 0, 0.52182375010498139 },
        { 3, 5, 0.14663279963467254, 0.94725504947368433 },
        { 5, 5, 0.47817624989501856, 1 },
        { 7, 10, 0.34754714993999208, 0.93326048882226553 },
        { 10, 10, 0.69150289218123706, 1 },
        { 13, 20, 0.40781146546717179, 0.84609079521545882 },
        { 20, 20, 0.83156652901691452, 1 },
        { 1, 1000, 2.5317487491674634e-05, 0.0055589242798499 },
        { 450, 1000, 0.41885170967995072, 0.48144346662340654 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof scipy / sizeof *scipy; i++) {
        struct oa_share s = oa_share_of(scipy[i].k, scipy[i].n);
        close_to(s.low, scipy[i].low, 1e-10);
        close_to(s.high, scipy[i].high, 1e-11);
    }
    assert_true(oa_share_of(0, 0).low == 0 && oa_share_of(0, 0).high == 1);
}

static void boschloo(void **state)
{
    static const struct {
        int k, n, l, m;
        double p;
    } scipy[] = {
        { 5, 5, 0, 5, 0.001953125 },        { 5, 5, 1, 5, 0.021484375 },
        { 4, 5, 1, 5, 0.109375 },           { 10, 10, 6, 10, 0.04219055176 },
        { 10, 10, 5, 10, 0.01277923584 },   { 9, 10, 4, 10, 0.02277998251 },
        { 7, 7, 3, 7, 0.02365848348 },      { 20, 20, 15, 20, 0.02252778608 },
        { 18, 20, 10, 20, 0.006567243385 }, { 12, 15, 3, 10, 0.01691569166 },
        { 3, 3, 0, 5, 0.01005828381 },      { 15, 20, 15, 20, 1 },
        { 50, 60, 40, 70, 0.001215473753 }, { 0, 6, 4, 9, 0.08788062003 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof scipy / sizeof *scipy; i++) {
        close_to(oa_boschloo_test(scipy[i].k, scipy[i].n, scipy[i].l, scipy[i].m), scipy[i].p,
                 1e-6);
        close_to(oa_boschloo_test(scipy[i].l, scipy[i].m, scipy[i].k, scipy[i].n), scipy[i].p,
                 1e-6);
    }
    assert_true(oa_boschloo_test(5, 5, 7, 7) == 1 && oa_boschloo_test(0, 5, 0, 5) == 1);
    assert_true(isnan(oa_boschloo_test(0, 0, 1, 2)));
}

/* ---- size and power, by enumeration ---- */

enum { MOST = 20 };

static double choose(int n, int k)
{
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1));
}

static double binomial(int k, int n, double share)
{
    return choose(n, k) * pow(share, k) * pow(1 - share, n - k);
}

/* Two-sided: all tables with the same margins that are not more probable. */
static double fisher(int k, int l, int n)
{
    double observed = choose(n, k) * choose(n, l), sum = 0, all = 0;
    for (int x = 0; x <= n; x++) {
        double ways = k + l - x < 0 || k + l - x > n ? 0 : choose(n, x) * choose(n, k + l - x);
        all += ways;
        sum += ways <= observed * (1 + 1e-9) ? ways : 0;
    }
    return sum / all;
}

static double rejected(bool tables[MOST + 1][MOST + 1], int n, double first, double second)
{
    double sum = 0;
    for (int k = 0; k <= n; k++)
        for (int l = 0; l <= n; l++)
            sum += tables[k][l] ? binomial(k, n, first) * binomial(l, n, second) : 0;
    return sum;
}

static double size_of(bool tables[MOST + 1][MOST + 1], int n)
{
    double largest = 0;
    for (int i = 0; i <= 200; i++)
        largest = fmax(largest, rejected(tables, n, i / 200.0, i / 200.0));
    return largest;
}

/* At 5 %. */
static void reject(int n, bool by_boschloo[MOST + 1][MOST + 1], bool by_fisher[MOST + 1][MOST + 1])
{
    for (int k = 0; k <= n; k++)
        for (int l = 0; l <= n; l++) {
            by_boschloo[k][l] = oa_boschloo_test(k, n, l, n) < 0.05;
            by_fisher[k][l] = fisher(k, l, n) < 0.05;
        }
}

static void errs_in_at_most_5_percent(void **state)
{
    static const int seeds[] = { 3, 5, 7, 10 };
    static bool by_boschloo[MOST + 1][MOST + 1], by_fisher[MOST + 1][MOST + 1];
    (void)state;
    for (int i = 0; i < (short_form() ? 3 : 4); i++) {
        reject(seeds[i], by_boschloo, by_fisher);
        double size = size_of(by_boschloo, seeds[i]);
        assert_true(size <= 0.05 && (seeds[i] < 10 || size > 0.04));
        for (int k = 0; k <= seeds[i]; k++)
            for (int l = 0; l <= seeds[i]; l++)
                assert_true(by_boschloo[k][l] || !by_fisher[k][l]);
    }
}

static int print_power(void)
{
    static const int seeds[] = { 5, 7, 10, 15, 20 };
    static const double shares[][2] = { { 1, 0.75 }, { 1, 0.5 }, { 1, 0.25 }, { 0.9, 0.5 } };
    static bool by_boschloo[MOST + 1][MOST + 1], by_fisher[MOST + 1][MOST + 1];
    for (int i = 0; i < 5; i++) {
        reject(seeds[i], by_boschloo, by_fisher);
        printf("%2d seeds: size %.4f, Fisher's %.4f; power", seeds[i],
               size_of(by_boschloo, seeds[i]), size_of(by_fisher, seeds[i]));
        for (int j = 0; j < 4; j++)
            printf("  %g–%g: %.3f, %.3f", shares[j][0], shares[j][1],
                   rejected(by_boschloo, seeds[i], shares[j][0], shares[j][1]),
                   rejected(by_fisher, seeds[i], shares[j][0], shares[j][1]));
        printf("\n");
    }
    return 0;
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "table") == 0)
        return print_power();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals),
        cmocka_unit_test(boschloo),
        cmocka_unit_test(errs_in_at_most_5_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
