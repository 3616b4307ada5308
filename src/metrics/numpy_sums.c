/* SPDX-License-Identifier: Apache-2.0
 *
 * NumPy's pairwise_sum of a contiguous array: eight interleaved sums for up to 128 elements, longer
 * arrays by halves. The last digits of a mean depend on it.
 */
#include "metrics/metrics_parts.h"

static double rounded_sum(double x, double y, bool single)
{
    return oa_rounded(x + y, single);
}

static double sum_block(const double *x, long n, bool single)
{
    double r[8], sum = 0;
    long i = 0;
    if (n >= 8) {
        memcpy(r, x, sizeof r);
        for (i = 8; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; k++)
                r[k] = rounded_sum(r[k], x[i + k], single);
        sum = rounded_sum(
            rounded_sum(rounded_sum(r[0], r[1], single), rounded_sum(r[2], r[3], single), single),
            rounded_sum(rounded_sum(r[4], r[5], single), rounded_sum(r[6], r[7], single), single),
            single);
    }
    for (; i < n; i++)
        sum = rounded_sum(sum, x[i], single);
    return sum;
}

static double pairwise_sum(const double *x, long n, bool single)
{
    if (n <= 128)
        return sum_block(x, n, single);
    long half = n / 2;
    half -= half % 8;
    return rounded_sum(pairwise_sum(x, half, single), pairwise_sum(x + half, n - half, single),
                       single);
}

double oa_numpy_mean(const double *x, long n, bool single)
{
    return oa_rounded(pairwise_sum(x, n, single) / (double)n, single);
}
