/* SPDX-License-Identifier: Apache-2.0
 * Plain C kernels, f64: everything is double. For gradient checks, --precision f64, and the
 * reference of the error of all other versions. */
#define ACT double
#define REAL double
#define LOAD(a) (a)
#define STORE(r) (r)
#define FN(name) name
#define PRECISION OA_PRECISION_F64
#define ACT_TYPE OA_F64
#define REAL_TYPE OA_F64
#define NAME(f) f##_f64
#define BLOCK_M 128
#define BLOCK_N 128
#define BLOCK_K 256
#define TILE_M 2
#define TILE_N 4

#include "kernels/ref.h"
#include "kernels/ref_template.h"
