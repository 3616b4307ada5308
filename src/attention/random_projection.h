/* SPDX-License-Identifier: Apache-2.0
 * Random projections (docs/attention.md, Projections), one matrix d × width per head, stored
 * [heads·width, d] as a Linear weight, drawn in double. */
#ifndef ORTHANT_ATTENTION_RANDOM_PROJECTION_H
#define ORTHANT_ATTENTION_RANDOM_PROJECTION_H

#include "ops/ops.h"

enum oa_projection {
    OA_PROJECTION_LEARNED,
    OA_PROJECTION_HAAR,
    OA_PROJECTION_GRAM_SCHMIDT,
    OA_PROJECTION_GAUSSIAN,
    OA_PROJECTION_SLICE,
    OA_PROJECTION_SRHT,
    OA_PROJECTION_HD3,
    OA_PROJECTION_BLOCK,
    OA_PROJECTION_GIVENS,
    OA_PROJECTION_PERMUTATION,
    OA_PROJECTIONS,
    OA_PROJECTION_DRAWN = OA_PROJECTION_HAAR /* the first random one */
};
const char *oa_projection_name(enum oa_projection kind);        /* the word of OA_QK_LEARNED */
const char *oa_projection_description(enum oa_projection kind); /* for explain */
enum oa_projection oa_projection_of(const char *word);          /* OA_PROJECTIONS: unknown */

struct oa_projection_shape {
    enum oa_projection kind; /* a random one */
    long d, heads, width;
    long first_head, layer_heads; /* slice: position of these heads in the layer's matrix */
};
/* Refuses widths that the kind does not support. */
enum oa_error oa_projection_check(oa_context *c, const struct oa_projection_shape *p);
enum oa_error oa_generate_projection(oa_context *c, const struct oa_projection_shape *p,
                                     struct oa_stream s, double *out);
/* Whether the kind is a chain that is cheaper than its matrix (chains.h); oa_generate_chains draws
 * its numbers, [heads, oa_chain_numbers], from the same streams. */
bool oa_projection_chain(const struct oa_projection_shape *p, struct oa_chain *out);
enum oa_error oa_generate_chains(oa_context *c, const struct oa_projection_shape *p,
                                 struct oa_stream s, double *out);

#endif
