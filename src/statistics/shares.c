/* SPDX-License-Identifier: Apache-2.0
 *
 * Boschloo's unconditional test of two shares: tables are ordered by the one-sided p of Fisher's
 * exact test, and p is the largest probability, over the common share, of a table at least as
 * extreme (Boschloo 1970, doi:10.1111/j.1467-9574.1970.tb00104.x). It is uniformly more powerful
 * than Fisher's test: with 10 seeds each, shares of 1 and 0.5 differ significantly in 83 % of the
 * samples, with Fisher's test in 62 % (docs/solved.md).
 */
#include "statistics/shares.h"

#include "statistics/statistics.h"

#include <math.h>

/* ---- interval ---- */

struct oa_share oa_share_of(int k, int n)
{
    struct oa_share s = { .k = k, .n = n, .low = 0, .high = 1 };
    if (k > 0)
        s.low = oa_quantile_of(oa_beta_cdf, k, n - k + 1, 0.025, 0, 1);
    if (k < n)
        s.high = oa_quantile_of(oa_beta_cdf, k + 1, n - k, 0.975, 0, 1);
    return s;
}

/* ---- test ---- */

/* P(X >= k) where X of the k + l successes are among the n of n + m trials. */
static double fisher_at_least(int k, int n, int l, int m)
{
    int all = k + l, most = all < n ? all : n;
    double sum = 0, whole = oa_log_choose(n + m, all);
    for (int x = most; x >= k; x--)
        sum += exp(oa_log_choose(n, x) + oa_log_choose(m, all - x) - whole);
    return sum;
}

/* A table is as extreme as the observed one where the first has x and the second at most most[x]
 * successes; -1: no table with x is. */
struct extreme_tables {
    int n, m;
    int most[OA_SEEDS_CAP + 1];
    double log_ways_n[OA_SEEDS_CAP + 1], log_ways_m[OA_SEEDS_CAP + 1]; /* of x successes */
};

static double binomial_probability(const double *log_ways, int k, int n, double share)
{
    if (share <= 0 || share >= 1)
        return k == (share <= 0 ? 0 : n);
    return exp(log_ways[k] + k * log(share) + (n - k) * log1p(-share));
}

/* most[] increases with x. The tolerance is for tables that are equally extreme except for
 * rounding.
 */
static void find_extreme_tables(int k, int l, struct extreme_tables *t)
{
    double observed = fisher_at_least(k, t->n, l, t->m) * (1 + 1e-9);
    int y = -1;
    for (int x = 0; x <= t->m; x++)
        t->log_ways_m[x] = oa_log_choose(t->m, x);
    for (int x = 0; x <= t->n; x++) {
        t->log_ways_n[x] = oa_log_choose(t->n, x);
        while (y < t->m && fisher_at_least(x, t->n, y + 1, t->m) <= observed)
            y++;
        t->most[x] = y;
    }
}

static double probability_of_extreme(const struct extreme_tables *t, double share)
{
    double sum = 0, second = 0; /* P(Y <= most[x]) */
    for (int x = 0, y = -1; x <= t->n; x++) {
        while (y < t->most[x])
            second += binomial_probability(t->log_ways_m, ++y, t->m, share);
        sum += binomial_probability(t->log_ways_n, x, t->n, share) * second;
    }
    return sum;
}

/* The largest value between two shares, by golden sections: around a maximum of the grid. */
static double refine_maximum(const struct extreme_tables *t, double low, double high)
{
    static const double golden = 0.61803398874989485;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = probability_of_extreme(t, a), at_b = probability_of_extreme(t, b);
    for (int i = 0; i < 40; i++) {
        bool left = at_a > at_b;
        if (left) {
            high = b, b = a, at_b = at_a;
            at_a = probability_of_extreme(t, a = high - golden * (high - low));
        } else {
            low = a, a = b, at_a = at_b;
            at_b = probability_of_extreme(t, b = low + golden * (high - low));
        }
    }
    return fmax(at_a, at_b);
}

/* P of "the first share is larger". Grid points are equally far apart in arcsin √share: the
 * standard error of a share is the same everywhere on that scale. */
static double boschloo_one_sided(int k, int n, int l, int m)
{
    enum { GRID = 256 };
    struct extreme_tables t = { .n = n, .m = m };
    double shares[GRID + 1], values[GRID + 1], largest = 0;
    find_extreme_tables(k, l, &t);
    for (int i = 0; i <= GRID; i++) {
        shares[i] = pow(sin(i * acos(-1) / 2 / GRID), 2);
        values[i] = probability_of_extreme(&t, shares[i]);
        largest = fmax(largest, values[i]);
    }
    double near = 0.99 * largest; /* other maxima of the grid cannot become the largest */
    for (int i = 1; i < GRID; i++)
        if (values[i] >= near && values[i] >= values[i - 1] && values[i] >= values[i + 1])
            largest = fmax(largest, refine_maximum(&t, shares[i - 1], shares[i + 1]));
    return fmin(1, largest);
}

double oa_boschloo_test(int k, int n, int l, int m)
{
    if (n < 1 || m < 1 || n > OA_SEEDS_CAP || m > OA_SEEDS_CAP)
        return NAN;
    double more = boschloo_one_sided(k, n, l, m), less = boschloo_one_sided(l, m, k, n);
    return fmin(1, 2 * fmin(more, less));
}
