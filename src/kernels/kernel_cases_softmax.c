/* SPDX-License-Identifier: Apache-2.0
 * Cases of softmax over tiles of logits. */
#include "kernels/attention_tile.h"
#include "kernels/kernel_case_tools.h"
#include <stdlib.h>
#include <string.h>

#define LOGIT_SCALE 0.125

static void softmax_tile_shape(problem *p)
{
    case_put_column(p, CASE_INDEX, CASE_IN, FILL_LOW);
    case_put_column(p, CASE_INDEX, CASE_IN, FILL_HIGH);
    case_put_tile(p, CASE_REAL, CASE_BOTH, FILL_SEEN, 3);
    case_put_column(p, CASE_REAL, CASE_BOTH, FILL_TOP);
    case_put_column(p, CASE_REAL, CASE_BOTH, FILL_MASS);
    case_put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

static double softmax_tile_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    (void)s;
    double scale = p->variant ? -3 : LOGIT_SCALE;
    k->softmax_tile(p->rows, p->cols, scale, x[0], x[1], x[2], p->operand[2].ld, x[3], x[4], x[5]);
    return 0;
}

/* The relative error of e^t is the error of t, a difference of large terms. */
MAGNITUDE(softmax_tile)
{
    for (long i = 0; i < p->rows; i++) {
        double top = isfinite(a[3][i]) ? fabs(a[3][i]) : 0,
               old = isfinite(b[3][i]) ? fabs(b[3][i]) : 0;
        double off = 4 + 2 * top + old + 90; /* no weight beyond e^−90 matters */
        if (o == 2)
            for (long j = 0; j < p->cols; j++)
                m[at(p, o, i, j)] = off * a[2][at(p, 2, i, j)];
        else
            m[i] = o == 3 ? top : o == 4 ? (off + roundings(p->cols)) * a[4][i] : off * a[5][i];
    }
}

static void softmax_to_act_shape(problem *p)
{
    softmax_tile_shape(p);
    p->operand[2].role = CASE_IN;
    case_put_tile(p, CASE_ACT, CASE_OUT, FILL_NORMAL, 5);
}

static double softmax_to_act_call(table *k, struct oa_gemm_state *s, const problem *p,
                                  void *const *x)
{
    (void)s;
    double scale = p->variant ? -3 : LOGIT_SCALE;
    k->softmax_to_act(p->rows, p->cols, scale, x[0], x[1], x[2], p->operand[2].ld, x[3], x[4], x[5],
                      x[6], p->operand[6].ld);
    return 0;
}

/* Whole tiles of 16 rows: the place of weight (i, j). */
static long tiled(const problem *p, long i, long j)
{
    return (i / 16 * ((p->cols + 31) / 32) + j / 32) * 512 + i % 16 * 32 + j % 32;
}

static void softmax_to_tiles_shape(problem *p)
{
    long steps = (p->cols + 31) / 32;
    p->rows = (p->rows + 15) / 16 * 16;
    softmax_tile_shape(p);
    p->operand[2].role =
        CASE_IN; /* its contents after the call are undefined: the call works on a copy */
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, 32 * steps, 32 * steps);
}

static double softmax_to_tiles_call(table *k, struct oa_gemm_state *s, const problem *p,
                                    void *const *x)
{
    size_t bytes = (size_t)oa_case_cells(&p->operand[2]) * k->real_size;
    void *logits = malloc(bytes);
    (void)s;
    if (!logits)
        return 1;
    memcpy(logits, x[2], bytes);
    k->softmax_to_tiles(p->rows, p->cols, LOGIT_SCALE, x[0], x[1], logits, p->operand[2].ld, x[3],
                        x[4], x[5], x[6]);
    free(logits);
    return 0;
}

MAGNITUDE(softmax_to_act)
{
    if (o < 6) {
        softmax_tile_magnitude(p, b, a, o, m);
        return;
    }
    for (long i = 0; i < p->rows; i++) {
        double top = isfinite(a[3][i]) ? fabs(a[3][i]) : 0,
               old = isfinite(b[3][i]) ? fabs(b[3][i]) : 0;
        for (long j = 0; j < p->cols; j++)
            m[at(p, 6, i, j)] = (94 + 2 * top + old) * a[6][at(p, 6, i, j)];
    }
}

MAGNITUDE(softmax_to_tiles)
{
    if (o < 6) {
        softmax_tile_magnitude(p, b, a, o, m);
        return;
    }
    for (long i = 0; i < p->rows; i++) {
        double top = isfinite(a[3][i]) ? fabs(a[3][i]) : 0,
               old = isfinite(b[3][i]) ? fabs(b[3][i]) : 0;
        for (long j = 0; j < p->cols; j++)
            m[tiled(p, i, j)] = (94 + 2 * top + old) * a[6][tiled(p, i, j)];
    }
}

