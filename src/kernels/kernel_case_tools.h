/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files kernel_cases_SUBJECT.c are written with. Each has the cases of one subject: shapes
 * of the operands, one call, the size of errors, and at its end the list; kernel_cases.c strings
 * the lists together.
 */
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
    oa_cases_updates;

#define CASE(f) .name = #f, .slot = offsetof(struct oa_kernels, f), .call = f##_call
#define ROW .bench_rows = 1, .bench_cols = 16384
#define TILE .matrix = true, .bench_rows = 64, .bench_cols = 512
#define ALL (BEAR_TINY | BEAR_HUGE | BEAR_NAN)

/* ---- operands ---- */

static inline void put(problem *p, enum case_type type, enum case_role role, enum case_fill fill,
                       long rows, long cols, long ld)
{
    p->operand[p->count++] = (struct case_operand){ type, role, fill, rows, cols, ld };
}

static inline void put_row(problem *p, enum case_type type, enum case_role role,
                           enum case_fill fill)
{
    put(p, type, role, fill, 1, p->cols, p->cols);
}

static inline void put_column(problem *p, enum case_type type, enum case_role role,
                              enum case_fill fill)
{
    put(p, type, role, fill, 1, p->rows, p->rows);
}

static inline void put_tile(problem *p, enum case_type type, enum case_role role,
                            enum case_fill fill, long more)
{
    put(p, type, role, fill, p->rows, p->cols, p->cols + more);
}

static inline double roundings(long n) /* of a sum of n terms */
{
    return 4 + sqrt((double)n);
}

/* Where operand i of the problem keeps element (r, j). */
static inline long at(const problem *p, int i, long r, long j)
{
    return r * p->operand[i].ld + j;
}

static inline double row_largest(const problem *p, const double *x, int o, long i)
{
    double top = 0;
    for (long j = 0; j < p->cols; j++)
        top = fmax(top, fabs(x[at(p, o, i, j)]));
    return top;
}

static inline void act_act_act_shape(problem *p)
{
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    put_row(p, CASE_ACT, CASE_OUT, FILL_NORMAL);
}

#endif
