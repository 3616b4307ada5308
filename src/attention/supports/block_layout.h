/* SPDX-License-Identifier: Apache-2.0
 *
 * block.layout [H, P, Q] of 0 and 1, for mechanisms whose support is a layout of blocks
 * (block-sparse, bigbird): a frozen parameter, and the support that reads it.
 */
#ifndef ORTHANT_ATTENTION_BLOCK_LAYOUT_H
#define ORTHANT_ATTENTION_BLOCK_LAYOUT_H

#include "attention/attention.h"

/* Registers the parameter (its first values from `p`: fill, fill_argument, source, kept) as
 * parameter[0] of the group, and makes the support. */
enum oa_error oa_layout_parameters(struct oa_group *g, const struct oa_parameter *p);
/* N as a stored layout says it, of queries and of keys: blocks times the size of one. */
long oa_layout_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);
long oa_layout_memory_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);

/* The engine and the oracles with the values that the parameter has now. */
void oa_layout_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                       oa_tensor *v, oa_tensor *o);
double oa_layout_flops(const struct oa_group *g, long queries, long keys);
enum oa_error oa_layout_weights(const struct oa_group *g, const struct oa_oracle *in,
                                double *weights);

/* Layouts as text (the fill of a parameter whose `source` is the name of the file), a line for each
 * row of blocks:
 *
 *     # head 0                      0 and 1, spaces between them or not; the rest of a line after #
 * is a remark 1 0 0 1 1 0 0 1 1 an empty line ends a head; one head alone stands for all
 *
 * A file may have more rows and columns than are needed: the leading ones count. Where there is no
 * file every value is −1, which is an error only when the layout is used without having been loaded
 * from elsewhere. */
enum oa_error oa_layout_from_file(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                  double *out);

#endif
