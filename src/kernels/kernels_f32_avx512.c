/* SPDX-License-Identifier: Apache-2.0
 *
 * The AVX-512 kernels with activations in f32: vector_template.h filled in.
 */
#include "kernels/vector_avx512.h"

#include "base/base.h"

#define ACT float
#define REAL float
#define LOAD(a) (a)
#define STORE(r) (r)
#define act_load v_load
#define act_store v_store
#define TILE_M 12
#define TILE_V 2

#include "kernels/vector.h"
#include "kernels/vector_template.h"

void oa_kernels_avx512_f32(struct oa_kernels *k)
{
    fill_table(k);
    k->isa = OA_ISA_AVX512;
    k->gemm_name = "orthant avx512";
}

void oa_kernels_avx512(struct oa_kernels *k)
{
    if (k->precision == OA_PRECISION_F32)
        oa_kernels_avx512_f32(k);
    else if (k->precision == OA_PRECISION_BF16)
        oa_kernels_avx512_bf16(k);
}
