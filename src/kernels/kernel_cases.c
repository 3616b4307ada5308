/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of kernel_cases.h: for each kernel the shapes of its operands, one call and the size its errors may have.
 */
#include "kernels/kernel_cases.h"

#include <math.h>

typedef const struct oa_kernels table;
typedef struct kernel_problem problem;

static const struct oa_stream dropout_stream = { 0x0123456789abcdefu, 0xfedcba9876543210u };
static const double keep_values[] = { 0.9, 0.5, 1.0, 0.0 };
/* The first element: of a block in the middle, and such that block 2³² is crossed. */
static const uint64_t dropout_first[] = { 400, 4 * ((uint64_t)1 << 32) - 8 };

static void put(problem *p, enum case_type type, enum case_role role, enum case_fill fill, long rows, long cols,
                long ld)
{
    p->operand[p->count++] = (struct case_operand){ type, role, fill, rows, cols, ld };
}

static void put_row(problem *p, enum case_type type, enum case_role role, enum case_fill fill)
{
    put(p, type, role, fill, 1, p->cols, p->cols);
}

static void put_column(problem *p, enum case_type type, enum case_role role, enum case_fill fill)
{
    put(p, type, role, fill, 1, p->rows, p->rows);
}

static void put_tile(problem *p, enum case_type type, enum case_role role, enum case_fill fill, long more)
{
    put(p, type, role, fill, p->rows, p->cols, p->cols + more);
}

static double roundings(long n) /* of a sum of n terms */
{
    return 4 + sqrt((double)n);
}

/* Where operand i of the problem keeps element (r, j). */
static long at(const problem *p, int i, long r, long j)
{
    return r * p->operand[i].ld + j;
}

/* ---- matrix products ---- */

static void gemm_shape(problem *p)
{
    bool ta = p->variant & 1, tb = p->variant & 2, accumulate = p->variant >= 8, real = p->variant >= 4;
    long more = p->awkward ? 3 : 0;
    put(p, CASE_ACT, CASE_IN, FILL_NORMAL, ta ? p->depth : p->rows, ta ? p->rows : p->depth,
        (ta ? p->rows : p->depth) + more);
    put(p, CASE_ACT, CASE_IN, FILL_NORMAL, tb ? p->cols : p->depth, tb ? p->depth : p->cols,
        (tb ? p->depth : p->cols) + 2 * more);
    put(p, real ? CASE_REAL : CASE_ACT, accumulate ? CASE_BOTH : CASE_OUT, FILL_NORMAL, p->rows, p->cols,
        p->cols + more);
}

static struct oa_gemm gemm_of(const problem *p)
{
    return (struct oa_gemm){
        .m = p->rows,
        .n = p->cols,
        .k = p->depth,
        .lda = p->operand[0].ld,
        .ldb = p->operand[1].ld,
        .ldc = p->operand[2].ld,
        .ta = p->variant & 1,
        .tb = p->variant & 2,
        .accumulate = p->variant >= 8,
        .real_out = p->variant >= 4,
    };
}

static double gemm_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    struct oa_gemm g = gemm_of(p);
    k->gemm(s, &g, x[0], x[1], x[2]);
    return 0;
}

static void gemm_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    struct oa_gemm g = gemm_of(p);
    for (long i = 0; i < g.m; i++)
        for (long j = 0; j < g.n; j++) {
            double sum = 0;
            for (long q = 0; q < g.k; q++)
                sum += fabs(b[0][g.ta ? q * g.lda + i : i * g.lda + q] * b[1][g.tb ? j * g.ldb + q : q * g.ldb + j]);
            m[i * g.ldc + j] = roundings(g.k) * sum + (g.accumulate ? fabs(b[2][i * g.ldc + j]) : 0);
        }
    (void)a;
    (void)o;
}

/* ---- rows of numbers ---- */

static void act_real_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
}

static double act_from_real_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
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

static double real_from_act_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->real_from_act(p->cols, x[0], x[1]);
    return 0;
}

static void act_act_act_shape(problem *p)
{
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
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

static void one_real_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
}

static double sum_squares_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    return k->sum_squares(p->cols, x[0]);
}

static double sum_squares_magnitude(const problem *p, double *const *b)
{
    double *const twice[2] = { b[0], b[0] };
    return dot_magnitude(p, twice);
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

static double multiply_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->multiply_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}

static void multiply_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
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

