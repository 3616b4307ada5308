/* SPDX-License-Identifier: Apache-2.0
 * Supports made of blocks: query i sees key j when the block (⌊i/b⌋, ⌊j/b⌋) of the head is on.
 * Blocks are given by a layout [H, P, Q] of 0 and 1 or, pooled, by a key set over N tokens: a block
 * is on if any pair in it is in the set (oa_keys_meet). The engine masks the future, so a pooled
 * set is symmetric. */
#include "device/key_sets.h"
#include "device/support_functions.h"

enum { BLOCK, ROWS, COLUMNS };             /* of a layout */
enum { LENGTH = BLOCK + 1, SETS, STRIDE }; /* of a pooled set */

static bool pooled_on(const struct oa_support *s, long p, long q)
{
    long b = s->parameter[BLOCK], n = s->parameter[LENGTH];
    struct oa_key_sets k = { .sets = (unsigned)s->parameter[SETS],
                             .stride = s->parameter[STRIDE],
                             .summary = 1 };
    return oa_keys_meet(&k, false, p * b, oa_min(p * b + b, n), q * b, oa_min(q * b + b, n));
}

static bool block_on(const struct oa_support *s, long head, long p, long q)
{
    if (s->form == OA_SUPPORT_POOLED)
        return pooled_on(s, p, q);
    return s->layout[(head * s->parameter[ROWS] + p) * s->parameter[COLUMNS] + q] != 0;
}

/* A band reaches a stride beyond the blocks of the queries, and then to the border of a block. */
static void layout_range(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                         long i0, long i1, long *low, long *high)
{
    long b = s->parameter[BLOCK];
    (void)head;
    *low = 0;
    *high = a->keys;
    if (s->form == OA_SUPPORT_LAYOUT || s->parameter[SETS] != OA_KEYS_BAND)
        return;
    long first = i0 / b * b - s->parameter[STRIDE] + 1,
         last = ((i1 - 1) / b + 1) * b - 2 + s->parameter[STRIDE];
    *low = oa_max(first, 0) / b * b;
    *high = oa_min((last / b + 1) * b, a->keys);
}

/* Whether all blocks that the tile touches are on (or all off). */
static bool all_blocks(const struct oa_support *s, long head, long i0, long i1, long j0, long j1,
                       bool on)
{
    long b = s->parameter[BLOCK];
    for (long p = i0 / b; p * b < i1; p++) {
        for (long q = j0 / b; q * b < j1; q++) {
            if (block_on(s, head, p, q) != on)
                return false;
        }
    }
    return true;
}

static bool layout_empty(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                         long i0, long i1, long j0, long j1)
{
    (void)a;
    return all_blocks(s, head, i0, i1, j0, j1, false);
}

static bool layout_full(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                        long i0, long i1, long j0, long j1)
{
    (void)a;
    return all_blocks(s, head, i0, i1, j0, j1, true);
}

static bool layout_visible(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head, long i, long j)
{
    (void)a;
    return block_on(s, head, i / s->parameter[BLOCK], j / s->parameter[BLOCK]);
}

/* The rest of a block. */
static long layout_alike(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                         long i, long j, long j1)
{
    long b = s->parameter[BLOCK];
    (void)a, (void)head, (void)i;
    return oa_min((j / b + 1) * b, j1);
}

/* Pairs of the block (p, q), which ends with the sequence. */
static double pairs_of_block(const struct oa_support *s, const struct oa_attention_shape *a, long p,
                             long q)
{
    long b = s->parameter[BLOCK];
    double rows = (double)(oa_min(p * b + b, a->queries) - p * b),
           columns = (double)(oa_min(q * b + b, a->keys) - q * b);
    if (a->causal && p == q)
        return rows * (rows + 1) / 2;
    return rows * columns;
}

/* How many of the blocks 0 … p − 1 are on in row p of a pooled set, going from row to row. In whole
 * blocks a band or a stride depends on p − q alone, so a row adds its farthest block; of a fixed
 * set columns with a summary are on, and all from the cell of the first query on. */
