/* SPDX-License-Identifier: Apache-2.0
 * A single row times a matrix, as in decoding: B is read once, in memory order, at the bandwidth of
 * memory. Packing it would cost more than the product, and for oneDNN every length of a growing
 * cache is a new shape. The same for a few rows with batch invariance (oa_gemm.invariant_rows):
 * the first of them load a block of B into a cache, and the others read it there. Many rows compute
 * for longer than a block takes to load: meanwhile the next block is prefetched. How memory is read
 * does not change the bits. */

/* Where transposed B is, which decides the order of its rows. */
enum source {
    CACHE,  /* four rows at a time: a number of A that is loaded is used for all of them */
    ASKED,  /* memory: four rows at a time, each with software prefetches */
    ORDERED /* memory: row by row, for processors whose hardware prefetcher runs far ahead
               (oa_cpu.prefetches_early) */
};

enum {
    ROW_COLS = BLOCK_M * BLOCK_N, /* sums that the state holds */
    ROW_ROOM = BLOCK_M * BLOCK_K, /* numbers of A that it holds */
    TOGETHER = TILE_M / 2,        /* rows of A that a product of several has in registers */
    DOTS = 4,                     /* rows of transposed B, likewise */
    FIRST = 2,   /* most rows of A for ORDERED: with more, products take longer than memory */
    MANY = 3,    /* least rows of A for prefetching the next block */
    AHEAD = 8192 /* prefetch distance in bytes of B */
};

/* sums[j] += Σ x[i]·b[i][j] over a few rows of B. */
INLINE void gemm_row_lanes(long at, long lanes, int rows, const v_float *x, const ACT *b, long ldb,
                           float *sums)
{
    v_float sum = v_load(sums + at, lanes);
    for (int i = 0; i < rows; i++)
        sum = v_fma(x[i], act_load(b + i * ldb + at, lanes), sum);
    v_store(sums + at, sum, lanes);
}

static void gemm_row_plain(long n, long k, const ACT *a, long step, const ACT *b, long ldb,
                           float *sums)
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

/* Dot products of rows of A and rows of transposed B. */
#ifdef act_pairs /* as they are: an instruction multiplies neighbours with neighbours and adds     \
                    both products */
typedef ACT dot_left;
typedef v_pairs dot_lanes;
enum { DOT_W = 2 * W };
#define DOT_LEFT(a) (a)
#define dot_load_left v_load_pairs
#define dot_load v_load_pairs
#define dot_add v_fma_pairs
#else /* as floats */
typedef float dot_left;
typedef v_float dot_lanes;
enum { DOT_W = W };
#define DOT_LEFT(a) LOAD(a)
#define dot_load_left v_load
#define dot_load act_load
#define dot_add v_fma
#endif

enum {
    LINE = 64,
    LINES = DOTS * DOT_W * (int)sizeof(ACT) / LINE
}; /* of B that a step along k reads */

INLINE void fetch_lines(const char *next, long lines)
{
    for (long i = 0; i < lines; i++)
        __builtin_prefetch(next + i * LINE, 0, 2);
}

/* sum[r][i] += Σ a_r[p]·b[i][p], lane by lane, over a few rows of A and of transposed B. */
INLINE void gemm_dot_lanes(long at, long lanes, int heights, int rows, const dot_left *a, long lda,
                           const ACT *b, long ldb, bool ask, v_float (*sum)[DOTS])
{
    dot_lanes right[DOTS];
    for (int i = 0; i < rows; i++) {
        const ACT *next = b + i * ldb + at;
        if (ask)
            __builtin_prefetch((const char *)next + AHEAD);
        right[i] = dot_load(next, lanes);
    }
    for (int r = 0; r < heights; r++) {
        dot_lanes left = dot_load_left(a + r * lda + at, lanes);
        for (int i = 0; i < rows; i++)
            sum[r][i] = dot_add(left, right[i], sum[r][i]);
    }
}

/* sum [heights, rows], lane by lane. Each step prefetches `lines` lines from `next` on. */
INLINE void gemm_dots_along(int heights, int rows, long k, const dot_left *a, long lda,
                            const ACT *b, long ldb, bool ask, const char *next, long lines,
                            v_float (*sum)[DOTS])
{
    for (int r = 0; r < heights; r++)
        for (int i = 0; i < rows; i++)
            sum[r][i] = v_set(0);
    long at = 0;
    for (; at + DOT_W <= k; at += DOT_W, next += lines * LINE) {
        fetch_lines(next, lines);
        gemm_dot_lanes(at, DOT_W, heights, rows, a, lda, b, ldb, ask, sum);
    }
    if (at < k)
        gemm_dot_lanes(at, k - at, heights, rows, a, lda, b, ldb, false, sum);
}

