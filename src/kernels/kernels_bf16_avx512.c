/* SPDX-License-Identifier: Apache-2.0
 * The AVX-512 kernels with activations in bf16. */
#include "kernels/vector_avx512.h"

#include "kernels/vector_bf16.h"

void oa_kernels_avx512_bf16(struct oa_kernels *k)
{
    fill_vector_table(k);
}
