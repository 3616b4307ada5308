/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases of softmax over tiles of logits.
 */
#include "kernels/kernel_case_tools.h"

#include <math.h>

#define LOGIT_SCALE 0.125

static void softmax_tile_shape(problem *p)
{
    put_column(p, CASE_INDEX, CASE_IN, FILL_LOW);
    put_column(p, CASE_INDEX, CASE_IN, FILL_HIGH);
    put_tile(p, CASE_REAL, CASE_BOTH, FILL_SEEN, 3);
    put_column(p, CASE_REAL, CASE_BOTH, FILL_TOP);
    put_column(p, CASE_REAL, CASE_BOTH, FILL_MASS);
    put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

static double softmax_tile_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    double scale = p->variant ? -3 : LOGIT_SCALE;
    k->softmax_tile(p->rows, p->cols, scale, x[0], x[1], x[2], p->operand[2].ld, x[3], x[4], x[5]);
    return 0;
}

/* e^t is off by the error of t, which is as large as the terms t is the difference of. */
static void softmax_tile_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++) {
        double top = isfinite(a[3][i]) ? fabs(a[3][i]) : 0, old = isfinite(b[3][i]) ? fabs(b[3][i]) : 0;
        double off = 4 + 2 * top + old + 90; /* no weight beyond e^−90 matters */
        if (o == 2)
            for (long j = 0; j < p->cols; j++)
                m[at(p, o, i, j)] = off * a[2][at(p, 2, i, j)];
        else
            m[i] = o == 3 ? top : o == 4 ? (off + roundings(p->cols)) * a[4][i] : off * a[5][i];
    }
}

static void softmax_again_shape(problem *p)
{
    put_column(p, CASE_INDEX, CASE_IN, FILL_LOW);
    put_column(p, CASE_INDEX, CASE_IN, FILL_HIGH);
    put_tile(p, CASE_REAL, CASE_BOTH, FILL_SEEN, 3);
    put_column(p, CASE_REAL, CASE_IN, FILL_LSE);
}

static double softmax_again_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->softmax_again(p->rows, p->cols, LOGIT_SCALE, x[0], x[1], x[3], x[2], p->operand[2].ld);
    return 0;
}

static void softmax_again_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] = a[2][at(p, 2, i, j)] * (94 + 2 * (isfinite(b[3][i]) ? fabs(b[3][i]) : 0));
}

static void softmax_gradient_shape(problem *p)
{
    put_tile(p, CASE_REAL, CASE_IN, FILL_CHANCE, 3);
    put_tile(p, CASE_REAL, CASE_IN, FILL_COVERED, 3);
    put_column(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 7);
}

static double softmax_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->softmax_gradient(p->rows, p->cols, LOGIT_SCALE, x[0], p->operand[0].ld, x[1], p->operand[1].ld, x[2], x[3],
                        p->operand[3].ld);
    return 0;
}

static void softmax_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            double chance = b[0][at(p, 0, i, j)];
            m[at(p, o, i, j)] = chance == 0 ? 0 : 4 * chance * (fabs(b[1][at(p, 1, i, j)]) + fabs(b[2][i]));
        }
    (void)a;
}

static void tile_to_act_shape(problem *p)
{
    put_tile(p, CASE_REAL, CASE_IN, FILL_NORMAL, 3);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 5);
}

static double tile_to_act_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->tile_to_act(p->rows, p->cols, x[0], p->operand[0].ld, x[1], p->operand[1].ld);
    return 0;
}

static void tile_to_real_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    put_tile(p, CASE_REAL, CASE_OUT, FILL_NORMAL, 5);
}

static double tile_to_real_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->tile_to_real(p->rows, p->cols, x[0], p->operand[0].ld, x[1], p->operand[1].ld);
    return 0;
}

static void mask_tile_shape(problem *p)
{
    put_column(p, CASE_INDEX, CASE_IN, FILL_LOW);
    put_column(p, CASE_INDEX, CASE_IN, FILL_HIGH);
    put_tile(p, CASE_REAL, CASE_IN, FILL_SEEN, 3);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 5);
    put_column(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double mask_tile_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->mask_tile(p->rows, p->cols, x[0], x[1], x[2], p->operand[2].ld, x[3], p->operand[3].ld,
                 p->variant ? NULL : x[4]);
    return 0;
}

static void mask_tile_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows && o == 4; i++) {
        double sum = fabs(b[4][i]);
        for (long j = 0; j < p->cols; j++)
            if (isfinite(a[3][at(p, 3, i, j)]))
                sum += fabs(a[3][at(p, 3, i, j)]);
        m[i] = roundings(p->cols) * sum;
    }
}

static void row_dots_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 5);
    put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

static double row_dots_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->row_dots(p->rows, p->cols, x[0], p->operand[0].ld, x[1], p->operand[1].ld, x[2]);
    return 0;
}

static void row_dots_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++) {
        double sum = 0;
        for (long j = 0; j < p->cols; j++)
            sum += fabs(b[0][at(p, 0, i, j)] * b[1][at(p, 1, i, j)]);
        m[i] = roundings(p->cols) * sum;
    }
    (void)a;
    (void)o;
}

static const struct kernel_case cases[] = {
    { CASE(softmax_tile), .variants = 2, TILE, .shape = softmax_tile_shape, .magnitude = softmax_tile_magnitude },
    { CASE(softmax_again), .variants = 1, TILE, .shape = softmax_again_shape, .magnitude = softmax_again_magnitude },
    { CASE(softmax_gradient), .variants = 1, .bear = BEAR_TINY, TILE, .shape = softmax_gradient_shape,
      .magnitude = softmax_gradient_magnitude },
    { CASE(tile_to_act), .variants = 1, .bear = ALL, .exact = true, TILE, .shape = tile_to_act_shape },
    { CASE(tile_to_real), .variants = 1, .bear = ALL, .exact = true, TILE, .shape = tile_to_real_shape },
    { CASE(mask_tile), .variants = 2, TILE, .shape = mask_tile_shape, .magnitude = mask_tile_magnitude },
    { CASE(row_dots), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, .matrix = true, .bench_rows = 512, .bench_cols = 64,
      .shape = row_dots_shape, .magnitude = row_dots_magnitude },
};

const struct kernel_case_list oa_cases_softmax = { cases, sizeof cases / sizeof *cases };
