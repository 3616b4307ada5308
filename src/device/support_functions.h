/* SPDX-License-Identifier: Apache-2.0
 * For devices only: functions of each form of support for the engines of the CPU and the counts of
 * the plan device. */
#ifndef ORTHANT_DEVICE_SUPPORT_FUNCTIONS_H
#define ORTHANT_DEVICE_SUPPORT_FUNCTIONS_H

#include "device/support.h"

/* An order of the rows of a sequence: sequence r of `sequences` has, of each `stride` rows, `take`
 * from first + r on. {1, 1, 0, 1} is the identity, {l, l, 0, 1} the l residue classes modulo l. */
struct oa_row_order {
    long sequences, stride, first, take;
};
struct oa_piece;

struct oa_support_functions {
    /* Keys visible to queries i0 ≤ i < i1 of a head are in [*low, *high). */
    void (*range)(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                  long i0, long i1, long *low, long *high);
    /* True when no pair of the tile i0…i1−1 × j0…j1−1 is visible: the tile is skipped. May be NULL
     * (= never). */
    bool (*empty)(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                  long i0, long i1, long j0, long j1);
    /* True when all pairs of the tile are visible: it needs no look at each. May be NULL (= never).
     */
    bool (*full)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0,
                 long i1, long j0, long j1);
    /* The visible keys of row i, when they are one interval; NULL when they are not, then `visible`
     * decides pair by pair. Causality and padding are applied by the engine on top. */
    void (*row)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i,
                long *low, long *high);
    bool (*visible)(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                    long i, long j);
    /* With `visible`: the end, at most j1, of keys from j on of which row i sees all or none. NULL:
     * j + 1. */
    long (*alike)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i,
                  long j, long j1);
    /* Number of visible pairs of a head, for FLOP counts (causality included, padding not). */
    double (*pairs)(const struct oa_support *s, const struct oa_attention_shape *a, long head);
    /* The same pairs of a sequence with itself as a union of disjoint pieces 0, 1, …, where the
     * tiles of the whole would be nearly empty: each piece is dense in an order of its own; piece 0
     * in that of the sequence. False: there is no such piece. NULL: no such union. */
    bool (*piece)(const struct oa_support *s, const struct oa_attention_shape *a, int number,
                  struct oa_piece *out);
};
/* The support of a piece has `row`, with bounds that do not decrease from row to row, in terms of
 * the new order. Causality applies in piece 0 only. Queries and keys have equally many sequences.
 */
struct oa_piece {
    struct oa_row_order queries, keys;
    struct oa_support support;
};

/* Steps from a query to its first and its last key in a window, which is parameter 0. */
static inline long oa_window_back(const struct oa_support *s, const struct oa_attention_shape *a)
{
    return a->causal ? s->parameter[0] - 1 : s->parameter[0];
}

static inline long oa_window_ahead(const struct oa_support *s, const struct oa_attention_shape *a)
{
    return a->causal ? 0 : s->parameter[0];
}

/* NULL: every key is seen. */
const struct oa_support_functions *oa_support_functions_of(const struct oa_support *s);

extern const struct oa_support_functions oa_support_window, oa_support_dilated, oa_support_global,
    oa_support_block, oa_support_block_list, oa_support_key_sets, oa_support_near,
    oa_support_class_before, oa_support_class_after, oa_support_summary_before,
    oa_support_summary_after;

#endif
