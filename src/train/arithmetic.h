/* SPDX-License-Identifier: Apache-2.0
 * What rounds: the same program gives other bits on another processor, device or library. */
#ifndef ORTHANT_TRAIN_ARITHMETIC_H
#define ORTHANT_TRAIN_ARITHMETIC_H

#include "model/model.h"

enum { OA_ARITHMETIC = sizeof((struct oa_progress *)0)->arithmetic };

/* "cuda:0, NVIDIA H200", or "processor, instruction set, onednn 2.6.3 avx512_core", the last where
 * matrix products are not made by the kernels of that set alone. Older programs did not write it:
 * the first *before characters are what they wrote. Returns the length. */
int oa_arithmetic_name(oa_context *c, enum oa_precision precision, char out[OA_ARITHMETIC],
                       int *before);

#endif
