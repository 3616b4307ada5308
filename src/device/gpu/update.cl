/* SPDX-License-Identifier: Apache-2.0
 * Optimiser updates over flat arrays (formulas: kernels/ref_template.h, cpu_update.c,
 * cpu_adafactor.c). */

typedef struct {
    double step, beta1, beta2, root, epsilon, shrink, gradient_scale;
} adamw_rates;

KERNEL void adamw(long n, adamw_rates h, GLOBAL real *w, GLOBAL real *m, GLOBAL real *v,
                  GLOBAL const real *g, GLOBAL act *copy)
{
    if (ITEM >= n)
        return;
    real d = (real)h.gradient_scale * g[ITEM];
    real first = (real)h.beta1 * m[ITEM] + (real)(1 - h.beta1) * d;
    real second = (real)h.beta2 * v[ITEM] + (real)(1 - h.beta2) * d * d;
    real weight = (real)h.shrink * w[ITEM] -
                  (real)h.step * first / (sqrt(second) * (real)h.root + (real)h.epsilon);
    m[ITEM] = first;
    v[ITEM] = second;
    w[ITEM] = weight;
    if (copy)
        store(copy, ITEM, weight);
}

KERNEL void sgd(long n, double lr, double momentum, double weight_decay, double gradient_scale,
                GLOBAL real *w, GLOBAL real *m, GLOBAL const real *g)
{
    if (ITEM >= n)
        return;
    m[ITEM] = (real)momentum * m[ITEM] + (real)gradient_scale * g[ITEM];
    w[ITEM] -= (real)lr * (m[ITEM] + (real)weight_decay * w[ITEM]);
}

typedef struct {
    double lr, beta1, beta2, weight_decay, gradient_scale;
} lion_rates;

KERNEL void lion(long n, lion_rates h, GLOBAL real *w, GLOBAL real *m, GLOBAL const real *g)
{
    if (ITEM >= n)
        return;
    double d = h.gradient_scale * (double)g[ITEM], speed = (double)m[ITEM], old = (double)w[ITEM];
    double c = h.beta1 * speed + (1 - h.beta1) * d, sign = (double)(c > 0) - (double)(c < 0);
    w[ITEM] = (real)(old - h.lr * (sign + h.weight_decay * old));
    m[ITEM] = (real)(h.beta2 * speed + (1 - h.beta2) * d);
}

/* ---- Adafactor ---- */

typedef struct {
    long rows, cols;
    double lr, decay, weight_decay, gradient_scale;
} adafactor_shape;

/* v[i] of row i: a group a row. */
KERNEL void adafactor_rows(adafactor_shape a, GLOBAL const real *g, GLOBAL real *v)
{
    SHARED double room[GROUP_SIZE];
    double sum = 0;
    for (long j = THREAD; j < a.cols; j += GROUP_SIZE) {
        double d = a.gradient_scale * (double)g[GROUP(0) * a.cols + j];
        sum += d * d + 1e-30;
    }
    sum = group_sum_double(room, sum);
    if (THREAD == 0)
        v[GROUP(0)] =
            (real)(a.decay * (double)v[GROUP(0)] + (1 - a.decay) * (sum / (double)a.cols));
}

KERNEL void adafactor_cols(adafactor_shape a, GLOBAL const real *g, GLOBAL real *v)
{
    double sum = 0;
    if (ITEM >= a.cols)
        return;
    for (long i = 0; i < a.rows; i++) {
        double d = a.gradient_scale * (double)g[i * a.cols + ITEM];
        sum += d * d + 1e-30;
    }
    v[a.rows + ITEM] =
        (real)(a.decay * (double)v[a.rows + ITEM] + (1 - a.decay) * (sum / (double)a.rows));
}

/* mean[0] = mean of the rows' moments, or 1 for a vector: one group. */
KERNEL void adafactor_mean(adafactor_shape a, long factored, GLOBAL const real *v,
                           GLOBAL double *mean)
{
    SHARED double room[GROUP_SIZE];
    double sum = 0;
    for (long i = THREAD; factored && i < a.rows; i += GROUP_SIZE)
        sum += (double)v[i];
    sum = group_sum_double(room, sum);
    if (THREAD == 0)
        mean[0] = factored ? sum / (double)a.rows : 1;
}

/* Directions u of a row, and the sum of their squares: a group a row. */
KERNEL void adafactor_directions(adafactor_shape a, long factored, GLOBAL const double *mean,
                                 GLOBAL const real *g, GLOBAL real *v, GLOBAL real *update,
                                 GLOBAL double *squares)
{
    SHARED double room[GROUP_SIZE];
    double sum = 0;
    for (long j = THREAD; j < a.cols; j += GROUP_SIZE) {
        long at = GROUP(0) * a.cols + j;
        double d = a.gradient_scale * (double)g[at], moment;
        if (factored) {
            moment = (double)v[GROUP(0)] * (double)v[a.rows + j] / mean[0];
        } else {
            v[at] = (real)(a.decay * (double)v[at] + (1 - a.decay) * (d * d + 1e-30));
            moment = (double)v[at];
        }
        double u = d / sqrt(moment);
        update[at] = (real)u;
        sum += u * u;
    }
    sum = group_sum_double(room, sum);
    if (THREAD == 0)
        squares[GROUP(0)] = sum;
}

/* squares[0] = the sum of squares[0 … rows − 1]: one thread, in their order. */
KERNEL void adafactor_total(adafactor_shape a, GLOBAL double *squares)
{
    double sum = 0;
    for (long i = 0; ITEM == 0 && i < a.rows; i++)
        sum += squares[i];
    if (ITEM == 0)
        squares[0] = sum;
}

KERNEL void adafactor_move(adafactor_shape a, GLOBAL const double *squares,
                           GLOBAL const real *update, GLOBAL real *w)
{
    double n = (double)(a.rows * a.cols), size = sqrt(squares[0] / n);
    if (ITEM >= a.rows * a.cols)
        return;
    double old = (double)w[ITEM], step = (double)update[ITEM] / (size > 1 ? size : 1);
    w[ITEM] = (real)(old - a.lr * (step + a.weight_decay * old));
}
