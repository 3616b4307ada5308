/* SPDX-License-Identifier: Apache-2.0
 * Key sets of sparse attention in closed form; see key_sets.h. Rectangles are handled through the
 * offsets d = i − j (every integer between the smallest and the largest occurs) and through the
 * first summary column. */
#include "device/key_sets.h"

#include "base/base.h"

static long summary_of(const struct oa_key_sets *k)
{
    return oa_min(k->summary, k->stride);
}

/* ---- one pair ---- */

bool oa_keys_hold(const struct oa_key_sets *k, bool causal, long i, long j)
{
    if (causal && j > i)
        return false;
    long late = oa_max(i, j), early = oa_min(i, j), l = k->stride;
    return (k->sets & OA_KEYS_BAND && late - early < l) ||
           (k->sets & OA_KEYS_STRIDED && (late - early) % l == 0) ||
           (k->sets & OA_KEYS_CELL && late / l == early / l) ||
           (k->sets & OA_KEYS_SUMMARY && early % l >= l - summary_of(k));
}

/* ---- rectangles ---- */

/* Pairs with j ≤ i. A rectangle with some i = j meets every set except perhaps the summary columns;
 * one entirely before the diagonal has its nearest pair at i0, j1 − 1. */
static bool past_meets(const struct oa_key_sets *k, long i0, long i1, long j0, long j1)
{
    long l = k->stride, nearest = oa_max(0, i0 - (j1 - 1)), farthest = i1 - 1 - j0;
    long first = l - summary_of(k), summary = oa_max(j0, j0 - j0 % l + first); /* from j0 on */
    if (farthest < 0)
        return false;
    return (k->sets & OA_KEYS_BAND && nearest < l) ||
           (k->sets & OA_KEYS_STRIDED && farthest / l * l >= nearest) ||
           (k->sets & OA_KEYS_CELL && (nearest == 0 || i0 / l == (j1 - 1) / l)) ||
           (k->sets & OA_KEYS_SUMMARY && summary <= oa_min(j1, i1) - 1);
}

bool oa_keys_meet(const struct oa_key_sets *k, bool causal, long i0, long i1, long j0, long j1)
{
    return past_meets(k, i0, i1, j0, j1) || (!causal && past_meets(k, j0, j1, i0, i1));
}

/* ---- counts ---- */

/* Summary columns j ≤ i in the cell of i. */
static long own_summary(const struct oa_key_sets *k, long i)
{
    return oa_max(0, i % k->stride + 1 - (k->stride - summary_of(k)));
}

/* Keys j ≤ i of query i; what two united sets share is counted once. */
static long keys_before(const struct oa_key_sets *k, long i)
{
    long l = k->stride, near = 0, far = 0, both = 0;
    if (k->sets & (OA_KEYS_BAND | OA_KEYS_CELL))
        near = k->sets & OA_KEYS_BAND ? oa_min(i + 1, l) : i % l + 1;
    if (k->sets & OA_KEYS_STRIDED)
        far = i / l + 1;
    else if (k->sets & OA_KEYS_SUMMARY)
        far = i / l * summary_of(k) + own_summary(k, i);
    if (near && far)
        both = k->sets & OA_KEYS_STRIDED ? 1 : own_summary(k, i);
    return near + far - both;
}

double oa_keys_count(const struct oa_key_sets *k, bool causal, long n)
{
    double past = 0, diagonal = 0;
    for (long i = 0; i < n; i++) {
        past += (double)keys_before(k, i);
        diagonal += oa_keys_hold(k, true, i, i);
    }
    return causal ? past : 2 * past - diagonal;
}
