/* SPDX-License-Identifier: Apache-2.0
 * Feature maps, positions as angles, maps of rows and causal convolutions (features.cl). */
#include "device/gpu/gpu.h"

void oa_gpu_feature(struct oa_device *d, enum oa_feature f, int degree, long rows, long width,
                    const void *x, long ldx, void *y, long ldy)
{
    OA_GPU_EACH(d, feature, rows * width, OA_GPU_LONG(f), OA_GPU_LONG(degree), OA_GPU_LONG(rows),
                OA_GPU_LONG(width), OA_GPU_AT(x), OA_GPU_LONG(ldx), OA_GPU_AT(y), OA_GPU_LONG(ldy));
}

void oa_gpu_feature_gradient(struct oa_device *d, enum oa_feature f, int degree, long rows,
                             long width, const void *x, long ldx, const void *dy, long lddy,
                             void *dx, long lddx)
{
    OA_GPU_EACH(d, feature_gradient, rows * width, OA_GPU_LONG(f), OA_GPU_LONG(degree),
                OA_GPU_LONG(rows), OA_GPU_LONG(width), OA_GPU_AT(x), OA_GPU_LONG(ldx),
                OA_GPU_AT(dy), OA_GPU_LONG(lddy), OA_GPU_AT(dx), OA_GPU_LONG(lddx));
}

/* ---- positions as angles ---- */

struct gpu_placed_rows { /* of features.cl */
    long tokens, length, heads, width, first;
    double limit;
    const void *x;
    void *y;
    const void *dy;
    void *dx;
};

void oa_gpu_place(struct oa_device *d, long tokens, long length, long heads, long width, long first,
                  double limit, const void *x, void *y)
{
    struct gpu_placed_rows a = { tokens, length, heads, width, first, limit, x, y, NULL, NULL };
    OA_GPU_INDIRECT(d, place, oa_blocks(tokens * heads * width, OA_GPU_GROUP), 1, OA_GPU_STRUCT(a));
}

void oa_gpu_place_gradient(struct oa_device *d, long tokens, long length, long heads, long width,
                           long first, double limit, const void *x, const void *dy, void *dx)
{
    struct gpu_placed_rows a = { tokens, length, heads, width, first, limit, x, NULL, dy, dx };
    OA_GPU_INDIRECT(d, place_gradient, oa_blocks(tokens * heads * width, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(a));
}

/* ---- maps of rows ---- */

struct row_map { /* of features.cl */
    long kind, heads, width, ldx, ldy;
    double epsilon;
    const void *gain, *x;
    void *y;
    const void *dy;
    void *dx;
};

static struct row_map row_map_of(const struct oa_row_map *a)
{
    return (struct row_map){ a->kind, a->heads, a->width, a->ldx, a->ldy, a->epsilon,
                             a->gain, a->x,     a->y,     a->dy,  a->dx };
}

void oa_gpu_map_rows(struct oa_device *d, const struct oa_row_map *a)
{
    struct row_map m = row_map_of(a);
    if (a->kind == OA_ROW_HEDGEHOG)
        OA_GPU_INDIRECT(d, hedgehog_rows, a->tokens * a->heads, 2, OA_GPU_STRUCT(m));
    else
        OA_GPU_INDIRECT(d, map_rows, a->tokens * a->heads, 1, OA_GPU_STRUCT(m));
}

/* Before the rows, whose gradient may be in the place of dy. */
static void row_gain(struct oa_device *d, const struct oa_row_map *a, const struct row_map *m)
{
    long rows = a->tokens * a->heads, chunks = oa_blocks(rows, OA_GPU_ROWS_A_SUM);
    size_t mark = oa_gpu_mark(d);
    void *inverse = oa_gpu_take_reals(d, rows), *partial = oa_gpu_take_reals(d, chunks * a->width);
    OA_GPU_INDIRECT(d, row_inverses, rows, 1, OA_GPU_STRUCT(*m), OA_GPU_AT(inverse));
    OA_GPU_INDIRECT(d, row_gain_gradient, oa_blocks(a->width, OA_GPU_GROUP), chunks,
                    OA_GPU_STRUCT(*m), OA_GPU_LONG(rows), OA_GPU_LONG(OA_GPU_ROWS_A_SUM),
                    OA_GPU_AT(inverse), OA_GPU_AT(partial));
    oa_gpu_add_partial_sums(d, chunks, a->width, partial, a->dgain);
    oa_gpu_give_back(d, mark);
}

void oa_gpu_map_rows_gradient(struct oa_device *d, const struct oa_row_map *a)
{
    struct row_map m = row_map_of(a);
    if (a->dgain)
        row_gain(d, a, &m);
    if (a->kind == OA_ROW_HEDGEHOG)
        OA_GPU_INDIRECT(d, hedgehog_rows_gradient, a->tokens * a->heads, 1, OA_GPU_STRUCT(m));
    else
        OA_GPU_INDIRECT(d, map_rows_gradient, a->tokens * a->heads, 1, OA_GPU_STRUCT(m));
}

/* ---- causal convolutions ---- */

struct causal_conv_rows { /* of features.cl */
    long batch, length, cols, taps, ldx;
    const void *w, *x;
    void *z, *y;
    const void *dy;
    void *dx, *state;
};

static struct causal_conv_rows causal_conv_rows_of(const struct oa_causal_conv *a)
{
    return (struct causal_conv_rows){ a->batch, a->length, a->cols, a->taps, a->ldx, a->w,
                                      a->x,     a->z,      a->y,    a->dy,   a->dx,  a->state };
}

void oa_gpu_causal_conv(struct oa_device *d, const struct oa_causal_conv *a)
{
    struct causal_conv_rows r = causal_conv_rows_of(a);
    OA_GPU_INDIRECT(d, causal_conv, oa_blocks(a->batch * a->length * a->cols, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(r));
    if (a->state)
        OA_GPU_INDIRECT(d, causal_conv_state, oa_blocks(a->cols, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(r));
}

static void conv_weights(struct oa_device *d, const struct oa_causal_conv *a,
                         const struct causal_conv_rows *r)
{
    long rows = a->batch * a->length, chunks = oa_blocks(rows, OA_GPU_ROWS_A_SUM),
         weights = a->cols * a->taps;
    size_t mark = oa_gpu_mark(d);
    void *partial = oa_gpu_take_reals(d, chunks * weights);
    OA_GPU_INDIRECT(d, causal_conv_weight_gradient, oa_blocks(weights, OA_GPU_GROUP), chunks,
                    OA_GPU_STRUCT(*r), OA_GPU_LONG(OA_GPU_ROWS_A_SUM), OA_GPU_AT(partial));
    oa_gpu_add_partial_sums(d, chunks, weights, partial, a->dw);
    oa_gpu_give_back(d, mark);
}

void oa_gpu_causal_conv_gradient(struct oa_device *d, const struct oa_causal_conv *a)
{
    struct causal_conv_rows r = causal_conv_rows_of(a);
    if (a->dw)
        conv_weights(d, a, &r);
    if (a->dx)
        OA_GPU_INDIRECT(d, causal_conv_gradient,
                        oa_blocks(a->batch * a->length * a->cols, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(r));
}