CALL(softmax_again, p->rows, p->cols, LOGIT_SCALE, x[0], x[1], x[3], x[2], p->operand[2].ld);

MAGNITUDE(softmax_again)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++)
            m[at(p, o, i, j)] =
                a[2][at(p, 2, i, j)] * (94 + 2 * (isfinite(b[3][i]) ? fabs(b[3][i]) : 0));
}

CALL(softmax_gradient, p->rows, p->cols, LOGIT_SCALE, x[0], p->operand[0].ld, x[1],
     p->operand[1].ld, x[2], x[3], p->operand[3].ld);

MAGNITUDE(softmax_gradient)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            double chance = b[0][at(p, 0, i, j)];
            m[at(p, o, i, j)] =
                chance == 0 ? 0 : 4 * chance * (fabs(b[1][at(p, 1, i, j)]) + fabs(b[2][i]));
        }
}

CALL(softmax_again_gradient, p->rows, p->cols, LOGIT_SCALE, x[0], x[1], x[3], x[2],
     p->operand[2].ld, x[4], p->operand[4].ld, x[5], x[6], p->operand[6].ld, x[7],
     p->operand[7].ld);

MAGNITUDE(softmax_again_gradient)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            double off = 98 + 2 * (isfinite(b[3][i]) ? fabs(b[3][i]) : 0),
                   chance = a[6][at(p, 6, i, j)];
            m[at(p, o, i, j)] =
                off * chance * (o == 6 ? 1 : fabs(b[4][at(p, 4, i, j)]) + fabs(b[5][i]));
        }
}

/* Variants 1 and 3: short folds, and the tile begins within one; 2 and 3 add. */
static struct oa_fold fold_of(const problem *p, void *const *x)
{
    bool cut = p->variant % 2;
    return (struct oa_fold){ .width = cut ? 5 : 24,
                             .first = cut ? 3 : 0,
                             .q = x[2],
                             .k = x[3],
                             .ldq = p->operand[2].ld,
                             .ldk = p->operand[3].ld };
}

static void fold_shape(problem *p)
{
    long width = p->variant % 2 ? 5 : 24, folds = p->cols / width + 2;
    case_put_column(p, CASE_INDEX, CASE_IN, FILL_LOW);
    case_put_column(p, CASE_INDEX, CASE_IN, FILL_HIGH);
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, width, width + 3);
    case_put(p, CASE_ACT, CASE_IN, FILL_NORMAL, p->rows, folds, folds + 1);
}

static void fold_tile_shape(problem *p)
{
    fold_shape(p);
    case_put_tile(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, 3);
}

static double fold_tile_call(table *k, struct oa_gemm_state *s, const problem *p, void *const *x)
{
    struct oa_fold f = fold_of(p, x);
    (void)s;
    k->fold_tile(&f, p->variant >= 2, 0.75, p->rows, p->cols, x[0], x[1], x[4], p->operand[4].ld);
    return 0;
}

MAGNITUDE(fold_tile)
{
    struct oa_fold f = fold_of(p, (void *[4]){ NULL });
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            long l = f.first + j;
            m[at(p, o, i, j)] =
                4 * fabs(b[2][at(p, 2, i, l % f.width)] * b[3][at(p, 3, i, l / f.width)]) +
                fabs(b[4][at(p, 4, i, j)]);
        }
}

static void fold_gradient_shape(problem *p)
{
    fold_shape(p);
    case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    case_put(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, p->rows, p->operand[2].cols, p->operand[2].cols);
    case_put(p, CASE_REAL, CASE_BOTH, FILL_NORMAL, p->rows, p->operand[3].cols,
             p->operand[3].cols + 2);
}

static double fold_gradient_call(table *k, struct oa_gemm_state *s, const problem *p,
                                 void *const *x)
{
    struct oa_fold f = fold_of(p, x);
    (void)s;
    k->fold_gradient(&f, p->rows, p->cols, x[0], x[1], x[4], p->operand[4].ld, x[5], x[6],
                     p->operand[6].ld);
    return 0;
}