INLINE void gemm_dots_in_order(int heights, int rows, long k, const dot_left *a, long lda,
                               const ACT *b, long ldb, v_float (*sum)[DOTS])
{
    for (int i = 0; i < rows; i++) {
        v_float one[TOGETHER][DOTS];
        gemm_dots_along(heights, 1, k, a, lda, b + i * ldb, ldb, false, (const char *)b, 0, one);
        for (int r = 0; r < heights; r++)
            sum[r][i] = one[r][0];
    }
}

INLINE void gemm_dots(int heights, int rows, long k, const dot_left *a, long lda, const ACT *b,
                      long ldb, enum source from, const char *next, long lines, float *sums)
{
    v_float sum[TOGETHER][DOTS];
    if (from == ORDERED)
        gemm_dots_in_order(heights, rows, k, a, lda, b, ldb, sum);
    else
        gemm_dots_along(heights, rows, k, a, lda, b, ldb, from == ASKED, next, lines, sum);
    for (int r = 0; r < heights; r++)
        if (rows == DOTS)
            v_add_four_sums(sum[r], sums + r * BLOCK_N);
        else
            sums[r * BLOCK_N] += v_sum(sum[r][0]);
}

/* sums [heights, n] += A [heights, k] Bᵀ */
INLINE void gemm_rows_transposed(struct oa_gemm_state *s, int heights, long n, long k,
                                 const dot_left *a, long lda, const ACT *b, long ldb,
                                 enum source from)
{
    float *sums = s->c;
    long j = 0, lines = from == CACHE ? s->lines : 0, step = k / DOT_W * lines * LINE;
    const char *next = lines ? s->next : (const char *)b;
    for (; j + DOTS <= n; j += DOTS, next += step)
        gemm_dots(heights, DOTS, k, a, lda, b + j * ldb, ldb, from, next, lines, sums + j);
    for (; j < n; j++)
        gemm_dots(heights, 1, k, a, lda, b + j * ldb, ldb, CACHE, next, 0, sums + j);
    s->next = next;
}

/* The same with a number of rows and a source as constants. */
static void gemm_rows_dots(struct oa_gemm_state *s, int heights, long n, long k, const dot_left *a,
                           long lda, const ACT *b, long ldb, enum source from)
{
#define ROWS(source, most, h)                                                                      \
    case (source)*8 + (h):                                                                         \
        gemm_rows_transposed(s, h <= most ? h : 1, n, k, a, lda, b, ldb, source);                  \
        break;
    switch ((int)from * 8 + heights) {
        ROWS(CACHE, TOGETHER, 1)
        ROWS(CACHE, TOGETHER, 2)
        ROWS(CACHE, TOGETHER, 3)
        ROWS(CACHE, TOGETHER, 4)
        ROWS(CACHE, TOGETHER, 5)
        ROWS(CACHE, TOGETHER, 6)
        ROWS(ASKED, TOGETHER, 1)
        ROWS(ASKED, TOGETHER, 2)
        ROWS(ASKED, TOGETHER, 3)
        ROWS(ASKED, TOGETHER, 4)
        ROWS(ASKED, TOGETHER, 5)
        ROWS(ASKED, TOGETHER, 6)
        ROWS(ORDERED, FIRST, 1)
        ROWS(ORDERED, FIRST, 2)
    }
#undef ROWS
}

/* Parts of rows of A: in place, or copied to the room for packed A. */
static const dot_left *gemm_left(struct oa_gemm_state *s, const struct oa_gemm *g, int heights,
                                 long depth, const ACT *a, long *lda)
{
    dot_left *room = (dot_left *)(void *)s->a;
    *lda = depth;
    if (sizeof(ACT) == sizeof(dot_left) && !g->ta) {
        *lda = g->lda;
        return (const dot_left *)(const void *)a;
    }
    for (int r = 0; r < heights; r++) {
        if (!g->ta)
            gemm_copy(depth, a + r * g->lda, s->a + r * depth);
        for (long i = 0; g->ta && i < depth; i++)
            room[r * depth + i] = DOT_LEFT(a[r + i * g->lda]);
    }
    return room;
}

