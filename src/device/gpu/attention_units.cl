/* SPDX-License-Identifier: Apache-2.0
 * Softmax attention in bf16 on the matrix units of NVIDIA cards (sm_80 and later; CUDA only): the
 * online softmax of cpu_logits.c over tiles, products by mma.sync m16n8k16 (PTX ISA, Matrix
 * multiply-accumulate), without n×n memory (Dao 2023, arXiv 2307.08691). A key is seen by a row if
 * it is between the row's position − back and its position + ahead.
 *
 * A group has four warps, each 16 rows of a block of 64; tiles of the other side are copied to
 * shared memory while the last one is computed on. Gradients of keys and values go over blocks of
 * keys, those of queries over blocks of queries, so that no two groups add to one number. */

#ifdef ACT_BF16
typedef struct {
    long batch, queries, keys, heads, key_heads, first, back, ahead;
    double scale;
    long ldq, ldk, ldv, ldo;
    ulong q, k, v, o, d_o, lse, delta, dq, dk, dv, key_lengths, query_lengths;
} attention;

#define ROWS 64
#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f

/* ---- instructions ---- */

FUNCTION uint shared_address(const void *x)
{
    return (uint)__cvta_generic_to_shared(x);
}

/* c [16, 8] += a [16, 16] b [16, 8] */
FUNCTION void multiply_add(float c[4], const uint a[4], uint b0, uint b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Four matrices of 8 × 8, whose rows' addresses the 32 threads give. */
FUNCTION void load_matrices(uint r[4], const act *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

FUNCTION void load_transposed(uint r[4], const act *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

FUNCTION uint pair_of(float low, float high)
{
    uint r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

/* 16 bytes to shared memory, or zeros. */
FUNCTION void copy_16(act *to, const act *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(there ? 16 : 0));
}

#define COPIES_BEGUN asm volatile("cp.async.commit_group;")
#define COPIES_DONE(but) asm volatile("cp.async.wait_group %0;" ::"n"(but))

/* ---- tiles ---- rows of D numbers, D + 8 apart, so that eight rows are in different banks ---- */

template <int D, int N>
FUNCTION void copy_tile(act *tile, const act *x, long ld, long first, long end)
{
    for (int c = THREAD; c < N * D / 8; c += GROUP_SIZE) {
        int row = c / (D / 8), col = c % (D / 8) * 8;
        bool there = first + row < end;
        copy_16(tile + row * (D + 8) + col, x + (there ? first + row : 0) * ld + col, there);
    }
}

/* Rows of a warp as left operands: rows row and row + 8 of x, zeros from `end` on. */
template <int D> FUNCTION void load_rows(uint a[D / 16][4], const act *x, long ld, long row, long end)
{
    int t = THREAD % 4 * 2;
    for (int s = 0; s < D / 16; s++)
        for (int e = 0; e < 4; e++) {
            long i = row + (e % 2) * 8;
            a[s][e] = i < end ? *(const uint *)(x + i * ld + s * 16 + e / 2 * 8 + t) : 0;
        }
}

/* c [16, N] = a [16, D] tileᵀ, tile [N, D] */
template <int D, int N>
FUNCTION void pair_product(float c[N / 8][4], const uint a[D / 16][4], const act *tile)
{
    int lane = THREAD % 32, matrix = lane / 8;
    const act *row = tile + (matrix / 2 * 8 + lane % 8) * (D + 8) + matrix % 2 * 8;
    for (int n = 0; n < N / 8; n++)
        for (int e = 0; e < 4; e++)
            c[n][e] = 0;
#pragma unroll
    for (int s = 0; s < D / 16; s++)
#pragma unroll
        for (int n = 0; n < N / 16; n++) {
            uint b[4];
            load_matrices(b, row + n * 16 * (D + 8) + s * 16);
            multiply_add(c[2 * n], a[s], b[0], b[1]);
            multiply_add(c[2 * n + 1], a[s], b[2], b[3]);
        }
}

/* c [16, D] += p [16, N] tile, tile [N, D]; p as products leave it, rounded. */
template <int D, int N>
FUNCTION void weighted_sum(float c[D / 8][4], const float p[N / 8][4], const act *tile)
{
    int lane = THREAD % 32, matrix = lane / 8;
    const act *row = tile + (matrix % 2 * 8 + lane % 8) * (D + 8) + matrix / 2 * 8;
#pragma unroll
    for (int s = 0; s < N / 16; s++) {
        uint a[4] = { pair_of(p[2 * s][0], p[2 * s][1]), pair_of(p[2 * s][2], p[2 * s][3]),
                      pair_of(p[2 * s + 1][0], p[2 * s + 1][1]),
                      pair_of(p[2 * s + 1][2], p[2 * s + 1][3]) };
#pragma unroll
        for (int n = 0; n < D / 16; n++) {
            uint b[4];
            load_transposed(b, row + s * 16 * (D + 8) + n * 16);
            multiply_add(c[2 * n], a, b[0], b[1]);
            multiply_add(c[2 * n + 1], a, b[2], b[3]);
        }
    }
}

/* Rows row and row + 8 of y, as pairs. */
template <int D>
FUNCTION void store_rows(act *y, long ld, long row, long end, long real, const float c[D / 8][4],
                         float factor0, float factor8)
{
    int t = THREAD % 4 * 2;
    for (int n = 0; n < D / 8; n++)
        for (int half = 0; half < 2; half++) {
            long i = row + half * 8;
            float f = half ? factor8 : factor0;
            if (i < end)
                *(uint *)(y + i * ld + n * 8 + t) =
                    i < real ? pair_of(c[n][2 * half] * f, c[n][2 * half + 1] * f) : 0;
        }
}

/* ---- what is at work ---- */

typedef struct {
    const act *q, *k, *v; /* of the head, row 0 */
    long b, h, n;         /* batch item, query head, head of keys */
    long queries, keys;   /* that are real */
} head;

FUNCTION head head_of(attention a, long b, long h)
{
    head x;
    x.b = b;
    x.h = h;
    x.n = h * a.key_heads / a.heads;
    x.queries = real_length(AT(const int, a.query_lengths), b, a.queries);
    x.keys = real_length(AT(const int, a.key_lengths), b, a.keys);
    return x;
}

/* Keys that any of the rows i0 … i0 + ROWS − 1 sees: low is a multiple of `step`. */
FUNCTION long first_key(attention a, long i0, long step)
{
    return most(0, i0 + a.first - a.back) / step * step;
}

FUNCTION long end_key(attention a, head x, long i0)
{
    return least(x.keys, least(i0 + ROWS, x.queries) + a.first + a.ahead);
}

FUNCTION bool all_seen(attention a, head x, long i0, long rows, long j0, long cols)
{
    return i0 + rows <= x.queries && j0 + cols <= x.keys && j0 + cols - 1 <= i0 + a.first + a.ahead &&
           j0 >= i0 + rows - 1 + a.first - a.back;
}

FUNCTION bool is_seen(attention a, head x, long i, long j)
{
    return i < x.queries && j < x.keys && j <= i + a.first + a.ahead && j >= i + a.first - a.back;
}

FUNCTION float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

FUNCTION float quad_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* ---- forward ---- */

template <int D, int N> FUNCTION void forward(attention a, act *tiles)
{
    const int TILE = N * (D + 8);
    long i0 = (GROUPS(0) - 1 - GROUP(0)) * ROWS; /* the longest rows of causal attention first */
    head x = head_of(a, GROUP(1) / a.heads, GROUP(1) % a.heads);
    long row = i0 + THREAD / 32 * 16 + THREAD % 32 / 4;
    const act *q = AT(const act, a.q) + x.b * a.queries * a.ldq + x.h * D;
    const act *k = AT(const act, a.k) + x.b * a.keys * a.ldk + x.n * D;
    const act *v = AT(const act, a.v) + x.b * a.keys * a.ldv + x.n * D;
    float scale = (float)(a.scale * 1.4426950408889634), top[2] = { -INFINITY, -INFINITY },
          sum[2] = { 0, 0 }, o[D / 8][4], s[N / 8][4];
    uint left[D / 16][4];
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++)
            o[n][e] = 0;
    load_rows<D>(left, q, a.ldq, row, x.queries);
    long low = first_key(a, i0, N), end = i0 < x.queries ? end_key(a, x, i0) : 0;
    int buffer = 0;
    if (low < end) {
        copy_tile<D, N>(tiles, k, a.ldk, low, x.keys);
        copy_tile<D, N>(tiles + 2 * TILE, v, a.ldv, low, x.keys);
    }
    COPIES_BEGUN;
    for (long j0 = low; j0 < end; j0 += N, buffer ^= 1) {
        if (j0 + N < end) {
            copy_tile<D, N>(tiles + (buffer ^ 1) * TILE, k, a.ldk, j0 + N, x.keys);
            copy_tile<D, N>(tiles + (2 + (buffer ^ 1)) * TILE, v, a.ldv, j0 + N, x.keys);
        }
        COPIES_BEGUN;
        COPIES_DONE(1);
        BARRIER;
        pair_product<D, N>(s, left, tiles + buffer * TILE);
        if (!all_seen(a, x, i0, ROWS, j0, N))
            for (int n = 0; n < N / 8; n++)
                for (int e = 0; e < 4; e++)
                    if (!is_seen(a, x, row + e / 2 * 8, j0 + n * 8 + THREAD % 4 * 2 + e % 2))
                        s[n][e] = -INFINITY;
        for (int half = 0; half < 2; half++) {
            float most_now = top[half], part = 0;
            for (int n = 0; n < N / 8; n++)
                most_now = fmaxf(most_now, scale * fmaxf(s[n][2 * half], s[n][2 * half + 1]));
            most_now = quad_max(most_now);
            float base = most_now == -INFINITY ? 0 : most_now, rescale = exp2f(top[half] - base);
            top[half] = most_now;
            for (int n = 0; n < N / 8; n++)
                for (int e = 2 * half; e < 2 * half + 2; e++) {
                    s[n][e] = exp2f(s[n][e] * scale - base);
                    part += s[n][e];
                }
            sum[half] = sum[half] * rescale + part;
            for (int n = 0; n < D / 8; n++) {
                o[n][2 * half] *= rescale;
                o[n][2 * half + 1] *= rescale;
            }
        }
        weighted_sum<D, N>(o, s, tiles + (2 + buffer) * TILE);
        BARRIER;
    }
    for (int half = 0; half < 2; half++)
        sum[half] = quad_sum(sum[half]);
    store_rows<D>(AT(act, a.o) + x.b * a.queries * a.ldo + x.h * D, a.ldo, row, a.queries, x.queries,
                  o, sum[0] > 0 ? 1 / sum[0] : 0, sum[1] > 0 ? 1 / sum[1] : 0);
    for (int half = 0; half < 2; half++)
        if (THREAD % 4 == 0 && row + half * 8 < a.queries)
            AT(float, a.lse)[(x.b * a.heads + x.h) * a.queries + row + half * 8] =
                sum[half] > 0 ? (top[half] + log2f(sum[half])) * LN_2 : -INFINITY;
}

/* ---- gradients ---- with δ_i = Σ_c dO_ic O_ic: dS = P (dP − δ) ---- */

/* A warp has a row. */
KERNEL void attention_deltas(attention a, long width)
{
    long at = GROUP(0) * 4 + THREAD / 32, i = at % a.queries, h = at / a.queries % a.heads,
         b = at / a.queries / a.heads;
    float sum = 0;
    if (b >= a.batch)
        return;
    const act *o = AT(const act, a.o) + (b * a.queries + i) * a.ldo + h * width;
    const act *d_o = AT(const act, a.d_o) + (b * a.queries + i) * a.ldo + h * width;
    if (i < real_length(AT(const int, a.query_lengths), b, a.queries))
        for (int c = THREAD % 32; c < width; c += 32)
            sum += load(o, c) * load(d_o, c);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (THREAD % 32 == 0)
        AT(float, a.delta)[at] = sum;
}

template <int D, int N> FUNCTION void gradient_of_queries(attention a, act *tiles)
{
    const int TILE = N * (D + 8);
    long i0 = (GROUPS(0) - 1 - GROUP(0)) * ROWS;
    head x = head_of(a, GROUP(1) / a.heads, GROUP(1) % a.heads);
    long row = i0 + THREAD / 32 * 16 + THREAD % 32 / 4;
    long numbers = (x.b * a.heads + x.h) * a.queries;
    const act *k = AT(const act, a.k) + x.b * a.keys * a.ldk + x.n * D;
    const act *v = AT(const act, a.v) + x.b * a.keys * a.ldv + x.n * D;
    float scale = (float)(a.scale * 1.4426950408889634), dq[D / 8][4], s[N / 8][4], dp[N / 8][4];
    float lse[2], delta[2];
    uint left[D / 16][4], right[D / 16][4];
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++)
            dq[n][e] = 0;
    for (int half = 0; half < 2; half++) {
        bool real_row = row + half * 8 < x.queries;
        float l = real_row ? AT(const float, a.lse)[numbers + row + half * 8] : -INFINITY;
        lse[half] = l == -INFINITY ? INFINITY : l * LOG2_E; /* weights of a row without keys: 0 */
        delta[half] = real_row ? AT(const float, a.delta)[numbers + row + half * 8] : 0;
    }
    load_rows<D>(left, AT(const act, a.q) + x.b * a.queries * a.ldq + x.h * D, a.ldq, row,
                 x.queries);
    load_rows<D>(right, AT(const act, a.d_o) + x.b * a.queries * a.ldo + x.h * D, a.ldo, row,
                 x.queries);
    long low = first_key(a, i0, N), end = i0 < x.queries ? end_key(a, x, i0) : 0;
    int buffer = 0;
    if (low < end) {
        copy_tile<D, N>(tiles, k, a.ldk, low, x.keys);
        copy_tile<D, N>(tiles + 2 * TILE, v, a.ldv, low, x.keys);
    }
    COPIES_BEGUN;
    for (long j0 = low; j0 < end; j0 += N, buffer ^= 1) {
        if (j0 + N < end) {
            copy_tile<D, N>(tiles + (buffer ^ 1) * TILE, k, a.ldk, j0 + N, x.keys);
            copy_tile<D, N>(tiles + (2 + (buffer ^ 1)) * TILE, v, a.ldv, j0 + N, x.keys);
        }
        COPIES_BEGUN;
        COPIES_DONE(1);
        BARRIER;
        pair_product<D, N>(s, left, tiles + buffer * TILE);
        pair_product<D, N>(dp, right, tiles + (2 + buffer) * TILE);
        bool whole = all_seen(a, x, i0, ROWS, j0, N);
        for (int n = 0; n < N / 8; n++)
            for (int e = 0; e < 4; e++) {
                bool seen = whole || is_seen(a, x, row + e / 2 * 8,
                                             j0 + n * 8 + THREAD % 4 * 2 + e % 2);
                float p = seen ? exp2f(s[n][e] * scale - lse[e / 2]) : 0;
                s[n][e] = p == 0 ? 0 : p * (dp[n][e] - delta[e / 2]);
            }
        weighted_sum<D, N>(dq, s, tiles + buffer * TILE);
        BARRIER;
    }
    store_rows<D>(AT(act, a.dq) + x.b * a.queries * a.ldq + x.h * D, a.ldq, row, a.queries,
                  x.queries, dq, (float)a.scale, (float)a.scale);
}

/* Rows are keys here, and columns of a tile queries: Sᵀ = K Qᵀ. Of all query heads that share the
 * keys. */
template <int D, int N> FUNCTION void gradient_of_keys(attention a, act *tiles)
{
    SHARED float lse[2][N], delta[2][N];
    const int TILE = N * (D + 8);
    long j0 = GROUP(0) * ROWS, b = GROUP(1) / a.key_heads, key_head = GROUP(1) % a.key_heads;
    long row = j0 + THREAD / 32 * 16 + THREAD % 32 / 4, each = a.heads / a.key_heads;
    head x = head_of(a, b, key_head * each);
    const act *k = AT(const act, a.k) + b * a.keys * a.ldk + key_head * D;
    const act *v = AT(const act, a.v) + b * a.keys * a.ldv + key_head * D;
    float scale = (float)(a.scale * 1.4426950408889634), dk[D / 8][4], dv[D / 8][4], s[N / 8][4],
          dp[N / 8][4];
    uint left[D / 16][4], right[D / 16][4];
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++)
            dk[n][e] = dv[n][e] = 0;
    load_rows<D>(left, k, a.ldk, row, x.keys);
    load_rows<D>(right, v, a.ldv, row, x.keys);
    long low = most(0, j0 - a.first - a.ahead) / N * N,
         end = j0 < x.keys ? least(x.queries, j0 + ROWS + a.back - a.first) : 0;
    for (long h = x.h; h < x.h + each; h++) {
        const act *q = AT(const act, a.q) + b * a.queries * a.ldq + h * D;
        const act *d_o = AT(const act, a.d_o) + b * a.queries * a.ldo + h * D;
        long numbers = (b * a.heads + h) * a.queries;
        int buffer = 0;
        if (low < end) {
            copy_tile<D, N>(tiles, q, a.ldq, low, x.queries);
            copy_tile<D, N>(tiles + 2 * TILE, d_o, a.ldo, low, x.queries);
        }
        COPIES_BEGUN;
        for (long i0 = low; i0 < end; i0 += N, buffer ^= 1) {
            if (THREAD < N) {
                bool real_row = i0 + THREAD < x.queries;
                float l = real_row ? AT(const float, a.lse)[numbers + i0 + THREAD] : -INFINITY;
                lse[buffer][THREAD] = l == -INFINITY ? INFINITY : l * LOG2_E;
                delta[buffer][THREAD] =
                    real_row ? AT(const float, a.delta)[numbers + i0 + THREAD] : 0;
            }
            if (i0 + N < end) {
                copy_tile<D, N>(tiles + (buffer ^ 1) * TILE, q, a.ldq, i0 + N, x.queries);
                copy_tile<D, N>(tiles + (2 + (buffer ^ 1)) * TILE, d_o, a.ldo, i0 + N, x.queries);
            }
            COPIES_BEGUN;
            COPIES_DONE(1);
            BARRIER;
            pair_product<D, N>(s, left, tiles + buffer * TILE);
            pair_product<D, N>(dp, right, tiles + (2 + buffer) * TILE);
            bool whole = i0 + N <= x.queries && j0 + ROWS <= x.keys &&
                         j0 + ROWS - 1 <= i0 + a.first + a.ahead && j0 >= i0 + N - 1 + a.first - a.back;
            for (int n = 0; n < N / 8; n++)
                for (int e = 0; e < 4; e++) {
                    int col = n * 8 + THREAD % 4 * 2 + e % 2;
                    bool seen = whole || is_seen(a, x, i0 + col, row + e / 2 * 8);
                    float p = seen ? exp2f(s[n][e] * scale - lse[buffer][col]) : 0;
                    s[n][e] = p;
                    dp[n][e] = p == 0 ? 0 : p * (dp[n][e] - delta[buffer][col]);
                }
            weighted_sum<D, N>(dv, s, tiles + (2 + buffer) * TILE);
            weighted_sum<D, N>(dk, dp, tiles + buffer * TILE);
            BARRIER;
        }
        COPIES_DONE(0);
        BARRIER;
    }
    store_rows<D>(AT(act, a.dk) + b * a.keys * a.ldk + key_head * D, a.ldk, row, a.keys, x.keys, dk,
                  (float)a.scale, (float)a.scale);
    store_rows<D>(AT(act, a.dv) + b * a.keys * a.ldv + key_head * D, a.ldv, row, a.keys, x.keys, dv,
                  1, 1);
}

/* ---- for widths of heads; tiles of so many rows ---- */

#define WIDTH(D, N)                                                                                \
    KERNEL void attention_forward_##D(attention a)                                                 \
    {                                                                                              \
        __shared__ __align__(16) act tiles[4 * N * (D + 8)];                                       \
        forward<D, N>(a, tiles);                                                                   \
    }                                                                                              \
    KERNEL void attention_queries_##D(attention a)                                                 \
    {                                                                                              \
        __shared__ __align__(16) act tiles[4 * N * (D + 8)];                                       \
        gradient_of_queries<D, N>(a, tiles);                                                       \
    }                                                                                              \
    KERNEL void attention_keys_##D(attention a)                                                    \
    {                                                                                              \
        __shared__ __align__(16) act tiles[4 * N * (D + 8)];                                       \
        gradient_of_keys<D, N>(a, tiles);                                                          \
    }

WIDTH(32, 64)
WIDTH(64, 64)
WIDTH(128, 32)
#endif