MAGNITUDE(fold_gradient)
{
    struct oa_fold f = fold_of(p, (void *[4]){ NULL });
    for (long i = 0; i < p->rows; i++) {
        for (long c = 0; c < p->operand[o].cols; c++)
            m[at(p, o, i, c)] = fabs(b[o][at(p, o, i, c)]);
        for (long j = 0; j < p->cols; j++) {
            long q = (f.first + j) % f.width, k = (f.first + j) / f.width;
            double other = o == 5 ? b[3][at(p, 3, i, k)] : b[2][at(p, 2, i, q)];
            m[at(p, o, i, o == 5 ? q : k)] +=
                roundings(p->cols) * fabs(b[4][at(p, 4, i, j)] * other);
        }
    }
}

/* Variant 1: with a factor. */
static void softmax_pairs_shape(problem *p)
{
    p->rows = (p->rows + 15) / 16 * 16;
    p->cols = p->cols < 32 ? p->cols : 32;
    case_put_column(p, CASE_INDEX, CASE_IN, FILL_LOW);
    case_put_column(p, CASE_INDEX, CASE_IN, FILL_HIGH);
    case_put(p, CASE_REAL, CASE_IN, FILL_SEEN, p->rows, p->cols, 32);
    case_put(p, CASE_REAL, CASE_IN, FILL_NORMAL, p->rows, p->cols, 32);
    case_put(p, CASE_REAL, CASE_IN, FILL_CHANCE, p->rows, p->cols, 32);
    case_put_column(p, CASE_REAL, CASE_IN, FILL_LSE);
    case_put_column(p, CASE_REAL, CASE_IN, FILL_NORMAL);
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows / 2, 64, 64);
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows / 2, 64, 64);
    case_put(p, CASE_ACT, CASE_OUT, FILL_NORMAL, p->rows, 32, 32);
}

CALL(softmax_pairs, &(struct oa_softmax_pairs){ .rows = p->rows,
                                                .cols = p->cols,
                                                .scale = LOGIT_SCALE,
                                                .low = x[0],
                                                .high = x[1],
                                                .s = x[2],
                                                .dp = x[3],
                                                .factor = p->variant ? x[4] : NULL,
                                                .lse = x[5],
                                                .delta = x[6],
                                                .p_pairs = x[7],
                                                .ds_pairs = x[8],
                                                .ds = x[9],
                                                .lds = 32,
                                                .row = 32,
                                                .tile = 512 });

/* The error of P is that of its exponent; that of dS also has the rounding of the difference. */
MAGNITUDE(softmax_pairs)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            long pair = i / 2 * 64 + 2 * j + i % 2, cell = i * 32 + j;
            double factor = p->variant ? b[4][cell] : 1,
                   off = 98 + 2 * (isfinite(b[5][i]) ? fabs(b[5][i]) : 0);
            bool seen =
                isfinite(b[2][cell]) && isfinite(b[5][i]); /* where not visible, elements are NaN */
            double weight = seen ? exp(LOGIT_SCALE * b[2][cell] - b[5][i]) : 0;
            double shift = fabs(b[3][cell] * factor) + fabs(b[6][i]);
            m[o == 9 ? cell : pair] = off * weight * (o == 7 ? factor : shift);
        }
}

CALL(tile_to_act, p->rows, p->cols, x[0], p->operand[0].ld, x[1], p->operand[1].ld);
CALL(tile_to_real, p->rows, p->cols, x[0], p->operand[0].ld, x[1], p->operand[1].ld);
CALL(mask_tile, p->rows, p->cols, x[0], x[1], x[2], p->operand[2].ld, x[3], p->operand[3].ld,
     p->variant ? NULL : x[4]);

MAGNITUDE(mask_tile)
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
    case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 3);
    if (p->variant)
        case_put_row(p, CASE_ACT, CASE_IN, FILL_NORMAL);
    else
        case_put_tile(p, CASE_ACT, CASE_IN, FILL_NORMAL, 5);
    case_put_column(p, CASE_REAL, CASE_OUT, FILL_NORMAL);
}

/* Variant 1: the same row of y with all of x. */
static long row_dots_step(const problem *p)
{
    return p->variant ? 0 : p->operand[1].ld;
}

CALL(row_dots, p->rows, p->cols, x[0], p->operand[0].ld, x[1], row_dots_step(p), x[2]);

MAGNITUDE(row_dots)
{
    for (long i = 0; i < p->rows; i++) {
        double sum = 0;
        for (long j = 0; j < p->cols; j++)
            sum += fabs(b[0][at(p, 0, i, j)] * b[1][i * row_dots_step(p) + j]);
        m[i] = roundings(p->cols) * sum;
    }
}

CALL(weigh_rows, p->rows, p->cols, x[0], x[1], p->operand[1].ld, x[2]);

