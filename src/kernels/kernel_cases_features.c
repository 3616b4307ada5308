/* SPDX-License-Identifier: Apache-2.0
 * Cases of feature maps of single elements and of their products. */
#include "kernels/kernel_case_tools.h"

/* ---- one number each ---- the variant is the feature; powers up to the third */

enum { DEGREE = 3 };

static long feature_width(const problem *p)
{
    return p->variant == OA_FEATURE_POWER ? DEGREE * p->cols : p->cols;
}

static enum case_fill feature_fill(const problem *p)
{
    return p->variant == OA_FEATURE_COS ? FILL_WIDE : FILL_NORMAL;
}

static void feature_shape(problem *p)
{
    case_put_tile(p, CASE_ACT, CASE_IN, feature_fill(p), 3);
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, feature_width(p), feature_width(p) + 5);
}

CALL(feature, (enum oa_feature)p->variant, DEGREE, p->rows, p->cols, x[0], p->operand[0].ld, x[1],
     p->operand[1].ld);

MAGNITUDE(feature)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < feature_width(p); j++)
            m[at(p, o, i, j)] = p->variant == OA_FEATURE_COS ? 2 : 4 * fabs(a[o][at(p, o, i, j)]);
}

static void feature_gradient_shape(problem *p)
{
    case_put_tile(p, CASE_ACT, CASE_IN, feature_fill(p), 3);
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, feature_width(p), feature_width(p) + 5);
    case_put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 7);
}

CALL(feature_gradient, (enum oa_feature)p->variant, DEGREE, p->rows, p->cols, x[0],
     p->operand[0].ld, x[1], p->operand[1].ld, x[2], p->operand[2].ld);

MAGNITUDE(feature_gradient)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            double x = fabs(b[0][at(p, 0, i, j)]), power = 1, sum = fabs(b[1][at(p, 1, i, j)]);
            for (int d = 1; d < DEGREE && p->variant == OA_FEATURE_POWER; d++)
                sum += (d + 1) * (power *= x) * fabs(b[1][at(p, 1, i, j + d * p->cols)]);
            m[at(p, o, i, j)] = 4 * sum;
        }
}

/* ---- places ---- one token of `rows` heads, angle 0.4 */

#define PLACE_COSINE 0.9210609940028851
#define PLACE_SINE 0.3894183423086505

static void place_shape(problem *p)
{
    case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 0);
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, 2 * p->cols, 2 * p->cols);
}

CALL(place, p->rows, p->cols, PLACE_COSINE, PLACE_SINE, x[0], x[1]);

MAGNITUDE(place)
{
    for (long i = 0; i < p->rows * 2 * p->cols; i++)
        m[i] = 2 * fabs(a[o][i]);
}

static void place_gradient_shape(problem *p)
{
    case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 0);
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, 2 * p->cols, 2 * p->cols);
    case_put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 0);
}

CALL(place_gradient, p->rows, p->cols, PLACE_COSINE, PLACE_SINE, x[0], x[1], x[2]);

MAGNITUDE(place_gradient)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] =
                3 * (fabs(b[1][at(p, 1, i, j)]) + fabs(b[1][at(p, 1, i, j + p->cols)]));
}

/* ---- products of pairs ---- the variant: which of the three parts exist (the last always does) */

static const double quadratic_factors[][3] = { { 1, 0.5, 0.25 }, { 0, 0, 1 } };

static long quadratic_width(const problem *p)
{
    return (p->variant == 0 ? 1 + p->cols : 0) + p->cols * (p->cols + 1) / 2;
}

static void quadratic_shape(problem *p)
{
    case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, quadratic_width(p),
             quadratic_width(p) + 5);
}

CALL(quadratic, p->rows, p->cols, quadratic_factors[p->variant], x[0], p->operand[0].ld, x[1],
     p->operand[1].ld);

MAGNITUDE(quadratic)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < quadratic_width(p); j++)
            m[at(p, o, i, j)] = 3 * fabs(a[o][at(p, o, i, j)]);
}

static void quadratic_gradient_shape(problem *p)
{
    case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, quadratic_width(p),
             quadratic_width(p) + 5);
    case_put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 7);
}

CALL(quadratic_gradient, p->rows, p->cols, quadratic_factors[p->variant], x[0], p->operand[0].ld,
     x[1], p->operand[1].ld, x[2], p->operand[2].ld);

MAGNITUDE(quadratic_gradient)
{
    long first = p->variant == 0 ? 1 + p->cols : 0;
    for (long i = 0; i < p->rows; i++) {
        const double *x = b[0] + at(p, 0, i, 0), *dy = b[1] + at(p, 1, i, 0), *pair = dy + first;
        double *row = m + at(p, o, i, 0);
        for (long j = 0; j < p->cols; j++)
            row[j] = p->variant == 0 ? fabs(dy[1 + j]) : 0;
        for (long r = 0; r < p->cols; r++) {
            row[r] += 2 * fabs(*pair++ * x[r]);
            for (long c = r + 1; c < p->cols; c++, pair++) {
                row[r] += 2 * fabs(*pair * x[c]);
                row[c] += 2 * fabs(*pair * x[r]);
            }
        }
        for (long j = 0; j < p->cols; j++)
            row[j] *= roundings(p->cols);
    }
}

CALL(product, p->cols, 0.75, x[0], x[1], x[2]);

MAGNITUDE(product)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * fabs(a[o][j]);
}

static const struct kernel_case cases[] = {
    { CASE(feature), .variants = 4, .bear = ALL, .matrix = true, .bench_rows = 256,
      .bench_cols = 64, .shape = feature_shape, .magnitude = feature_magnitude },
    { CASE(feature_gradient), .variants = 4, .bear = BEAR_TINY | BEAR_NAN, .matrix = true,
      .bench_rows = 256, .bench_cols = 64, .shape = feature_gradient_shape,
      .magnitude = feature_gradient_magnitude },
    { CASE(place), .variants = 1, .bear = ALL, .matrix = true, .bench_rows = 12, .bench_cols = 64,
      .shape = place_shape, .magnitude = place_magnitude },
    { CASE(place_gradient), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, .matrix = true,
      .bench_rows = 12, .bench_cols = 64, .shape = place_gradient_shape,
      .magnitude = place_gradient_magnitude },
    { CASE(quadratic), .variants = 2, .matrix = true, .bench_rows = 256, .bench_cols = 32,
      .shape = quadratic_shape, .magnitude = quadratic_magnitude },
    { CASE(quadratic_gradient), .variants = 2, .matrix = true, .bench_rows = 256, .bench_cols = 32,
      .shape = quadratic_gradient_shape, .magnitude = quadratic_gradient_magnitude },
    { CASE(product), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = product_magnitude },
};

const struct kernel_case_list oa_cases_features = { cases, sizeof cases / sizeof *cases };