static void column_sums_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
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

/* ---- activations ---- */

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

static double gelu_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->gelu_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}

static void gelu_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
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

static double gelu_exact_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->gelu_exact_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}

/* a, b → y; backward a, b, dy → da, db. */
static void gate_shape(problem *p)
{
    for (int i = 0; i < 2; i++)
        put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
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

static double gate_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->gate_gradient(p->cols, x[0], x[1], x[2], x[3], x[4]);
    return 0;
}

/* 1 − σ(b) cancels in the plain version. */
static void gate_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
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

static double relu_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->relu_gradient(p->cols, x[0], x[1], x[2]);
    return 0;
}

/* ---- dropout, rotation ---- */

static double dropout_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->dropout(p->cols, dropout_stream, dropout_first[p->variant & 1], keep_values[p->variant / 2], x[0], x[1]);
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
            m[at(p, o, i, j)] =
                4 * (fabs(b[o][at(p, o, i, j % p->cols)]) + fabs(b[o][at(p, o, i, j % p->cols + p->cols)]));
    (void)a;
}

/* ---- layer norm ---- variant 1: without bias */

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

static double row_largest(const problem *p, const double *x, int o, long i)
{
    double top = 0;
    for (long j = 0; j < p->cols; j++)
        top = fmax(top, fabs(x[at(p, o, i, j)]));
    return top;
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
                m[at(p, o, i, j)] = slack * g * (top * r + h * (1 + top * top * r * r)) + fabs(b[2][j]);
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

static double norm_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->norm_gradient(p->rows, p->cols, x[0], x[1], x[2], x[3], x[4], x[5], x[6], p->variant ? NULL : x[7]);
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

static void norm_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
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
                roundings(p->cols) * b[3][i] * (fabs(b[4][at(p, 4, i, j)] * b[1][j]) + e + norm_h(p, b, i, j) * eh);
    }
}

/* ---- softmax over tiles ---- */

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

/* ---- feature maps ---- the variant is the feature; powers up to the third */

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
    put_tile(p, CASE_ACT, CASE_IN, feature_fill(p), 3);
    put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, feature_width(p), feature_width(p) + 5);
}

static double feature_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->feature((enum oa_feature)p->variant, DEGREE, p->rows, p->cols, x[0], p->operand[0].ld, x[1], p->operand[1].ld);
    return 0;
}

static void feature_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < feature_width(p); j++)
            m[at(p, o, i, j)] = p->variant == OA_FEATURE_COS ? 2 : 4 * fabs(a[o][at(p, o, i, j)]);
    (void)b;
}

static void feature_gradient_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, feature_fill(p), 3);
    put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, feature_width(p), feature_width(p) + 5);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 7);
}

static double feature_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->feature_gradient((enum oa_feature)p->variant, DEGREE, p->rows, p->cols, x[0], p->operand[0].ld, x[1],
                        p->operand[1].ld, x[2], p->operand[2].ld);
    return 0;
}

static void feature_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            double x = fabs(b[0][at(p, 0, i, j)]), power = 1, sum = fabs(b[1][at(p, 1, i, j)]);
            for (int d = 1; d < DEGREE && p->variant == OA_FEATURE_POWER; d++)
                sum += (d + 1) * (power *= x) * fabs(b[1][at(p, 1, i, j + d * p->cols)]);
            m[at(p, o, i, j)] = 4 * sum;
        }
    (void)a;
}

/* ---- features of kernel attention ---- one token of `rows` heads, angle 0.4 */

#define PLACE_COSINE 0.9210609940028851
#define PLACE_SINE 0.3894183423086505

static void place_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 0);
    put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, 2 * p->cols, 2 * p->cols);
}

static double place_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->place(p->rows, p->cols, PLACE_COSINE, PLACE_SINE, x[0], x[1]);
    return 0;
}

static void place_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows * 2 * p->cols; i++)
        m[i] = 2 * fabs(a[o][i]);
    (void)b;
}

static void place_gradient_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 0);
    put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, 2 * p->cols, 2 * p->cols);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 0);
}

static double place_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->place_gradient(p->rows, p->cols, PLACE_COSINE, PLACE_SINE, x[0], x[1], x[2]);
    return 0;
}

static void place_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] = 3 * (fabs(b[1][at(p, 1, i, j)]) + fabs(b[1][at(p, 1, i, j + p->cols)]));
    (void)a;
}

