/* SPDX-License-Identifier: Apache-2.0
 *
 * The AVX2 kernels with activations in f32: vector_template.h filled in.
 */
#include "kernels/vector_avx2.h"

#include "base/base.h"

#define ACT float
#define REAL float
#define LOAD(a) (a)
#define STORE(r) (r)
#define act_load v_load
#define act_store v_store
#define TILE_M 4
#define TILE_V 3

#include "kernels/vector.h"
#include "kernels/vector_template.h"

void oa_kernels_avx2_f32(struct oa_kernels *k)
{
    fill_table(k);
    k->isa = OA_ISA_AVX2;
    k->gemm_name = "orthant avx2";
}

void oa_kernels_avx2(struct oa_kernels *k)
{
    if (k->precision == OA_PRECISION_F32)
        oa_kernels_avx2_f32(k);
    else if (k->precision == OA_PRECISION_BF16)
        oa_kernels_avx2_bf16(k);
}
