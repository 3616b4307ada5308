/* SPDX-License-Identifier: Apache-2.0
 * Random projections as chains of diagonals and Hadamard matrices (device.h: struct oa_chain): qk =
 * srht, hd3 and permutation. */
#ifndef ORTHANT_ATTENTION_CHAINS_H
#define ORTHANT_ATTENTION_CHAINS_H

#include "attention/mechanism.h"
#include "attention/random_projection.h"

/* Substreams of a head's stream. */
enum { OA_DRAW_MATRIX, OA_DRAW_SIGNS, OA_DRAW_COLUMNS, OA_DRAW_PLANES, OA_DRAW_ANGLES };

/* The chain of a projection d × k; false if the kind is not a chain. */
bool oa_chain_of(enum oa_projection kind, long d, long k, struct oa_chain *out);
/* Whether it needs no more FLOPs than the product with the d × k matrix; with a large odd factor of
 * d it needs more. */
bool oa_chain_pays(const struct oa_chain *c);
/* Draws the oa_chain_numbers numbers of one head. */
void oa_chain_draw(const struct oa_chain *c, enum oa_projection kind, struct oa_stream head,
                   struct oa_arena *scratch, double *numbers);
/* Column l of U, d numbers; room: d more. */
void oa_chain_column(const struct oa_chain *c, const double *numbers, long l, double *room,
                     double *column);

#endif
