/* SPDX-License-Identifier: Apache-2.0
 *
 * A single row times a matrix, as in decoding: B is read once, in the order in which it lies in memory, at the speed of
 * memory. Packing it would cost more than the product, and for oneDNN every length of a growing cache is a new shape.
 */

enum { ROW_COLS = BLOCK_M * BLOCK_N }; /* sums that the state holds */

/* sums[j] += Σ x[i]·b[i][j] over a few rows of B. */
INLINE void gemm_row_lanes(long at, long lanes, int rows, const v_float *x, const ACT *b, long ldb, float *sums)
{
    v_float sum = v_load(sums + at, lanes);
    for (int i = 0; i < rows; i++)
        sum = v_fma(x[i], act_load(b + i * ldb + at, lanes), sum);
    v_store(sums + at, sum, lanes);
}

static void gemm_row_plain(long n, long k, const ACT *a, long step, const ACT *b, long ldb, float *sums)
{
    v_float x[8];
    long p = 0;
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (; p + 8 <= k; p += 8, b += 8 * ldb) {
        for (int i = 0; i < 8; i++)
            x[i] = v_set(LOAD(a[(p + i) * step]));
        EACH(n, gemm_row_lanes, 8, x, b, ldb, sums)
    }
    for (; p < k; p++, b += ldb) {
        x[0] = v_set(LOAD(a[p * step]));
        EACH(n, gemm_row_lanes, 1, x, b, ldb, sums)
    }
}

/* sum[i] += Σ a[p]·b[i][p], lane by lane, over a few rows of transposed B. */
INLINE void gemm_dot_lanes(long at, long lanes, int rows, const float *a, const ACT *b, long ldb, v_float *sum)
{
    v_float x = v_load(a + at, lanes);
    for (int i = 0; i < rows; i++)
        sum[i] = v_fma(x, act_load(b + i * ldb + at, lanes), sum[i]);
}

INLINE void gemm_dots(int rows, long k, const float *a, const ACT *b, long ldb, float *sums, bool add)
{
    v_float sum[4];
    for (int i = 0; i < rows; i++)
        sum[i] = v_set(0);
    EACH(k, gemm_dot_lanes, rows, a, b, ldb, sum)
    for (int i = 0; i < rows; i++)
        sums[i] = (add ? sums[i] : 0) + v_sum(sum[i]);
}

static void gemm_row_transposed(long n, long k, const float *a, const ACT *b, long ldb, float *sums, bool add)
{
    long j = 0;
    for (; j + 4 <= n; j += 4)
        gemm_dots(4, k, a, b + j * ldb, ldb, sums + j, add);
    for (; j < n; j++)
        gemm_dots(1, k, a, b + j * ldb, ldb, sums + j, add);
}

/* The row of A as floats, a piece at a time, in the room for packed A. */
static void gemm_row_dots(struct oa_gemm_state *s, const struct oa_gemm *g, long n, const ACT *a, const ACT *b)
{
    const long most = BLOCK_K * BLOCK_M;
    for (long p = 0; p == 0 || p < g->k; p += most) {
        long depth = g->k - p < most ? g->k - p : most;
        if (!g->ta)
            gemm_copy(depth, a + p, s->a);
        for (long i = 0; g->ta && i < depth; i++)
            s->a[i] = LOAD(a[(p + i) * g->lda]);
        gemm_row_transposed(n, depth, s->a, b + p, g->ldb, s->c, p > 0);
    }
}

static void gemm_row(struct oa_gemm_state *s, const struct oa_gemm *g, const ACT *a, const ACT *b, void *c)
{
    for (long j = 0; j < g->n; j += ROW_COLS) {
        long n = g->n - j < ROW_COLS ? g->n - j : ROW_COLS;
        if (g->tb)
            gemm_row_dots(s, g, n, a, b + j * g->ldb);
        else
            gemm_row_plain(n, g->k, a, g->ta ? g->lda : 1, b + j, g->ldb, s->c);
        gemm_finish(g, 1, n, s->c, c, j);
    }
}
