/* SPDX-License-Identifier: Apache-2.0
 * Shared by the Dense Synthesizers: maps of the token's input, head by head (synthesizer.c). */
#ifndef ORTHANT_ATTENTION_SYNTHESIZER_H
#define ORTHANT_ATTENTION_SYNTHESIZER_H

#include "attention/mechanism.h"

#define OA_SYNTHESIZER_INPUT_ARGUMENT                                                              \
    {                                                                                              \
        "input", OA_VALUE_CHOICE, NULL, "slice|full", 0, 0,                                        \
            "slice: the D/H channels at the head's number in the layer"                            \
    }

/* Refuses widths that cannot be cut into a slice for each head. */
enum oa_error oa_synthesizer_check(oa_context *c, const struct oa_group *g);
long oa_synthesizer_input_width(const struct oa_group *g); /* in: D/H or D */
/* Registers a weight [H, out, in], by Glorot's uniform limit for one head's matrix. */
struct oa_parameter *oa_synthesizer_weight(struct oa_group *g, const char *name, long out);
/* y[:, h·out …] = in_h W[h]ᵀ + b[h]; b [H, out] or NULL. */
oa_tensor *oa_synthesizer_map(oa_tape *t, const struct oa_group *g, oa_tensor *x,
                              struct oa_parameter *w, struct oa_parameter *b);
/* Oracle: number `at` of that for one head and the input x [D] of a token. */
double oa_synthesizer_value(const struct oa_group *g, const struct oa_parameter *w,
                            const struct oa_parameter *b, const double *x, long head, long at);

#endif
