/* SPDX-License-Identifier: Apache-2.0
 * Shares: of n independent trials k succeeded. Intervals and tests are exact: their error is at
 * most the stated one, whatever the true share is. */
#ifndef ORTHANT_STATISTICS_SHARES_H
#define ORTHANT_STATISTICS_SHARES_H

struct oa_share {
    int k, n;
    double low, high; /* 95 % interval (Clopper and Pearson 1934) */
};
struct oa_share oa_share_of(int k, int n); /* n = 0: the whole of 0 to 1 */

/* Two-sided p of "both have the same share", k of n against l of m: twice the smaller of the two
 * one-sided p-values of Boschloo (1970), at most 1. */
double oa_boschloo_test(int k, int n, int l, int m);

#endif
