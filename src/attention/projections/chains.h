/* SPDX-License-Identifier: Apache-2.0
 *
 * Random projections that are chains of diagonals and Hadamard matrices (device.h: struct
 * oa_chain): what the generator draws for qk=srht, hd3 and permutation.
 */
#ifndef ORTHANT_ATTENTION_CHAINS_H
#define ORTHANT_ATTENTION_CHAINS_H

#include "attention/attention.h"

/* Draws inside a head of a random projection: each has a stream of its own, a child of the head's.
 */
enum { OA_DRAW_MATRIX, OA_DRAW_SIGNS, OA_DRAW_COLUMNS, OA_DRAW_PLANES, OA_DRAW_ANGLES };

/* The chain of a kind of projection d × k; false: the kind has none. */
bool oa_chain_of(enum oa_projection kind, long d, long k, struct oa_chain *out);
/* Does it take less arithmetic than the product with the d × k matrix? Not where d has a large odd
 * factor. */
bool oa_chain_pays(const struct oa_chain *c);
/* The numbers of one head, oa_chain_numbers of them. Without scratch memory the failure is in its
 * context. */
void oa_chain_draw(const struct oa_chain *c, enum oa_projection kind, struct oa_stream head,
                   struct oa_arena *scratch, double *numbers);
/* Column l of U, d numbers; room: d more. */
void oa_chain_column(const struct oa_chain *c, const double *numbers, long l, double *room,
                     double *column);

#endif
