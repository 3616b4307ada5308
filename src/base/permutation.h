/* SPDX-License-Identifier: Apache-2.0
 * Random permutations of 0 … n-1 that are computed element by element, in constant memory. */
#ifndef ORTHANT_PERMUTATION_H
#define ORTHANT_PERMUTATION_H

#include "base/base.h"

/* The image of i < n under the permutation of 0 … n-1 of this stream. n: 1 … 2^62. */
uint64_t oa_permuted(struct oa_stream s, uint64_t i, uint64_t n);

#endif
