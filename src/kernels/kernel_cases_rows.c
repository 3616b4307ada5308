/* SPDX-License-Identifier: Apache-2.0
 * Cases of rows of numbers: conversions, sums, products with numbers. */
#include "kernels/kernel_case_tools.h"

CALL(act_from_real, p->cols, x[0], x[1]);
CALL(real_from_act, p->cols, x[0], x[1]);
CALL(add, p->cols, x[0], x[1], x[2]);
CALL(add_scaled, p->cols, 0.625, p->variant ? NULL : x[0], x[1], x[2]);
CALL(add_to_real, p->cols, 0.625, x[0], x[1]);
CALL(axpy, p->cols, 0.625, x[0], x[1]);

MAGNITUDE(axpy)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * (fabs(b[0][j]) + fabs(b[1][j]));
}

MAGNITUDE(add_scaled)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * ((p->variant ? 0 : fabs(b[0][j])) + fabs(b[1][j]));
}

ASK(dot, p->cols, x[0], x[1]);

/* The sum is computed in double: 2⁻²⁹ of the error of a float sum. */
static double dot_magnitude(const problem *p, double *const *b)
{
    double sum = 0;
    for (long j = 0; j < p->cols; j++)
        sum += fabs(b[0][j] * b[1][j]);
    return roundings(p->cols) * sum * 0x1p-29;
}

CALL(scale_rows, p->rows, p->cols, x[0], x[1], p->operand[1].ld);
CALL(multiply, p->cols, x[0], x[1], x[2]);
CALL(multiply_gradient, p->cols, x[0], x[1], x[2]);

MAGNITUDE(multiply_gradient)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * (fabs(b[0][j] * b[1][j]) + fabs(b[2][j]));
}

CALL(add_bias, p->rows, p->cols, x[0], x[1], p->operand[1].ld);
CALL(column_sums, p->rows, p->cols, x[0], p->operand[0].ld, x[1]);

MAGNITUDE(column_sums)
{
    for (long j = 0; j < p->cols; j++) {
        double sum = fabs(b[1][j]);
        for (long i = 0; i < p->rows; i++)
            sum += fabs(b[0][at(p, 0, i, j)]);
        m[j] = roundings(p->rows) * sum;
    }
}

static const struct kernel_case cases[] = {
    { CASE(act_from_real), .variants = 1, .bear = ALL, .exact = true, VECTOR,
      .operand = { ROW(REAL, IN, NORMAL), ROW(ACT, OUT, NORMAL) } },
    { CASE(real_from_act), .variants = 1, .bear = ALL, .exact = true, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(REAL, OUT, NORMAL) } },
    { CASE(add), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) } },
    { CASE(add_scaled), .variants = 2, .bear = ALL, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = add_scaled_magnitude },
    { CASE(add_to_real), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(REAL, BOTH, NORMAL) }, .magnitude = axpy_magnitude },
    { CASE(axpy), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(REAL, IN, NORMAL), ROW(REAL, BOTH, NORMAL) }, .magnitude = axpy_magnitude },
    { CASE(dot), .variants = 1, .bear = BEAR_TINY | BEAR_HUGE, VECTOR,
      .operand = { ROW(REAL, IN, NORMAL), ROW(REAL, IN, NORMAL) },
      .result_magnitude = dot_magnitude },
    { CASE(scale_rows), .variants = 1, .bear = ALL, .exact = true, MATRIX,
      .operand = { COLUMN(REAL, IN, FACTOR), TILE(REAL, BOTH, NORMAL, 3) } },
    { CASE(multiply), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(REAL, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) } },
    { CASE(multiply_gradient), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(REAL, BOTH, NORMAL) },
      .magnitude = multiply_gradient_magnitude },
    { CASE(add_bias), .variants = 1, .bear = ALL, .exact = true, MATRIX,
      .operand = { ROW(REAL, IN, NORMAL), TILE(ACT, BOTH, NORMAL, 5) } },
    { CASE(column_sums), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, MATRIX,
      .operand = { TILE(ACT, IN, NORMAL, 5), ROW(REAL, BOTH, NORMAL) },
      .magnitude = column_sums_magnitude },
};

const struct kernel_case_list oa_cases_rows = { cases, sizeof cases / sizeof *cases };
