/* SPDX-License-Identifier: Apache-2.0
 * Projection along the length (formulas: cpu_length.c). A group has a tile of 32 × 32 of a product
 * of a (b,h) and makes it by steps of 16 of the inner dimension; a thread has 4 × 2 elements. */
enum { TILE = 32, STEP = 16, ROWS = 4, COLS = 2 };

typedef struct {
    long batch, length, heads, width, rank, head_stride;
    ulong lengths, x, dx, w, dw, y, dy;
    long ldx, ldy;
} projected_length;

/* A matrix: element (i, k) is at i·row + k·col; nothing from `rows` and `cols` on. */
typedef struct {
    ulong at;
    long row, col, rows, cols;
} operand;

FUNCTION real operand_at(operand a, long i, long k)
{
    return i < a.rows && k < a.cols ? load(AT(const act, a.at), i * a.row + k * a.col) : 0;
}

/* sum += a tile of A [m, k] B [k, n], from element (i0, j0) on; the order of k is always the same.
 */
FUNCTION void add_tile_product(LOCAL real *left, LOCAL real *right, operand a, operand b, long i0,
                               long j0, real *sum)
{
    int row = THREAD / 16, col = THREAD % 16; /* of 8 × 16 threads */
    for (long k0 = 0; k0 < a.cols; k0 += STEP) {
        for (int e = THREAD; e < TILE * STEP; e += GROUP_SIZE) {
            int i = a.col == 1 ? e / STEP : e % TILE, ik = a.col == 1 ? e % STEP : e / TILE;
            int j = b.row == 1 ? e / STEP : e % TILE, jk = b.row == 1 ? e % STEP : e / TILE;
            left[ik * (TILE + 1) + i] = operand_at(a, i0 + i, k0 + ik);
            right[jk * (TILE + 1) + j] = operand_at(b, k0 + jk, j0 + j);
        }
        BARRIER;
        for (int k = 0; k < STEP; k++)
            for (int r = 0; r < ROWS; r++)
                for (int q = 0; q < COLS; q++)
                    sum[r * COLS + q] +=
                        left[k * (TILE + 1) + row + 8 * r] * right[k * (TILE + 1) + col + 16 * q];
        BARRIER;
    }
}

FUNCTION ulong act_address(ulong x, long at)
{
    return x + (ulong)at * sizeof(act);
}

/* Rows of X of (b,h). */
FUNCTION operand long_rows(projected_length a, ulong x, long b, long h, long rows)
{
    operand m = { act_address(x, b * a.length * a.ldx + h * a.width), a.ldx, 1, rows, a.width };
    return m;
}

FUNCTION operand short_rows(projected_length a, ulong y, long b, long h)
{
    operand m = { act_address(y, b * a.rank * a.ldy + h * a.width), a.ldy, 1, a.rank, a.width };
    return m;
}

FUNCTION operand length_weights(projected_length a, long h, long rows)
{
    operand m = { act_address(a.w, h * a.head_stride), a.rank, 1, rows, a.rank };
    return m;
}

FUNCTION operand turned(operand a)
{
    operand m = { a.at, a.col, a.row, a.cols, a.rows };
    return m;
}

/* GROUP(0): (b,h) and a block of columns; GROUP(1): a block of rows. */
KERNEL void project_length(projected_length a)
{
    SHARED real left[STEP * (TILE + 1)], right[STEP * (TILE + 1)];
    long blocks = (a.width + TILE - 1) / TILE, bh = GROUP(0) / blocks, b = bh / a.heads,
         h = bh % a.heads, i0 = GROUP(1) * TILE, j0 = GROUP(0) % blocks * TILE;
    long rows = real_length(AT(const int, a.lengths), b, a.length);
    real sum[ROWS * COLS];
    for (int e = 0; e < ROWS * COLS; e++)
        sum[e] = 0;
    add_tile_product(left, right, turned(length_weights(a, h, rows)), long_rows(a, a.x, b, h, rows),
                     i0, j0, sum);
    for (int e = 0; e < ROWS * COLS; e++) {
        long i = i0 + THREAD / 16 + 8 * (e / COLS), j = j0 + THREAD % 16 + 16 * (e % COLS);
        if (i < a.rank && j < a.width)
            store(AT(act, a.y), (b * a.rank + i) * a.ldy + h * a.width + j, sum[e]);
    }
}

KERNEL void project_length_input_gradient(projected_length a)
{
    SHARED real left[STEP * (TILE + 1)], right[STEP * (TILE + 1)];
    long blocks = (a.width + TILE - 1) / TILE, bh = GROUP(0) / blocks, b = bh / a.heads,
         h = bh % a.heads, i0 = GROUP(1) * TILE, j0 = GROUP(0) % blocks * TILE;
    long rows = real_length(AT(const int, a.lengths), b, a.length);
    real sum[ROWS * COLS];
    for (int e = 0; e < ROWS * COLS; e++)
        sum[e] = 0;
    add_tile_product(left, right, length_weights(a, h, rows), short_rows(a, a.dy, b, h), i0, j0,
                     sum);
    for (int e = 0; e < ROWS * COLS; e++) {
        long i = i0 + THREAD / 16 + 8 * (e / COLS), j = j0 + THREAD % 16 + 16 * (e % COLS);
        if (i < a.length && j < a.width)
            store(AT(act, a.dx), (b * a.length + i) * a.ldx + h * a.width + j, sum[e]);
    }
}

/* GROUP(0): a matrix of W and a block of its rows; GROUP(1): a block of its columns. The products
 * of the batch, and of the heads where W is that of all, are added in their order. */
KERNEL void project_length_weight_gradient(projected_length a)
{
    SHARED real left[STEP * (TILE + 1)], right[STEP * (TILE + 1)];
    long blocks = (a.length + TILE - 1) / TILE, own = GROUP(0) / blocks,
         i0 = GROUP(0) % blocks * TILE, j0 = GROUP(1) * TILE, heads = a.head_stride ? 1 : a.heads;
    GLOBAL real *dw = AT(real, a.dw) + own * a.head_stride;
    real sum[ROWS * COLS];
    for (int e = 0; e < ROWS * COLS; e++)
        sum[e] = 0;
    for (long b = 0; b < a.batch; b++)
        for (long h = own; h < own + heads; h++)
            add_tile_product(
                left, right,
                long_rows(a, a.x, b, h, real_length(AT(const int, a.lengths), b, a.length)),
                turned(short_rows(a, a.dy, b, h)), i0, j0, sum);
    for (int e = 0; e < ROWS * COLS; e++) {
        long i = i0 + THREAD / 16 + 8 * (e / COLS), j = j0 + THREAD % 16 + 16 * (e % COLS);
        if (i < a.length && j < a.rank)
            dw[i * a.rank + j] += sum[e];
    }
}
