/* SPDX-License-Identifier: Apache-2.0
 *
 * The same once more for processors with AVX512_BF16, which round to bf16 in one instruction: the
 * same bits, and kernels whose results are stored in bf16 take up to a third less time.
 */
#include "kernels/vector_avx512.h"

#include "base/base.h"

#define ACT uint16_t
#define REAL float
#define LOAD(a) oa_bf16_to_float(a)
#define STORE(r) oa_float_to_bf16(r)
#define act_load v_load_bf16
#define act_store v_store_bf16
#define act_tiles
#define act_pairs
#define TILE_M 12
#define TILE_V 2

#include "kernels/vector.h"
#include "kernels/vector_template.h"

void oa_kernels_avx512bf16(struct oa_kernels *k)
{
    if (k->precision != OA_PRECISION_BF16)
        return;
    fill_table(k);
    k->isa = OA_ISA_AVX512;
    k->gemm_name = "orthant avx512bf16";
}