/* The variant: which of the three parts exist (the last always does). */
static const double quadratic_factors[][3] = { { 1, 0.5, 0.25 }, { 0, 0, 1 } };

static long quadratic_width(const problem *p)
{
    return (p->variant == 0 ? 1 + p->cols : 0) + p->cols * (p->cols + 1) / 2;
}

static void quadratic_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, quadratic_width(p), quadratic_width(p) + 5);
}

static double quadratic_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->quadratic(p->rows, p->cols, quadratic_factors[p->variant], x[0], p->operand[0].ld, x[1], p->operand[1].ld);
    return 0;
}

static void quadratic_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < quadratic_width(p); j++)
            m[at(p, o, i, j)] = 3 * fabs(a[o][at(p, o, i, j)]);
    (void)b;
}

static void quadratic_gradient_shape(problem *p)
{
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, quadratic_width(p), quadratic_width(p) + 5);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 7);
}

static double quadratic_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->quadratic_gradient(p->rows, p->cols, quadratic_factors[p->variant], x[0], p->operand[0].ld, x[1],
                          p->operand[1].ld, x[2], p->operand[2].ld);
    return 0;
}

static void quadratic_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
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
    (void)a;
}

static double product_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->product(p->cols, 0.75, x[0], x[1], x[2]);
    return 0;
}

static void product_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * fabs(a[o][j]);
    (void)b;
}

/* The variant is the feature. */
static long random_width(const problem *p)
{
    bool both = p->variant == OA_RANDOM_HYPERBOLIC || p->variant == OA_RANDOM_TRIG;
    return both ? 2 * p->cols : p->cols;
}

static void random_features_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_tile(p, CASE_REAL, CASE_IN, FILL_NORMAL, 3);
    put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, random_width(p), random_width(p) + 5);
    put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

static double random_features_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->random_features((enum oa_random_feature)p->variant, p->rows, p->cols, 0.6, x[0], x[1], p->operand[1].ld, x[2],
                       p->operand[2].ld, x[3]);
    return 0;
}

/* An exponential carries the error of its argument over. */
static void random_features_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++) {
        double most = 1;
        for (long j = 0; j < p->cols; j++)
            most = fmax(most, 4 * (fabs(b[1][at(p, 1, i, j)]) + fabs(b[0][j])));
        if (o == 3)
            m[i] = most;
        for (long j = 0; o == 2 && j < random_width(p); j++)
            m[at(p, 2, i, j)] = 4 * most * (p->variant <= OA_RANDOM_HYPERBOLIC ? fabs(a[2][at(p, 2, i, j)]) : 1);
    }
}

static void random_features_gradient_shape(problem *p)
{
    put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, random_width(p), random_width(p) + 5);
    put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, random_width(p), random_width(p) + 2);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 3);
    put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

static double random_features_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->random_features_gradient((enum oa_random_feature)p->variant, p->rows, p->cols, 0.6, x[0], p->operand[0].ld, x[1],
                                p->operand[1].ld, x[2], p->operand[2].ld, x[3]);
    return 0;
}

static void random_features_gradient_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++) {
        double sum = 0;
        for (long j = 0; j < p->cols; j++) {
            double g[2] = { b[1][at(p, 1, i, j)], 0 }, y[2] = { b[0][at(p, 0, i, j)], 0 }, here;
            if (random_width(p) > p->cols) {
                g[1] = b[1][at(p, 1, i, j + p->cols)];
                y[1] = b[0][at(p, 0, i, j + p->cols)];
            }
            here = (fabs(g[0]) + fabs(g[1])) * (fabs(y[0]) + fabs(y[1]) + (p->variant == OA_RANDOM_RELU));
            sum += here;
            if (o == 2)
                m[at(p, 2, i, j)] = 4 * here;
        }
        if (o == 3)
            m[i] = roundings(2 * p->cols) * sum;
    }
    (void)a;
}

static void decay_tile_shape(problem *p)
{
    put_column(p, CASE_INDEX, CASE_IN, FILL_LOW);
    put_column(p, CASE_INDEX, CASE_IN, FILL_HIGH);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_column(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_tile(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, 3);
}

static double decay_tile_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->decay_tile(p->rows, p->cols, x[0], x[1], x[2], x[3], x[4], p->operand[4].ld);
    return 0;
}

