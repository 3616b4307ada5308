/* SPDX-License-Identifier: Apache-2.0
 * Residual addition, dropout and norm (formulas: cpu_norm.c, kernels/ref_template.h). A group has a
 * row. */

typedef struct {
    long cols;
    double scale, epsilon;
    ulong x, branch, sum, gain, bias, y, mean, rstd, dy, dsum, dx, dbranch;
    dropout drop;
} norm_rows;

KERNEL void residual_norm(norm_rows a)
{
    SHARED real room[GROUP_SIZE];
    GLOBAL const real *gain = AT(const real, a.gain), *bias = AT(const real, a.bias);
    GLOBAL const act *from = AT(const act, a.branch ? a.sum : a.x);
    long row = GROUP(0), at = row * a.cols;
    real sum = 0, squares = 0;
    for (long j = THREAD; j < a.cols; j += GROUP_SIZE) {
        real v = load(AT(const act, a.x), at + j);
        if (a.branch) {
            real more = drop(a.drop, (ulong)row * dropout_stride(a.cols) + (ulong)j,
                             load(AT(const act, a.branch), at + j));
            v = rounded(v + (real)a.scale * rounded(more));
            store(AT(act, a.sum), at + j, v);
        }
        sum += v;
    }
    if (!a.y)
        return;
    real centre = a.mean ? group_sum(room, sum) / (real)a.cols : 0;
    for (long j = THREAD; j < a.cols; j += GROUP_SIZE) {
        real v = load(from, at + j) - centre;
        squares += v * v;
    }
    real rstd = 1 / sqrt(group_sum(room, squares) / (real)a.cols + (real)a.epsilon);
    for (long j = THREAD; j < a.cols; j += GROUP_SIZE)
        store(AT(act, a.y), at + j,
              (load(from, at + j) - centre) * rstd * (gain ? gain[j] : 1) + (bias ? bias[j] : 0));
    if (THREAD == 0) {
        if (a.mean)
            AT(real, a.mean)[row] = centre;
        AT(real, a.rstd)[row] = rstd;
    }
}

KERNEL void residual_norm_gradient(norm_rows a)
{
    SHARED real room[GROUP_SIZE];
    GLOBAL const real *gain = AT(const real, a.gain);
    GLOBAL const act *from = AT(const act, a.branch ? a.sum : a.x), *dy = AT(const act, a.dy);
    long row = GROUP(0), at = row * a.cols;
    real centre = a.y && a.mean ? AT(const real, a.mean)[row] : 0,
         rstd = a.y ? AT(const real, a.rstd)[row] : 0, sum_e = 0, sum_eh = 0;
    for (long j = THREAD; a.y && j < a.cols; j += GROUP_SIZE) {
        real e = load(dy, at + j) * (gain ? gain[j] : 1);
        sum_e += e;
        sum_eh += e * (load(from, at + j) - centre) * rstd;
    }
    sum_e = group_sum(room, sum_e) / (real)a.cols;
    sum_eh = group_sum(room, sum_eh) / (real)a.cols;
    if (!a.mean)
        sum_e = 0;
    for (long j = THREAD; j < a.cols; j += GROUP_SIZE) {
        real d = 0;
        if (a.y) {
            real h = (load(from, at + j) - centre) * rstd;
            d = rounded(rstd * (load(dy, at + j) * (gain ? gain[j] : 1) - sum_e - h * sum_eh));
        }
        if (a.dsum)
            d = rounded(d + load(AT(const act, a.dsum), at + j));
        store(AT(act, a.dx), at + j, d);
        if (a.dbranch) {
            d = drop(a.drop, (ulong)row * dropout_stride(a.cols) + (ulong)j, d);
            store(AT(act, a.dbranch), at + j, rounded(d) * (real)a.scale);
        }
    }
}

/* Column j over `run` rows: partial [chunks][2][cols], gradients of gain and bias. */
KERNEL void norm_column_sums(norm_rows a, long rows, long run, GLOBAL real *partial)
{
    GLOBAL const act *from = AT(const act, a.branch ? a.sum : a.x), *dy = AT(const act, a.dy);
    long j = ITEM, first = GROUP(1) * run, end = least(rows, first + run);
    real gain = 0, bias = 0;
    if (j >= a.cols)
        return;
    for (long i = first; i < end; i++) {
        real d = load(dy, i * a.cols + j), centre = a.mean ? AT(const real, a.mean)[i] : 0;
        gain += d * (load(from, i * a.cols + j) - centre) * AT(const real, a.rstd)[i];
        bias += d;
    }
    partial[GROUP(1) * 2 * a.cols + j] = gain;
    partial[(GROUP(1) * 2 + 1) * a.cols + j] = bias;
}
