/* SPDX-License-Identifier: Apache-2.0
 * The vector parts of our own matrix product (gemm_template.h). In the innermost loop TILE_M rows
 * by TILE_V vectors of C stay in registers; each step multiplies a column of A, broadcast, with as
 * many vectors of B. AVX-512: 12 by 2, 24 of 32 registers, since heads are often 64 wide; AVX2: 4
 * by 3, 12 of 16. Used without oneDNN, where it would use more than --isa allows, and for single
 * rows. */
#define GEMM_PARTS
#define GEMM_ROW "kernels/vector_gemm_row.h"
#define TILE_N (TILE_V * W)
#define BLOCK_M 240
#define BLOCK_N (8 * TILE_N)
#define BLOCK_K 256

static void gemm_tile(long k, const float *a, const float *b, float *c, long ldc)
{
    v_float sum[TILE_M][TILE_V], right[TILE_V];
    for (int i = 0; i < TILE_M * TILE_V; i++)
        sum[i / TILE_V][i % TILE_V] = v_set(0);
    for (long p = 0; p < k; p++, a += TILE_M, b += TILE_N) {
        for (int j = 0; j < TILE_V; j++)
            right[j] = v_load(b + j * W, W);
        for (int i = 0; i < TILE_M; i++) {
            v_float left = v_set(a[i]);
            for (int j = 0; j < TILE_V; j++)
                sum[i][j] = v_fma(left, right[j], sum[i][j]);
        }
    }
    for (int i = 0; i < TILE_M; i++, c += ldc)
        for (int j = 0; j < TILE_V; j++)
            v_store(c + j * W, v_add(v_load(c + j * W, W), sum[i][j]), W);
}

INLINE void gemm_copy_lanes(long at, long lanes, const ACT *x, float *out)
{
    v_store(out + at, act_load(x + at, lanes), lanes);
}

static void gemm_copy(long n, const ACT *x, float *out){ EACH(n, gemm_copy_lanes, x, out) }

/* Four rows of x become columns: quads of four numbers, one from each row. */
INLINE
    void gemm_copy_across_lanes(long at, long lanes, const ACT *const row[4], long tile, float *out)
{
    v_float quad[4];
    for (int i = 0; i < 4; i++)
        quad[i] = row[i] ? act_load(row[i] + at, lanes) : v_set(0);
    v_quads(quad);
    for (int i = 0; i < 4; i++)
        v_store_quads(out + (at + i) * tile, quad[i], 4 * tile, (lanes - i + 3) / 4);
}

static void gemm_copy_across(long width, long depth, const ACT *x, long ldx, long tile, float *out)
{
    for (long i = 0; i < width; i += 4) {
        const ACT *row[4];
        for (long r = 0; r < 4; r++)
            row[r] = i + r < width ? x + (i + r) * ldx : NULL;
        float *to = out + i;
        EACH(depth, gemm_copy_across_lanes, row, tile, to)
    }
}

#include "kernels/gemm_template.h"
