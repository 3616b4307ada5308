/* SPDX-License-Identifier: Apache-2.0
 *
 * Do two comparisons have the same order? Means always have one, so what counts is what each
 * comparison found of a pair by its own statistics. Kendall (1938, doi:10.2307/2332226) counts
 * pairs in the same way: alike and opposed; but a pair that was not told in both is neither.
 */
#include "evidence/evidence.h"

/* 1: the first is better, -1: worse, 0: as good; NOT_TOLD. */
enum { NOT_TOLD = 2 };

static int order_of(const json_t *record, const char *a, const char *b)
{
    enum oa_against_verdict v =
        oa_record_against(record, oa_record_entry(record, a), oa_record_entry(record, b)).verdict;
    if (v == OA_AGAINST_BETTER || v == OA_AGAINST_WORSE)
        return v == OA_AGAINST_BETTER ? 1 : -1;
    return v == OA_AGAINST_EQUIVALENT || v == OA_AGAINST_IDENTICAL ? 0 : NOT_TOLD;
}

static void count_pair(int left, int right, struct oa_ranking *out)
{
    if (left == right && left != NOT_TOLD)
        out->alike++;
    else if (left * right == -1)
        out->opposed++;
    else
        out->open++;
}

struct oa_ranking oa_rankings(const json_t *left, const json_t *right, char *const *attention,
                              int count)
{
    struct oa_ranking sum = { 0 };
    for (int b = 1; b < count; b++)
        for (int a = 0; a < b; a++)
            count_pair(order_of(left, attention[a], attention[b]),
                       order_of(right, attention[a], attention[b]), &sum);
    return sum;
}
