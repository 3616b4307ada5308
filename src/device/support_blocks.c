/* SPDX-License-Identifier: Apache-2.0
 * The support of blocks that do not overlap: query i sees the keys j with ⌊j/size⌋ = ⌊i/size⌋. */
#include "device/support_functions.h"

enum { SIZE };

/* Keys visible to queries i0 ≤ i < i1: their blocks. */
static void block_range(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                        long i0, long i1, long *low, long *high)
{
    long size = s->parameter[SIZE];
    (void)head;
    *low = i0 / size * size;
    *high = oa_min(((i1 - 1) / size + 1) * size, a->keys);
}

static void block_row(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                      long i, long *low, long *high)
{
    block_range(s, a, head, i, i + 1, low, high);
}

static bool block_visible(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                          long i, long j)
{
    (void)a;
    (void)head;
    return i / s->parameter[SIZE] == j / s->parameter[SIZE];
}

static double pairs_in_block(double size, bool causal)
{
    return causal ? size * (size + 1) / 2 : size * size;
}

/* ⌊n/size⌋ whole blocks and a rest. */
static double blocks_pairs(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head)
{
    long size = s->parameter[SIZE], n = a->queries;
    (void)head;
    return (double)(n / size) * pairs_in_block((double)size, a->causal) +
           pairs_in_block((double)(n % size), a->causal);
}

const struct oa_support_functions oa_support_block = {
    .range = block_range, .row = block_row, .visible = block_visible, .pairs = blocks_pairs
};

struct oa_support oa_support_blocks(long size)
{
    return (struct oa_support){ .form = OA_SUPPORT_BLOCKS,
                                .parameter = { [SIZE] = size },
                                .horizon = { .block = size } };
}
