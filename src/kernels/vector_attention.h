/* SPDX-License-Identifier: Apache-2.0
 * Softmax in the order in which products on tiles read it, by vectors of 16; a part of
 * vector_template.h, for activations in bf16. The numbers are those of vector_softmax.h. */
#include "kernels/attention_tile.h"

enum { TILE_ROWS = 16, TILE_COLS = 32, TILE_CELLS = TILE_ROWS * TILE_COLS };

/* ---- forward ---- */

/* row_largest for scale > 0: the largest product is that of the largest number. */
INLINE float row_top(long n, const float *x, float scale, float least)
{
    return fmaxf(scale * row_largest(n, x, 1, -INFINITY), least);
}

/* Weights of columns at … at + 31 of a row, `lanes` of them visible; p: 32 of a row of a tile. */
INLINE void tile_lanes(long lanes, const float *x, v_float factor, v_float shift, v_float *sum,
                       ACT *p)
{
    long left = lanes < W ? lanes : W, right = lanes - left;
    v_float e = v_exp2(v_fma(factor, v_load(x, left), shift)),
            f = v_exp2(v_fma(factor, v_load(x + W, right), shift));
    if (lanes < 2 * W) {
        e = v_keep(v_first(left), e);
        f = v_keep(v_first(right), f);
    }
    *sum = v_add(v_add(*sum, e), f);
    v_store_two_bf16(p, e, f);
}

/* From the first column on, `n` columns of a row; blocks of 32 columns are TILE_CELLS apart. */
INLINE float row_to_tiles(long n, const float *x, v_float factor, float shift, ACT *p)
{
    v_float sum = v_set(0), all = v_set(shift);
    for (; n >= TILE_COLS; n -= TILE_COLS, x += TILE_COLS, p += TILE_CELLS)
        tile_lanes(TILE_COLS, x, factor, all, &sum, p);
    if (n > 0)
        tile_lanes(n, x, factor, all, &sum, p);
    return v_sum(sum);
}

/* Rounds the result of softmax_tile. */
INLINE void round_to_tiles(long n, const float *x, ACT *p)
{
    for (; n > 0; n -= TILE_COLS, x += TILE_COLS, p += TILE_CELLS)
        v_store_two_bf16(p, v_load(x, n < W ? n : W),
                         v_load(x + W, n < W       ? 0
                                       : n < 2 * W ? n - W
                                                   : W));
}

INLINE void zeros_to_tiles(long first, long end, ACT *p)
{
    for (; first < end; first++)
        memset(p + first * TILE_CELLS, 0, TILE_COLS * sizeof *p);
}

/* Rows whose first column is not visible are weighed in place and then rounded, so that their
 * weights are summed in the same order of lanes. */
INLINE float weights_to_tiles(struct span see, long cols, v_float factor, float shift, float *row,
                              ACT *p)
{
    if (see.begin == 0 && see.end > 0) {
        zeros_to_tiles((see.end + TILE_COLS - 1) / TILE_COLS, (cols + TILE_COLS - 1) / TILE_COLS,
                       p);
        return row_to_tiles(see.end, row, factor, shift, p);
    }
    float sum = row_weights(see, cols, factor, shift, row);
    round_to_tiles(cols, row, p);
    return sum;
}

INLINE void strip_to_tiles(long rows, long cols, double scale, const int32_t *low,
                           const int32_t *high, float *s, long lds, float *m, float *z,
                           float *rescale, ACT *p)
{
    float top[W];
    struct online o;
    for (long i = 0; i < rows; i++) {
        struct span see = span_of(low, high, i, cols);
        top[i] = row_top(see.end - see.begin, s + i * lds + see.begin, (float)scale, m[i]);
    }
    online_begin(&o, rows, top, m, z, rescale);
    for (long i = 0; i < rows; i++)
        o.sum[i] =
            weights_to_tiles(span_of(low, high, i, cols), cols, v_set((float)(scale * LOG2_E)),
                             o.shift[i], s + i * lds, p + i * TILE_COLS);
    online_end(&o, rows, z);
}

static void softmax_to_tiles(long rows, long cols, double scale, const int32_t *low,
                             const int32_t *high, void *s, long lds, void *m, void *z,
                             void *rescale, void *p)
{
    long strip = (cols + TILE_COLS - 1) / TILE_COLS * TILE_CELLS;
    for (long i = 0; i < rows; i += TILE_ROWS)
        strip_to_tiles(rows - i < TILE_ROWS ? rows - i : TILE_ROWS, cols, scale, low + i, high + i,
                       (float *)s + i * lds, lds, (float *)m + i, (float *)z + i,
                       (float *)rescale + i, (ACT *)p + i / TILE_ROWS * strip);
}

/* ---- backward ---- */

/* A row of a chunk: its visible columns, factors and terms. */
struct pair_row {
    long begin, end;
    const float *s, *dp, *factor;
    v_float shift, delta;
};

INLINE struct pair_row pair_row(const struct oa_softmax_pairs *x, long i)
{
    float l = ((const float *)x->lse)[i];
    long at = i * TILE_COLS, begin = x->low[i] - x->first;
    return (struct pair_row){ .begin = begin,
                              .end = l == -INFINITY ? begin : x->high[i] - x->first,
                              .s = (const float *)x->s + i * x->lds,
                              .dp = (const float *)x->dp + at,
                              .factor = x->factor ? (const float *)x->factor + at : NULL,
                              .shift = v_set((float)(-l * LOG2_E)),
                              .delta = v_set(((const float *)x->delta)[i]) };
}

