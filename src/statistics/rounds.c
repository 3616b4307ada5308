/* SPDX-License-Identifier: Apache-2.0
 *
 * Intervals for times that were taken in rounds, without any guess at how times are distributed:
 * they have long tails to one side, since what disturbs a machine only slows it.
 *
 * The median of one attention's times: between order statistics. Each time is below the true median
 * with probability ½, so the number below it is binomial (n, ½).
 *
 * The ratio of two attentions: d_r = log a_r − log b_r in each round. What slows a whole round is
 * in both logarithms and goes out. What is left of the two disturbances may have any distribution,
 * but as long as it is the same one for both (slots take turns to be first), their difference is
 * symmetric around the logarithm of the true ratio, and every sign pattern of the centred
 * differences has the same probability. So the interval of the signed ranks is exact: it is
 * between order statistics of the Walsh averages (d_i + d_j)/2, i ≤ j, whose median is the estimate
 * (Hodges and Lehmann 1963, doi:10.1214/aoms/1177704172; Tukey 1949). P(W = w) comes from counting
 * the subsets of {1 … n} that sum to w.
 */
#include "statistics/statistics.h"

#include "base/compare_doubles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WALSH = OA_MOST_ROUNDS * (OA_MOST_ROUNDS + 1) / 2 };
static const double level = 0.05; /* that an interval misses, both sides together */

/* The largest k for which P(X < k) is at most half of the level: an interval may leave out k - 1 on
 * either side. 0: there is none. */
static int rank_of(const double *probability, int values)
{
    double sum = 0;
    int k = 0;
    while (k < values && sum + probability[k] <= level / 2)
        sum += probability[k++];
    return k;
}

/* P(X = 0 … n) for binomial (n, ½). */
static void binomial(int n, double *p)
{
    for (int i = 0; i <= n; i++)
        p[i] = exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2));
}

/* P(W = 0 … n(n + 1)/2): rank r counts or does not, with probability ½ each. */
static void signed_ranks(int n, double *p)
{
    memset(p, 0, (WALSH + 1) * sizeof *p);
    p[0] = 1;
    for (int r = 1, most = 1; r <= n; most += ++r)
        for (int w = most; w >= 0; w--)
            p[w] = 0.5 * p[w] + (w >= r ? 0.5 * p[w - r] : 0);
}

/* Between the order statistics k from either end of `sorted`; k = 0: no interval. */
static struct oa_range between(const double *sorted, int count, int k, int n)
{
    double median = count == 0  ? NAN
                    : count % 2 ? sorted[count / 2]
                                : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
    struct oa_range x = { .n = n, .value = median, .low = NAN, .high = NAN };
    if (k > 0) {
        x.low = sorted[k - 1];
        x.high = sorted[count - k];
    }
    return x;
}

struct oa_range oa_median_of(const double *x, int n)
{
    double sorted[OA_MOST_ROUNDS], p[OA_MOST_ROUNDS + 1];
    n = x ? n : 0;
    memcpy(sorted, x ? x : p, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, oa_compare_doubles);
    binomial(n, p);
    return between(sorted, n, rank_of(p, n + 1), n);
}

struct oa_range oa_ratio_of(const double *a, const double *b, int n)
{
    double averages[WALSH], p[WALSH + 1];
    int count = 0;
    n = a && b ? n : 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            averages[count++] = 0.5 * (log(a[i] / b[i]) + log(a[j] / b[j]));
    qsort(averages, (size_t)count, sizeof *averages, oa_compare_doubles);
    signed_ranks(n, p);
    struct oa_range x = between(averages, count, rank_of(p, count + 1), n);
    return (
        struct oa_range){ .n = n, .value = exp(x.value), .low = exp(x.low), .high = exp(x.high) };
}
