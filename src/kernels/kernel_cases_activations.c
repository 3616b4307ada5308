/* SPDX-License-Identifier: Apache-2.0
 * Cases of activation functions, gates, dropout, normal numbers and rotation, element by element.
 */
#include "kernels/kernel_case_tools.h"

CALL(gelu, p->cols, x[0], x[1]);

/* 1 + tanh loses digits on the left side, so the error is one of x, not of the result. */
MAGNITUDE(gelu)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fmin(fabs(b[0][j]), 12) + fabs(a[o][j]);
}

CALL(gelu_gradient, p->cols, x[0], x[1], x[2]);

MAGNITUDE(gelu_gradient)
{
    for (long j = 0; j < p->cols; j++) {
        double x = fmin(fabs(b[0][j]), 12);
        m[j] = fabs(b[1][j]) * (4 + 4 * x * (1 + 0.134 * x * x));
    }
}

CALL(gelu_exact, p->cols, x[0], x[1]);
CALL(gelu_exact_gradient, p->cols, x[0], x[1], x[2]);
CALL(gate, p->cols, x[0], x[1], x[2]);

MAGNITUDE(gate)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(a[o][j]);
}

static void gate_gradient_shape(problem *p)
{
    for (int i = 0; i < 3; i++)
        case_put_row(p, CASE_ACT, CASE_IN, i == 1 ? FILL_WIDE : FILL_NORMAL);
    for (int i = 0; i < 2; i++)
        case_put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
}

CALL(gate_gradient, p->cols, x[0], x[1], x[2], x[3], x[4]);

/* 1 − σ(b) cancels in the plain version. */
MAGNITUDE(gate_gradient)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(a[o][j]) + (o == 4 ? 2 * fabs(b[0][j] * b[2][j]) : 0);
}

CALL(gate_swish, p->cols, x[0], x[1], x[2]);

MAGNITUDE(gate_swish)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(a[o][j]);
}

CALL(silu, p->cols, x[0], x[1]);
CALL(silu_gradient, p->cols, x[0], x[1], x[2]);

MAGNITUDE(silu)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(a[o][j]);
}

CALL(gate_swish_gradient, p->cols, x[0], x[1], x[2], x[3], x[4]);

/* σ(b) + b σ(b)(1 − σ(b)) cancels on the left side. */
MAGNITUDE(gate_swish_gradient)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(a[o][j]) + (o == 4 ? 4 * fabs(b[0][j] * b[2][j]) * (1 + fabs(b[1][j])) : 0);
}

/* The two terms cancel around −1.28; 1 − σ cancels in the plain version. */
MAGNITUDE(silu_gradient)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 4 * fabs(b[1][j]) * (1 + fmin(fabs(b[0][j]), 100));
}

CALL(relu, p->cols, x[0], x[1]);
CALL(relu_gradient, p->cols, x[0], x[1], x[2]);
CALL(relu2, p->cols, x[0], x[1]);
CALL(relu2_gradient, p->cols, x[0], x[1], x[2]);

MAGNITUDE(relu2)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * fabs(a[o][j]);
}

/* ---- dropout, rotation ---- */

static const struct oa_stream dropout_stream = { 0x0123456789abcdefu, 0xfedcba9876543210u };
static const double keep_values[] = { 0.9, 0.5, 1.0, 0.0 };
/* The first element: within the stream, and such that the elements cross block 2³². */
static const uint64_t dropout_first[] = { 400, 4 * ((uint64_t)1 << 32) - 8 };

CALL(dropout, p->cols, dropout_stream, dropout_first[p->variant & 1], keep_values[p->variant / 2],
     x[0], x[1]);
CALL(dropout_tile, p->rows, p->cols, dropout_stream, dropout_first[p->variant & 1] / 4, 1000,
     keep_values[p->variant / 2], x[0], p->operand[0].ld);

/* Some elements of `like` are zero. */
static void dropout_alike_shape(problem *p)
{
    case_put(p, CASE_REAL, CASE_IN, FILL_CHANCE, 1, p->cols, p->cols);
    case_put(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, 1, p->cols, p->cols);
}

