/* SPDX-License-Identifier: Apache-2.0
 * Products and scans of chunks (chunks.cl). */
#include "device/gpu/gpu_chunks.h"

struct oa_chunk_matrix oa_chunk_scratch(const void *x, long rows, long cols, long chunks,
                                        long spare)
{
    return (struct oa_chunk_matrix){ .x = x,
                                     .form = OA_CHUNK_REALS,
                                     .ld = cols,
                                     .sharing = 1,
                                     .pair = (chunks + spare) * rows * cols,
                                     .chunk = rows * cols };
}

struct oa_chunk_matrix oa_chunk_turned(struct oa_chunk_matrix m)
{
    m.turned = !m.turned;
    return m;
}

struct oa_chunk_matrix oa_chunk_times(struct oa_chunk_matrix m, const void *factor)
{
    m.factor = factor;
    return m;
}

void oa_gpu_chunk_products(struct oa_device *d, long pairs, const struct oa_chunk_product *p)
{
    enum { TILE = 64 };
    OA_GPU_INDIRECT(d, chunk_products,
                    pairs * p->chunks * oa_blocks(p->m, TILE) * oa_blocks(p->n, TILE), 1,
                    OA_GPU_STRUCT(*p));
}

void oa_gpu_chunk_scan(struct oa_device *d, long pairs, long chunks, long size, bool backward,
                       bool begun, const void *decay, long decays, long run, void *x)
{
    OA_GPU_GROUPS(d, chunk_scan, pairs * oa_blocks(size, OA_GPU_GROUP), 1, OA_GPU_LONG(chunks),
                  OA_GPU_LONG(size), OA_GPU_LONG(backward), OA_GPU_LONG(begun), OA_GPU_AT(decay),
                  OA_GPU_LONG(decays), OA_GPU_LONG(run), OA_GPU_AT(x));
}

long oa_gpu_pairs_at_once(const struct oa_device *d, long pairs, long reals)
{
    const long bytes = 1L << 30;
    return oa_max(1, oa_min(pairs, bytes / (reals * (long)d->numbers.real_size)));
}
