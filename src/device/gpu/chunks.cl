/* SPDX-License-Identifier: Apache-2.0
 * Products of matrices that each (b,h) has for each chunk of CHUNK tokens: of linear attention and
 * state updates. */
enum { CHUNK = 64, TILE = 64, STEP = 16, ROWS = 8, COLS = 4 };

/* The forms of oa_chunk_matrix, in their order. */
enum { REALS, ACTS, SQUARED };

typedef struct {
    ulong x;
    long form, turned, ld, batch, head, sharing, pair, chunk;
    ulong lengths;
    long rows;
    ulong factor;
} chunk_matrix;

typedef struct {
    long heads, chunks, first, m, n, k, own_k, mask, ordered, accumulate;
    double scale;
    chunk_matrix a, b, own_a, own_b, c;
    ulong outer_row, outer_column, factor, last_factor, row_exponent, column_exponent;
    ulong pairs, coefficients;
} chunk_product;

/* ---- places ---- */

typedef struct {
    long item, pair, b, h, chunk;
} chunk_place;

FUNCTION chunk_place place_of(chunk_product s, long item)
{
    chunk_place p;
    p.item = item;
    p.pair = item / s.chunks;
    p.chunk = item % s.chunks;
    p.b = (s.first + p.pair) / s.heads;
    p.h = (s.first + p.pair) % s.heads;
    return p;
}

/* Where the matrix begins. */
FUNCTION long origin_of(chunk_matrix m, chunk_place p)
{
    return p.b * m.batch + p.h / m.sharing * m.head + p.pair * m.pair + p.chunk * m.chunk;
}

/* Rows that are there, of a chunk; … that are not padding. */
FUNCTION long rows_there(chunk_matrix m, chunk_place p)
{
    return m.rows ? m.rows - p.chunk * CHUNK : 1L << 40;
}

FUNCTION long rows_real(chunk_matrix m, chunk_place p)
{
    return m.rows ? real_length(AT(const int, m.lengths), p.b, m.rows) - p.chunk * CHUNK : 1L << 40;
}

/* Feature f of the row x [i …] (kernels.h: quadratic). */
FUNCTION real squared_feature(chunk_product s, GLOBAL const act *x, long i, long f)
{
    int one = AT(const int, s.pairs)[2 * f], other = AT(const int, s.pairs)[2 * f + 1];
    real y = AT(const real, s.coefficients)[f];
    y = one < 0 ? y : y * load(x, i + one);
    return rounded(other < 0 ? y : y * load(x, i + other));
}

/* Of the matrix that begins at `origin`. */
FUNCTION real element_of(chunk_product s, chunk_matrix m, chunk_place p, long origin, long row,
                         long col)
{
    long at = origin + row * m.ld;
    real x = m.form == REALS  ? AT(const real, m.x)[at + col]
             : m.form == ACTS ? load(AT(const act, m.x), at + col)
                              : squared_feature(s, AT(const act, m.x), at, col);
    return m.factor ? x * AT(const real, m.factor)[p.item * CHUNK + row] : x;
}

/* ---- products ---- */

/* Column k of a, or row k of b, from k0 on: to [STEP][TILE + 1]. `rows`: k is a row in memory. */
FUNCTION void load_tile(chunk_product s, chunk_matrix m, chunk_place p, bool rows, long k0, long k1,
                        long j0, long j1, LOCAL real *to)
{
    long real_rows = rows_real(m, p), origin = origin_of(m, p);
    for (int e = THREAD; e < TILE * STEP; e += GROUP_SIZE) {
        int j = rows ? e % TILE : e / STEP, k = rows ? e / TILE : e % STEP;
        long row = rows ? k0 + k : j0 + j, col = rows ? j0 + j : k0 + k;
        to[k * (TILE + 1) + j] = k0 + k < k1 && j0 + j < j1 && row < real_rows
                                     ? element_of(s, m, p, origin, row, col)
                                     : 0;
    }
}

