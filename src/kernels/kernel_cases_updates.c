/* SPDX-License-Identifier: Apache-2.0
 * Cases of the loss, of the update rules and of the norm of a gradient. */
#include "kernels/kernel_case_tools.h"

/* ---- loss ---- variant: which target; 3: no gradient; 4: labels are smoothed */

static void cross_entropy_shape(problem *p)
{
    case_put_row(p, CASE_REAL, CASE_IN, FILL_WIDE);
    case_put_row(p, CASE_ACT, p->variant == 3 ? CASE_IN : CASE_OUT, FILL_NORMAL);
}

static double cross_entropy_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    long target = p->variant == 0 ? 0 : p->variant == 1 ? p->cols - 1 : p->cols / 2;
    return k->cross_entropy(p->cols, x[0], target, p->variant == 4 ? 0.1 : 0, 0.25,
                            p->variant == 3 ? NULL : x[1]);
}

MAGNITUDE(cross_entropy)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = (100 + roundings(p->cols)) * 0.25 * (a[o][j] < 0 ? 1 : a[o][j] * 4);
}

static double cross_entropy_result_magnitude(const problem *p, double *const *b)
{
    double smoothed = p->variant == 4 ? 0.2 * largest_in_row(p, b[0], 0, 0)
                                      : 0; /* ε times the sum of distances */
    return roundings(p->cols) * (1 + smoothed);
}

ASK(log_sum, p->cols, x[0]);

static double log_sum_magnitude(const problem *p, double *const *b)
{
    (void)b;
    return roundings(p->cols);
}

/* ---- update rules ---- */

static const struct oa_adamw adamw_settings = { .lr = 1e-2,
                                                .beta1 = 0.9,
                                                .beta2 = 0.95,
                                                .epsilon = 1e-8,
                                                .weight_decay = 0.1,
                                                .correction1 = 0.1,
                                                .correction2 = 0.05,
                                                .gradient_scale = 0.5 };

CALL(adamw, p->cols, &adamw_settings, x[0], x[1], x[2], x[3]);

MAGNITUDE(adamw)
{
    for (long j = 0; j < p->cols; j++) {
        double first = fabs(b[1][j]) + fabs(b[3][j]);
        double ratio =
            first / (sqrt(a[2][j] / adamw_settings.correction2) + adamw_settings.epsilon);
        m[j] = 2 * (o == 1 ? first : o == 2 ? a[2][j] : fabs(b[0][j]) + 0.1 * 4 * ratio);
    }
}

CALL(zero_past, p->cols, x[0]);

MAGNITUDE(zero_past)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 0;
}

CALL(sgd, p->cols, 1e-2, 0.9, 0.1, 0.5, x[0], x[1], x[2]);

MAGNITUDE(sgd)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * (fabs(b[1][j]) + fabs(b[2][j])) + (o == 0 ? 2 * fabs(b[0][j]) : 0);
}

/* ---- gradient norm ---- */

ASK(sum_squares, p->cols, x[0]);

/* The sum is computed in double: 2⁻²⁹ of the error of a float sum. */
static double sum_squares_magnitude(const problem *p, double *const *b)
{
    double sum = 0;
    for (long j = 0; j < p->cols; j++)
        sum += b[0][j] * b[0][j];
    return roundings(p->cols) * sum * 0x1p-29;
}

static const struct kernel_case cases[] = {
    { CASE(cross_entropy), .variants = 5, .bench_rows = 1, .bench_cols = 50257,
      .shape = cross_entropy_shape, .magnitude = cross_entropy_magnitude,
      .result_magnitude = cross_entropy_result_magnitude },
    { CASE(log_sum), .variants = 1, .bench_rows = 1, .bench_cols = 32000,
      .operand = { ROW(REAL, IN, WIDE) }, .result_magnitude = log_sum_magnitude },
    { CASE(adamw), .variants = 1, .bear = BEAR_TINY, VECTOR,
      .operand = { ROW(REAL, BOTH, NORMAL), ROW(REAL, BOTH, NORMAL), ROW(REAL, BOTH, SQUARE),
                   ROW(REAL, IN, NORMAL) },
      .magnitude = adamw_magnitude },
    { CASE(zero_past), .variants = 1, VECTOR, .operand = { ROW(REAL, OUT, NORMAL) },
      .magnitude = zero_past_magnitude },
    { CASE(sgd), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(REAL, BOTH, NORMAL), ROW(REAL, BOTH, NORMAL), ROW(REAL, IN, NORMAL) },
      .magnitude = sgd_magnitude },
    { CASE(sum_squares), .variants = 1, .bear = BEAR_TINY | BEAR_HUGE | BEAR_NAN, VECTOR,
      .operand = { ROW(REAL, IN, NORMAL) }, .result_magnitude = sum_squares_magnitude },
};

const struct kernel_case_list oa_cases_updates = { cases, sizeof cases / sizeof *cases };
