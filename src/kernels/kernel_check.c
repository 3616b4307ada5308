/* SPDX-License-Identifier: Apache-2.0
 * Solves a problem of kernel_cases.h and checks the answer; kernel_values.c draws the numbers. */
#include "kernels/kernel_cases.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { GUARD = 128 }; /* bytes before and after an operand */

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

/* Bytes that belong to no element are 0xff in operands that are only read, NaN in every type, and
 * 0xfe in those that are written, a huge number: a kernel that writes too far changes such a
 * number, but perhaps not a NaN. */
static enum oa_error make_operand(oa_context *c, const struct kernel_problem *p,
                                  const struct oa_kernels *k, const struct case_values *v, int o,
                                  struct case_memory *m)
{
    const struct case_operand *q = &p->operand[o];
    enum oa_type type = type_of(k, q->type);
    size_t shift = p->awkward ? p->seed % 4 * oa_type_size(type) : 0;
    m->bytes[o] = 2 * GUARD + shift + (size_t)oa_case_cells(q) * oa_type_size(type);
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

enum oa_error oa_case_memory(oa_context *c, const struct kernel_problem *p,
                             const struct oa_kernels *k, const struct case_values *v, bool in_place,
                             struct case_memory *out)
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

struct kernel_verdict {
    double worst;
    char *where;
};

static void note_error(struct kernel_verdict *v, double share, int operand, long row, long col,
                       double got, double right)
{
    if (!(share > v->worst))
        return;
    v->worst = share;
    if (share > 1)
        snprintf(v->where, OA_CASE_TEXT, "operand %d row %ld column %ld: %.9g, right is %.9g",
                 operand, row, col, got, right);
}

/* The error as a share of what is allowed. */
static double error_share(double got, double right, double allowed, double overflow)
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

static void judge_operand(const struct kernel_problem *p, const struct oa_kernels *k, int o,
                          const void *got, const double *right, const double *magnitude,
                          struct kernel_verdict *v)
{
    const struct case_operand *q = &p->operand[o];
    enum oa_type type = type_of(k, q->type);
    double real = k->real == OA_F64 ? DBL_EPSILON : FLT_EPSILON;
    double act = type == OA_BF16 ? 0x1p-8 : real;
    for (long i = 0; i < q->rows; i++)
        for (long j = 0; j < q->cols; j++) {
            double r = right[i * q->ld + j], g = read_element(type, got, i * q->ld + j);
            double allowed = real * (magnitude[i * q->ld + j] + fabs(r)) + act * fabs(r) + FLT_MIN;
            note_error(v, error_share(g, r, allowed, FLT_MAX * (1 - 2 * act)), o, i, j, g, r);
        }
}

/* A kernel that only rounds must give the bits of the plain version, except those of a NaN. */
static void judge_bits(const struct kernel_problem *p, const struct oa_kernels *k, int o,
                       const void *got, const void *right, struct kernel_verdict *v)
{
    const struct case_operand *q = &p->operand[o];
    enum oa_type type = type_of(k, q->type);
    for (long i = 0; i < q->rows; i++)
        for (long j = 0; j < q->cols; j++) {
            double r = read_element(type, right, i * q->ld + j),
                   g = read_element(type, got, i * q->ld + j);
            bool same = isnan(r) ? isnan(g) : r == g && signbit(r) == signbit(g);
            note_error(v, same ? 0 : INFINITY, o, i, j, g, r);
        }
}

/* No byte may change but the elements of outputs. */
static void judge_guards(const struct kernel_problem *p, const struct oa_kernels *k, bool in_place,
                         const struct case_memory *before, const struct case_memory *after,
                         struct kernel_verdict *v)
{
    for (int o = 0; o < p->count; o++) {
        const struct case_operand *q = &p->operand[o];
        size_t start = after->block[o] ? (size_t)((char *)after->x[o] - after->block[o]) : 0;
        size_t row = (size_t)q->ld * oa_type_size(type_of(k, q->type));
        bool written = q->role != CASE_IN || (in_place && o == p->what->same[0]);
        size_t used = (size_t)q->cols * oa_type_size(type_of(k, q->type));
        for (size_t b = 0; after->block[o] && b < after->bytes[o]; b++) {
            bool inside =
                b >= start && (b - start) / row < (size_t)q->rows && (b - start) % row < used;
            if (after->block[o][b] == before->block[o][b] || (inside && written))
                continue;
            v->worst = INFINITY;
            snprintf(v->where, OA_CASE_TEXT,
                     "operand %d: byte %ld, counted from its start, was written", o,
                     (long)b - (long)start);
            return;
        }
    }
}

/* ---- solving ---- */

static enum oa_error solve_problem(oa_context *c, const struct kernel_problem *p,
                                   const struct oa_kernels *k, const struct case_memory *m,
                                   double *result)
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

/* The reference by the f64 table: the operands after the call, as doubles. */
static enum oa_error solve_exactly(oa_context *c, const struct kernel_problem *p,
                                   const struct case_values *v, struct case_values *after,
                                   double *result)
{
    struct oa_kernels k;
    struct case_memory m;
    oa_kernels_ref(&k, OA_PRECISION_F64);
    OA_TRY(oa_case_memory(c, p, &k, v, false, &m));
    enum oa_error e = solve_problem(c, p, &k, &m, result);
    *after = (struct case_values){ 0 };
    for (int o = 0; o < p->count && e == OA_OK; o++) {
        after->x[o] = oa_alloc(c, (size_t)oa_case_cells(&p->operand[o]) * sizeof(double));
        for (long i = 0; after->x[o] &&
                         i < oa_case_cells(&p->operand[o]) - p->operand[o].ld + p->operand[o].cols;
             i++)
            after->x[o][i] = read_element(type_of(&k, p->operand[o].type), m.x[o], i);
        e = oa_status(c);
    }
    oa_case_memory_free(&m);
    return e;
}

static void judge_values(const struct kernel_answer *a, const struct oa_kernels *k,
                         const struct case_memory *got, double result,
                         struct kernel_verdict *verdict)
{
    const struct kernel_problem *p = &a->problem;
    for (int o = 0; o < p->count; o++)
        if (p->operand[o].role != CASE_IN)
            judge_operand(p, k, o, got->x[o], a->right.x[o], a->magnitude.x[o], verdict);
    if (p->what->result_magnitude)
        note_error(verdict, error_share(result, a->result, a->result_allowed, INFINITY), -1, 0, 0,
                   result, a->result);
}

static enum oa_error judge_exact(oa_context *c, const struct kernel_problem *p,
                                 const struct oa_kernels *k, const struct case_values *v,
                                 const struct case_memory *got, struct kernel_verdict *verdict)
{
    struct oa_kernels plain;
    struct case_memory right;
    double result;
    oa_kernels_ref(&plain, k->precision);
    OA_TRY(oa_case_memory(c, p, &plain, v, false, &right));
    enum oa_error e = solve_problem(c, p, &plain, &right, &result);
    for (int o = 0; o < p->count && e == OA_OK; o++)
        if (p->operand[o].role != CASE_IN)
            judge_bits(p, k, o, got->x[o], right.x[o], verdict);
    oa_case_memory_free(&right);
    return e;
}

static enum oa_error find_magnitudes(oa_context *c, struct kernel_answer *a)
{
    const struct kernel_problem *p = &a->problem;
    for (int o = 0; o < p->count; o++) {
        if (p->operand[o].role == CASE_IN)
            continue;
        a->magnitude.x[o] = oa_alloc(c, (size_t)oa_case_cells(&p->operand[o]) * sizeof(double));
        if (!a->magnitude.x[o])
            return oa_status(c);
        if (p->what->magnitude)
            p->what->magnitude(p, a->given.x, a->right.x, o, a->magnitude.x[o]);
    }
    if (p->what->result_magnitude)
        a->result_allowed = FLT_EPSILON * p->what->result_magnitude(p, a->given.x) +
                            DBL_EPSILON * fabs(a->result) + FLT_MIN;
    return OA_OK;
}

enum oa_error oa_kernel_solve(oa_context *c, const struct kernel_problem *p,
                              enum oa_precision precision, struct kernel_answer *out)
{
    *out = (struct kernel_answer){ .problem = *p, .precision = precision };
    enum oa_error e = oa_case_values(c, p, precision, &out->given);
    if (e == OA_OK)
        e = solve_exactly(c, p, &out->given, &out->right, &out->result);
    if (e == OA_OK)
        e = find_magnitudes(c, out);
    if (e != OA_OK)
        oa_kernel_answer_free(out);
    return e;
}

void oa_kernel_answer_free(struct kernel_answer *a)
{
    oa_case_values_free(&a->given);
    oa_case_values_free(&a->right);
    oa_case_values_free(&a->magnitude);
}

enum oa_error oa_kernel_judge(oa_context *c, const struct kernel_answer *a,
                              const struct oa_kernels *k, bool in_place, double *worst,
                              char where[OA_CASE_TEXT])
{
    const struct kernel_problem *p = &a->problem;
    struct case_memory before = { 0 }, m = { 0 };
    struct kernel_verdict verdict = { 0, where };
    double result = 0;
    where[0] = 0;
    enum oa_error e = oa_case_memory(c, p, k, &a->given, in_place, &before);
    if (e == OA_OK)
        e = oa_case_memory(c, p, k, &a->given, in_place, &m);
    if (e == OA_OK)
        e = solve_problem(c, p, k, &m, &result);
    if (e == OA_OK)
        judge_values(a, k, &m, result, &verdict);
    if (e == OA_OK && p->what->exact)
        e = judge_exact(c, p, k, &a->given, &m, &verdict);
    if (e == OA_OK)
        judge_guards(p, k, in_place, &before, &m, &verdict);
    oa_case_memory_free(&before);
    oa_case_memory_free(&m);
    *worst = verdict.worst;
    return e;
}

enum oa_error oa_kernel_check(oa_context *c, const struct kernel_problem *p,
                              const struct oa_kernels *k, bool in_place, double *worst,
                              char where[OA_CASE_TEXT])
{
    struct kernel_answer a;
    OA_TRY(oa_kernel_solve(c, p, k->precision, &a));
    enum oa_error e = oa_kernel_judge(c, &a, k, in_place, worst, where);
    oa_kernel_answer_free(&a);
    return e;
}
