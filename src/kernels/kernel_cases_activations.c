/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases of activation functions, gates, dropout, normal numbers and rotation, element by element.
 */
#include "kernels/kernel_case_tools.h"

#include <math.h>

static void act_act_shape(problem *p)
{
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
}

static double gelu_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->gelu(p->cols, x[0], x[1]);
    return 0;
}

/* 1 + tanh loses digits on the left side, so the error is one of x, not of the result. */
static void gelu_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fmin(fabs(b[0][j]), 12) + fabs(a[o][j]);
}

static double gelu_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    k->gelu_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}

static void gelu_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o,
                                    double *m)
{
    for (long j = 0; j < p->cols; j++) {
        double x = fmin(fabs(b[0][j]), 12);
        m[j] = fabs(b[1][j]) * (4 + 4 * x * (1 + 0.134 * x * x));
    }
    (void)a;
    (void)o;
}

static double gelu_exact_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->gelu_exact(p->cols, x[0], x[1]);
    return 0;
}

static double gelu_exact_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                       void *const *x)
{
    (void)s;
    k->gelu_exact_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}

static double gate_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->gate(p->cols, x[0], x[1], x[2]);
    return 0;
}

static void gate_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(a[o][j]);
    (void)b;
}

static void gate_gradient_shape(problem *p)
{
    for (int i = 0; i < 3; i++)
        put_row(p, CASE_ACT, CASE_IN, i == 1 ? FILL_WIDE : FILL_NORMAL);
    for (int i = 0; i < 2; i++)
        put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
}

static double gate_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    k->gate_gradient(p->cols, x[0], x[1], x[2], x[3], x[4]);
    return 0;
}

/* 1 − σ(b) cancels in the plain version. */
static void gate_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o,
                                    double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(a[o][j]) + (o == 4 ? 2 * fabs(b[0][j] * b[2][j]) : 0);
}

static double relu_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->relu(p->cols, x[0], x[1]);
    return 0;
}

static double relu_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    k->relu_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}
/* ---- dropout, rotation ---- */

static const struct oa_stream dropout_stream = { 0x0123456789abcdefu, 0xfedcba9876543210u };
static const double keep_values[] = { 0.9, 0.5, 1.0, 0.0 };
/* The first element: of a block in the middle, and such that block 2³² is crossed. */
static const uint64_t dropout_first[] = { 400, 4 * ((uint64_t)1 << 32) - 8 };

static double dropout_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->dropout(p->cols, dropout_stream, dropout_first[p->variant & 1], keep_values[p->variant / 2],
               x[0], x[1]);
    return 0;
}

static void dropout_tile_shape(problem *p)
{
    put_tile(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, 3);
}

static double dropout_tile_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->dropout_tile(p->rows, p->cols, dropout_stream, dropout_first[p->variant & 1] / 4, 1000,
                    keep_values[p->variant / 2], x[0], p->operand[0].ld);
    return 0;
}

/* Some of what is compared with is zero. */
static void dropout_alike_shape(problem *p)
{
    put(p, CASE_REAL, CASE_IN, FILL_CHANCE, 1, p->cols, p->cols);
    put(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, 1, p->cols, p->cols);
}

static double dropout_alike_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    (void)s;
    k->dropout_alike(p->cols, keep_values[p->variant], x[0], x[1]);
    return 0;
}

static void normals_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

/* The scales of a first value and of none; the first index as for dropout. */
static double normals_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->normals(p->cols, p->variant / 2 ? 1 : 0.02, dropout_stream,
               dropout_first[p->variant & 1] / 2, x[0]);
    return 0;
}

static void rotate_shape(problem *p)
{
    put(p, CASE_REAL, CASE_IN, FILL_FACTOR, 1, p->cols, p->cols);
    put(p, CASE_REAL, CASE_IN, FILL_CHANCE, 1, p->cols, p->cols);
    put(p, CASE_ACT, CASE_BOTH, FILL_NORMAL, p->rows, 2 * p->cols, 2 * p->cols);
}

static double rotate_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->rotate(p->rows, 2 * p->cols, x[0], x[1], p->variant ? -1 : 1, x[2]);
    return 0;
}

static void rotate_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < 2 * p->cols; j++)
            m[at(p, o, i, j)] = 4 * (fabs(b[o][at(p, o, i, j % p->cols)]) +
                                     fabs(b[o][at(p, o, i, j % p->cols + p->cols)]));
    (void)a;
}

static const struct kernel_case cases[] = {
    { CASE(gelu), .variants = 1, .bear = ALL, ROW, .shape = act_act_shape,
      .magnitude = gelu_magnitude },
    { CASE(gelu_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, ROW,
      .shape = act_act_act_shape, .magnitude = gelu_gradient_magnitude },
    { CASE(gelu_exact), .variants = 1, .bear = ALL, ROW, .shape = act_act_shape,
      .magnitude = gelu_magnitude },
    { CASE(gelu_exact_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, ROW,
      .shape = act_act_act_shape, .magnitude = gelu_gradient_magnitude },
    { CASE(gate), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, ROW, .shape = act_act_act_shape,
      .magnitude = gate_magnitude },
    { CASE(gate_gradient), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, ROW,
      .shape = gate_gradient_shape, .magnitude = gate_gradient_magnitude },
    { CASE(relu), .variants = 1, .bear = ALL, ROW, .shape = act_act_shape },
    { CASE(relu_gradient), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, ROW,
      .shape = act_act_act_shape },
    { CASE(dropout), .variants = 8, .bear = ALL, .exact = true, .same = { 0, 1 }, ROW,
      .shape = act_act_shape },
    { CASE(dropout_tile), .variants = 8, .bear = ALL, .exact = true, TILE,
      .shape = dropout_tile_shape },
    { CASE(dropout_alike), .variants = 2, .bear = ALL, .exact = true, ROW,
      .shape = dropout_alike_shape },
    { CASE(normals), .variants = 4, .exact = true, ROW, .shape = normals_shape },
    { CASE(rotate), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 12,
      .bench_cols = 32, .shape = rotate_shape, .magnitude = rotate_magnitude },
};

const struct kernel_case_list oa_cases_activations = { cases, sizeof cases / sizeof *cases };
