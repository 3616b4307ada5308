/* SPDX-License-Identifier: Apache-2.0
 * Normal numbers, W/2 blocks of random words at a time: normal_lanes.h over the doubles of the
 * layer. Included by vector_template.h. */
#include "kernels/vector_math.h"

#define LANES v_real
#define WORDS v_bits
#define LANES_OF(w) ((v_real)(w))
#define WORDS_OF(x) ((v_bits)(x))
#define ROOT v_root
#define PICK(table, w) v_pick(table, w)
#define LANES_FUNCTION INLINE
#include "base/normal_lanes.h"

INLINE v_float v_normal(const struct v_philox *random, uint64_t block, double scale)
{
    v_long c[4];
    v_real even, odd;
    v_blocks(random, block, c);
    lanes_normal((v_bits)v_joined(c[0], c[1]), (v_bits)v_joined(c[2], c[3]), &even, &odd);
    return v_narrowed_pairs(scale * even, scale * odd);
}

static void normals(long n, double scale, struct oa_stream s, uint64_t first, void *x)
{
    struct v_philox random;
    v_philox_init(&random, s);
    for (long i = 0; i < n; i += W)
        v_store((float *)x + i, v_normal(&random, (first + (uint64_t)i) / 2, scale),
                n - i < W ? n - i : W);
}
