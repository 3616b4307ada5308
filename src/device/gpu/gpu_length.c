/* SPDX-License-Identifier: Apache-2.0
 * Projection along the length (length.cl). */
#include "device/gpu/gpu.h"

enum { LENGTH_TILE = 32 };

struct projected_length { /* of length.cl */
    long batch, length, heads, width, rank, head_stride;
    const void *lengths, *x;
    void *dx;
    const void *w;
    void *dw, *y;
    const void *dy;
    long ldx, ldy;
};

static struct projected_length projected_length_of(const struct oa_length_projection *a)
{
    return (struct projected_length){ .batch = a->batch,
                                      .length = a->length,
                                      .heads = a->heads,
                                      .width = a->width,
                                      .rank = a->rank,
                                      .head_stride = a->head_stride,
                                      .lengths = a->lengths,
                                      .x = a->x,
                                      .dx = a->dx,
                                      .w = a->w,
                                      .dw = a->dw,
                                      .y = a->y,
                                      .dy = a->dy,
                                      .ldx = a->ldx,
                                      .ldy = a->ldy };
}

void oa_gpu_project_length(struct oa_device *d, const struct oa_length_projection *a)
{
    struct projected_length s = projected_length_of(a);
    OA_GPU_INDIRECT(d, project_length, a->batch * a->heads * oa_blocks(a->width, LENGTH_TILE),
                    oa_blocks(a->rank, LENGTH_TILE), OA_GPU_STRUCT(s));
}

void oa_gpu_project_length_gradient(struct oa_device *d, const struct oa_length_projection *a)
{
    struct projected_length s = projected_length_of(a);
    long row_blocks = oa_blocks(a->length, LENGTH_TILE);
    if (a->dx)
        OA_GPU_INDIRECT(d, project_length_input_gradient,
                        a->batch * a->heads * oa_blocks(a->width, LENGTH_TILE), row_blocks,
                        OA_GPU_STRUCT(s));
    if (a->dw)
        OA_GPU_INDIRECT(d, project_length_weight_gradient,
                        (a->head_stride ? a->heads : 1) * row_blocks,
                        oa_blocks(a->rank, LENGTH_TILE), OA_GPU_STRUCT(s));
}
