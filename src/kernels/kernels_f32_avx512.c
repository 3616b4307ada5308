/* SPDX-License-Identifier: Apache-2.0
 * The AVX-512 kernels with activations in f32. */
#include "kernels/vector_avx512.h"

#include "kernels/vector_f32.h"

void oa_kernels_avx512(struct oa_kernels *k)
{
    if (k->precision == OA_PRECISION_F32)
        fill_vector_table(k);
    else if (k->precision == OA_PRECISION_BF16)
        oa_kernels_avx512_bf16(k);
}
