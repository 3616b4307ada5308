/* SPDX-License-Identifier: Apache-2.0
 * The supports of Longformer, with global tokens 0 … g−1: query i ≥ g sees the window of `local`
 * (dilation 1) and the global tokens; the rows of the global tokens see everything or, where
 * another call of the engine serves them, nothing. */
#include "device/support_functions.h"

enum { WINDOW, GLOBAL, GLOBAL_ROWS };

static void longformer_range(const struct oa_support *s, const struct oa_attention_shape *a,
                             long head, long i0, long i1, long *low, long *high)
{
    long g = s->parameter[GLOBAL];
    bool all = i0 < g && s->parameter[GLOBAL_ROWS];
    (void)head;
    *low = 0;
    *high = oa_min(all ? a->keys : oa_max(g, i1 + oa_window_ahead(s, a)), a->keys);
    if (i1 <= g && !s->parameter[GLOBAL_ROWS])
        *high = 0;
}

static bool longformer_empty(const struct oa_support *s, const struct oa_attention_shape *a,
                             long head, long i0, long i1, long j0, long j1)
{
    long g = s->parameter[GLOBAL];
    (void)head;
    if (i0 < g && s->parameter[GLOBAL_ROWS])
        return false;
    if (i1 <= g)
        return true;
    return j0 >= g &&
           (j1 - 1 < oa_max(i0, g) - oa_window_back(s, a) || j0 > i1 - 1 + oa_window_ahead(s, a));
}

/* The engine masks the future: keys ahead do not make a tile partial. */
static bool longformer_full(const struct oa_support *s, const struct oa_attention_shape *a,
                            long head, long i0, long i1, long j0, long j1)
{
    long g = s->parameter[GLOBAL];
    (void)head;
    if (i0 < g && !s->parameter[GLOBAL_ROWS])
        return false;
    if (i1 <= g || j1 <= g)
        return true;
    return oa_max(j0, g) >= i1 - 1 - oa_window_back(s, a) &&
           (a->causal || j1 - 1 <= oa_max(i0, g) + oa_window_ahead(s, a));
}

static bool longformer_visible(const struct oa_support *s, const struct oa_attention_shape *a,
                               long head, long i, long j)
{
    (void)head;
    if (i < s->parameter[GLOBAL])
        return s->parameter[GLOBAL_ROWS];
    return j < s->parameter[GLOBAL] ||
           (i - j <= oa_window_back(s, a) && j - i <= oa_window_ahead(s, a));
}

/* Ends of the global tokens, the keys before the window, the window, the rest. */
static long longformer_alike(const struct oa_support *s, const struct oa_attention_shape *a,
                             long head, long i, long j, long j1)
{
    long g = s->parameter[GLOBAL],
         ends[] = { g, i - oa_window_back(s, a), i + oa_window_ahead(s, a) + 1 };
    (void)head;
    for (int k = 0; k < 3 && i >= g; k++)
        if (j < ends[k])
            return oa_min(ends[k], j1);
    return j1;
}

static double longformer_pairs(const struct oa_support *s, const struct oa_attention_shape *a,
                               long head)
{
    long g = s->parameter[GLOBAL];
    double sum = 0;
    (void)head;
    for (long i = 0; i < a->queries; i++) {
        long first = oa_max(0, i - oa_window_back(s, a)),
             last = oa_min(a->keys - 1, i + oa_window_ahead(s, a));
        if (i >= g)
            sum += (double)(last - first + 1 + oa_min(g, first));
        else if (s->parameter[GLOBAL_ROWS])
            sum += (double)(a->causal ? i + 1 : a->keys);
    }
    return sum;
}

const struct oa_support_functions oa_support_global = { .range = longformer_range,
                                                        .empty = longformer_empty,
                                                        .full = longformer_full,
                                                        .visible = longformer_visible,
                                                        .alike = longformer_alike,
                                                        .pairs = longformer_pairs };

struct oa_support oa_support_longformer(long window, long global, bool global_rows)
{
    return (struct oa_support){
        .form = OA_SUPPORT_GLOBAL,
        .parameter = { [WINDOW] = window, [GLOBAL] = global, [GLOBAL_ROWS] = global_rows },
        .horizon = { .span = window, .sinks = global }
    };
}
