/* SPDX-License-Identifier: Apache-2.0
 *
 * A single row times a matrix, as in decoding: B is read once, in the order in which it lies in memory, at the speed of
 * memory. Packing it would cost more than the product, and for oneDNN every length of a growing cache is a new shape.
 * So it is with a few rows that must not know of each other (oa_gemm.apart).
 */

enum {
    ROW_COLS = BLOCK_M * BLOCK_N, /* sums that the state holds */
    ROW_ROOM = BLOCK_M * BLOCK_K, /* numbers of A that it holds */
    TOGETHER = TILE_M / 2,        /* rows that a product of several has in registers */
    DOTS = 4,                     /* rows of transposed B beside them */
    AHEAD = 8192                  /* bytes of B that are asked for before they are read */
};

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

/* sum[r][i] += Σ a_r[p]·b[i][p], lane by lane, over a few rows of A and of transposed B. */
INLINE void gemm_dot_lanes(long at, long lanes, int heights, int rows, const float *a, long lda, const ACT *b, long ldb,
                           bool fetch, v_float (*sum)[DOTS])
{
    v_float right[DOTS];
    for (int i = 0; i < rows; i++) {
        const ACT *next = b + i * ldb + at;
        if (fetch)
            __builtin_prefetch((const char *)next + AHEAD);
        right[i] = act_load(next, lanes);
    }
    for (int r = 0; r < heights; r++) {
        v_float left = v_load(a + r * lda + at, lanes);
        for (int i = 0; i < rows; i++)
            sum[r][i] = v_fma(left, right[i], sum[r][i]);
    }
}

INLINE void gemm_dots(int heights, int rows, long k, const float *a, long lda, const ACT *b, long ldb, bool fetch,
                      float *sums)
{
    v_float sum[TOGETHER][DOTS];
    for (int r = 0; r < heights; r++)
        for (int i = 0; i < rows; i++)
            sum[r][i] = v_set(0);
    long at = 0;
    for (; at + W <= k; at += W)
        gemm_dot_lanes(at, W, heights, rows, a, lda, b, ldb, fetch, sum);
    if (at < k)
        gemm_dot_lanes(at, k - at, heights, rows, a, lda, b, ldb, false, sum);
    for (int r = 0; r < heights; r++)
        if (rows == DOTS)
            v_add_four_sums(sum[r], sums + r * BLOCK_N);
        else
            sums[r * BLOCK_N] += v_sum(sum[r][0]);
}

/* sums [heights, n] += A [heights, k] Bᵀ */
INLINE void gemm_rows_transposed(int heights, long n, long k, const float *a, long lda, const ACT *b, long ldb,
                                 bool fetch, float *sums)
{
    long j = 0;
    for (; j + DOTS <= n; j += DOTS)
        gemm_dots(heights, DOTS, k, a, lda, b + j * ldb, ldb, fetch, sums + j);
    for (; j < n; j++)
        gemm_dots(heights, 1, k, a, lda, b + j * ldb, ldb, false, sums + j);
}

/* The same with a number of rows that the compiler knows. fetch: B comes from memory, which a core waits for less when
 * it asks early; rows after these have it in a cache. */
static void gemm_rows_dots(int heights, long n, long k, const float *a, long lda, const ACT *b, long ldb, bool fetch,
                           float *sums)
{
#define ROWS(h)                                                                                                        \
    case h:                                                                                                            \
        gemm_rows_transposed(h <= TOGETHER ? h : 1, n, k, a, lda, b, ldb, true, sums);                                 \
        break;                                                                                                         \
    case -h:                                                                                                           \
        gemm_rows_transposed(h <= TOGETHER ? h : 1, n, k, a, lda, b, ldb, false, sums);                                \
        break;
    switch (fetch ? heights : -heights) {
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
        ROWS(5)
        ROWS(6)
    }
#undef ROWS
}

/* Pieces of rows of A as floats: where they lie, or copied to the room for packed A. */
static const float *gemm_left(struct oa_gemm_state *s, const struct oa_gemm *g, int heights, long depth, const ACT *a,
                              long *lda)
{
    *lda = depth;
    if (sizeof(ACT) == sizeof(float) && !g->ta) {
        *lda = g->lda;
        return (const float *)(const void *)a;
    }
    for (int r = 0; r < heights; r++) {
        if (!g->ta)
            gemm_copy(depth, a + r * g->lda, s->a + r * depth);
        for (long i = 0; g->ta && i < depth; i++)
            s->a[r * depth + i] = LOAD(a[r + i * g->lda]);
    }
    return s->a;
}

/* Up to TOGETHER rows of A, a piece of k at a time. */
static void gemm_row_dots(struct oa_gemm_state *s, const struct oa_gemm *g, int heights, long n, const ACT *a,
                          const ACT *b, bool fetch)
{
    for (int r = 0; r < heights; r++)
        memset(s->c + r * BLOCK_N, 0, (size_t)n * sizeof *s->c);
    for (long p = 0; p < g->k; p += ROW_ROOM) {
        long depth = g->k - p < ROW_ROOM ? g->k - p : ROW_ROOM;
        long lda;
        const float *left = gemm_left(s, g, heights, depth, a + p * (g->ta ? g->lda : 1), &lda);
        gemm_rows_dots(heights, n, depth, left, lda, b + p, g->ldb, fetch, s->c);
    }
}

/* At `at` of C. */
static void gemm_row(struct oa_gemm_state *s, const struct oa_gemm *g, const ACT *a, const ACT *b, void *c, long at)
{
    for (long j = 0; j < g->n; j += ROW_COLS) {
        long n = g->n - j < ROW_COLS ? g->n - j : ROW_COLS;
        if (g->tb)
            gemm_row_dots(s, g, 1, n, a, b + j * g->ldb, true);
        else
            gemm_row_plain(n, g->k, a, g->ta ? g->lda : 1, b + j, g->ldb, s->c);
        gemm_finish(g, 1, n, s->c, c, at + j);
    }
}

/* Rows side by side, each with the bits that it has alone: a piece of B that was loaded multiplies several of them. */
static void gemm_apart(struct oa_gemm_state *s, const struct oa_gemm *g, const ACT *a, const ACT *b, void *c)
{
    long together = g->tb && g->m > 1 && g->k * TOGETHER <= ROW_ROOM ? g->m : 0;
    for (long j = 0; j < g->n && together; j += BLOCK_N)
        for (long i = 0; i < together; i += TOGETHER) {
            long n = g->n - j < BLOCK_N ? g->n - j : BLOCK_N;
            int heights = (int)(together - i < TOGETHER ? together - i : TOGETHER);
            gemm_row_dots(s, g, heights, n, a + i * (g->ta ? 1 : g->lda), b + j * g->ldb, i == 0);
            gemm_finish(g, heights, n, s->c, c, i * g->ldc + j);
        }
    for (long i = together; i < g->m; i++)
        gemm_row(s, g, a + i * (g->ta ? 1 : g->lda), b, c, i * g->ldc);
}