static void decay_tile_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] = (4 + fabs(b[2][j]) + fabs(b[3][i])) * fabs(a[o][at(p, o, i, j)]);
}

/* The variant is the degree − 1. */
static void power_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double power_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->power(p->cols, p->variant + 1, x[0]);
    return 0;
}

static void power_gradient_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
}

static double power_gradient_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->power_gradient(p->cols, p->variant + 1, x[0], x[1]);
    return 0;
}

static void power_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = (4 + p->variant) * fabs(a[o][j]);
    (void)b;
}

/* ---- structured projections ---- blocks of OA_LANES rows. Variants: without and with an index. */

static void lanes_shape(problem *p)
{
    p->rows = 1 + (p->rows - 1) % OA_LANES;
    put_row(p, CASE_INDEX, CASE_IN, FILL_ORDER);
}

static const int32_t *lanes_index(const problem *p, void *const *x)
{
    return p->variant ? x[0] : NULL;
}

static void lanes_in_shape(problem *p)
{
    lanes_shape(p);
    put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    put(p, CASE_REAL, CASE_OUT, FILL_NORMAL, p->cols, OA_LANES, OA_LANES);
}

static double lanes_in_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->lanes_in(p->rows, p->cols, lanes_index(p, x), x[1], p->operand[1].ld, x[2]);
    return 0;
}

static void lanes_out_shape(problem *p)
{
    lanes_shape(p);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    put(p, CASE_REAL, CASE_IN, FILL_NORMAL, p->cols, OA_LANES, OA_LANES);
    put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 3);
}

static double lanes_out_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->lanes_out(p->rows, p->cols, lanes_index(p, x), p->variant ? x[1] : NULL, x[2], x[3], p->operand[3].ld);
    return 0;
}

/* cols rows of lanes, cut to the largest unit·2^stages below; variants: units 1 and 3. */
static long hadamard_unit(const problem *p)
{
    return p->variant ? 3 : 1;
}

static void hadamard_shape(problem *p)
{
    long n = hadamard_unit(p);
    while (2 * n <= p->cols)
        n *= 2;
    p->cols = n;
    put_row(p, CASE_REAL, CASE_IN, FILL_FACTOR);
    put(p, CASE_REAL, CASE_IN, FILL_NORMAL, n, OA_LANES, OA_LANES);
    put(p, CASE_REAL, CASE_OUT, FILL_NORMAL, n, OA_LANES, OA_LANES);
}

static double hadamard_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->hadamard(p->cols, hadamard_unit(p), x[0], x[1], x[2]);
    return 0;
}

static void hadamard_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long t = 0; t < OA_LANES; t++) {
        double sum = 0;
        for (long r = 0; r < p->cols; r++)
            sum += fabs(b[0][r] * b[1][at(p, 1, r, t)]);
        for (long r = 0; r < p->cols; r++)
            m[at(p, o, r, t)] = roundings(p->cols) * sum;
    }
    (void)a;
}

/* Runs of 1 + depth % 7 rows. Variants: q and its transpose. */
static void mix_runs_shape(problem *p)
{
    long b = 1 + p->depth % 7, n = p->cols * b;
    put(p, CASE_REAL, CASE_IN, FILL_NORMAL, b, b, b);
    put(p, CASE_REAL, CASE_IN, FILL_NORMAL, n, OA_LANES, OA_LANES);
    put(p, CASE_REAL, CASE_OUT, FILL_NORMAL, n, OA_LANES, OA_LANES);
}

static double mix_runs_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->mix_runs(p->operand[1].rows, p->operand[0].rows, p->variant, x[0], x[1], x[2]);
    return 0;
}

static void mix_runs_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    long width = p->operand[0].rows;
    for (long r = 0; r < p->operand[o].rows; r++)
        for (long t = 0; t < OA_LANES; t++) {
            double sum = 0;
            for (long j = 0; j < width; j++)
                sum += fabs(b[0][p->variant ? r % width * width + j : j * width + r % width] *
                            b[1][at(p, 1, r - r % width + j, t)]);
            m[at(p, o, r, t)] = roundings(width) * sum;
        }
    (void)a;
}

/* ---- loss ---- variant: which target; 3: no gradient */

static void cross_entropy_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_IN, FILL_WIDE);
    put_row(p, CASE_ACT, p->variant == 3 ? CASE_IN : CASE_OUT, FILL_NORMAL);
}

