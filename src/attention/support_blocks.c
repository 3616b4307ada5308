/* SPDX-License-Identifier: Apache-2.0
 *
 * The support of blocks that do not overlap: query i sees the keys j with ⌊j/size⌋ = ⌊i/size⌋.
 */
#include "attention/support.h"

enum { SIZE };

static long smaller(long a, long b)
{
    return a < b ? a : b;
}

/* Keys that queries i0 ≤ i < i1 can see at all: the blocks they lie in. */
static void range(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1,
                  long *low, long *high)
{
    long size = s->parameter[SIZE];
    (void)head;
    *low = i0 / size * size;
    *high = smaller(((i1 - 1) / size + 1) * size, a->keys);
}

static void row(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long *low,
                long *high)
{
    range(s, a, head, i, i + 1, low, high);
}

static bool visible(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long j)
{
    (void)a;
    (void)head;
    return i / s->parameter[SIZE] == j / s->parameter[SIZE];
}

static double block_pairs(double size, bool causal)
{
    return causal ? size * (size + 1) / 2 : size * size;
}

/* ⌊n/size⌋ whole blocks and a rest. */
static double pairs(const struct oa_support *s, const struct oa_attention_shape *a, long head)
{
    long size = s->parameter[SIZE], n = a->queries;
    (void)head;
    return (double)(n / size) * block_pairs((double)size, a->causal) + block_pairs((double)(n % size), a->causal);
}

struct oa_support oa_support_blocks(long size)
{
    return (struct oa_support){ .name = "blocks",
                                .parameter = { [SIZE] = size },
                                .horizon = { .block = size },
                                .range = range,
                                .row = row,
                                .visible = visible,
                                .pairs = pairs };
}
