/* SPDX-License-Identifier: Apache-2.0
 * vector_template.h with activations in bf16. Included after the layer for an instruction set. */
#define ACT uint16_t
#define REAL float
#define LOAD(a) oa_bf16_to_float(a)
#define STORE(r) oa_float_to_bf16(r)
#define act_load v_load_bf16
#define act_store v_store_bf16
#ifdef VECTOR_TILES
#define act_tiles
#endif

#include "kernels/vector_template.h"
