/* SPDX-License-Identifier: Apache-2.0
 * Cases of state updates with decay and the delta rule. */
#include "kernels/kernel_case_tools.h"

#define SCALE (1.0 / 16)

CALL(log_sigmoid, p->cols, SCALE, x[0], x[1]);
CALL(log_sigmoid_gradient, p->cols, SCALE, x[0], x[1], x[2]);
CALL(exp_difference, p->cols, x[0], x[1], x[2]);

MAGNITUDE(log_sigmoid)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 6 * fabs(a[o][j]);
}

MAGNITUDE(exp_difference)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = (4 + fabs(b[0][j]) + fabs(b[1][j])) * fabs(a[o][j]);
}

/* ---- triangular systems ---- the variant: transposed. The matrix is small, so that the solution
 * stays as large as the right side. */

static void solve_unit_lower_shape(problem *p)
{
    case_put(p, CASE_REAL, CASE_IN, FILL_NORMAL, p->rows, p->rows, p->rows + 3);
    case_put_tile(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, 5);
}

CALL(solve_unit_lower, p->rows, p->cols, p->variant, x[0], p->operand[0].ld, x[1],
     p->operand[1].ld);

/* (I − |L|)⁻¹ |x|, which bounds every sum in between. */
MAGNITUDE(solve_unit_lower)
{
    long n = p->rows;
    for (long step = 0; step < n; step++) {
        long i = p->variant ? n - 1 - step : step;
        for (long c = 0; c < p->cols; c++) {
            double sum = fabs(b[1][at(p, 1, i, c)]);
            for (long j = p->variant ? i + 1 : 0; j < (p->variant ? n : i); j++)
                sum += fabs(b[0][p->variant ? at(p, 0, j, i) : at(p, 0, i, j)]) * m[at(p, 1, j, c)];
            m[at(p, 1, i, c)] = roundings(n) * sum;
        }
    }
}

/* ---- pairs inside a block ---- the variant: without and with the pairs of keys */

static void decay_pairs_shape(problem *p)
{
    case_put_tile(p, CASE_REAL, CASE_IN, FILL_FACTOR, 0);
    case_put_tile(p, CASE_REAL, CASE_IN, FILL_NORMAL, 0);
    case_put_tile(p, CASE_REAL, CASE_IN, FILL_NORMAL, 0);
    case_put(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, p->rows, p->rows, p->rows + 3);
    case_put(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, p->rows, p->rows, p->rows + 3);
    case_put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

CALL(decay_pairs, p->rows, p->cols, x[0], x[1], x[2], x[3], p->variant ? x[4] : NULL,
     p->operand[3].ld, x[5]);

MAGNITUDE(decay_pairs)
{
    if (o == 5) {
        for (long c = 0; c < p->cols; c++)
            m[c] = (double)(4 + p->rows) * fabs(a[5][c]);
        return;
    }
    for (long j = 0; j < p->rows; j++)
        for (long i = j + (o == 4); i < p->rows && (o == 3 || p->variant); i++) {
            double sum = 0;
            for (long c = 0; c < p->cols; c++) {
                double product = fabs(b[o == 3 ? 1 : 2][at(p, 1, i, c)] * b[2][at(p, 2, j, c)]);
                for (long l = j + 1; l <= i; l++)
                    product *= fabs(b[0][at(p, 0, l, c)]);
                sum += product;
            }
            m[at(p, o, i, j)] = (roundings(p->cols) + (double)p->rows) * sum;
        }
}

static const struct kernel_case cases[] = {
    { CASE(log_sigmoid), .variants = 1, .bear = BEAR_TINY, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(REAL, OUT, NORMAL) },
      .magnitude = log_sigmoid_magnitude },
    { CASE(log_sigmoid_gradient), .variants = 1, .bear = BEAR_TINY, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(REAL, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = log_sigmoid_magnitude },
    { CASE(exp_difference), .variants = 1, VECTOR,
      .operand = { ROW(REAL, IN, NORMAL), ROW(REAL, IN, NORMAL), ROW(REAL, OUT, NORMAL) },
      .magnitude = exp_difference_magnitude },
    { CASE(solve_unit_lower), .variants = 2, .matrix = true, .bench_rows = 16, .bench_cols = 64,
      .shape = solve_unit_lower_shape, .magnitude = solve_unit_lower_magnitude },
    { CASE(decay_pairs), .variants = 2, .matrix = true, .bench_rows = 16, .bench_cols = 64,
      .shape = decay_pairs_shape, .magnitude = decay_pairs_magnitude },
};

const struct kernel_case_list oa_cases_recurrence = { cases, sizeof cases / sizeof *cases };