CALL(dropout_alike, p->cols, keep_values[p->variant], x[0], x[1]);

/* The scales of a first value and of none; the first index as for dropout. */
CALL(normals, p->cols, p->variant / 2 ? 1 : 0.02, dropout_stream, dropout_first[p->variant & 1] / 2,
     x[0]);

/* Variants: bit 0 backward, bit 1 interleaved, bit 2 heads with columns that are not rotated. */
static void rotate_shape(problem *p)
{
    case_put(p, CASE_REAL, CASE_IN, FILL_FACTOR, 1, p->cols, p->cols);
    case_put(p, CASE_REAL, CASE_IN, FILL_CHANCE, 1, p->cols, p->cols);
    case_put(p, CASE_ACT, CASE_BOTH, FILL_NORMAL, p->rows, 2 * p->cols,
             2 * p->cols + (p->variant & 4 ? 3 : 0));
}

static struct oa_rotation rotation_of(const problem *p, void *const *x)
{
    return (struct oa_rotation){ .heads = p->rows,
                                 .width = p->operand[2].ld,
                                 .turned = 2 * p->cols,
                                 .interleaved = p->variant & 2,
                                 .cosine = x[0],
                                 .sine = x[1] };
}

CALL(rotate, &(struct oa_rotation[]){ rotation_of(p, x) }[0], p->variant & 1 ? -1 : 1, x[2]);

MAGNITUDE(rotate)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < 2 * p->cols; j++) {
            long other = p->variant & 2 ? j ^ 1 : (j + p->cols) % (2 * p->cols);
            m[at(p, o, i, j)] = 4 * (fabs(b[o][at(p, o, i, j)]) + fabs(b[o][at(p, o, i, other)]));
        }
}

static const struct kernel_case cases[] = {
    { CASE(gelu), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) }, .magnitude = gelu_magnitude },
    { CASE(gelu_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = gelu_gradient_magnitude },
    { CASE(gelu_exact), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) }, .magnitude = gelu_magnitude },
    { CASE(gelu_exact_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = gelu_gradient_magnitude },
    { CASE(gate), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = gate_magnitude },
    { CASE(gate_gradient), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, VECTOR,
      .shape = gate_gradient_shape, .magnitude = gate_gradient_magnitude },
    { CASE(gate_swish), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = gate_swish_magnitude },
    { CASE(gate_swish_gradient), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, VECTOR,
      .shape = gate_gradient_shape, .magnitude = gate_swish_gradient_magnitude },
    { CASE(relu), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) } },
    { CASE(relu_gradient), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) } },
    { CASE(relu2), .variants = 1, .bear = ALL, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) }, .magnitude = relu2_magnitude },
    { CASE(relu2_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = relu2_magnitude },
    { CASE(silu), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) }, .magnitude = silu_magnitude },
    { CASE(silu_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) },
      .magnitude = silu_gradient_magnitude },
    { CASE(dropout), .variants = 8, .bear = ALL, .exact = true, .same = { 0, 1 }, VECTOR,
      .operand = { ROW(ACT, IN, NORMAL), ROW(ACT, OUT, NORMAL) } },
    { CASE(dropout_tile), .variants = 8, .bear = ALL, .exact = true, MATRIX,
      .operand = { TILE(REAL, BOTH, NORMAL, 3) } },
    { CASE(dropout_alike), .variants = 2, .bear = ALL, .exact = true, VECTOR,
      .shape = dropout_alike_shape },
    { CASE(normals), .variants = 4, .exact = true, VECTOR, .operand = { ROW(REAL, OUT, NORMAL) } },
    { CASE(rotate), .variants = 8, .bear = BEAR_TINY, .matrix = true, .bench_rows = 12,
      .bench_cols = 32, .shape = rotate_shape, .magnitude = rotate_magnitude },
};

const struct kernel_case_list oa_cases_activations = { cases, sizeof cases / sizeof *cases };
