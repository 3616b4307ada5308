/* SPDX-License-Identifier: Apache-2.0
 *
 * The innermost loop of our own matrix product (gemm_template.h): TILE_M rows by two vectors of C stay in registers,
 * each step multiplies a column of A, broadcast, with two vectors of B. AVX-512: 12 rows, 24 of 32 registers; AVX2: 6
 * rows, 12 of 16. Used where oneDNN is absent, or is not asked because it would use more than --isa allows.
 */
#define GEMM_TILE
#define GEMM_COPY
#define TILE_N (2 * W)
#define BLOCK_M 240
#define BLOCK_N 256
#define BLOCK_K 256

static void gemm_tile(long k, const float *a, const float *b, float *c, long ldc)
{
    v_float sum[TILE_M][2];
    for (int i = 0; i < TILE_M; i++)
        sum[i][0] = sum[i][1] = v_set(0);
    for (long p = 0; p < k; p++, a += TILE_M, b += TILE_N) {
        v_float left = v_load(b, W), right = v_load(b + W, W);
        for (int i = 0; i < TILE_M; i++) {
            v_float x = v_set(a[i]);
            sum[i][0] = v_fma(x, left, sum[i][0]);
            sum[i][1] = v_fma(x, right, sum[i][1]);
        }
    }
    for (int i = 0; i < TILE_M; i++, c += ldc) {
        v_store(c, v_add(v_load(c, W), sum[i][0]), W);
        v_store(c + W, v_add(v_load(c + W, W), sum[i][1]), W);
    }
}

static void gemm_copy(long n, const ACT *x, float *out)
{
    for (long i = 0; i < n; i += W)
        if (n - i >= W)
            v_store(out + i, act_load(x + i, W), W);
        else
            v_store(out + i, act_load(x + i, n - i), n - i);
}

#include "kernels/gemm_template.h"
