/* SPDX-License-Identifier: Apache-2.0
 * Rows of a matrix: selected, scaled, chosen, averaged, gated, masked, rotated (formulas:
 * operations.def, operations.h). A thread has an element unless noted. */

KERNEL void select_rows(long rows, long cols, long length, GLOBAL const int *lengths,
                        GLOBAL const act *x, long ldx, GLOBAL act *y, long ldy)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i >= rows)
        return;
    long b = quotient(i, length);
    y[i * ldy + j] = i - b * length < real_length(lengths, b, length) ? x[i * ldx + j] : 0;
}

KERNEL void scale_columns(long rows, long cols, GLOBAL const real *factor, GLOBAL const act *x,
                          long ldx, GLOBAL act *y, long ldy)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i < rows)
        store(y, i * ldy + j, factor[j] * load(x, i * ldx + j));
}

/* Thread j of a group (·, chunk) sums x·dy over `run` rows of column j: partial [chunks, cols]. */
KERNEL void scale_columns_gradient(long rows, long cols, long run, GLOBAL const act *x, long ldx,
                                   GLOBAL const act *dy, long lddy, GLOBAL real *partial)
{
    long j = ITEM, first = GROUP(1) * run, end = least(rows, first + run);
    real sum = 0;
    if (j >= cols)
        return;
    for (long i = first; i < end; i++)
        sum += load(x, i * ldx + j) * load(dy, i * lddy + j);
    partial[GROUP(1) * cols + j] = sum;
}

/* ---- chosen rows, means ---- */

KERNEL void choose_rows(long count, long cols, GLOBAL const int *index, GLOBAL const act *x,
                        GLOBAL act *y)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i < count)
        y[ITEM] = x[index[i] * cols + j];
}

KERNEL void choose_rows_gradient(long count, long cols, GLOBAL const int *index,
                                 GLOBAL const act *dy, GLOBAL act *dx)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i < count)
        dx[index[i] * cols + j] = dy[ITEM];
}

/* A group has 32 columns of a sequence; each quarter of its threads every fourth row. */
KERNEL void mean_rows(long length, long cols, GLOBAL const int *lengths, GLOBAL const act *x,
                      GLOBAL act *y)
{
    SHARED real room[GROUP_SIZE];
    long blocks = (cols + 31) / 32, b = GROUP(0) / blocks;
    long j = GROUP(0) % blocks * 32 + THREAD % 32, rows = real_length(lengths, b, length);
    real sum = 0;
    for (long i = THREAD / 32; j < cols && i < rows; i += GROUP_SIZE / 32)
        sum += load(x, (b * length + i) * cols + j);
    room[THREAD] = sum;
    BARRIER;
    if (THREAD >= 32 || j >= cols)
        return;
    sum = room[THREAD] + room[THREAD + 32] + (room[THREAD + 64] + room[THREAD + 96]);
    store(y, b * cols + j, rows > 0 ? sum / (real)rows : 0);
}

KERNEL void mean_rows_gradient(long rows, long length, long cols, GLOBAL const int *lengths,
                               GLOBAL const act *dy, GLOBAL act *dx)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols, b = quotient(i, length);
    if (i >= rows)
        return;
    long averaged = real_length(lengths, b, length);
    store(dx, ITEM, i - b * length < averaged ? load(dy, b * cols + j) / (real)averaged : 0);
}

/* ---- gates ---- */

KERNEL void gate(long rows, long cols, GLOBAL const act *x, GLOBAL act *y)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols, at = 2 * i * cols + j;
    if (i < rows)
        store(y, ITEM, load(x, at) * sigmoid(load(x, at + cols)));
}

KERNEL void gate_gradient(long rows, long cols, GLOBAL const act *x, GLOBAL const act *dy,
                          GLOBAL act *dx)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols, at = 2 * i * cols + j;
    if (i >= rows)
        return;
    real v = load(x, at), s = sigmoid(load(x, at + cols)), d = load(dy, ITEM);
    store(dx, at, d * s);
    store(dx, at + cols, d * v * s * (1 - s));
}

/* ---- token mixing ---- */

KERNEL void mask_rows(long rows, long cols, GLOBAL const int *high, GLOBAL const real *x,
                      GLOBAL act *y)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i < rows)
        store(y, ITEM, j < high[i] ? x[ITEM] : 0);
}

KERNEL void mask_rows_gradient(long rows, long cols, GLOBAL const int *high, GLOBAL const real *dy,
                               GLOBAL real *dx)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i < rows && j < high[i])
        dx[ITEM] += dy[ITEM];
}

KERNEL void add_position_bias(long rows, long cols, long length, GLOBAL const real *bias,
                              GLOBAL act *y, long ldy)
{
    long i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i < rows)
        store(y, i * ldy + j, load(y, i * ldy + j) + bias[i - quotient(i, length) * length]);
}

/* A group has a position: all its rows. */
KERNEL void position_sums(long rows, long cols, long length, GLOBAL const act *x, long ldx,
                          GLOBAL real *sums)
{
    SHARED double room[GROUP_SIZE];
    double sum = 0;
    for (long i = GROUP(0); i < rows; i += length)
        for (long j = THREAD; j < cols; j += GROUP_SIZE)
            sum += (double)load(x, i * ldx + j);
    sum = group_sum_double(room, sum);
    if (THREAD == 0)
        sums[GROUP(0)] = (real)((double)sums[GROUP(0)] + sum);
}

/* ---- rotary positions ---- */

typedef struct {
    long tokens, length, heads, width, turned, interleaved;
    double sign;
    ulong cosine, sine, x;
    long ldx;
} rotated_rows;

/* A thread has a pair of numbers. */
KERNEL void rotate_rows(rotated_rows a)
{
    long half_width = a.turned / 2, each = quotient(ITEM, half_width),
         pair = ITEM - each * half_width, i = quotient(each, a.heads), h = each - i * a.heads,
         angle = (i - quotient(i, a.length) * a.length) * half_width + pair;
    if (i >= a.tokens)
        return;
    GLOBAL act *x = AT(act, a.x);
    long p = i * a.ldx + h * a.width + pair * (a.interleaved ? 2 : 1);
    long q = p + (a.interleaved ? 1 : half_width);
    real c = AT(const real, a.cosine)[angle], s = (real)a.sign * AT(const real, a.sine)[angle];
    real u = load(x, p), v = load(x, q);
    store(x, p, u * c - v * s);
    store(x, q, v * c + u * s);
}
