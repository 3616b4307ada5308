/* SPDX-License-Identifier: Apache-2.0
 * The AVX2 kernels with activations in f32. */
#include "kernels/vector_avx2.h"

#include "kernels/vector_f32.h"

void oa_kernels_avx2(struct oa_kernels *k)
{
    if (k->precision == OA_PRECISION_F32)
        fill_vector_table(k);
    else if (k->precision == OA_PRECISION_BF16)
        oa_kernels_avx2_bf16(k);
}
