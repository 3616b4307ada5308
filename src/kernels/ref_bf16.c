/* SPDX-License-Identifier: Apache-2.0
 * Plain C kernels, bf16: activations are the upper halves of floats, everything is computed in
 * float. */
#define ACT uint16_t
#define REAL float
#define LOAD(a) oa_bf16_to_float(a)
#define STORE(r) oa_float_to_bf16(r)
#define FN(name) name##f
#define PRECISION OA_PRECISION_BF16
#define ACT_TYPE OA_BF16
#define REAL_TYPE OA_F32
#define NAME(f) f##_bf16
#define BLOCK_M 256
#define BLOCK_N 256
#define BLOCK_K 256
#define TILE_M 2
#define TILE_N 8

#include "kernels/ref.h"
#include "kernels/ref_template.h"