/* Lanes of P∘factor; those of dS go to *ds. */
INLINE v_float pair_lanes(const struct pair_row *r, long at, long lanes, v_float scale, v_float *ds)
{
    v_float p = v_exp2(v_fma(scale, v_load(r->s + at, lanes), r->shift)),
            dp = v_load(r->dp + at, lanes);
    p = v_keep(v_between(r->begin - at, oa_min(r->end - at, lanes)), p);
    v_mask there = v_not_equal(p, v_set(0));
    if (r->factor) {
        v_float factor = v_load(r->factor + at, lanes);
        dp = v_keep(v_not_equal(factor, v_set(0)), v_mul(dp, factor));
        *ds = v_keep(there, v_mul(p, v_sub(dp, r->delta)));
        return v_mul(p, factor);
    }
    *ds = v_keep(there, v_mul(p, v_sub(dp, r->delta)));
    return p;
}

/* Two rows, 32 columns; the second of two vectors may have none. */
INLINE void pair_of_rows(const struct oa_softmax_pairs *x, long i, const struct pair_row r[2])
{
    v_float scale = v_set((float)(x->scale * LOG2_E)), p[2][2], ds[2][2];
    long left = x->cols > W ? W : x->cols, right = x->cols - left;
    for (int n = 0; n < 2; n++) {
        p[n][0] = pair_lanes(&r[n], 0, left, scale, &ds[n][0]);
        p[n][1] = pair_lanes(&r[n], W, right, scale, &ds[n][1]);
    }
    ACT *rows = x->ds ? (ACT *)x->ds + i / TILE_ROWS * x->tile + i % TILE_ROWS * x->row : NULL;
    v_store_pairs_bf16((ACT *)x->p_pairs + i * TILE_COLS, p[0], p[1], NULL, 0);
    v_store_pairs_bf16((ACT *)x->ds_pairs + i * TILE_COLS, ds[0], ds[1], rows, x->row);
}

/* Sixteen rows that see all 32 columns. */
INLINE void pairs_of_whole_rows(const struct oa_softmax_pairs *x, long i, const float *shift)
{
    const v_float scale = v_set((float)(x->scale * LOG2_E));
    const float *s = (const float *)x->s + i * x->lds, *dp = (const float *)x->dp + i * TILE_COLS,
                *delta = (const float *)x->delta + i;
    ACT *p_pairs = (ACT *)x->p_pairs + i * TILE_COLS,
        *ds_pairs = (ACT *)x->ds_pairs + i * TILE_COLS,
        *rows = x->ds ? (ACT *)x->ds + i / TILE_ROWS * x->tile : NULL;
    for (long at = 0; at < TILE_CELLS; at += 2 * TILE_COLS) {
        v_float p[2][2], ds[2][2];
        for (int n = 0; n < 4; n++) {
            long row = at / TILE_COLS + n / 2, cell = at + n * W;
            v_mask there;
            const float *logits = s + row * x->lds + n % 2 * W;
            v_float e = v_exp2_there(v_fma(scale, v_load(logits, W), v_set(shift[row])), &there);
            p[n / 2][n % 2] = e;
            ds[n / 2][n % 2] =
                v_keep(there, v_mul(e, v_sub(v_load(dp + cell, W), v_set(delta[row]))));
        }
        v_store_pairs_bf16(p_pairs + at, p[0], p[1], NULL, 0);
        v_store_pairs_bf16(ds_pairs + at, ds[0], ds[1],
                           rows ? rows + at / TILE_COLS * x->row : NULL, x->row);
    }
}

/* Whether all 32 columns are visible to 16 rows; then *shift gets the terms of their exponents. */
INLINE bool are_whole_rows(const struct oa_softmax_pairs *x, long i, float *shift)
{
    const float *lse = (const float *)x->lse + i;
    const int32_t *low = x->low + i, *high = x->high + i, first = (int32_t)x->first;
    int32_t part = high[0] < first + TILE_COLS;
    if (part) /* the most frequent case: at the diagonal */
        return false;
    for (int n = 0; n < TILE_ROWS; n++)
        part |= (low[n] > first) | (high[n] < first + TILE_COLS) | (lse[n] == -INFINITY);
    for (int n = 0; n < TILE_ROWS; n++)
        shift[n] = (float)(-lse[n] * LOG2_E);
    return !part;
}

static void softmax_pairs(const struct oa_softmax_pairs *x)
{
    float shift[TILE_ROWS];
    for (long i = 0; i < x->rows; i += 2) {
        if (i % TILE_ROWS == 0 && x->rows - i >= TILE_ROWS && x->cols == TILE_COLS && !x->factor &&
            are_whole_rows(x, i, shift)) {
            pairs_of_whole_rows(x, i, shift);
            i += TILE_ROWS - 2;
            continue;
        }
        struct pair_row r[2] = { pair_row(x, i), pair_row(x, i + 1) };
        pair_of_rows(x, i, r);
    }
}
