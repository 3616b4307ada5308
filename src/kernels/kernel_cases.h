/* SPDX-License-Identifier: Apache-2.0
 * Every kernel as data: its operands, one call, and the error bound. The checker
 * (tests/test_kernels.c) and `orthant bench --kernels` (kernel_bench.c) run over this list; a new
 * kernel is one more case in the kernel_cases_SUBJECT.c it belongs to.
 *
 * A problem is a case with sizes. The f64 table computes the reference, then the version under test
 * runs on operands between guard bytes, with NaN wherever it must not read. The error of an element
 * may be at most
 *
 *     epsilon(real)·(magnitude + |right|) + epsilon(act)·|right| + the least normal number,
 *
 * the second term if it is stored as act. The magnitude is computed from the data, e.g.
 * (4 + √k)·Σ|a||b| for a product. Kernels that round only once (`exact`) must give the same bits as
 * the plain C version of the same precision. */
#ifndef ORTHANT_KERNEL_CASES_H
#define ORTHANT_KERNEL_CASES_H

#include "kernels/kernels.h"

enum { CASE_OPERANDS = 10, OA_CASE_TEXT = 256 };
enum case_type { CASE_ACT, CASE_REAL, CASE_INDEX };
enum case_role { CASE_IN, CASE_OUT, CASE_BOTH };
enum case_fill {
    FILL_NORMAL, /* N(0, 1); in problems with extreme values also ±0, denormals, 10³⁰ and NaN, as
                    far as the case allows */
    FILL_WIDE,   /* uniform in ±10⁴ now and then, else N(0, 4) */
    FILL_FACTOR, /* about 1 */
    FILL_SQUARE, /* ≥ 0 */
    FILL_LOW,    /* first visible column of a row … */
    FILL_HIGH,   /* … and the end: some rows have no visible column, some all */
    FILL_SEEN, /* N(0, 4), some −∞, where visible; NaN elsewhere (the two operands before: low,
                  high) */
    FILL_CHANCE,  /* in [0, 1), some exactly 0 */
    FILL_COVERED, /* N(0, 1), NaN where the operand before is 0 */
    FILL_WEIGHED, /* N(0, 1), NaN in rows for which the operand before, a number a row, is 0 */
    FILL_TOP,     /* a running maximum, some −∞ … */
    FILL_MASS,    /* … and its sum */
    FILL_ORDER,   /* 0, 1, …, rotated and reversed */
    FILL_LSE,     /* of the order of a log-sum-exp, some −∞ */
};
enum {
    BEAR_TINY = 1,
    BEAR_HUGE = 2,
    BEAR_NAN = 4
}; /* extreme values that FILL_NORMAL may contain */

/* An operand of most cases: its extent follows from the problem's rows and columns. */
enum case_extent { OPERAND_NONE, OPERAND_ROW, OPERAND_COLUMN, OPERAND_TILE };
struct case_operand_kind {
    enum case_type type;
    enum case_role role;
    enum case_fill fill;
    enum case_extent extent;
    long more; /* TILE: elements between two rows */
};

struct case_operand {
    enum case_type type;
    enum case_role role;
    enum case_fill fill;
    long rows, cols, ld;
};

static inline long oa_case_cells(const struct case_operand *o)
{
    return o->rows * o->ld;
}

struct kernel_problem {
    const struct kernel_case *what;
    long rows, cols, depth;
    int variant;
    bool awkward;
    uint64_t seed;
    int count;
    struct case_operand operand[CASE_OPERANDS];
};

struct kernel_case {
    const char *name;
    size_t slot; /* of the function in the table */
    int variants, bear;
    bool exact, matrix; /* matrix: rows matter, else they are 1 */
    int same[2];        /* operands that may be one memory (in place); 0, 0: none */
    long bench_rows, bench_cols;
    struct case_operand_kind operand[CASE_OPERANDS]; /* up to the first without an extent */
    void (*shape)(struct kernel_problem *p);         /* other operands, after these; may be NULL */
    double (*call)(const struct oa_kernels *k, struct oa_gemm_state *s,
                   const struct kernel_problem *p, void *const *x);
    /* Magnitudes m of an output from the operands before and after the call, all [rows, ld]; NULL:
     * 0. */
    void (*magnitude)(const struct kernel_problem *p, double *const *before, double *const *after,
                      int output, double *m);
    double (*result_magnitude)(const struct kernel_problem *p,
                               double *const *before); /* of a returned number */
};

const struct kernel_case *oa_kernel_case(int i); /* NULL past the end */
void oa_kernel_problem(struct kernel_problem *p, const struct kernel_case *c, long rows, long cols,
                       long depth, int variant, bool awkward);

/* The type of `slot` of a case in a table. */
typedef void kernel_slot(void);
kernel_slot *oa_kernel_slot(const struct oa_kernels *k, const struct kernel_case *c);

/* The tables of a precision that this processor can run, weakest first: "ref", "avx2", "avx512",
 * "avx512bf16", and the one that oa_kernels_init fills, named after its matrix product. Returns
 * their number. */
enum { KERNEL_VERSIONS = 8 };
struct kernel_version {
    const char *name;
    struct oa_kernels table;
};
int oa_kernel_versions(oa_context *c, enum oa_precision p,
                       struct kernel_version out[KERNEL_VERSIONS]);
/* Whether an earlier version has the same function. */
bool oa_kernel_seen(const struct kernel_version *versions, int version,
                    const struct kernel_case *c);

/* The operands as doubles, each [rows, ld], rounded to the precision. */
struct case_values {
    double *x[CASE_OPERANDS];
};
enum oa_error oa_case_values(oa_context *c, const struct kernel_problem *p,
                             enum oa_precision precision, struct case_values *out);
void oa_case_values_free(struct case_values *v);

/* The operands in the types of a table, between guards; x[i] is element (0, 0) of operand i. In
 * place: the two operands of `same` are one. */
struct case_memory {
    char *block[CASE_OPERANDS];
    void *x[CASE_OPERANDS];
    size_t bytes[CASE_OPERANDS]; /* of a block */
};
enum oa_error oa_case_memory(oa_context *c, const struct kernel_problem *p,
                             const struct oa_kernels *k, const struct case_values *v, bool in_place,
                             struct case_memory *out);
void oa_case_memory_free(struct case_memory *m);

/* A problem and its solution, computed once for all versions of a kernel at a precision. */
struct kernel_answer {
    struct kernel_problem problem;
    enum oa_precision precision;
    struct case_values given, right, magnitude; /* operands before the call, after it by the f64
                                                   table, and the largest error allowed */
    double result, result_allowed;              /* of a returned number */
};
enum oa_error oa_kernel_solve(oa_context *c, const struct kernel_problem *p,
                              enum oa_precision precision, struct kernel_answer *out);
void oa_kernel_answer_free(struct kernel_answer *a);

/* Solves the problem by k, a table of the answer's precision, and compares. *worst: the largest
 * error as a share of the allowed one; above 1 it is wrong, and `where` then names the place.
 * Infinite if the kernel changed a byte that it must not write. */
enum oa_error oa_kernel_judge(oa_context *c, const struct kernel_answer *a,
                              const struct oa_kernels *k, bool in_place, double *worst,
                              char where[OA_CASE_TEXT]);

/* Solves and judges one version. */
enum oa_error oa_kernel_check(oa_context *c, const struct kernel_problem *p,
                              const struct oa_kernels *k, bool in_place, double *worst,
                              char where[OA_CASE_TEXT]);

#endif
