/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases of rows of numbers: conversions, sums, products with numbers.
 */
#include "kernels/kernel_case_tools.h"

#include <math.h>

static void act_real_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
}

static double act_from_real_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    k->act_from_real(p->cols, x[0], x[1]);
    return 0;
}

static void real_act_shape(problem *p)
{
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

static double real_from_act_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    k->real_from_act(p->cols, x[0], x[1]);
    return 0;
}

static double add_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->add(p->cols, x[0], x[1], x[2]);
    return 0;
}

static void add_to_real_shape(problem *p)
{
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double add_to_real_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->add_to_real(p->cols, 0.625, x[0], x[1]);
    return 0;
}

static void axpy_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double axpy_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->axpy(p->cols, 0.625, x[0], x[1]);
    return 0;
}

static void axpy_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * (fabs(b[0][j]) + fabs(b[1][j]));
    (void)a;
    (void)o;
}

static void two_reals_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
}

static double dot_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    return k->dot(p->cols, x[0], x[1]);
}

/* The sum is made in double: 2⁻²⁹ of what a float sum may be off. */
static double dot_magnitude(const problem *p, double *const *b)
{
    double sum = 0;
    for (long j = 0; j < p->cols; j++)
        sum += fabs(b[0][j] * b[1][j]);
    return roundings(p->cols) * sum * 0x1p-29;
}

static void scale_rows_shape(problem *p)
{
    put_column(p, CASE_REAL, CASE_IN, FILL_FACTOR);
    put_tile(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, 3);
}

static double scale_rows_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->scale_rows(p->rows, p->cols, x[0], x[1], p->operand[1].ld);
    return 0;
}

static void multiply_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
}

static double multiply_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->multiply(p->cols, x[0], x[1], x[2]);
    return 0;
}

static void multiply_gradient_shape(problem *p)
{
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double multiply_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                     void *const *x)
{
    (void)s;
    k->multiply_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}

static void multiply_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o,
                                        double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * (fabs(b[0][j] * b[1][j]) + fabs(b[2][j]));
    (void)a;
    (void)o;
}

static void add_bias_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_tile(p, CASE_ACT, CASE_BOTH, FILL_NORMAL, 5);
}

static double add_bias_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->add_bias(p->rows, p->cols, x[0], x[1], p->operand[1].ld);
    return 0;
}

static void column_sums_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 5);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double column_sums_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->column_sums(p->rows, p->cols, x[0], p->operand[0].ld, x[1]);
    return 0;
}

static void column_sums_magnitude(const problem *p, double *const *b, double *const *a, int o,
                                  double *m)
{
    for (long j = 0; j < p->cols; j++) {
        double sum = fabs(b[1][j]);
        for (long i = 0; i < p->rows; i++)
            sum += fabs(b[0][at(p, 0, i, j)]);
        m[j] = roundings(p->rows) * sum;
    }
    (void)a;
    (void)o;
}

static const struct kernel_case cases[] = {
    { CASE(act_from_real), .variants = 1, .bear = ALL, .exact = true, ROW,
      .shape = act_real_shape },
    { CASE(real_from_act), .variants = 1, .bear = ALL, .exact = true, ROW,
      .shape = real_act_shape },
    { CASE(add), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, ROW,
      .shape = act_act_act_shape },
    { CASE(add_to_real), .variants = 1, .bear = ALL, ROW, .shape = add_to_real_shape,
      .magnitude = axpy_magnitude },
    { CASE(axpy), .variants = 1, .bear = ALL, ROW, .shape = axpy_shape,
      .magnitude = axpy_magnitude },
    { CASE(dot), .variants = 1, .bear = BEAR_TINY | BEAR_HUGE, ROW, .shape = two_reals_shape,
      .result_magnitude = dot_magnitude },
    { CASE(scale_rows), .variants = 1, .bear = ALL, .exact = true, TILE,
      .shape = scale_rows_shape },
    { CASE(multiply), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, ROW,
      .shape = multiply_shape },
    { CASE(multiply_gradient), .variants = 1, .bear = ALL, ROW, .shape = multiply_gradient_shape,
      .magnitude = multiply_gradient_magnitude },
    { CASE(add_bias), .variants = 1, .bear = ALL, .exact = true, TILE, .shape = add_bias_shape },
    { CASE(column_sums), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, TILE,
      .shape = column_sums_shape, .magnitude = column_sums_magnitude },
};

const struct kernel_case_list oa_cases_rows = { cases, sizeof cases / sizeof *cases };
