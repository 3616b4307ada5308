/* SPDX-License-Identifier: Apache-2.0
 *
 * Intervals for times measured in rounds, without an assumption about their distribution, which has
 * a long tail on one side, since disturbances only slow a machine down.
 *
 * The median of one attention's times: between order statistics. Each time is below the true median
 * with probability ½, so the number below it is binomial (n, ½).
 *
 * The ratio of two attentions: d_r = log a_r − log b_r in each round. A disturbance of a whole
 * round is in both logarithms and cancels. The other disturbances may have any distribution, but as
 * long as it is the same for both (slots take turns to be first), their difference is symmetric
 * around the logarithm of the true ratio, and every sign pattern of the centred differences has the
 * same probability. So the interval of the signed ranks is exact: it is between order statistics of
 * the Walsh averages (d_i + d_j)/2, i ≤ j, whose median is the estimate (Hodges and Lehmann 1963,
 * doi:10.1214/aoms/1177704172; Tukey 1949). P(W = w) comes from counting the subsets of {1 … n}
 * that sum to w.
 */
#include "statistics/statistics.h"

#include "base/compare_doubles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WALSH = OA_MOST_ROUNDS * (OA_MOST_ROUNDS + 1) / 2 };
static const double tail = 0.025; /* of an interval, on either side */

int oa_median_rank(int n)
{
    double term = pow(0.5, n), sum = 0;
    int k = 0;
    while (term > 0 && sum + term <= tail) {
        sum += term;
        term *= (double)(n - k) / (k + 1);
        k++;
    }
    return k;
}

/* The largest k with P(W < k) <= 2.5 %, W the sum of signed ranks: each rank r from 1 to n counts
 * with probability ½. */
static int signed_rank(int n)
{
    double p[WALSH + 1] = { 1 }, sum = 0; /* p[w] = P(W = w) */
    int k = 0;
    for (int r = 1, most = 1; r <= n; most += ++r)
        for (int w = most; w >= 0; w--)
            p[w] = 0.5 * p[w] + (w >= r ? 0.5 * p[w - r] : 0);
    while (k <= n * (n + 1) / 2 && sum + p[k] <= tail)
        sum += p[k++];
    return k;
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
    double sorted[OA_MOST_ROUNDS];
    n = x ? n : 0;
    if (n > 0)
        memcpy(sorted, x, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, oa_compare_doubles);
    return between(sorted, n, oa_median_rank(n), n);
}

struct oa_range oa_ratio_of(const double *a, const double *b, int n)
{
    double averages[WALSH];
    int count = 0;
    n = a && b ? n : 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            averages[count++] = 0.5 * (log(a[i] / b[i]) + log(a[j] / b[j]));
    qsort(averages, (size_t)count, sizeof *averages, oa_compare_doubles);
    struct oa_range x = between(averages, count, signed_rank(n), n);
    return (
        struct oa_range){ .n = n, .value = exp(x.value), .low = exp(x.low), .high = exp(x.high) };
}
