/* SPDX-License-Identifier: Apache-2.0
 * Cases of the matrix product. Variants: bit 0, bit 1: A, B transposed; from 4 on C is real; from 8
 * on it is added to. */
#include "kernels/kernel_case_tools.h"

static void gemm_shape(problem *p)
{
    bool ta = p->variant & 1, tb = p->variant & 2, accumulate = p->variant >= 8,
         real = p->variant >= 4;
    long more = p->awkward ? 3 : 0;
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, ta ? p->depth : p->rows, ta ? p->rows : p->depth,
             (ta ? p->rows : p->depth) + more);
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, tb ? p->cols : p->depth, tb ? p->depth : p->cols,
             (tb ? p->depth : p->cols) + 2 * more);
    case_put(p, real ? CASE_REAL : CASE_ACT, accumulate ? CASE_BOTH : CASE_OUT, FILL_NORMAL,
             p->rows, p->cols, p->cols + more);
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

MAGNITUDE(gemm)
{
    struct oa_gemm g = gemm_of(p);
    for (long i = 0; i < g.m; i++)
        for (long j = 0; j < g.n; j++) {
            double sum = 0;
            for (long q = 0; q < g.k; q++)
                sum += fabs(b[0][g.ta ? q * g.lda + i : i * g.lda + q] *
                            b[1][g.tb ? j * g.ldb + q : q * g.ldb + j]);
            m[i * g.ldc + j] =
                roundings(g.k) * sum + (g.accumulate ? fabs(b[2][i * g.ldc + j]) : 0);
        }
}

static const struct kernel_case cases[] = {
    { CASE(gemm), .variants = 12, .matrix = true, .bench_rows = 256, .bench_cols = 768,
      .shape = gemm_shape, .magnitude = gemm_magnitude },
};

const struct kernel_case_list oa_cases_products = { cases, sizeof cases / sizeof *cases };
