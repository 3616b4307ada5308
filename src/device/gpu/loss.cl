/* SPDX-License-Identifier: Apache-2.0
 * The loss of rows of logits, and their gradient (formulas: kernels.h, cross_entropy; operations.h,
 * linear_loss). A group has a row. */

typedef struct {
    long vocabulary, ld;
    double cap, smoothing, scale;
    ulong bias, target, value, logits, dlogits, loss;
    double soft_cap, hard, soft;
    ulong soft_bias, teacher; /* logits of a teacher; 0: none */
} logit_rows;

FUNCTION real logit_of(logit_rows a, long at, long j)
{
    real z = AT(const real, a.logits)[at + j] + (a.bias ? AT(const real, a.bias)[j] : 0);
    return a.cap > 0 ? (real)a.cap * tanh(z / (real)a.cap) : z;
}

/* The derivative of the cap where it gives z. */
FUNCTION real slope_of(logit_rows a, real z)
{
    real t = z / (real)a.cap, rest = 1 - t * t;
    return a.cap <= 0 ? 1 : rest > 0 ? rest : 0;
}

/* Logits j, j + GROUP_SIZE, … of a row, read one behind the other; −∞ beyond its end. */
enum { AT_ONCE = 4 };
FUNCTION void some_logits(logit_rows a, long at, long j, real z[AT_ONCE])
{
    for (int k = 0; k < AT_ONCE; k++)
        z[k] = j + k * GROUP_SIZE < a.vocabulary ? logit_of(a, at, j + k * GROUP_SIZE) : -INFINITY;
}

FUNCTION void square_loss(logit_rows a, long row)
{
    double error = (double)logit_of(a, row * a.ld, 0) - AT(const double, a.value)[row];
    AT(double, a.loss)[row] = error * error;
    if (a.dlogits)
        store(AT(act, a.dlogits), row * a.ld, (real)(2 * a.scale * error));
}

KERNEL void loss_rows(logit_rows a)
{
    SHARED double sums[GROUP_SIZE];
    SHARED real tops[GROUP_SIZE];
    long row = GROUP(0), n = a.vocabulary, at = row * a.ld;
    int target = a.value ? 0 : AT(const int, a.target)[row];
    GLOBAL act *to = AT(act, a.dlogits);
    if (target < 0) {
        for (long j = THREAD; to && j < n; j += GROUP_SIZE)
            store(to, at + j, 0);
        if (THREAD == 0)
            AT(double, a.loss)[row] = 0;
        return;
    }
    if (a.value) {
        if (THREAD == 0)
            square_loss(a, row);
        return;
    }
    real top = -INFINITY;
    double sum = 0, below = 0, each = a.smoothing / (double)n;
    for (long j = THREAD; j < n; j += AT_ONCE * GROUP_SIZE) {
        real z[AT_ONCE];
        some_logits(a, at, j, z);
        for (int k = 0; k < AT_ONCE; k++)
            top = z[k] > top || z[k] != z[k] ? z[k] : top;
    }
    top = group_max(tops, top);
    for (long j = THREAD; j < n; j += AT_ONCE * GROUP_SIZE) {
        real z[AT_ONCE], part = 0;
        some_logits(a, at, j, z);
        for (int k = 0; k < AT_ONCE; k++)
            part += exp(z[k] - top);
        sum += (double)part;
        for (int k = 0; a.smoothing > 0 && k < AT_ONCE; k++)
            below += j + k * GROUP_SIZE < n ? (double)(top - z[k]) : 0;
    }
    sum = group_sum_double(sums, sum);
    below = a.smoothing > 0 ? group_sum_double(sums, below) / (double)n : 0;
    real hit = logit_of(a, at, target);
    if (THREAD == 0) {
        double missed = (double)top - (double)hit;
        AT(double, a.loss)[row] = log(sum) + missed - a.smoothing * (missed - below);
    }
    real share = (real)(a.scale / sum), less = (real)(a.scale * each),
         right = (real)a.scale * (exp(hit - top) / (real)sum - 1) +
                 (real)(a.scale * (a.smoothing - each));
    for (long j = THREAD; to && j < n; j += AT_ONCE * GROUP_SIZE) {
        real z[AT_ONCE];
        some_logits(a, at, j, z);
        for (int k = 0; k < AT_ONCE; k++) {
            long column = j + k * GROUP_SIZE;
            real d = column == target ? right : share * exp(z[k] - top) - less;
            if (column < n)
                store(to, at + column, a.cap > 0 ? rounded(d) * slope_of(a, z[k]) : d);
        }
    }
}