/* sum += a b. With `ordered` row i ends at its own k: what comes later may be infinite. */
FUNCTION void add_product(chunk_product s, chunk_matrix a, chunk_matrix b, chunk_place p, long i0,
                          long j0, long k1, bool ordered, LOCAL real *left, LOCAL real *right,
                          real sum[ROWS][COLS])
{
    int row = THREAD / 16, col = THREAD % 16; /* of 8 × 16 threads */
    for (long k0 = 0; k0 < k1; k0 += STEP) {
        load_tile(s, a, p, a.turned, k0, k1, i0, s.m, left);
        load_tile(s, b, p, !b.turned, k0, k1, j0, s.n, right);
        BARRIER;
        for (int k = 0; k < STEP; k++) {
            real x[ROWS], y[COLS];
            for (int r = 0; r < ROWS; r++)
                x[r] = left[k * (TILE + 1) + row + 8 * r];
            for (int q = 0; q < COLS; q++)
                y[q] = right[k * (TILE + 1) + col + 16 * q];
            if (!ordered || k0 + k <= i0 + row) {
                for (int r = 0; r < ROWS; r++)
                    for (int q = 0; q < COLS; q++)
                        sum[r][q] += x[r] * y[q];
                continue;
            }
            for (int r = 0; r < ROWS; r++)
                for (int q = 0; q < COLS; q++)
                    sum[r][q] += k0 + k <= i0 + row + 8 * r ? x[r] * y[q] : 0;
        }
        BARRIER;
    }
}

/* Element (i, j) of a vector of numbers of each chunk's rows, or 1. */
FUNCTION real row_number(ulong x, chunk_place p, long i)
{
    return x ? AT(const real, x)[p.item * CHUNK + i] : 1;
}

/* Of the outer product that is added: numbers of the rows and of columns, where one is missing 1.
 */
FUNCTION real outer_element(chunk_product s, chunk_place p, long i, long j)
{
    if (!s.outer_row && !s.outer_column)
        return 0;
    return row_number(s.outer_row, p, i) *
           (s.outer_column ? AT(const real, s.outer_column)[origin_of(s.b, p) + j] : 1);
}

/* 0: none; 1: j ≤ i; 2: j < i */
FUNCTION bool is_masked(chunk_product s, long i, long j)
{
    return s.mask && (s.mask == 1 ? j > i : j >= i);
}

FUNCTION void store_element(chunk_product s, chunk_place p, long i, long j, real x)
{
    long at = origin_of(s.c, p) + i * s.c.ld + j;
    if (i >= rows_there(s.c, p))
        return;
    if (i >= rows_real(s.c, p) || is_masked(s, i, j))
        x = 0;
    else {
        if (s.column_exponent)
            x *= exp(row_number(s.column_exponent, p, j) - row_number(s.row_exponent, p, i));
        x *= row_number(s.last_factor, p, i);
    }
    if (s.c.form == REALS)
        AT(real, s.c.x)[at] = x + (s.accumulate ? AT(const real, s.c.x)[at] : (real)0);
    else
        store(AT(act, s.c.x), at, x);
}

/* A group makes a tile of C = last_i e^{column_j − row_i} (factor_i scale (A B + x_i y_j) + A' B')
 * of a chunk, where the mask lets it. */
KERNEL void chunk_products(chunk_product s)
{
    SHARED real left[STEP * (TILE + 1)], right[STEP * (TILE + 1)];
    long across = (s.n + TILE - 1) / TILE, tiles = (s.m + TILE - 1) / TILE * across;
    chunk_place p = place_of(s, GROUP(0) / tiles);
    long i0 = GROUP(0) % tiles / across * TILE, j0 = GROUP(0) % across * TILE;
    int row = THREAD / 16, col = THREAD % 16;
    real sum[ROWS][COLS];
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < COLS; q++)
            sum[r][q] = 0;
    add_product(s, s.a, s.b, p, i0, j0, s.k, false, left, right, sum);
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < COLS; q++) {
            long i = i0 + row + 8 * r, j = j0 + col + 16 * q;
            if (i < s.m && j < s.n)
                sum[r][q] = (real)s.scale * row_number(s.factor, p, i) *
                            (sum[r][q] + outer_element(s, p, i, j));
        }
    add_product(s, s.own_a, s.own_b, p, i0, j0, s.own_k, s.ordered, left, right, sum);
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < COLS; q++) {
            long i = i0 + row + 8 * r, j = j0 + col + 16 * q;
            if (i < s.m && j < s.n)
                store_element(s, p, i, j, sum[r][q]);
        }
}

/* c [n] of each chunk = Σ_i weight_i a_i, over its rows; a thread has a column. */
KERNEL void chunk_column_sums(chunk_product s, long items, GLOBAL const real *weight)
{
    long j = ITEM % s.n;
    real sum = 0;
    if (ITEM >= items * s.n)
        return;
    chunk_place p = place_of(s, ITEM / s.n);
    long rows = least(CHUNK, rows_real(s.a, p)), origin = origin_of(s.a, p);
    for (long i = 0; i < rows; i++)
        sum += (weight ? weight[p.item * CHUNK + i] : 1) * element_of(s, s.a, p, origin, i, j);
    AT(real, s.c.x)[origin_of(s.c, p) + j] = sum;
}

