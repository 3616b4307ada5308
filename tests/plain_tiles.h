/* SPDX-License-Identifier: Apache-2.0
 * Products of bf16 on tiles in plain C, with the bits of AMX. */
#ifndef ORTHANT_TEST_PLAIN_TILES_H
#define ORTHANT_TEST_PLAIN_TILES_H

#include "kernels/kernels.h"

/* Puts them into a table of bf16; others stay as they are. */
void oa_kernels_tiles(struct oa_kernels *k);

#endif
