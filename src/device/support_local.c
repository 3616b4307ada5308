/* SPDX-License-Identifier: Apache-2.0
 * The support of a sliding window: keys j = i − δt with 0 ≤ t < window (causal) or |t| ≤ window. */
#include "device/support_functions.h"

enum { WINDOW, DILATION };

static void window_range(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                         long i0, long i1, long *low, long *high)
{
    (void)head;
    long first = i0 - oa_window_back(s, a) * s->parameter[DILATION];
    long end = i1 + oa_window_ahead(s, a) * s->parameter[DILATION];
    *low = first > 0 ? oa_min(first, a->keys) : 0;
    *high = oa_min(end, a->keys);
}

static void window_row(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                       long i, long *low, long *high)
{
    window_range(s, a, head, i, i + 1, low, high);
}

static bool window_visible(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head, long i, long j)
{
    (void)head;
    long offset = i - j, dilation = s->parameter[DILATION];
    return offset % dilation == 0 && offset / dilation <= oa_window_back(s, a) &&
           -offset / dilation <= oa_window_ahead(s, a);
}

/* Steps back from query i end at key 0, steps ahead at the last key. */
static double window_pairs(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head)
{
    (void)head;
    double sum = 0;
    for (long i = 0; i < a->queries; i++) {
        long back = oa_min(oa_window_back(s, a), i / s->parameter[DILATION]);
        long ahead = oa_min(oa_window_ahead(s, a), (a->keys - 1 - i) / s->parameter[DILATION]);
        sum += (double)(back + 1 + ahead);
    }
    return sum;
}

const struct oa_support_functions oa_support_window = {
    .range = window_range, .row = window_row, .visible = window_visible, .pairs = window_pairs
};
const struct oa_support_functions oa_support_dilated = { .range = window_range,
                                                         .visible = window_visible,
                                                         .pairs = window_pairs };

struct oa_support oa_support_local(long window, long dilation)
{
    return (struct oa_support){ .form = dilation == 1 ? OA_SUPPORT_WINDOW : OA_SUPPORT_DILATED,
                                .parameter = { [WINDOW] = window, [DILATION] = dilation },
                                .horizon = { .span = (window - 1) * dilation + 1 } };
}