/* Up to TOGETHER rows of A, a part of k at a time. */
static void gemm_row_dots(struct oa_gemm_state *s, const struct oa_gemm *g, int heights, long n,
                          const ACT *a, const ACT *b, enum source from)
{
    for (int r = 0; r < heights; r++)
        memset(s->c + r * BLOCK_N, 0, (size_t)n * sizeof *s->c);
    for (long p = 0; p < g->k; p += ROW_ROOM) {
        long depth = g->k - p < ROW_ROOM ? g->k - p : ROW_ROOM;
        long lda;
        const dot_left *left = gemm_left(s, g, heights, depth, a + p * (g->ta ? g->lda : 1), &lda);
        gemm_rows_dots(s, heights, n, depth, left, lda, b + p, g->ldb, from);
    }
}

static enum source from_memory(const struct oa_gemm_state *s)
{
    return s->prefetches_early ? ORDERED : ASKED;
}

/* At `at` of C. */
static void gemm_row(struct oa_gemm_state *s, const struct oa_gemm *g, const ACT *a, const ACT *b,
                     void *c, long at)
{
    for (long j = 0; j < g->n; j += ROW_COLS) {
        long n = g->n - j < ROW_COLS ? g->n - j : ROW_COLS;
        if (g->tb)
            gemm_row_dots(s, g, 1, n, a, b + j * g->ldb, from_memory(s));
        else
            gemm_row_plain(n, g->k, a, g->ta ? g->lda : 1, b + j, g->ldb, s->c);
        gemm_finish(g, 1, n, s->c, c, at + j);
    }
}

static long least_of(long a, long b)
{
    return a < b ? a : b;
}

/* Rows of A for a block of columns: `first` of them load it from memory, then groups read it in a
 * cache. */
struct groups {
    long first, count;
    long fetching; /* number of groups that prefetch the next block */
};

static struct groups groups_of(const struct oa_gemm_state *s, const struct oa_gemm *g, const ACT *b)
{
    bool there = s->fetched <= (const char *)b && (const char *)b < s->fetched_end;
    bool many = s->prefetches_early && g->m >= MANY && g->ldb == g->k;
    long most = from_memory(s) == ORDERED ? FIRST : TOGETHER;
    struct groups x = { .first = many && there ? 0 : least_of(g->m, most) };
    x.count = (g->m - x.first + TOGETHER - 1) / TOGETHER;
    x.fetching = many ? least_of(x.count, 2) : 0;
    return x;
}

/* All rows with n columns of C, from column j on. */
static void gemm_rows_block(struct oa_gemm_state *s, const struct oa_gemm *g, long n, const ACT *a,
                            const ACT *b, void *c, long j)
{
    const struct groups x = groups_of(s, g, b);
    const long across = g->ta ? 1 : g->lda;
    if (x.first) {
        gemm_row_dots(s, g, (int)x.first, n, a, b, from_memory(s));
        gemm_finish(g, x.first, n, s->c, c, j);
    }
    s->next = (const char *)(b + n * g->ldb);
    if (x.fetching) {
        s->fetched = s->next;
        s->fetched_end = s->next + (size_t)(n * g->ldb) * sizeof *b;
    }
    for (long i = x.first, group = 0; group < x.count; group++) {
        long heights = (g->m - i + x.count - group - 1) / (x.count - group);
        s->lines = group < x.fetching ? (LINES + x.fetching - 1) / x.fetching : 0;
        gemm_row_dots(s, g, (int)heights, n, a + i * across, b, CACHE);
        gemm_finish(g, heights, n, s->c, c, i * g->ldc + j);
        i += heights;
    }
    s->lines = 0;
}

/* Several rows, each with the bits that it has alone: a part of B that was loaded is used for
 * several of them. */
static void gemm_rows(struct oa_gemm_state *s, const struct oa_gemm *g, const ACT *a, const ACT *b,
                      void *c)
{
    bool together = g->tb && g->m > 1 && g->k * TOGETHER <= ROW_ROOM;
    for (long j = 0; j < g->n && together; j += BLOCK_N)
        gemm_rows_block(s, g, least_of(g->n - j, BLOCK_N), a, b + j * g->ldb, c, j);
    for (long i = 0; i < g->m && !together; i++)
        gemm_row(s, g, a + i * (g->ta ? 1 : g->lda), b, c, i * g->ldc);
}
