/* SPDX-License-Identifier: Apache-2.0
 * Macros and functions of the files kernel_cases_SUBJECT.c. Each file has the cases of one subject
 * (shapes of the operands, one call, the size of errors) and ends with their list; kernel_cases.c
 * joins the lists. */
#ifndef ORTHANT_KERNEL_CASE_TOOLS_H
#define ORTHANT_KERNEL_CASE_TOOLS_H

#include "kernels/kernel_cases.h"

#include <math.h>

typedef const struct oa_kernels table;
typedef struct kernel_problem problem;

struct kernel_case_list {
    const struct kernel_case *cases;
    int count;
};
extern const struct kernel_case_list oa_cases_products, oa_cases_rows, oa_cases_activations,
    oa_cases_norm, oa_cases_softmax, oa_cases_features, oa_cases_transforms, oa_cases_random,
    oa_cases_updates, oa_cases_recurrence;

#define CASE(f) .name = #f, .slot = offsetof(struct oa_kernels, f), .call = f##_call
#define VECTOR .bench_rows = 1, .bench_cols = 16384
#define MATRIX .matrix = true, .bench_rows = 64, .bench_cols = 512
/* Operands: one row of the problem's columns; one number a row; all, with rows further apart. */
#define ROW(type, role, fill)                                                                      \
    {                                                                                              \
        CASE_##type, CASE_##role, FILL_##fill, OPERAND_ROW, 0                                      \
    }
#define COLUMN(type, role, fill)                                                                   \
    {                                                                                              \
        CASE_##type, CASE_##role, FILL_##fill, OPERAND_COLUMN, 0                                   \
    }
#define TILE(type, role, fill, more)                                                               \
    {                                                                                              \
        CASE_##type, CASE_##role, FILL_##fill, OPERAND_TILE, more                                  \
    }
/* The function `call` of a case for a kernel that returns nothing, and for one that returns a
 * number; the declaration at its end needs the semicolon after the macro. */
#define CALL(f, ...)                                                                               \
    static double f##_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)    \
    {                                                                                              \
        (void)s, (void)p;                                                                          \
        k->f(__VA_ARGS__);                                                                         \
        return 0;                                                                                  \
    }                                                                                              \
    struct oa_kernels
#define ASK(f, ...)                                                                                \
    static double f##_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)    \
    {                                                                                              \
        (void)s, (void)p;                                                                          \
        return k->f(__VA_ARGS__);                                                                  \
    }                                                                                              \
    struct oa_kernels
/* The head of the function `magnitude` of a case: b, a operands before and after, o the output. */
#define MAGNITUDE(f)                                                                               \
    static void f##_magnitude(UNUSED const problem *p, UNUSED double *const *b,                    \
                              UNUSED double *const *a, UNUSED int o, double *m)
#define UNUSED __attribute__((unused))
#define ALL (BEAR_TINY | BEAR_HUGE | BEAR_NAN)

/* ---- operands ---- */

static inline void case_put(problem *p, enum case_type type, enum case_role role,
                            enum case_fill fill, long rows, long cols, long ld)
{
    p->operand[p->count++] = (struct case_operand){ type, role, fill, rows, cols, ld };
}

static inline void case_put_row(problem *p, enum case_type type, enum case_role role,
                                enum case_fill fill)
{
    case_put(p, type, role, fill, 1, p->cols, p->cols);
}

static inline void case_put_column(problem *p, enum case_type type, enum case_role role,
                                   enum case_fill fill)
{
    case_put(p, type, role, fill, 1, p->rows, p->rows);
}

static inline void case_put_tile(problem *p, enum case_type type, enum case_role role,
                                 enum case_fill fill, long more)
{
    case_put(p, type, role, fill, p->rows, p->cols, p->cols + more);
}

static inline double roundings(long n) /* of a sum of n terms */
{
    return 4 + sqrt((double)n);
}

/* The index of element (r, j) in operand i of the problem. */
static inline long at(const problem *p, int i, long r, long j)
{
    return r * p->operand[i].ld + j;
}

static inline double largest_in_row(const problem *p, const double *x, int o, long i)
{
    double top = 0;
    for (long j = 0; j < p->cols; j++)
        top = fmax(top, fabs(x[at(p, o, i, j)]));
    return top;
}

#endif
