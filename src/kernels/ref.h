/* SPDX-License-Identifier: Apache-2.0
 * The three plain C tables, one for each precision (ref_template.h). */
#ifndef ORTHANT_KERNELS_REF_H
#define ORTHANT_KERNELS_REF_H

#include "kernels/kernels.h"

void oa_kernels_ref_f32(struct oa_kernels *k);
void oa_kernels_ref_bf16(struct oa_kernels *k);
void oa_kernels_ref_f64(struct oa_kernels *k);

#endif
