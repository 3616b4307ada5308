/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases of layer norm. Variant 1: without bias.
 */
#include "kernels/kernel_case_tools.h"

#include <math.h>

static void norm_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 0);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 0);
    put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
    put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

static double norm_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->norm(p->rows, p->cols, x[0], x[1], p->variant ? NULL : x[2], 1e-2, x[3], x[4], x[5]);
    return 0;
}

static void norm_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    double slack = roundings(p->cols);
    for (long i = 0; i < p->rows; i++) {
        double top = row_largest(p, b[0], 0, i), r = a[5][i];
        if (o == 4)
            m[i] = slack * top;
        else if (o == 5)
            m[i] = slack * r * (1 + top * top * r * r);
        else
            for (long j = 0; j < p->cols; j++) {
                double g = fabs(b[1][j]), h = fabs(b[0][at(p, 0, i, j)] - a[4][i]) * r;
                m[at(p, o, i, j)] =
                    slack * g * (top * r + h * (1 + top * top * r * r)) + fabs(b[2][j]);
            }
    }
}

static void norm_gradient_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 0);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_column(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_column(p, CASE_REAL, CASE_IN, FILL_FACTOR);
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 0);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 0);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double norm_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    k->norm_gradient(p->rows, p->cols, x[0], x[1], x[2], x[3], x[4], x[5], x[6],
                     p->variant ? NULL : x[7]);
    return 0;
}

static double norm_h(const problem *p, double *const *b, long i, long j)
{
    return (fabs(b[0][at(p, 0, i, j)]) + fabs(b[2][i])) * b[3][i];
}

static void norm_gradient_sums(const problem *p, double *const *b, int o, double *m)
{
    for (long j = 0; j < p->cols; j++) {
        double sum = fabs(b[o][j]);
        for (long i = 0; i < p->rows; i++)
            sum += fabs(b[4][at(p, 4, i, j)]) * (o == 6 ? norm_h(p, b, i, j) : 1);
        m[j] = roundings(p->rows) * sum;
    }
}

static void norm_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o,
                                    double *m)
{
    (void)a;
    if (o != 5) {
        norm_gradient_sums(p, b, o, m);
        return;
    }
    for (long i = 0; i < p->rows; i++) {
        double e = 0, eh = 0;
        for (long j = 0; j < p->cols; j++) {
            double term = fabs(b[4][at(p, 4, i, j)] * b[1][j]) / (double)p->cols;
            e += term;
            eh += term * norm_h(p, b, i, j);
        }
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] =
                roundings(p->cols) * b[3][i] *
                (fabs(b[4][at(p, 4, i, j)] * b[1][j]) + e + norm_h(p, b, i, j) * eh);
    }
}

static const struct kernel_case cases[] = {
    { CASE(norm), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 64,
      .bench_cols = 768, .shape = norm_shape, .magnitude = norm_magnitude },
    { CASE(norm_gradient), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 64,
      .bench_cols = 768, .shape = norm_gradient_shape, .magnitude = norm_gradient_magnitude },
};

const struct kernel_case_list oa_cases_norm = { cases, sizeof cases / sizeof *cases };