MAGNITUDE(weigh_rows)
{
    for (long j = 0; j < p->cols; j++) {
        double sum = fabs(b[2][j]);
        for (long i = 0; i < p->rows; i++)
            sum += b[0][i] == 0 ? 0 : fabs(b[0][i] * b[1][at(p, 1, i, j)]);
        m[j] = roundings(p->rows) * sum;
    }
}

/* ---- weights that are no softmax; the variant is the kind ---- */

CALL(weigh_tile, (enum oa_weighing)p->variant, p->rows, p->cols, LOGIT_SCALE, x[0], x[1], x[3],
     x[2], p->operand[2].ld);

/* The error of t − r, times the slope. */
MAGNITUDE(weigh_tile)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            double w = a[2][at(p, 2, i, j)], shift = fabs(b[3][i]) + fabs(b[2][at(p, 2, i, j)]);
            bool seen = isfinite(b[2][at(p, 2, i, j)]);
            double slope = p->variant == OA_WEIGH_SIGMOID  ? w
                           : p->variant == OA_WEIGH_ENTMAX ? 2 * sqrt(w)
                                                           : w > 0;
            m[at(p, o, i, j)] = 8 * w + (seen ? 4 * slope * shift : 0);
        }
}

static double weigh_slope_of(const problem *p, double w)
{
    return p->variant == OA_WEIGH_SIGMOID ? w * (1 - w) : p->variant == 2 ? sqrt(w) : w > 0;
}

CALL(weigh_gradient, (enum oa_weighing)p->variant, p->rows, p->cols, x[0], p->operand[0].ld, x[1],
     p->operand[1].ld, x[2], x[3], p->operand[3].ld);

MAGNITUDE(weigh_gradient)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++) {
            double w = b[0][at(p, 0, i, j)];
            m[at(p, o, i, j)] = w == 0 ? 0
                                       : 6 * (weigh_slope_of(p, w) + w) *
                                             (fabs(b[1][at(p, 1, i, j)]) + fabs(b[2][i]));
        }
}

/* Variants 0 and 1: SPARSEMAX, ENTMAX. */
static enum oa_weighing weigh_sums_kind(const problem *p)
{
    return p->variant ? OA_WEIGH_ENTMAX : OA_WEIGH_SPARSEMAX;
}

CALL(weigh_sums, weigh_sums_kind(p), p->rows, p->cols, x[0], p->operand[0].ld, x[1],
     p->operand[1].ld, x[2], x[3]);

MAGNITUDE(weigh_sums)
{
    for (long i = 0; i < p->rows; i++) {
        double sum = fabs(b[o][i]);
        for (long j = 0; j < p->cols; j++) {
            double w = b[0][at(p, 0, i, j)], g = p->variant ? sqrt(w) : w > 0;
            sum += w == 0 ? 0 : g * (o == 2 ? fabs(b[1][at(p, 1, i, j)]) : 1);
        }
        m[i] = roundings(p->cols) * sum;
    }
}

CALL(soft_cap, p->cols, 0.125, 5, x[0], p->variant ? NULL : x[1]);

MAGNITUDE(soft_cap)
{
    for (long j = 0; j < p->cols; j++)
        m[j] = o == 0 ? 8 * fabs(a[0][j]) : 8;
}

CALL(row_dots_real, p->rows, p->cols, x[0], p->operand[0].ld, x[1], x[2]);

MAGNITUDE(row_dots_real)
{
    for (long i = 0; i < p->rows; i++)
        for (long j = 0; j < p->cols; j++)
            m[i] += roundings(p->cols) * fabs(b[0][at(p, 0, i, j)] * b[1][j]);
}

