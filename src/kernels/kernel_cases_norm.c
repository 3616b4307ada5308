/* SPDX-License-Identifier: Apache-2.0
 * Cases of norms. Variant 1: layer norm without bias, root mean square norm without gain. */
#include "kernels/kernel_case_tools.h"

CALL(norm, p->rows, p->cols, x[0], x[1], p->variant ? NULL : x[2], 1e-2, x[3], x[4], x[5]);

MAGNITUDE(norm)
{
    double slack = roundings(p->cols);
    for (long i = 0; i < p->rows; i++) {
        double top = largest_in_row(p, b[0], 0, i), r = a[5][i];
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

CALL(norm_gradient, p->rows, p->cols, x[0], x[1], x[2], x[3], x[4], x[5], x[6],
     p->variant ? NULL : x[7]);

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

MAGNITUDE(norm_gradient)
{
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

/* ---- root mean square norm: the same kernels without a mean ---- */

static double rms_norm_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->norm(p->rows, p->cols, x[0], p->variant ? NULL : x[1], NULL, 1e-2, x[2], NULL, x[3]);
    return 0;
}

MAGNITUDE(rms_norm)
{
    double slack = roundings(p->cols);
    for (long i = 0; i < p->rows; i++) {
        if (o == 3)
            m[i] = slack * a[3][i];
        else
            for (long j = 0; j < p->cols; j++)
                m[at(p, o, i, j)] =
                    slack * (p->variant ? 1 : fabs(b[1][j])) * fabs(b[0][at(p, 0, i, j)]) * a[3][i];
    }
}

static double rms_norm_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                     void *const *x)
{
    (void)s;
    bool plain = p->variant;
    k->norm_gradient(p->rows, p->cols, x[0], plain ? NULL : x[1], NULL, x[2], x[3], x[4],
                     plain ? NULL : x[5], NULL);
    return 0;
}

MAGNITUDE(rms_norm_gradient)
{
    for (long j = 0; o == 5 && j < p->cols; j++) {
        double sum = fabs(b[5][j]);
        for (long i = 0; i < p->rows; i++)
            sum += fabs(b[3][at(p, 3, i, j)] * b[0][at(p, 0, i, j)]) * b[2][i];
        m[j] = roundings(p->rows) * sum;
    }
    for (long i = 0; o == 4 && i < p->rows; i++) {
        double along = 0;
        for (long j = 0; j < p->cols; j++)
            along +=
                fabs(b[3][at(p, 3, i, j)] * (p->variant ? 1 : b[1][j]) * b[0][at(p, 0, i, j)]) *
                b[2][i] / (double)p->cols;
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] = roundings(p->cols) * b[2][i] *
                                (fabs(b[3][at(p, 3, i, j)] * (p->variant ? 1 : b[1][j])) +
                                 fabs(b[0][at(p, 0, i, j)]) * b[2][i] * along);
    }
}

static const struct kernel_case cases[] = {
    { CASE(norm), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 64,
      .bench_cols = 768,
      .operand = { TILE(ACT, IN, NORMAL, 0), ROW(REAL, IN, NORMAL), ROW(REAL, IN, NORMAL),
                   TILE(ACT, OUT, NORMAL, 0), COLUMN(REAL, OUT, NORMAL),
                   COLUMN(REAL, OUT, NORMAL) },
      .magnitude = norm_magnitude },
    { CASE(norm_gradient), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 64,
      .bench_cols = 768,
      .operand = { TILE(ACT, IN, NORMAL, 0), ROW(REAL, IN, NORMAL), COLUMN(REAL, IN, NORMAL),
                   COLUMN(REAL, IN, FACTOR), TILE(ACT, IN, NORMAL, 0), TILE(ACT, OUT, NORMAL, 0),
                   ROW(REAL, BOTH, NORMAL), ROW(REAL, BOTH, NORMAL) },
      .magnitude = norm_gradient_magnitude },
    { .name = "rms_norm",
      .slot = offsetof(struct oa_kernels, norm),
      .call = rms_norm_call,
      .variants = 2,
      .bear = BEAR_TINY,
      .matrix = true,
      .bench_rows = 64,
      .bench_cols = 768,
      .operand = { TILE(ACT, IN, NORMAL, 0), ROW(REAL, IN, NORMAL), TILE(ACT, OUT, NORMAL, 0),
                   COLUMN(REAL, OUT, NORMAL) },
      .magnitude = rms_norm_magnitude },
    { .name = "rms_norm_gradient",
      .slot = offsetof(struct oa_kernels, norm_gradient),
      .call = rms_norm_gradient_call,
      .variants = 2,
      .bear = BEAR_TINY,
      .matrix = true,
      .bench_rows = 64,
      .bench_cols = 768,
      .operand = { TILE(ACT, IN, NORMAL, 0), ROW(REAL, IN, NORMAL), COLUMN(REAL, IN, FACTOR),
                   TILE(ACT, IN, NORMAL, 0), TILE(ACT, OUT, NORMAL, 0), ROW(REAL, BOTH, NORMAL) },
      .magnitude = rms_norm_gradient_magnitude },
};

const struct kernel_case_list oa_cases_norm = { cases, sizeof cases / sizeof *cases };
