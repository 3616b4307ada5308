/* SPDX-License-Identifier: Apache-2.0
 * Functions of elements, sums of columns. The formulas are those of kernels/ref_template.h. */

KERNEL void set_constant(long n, double value, GLOBAL real *x)
{
    if (ITEM < n)
        x[ITEM] = (real)value;
}

KERNEL void act_from_real(long n, GLOBAL const real *x, GLOBAL act *y)
{
    if (ITEM < n)
        store(y, ITEM, x[ITEM]);
}

KERNEL void real_from_act(long n, GLOBAL const act *x, GLOBAL real *y)
{
    if (ITEM < n)
        y[ITEM] = load(x, ITEM);
}

/* ---- functions of one variable: the kinds of OA_UNARY_KINDS, in their order ---- */

enum { GELU, GELU_EXACT, RELU, RELU2, SILU };

FUNCTION real gelu_argument(real v)
{
    return (real)0.79788456080286535588 * (v + (real)0.044715 * v * v * v);
}

FUNCTION real value_of(long kind, real v)
{
    switch (kind) {
    case GELU:
        return (real)0.5 * v * (1 + tanh(gelu_argument(v)));
    case GELU_EXACT:
        return (real)0.5 * v * (1 + erf(v * (real)0.70710678118654752440));
    case RELU:
        return v <= 0 ? 0 : v;
    case RELU2:
        return v <= 0 ? 0 : v * v;
    default:
        return v * sigmoid(v);
    }
}

FUNCTION real gelu_slope(real v)
{
    real t = tanh(gelu_argument(v)), rest = 1 - t * t;
    real slope = (real)0.79788456080286535588 * (1 + 3 * (real)0.044715 * v * v);
    return (real)0.5 * (1 + t + (rest == 0 ? 0 : v * rest * slope)); /* 0·∞ far out */
}

FUNCTION real gelu_exact_slope(real v)
{
    real below = (real)0.5 * (1 + erf(v * (real)0.70710678118654752440));
    real density = exp(-(real)0.5 * v * v) * (real)0.39894228040143267794;
    return below + (density == 0 ? 0 : v * density);
}

FUNCTION real silu_slope(real v)
{
    real s = sigmoid(v);
    return s * (1 + (s == 0 || 1 - s == 0 ? 0 : v * (1 - s)));
}

/* What ReLU takes away is taken away, whatever dy is. */
FUNCTION real times_slope(long kind, real v, real dy)
{
    switch (kind) {
    case GELU:
        return dy * gelu_slope(v);
    case GELU_EXACT:
        return dy * gelu_exact_slope(v);
    case RELU:
        return v > 0 ? dy : 0;
    case RELU2:
        return v > 0 ? 2 * v * dy : 0;
    default:
        return dy * silu_slope(v);
    }
}

KERNEL void unary(long kind, long n, GLOBAL const act *x, GLOBAL act *y)
{
    if (ITEM < n)
        store(y, ITEM, value_of(kind, load(x, ITEM)));
}

KERNEL void unary_gradient(long kind, long n, GLOBAL const act *x, GLOBAL const act *dy,
                           GLOBAL act *dx)
{
    if (ITEM < n)
        store(dx, ITEM, times_slope(kind, load(x, ITEM), load(dy, ITEM)));
}

KERNEL void binary(long product, long n, double scale, GLOBAL const act *x, GLOBAL const act *y,
                   GLOBAL act *z)
{
    if (ITEM >= n)
        return;
    real a = load(x, ITEM), b = load(y, ITEM);
    store(z, ITEM, product ? (real)scale * a * b : a + b);
}

/* y = f(g)·u, with f(g) rounded as if it were stored. */
KERNEL void gated(long kind, long n, GLOBAL const act *g, GLOBAL const act *u, GLOBAL act *y)
{
    if (ITEM < n)
        store(y, ITEM, rounded(value_of(kind, load(g, ITEM))) * load(u, ITEM));
}

KERNEL void gated_gradient(long kind, long n, GLOBAL const act *g, GLOBAL const act *u,
                           GLOBAL const act *dy, GLOBAL act *dg, GLOBAL act *du)
{
    if (ITEM >= n)
        return;
    real v = load(g, ITEM), w = load(u, ITEM), d = load(dy, ITEM);
    if (du)
        store(du, ITEM, d * rounded(value_of(kind, v)));
    if (dg)
        store(dg, ITEM, times_slope(kind, v, rounded(d * w)));
}

/* ---- columns ---- */

KERNEL void add_bias(long rows, long cols, GLOBAL const real *bias, GLOBAL act *y, long ldy)
{
    long i = ITEM / cols, j = ITEM % cols;
    if (i < rows)
        store(y, i * ldy + j, load(y, i * ldy + j) + bias[j]);
}

/* Thread j of a group (·, chunk) sums `run` rows of column j: partial [chunks, cols]. */
KERNEL void column_sums(long rows, long cols, long run, GLOBAL const act *x, long ldx,
                        GLOBAL real *partial)
{
    long j = ITEM, first = GROUP(1) * run, end = least(rows, first + run);
    real sum = 0;
    if (j >= cols)
        return;
    for (long i = first; i < end; i++)
        sum += load(x, i * ldx + j);
    partial[GROUP(1) * cols + j] = sum;
}

/* sums [cols] += Σ partial [chunks, cols] */
KERNEL void add_partial_sums(long chunks, long cols, GLOBAL const real *partial, GLOBAL real *sums)
{
    real sum = 0;
    if (ITEM >= cols)
        return;
    for (long i = 0; i < chunks; i++)
        sum += partial[i * cols + ITEM];
    sums[ITEM] += sum;
}

/* ---- reals ---- */

KERNEL void axpby(long n, double a, GLOBAL const real *x, double b, GLOBAL real *y)
{
    if (ITEM < n)
        y[ITEM] = (real)a * x[ITEM] + (b == 0 ? 0 : (real)b * y[ITEM]);
}

KERNEL void round_bf16(long n, GLOBAL real *x)
{
    if (ITEM < n)
        x[ITEM] = AS_FLOAT(bf16_bits((float)x[ITEM]) << 16);
}

KERNEL void soft_cap(long n, double cap, GLOBAL real *x)
{
    if (ITEM < n)
        x[ITEM] = (real)cap * tanh(x[ITEM] / (real)cap);
}

/* sums[g] = Σ x² over run g of `run` elements. */
KERNEL void square_runs(long n, long run, GLOBAL const real *x, GLOBAL double *sums)
{
    SHARED double room[GROUP_SIZE];
    double sum = 0;
    for (long i = GROUP(0) * run + THREAD; i < least(n, (GROUP(0) + 1) * run); i += GROUP_SIZE)
        sum += (double)x[i] * (double)x[i];
    sum = group_sum_double(room, sum);
    if (THREAD == 0)
        sums[GROUP(0)] = sum;
}

/* wrong[i] = how many numbers of row i are not finite */
KERNEL void not_finite(long is_act, long cols, GLOBAL const void *x, long ldx, GLOBAL int *wrong)
{
    SHARED double room[GROUP_SIZE];
    double count = 0;
    for (long j = THREAD; j < cols; j += GROUP_SIZE) {
        long at = GROUP(0) * ldx + j;
        real v = is_act ? load((GLOBAL const act *)x, at) : ((GLOBAL const real *)x)[at];
        count += !(v - v == 0);
    }
    count = group_sum_double(room, count);
    if (THREAD == 0)
        wrong[GROUP(0)] = (int)count;
}
