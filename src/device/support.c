/* SPDX-License-Identifier: Apache-2.0
 * The forms of supports, and functions for all of them. */
#include "device/support_functions.h"

const struct oa_support_functions *oa_support_functions_of(const struct oa_support *s)
{
    static const struct oa_support_functions *const forms[OA_SUPPORT_FORMS] = {
        [OA_SUPPORT_WINDOW] = &oa_support_window,
        [OA_SUPPORT_DILATED] = &oa_support_dilated,
        [OA_SUPPORT_GLOBAL] = &oa_support_global,
        [OA_SUPPORT_BLOCKS] = &oa_support_block,
        [OA_SUPPORT_LAYOUT] = &oa_support_block_list,
        [OA_SUPPORT_POOLED] = &oa_support_block_list,
        [OA_SUPPORT_KEY_SETS] = &oa_support_key_sets,
        [OA_SUPPORT_NEAR] = &oa_support_near,
        [OA_SUPPORT_CLASS_BEFORE] = &oa_support_class_before,
        [OA_SUPPORT_CLASS_AFTER] = &oa_support_class_after,
        [OA_SUPPORT_SUMMARY_BEFORE] = &oa_support_summary_before,
        [OA_SUPPORT_SUMMARY_AFTER] = &oa_support_summary_after,
    };
    return forms[s->form];
}

bool oa_support_visible(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                        long i, long j)
{
    const struct oa_support_functions *f = oa_support_functions_of(s);
    long low = 0, high = a->keys;
    if (f && f->visible)
        return f->visible(s, a, head, i, j);
    if (f)
        f->row(s, a, head, i, &low, &high);
    return j >= low && j < high;
}

/* Number of keys visible to query i. */
static long keys_seen(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                      long i)
{
    const struct oa_support_functions *f = oa_support_functions_of(s);
    long low = 0, high = a->keys, end = a->causal && i + 1 < a->keys ? i + 1 : a->keys, seen = 0;
    if (f->row) {
        f->row(s, a, head, i, &low, &high);
        return oa_max(0, oa_min(high, end) - oa_max(low, 0));
    }
    for (long j = 0; j < end; j++)
        seen += f->visible(s, a, head, i, j);
    return seen;
}

/* Of the first n queries of a sequence. */
static double pairs_until(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                          long n)
{
    struct oa_attention_shape whole = *a;
    whole.queries = whole.keys = n;
    whole.first = whole.summaries = 0;
    return n > 0 ? oa_support_functions_of(s)->pairs(s, &whole, head) : 0;
}

/* Queries after others, as in decoding. A single one is counted by itself; for several, pairs with
 * keys after the summaries are the difference between the sequence with and without these queries.
 */
static double pairs_with_past(const struct oa_support *s, const struct oa_attention_shape *a,
                              long head)
{
    const struct oa_support_functions *f = oa_support_functions_of(s);
    long past = a->first - a->summaries;
    bool each = a->queries == 1 || f->row || !a->causal;
    double sum = 0;
    for (long i = a->first; each && i < a->first + a->queries; i++)
        sum += (double)keys_seen(s, a, head, i);
    if (each)
        return sum;
    for (long j = 0; j < a->summaries; j++)
        sum += (double)a->queries * f->visible(s, a, head, a->first, j);
    return sum + pairs_until(s, a, head, past + a->queries) - pairs_until(s, a, head, past);
}

double oa_support_pairs(const struct oa_support *s, const struct oa_attention_shape *a, long head)
{
    const struct oa_support_functions *f = oa_support_functions_of(s);
    double n = (double)a->queries, past = (double)a->first;
    if (f)
        return a->first > 0 ? pairs_with_past(s, a, head) : f->pairs(s, a, head);
    return a->causal ? n * (n + 1) / 2 + n * past : n * (double)a->keys;
}
