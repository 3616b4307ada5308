/* SPDX-License-Identifier: Apache-2.0
 * Matrix products: C [m, n] = op(A) [m, k] op(B) [k, n]. A group makes a tile of 64 × 64 of C by
 * steps of 16 of k in local memory; a thread 8 × 4 elements. Every element is one sum in the order
 * of k, whatever m and n are. */
enum { TILE = 64, STEP = 16, ROWS = 8, COLS = 4 };

typedef struct {
    long m, n, k, lda, ldb, ldc, ta, tb, accumulate, real_out;
} product_shape;

KERNEL void gemm_tiles(product_shape s, GLOBAL const act *a, GLOBAL const act *b, GLOBAL void *c)
{
    SHARED real left[STEP][TILE + 1], right[STEP][TILE + 1];
    long i0 = GROUP(1) * TILE, j0 = GROUP(0) * TILE;
    int row = THREAD / 16, col = THREAD % 16; /* of 8 × 16 threads */
    real sum[ROWS][COLS];
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < COLS; q++)
            sum[r][q] = 0;
    for (long k0 = 0; k0 < s.k; k0 += STEP) {
        for (int e = THREAD; e < TILE * STEP; e += GROUP_SIZE) {
            int ai = s.ta ? e % TILE : e / STEP, ak = s.ta ? e / TILE : e % STEP;
            int bj = s.tb ? e / STEP : e % TILE, bk = s.tb ? e % STEP : e / TILE;
            long i = i0 + ai, j = j0 + bj;
            left[ak][ai] = i < s.m && k0 + ak < s.k
                               ? load(a, s.ta ? (k0 + ak) * s.lda + i : i * s.lda + k0 + ak)
                               : 0;
            right[bk][bj] = j < s.n && k0 + bk < s.k
                                ? load(b, s.tb ? j * s.ldb + k0 + bk : (k0 + bk) * s.ldb + j)
                                : 0;
        }
        BARRIER;
        for (int k = 0; k < STEP; k++) {
            real x[ROWS], y[COLS];
            for (int r = 0; r < ROWS; r++)
                x[r] = left[k][row + 8 * r];
            for (int q = 0; q < COLS; q++)
                y[q] = right[k][col + 16 * q];
            for (int r = 0; r < ROWS; r++)
                for (int q = 0; q < COLS; q++)
                    sum[r][q] += x[r] * y[q];
        }
        BARRIER;
    }
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < COLS; q++) {
            long i = i0 + row + 8 * r, j = j0 + col + 16 * q, at = i * s.ldc + j;
            if (i >= s.m || j >= s.n)
                continue;
            if (s.real_out)
                ((GLOBAL real *)c)[at] =
                    sum[r][q] + (s.accumulate ? ((GLOBAL real *)c)[at] : (real)0);
            else
                store((GLOBAL act *)c, at, sum[r][q]);
        }
}
