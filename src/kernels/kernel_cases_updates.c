/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases of the loss, of the update rules and of the norm of a gradient.
 */
#include "kernels/kernel_case_tools.h"

#include <math.h>

/* ---- loss ---- variant: which target; 3: no gradient; 4: labels are smoothed */

static void cross_entropy_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_WIDE);
    put_row(p, CASE_ACT, p->variant == 3 ? CASE_IN : CASE_OUT, FILL_NORMAL);
}

static double cross_entropy_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    long target = p->variant == 0 ? 0 : p->variant == 1 ? p->cols - 1 : p->cols / 2;
    return k->cross_entropy(p->cols, x[0], target, p->variant == 4 ? 0.1 : 0, 0.25,
                            p->variant == 3 ? NULL : x[1]);
}

static void cross_entropy_magnitude(const problem *p, double *const *b, double *const *a, int o,
                                    double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = (100 + roundings(p->cols)) * 0.25 * (a[o][j] < 0 ? 1 : a[o][j] * 4);
    (void)b;
}

static double cross_entropy_result_magnitude(const problem *p, double *const *b)
{
    double smoothed =
        p->variant == 4 ? 0.2 * row_largest(p, b[0], 0, 0) : 0; /* ε times the sum of distances */
    return roundings(p->cols) * (1 + smoothed);
}

static void log_sum_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_WIDE);
}

static double log_sum_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    return k->log_sum(p->cols, x[0]);
}

static double log_sum_magnitude(const problem *p, double *const *b)
{
    (void)b;
    return roundings(p->cols);
}

/* ---- update rules ---- */

static void adamw_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_SQUARE);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
}

static const struct oa_adamw adamw_settings = { .lr = 1e-2,
                                                .beta1 = 0.9,
                                                .beta2 = 0.95,
                                                .epsilon = 1e-8,
                                                .weight_decay = 0.1,
                                                .correction1 = 0.1,
                                                .correction2 = 0.05,
                                                .gradient_scale = 0.5 };

static double adamw_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->adamw(p->cols, &adamw_settings, x[0], x[1], x[2], x[3]);
    return 0;
}

static void adamw_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++) {
        double first = fabs(b[1][j]) + fabs(b[3][j]);
        double ratio =
            first / (sqrt(a[2][j] / adamw_settings.correction2) + adamw_settings.epsilon);
        m[j] = 2 * (o == 1 ? first : o == 2 ? a[2][j] : fabs(b[0][j]) + 0.1 * 4 * ratio);
    }
}

static void sgd_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
}

static double sgd_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->sgd(p->cols, 1e-2, 0.9, 0.1, 0.5, x[0], x[1], x[2]);
    return 0;
}

static void sgd_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * (fabs(b[1][j]) + fabs(b[2][j])) + (o == 0 ? 2 * fabs(b[0][j]) : 0);
    (void)a;
}

/* ---- gradient norm ---- */

static void one_real_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
}

static double sum_squares_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    return k->sum_squares(p->cols, x[0]);
}

/* The sum is made in double: 2⁻²⁹ of what a float sum may be off. */
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
    { CASE(log_sum), .variants = 1, .bench_rows = 1, .bench_cols = 32000, .shape = log_sum_shape,
      .result_magnitude = log_sum_magnitude },
    { CASE(adamw), .variants = 1, .bear = BEAR_TINY, ROW, .shape = adamw_shape,
      .magnitude = adamw_magnitude },
    { CASE(sgd), .variants = 1, .bear = ALL, ROW, .shape = sgd_shape, .magnitude = sgd_magnitude },
    { CASE(sum_squares), .variants = 1, .bear = BEAR_TINY | BEAR_HUGE | BEAR_NAN, ROW,
      .shape = one_real_shape, .result_magnitude = sum_squares_magnitude },
};

const struct kernel_case_list oa_cases_updates = { cases, sizeof cases / sizeof *cases };
