/* SPDX-License-Identifier: Apache-2.0
 * Sums of forget gates along the sequence (forget.cl). */
#include "device/gpu/gpu.h"

struct forget_gates { /* of forget.cl */
    long length, heads;
    const void *z;
    void *total, *sums;
    const void *dsums;
    void *dz;
};

static struct forget_gates forget_arguments(const struct oa_forget_sums *a)
{
    return (struct forget_gates){ .length = a->length,
                                  .heads = a->heads,
                                  .z = a->z,
                                  .total = a->total,
                                  .sums = a->sums,
                                  .dsums = a->dsums,
                                  .dz = a->dz };
}

void oa_gpu_forget_sums(struct oa_device *d, const struct oa_forget_sums *a)
{
    struct forget_gates x = forget_arguments(a);
    OA_GPU_INDIRECT(d, forget_sums, a->batch * a->heads, 1, OA_GPU_STRUCT(x));
}

void oa_gpu_forget_sums_gradient(struct oa_device *d, const struct oa_forget_sums *a)
{
    struct forget_gates x = forget_arguments(a);
    OA_GPU_INDIRECT(d, forget_sums_gradient, a->batch * a->heads, 1, OA_GPU_STRUCT(x));
}
