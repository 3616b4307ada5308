/* SPDX-License-Identifier: Apache-2.0
 * Tables of what distances add to logits (relative.cl). */
#include "device/gpu/gpu.h"

void oa_gpu_relative(struct oa_device *d, const struct oa_relative *a)
{
    const struct {
        long kind, heads, length, causal, buckets, distance;
        const void *bias;
        void *table, *bucket;
    } tables = { a->kind,     a->heads, a->length, a->causal, a->buckets,
                 a->distance, a->bias,  a->table,  a->bucket };
    OA_GPU_INDIRECT(d, relative, oa_blocks(2 * a->length - 1, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(tables));
}
