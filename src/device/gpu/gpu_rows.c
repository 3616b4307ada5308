/* SPDX-License-Identifier: Apache-2.0
 * Rows of a matrix (rows.cl). */
#include "device/gpu/gpu.h"

void oa_gpu_select_rows(struct oa_device *d, long rows, long cols, long length,
                        const int32_t *lengths, const void *x, long ldx, void *y, long ldy)
{
    OA_GPU_EACH(d, select_rows, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols),
                OA_GPU_LONG(length), OA_GPU_AT(lengths), OA_GPU_AT(x), OA_GPU_LONG(ldx),
                OA_GPU_AT(y), OA_GPU_LONG(ldy));
}

void oa_gpu_scale_columns(struct oa_device *d, long rows, long cols, const void *factor,
                          const void *x, long ldx, void *y, long ldy)
{
    OA_GPU_EACH(d, scale_columns, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols),
                OA_GPU_AT(factor), OA_GPU_AT(x), OA_GPU_LONG(ldx), OA_GPU_AT(y), OA_GPU_LONG(ldy));
}

void oa_gpu_scale_columns_gradient(struct oa_device *d, long rows, long cols, const void *x,
                                   long ldx, const void *dy, long lddy, void *dfactor)
{
    long chunks = oa_blocks(rows, OA_GPU_ROWS_A_SUM);
    size_t mark = oa_gpu_mark(d);
    void *partial = oa_gpu_take_reals(d, chunks * cols);
    if (!partial)
        return;
    OA_GPU_GROUPS(d, scale_columns_gradient, oa_blocks(cols, OA_GPU_GROUP), chunks,
                  OA_GPU_LONG(rows), OA_GPU_LONG(cols), OA_GPU_LONG(OA_GPU_ROWS_A_SUM),
                  OA_GPU_AT(x), OA_GPU_LONG(ldx), OA_GPU_AT(dy), OA_GPU_LONG(lddy),
                  OA_GPU_AT(partial));
    oa_gpu_add_partial_sums(d, chunks, cols, partial, dfactor);
    oa_gpu_give_back(d, mark);
}

/* ---- chosen rows, means ---- */

void oa_gpu_choose_rows(struct oa_device *d, const struct oa_row_choice *a)
{
    OA_GPU_EACH(d, choose_rows, a->count * a->cols, OA_GPU_LONG(a->count), OA_GPU_LONG(a->cols),
                OA_GPU_AT(a->index), OA_GPU_AT(a->x), OA_GPU_AT(a->y));
}

void oa_gpu_choose_rows_gradient(struct oa_device *d, const struct oa_row_choice *a)
{
    oa_gpu_zero(d, (size_t)(a->rows * a->cols) * d->numbers.act_size, a->dx);
    OA_GPU_EACH(d, choose_rows_gradient, a->count * a->cols, OA_GPU_LONG(a->count),
                OA_GPU_LONG(a->cols), OA_GPU_AT(a->index), OA_GPU_AT(a->dy), OA_GPU_AT(a->dx));
}

void oa_gpu_mean_rows(struct oa_device *d, const struct oa_row_means *a)
{
    OA_GPU_GROUPS(d, mean_rows, a->batch * oa_blocks(a->cols, 32), 1, OA_GPU_LONG(a->length),
                  OA_GPU_LONG(a->cols), OA_GPU_AT(a->lengths), OA_GPU_AT(a->x), OA_GPU_AT(a->y));
}

void oa_gpu_mean_rows_gradient(struct oa_device *d, const struct oa_row_means *a)
{
    long rows = a->batch * a->length;
    OA_GPU_EACH(d, mean_rows_gradient, rows * a->cols, OA_GPU_LONG(rows), OA_GPU_LONG(a->length),
                OA_GPU_LONG(a->cols), OA_GPU_AT(a->lengths), OA_GPU_AT(a->dy), OA_GPU_AT(a->dx));
}

/* ---- gates ---- */

void oa_gpu_gate(struct oa_device *d, long rows, long cols, const void *x, void *y)
{
    OA_GPU_EACH(d, gate, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols), OA_GPU_AT(x),
                OA_GPU_AT(y));
}

void oa_gpu_gate_gradient(struct oa_device *d, long rows, long cols, const void *x, const void *dy,
                          void *dx)
{
    OA_GPU_EACH(d, gate_gradient, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols), OA_GPU_AT(x),
                OA_GPU_AT(dy), OA_GPU_AT(dx));
}

/* ---- token mixing ---- */

void oa_gpu_mask_rows(struct oa_device *d, long rows, long cols, const int32_t *high, const void *x,
                      void *y)
{
    OA_GPU_EACH(d, mask_rows, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols), OA_GPU_AT(high),
                OA_GPU_AT(x), OA_GPU_AT(y));
}

void oa_gpu_mask_rows_gradient(struct oa_device *d, long rows, long cols, const int32_t *high,
                               const void *dy, void *dx)
{
    OA_GPU_EACH(d, mask_rows_gradient, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols),
                OA_GPU_AT(high), OA_GPU_AT(dy), OA_GPU_AT(dx));
}

void oa_gpu_add_position_bias(struct oa_device *d, long rows, long cols, long length,
                              const void *bias, void *y, long ldy)
{
    OA_GPU_EACH(d, add_position_bias, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols),
                OA_GPU_LONG(length), OA_GPU_AT(bias), OA_GPU_AT(y), OA_GPU_LONG(ldy));
}

void oa_gpu_position_sums(struct oa_device *d, long rows, long cols, long length, const void *x,
                          long ldx, void *sums)
{
    OA_GPU_GROUPS(d, position_sums, length, 1, OA_GPU_LONG(rows), OA_GPU_LONG(cols),
                  OA_GPU_LONG(length), OA_GPU_AT(x), OA_GPU_LONG(ldx), OA_GPU_AT(sums));
}

/* ---- rotary positions ---- */

void oa_gpu_rotate(struct oa_device *d, const struct oa_rotated_rows *a)
{
    const struct oa_rotation *r = &a->rotation;
    struct { /* rotated_rows of rows.cl */
        long tokens, length, heads, width, turned, interleaved;
        double sign;
        const void *cosine, *sine;
        void *x;
        long ldx;
    } s = { a->tokens, a->length, r->heads, r->width, r->turned, r->interleaved,
            a->sign,   r->cosine, r->sine,  a->x,     a->ldx };
    OA_GPU_INDIRECT(d, rotate_rows, oa_blocks(a->tokens * r->heads * (r->turned / 2), OA_GPU_GROUP),
                    1, OA_GPU_STRUCT(s));
}