struct blocks_before {
    const struct oa_support *s;
    long summaries, cell; /* columns q < cell with a summary; the first block that the cell of the
                             row reaches */
    double near;          /* blocks of distance 1 … p */
};

static double blocks_on_before(struct blocks_before *c, long p)
{
    const struct oa_support *s = c->s;
    long b = s->parameter[BLOCK];
    if (!(s->parameter[SETS] & OA_KEYS_CELL)) {
        c->near +=
            p > 0 && oa_keys_meet(&(struct oa_key_sets){ .sets = (unsigned)s->parameter[SETS],
                                                         .stride = s->parameter[STRIDE] },
                                  false, p * b, p * b + b, 0, b);
        return c->near;
    }
    long cell = oa_min(p, p * b / s->parameter[STRIDE] * s->parameter[STRIDE] / b);
    for (; c->cell < cell; c->cell++)
        c->summaries += oa_keys_meet(&(struct oa_key_sets){ .sets = OA_KEYS_SUMMARY,
                                                            .stride = s->parameter[STRIDE],
                                                            .summary = 1 },
                                     true, p * b, p * b + b, c->cell * b, c->cell * b + b);
    return (double)(c->summaries + p - cell);
}

/* Pairs of a pooled set over n positions, by rows of blocks: those before the diagonal block, twice
 * without causality since the set is symmetric, and that block. */
static double pooled_pairs(const struct oa_support *s, const struct oa_attention_shape *a, long n)
{
    long b = s->parameter[BLOCK];
    struct blocks_before c = { .s = s };
    double sum = 0;
    for (long p = 0; p * b < n; p++) {
        double before = blocks_on_before(&c, p);
        if (p * b + b > s->end) { /* the block that the set's N tokens cut: one by one */
            before = 0;
            for (long q = 0; q < p; q++)
                before += pooled_on(s, p, q);
        }
        double rows = (double)(oa_min(p * b + b, n) - p * b);
        sum += (a->causal ? 1 : 2) * before * rows * (double)b +
               (a->causal ? rows * (rows + 1) / 2 : rows * rows);
    }
    return sum;
}

static double layout_pairs(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head)
{
    if (s->form == OA_SUPPORT_POOLED)
        return pooled_pairs(s, a, a->queries);
    long b = s->parameter[BLOCK];
    double sum = 0;
    for (long p = 0; p * b < a->queries; p++) {
        for (long q = 0; q * b < a->keys && (!a->causal || q <= p); q++)
            sum += block_on(s, head, p, q) ? pairs_of_block(s, a, p, q) : 0;
    }
    return sum;
}

const struct oa_support_functions oa_support_block_list = { .range = layout_range,
                                                            .empty = layout_empty,
                                                            .full = layout_full,
                                                            .visible = layout_visible,
                                                            .alike = layout_alike,
                                                            .pairs = layout_pairs };

struct oa_support oa_support_layout(long block, long rows, long columns, const int32_t *layout)
{
    return (
        struct oa_support){ .form = OA_SUPPORT_LAYOUT,
                            .parameter = { [BLOCK] = block, [ROWS] = rows, [COLUMNS] = columns },
                            .end = oa_min(rows, columns) * block,
                            .layout = layout };
}

static struct oa_support pooled_support(long block, long length, unsigned sets, long stride)
{
    return (struct oa_support){
        .form = OA_SUPPORT_POOLED,
        .parameter = { [BLOCK] = block, [LENGTH] = length, [SETS] = sets, [STRIDE] = stride },
        .end = length
    };
}

struct oa_support oa_support_pooled_sparse(long block, long length, bool fixed)
{
    unsigned sets = fixed ? OA_KEYS_CELL | OA_KEYS_SUMMARY : OA_KEYS_BAND | OA_KEYS_STRIDED;
    return pooled_support(block, length, sets, oa_default_stride(length));
}

/* local: i − window < j ≤ i, and without causality |i − j| ≤ window. */
struct oa_support oa_support_pooled_local(long block, long length, long window, bool causal)
{
    return pooled_support(block, length, OA_KEYS_BAND, causal ? window : window + 1);
}
