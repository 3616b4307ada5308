/* SPDX-License-Identifier: Apache-2.0
 * Factors, gates and repetitions of heads (heads.cl). */
#include "device/gpu/gpu.h"

struct factored_heads { /* of heads.cl */
    long cols, width;
    double scale;
    const void *temperature, *diagonal;
    void *factor;
    const void *dfactor;
    void *dtemperature, *ddiagonal;
};

static struct factored_heads factored_heads_of(const struct oa_head_factors *a)
{
    return (struct factored_heads){ a->cols,        a->width,        a->scale,
                                    a->temperature, a->diagonal,     a->factor,
                                    a->dfactor,     a->dtemperature, a->ddiagonal };
}

void oa_gpu_head_factors(struct oa_device *d, const struct oa_head_factors *a)
{
    struct factored_heads s = factored_heads_of(a);
    OA_GPU_INDIRECT(d, head_factors, oa_blocks(a->cols, OA_GPU_GROUP), 1, OA_GPU_STRUCT(s));
}

void oa_gpu_head_factors_gradient(struct oa_device *d, const struct oa_head_factors *a)
{
    struct factored_heads s = factored_heads_of(a);
    OA_GPU_INDIRECT(d, head_factors_gradient, oa_blocks(a->cols, a->width), 1, OA_GPU_STRUCT(s));
}

/* ---- gates ---- */

struct gated_heads { /* of heads.cl */
    long rows, heads, width, each, swish;
    const void *x, *z;
    void *y;
    const void *dy;
    void *dx, *dz;
    long ldx, ldy;
};

static struct gated_heads gated_heads_of(const struct oa_head_gate *a)
{
    return (struct gated_heads){ .rows = a->rows,
                                 .heads = a->heads,
                                 .width = a->width,
                                 .each = a->kind == OA_HEAD_GATE_HEAD,
                                 .swish = a->kind == OA_HEAD_GATE_SWISH,
                                 .x = a->x,
                                 .z = a->z,
                                 .y = a->y,
                                 .dy = a->dy,
                                 .dx = a->dx,
                                 .dz = a->dz,
                                 .ldx = a->ldx,
                                 .ldy = a->ldy };
}

void oa_gpu_head_gate(struct oa_device *d, const struct oa_head_gate *a)
{
    struct gated_heads s = gated_heads_of(a);
    OA_GPU_INDIRECT(d, head_gate, oa_blocks(a->rows * a->heads * a->width, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(s));
}

void oa_gpu_head_gate_gradient(struct oa_device *d, const struct oa_head_gate *a)
{
    struct gated_heads s = gated_heads_of(a);
    if (s.each)
        OA_GPU_INDIRECT(d, head_gate_gradient, a->rows * a->heads, 1, OA_GPU_STRUCT(s));
    else
        OA_GPU_INDIRECT(d, channel_gate_gradient,
                        oa_blocks(a->rows * a->heads * a->width, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(s));
}

/* ---- repeated heads ---- */

struct repeated_heads { /* of heads.cl */
    long rows, heads, key_heads, width;
    const void *x;
    long ldx;
    void *y;
    const void *dy;
    void *dx;
};

static struct repeated_heads repeated_heads_of(const struct oa_head_repeat *a)
{
    return (struct repeated_heads){ a->rows, a->heads, a->key_heads, a->width, a->x,
                                    a->ldx,  a->y,     a->dy,        a->dx };
}

void oa_gpu_repeat_heads(struct oa_device *d, const struct oa_head_repeat *a)
{
    struct repeated_heads s = repeated_heads_of(a);
    OA_GPU_INDIRECT(d, repeat_heads, oa_blocks(a->rows * a->heads * a->width, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(s));
}

void oa_gpu_repeat_heads_gradient(struct oa_device *d, const struct oa_head_repeat *a)
{
    struct repeated_heads s = repeated_heads_of(a);
    OA_GPU_INDIRECT(d, repeat_heads_gradient,
                    oa_blocks(a->rows * a->key_heads * a->width, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(s));
}
