/* SPDX-License-Identifier: Apache-2.0
 * Matrix products: by the maker's library where the driver has one, else by gemm.cl. */
#include "device/gpu/gpu.h"

enum { GEMM_TILE = 64 }; /* TILE of gemm.cl */

void oa_gpu_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b,
                 void *c)
{
    const struct oa_gpu *gpu = oa_gpu_of(d);
    const struct {
        long m, n, k, lda, ldb, ldc, ta, tb, accumulate, real_out;
    } shape = {
        g->m, g->n, g->k, g->lda, g->ldb, g->ldc, g->ta, g->tb, g->accumulate, g->real_out
    };
    if (gpu->driver->gemm && g->k > 0 &&
        gpu->driver->gemm(gpu->state, d->context, g, d->numbers.precision, a, b, c))
        return;
    OA_GPU_GROUPS(d, gemm_tiles, oa_blocks(g->n, GEMM_TILE), oa_blocks(g->m, GEMM_TILE),
                  OA_GPU_STRUCT(shape), OA_GPU_AT(a), OA_GPU_AT(b), OA_GPU_AT(c));
}
