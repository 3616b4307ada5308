/* SPDX-License-Identifier: Apache-2.0
 * The numbers of a problem of kernel_cases.h: drawn by its seed, with extreme values where the case
 * allows them. */
#include "kernels/kernel_cases.h"

#include <math.h>

static double round_to(enum oa_precision precision, enum case_type type, double x)
{
    if (precision == OA_PRECISION_F64 || type == CASE_INDEX)
        return x;
    if (precision == OA_PRECISION_BF16 && type == CASE_ACT)
        return oa_bf16_to_float(oa_float_to_bf16((float)x));
    return (float)x;
}

struct case_filler {
    const struct kernel_problem *p;
    struct oa_stream stream;
    double *const *x;
    int operand;
};

static double filler_uniform(const struct case_filler *f, uint64_t index)
{
    return oa_random_uniform(f->stream, index);
}

static double filler_normal(const struct case_filler *f, uint64_t index)
{
    return oa_random_normal(f->stream, index);
}

/* N(0, 1), or an extreme value. */
static double fill_normal(const struct case_filler *f, uint64_t index)
{
    int bear = f->p->awkward ? f->p->what->bear : 0;
    double x = filler_normal(f, index + 4);
    if (!bear)
        return x;
    double sign = filler_uniform(f, index + 1) < 0.5 ? -1 : 1, u = filler_uniform(f, index + 2);
    if ((bear & BEAR_TINY) && u < 0.08)
        return sign * 0.0;
    if ((bear & BEAR_TINY) && u < 0.12)
        return sign * 1e-40;
    if ((bear & BEAR_HUGE) && u > 0.96)
        return sign * 1e30;
    if ((bear & BEAR_NAN) && u > 0.94 && u < 0.96)
        return NAN;
    return x;
}

/* The columns visible to row i: all, none, a prefix as under a causal mask, or an interval inside.
 * */
static double fill_bound(const struct case_filler *f, long row, bool high)
{
    long cols = f->p->cols, kind = row % 5;
    struct case_filler same = *f;
    same.stream = oa_stream_named(f->p->seed, "bounds");
    long a = (long)(filler_uniform(&same, (uint64_t)row * 2) * (double)cols);
    long b = (long)(filler_uniform(&same, (uint64_t)row * 2 + 1) * (double)cols);
    if (!f->p->awkward)
        return high ? (double)cols : 0;
    if (kind == 0)
        return high ? (double)(cols + 7) : -3;
    if (kind == 1)
        return (double)(high ? a - row % 2 : a);
    if (kind == 2)
        return high ? (double)(row + 1) : 0;
    return (double)(high ? (a > b ? a : b) + 1 : (a < b ? a : b));
}

/* A logit where visible, by the two operands before; NaN elsewhere. */
static double fill_seen(const struct case_filler *f, long row, long col, uint64_t index)
{
    if (col < f->x[f->operand - 2][row] || col >= f->x[f->operand - 1][row])
        return NAN;
    if (f->p->awkward && filler_uniform(f, index) < 0.05)
        return -INFINITY;
    return 4 * filler_normal(f, index + 4);
}

static bool is_rare(const struct case_filler *f, uint64_t index)
{
    return f->p->awkward && filler_uniform(f, index) < 0.1;
}

static double fill_element(const struct case_filler *f, long row, long col, uint64_t index)
{
    const double *before = f->operand ? f->x[f->operand - 1] : NULL;
    long ld = f->p->operand[f->operand].ld;
    switch (f->p->operand[f->operand].fill) {
    case FILL_NORMAL:
        return fill_normal(f, index);
    case FILL_WIDE:
        return is_rare(f, index) ? 2e4 * filler_uniform(f, index + 1) - 1e4
                                 : 2 * filler_normal(f, index + 4);
    case FILL_FACTOR:
        return 1 + 0.001 * filler_normal(f, index + 4);
    case FILL_SQUARE:
        return filler_uniform(f, index + 1) * 0.1;
    case FILL_LOW:
        return fill_bound(f, col, false);
    case FILL_HIGH:
        return fill_bound(f, col, true);
    case FILL_SEEN:
        return fill_seen(f, row, col, index);
    case FILL_CHANCE:
        return is_rare(f, index) ? 0 : filler_uniform(f, index + 1);
    case FILL_COVERED:
        return before[row * ld + col] == 0 ? NAN : filler_normal(f, index + 4);
    case FILL_WEIGHED:
        return before[row] == 0 ? NAN : filler_normal(f, index + 4);
    case FILL_TOP:
        return !f->p->awkward || is_rare(f, index) ? -INFINITY : filler_normal(f, index + 4);
    case FILL_MASS:
        return before[col] == -INFINITY ? 0 : 1 + filler_uniform(f, index + 1);
    case FILL_ORDER:
        return (double)(f->p->cols - 1 - (col + f->p->cols / 3) % f->p->cols);
    case FILL_LSE:
        return is_rare(f, index) ? -INFINITY : 2 + filler_normal(f, index + 4);
    }
    return 0;
}

enum oa_error oa_case_values(oa_context *c, const struct kernel_problem *p,
                             enum oa_precision precision, struct case_values *out)
{
    *out = (struct case_values){ 0 };
    for (int o = 0; o < p->count; o++) {
        const struct case_operand *q = &p->operand[o];
        struct case_filler f = { p,
                                 oa_stream_child(oa_stream_named(p->seed, "kernel"), (uint64_t)o),
                                 out->x, o };
        out->x[o] = oa_alloc(c, (size_t)oa_case_cells(q) * sizeof(double));
        if (!out->x[o]) {
            oa_case_values_free(out);
            return oa_status(c);
        }
        for (long i = 0; i < q->rows; i++)
            for (long j = 0; j < q->cols; j++) {
                double x = q->role == CASE_OUT
                               ? NAN
                               : fill_element(&f, i, j, (uint64_t)(i * q->cols + j) * 8);
                out->x[o][i * q->ld + j] = round_to(precision, q->type, x);
            }
    }
    return OA_OK;
}

void oa_case_values_free(struct case_values *v)
{
    for (int o = 0; o < CASE_OPERANDS; o++)
        oa_free(v->x[o]);
    *v = (struct case_values){ 0 };
}
