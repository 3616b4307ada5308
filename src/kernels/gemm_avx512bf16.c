/* SPDX-License-Identifier: Apache-2.0
 * Matrix products in bf16 by vectors that multiply pairs, for processors that have these and no
 * tiles. */
#include "kernels/tile_vectors.h"

#include "kernels/tile_table.h"

void oa_kernels_pairs(struct oa_kernels *k)
{
    use_packed_products(k, OA_ISA_AVX512, "orthant avx512_bf16");
}
