/* SPDX-License-Identifier: Apache-2.0
 * Plain C kernels, f32: activations and sums are floats. Also selects among all three plain
 * versions. */
#define ACT float
#define REAL float
#define LOAD(a) (a)
#define STORE(r) (r)
#define FN(name) name##f
#define PRECISION OA_PRECISION_F32
#define ACT_TYPE OA_F32
#define REAL_TYPE OA_F32
#define NAME(f) f##_f32
#define BLOCK_M 256
#define BLOCK_N 256
#define BLOCK_K 256
#define TILE_M 2
#define TILE_N 8

#include "kernels/ref.h"
#include "kernels/ref_template.h"

void oa_kernels_ref(struct oa_kernels *k, enum oa_precision p)
{
    if (p == OA_PRECISION_BF16)
        oa_kernels_ref_bf16(k);
    else if (p == OA_PRECISION_F64)
        oa_kernels_ref_f64(k);
    else
        oa_kernels_ref_f32(k);
}
