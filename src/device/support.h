/* SPDX-License-Identifier: Apache-2.0
 * Visible keys of an attention: lengths of a batch, and supports, which define the visible keys
 * besides causality and padding. A support is a form with a few numbers, and for one form a list of
 * blocks: data, which every device can represent in its own way. Sparse supports are iterated by
 * tiles, never as n×n. */
#ifndef ORTHANT_DEVICE_SUPPORT_H
#define ORTHANT_DEVICE_SUPPORT_H

#include "base/base.h"

struct oa_attention_shape {
    long batch, queries, keys, heads; /* B, T, S, H */
    /* N, heads of keys and values, where these are fewer: query head h reads number ⌊h·N/H⌋, and
     * rows of keys and values have N heads, in gradients and states too. 0: H. */
    long key_heads;
    long value_width; /* V */
    /* Key j is seen by query i only if j ≤ first + i. Backward passes need first = 0 and queries =
     * keys. */
    bool causal;
    long first;     /* position of the first query: decoding, where earlier tokens are keys only */
    long summaries; /* number of first keys that are summaries of forgotten blocks (struct
                       oa_horizon) */
    /* Logits engine, one sequence: keys are stored head by head, each a row of K (or V) columns,
     * and this is the number of rows from one head to the next. 0: a row has the keys of all heads.
     */
    long key_head_rows;
    double logit_cap; /* logits engine: s becomes cap·tanh(s/cap); 0: it stays */
    const int32_t
        *key_lengths; /* [B] true lengths, 0 … keys; keys beyond are padding. NULL = no padding */
    const int32_t *query_lengths; /* [B] queries beyond are padding: output 0, no gradient. NULL =
                                     no padding */
};

static inline long oa_key_heads(const struct oa_attention_shape *s)
{
    return s->key_heads ? s->key_heads : s->heads;
}

/* The head of keys and values that query head h reads. */
static inline long oa_key_head(const struct oa_attention_shape *s, long h)
{
    return h * oa_key_heads(s) / s->heads;
}

/* Visible past of the causal queries of a support, which tells what decoding may forget. `span`: a
 * query sees no key that is `span` or more positions before it (0: no limit), except the first
 * `sinks` tokens. Or `block`: a query sees no key before its own block of that size (0: no blocks),
 * except the last `summary` tokens of each block (fewer than block). Apart from these, visibility
 * depends only on differences of positions, modulo `block`. Sinks and summaries are the first keys;
 * for a support with summaries the shape has their number, and the keys after them begin with a
 * block. */
struct oa_horizon {
    long span, sinks, block, summary;
};

/* The forms, by their pairs (i, j); w, d, … are parameters in this order. Positions of queries
 * begin at `first` of the shape. Rows that are intervals, empty and full tiles:
 * support_functions.h. */
enum oa_support_form {
    OA_SUPPORT_ALL,
    OA_SUPPORT_WINDOW,  /* w: −w ≤ i − j ≤ w; causal: 0 ≤ i − j < w */
    OA_SUPPORT_DILATED, /* w, d: d divides i − j, and (i − j)/d is in the window */
    OA_SUPPORT_GLOBAL,  /* w, g, rows: j < g, or the window of w; queries i < g see all keys (rows =
                           1) or none (0) */
    OA_SUPPORT_BLOCKS,  /* b: ⌊i/b⌋ = ⌊j/b⌋ */
    OA_SUPPORT_LAYOUT,  /* b, P, Q: layout[head][⌊i/b⌋][⌊j/b⌋] ≠ 0 */
    OA_SUPPORT_POOLED,  /* b, N, sets, l: a pair of the block of (i, j) is in the key sets
                           (key_sets.h) of stride l */
    OA_SUPPORT_KEY_SETS, /* fixed, l, c, split: BAND ∪ STRIDED or, fixed, CELL ∪ SUMMARY; split: one
                          * by turns of heads */
    OA_SUPPORT_NEAR,     /* pieces of KEY_SETS, with its parameters: rows in orders of their own
                            (support_sparse.c) */
    OA_SUPPORT_CLASS_BEFORE,
    OA_SUPPORT_CLASS_AFTER,
    OA_SUPPORT_SUMMARY_BEFORE,
    OA_SUPPORT_SUMMARY_AFTER,
    OA_SUPPORT_FORMS
};
struct oa_support {
    enum oa_support_form form;
    long parameter[4];
    struct oa_horizon horizon;
    long end; /* positions from this one on are undefined; 0 = none */
    const int32_t *
        layout; /* LAYOUT: [H, P, Q], in host memory for the functions here, else in the device's */
};

struct oa_support oa_support_local(long window, long dilation);
struct oa_support oa_support_blocks(long size);
struct oa_support oa_support_sparse(bool fixed, long stride, long summary, bool split);
/* Blocks that are on in a layout [H, rows, columns], which must outlive the support; or pooled:
 * blocks with any pair of a key set over `length` tokens, that of `sparse` with its defaults, or of
 * `local`. */
struct oa_support oa_support_layout(long block, long rows, long columns, const int32_t *layout);
struct oa_support oa_support_pooled_sparse(long block, long length, bool fixed);
struct oa_support oa_support_pooled_local(long block, long length, long window, bool causal);
/* global_rows: the rows of the global tokens see everything, else nothing. */
struct oa_support oa_support_longformer(long window, long global, bool global_rows);
long oa_default_stride(long length); /* ⌈√N⌉ */

/* Whether the pair is in the support, without causality and padding. */
bool oa_support_visible(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                        long i, long j);
/* Number of visible pairs of a head, for FLOP counts (causality included, padding not). */
double oa_support_pairs(const struct oa_support *s, const struct oa_attention_shape *a, long head);

#endif
