/* SPDX-License-Identifier: Apache-2.0
 * Growing arrays. */
#ifndef ORTHANT_BASE_RESERVE_H
#define ORTHANT_BASE_RESERVE_H

#include "base/base.h"

/* Grows the array that *(T **)array points to, of *capacity items, to at least `needed`, at least
 * doubling it; false: no memory, recorded. New items are zero. */
bool oa_reserve(oa_context *c, void *array, size_t *capacity, size_t needed, size_t item_bytes);

#endif