static double cross_entropy_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    long target = p->variant == 0 ? 0 : p->variant == 1 ? p->cols - 1 : p->cols / 2;
    return k->cross_entropy(p->cols, x[0], target, 0.25, p->variant == 3 ? NULL : x[1]);
}

static void cross_entropy_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = (100 + roundings(p->cols)) * 0.25 * (a[o][j] < 0 ? 1 : a[o][j] * 4);
    (void)b;
}

static double cross_entropy_result_magnitude(const problem *p, double *const *b)
{
    (void)b;
    return roundings(p->cols);
}

/* ---- optimisers ---- */

static void adamw_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_SQUARE);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
}

static const struct oa_adamw adamw_settings = { .lr = 1e-2,
                                                .beta1 = 0.9,
                                                .beta2 = 0.95,
                                                .epsilon = 1e-8,
                                                .weight_decay = 0.1,
                                                .correction1 = 0.1,
                                                .correction2 = 0.05,
                                                .gradient_scale = 0.5 };

static double adamw_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->adamw(p->cols, &adamw_settings, x[0], x[1], x[2], x[3]);
    return 0;
}

static void adamw_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++) {
        double first = fabs(b[1][j]) + fabs(b[3][j]);
        double ratio = first / (sqrt(a[2][j] / adamw_settings.correction2) + adamw_settings.epsilon);
        m[j] = 2 * (o == 1 ? first : o == 2 ? a[2][j] : fabs(b[0][j]) + 0.1 * 4 * ratio);
    }
}

static void sgd_shape(problem *p)
{
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_BOTH, FILL_NORMAL);
    put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
}

static double sgd_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    k->sgd(p->cols, 1e-2, 0.9, 0.1, 0.5, x[0], x[1], x[2]);
    return 0;
}

static void sgd_magnitude(const problem *p, double *const *b, double *const *a, int o, double *m)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = 2 * (fabs(b[1][j]) + fabs(b[2][j])) + (o == 0 ? 2 * fabs(b[0][j]) : 0);
    (void)a;
}

/* ---- the list ---- */

#define CASE(f) .name = #f, .slot = offsetof(struct oa_kernels, f), .call = f##_call
#define ROW .bench_rows = 1, .bench_cols = 16384
#define TILE .matrix = true, .bench_rows = 64, .bench_cols = 512
#define ALL (BEAR_TINY | BEAR_HUGE | BEAR_NAN)

