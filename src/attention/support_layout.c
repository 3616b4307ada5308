/* SPDX-License-Identifier: Apache-2.0
 *
 * Supports made of blocks: query i sees key j when the block (⌊i/b⌋, ⌊j/b⌋) of the head is on. Which blocks are on says
 * a layout [H, P, Q] of 0 and 1 or, pooled, a key set over N tokens: a block is on if any pair in it is (key_sets.h
 * knows that without looking at the pairs). Causality is the engine's, so a pooled set is taken on both sides.
 */
#include "attention/key_sets.h"
#include "attention/support.h"

enum { BLOCK, ROWS, COLUMNS };             /* of a layout */
enum { LENGTH = BLOCK + 1, SETS, STRIDE }; /* of a pooled set */

static long smaller(long a, long b)
{
    return a < b ? a : b;
}

static long larger(long a, long b)
{
    return a > b ? a : b;
}

static bool pooled_on(const struct oa_support *s, long p, long q)
{
    long b = s->parameter[BLOCK], n = s->parameter[LENGTH];
    struct oa_key_sets k = { .sets = (unsigned)s->parameter[SETS], .stride = s->parameter[STRIDE], .summary = 1 };
    return oa_keys_meet(&k, false, p * b, smaller(p * b + b, n), q * b, smaller(q * b + b, n));
}

static bool block_on(const struct oa_support *s, long head, long p, long q)
{
    if (!s->layout)
        return pooled_on(s, p, q);
    return s->layout[(head * s->parameter[ROWS] + p) * s->parameter[COLUMNS] + q] != 0;
}

/* A band reaches a stride beyond the blocks of the queries, and then to the border of a block. */
static void range(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1,
                  long *low, long *high)
{
    long b = s->parameter[BLOCK];
    (void)head;
    *low = 0;
    *high = a->keys;
    if (s->layout || s->parameter[SETS] != OA_KEYS_BAND)
        return;
    long first = i0 / b * b - s->parameter[STRIDE] + 1, last = ((i1 - 1) / b + 1) * b - 2 + s->parameter[STRIDE];
    *low = larger(first, 0) / b * b;
    *high = smaller((last / b + 1) * b, a->keys);
}

/* Are all blocks that the tile touches on (or all off)? */
static bool all_blocks(const struct oa_support *s, long head, long i0, long i1, long j0, long j1, bool on)
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

static bool empty(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1, long j0,
                  long j1)
{
    (void)a;
    return all_blocks(s, head, i0, i1, j0, j1, false);
}

static bool full(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1, long j0,
                 long j1)
{
    (void)a;
    return all_blocks(s, head, i0, i1, j0, j1, true);
}

static bool visible(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long j)
{
    (void)a;
    return block_on(s, head, i / s->parameter[BLOCK], j / s->parameter[BLOCK]);
}

/* Pairs of the block (p, q), which ends with the sequence. */
static double pairs_of_block(const struct oa_support *s, const struct oa_attention_shape *a, long p, long q)
{
    long b = s->parameter[BLOCK];
    double rows = (double)(smaller(p * b + b, a->queries) - p * b),
           columns = (double)(smaller(q * b + b, a->keys) - q * b);
    if (a->causal && p == q)
        return rows * (rows + 1) / 2;
    return rows * columns;
}

static double pairs(const struct oa_support *s, const struct oa_attention_shape *a, long head)
{
    long b = s->parameter[BLOCK];
    double sum = 0;
    for (long p = 0; p * b < a->queries; p++) {
        for (long q = 0; q * b < a->keys && (!a->causal || q <= p); q++)
            sum += block_on(s, head, p, q) ? pairs_of_block(s, a, p, q) : 0;
    }
    return sum;
}

static const struct oa_support blocks = {
    .name = "layout", .range = range, .empty = empty, .full = full, .visible = visible, .pairs = pairs
};

struct oa_support oa_support_layout(long block, long rows, long columns, const int32_t *layout)
{
    struct oa_support s = blocks;
    s.parameter[BLOCK] = block;
    s.parameter[ROWS] = rows;
    s.parameter[COLUMNS] = columns;
    s.layout = layout;
    return s;
}

static struct oa_support pooled(long block, long length, unsigned sets, long stride)
{
    struct oa_support s = blocks;
    s.name = "pooled";
    s.parameter[BLOCK] = block;
    s.parameter[LENGTH] = length;
    s.parameter[SETS] = sets;
    s.parameter[STRIDE] = stride;
    return s;
}

struct oa_support oa_support_pooled_sparse(long block, long length, bool fixed)
{
    unsigned sets = fixed ? OA_KEYS_CELL | OA_KEYS_SUMMARY : OA_KEYS_BAND | OA_KEYS_STRIDED;
    return pooled(block, length, sets, oa_default_stride(length));
}

/* local: i − window < j ≤ i, and without causality |i − j| ≤ window. */
struct oa_support oa_support_pooled_local(long block, long length, long window, bool causal)
{
    return pooled(block, length, OA_KEYS_BAND, causal ? window : window + 1);
}