static const struct kernel_case cases[] = {
    { CASE(soft_cap), .variants = 2, .bear = ALL, VECTOR,
      .operand = { ROW(REAL, BOTH, WIDE), ROW(REAL, OUT, NORMAL) },
      .magnitude = soft_cap_magnitude },
    { CASE(softmax_tile), .variants = 2, MATRIX, .shape = softmax_tile_shape,
      .magnitude = softmax_tile_magnitude },
    { CASE(softmax_to_tiles), .variants = 1, MATRIX, .shape = softmax_to_tiles_shape,
      .magnitude = softmax_to_tiles_magnitude },
    { CASE(softmax_again), .variants = 1, MATRIX,
      .operand = { COLUMN(INDEX, IN, LOW), COLUMN(INDEX, IN, HIGH), TILE(REAL, BOTH, SEEN, 3),
                   COLUMN(REAL, IN, LSE) },
      .magnitude = softmax_again_magnitude },
    { CASE(softmax_gradient), .variants = 1, .bear = BEAR_TINY, MATRIX,
      .operand = { TILE(REAL, IN, CHANCE, 3), TILE(REAL, IN, COVERED, 3), COLUMN(REAL, IN, NORMAL),
                   TILE(ACT, OUT, NORMAL, 7) },
      .magnitude = softmax_gradient_magnitude },
    { CASE(softmax_to_act), .variants = 2, MATRIX, .shape = softmax_to_act_shape,
      .magnitude = softmax_to_act_magnitude },
    { CASE(softmax_again_gradient), .variants = 1, MATRIX,
      .operand = { COLUMN(INDEX, IN, LOW), COLUMN(INDEX, IN, HIGH), TILE(REAL, IN, SEEN, 3),
                   COLUMN(REAL, IN, LSE), TILE(REAL, IN, NORMAL, 1), COLUMN(REAL, IN, NORMAL),
                   TILE(ACT, OUT, NORMAL, 5), TILE(ACT, OUT, NORMAL, 7) },
      .magnitude = softmax_again_gradient_magnitude },
    { CASE(fold_tile), .variants = 4, MATRIX, .shape = fold_tile_shape,
      .magnitude = fold_tile_magnitude },
    { CASE(fold_gradient), .variants = 2, MATRIX, .shape = fold_gradient_shape,
      .magnitude = fold_gradient_magnitude },
    { CASE(weigh_tile), .variants = 3, MATRIX,
      .operand = { COLUMN(INDEX, IN, LOW), COLUMN(INDEX, IN, HIGH), TILE(REAL, BOTH, SEEN, 3),
                   COLUMN(REAL, IN, NORMAL) },
      .magnitude = weigh_tile_magnitude },
    { CASE(weigh_gradient), .variants = 3, .bear = BEAR_TINY, MATRIX,
      .operand = { TILE(REAL, IN, CHANCE, 3), TILE(REAL, IN, COVERED, 3), COLUMN(REAL, IN, NORMAL),
                   TILE(ACT, OUT, NORMAL, 7) },
      .magnitude = weigh_gradient_magnitude },
    { CASE(weigh_sums), .variants = 2, .bear = BEAR_TINY, MATRIX,
      .operand = { TILE(REAL, IN, CHANCE, 3), TILE(REAL, IN, COVERED, 3),
                   COLUMN(REAL, BOTH, NORMAL), COLUMN(REAL, BOTH, NORMAL) },
      .magnitude = weigh_sums_magnitude },
    { CASE(softmax_pairs), .variants = 2, .matrix = true, .bench_rows = 64, .bench_cols = 32,
      .shape = softmax_pairs_shape, .magnitude = softmax_pairs_magnitude },
    { CASE(tile_to_act), .variants = 1, .bear = ALL, .exact = true, MATRIX,
      .operand = { TILE(REAL, IN, NORMAL, 3), TILE(ACT, OUT, NORMAL, 5) } },
    { CASE(tile_to_real), .variants = 1, .bear = ALL, .exact = true, MATRIX,
      .operand = { TILE(ACT, IN, NORMAL, 3), TILE(REAL, OUT, NORMAL, 5) } },
    { CASE(mask_tile), .variants = 2, MATRIX,
      .operand = { COLUMN(INDEX, IN, LOW), COLUMN(INDEX, IN, HIGH), TILE(REAL, IN, SEEN, 3),
                   TILE(ACT, OUT, NORMAL, 5), COLUMN(REAL, BOTH, NORMAL) },
      .magnitude = mask_tile_magnitude },
    { CASE(row_dots), .variants = 2, .bear = BEAR_TINY | BEAR_NAN, .matrix = true,
      .bench_rows = 512, .bench_cols = 64, .shape = row_dots_shape,
      .magnitude = row_dots_magnitude },
    { CASE(row_dots_real), .variants = 1, .bear = BEAR_TINY | BEAR_NAN, .matrix = true,
      .bench_rows = 64, .bench_cols = 256,
      .operand = { TILE(ACT, IN, NORMAL, 3), ROW(REAL, IN, NORMAL), COLUMN(REAL, OUT, NORMAL) },
      .magnitude = row_dots_real_magnitude },
    { CASE(weigh_rows), .variants = 1, .bear = BEAR_TINY, .matrix = true, .bench_rows = 64,
      .bench_cols = 64,
      .operand = { COLUMN(REAL, IN, CHANCE), TILE(ACT, IN, WEIGHED, 3), ROW(REAL, BOTH, NORMAL) },
      .magnitude = weigh_rows_magnitude },
};

const struct kernel_case_list oa_cases_softmax = { cases, sizeof cases / sizeof *cases };
