/* SPDX-License-Identifier: Apache-2.0
 * block.layout [H, P, Q], 0 or 1: a block sparsity pattern (block-sparse, bigbird) as a frozen
 * parameter. The support of an attention is its sparsity pattern: the keys visible to each query.
 */
#ifndef ORTHANT_ATTENTION_BLOCK_LAYOUT_H
#define ORTHANT_ATTENTION_BLOCK_LAYOUT_H

#include "attention/mechanism.h"

/* Registers the parameter (initialised by `p`: fill, fill_argument, source, stored) as parameter[0]
 * of the group, and sets its support. */
enum oa_error oa_layout_parameters(struct oa_group *g, const struct oa_parameter *p);
/* N of queries and of keys from a stored layout: blocks times block size. */
long oa_layout_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);
long oa_layout_memory_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);

/* Engine and oracles, with the current values of the parameter. */
void oa_layout_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                       oa_tensor *v, oa_tensor *o);
double oa_layout_flops(const struct oa_group *g, long queries, long keys);
enum oa_error oa_layout_weights(const struct oa_group *g, const struct oa_oracle *in,
                                double *weights);

/* Text format of layouts (fill of a parameter; `source` is the file name):
 *
 *     # head 0
 *     1 0 0
 *     1 1 0
 *     0 1 1
 *
 * A line per row of blocks, spaces optional, # starts a comment, an empty line ends a head; a
 * single head is used for all. Extra rows and columns are ignored. The folder of a run has a copy
 * of the file (file_copies.h). Without either all values are −1, an error only if the layout is
 * used without being loaded from elsewhere. */
enum oa_error oa_layout_from_file(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                  double *out);

#endif
