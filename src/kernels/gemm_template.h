/* SPDX-License-Identifier: Apache-2.0
 * A matrix product in the way of Goto & van de Geijn (2008): C is cut into blocks of BLOCK_M ×
 * BLOCK_N, k into pieces of BLOCK_K; a piece of A and of B is copied ("packed") into panels of
 * TILE_M rows and TILE_N columns, in the order in which the innermost loop reads them, converted to
 * REAL and filled up with zeros; transpositions end there. The block of C is summed in REAL and
 * goes to C once, at the end.
 *
 * Included after ACT, REAL, LOAD, STORE, BLOCK_M, BLOCK_N, BLOCK_K, TILE_M, TILE_N; a block is
 * whole tiles. A file with faster parts defines GEMM_PARTS and these parts (vector_gemm.h); the
 * plain ones here document each.
 *
 * Element (i, j) of C is the same sum in the same order wherever it is in the matrix and however
 * large that is; only products of a single row may use another order (GEMM_ROW). */
#include "base/processor.h"
#include "kernels/kernels.h"

#include <string.h>

/* Not initialised: every number is written before it is read. */
struct oa_gemm_state {
    REAL *a, *b,
        *c; /* packed [BLOCK_K, BLOCK_M] and [BLOCK_K, BLOCK_N]; the sums [BLOCK_M, BLOCK_N] */
    bool prefetches_early; /* oa_cpu has it */
    /* Of invariant rows (vector_gemm_row.h): the lines of transposed B to prefetch next, how many
     * per step along k, and the block of it that was prefetched last. */
    const char *next;
    long lines;
    const char *fetched, *fetched_end;
};

static struct oa_gemm_state *gemm_open(oa_context *context, enum oa_precision p)
{
    (void)p;
    size_t a = BLOCK_K * BLOCK_M, b = BLOCK_K * BLOCK_N, c = BLOCK_M * BLOCK_N;
    struct oa_gemm_state *s = oa_alloc_raw(context, OA_ALIGN + (a + b + c) * sizeof(REAL));
    if (!s)
        return NULL;
    s->a = (REAL *)((char *)s + OA_ALIGN);
    s->b = s->a + a;
    s->c = s->b + b;
    s->prefetches_early = oa_context_cpu(context)->prefetches_early;
    s->next = NULL;
    s->lines = 0;
    s->fetched = s->fetched_end = NULL;
    return s;
}

static void gemm_close(struct oa_gemm_state *s)
{
    oa_free(s);
}

#ifndef GEMM_PARTS
/* c [TILE_M, TILE_N] += Σ_p a[p·TILE_M + i]·b[p·TILE_N + j] */
static void gemm_tile(long k, const REAL *restrict a, const REAL *restrict b, REAL *restrict c,
                      long ldc)
{
    REAL sum[TILE_M][TILE_N] = { { 0 } };
    for (long p = 0; p < k; p++, a += TILE_M, b += TILE_N)
        for (int i = 0; i < TILE_M; i++)
            for (int j = 0; j < TILE_N; j++)
                sum[i][j] += a[i] * b[j];
    for (int i = 0; i < TILE_M; i++)
        for (int j = 0; j < TILE_N; j++)
            c[i * ldc + j] += sum[i][j];
}

/* out[i] = x[i] */
static void gemm_copy(long n, const ACT *x, REAL *out)
{
    for (long i = 0; i < n; i++)
        out[i] = LOAD(x[i]);
}

/* out[p·tile + i] = x[i·ldx + p]; may write zeros up to a multiple of four i. */
static void gemm_copy_across(long width, long depth, const ACT *x, long ldx, long tile, REAL *out)
{
    for (long i = 0; i < width; i++)
        for (long p = 0; p < depth; p++)
            out[p * tile + i] = LOAD(x[i * ldx + p]);
}
#endif

/* One panel: out[p·tile + i] = x(i, p) for i < width ≤ tile, p < depth; zeros up to tile. across:
 * the step from i to i+1 in x, along: the step from p to p+1; one of them is 1. */
static void gemm_pack_panel(long tile, long width, long depth, const ACT *x, long across,
                            long along, REAL *out)
{
    if (width < tile)
        memset(out, 0, (size_t)(tile * depth) * sizeof(REAL));
    if (across != 1)
        gemm_copy_across(width, depth, x, across, tile, out);
    else
        for (long p = 0; p < depth; p++)
            gemm_copy(width, x + p * along, out + p * tile);
}

static void gemm_pack(long tile, long width, long depth, const ACT *x, long across, long along,
                      REAL *out)
{
    for (long i = 0; i < width; i += tile, out += tile * depth)
        gemm_pack_panel(tile, width - i < tile ? width - i : tile, depth, x + i * across, across,
                        along, out);
}

/* Stores the sums of a block in C. */
static void gemm_finish(const struct oa_gemm *g, long rows, long cols, const REAL *sums, void *c,
                        long at)
{
    for (long i = 0; i < rows; i++, sums += BLOCK_N, at += g->ldc) {
        if (g->real_out && g->accumulate)
            for (long j = 0; j < cols; j++)
                ((REAL *)c)[at + j] += sums[j];
        else if (g->real_out)
            memcpy((REAL *)c + at, sums, (size_t)cols * sizeof(REAL));
        else
            for (long j = 0; j < cols; j++)
                ((ACT *)c)[at + j] = STORE(sums[j]);
    }
}

static long whole_tiles(long n, long tile)
{
    return (n + tile - 1) / tile * tile;
}

static void gemm_block(struct oa_gemm_state *s, const struct oa_gemm *g, const ACT *a, const ACT *b,
                       long rows, long cols)
{
    long a_across = g->ta ? 1 : g->lda, a_along = g->ta ? g->lda : 1;
    long b_across = g->tb ? g->ldb : 1, b_along = g->tb ? 1 : g->ldb;
    for (long i = 0; i < whole_tiles(rows, TILE_M); i++)
        memset(s->c + i * BLOCK_N, 0, (size_t)whole_tiles(cols, TILE_N) * sizeof(REAL));
    for (long p = 0; p < g->k; p += BLOCK_K) {
        long depth = g->k - p < BLOCK_K ? g->k - p : BLOCK_K;
        gemm_pack(TILE_M, rows, depth, a + p * a_along, a_across, a_along, s->a);
        gemm_pack(TILE_N, cols, depth, b + p * b_along, b_across, b_along, s->b);
        for (long j = 0; j < cols; j += TILE_N)
            for (long i = 0; i < rows; i += TILE_M)
                gemm_tile(depth, s->a + i * depth, s->b + j * depth, s->c + i * BLOCK_N + j,
                          BLOCK_N);
    }
}

#ifdef GEMM_ROW
#include GEMM_ROW
#endif

static void gemm(struct oa_gemm_state *s, const struct oa_gemm *g, const void *a, const void *b,
                 void *c)
{
#ifdef GEMM_ROW
    if (g->m == 1 || g->invariant_rows) {
        gemm_rows(s, g, a, b, c);
        return;
    }
#endif
    for (long i = 0; i < g->m; i += BLOCK_M)
        for (long j = 0; j < g->n; j += BLOCK_N) {
            long rows = g->m - i < BLOCK_M ? g->m - i : BLOCK_M,
                 cols = g->n - j < BLOCK_N ? g->n - j : BLOCK_N;
            const ACT *top = (const ACT *)a + i * (g->ta ? 1 : g->lda);
            const ACT *left = (const ACT *)b + j * (g->tb ? g->ldb : 1);
            gemm_block(s, g, top, left, rows, cols);
            gemm_finish(g, rows, cols, s->c, c, i * g->ldc + j);
        }
}
