/* SPDX-License-Identifier: Apache-2.0
 *
 * The vector tables, one for each instruction set and type of activations (vector_template.h).
 */
#ifndef ORTHANT_KERNELS_VECTOR_TABLES_H
#define ORTHANT_KERNELS_VECTOR_TABLES_H

#include "kernels/kernels.h"

void oa_kernels_avx2_f32(struct oa_kernels *k);
void oa_kernels_avx2_bf16(struct oa_kernels *k);
void oa_kernels_avx512_f32(struct oa_kernels *k);
void oa_kernels_avx512_bf16(struct oa_kernels *k);

#endif
