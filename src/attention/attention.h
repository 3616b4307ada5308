/* SPDX-License-Identifier: Apache-2.0
 *
 * attention, for the rooms above: parsed attentions, mechanisms, the layer.
 *
 * A mechanism is a const table in its own file of mechanisms/ and one line of registry.def. Its
 * options, modes, formula and citation are in that table; parser, help, documentation, tests and
 * reports loop over the registry.
 */
#ifndef ORTHANT_ATTENTION_H
#define ORTHANT_ATTENTION_H

#include "attention/mechanism.h"
#include "attention/random_projection.h"

/* ---- text about mechanisms (explain.c) ---- */

/* One attention in words at the shape of a model: formulas, parameters, FLOPs, modes, options in
 * force, caveats. A text with labels may be of all stacks that there are, and each that it names is
 * explained in its mode. */
enum oa_error oa_attention_explain(oa_context *c, const char *text, const struct oa_options *o,
                                   struct oa_text *out);
enum oa_error oa_attention_explain_json(oa_context *c, const char *text, const struct oa_options *o,
                                        struct oa_text *out);
enum oa_error oa_attention_list(oa_context *c, struct oa_text *out); /* a table of all mechanisms */
enum oa_error oa_attention_list_json(oa_context *c, struct oa_text *out);
enum oa_error oa_attention_list_markdown(oa_context *c,
                                         struct oa_text *out); /* docs/attention.md */

#endif
