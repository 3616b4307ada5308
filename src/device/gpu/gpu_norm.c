/* SPDX-License-Identifier: Apache-2.0
 * Residual addition, dropout and norm (norm.cl). */
#include "device/gpu/gpu.h"

struct norm_rows { /* of norm.cl */
    long cols;
    double scale, epsilon;
    const void *x, *branch;
    void *sum;
    const void *gain, *bias;
    void *y, *mean, *rstd;
    const void *dy, *dsum;
    void *dx, *dbranch;
    struct oa_gpu_dropout drop;
};

static struct norm_rows norm_rows_of(const struct oa_residual_norm *a)
{
    return (struct norm_rows){ .cols = a->cols,
                               .scale = a->scale,
                               .epsilon = a->epsilon,
                               .x = a->x,
                               .branch = a->branch,
                               .sum = a->sum,
                               .gain = a->gain,
                               .bias = a->bias,
                               .y = a->y,
                               .mean = a->mean,
                               .rstd = a->rstd,
                               .dy = a->dy,
                               .dsum = a->dsum,
                               .dx = a->dx,
                               .dbranch = a->dbranch,
                               .drop = oa_gpu_dropout_of(a->dropout.stream, a->dropout.keep) };
}

void oa_gpu_residual_norm(struct oa_device *d, const struct oa_residual_norm *a)
{
    struct norm_rows rows = norm_rows_of(a);
    OA_GPU_INDIRECT(d, residual_norm, a->rows, 1, OA_GPU_STRUCT(rows));
}

/* Before the rows, whose gradient may be in the place of dy. */
static void norm_columns(struct oa_device *d, const struct oa_residual_norm *a,
                         const struct norm_rows *rows)
{
    long chunks = oa_blocks(a->rows, OA_GPU_ROWS_A_SUM), run = OA_GPU_ROWS_A_SUM;
    size_t mark = oa_gpu_mark(d);
    void *partial = oa_gpu_take_reals(d, chunks * 2 * a->cols),
         *sums = oa_gpu_take_reals(d, 2 * a->cols);
    if (!partial || !sums)
        return;
    OA_GPU_INDIRECT(d, norm_column_sums, oa_blocks(a->cols, OA_GPU_GROUP), chunks,
                    OA_GPU_STRUCT(*rows), OA_GPU_LONG(a->rows), OA_GPU_LONG(run),
                    OA_GPU_AT(partial));
    oa_gpu_zero(d, (size_t)(2 * a->cols) * d->numbers.real_size, sums);
    oa_gpu_add_partial_sums(d, chunks, 2 * a->cols, partial, sums);
    if (a->dgain)
        oa_gpu_axpy(d, a->cols, 1, sums, a->dgain);
    if (a->dbias)
        oa_gpu_axpy(d, a->cols, 1, oa_real_at(d, sums, a->cols), a->dbias);
    oa_gpu_give_back(d, mark);
}

void oa_gpu_residual_norm_gradient(struct oa_device *d, const struct oa_residual_norm *a)
{
    struct norm_rows rows = norm_rows_of(a);
    if (a->y && (a->dgain || a->dbias))
        norm_columns(d, a, &rows);
    OA_GPU_INDIRECT(d, residual_norm_gradient, a->rows, 1, OA_GPU_STRUCT(rows));
}
