/* SPDX-License-Identifier: Apache-2.0
 * Cases of random features, of decay by position and of powers of logits. */
#include "kernels/kernel_case_tools.h"

/* ---- random features ---- the variant is the feature */

static long random_width(const problem *p)
{
    bool both = p->variant == OA_RANDOM_HYPERBOLIC || p->variant == OA_RANDOM_TRIG;
    return both ? 2 * p->cols : p->cols;
}

static void random_features_shape(problem *p)
{
    case_put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    case_put_tile(p, CASE_REAL, CASE_IN, FILL_NORMAL, 3);
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, random_width(p), random_width(p) + 5);
    case_put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

CALL(random_features, (enum oa_random_feature)p->variant, p->rows, p->cols, 0.6, x[0], x[1],
     p->operand[1].ld, x[2], p->operand[2].ld, x[3]);

/* The relative error of an exponential is the error of its argument. */
MAGNITUDE(random_features)
{
    for (long i = 0; i < p->rows; i++) {
        double most = 1;
        for (long j = 0; j < p->cols; j++)
            most = fmax(most, 4 * (fabs(b[1][at(p, 1, i, j)]) + fabs(b[0][j])));
        if (o == 3)
            m[i] = most;
        for (long j = 0; o == 2 && j < random_width(p); j++)
            m[at(p, 2, i, j)] =
                4 * most * (p->variant <= OA_RANDOM_HYPERBOLIC ? fabs(a[2][at(p, 2, i, j)]) : 1);
    }
}

static void random_features_gradient_shape(problem *p)
{
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, random_width(p), random_width(p) + 5);
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, random_width(p), random_width(p) + 2);
    case_put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 3);
    case_put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

CALL(random_features_gradient, (enum oa_random_feature)p->variant, p->rows, p->cols, 0.6, x[0],
     p->operand[0].ld, x[1], p->operand[1].ld, x[2], p->operand[2].ld, x[3]);

MAGNITUDE(random_features_gradient)
{
    for (long i = 0; i < p->rows; i++) {
        double sum = 0;
        for (long j = 0; j < p->cols; j++) {
            double g[2] = { b[1][at(p, 1, i, j)], 0 }, y[2] = { b[0][at(p, 0, i, j)], 0 }, here;
            if (random_width(p) > p->cols) {
                g[1] = b[1][at(p, 1, i, j + p->cols)];
                y[1] = b[0][at(p, 0, i, j + p->cols)];
            }
            here = (fabs(g[0]) + fabs(g[1])) *
                   (fabs(y[0]) + fabs(y[1]) + (p->variant == OA_RANDOM_RELU));
            sum += here;
            if (o == 2)
                m[at(p, 2, i, j)] = 4 * here;
        }
        if (o == 3)
            m[i] = roundings(2 * p->cols) * sum;
    }
}

/* ---- decay by position ---- */

CALL(decay_tile, p->rows, p->cols, x[0], x[1], x[2], x[3], x[4], p->operand[4].ld);

MAGNITUDE(decay_tile)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] = (4 + fabs(b[2][j]) + fabs(b[3][i])) * fabs(a[o][at(p, o, i, j)]);
}

/* ---- powers of logits ---- the variant is the degree − 1 */

CALL(power, p->cols, p->variant + 1, x[0]);
CALL(power_gradient, p->cols, p->variant + 1, x[0], x[1]);

MAGNITUDE(power)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = (4 + p->variant) * fabs(a[o][j]);
}

static const struct kernel_case cases[] = {
    { CASE(random_features), .variants = 4, .matrix = true, .bench_rows = 64, .bench_cols = 266,
      .shape = random_features_shape, .magnitude = random_features_magnitude },
    { CASE(random_features_gradient), .variants = 4, .matrix = true, .bench_rows = 64,
      .bench_cols = 266, .shape = random_features_gradient_shape,
      .magnitude = random_features_gradient_magnitude },
    { CASE(decay_tile), .variants = 1, .matrix = true, .bench_rows = 64, .bench_cols = 64,
      .operand = { COLUMN(INDEX, IN, LOW), COLUMN(INDEX, IN, HIGH), ROW(REAL, IN, NORMAL),
                   COLUMN(REAL, IN, NORMAL), TILE(REAL, BOTH, NORMAL, 3) },
      .magnitude = decay_tile_magnitude },
    { CASE(power), .variants = 4, VECTOR, .operand = { ROW(REAL, BOTH, NORMAL) },
      .magnitude = power_magnitude },
    { CASE(power_gradient), .variants = 4, VECTOR,
      .operand = { ROW(REAL, IN, NORMAL), ROW(REAL, BOTH, NORMAL) }, .magnitude = power_magnitude },
};

const struct kernel_case_list oa_cases_random = { cases, sizeof cases / sizeof *cases };