/* sums [chunk's rows] = factor_i a_i·b + Σ_k own_a_ik, with b one row; a group has a row. */
KERNEL void chunk_row_sums(chunk_product s, GLOBAL real *sums)
{
    SHARED real room[GROUP_SIZE];
    chunk_place p = place_of(s, GROUP(0) / CHUNK);
    long i = GROUP(0) % CHUNK, left = origin_of(s.a, p), right = origin_of(s.b, p),
         tile = s.own_k ? origin_of(s.own_a, p) : 0;
    real sum = 0, own = 0;
    if (i < rows_real(s.a, p)) {
        for (long k = THREAD; k < s.k; k += GROUP_SIZE)
            sum += element_of(s, s.a, p, left, i, k) * element_of(s, s.b, p, right, 0, k);
        for (long k = THREAD; k < s.own_k; k += GROUP_SIZE)
            own += element_of(s, s.own_a, p, tile, i, k);
    }
    sum = group_sum(room, row_number(s.factor, p, i) * sum + own);
    if (THREAD == 0)
        sums[GROUP(0)] = sum;
}

/* ---- states ---- */

/* x [pairs][chunks + 1][size]: what each chunk adds becomes the state before it (backward: after
 * it), and the last place, which has the first state if there is one, that after all:
 *
 *     state ← decay_c state + x_c
 *
 * decay [pairs][chunks][decays], each for `run` numbers of a state; NULL: 1. A thread has a number.
 */
KERNEL void chunk_scan(long chunks, long size, long backward, long begun, GLOBAL const real *decay,
                       long decays, long run, GLOBAL real *x)
{
    long e = GROUP(0) % ((size + GROUP_SIZE - 1) / GROUP_SIZE) * GROUP_SIZE + THREAD,
         pair = GROUP(0) / ((size + GROUP_SIZE - 1) / GROUP_SIZE),
         base = pair * (chunks + 1) * size;
    if (e >= size)
        return;
    real state = begun ? x[base + chunks * size + e] : 0;
    for (long step = 0; step < chunks; step++) {
        long c = backward ? chunks - 1 - step : step, at = base + c * size + e;
        real more = x[at], share = 1;
        if (decay)
            share = decay[(pair * chunks + c) * decays + (decays > 1 ? e / run : 0)];
        x[at] = state;
        state = share * state + more;
    }
    x[base + chunks * size + e] = state;
}

/* ---- polynomials of degree 2 ---- */

/* Which two elements (−1: none) feature f multiplies, and by what. Thread a has the pairs (a, ·).
 */
KERNEL void chunk_squares(long width, double c0, double c1, double c2, GLOBAL int *pairs,
                          GLOBAL real *coefficients)
{
    long a = ITEM, first = (c0 != 0) + (c1 != 0) * width, f = first + a * width - a * (a - 1) / 2;
    if (a >= width)
        return;
    if (a == 0 && c0 != 0) {
        pairs[0] = pairs[1] = -1;
        coefficients[0] = (real)c0;
    }
    if (c1 != 0) {
        long at = (c0 != 0) + a;
        pairs[2 * at] = (int)a;
        pairs[2 * at + 1] = -1;
        coefficients[at] = (real)c1;
    }
    for (long b = a; b < width; b++, f++) {
        pairs[2 * f] = (int)a;
        pairs[2 * f + 1] = (int)b;
        coefficients[f] = (real)(a == b ? c2 : c2 * 1.41421356237309504880);
    }
}

/* c = gradient of the rows x = own_a, of which a has that of the features:
 *
 *     dx_u = c1 dφ_u + 2 c2 x_u dφ_uu + √2 c2 Σ_{v≠u} x_v dφ_uv
 *
 * A thread has an element. */
KERNEL void chunk_squares_gradient(chunk_product s, long items, double c0, double c1, double c2)
{
    long u = ITEM % s.n, i = ITEM / s.n % CHUNK;
    real sum = 0;
    if (ITEM >= items * CHUNK * s.n)
        return;
    chunk_place p = place_of(s, ITEM / s.n / CHUNK);
    long origin = origin_of(s.own_a, p), row = origin_of(s.a, p) + i * s.a.ld,
         first = row + (c0 != 0), pair = first + (c1 != 0) * s.n + u;
    GLOBAL const real *d = AT(const real, s.a.x);
    if (i < rows_real(s.own_a, p)) {
        if (c1 != 0)
            sum = (real)c1 * d[first + u];
        for (long v = 0; v < s.n; v++) {
            real factor = (real)(v == u ? 2 * c2 : c2 * 1.41421356237309504880);
            sum += factor * d[pair] * element_of(s, s.own_a, p, origin, i, v);
            pair += v < u ? s.n - 1 - v : 1;
        }
    }
    store_element(s, p, i, u, sum);
}