static const struct kernel_case cases[] = {
    { CASE(gemm), .variants = 12, .matrix = true, .bench_rows = 256, .bench_cols = 768, .shape = gemm_shape,
      .magnitude = gemm_magnitude },
    { CASE(act_from_real), .variants = 1, .bear = ALL, .exact = true, ROW, .shape = act_real_shape },
    { CASE(real_from_act), .variants = 1, .bear = ALL, .exact = true, ROW, .shape = real_act_shape },
    { CASE(add), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, ROW, .shape = act_act_act_shape },
    { CASE(add_to_real), .variants = 1, .bear = ALL, ROW, .shape = add_to_real_shape, .magnitude = axpy_magnitude },
    { CASE(axpy), .variants = 1, .bear = ALL, ROW, .shape = axpy_shape, .magnitude = axpy_magnitude },
    { CASE(dot), .variants = 1, .bear = BEAR_TINY | BEAR_HUGE, ROW, .shape = two_reals_shape,
      .result_magnitude = dot_magnitude },
    { CASE(scale_rows), .variants = 1, .bear = ALL, .exact = true, TILE, .shape = scale_rows_shape },
    { CASE(multiply), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, ROW, .shape = multiply_shape },
    { CASE(multiply_gradient), .variants = 1, .bear = ALL, ROW, .shape = multiply_gradient_shape,
      .magnitude = multiply_gradient_magnitude },
    { CASE(add_bias), .variants = 1, .bear = ALL, .exact = true, TILE, .shape = add_bias_shape },
    { CASE(column_sums), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, TILE, .shape = column_sums_shape,
      .magnitude = column_sums_magnitude },
    { CASE(gelu), .variants = 1, .bear = ALL, ROW, .shape = act_act_shape, .magnitude = gelu_magnitude },
    { CASE(gelu_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, ROW, .shape = act_act_act_shape,
      .magnitude = gelu_gradient_magnitude },
    { CASE(gelu_exact), .variants = 1, .bear = ALL, ROW, .shape = act_act_shape, .magnitude = gelu_magnitude },
    { CASE(gelu_exact_gradient), .variants = 1, .bear = ALL, .same = { 1, 2 }, ROW, .shape = act_act_act_shape,
      .magnitude = gelu_gradient_magnitude },
    { CASE(gate), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, ROW, .shape = gate_shape, .magnitude = gate_magnitude },
    { CASE(gate_gradient), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, ROW, .shape = gate_gradient_shape,
      .magnitude = gate_gradient_magnitude },
    { CASE(relu), .variants = 1, .bear = ALL, ROW, .shape = act_act_shape },
    { CASE(relu_gradient), .variants = 1, .bear = ALL, .exact = true, .same = { 1, 2 }, ROW,
      .shape = act_act_act_shape },
    { CASE(dropout), .variants = 8, .bear = ALL, .exact = true, .same = { 0, 1 }, ROW, .shape = act_act_shape },
    { CASE(dropout_tile), .variants = 8, .bear = ALL, .exact = true, TILE, .shape = dropout_tile_shape },
    { CASE(rotate), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 12, .bench_cols = 32,
      .shape = rotate_shape, .magnitude = rotate_magnitude },
    { CASE(norm), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 64, .bench_cols = 768,
      .shape = norm_shape, .magnitude = norm_magnitude },
    { CASE(norm_gradient), .variants = 2, .bear = BEAR_TINY, .matrix = true, .bench_rows = 64, .bench_cols = 768,
      .shape = norm_gradient_shape, .magnitude = norm_gradient_magnitude },
    { CASE(softmax_tile), .variants = 2, TILE, .shape = softmax_tile_shape, .magnitude = softmax_tile_magnitude },
    { CASE(softmax_again), .variants = 1, TILE, .shape = softmax_again_shape, .magnitude = softmax_again_magnitude },
    { CASE(softmax_gradient), .variants = 1, .bear = BEAR_TINY, TILE, .shape = softmax_gradient_shape,
      .magnitude = softmax_gradient_magnitude },
    { CASE(tile_to_act), .variants = 1, .bear = ALL, .exact = true, TILE, .shape = tile_to_act_shape },
    { CASE(tile_to_real), .variants = 1, .bear = ALL, .exact = true, TILE, .shape = tile_to_real_shape },
    { CASE(mask_tile), .variants = 2, TILE, .shape = mask_tile_shape, .magnitude = mask_tile_magnitude },
    { CASE(row_dots), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, .matrix = true, .bench_rows = 512, .bench_cols = 64,
      .shape = row_dots_shape, .magnitude = row_dots_magnitude },
    { CASE(feature), .variants = 4, .bear = ALL, .matrix = true, .bench_rows = 256, .bench_cols = 64,
      .shape = feature_shape, .magnitude = feature_magnitude },
    { CASE(feature_gradient), .variants = 4, .bear = BEAR_TINY | BEAR_NAN, .matrix = true, .bench_rows = 256,
      .bench_cols = 64, .shape = feature_gradient_shape, .magnitude = feature_gradient_magnitude },
    { CASE(place), .variants = 1, .bear = ALL, .matrix = true, .bench_rows = 12, .bench_cols = 64, .shape = place_shape,
      .magnitude = place_magnitude },
    { CASE(place_gradient), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, .matrix = true, .bench_rows = 12,
      .bench_cols = 64, .shape = place_gradient_shape, .magnitude = place_gradient_magnitude },
    { CASE(quadratic), .variants = 2, .matrix = true, .bench_rows = 256, .bench_cols = 32, .shape = quadratic_shape,
      .magnitude = quadratic_magnitude },
    { CASE(quadratic_gradient), .variants = 2, .matrix = true, .bench_rows = 256, .bench_cols = 32,
      .shape = quadratic_gradient_shape, .magnitude = quadratic_gradient_magnitude },
    { CASE(product), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, ROW, .shape = act_act_act_shape,
      .magnitude = product_magnitude },
    { CASE(lanes_in), .variants = 2, .bear = ALL, .exact = true, .matrix = true, .bench_rows = 16, .bench_cols = 512,
      .shape = lanes_in_shape },
    { CASE(lanes_out), .variants = 2, .bear = BEAR_TINY | BEAR_NAN, .exact = true, .matrix = true, .bench_rows = 16,
      .bench_cols = 512, .shape = lanes_out_shape },
    { CASE(hadamard), .variants = 2, .bear = BEAR_TINY, .same = { 1, 2 }, .bench_rows = 16, .bench_cols = 512,
      .shape = hadamard_shape, .magnitude = hadamard_magnitude },
    { CASE(mix_runs), .variants = 2, .bear = BEAR_TINY, .bench_rows = 16, .bench_cols = 512, .shape = mix_runs_shape,
      .magnitude = mix_runs_magnitude },
    { CASE(random_features), .variants = 4, .matrix = true, .bench_rows = 64, .bench_cols = 266,
      .shape = random_features_shape, .magnitude = random_features_magnitude },
    { CASE(random_features_gradient), .variants = 4, .matrix = true, .bench_rows = 64, .bench_cols = 266,
      .shape = random_features_gradient_shape, .magnitude = random_features_gradient_magnitude },
    { CASE(decay_tile), .variants = 1, .matrix = true, .bench_rows = 64, .bench_cols = 64, .shape = decay_tile_shape,
      .magnitude = decay_tile_magnitude },
    { CASE(power), .variants = 4, ROW, .shape = power_shape, .magnitude = power_magnitude },
    { CASE(power_gradient), .variants = 4, ROW, .shape = power_gradient_shape, .magnitude = power_magnitude },
    { CASE(cross_entropy), .variants = 4, .bench_rows = 1, .bench_cols = 50257, .shape = cross_entropy_shape,
      .magnitude = cross_entropy_magnitude, .result_magnitude = cross_entropy_result_magnitude },
    { CASE(adamw), .variants = 1, .bear = BEAR_TINY, ROW, .shape = adamw_shape, .magnitude = adamw_magnitude },
    { CASE(sgd), .variants = 1, .bear = ALL, ROW, .shape = sgd_shape, .magnitude = sgd_magnitude },
    { CASE(sum_squares), .variants = 1, .bear = BEAR_TINY | BEAR_HUGE | BEAR_NAN, ROW, .shape = one_real_shape,
      .result_magnitude = sum_squares_magnitude },
};

const struct kernel_case *oa_kernel_cases(int *count)
{
    *count = (int)(sizeof cases / sizeof *cases);
    return cases;
}

void oa_kernel_problem(struct kernel_problem *p, const struct kernel_case *c, long rows, long cols, long depth,
                       int variant, bool awkward)
{
    *p = (struct kernel_problem){ .what = c, .rows = c->matrix ? rows : 1, .cols = cols, .depth = depth };
    p->variant = variant;
    p->awkward = awkward;
    p->seed = (uint64_t)(rows * 1000003 + cols * 1009 + depth * 31 + variant);
    c->shape(p);
}

kernel_slot *oa_kernel_slot(const struct oa_kernels *k, const struct kernel_case *c)
{
    return *(kernel_slot *const *)((const char *)k + c->slot);
}

int oa_kernel_versions(oa_context *c, enum oa_precision p, struct kernel_version out[KERNEL_VERSIONS])
{
    int count = 0;
    const struct oa_cpu *cpu = oa_context_cpu(c);
    struct oa_kernels k;
    oa_kernels_ref(&k, p);
    out[count++] = (struct kernel_version){ "ref", k };
#ifdef __x86_64__
    if (oa_cpu_isa(cpu) >= OA_ISA_AVX2) {
        oa_kernels_avx2(&k);
        out[count++] = (struct kernel_version){ "avx2", k };
    }
    if (oa_cpu_isa(cpu) >= OA_ISA_AVX512) {
        oa_kernels_avx512(&k);
        out[count++] = (struct kernel_version){ "avx512", k };
    }
    if (p == OA_PRECISION_BF16 && oa_cpu_isa(cpu) >= OA_ISA_AVX512 && cpu->avx512_bf16) {
        oa_kernels_avx512bf16(&k);
        out[count++] = (struct kernel_version){ "avx512bf16", k };
    }
#endif
    oa_kernels_init(&k, p, oa_cpu_isa(cpu), cpu);
    out[count++] = (struct kernel_version){ k.gemm_name, k };
    return count;
}

bool oa_kernel_seen(const struct kernel_version *versions, int version, const struct kernel_case *c)
{
    for (int i = 0; i < version; i++)
        if (oa_kernel_slot(&versions[i].table, c) == oa_kernel_slot(&versions[version].table, c))
            return true;
    return false;
}
