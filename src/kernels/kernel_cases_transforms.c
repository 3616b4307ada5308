/* SPDX-License-Identifier: Apache-2.0
 * Cases of structured projections: blocks of OA_LANES rows. Variants: without and with an index. */
#include "kernels/kernel_case_tools.h"

static void lanes_shape(problem *p)
{
    p->rows = 1 + (p->rows - 1) % OA_LANES;
    case_put_row(p, CASE_INDEX, CASE_IN, FILL_ORDER);
}

static const int32_t *lanes_index(const problem *p, void *const *x)
{
    return p->variant ? x[0] : NULL;
}

static void lanes_in_shape(problem *p)
{
    lanes_shape(p);
    case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    case_put(p, CASE_REAL, CASE_OUT, FILL_NORMAL, p->cols, OA_LANES, OA_LANES);
}

CALL(lanes_in, p->rows, p->cols, lanes_index(p, x), x[1], p->operand[1].ld, x[2]);

static void lanes_out_shape(problem *p)
{
    lanes_shape(p);
    case_put_row(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    case_put(p, CASE_REAL, CASE_IN, FILL_NORMAL, p->cols, OA_LANES, OA_LANES);
    case_put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 3);
}

CALL(lanes_out, p->rows, p->cols, lanes_index(p, x), p->variant ? x[1] : NULL, x[2], x[3],
     p->operand[3].ld);

/* cols rows of lanes, at most the largest unit·2^stages below; variants: units 1 and 3. */
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
    case_put_row(p, CASE_REAL, CASE_IN, FILL_FACTOR);
    case_put(p, CASE_REAL, CASE_IN, FILL_NORMAL, n, OA_LANES, OA_LANES);
    case_put(p, CASE_REAL, CASE_OUT, FILL_NORMAL, n, OA_LANES, OA_LANES);
}

CALL(hadamard, p->cols, hadamard_unit(p), x[0], x[1], x[2]);

MAGNITUDE(hadamard)
{
    for (long t = 0; t < OA_LANES; t++) {
        double sum = 0;
        for (long r = 0; r < p->cols; r++)
            sum += fabs(b[0][r] * b[1][at(p, 1, r, t)]);
        for (long r = 0; r < p->cols; r++)
            m[at(p, o, r, t)] = roundings(p->cols) * sum;
    }
}

/* Runs of 1 + depth % 7 rows. Variants: q and its transpose. */
static void mix_runs_shape(problem *p)
{
    long b = 1 + p->depth % 7, n = p->cols * b;
    case_put(p, CASE_REAL, CASE_IN, FILL_NORMAL, b, b, b);
    case_put(p, CASE_REAL, CASE_IN, FILL_NORMAL, n, OA_LANES, OA_LANES);
    case_put(p, CASE_REAL, CASE_OUT, FILL_NORMAL, n, OA_LANES, OA_LANES);
}

CALL(mix_runs, p->operand[1].rows, p->operand[0].rows, p->variant, x[0], x[1], x[2]);

MAGNITUDE(mix_runs)
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
}

static const struct kernel_case cases[] = {
    { CASE(lanes_in), .variants = 2, .bear = ALL, .exact = true, .matrix = true, .bench_rows = 16,
      .bench_cols = 512, .shape = lanes_in_shape },
    { CASE(lanes_out), .variants = 2, .bear = BEAR_TINY | BEAR_NAN, .exact = true, .matrix = true,
      .bench_rows = 16, .bench_cols = 512, .shape = lanes_out_shape },
    { CASE(hadamard), .variants = 2, .bear = BEAR_TINY, .same = { 1, 2 }, .bench_rows = 16,
      .bench_cols = 512, .shape = hadamard_shape, .magnitude = hadamard_magnitude },
    { CASE(mix_runs), .variants = 2, .bear = BEAR_TINY, .bench_rows = 16, .bench_cols = 512,
      .shape = mix_runs_shape, .magnitude = mix_runs_magnitude },
};

const struct kernel_case_list oa_cases_transforms = { cases, sizeof cases / sizeof *cases };
