/* SPDX-License-Identifier: Apache-2.0
 *
 * Solving a problem of kernel_cases.h and judging the answer.
 */
#include "kernels/kernel_cases.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { GUARD = 128 }; /* bytes before and behind an operand */

static long cells(const struct case_operand *o)
{
    return o->rows * o->ld;
}

/* ---- values ---- */

static double round_to(enum oa_precision precision, enum case_type type, double x)
{
    if (precision == OA_PRECISION_F64 || type == CASE_INDEX)
        return x;
    if (precision == OA_PRECISION_BF16 && type == CASE_ACT)
        return oa_bf16_to_float(oa_float_to_bf16((float)x));
    return (float)x;
}

struct filler {
    const struct kernel_problem *p;
    struct oa_stream stream;
    double *const *x;
    int operand;
};

static double uniform(const struct filler *f, uint64_t index)
{
    return oa_random_uniform(f->stream, index);
}

static double normal(const struct filler *f, uint64_t index)
{
    return oa_random_normal(f->stream, index);
}

/* N(0, 1), or something a kernel may stumble over. */
static double fill_normal(const struct filler *f, uint64_t index)
{
    double sign = uniform(f, index + 1) < 0.5 ? -1 : 1, u = uniform(f, index + 2), x = normal(f, index + 4);
    int bear = f->p->awkward ? f->p->what->bear : 0;
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

/* What row i sees: all, nothing, a prefix as under a causal mask, or something in the middle. */
static double fill_bound(const struct filler *f, long row, bool high)
{
    long cols = f->p->cols, kind = row % 5;
    struct filler same = *f;
    same.stream = oa_stream_named(f->p->seed, "bounds");
    long a = (long)(uniform(&same, (uint64_t)row * 2) * (double)cols);
    long b = (long)(uniform(&same, (uint64_t)row * 2 + 1) * (double)cols);
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

/* A logit where the row sees, by the two operands before; NaN elsewhere. */
static double fill_seen(const struct filler *f, long row, long col, uint64_t index)
{
    if (col < f->x[f->operand - 2][row] || col >= f->x[f->operand - 1][row])
        return NAN;
    if (f->p->awkward && uniform(f, index) < 0.05)
        return -INFINITY;
    return 4 * normal(f, index + 4);
}

static double fill(const struct filler *f, long row, long col, uint64_t index)
{
    bool awkward = f->p->awkward, rarely = awkward && uniform(f, index) < 0.1;
    const double *before = f->operand ? f->x[f->operand - 1] : NULL;
    long ld = f->p->operand[f->operand].ld;
    switch (f->p->operand[f->operand].fill) {
    case FILL_NORMAL:
        return fill_normal(f, index);
    case FILL_WIDE:
        return rarely ? 2e4 * uniform(f, index + 1) - 1e4 : 2 * normal(f, index + 4);
    case FILL_FACTOR:
        return 1 + 0.001 * normal(f, index + 4);
    case FILL_SQUARE:
        return uniform(f, index + 1) * 0.1;
    case FILL_LOW:
        return fill_bound(f, col, false);
    case FILL_HIGH:
        return fill_bound(f, col, true);
    case FILL_SEEN:
        return fill_seen(f, row, col, index);
    case FILL_CHANCE:
        return rarely ? 0 : uniform(f, index + 1);
    case FILL_COVERED:
        return before[row * ld + col] == 0 ? NAN : normal(f, index + 4);
    case FILL_TOP:
        return rarely || !awkward ? -INFINITY : normal(f, index + 4);
    case FILL_MASS:
        return before[col] == -INFINITY ? 0 : 1 + uniform(f, index + 1);
    case FILL_ORDER:
        return (double)(f->p->cols - 1 - (col + f->p->cols / 3) % f->p->cols);
    case FILL_LSE:
        return rarely ? -INFINITY : 2 + normal(f, index + 4);
    }
    return 0;
}

enum oa_error oa_case_values(oa_context *c, const struct kernel_problem *p, enum oa_precision precision,
                             struct case_values *out)
{
    *out = (struct case_values){ 0 };
    for (int o = 0; o < p->count; o++) {
        const struct case_operand *q = &p->operand[o];
        struct filler f = { p, oa_stream_child(oa_stream_named(p->seed, "kernel"), (uint64_t)o), out->x, o };
        out->x[o] = oa_alloc(c, (size_t)cells(q) * sizeof(double));
        if (!out->x[o]) {
            oa_case_values_free(out);
            return oa_status(c);
        }
        for (long i = 0; i < q->rows; i++)
            for (long j = 0; j < q->cols; j++) {
                double x = q->role == CASE_OUT ? NAN : fill(&f, i, j, (uint64_t)(i * q->cols + j) * 8);
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

/* ---- memory ---- */

static enum oa_type type_of(const struct oa_kernels *k, enum case_type t)
{
    return t == CASE_INDEX ? OA_I32 : t == CASE_ACT ? k->act : k->real;
}

static void write_element(enum oa_type t, void *x, long i, double value)
{
    if (t == OA_F32)
        ((float *)x)[i] = (float)value;
    else if (t == OA_BF16)
        ((uint16_t *)x)[i] = oa_float_to_bf16((float)value);
    else if (t == OA_F64)
        ((double *)x)[i] = value;
    else
        ((int32_t *)x)[i] = (int32_t)value;
}

static double read_element(enum oa_type t, const void *x, long i)
{
    if (t == OA_F32)
        return ((const float *)x)[i];
    if (t == OA_BF16)
        return oa_bf16_to_float(((const uint16_t *)x)[i]);
    return t == OA_F64 ? ((const double *)x)[i] : ((const int32_t *)x)[i];
}

/* Where the operand has no elements, all bytes are 0xff in what is only read, NaN in every type, and 0xfe in what is
 * written, a huge number: a kernel that goes too far then changes it, which it may not with a NaN. */
static enum oa_error make_operand(oa_context *c, const struct kernel_problem *p, const struct oa_kernels *k,
                                  const struct case_values *v, int o, struct case_memory *m)
{
    const struct case_operand *q = &p->operand[o];
    enum oa_type type = type_of(k, q->type);
    size_t shift = p->awkward ? p->seed % 4 * oa_type_size(type) : 0;
    m->bytes[o] = 2 * GUARD + shift + (size_t)cells(q) * oa_type_size(type);
    m->block[o] = oa_alloc(c, m->bytes[o]);
    if (!m->block[o])
        return oa_status(c);
    memset(m->block[o], q->role == CASE_IN ? 0xff : 0xfe, m->bytes[o]);
    m->x[o] = m->block[o] + GUARD + shift;
    for (long i = 0; i < q->rows; i++)
        for (long j = 0; j < q->cols; j++)
            write_element(type, m->x[o], i * q->ld + j, v->x[o][i * q->ld + j]);
    return OA_OK;
}

enum oa_error oa_case_memory(oa_context *c, const struct kernel_problem *p, const struct oa_kernels *k,
                             const struct case_values *v, bool in_place, struct case_memory *out)
{
    *out = (struct case_memory){ 0 };
    for (int o = 0; o < p->count; o++) {
        if (in_place && o == p->what->same[1]) {
            out->x[o] = out->x[p->what->same[0]];
            continue;
        }
        enum oa_error e = make_operand(c, p, k, v, o, out);
        if (e != OA_OK) {
            oa_case_memory_free(out);
            return e;
        }
    }
    return OA_OK;
}

void oa_case_memory_free(struct case_memory *m)
{
    for (int o = 0; o < CASE_OPERANDS; o++)
        oa_free(m->block[o]);
    *m = (struct case_memory){ 0 };
}

/* ---- judging ---- */

struct verdict {
    double worst;
    char *where;
};

static void blame(struct verdict *v, double share, int operand, long row, long col, double got, double right)
{
    if (!(share > v->worst))
        return;
    v->worst = share;
    if (share > 1)
        snprintf(v->where, OA_CASE_TEXT, "operand %d row %ld column %ld: %.9g, right is %.9g", operand, row, col, got,
                 right);
}

/* The error as a share of what is allowed. */
static double share_of(double got, double right, double allowed, double overflow)
{
    if (isnan(right))
        return isnan(got) ? 0 : INFINITY;
    if (got == right)
        return 0;
    if (fabs(right) > overflow && isinf(got) && signbit(got) == signbit(right))
        return 0;
    double share = fabs(got - right) / allowed;
    return isnan(share) ? INFINITY : share;
}

static void judge_operand(const struct kernel_problem *p, const struct oa_kernels *k, int o, const void *got,
                          const double *right, const double *magnitude, struct verdict *v)
{
    const struct case_operand *q = &p->operand[o];
    enum oa_type type = type_of(k, q->type);
    double real = k->real == OA_F64 ? DBL_EPSILON : FLT_EPSILON;
    double act = type == OA_BF16 ? 0x1p-8 : real;
    for (long i = 0; i < q->rows; i++)
        for (long j = 0; j < q->cols; j++) {
            double r = right[i * q->ld + j], g = read_element(type, got, i * q->ld + j);
            double allowed = real * (magnitude[i * q->ld + j] + fabs(r)) + act * fabs(r) + FLT_MIN;
            blame(v, share_of(g, r, allowed, FLT_MAX * (1 - 2 * act)), o, i, j, g, r);
        }
}

/* A kernel that only rounds: the same bits as the plain version, but for the bits of a NaN. */
static void judge_bits(const struct kernel_problem *p, const struct oa_kernels *k, int o, const void *got,
                       const void *right, struct verdict *v)
{
    const struct case_operand *q = &p->operand[o];
    enum oa_type type = type_of(k, q->type);
    for (long i = 0; i < q->rows; i++)
        for (long j = 0; j < q->cols; j++) {
            double r = read_element(type, right, i * q->ld + j), g = read_element(type, got, i * q->ld + j);
            bool same = isnan(r) ? isnan(g) : r == g && signbit(r) == signbit(g);
            blame(v, same ? 0 : INFINITY, o, i, j, g, r);
        }
}

static bool written(const struct kernel_problem *p, int o, bool in_place)
{
    return p->operand[o].role != CASE_IN || (in_place && o == p->what->same[0]);
}

/* No byte may change but the elements of outputs. */
static void judge_guards(const struct kernel_problem *p, const struct oa_kernels *k, bool in_place,
                         const struct case_memory *before, const struct case_memory *after, struct verdict *v)
{
    for (int o = 0; o < p->count; o++) {
        const struct case_operand *q = &p->operand[o];
        size_t start = after->block[o] ? (size_t)((char *)after->x[o] - after->block[o]) : 0;
        size_t row = (size_t)q->ld * oa_type_size(type_of(k, q->type));
        size_t used = (size_t)q->cols * oa_type_size(type_of(k, q->type));
        for (size_t b = 0; after->block[o] && b < after->bytes[o]; b++) {
            bool inside = b >= start && (b - start) / row < (size_t)q->rows && (b - start) % row < used;
            if (after->block[o][b] == before->block[o][b] || (inside && written(p, o, in_place)))
                continue;
            v->worst = INFINITY;
            snprintf(v->where, OA_CASE_TEXT, "operand %d: byte %ld, counted from its start, was written", o,
                     (long)b - (long)start);
            return;
        }
    }
}

/* ---- solving ---- */

static enum oa_error solve(oa_context *c, const struct kernel_problem *p, const struct oa_kernels *k,
                           const struct case_memory *m, double *result)
{
    struct oa_gemm_state *state = NULL;
    if (p->what->slot == offsetof(struct oa_kernels, gemm)) {
        state = k->gemm_open(c, k->precision);
        if (!state)
            return oa_status(c);
    }
    *result = p->what->call(k, state, p, m->x);
    if (state)
        k->gemm_close(state);
    return oa_status(c);
}

/* What is right, by the f64 table: the operands after the call, as numbers. */
static enum oa_error solve_exactly(oa_context *c, const struct kernel_problem *p, const struct case_values *v,
                                   struct case_values *after, double *result)
{
    struct oa_kernels k;
    struct case_memory m;
    oa_kernels_ref(&k, OA_PRECISION_F64);
    OA_TRY(oa_case_memory(c, p, &k, v, false, &m));
    enum oa_error e = solve(c, p, &k, &m, result);
    *after = (struct case_values){ 0 };
    for (int o = 0; o < p->count && e == OA_OK; o++) {
        after->x[o] = oa_alloc(c, (size_t)cells(&p->operand[o]) * sizeof(double));
        for (long i = 0; after->x[o] && i < cells(&p->operand[o]) - p->operand[o].ld + p->operand[o].cols; i++)
            after->x[o][i] = read_element(type_of(&k, p->operand[o].type), m.x[o], i);
        e = oa_status(c);
    }
    oa_case_memory_free(&m);
    return e;
}

static enum oa_error judge_values(oa_context *c, const struct kernel_problem *p, const struct oa_kernels *k,
                                  const struct case_values *v, const struct case_memory *got, double result,
                                  struct verdict *verdict)
{
    struct case_values right = { 0 };
    double right_result = 0;
    enum oa_error e = solve_exactly(c, p, v, &right, &right_result);
    for (int o = 0; o < p->count && e == OA_OK; o++) {
        if (p->operand[o].role == CASE_IN)
            continue;
        double *magnitude = oa_alloc(c, (size_t)cells(&p->operand[o]) * sizeof(double));
        if (magnitude && p->what->magnitude)
            p->what->magnitude(p, v->x, right.x, o, magnitude);
        if (magnitude)
            judge_operand(p, k, o, got->x[o], right.x[o], magnitude, verdict);
        oa_free(magnitude);
        e = oa_status(c);
    }
    if (e == OA_OK && p->what->result_magnitude) {
        double allowed = FLT_EPSILON * p->what->result_magnitude(p, v->x) + DBL_EPSILON * fabs(right_result) + FLT_MIN;
        blame(verdict, share_of(result, right_result, allowed, INFINITY), -1, 0, 0, result, right_result);
    }
    oa_case_values_free(&right);
    return e;
}

static enum oa_error judge_exact(oa_context *c, const struct kernel_problem *p, const struct oa_kernels *k,
                                 const struct case_values *v, const struct case_memory *got, struct verdict *verdict)
{
    struct oa_kernels plain;
    struct case_memory right;
    double result;
    oa_kernels_ref(&plain, k->precision);
    OA_TRY(oa_case_memory(c, p, &plain, v, false, &right));
    enum oa_error e = solve(c, p, &plain, &right, &result);
    for (int o = 0; o < p->count && e == OA_OK; o++)
        if (p->operand[o].role != CASE_IN)
            judge_bits(p, k, o, got->x[o], right.x[o], verdict);
    oa_case_memory_free(&right);
    return e;
}

static enum oa_error check_memory(oa_context *c, const struct kernel_problem *p, const struct oa_kernels *k,
                                  const struct case_values *v, bool in_place, struct verdict *verdict)
{
    struct case_memory before = { 0 }, m = { 0 };
    double result = 0;
    enum oa_error e = oa_case_memory(c, p, k, v, in_place, &before);
    if (e == OA_OK)
        e = oa_case_memory(c, p, k, v, in_place, &m);
    if (e == OA_OK)
        e = solve(c, p, k, &m, &result);
    if (e == OA_OK)
        e = judge_values(c, p, k, v, &m, result, verdict);
    if (e == OA_OK && p->what->exact)
        e = judge_exact(c, p, k, v, &m, verdict);
    if (e == OA_OK)
        judge_guards(p, k, in_place, &before, &m, verdict);
    oa_case_memory_free(&before);
    oa_case_memory_free(&m);
    return e;
}

enum oa_error oa_kernel_check(oa_context *c, const struct kernel_problem *p, const struct oa_kernels *k, bool in_place,
                              double *worst, char where[OA_CASE_TEXT])
{
    struct case_values v;
    struct verdict verdict = { 0, where };
    where[0] = 0;
    OA_TRY(oa_case_values(c, p, k->precision, &v));
    enum oa_error e = check_memory(c, p, k, &v, in_place, &verdict);
    oa_case_values_free(&v);
    *worst = verdict.worst;
    return e;
}