FUNCTION real teacher_logit(logit_rows a, long at, long j)
{
    real y = AT(const real, a.teacher)[at + j] + (a.soft_bias ? AT(const real, a.soft_bias)[j] : 0);
    return a.soft_cap > 0 ? (real)a.soft_cap * tanh(y / (real)a.soft_cap) : y;
}

/* Of rows with a teacher: with p its probabilities and s the softmax of the logits z, teacher's y,
 * the loss hard·(lse z − z_target) + soft·(Σ p (y − z) − lse y + lse z), and its gradient
 * (hard + soft)·s − hard·[target] − soft·p. */
KERNEL void taught_rows(logit_rows a)
{
    SHARED double sums[GROUP_SIZE];
    SHARED real tops[GROUP_SIZE];
    long row = GROUP(0), n = a.vocabulary, at = row * a.ld;
    int target = AT(const int, a.target)[row];
    GLOBAL act *to = AT(act, a.dlogits);
    real top = -INFINITY, soft_top = -INFINITY;
    double sum = 0, soft_sum = 0, apart = 0;
    for (long j = THREAD; j < n; j += GROUP_SIZE) {
        real z = logit_of(a, at, j), y = teacher_logit(a, at, j);
        top = z > top || z != z ? z : top;
        soft_top = y > soft_top || y != y ? y : soft_top;
    }
    top = group_max(tops, top);
    soft_top = group_max(tops, soft_top);
    for (long j = THREAD; j < n; j += GROUP_SIZE) {
        real z = logit_of(a, at, j), y = teacher_logit(a, at, j);
        double p = (double)exp(y - soft_top);
        sum += (double)exp(z - top);
        soft_sum += p;
        apart += p > 0 ? p * ((double)(y - soft_top) - (double)(z - top)) : 0;
    }
    sum = group_sum_double(sums, sum);
    soft_sum = group_sum_double(sums, soft_sum);
    apart = group_sum_double(sums, apart) / soft_sum + log(sum) - log(soft_sum);
    if (THREAD == 0)
        AT(double, a.loss)
    [row] = target < 0
                ? 0
                : a.hard * (log(sum) + (double)(top - logit_of(a, at, target))) + a.soft * apart;
    for (long j = THREAD; to && j < n; j += GROUP_SIZE) {
        real z = logit_of(a, at, j);
        double d = (a.hard + a.soft) * (double)exp(z - top) / sum -
                   a.soft * (double)exp(teacher_logit(a, at, j) - soft_top) / soft_sum -
                   (j == target ? a.hard : 0);
        store(to, at + j, target < 0 ? 0 : (real)(a.scale * d) * slope_of(a, z));
    }
}

/* log Σ e^x of each row of reals */
KERNEL void log_sums(long cols, GLOBAL const real *x, GLOBAL double *sums)
{
    SHARED double room[GROUP_SIZE];
    SHARED real tops[GROUP_SIZE];
    long at = GROUP(0) * cols;
    real top = -INFINITY;
    double sum = 0;
    for (long j = THREAD; j < cols; j += GROUP_SIZE)
        top = x[at + j] > top ? x[at + j] : top;
    top = group_max(tops, top);
    for (long j = THREAD; top - top == 0 && j < cols; j += GROUP_SIZE)
        sum += exp((double)x[at + j] - (double)top);
    sum = group_sum_double(room, sum);
    if (THREAD == 0)
        sums[GROUP(0)] = top - top == 0 ? (double)top + log(sum) : (double)top;
}
