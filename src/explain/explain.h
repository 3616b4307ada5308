/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two forms of an explanation share: the layers of an attention opened on the counting
 * device, where nothing is computed and every parameter has its shape.
 */
#ifndef ORTHANT_ATTENTION_EXPLAIN_H
#define ORTHANT_ATTENTION_EXPLAIN_H

#include "attention/layer/single_layer.h"

enum oa_mode { OA_MODE_BOTH, OA_MODE_CAUSAL, OA_MODE_CROSS, OA_MODES };

struct oa_shown {
    oa_context *context;
    struct oa_single_layer rig;  /* on the counting device */
    struct oa_layer_shape shape; /* of a layer */
    bool more_heads; /* the model's heads do not fit the attention; shape has the fewest that do */
    int index;       /* the layer that is open */
    bool one_mode;   /* it is of a stack, which has one mode; otherwise causal where that exists */
    enum oa_mode mode;                        /* that the layer is open in */
    const struct oa_mechanism *described[64]; /* said once; the next time only what differs */
    int descriptions;
    bool can[OA_MODES];
    char why_not[OA_MODES][512];
};

/* An attention without labels. */
enum oa_error oa_show_open(oa_context *c, const char *spec, const struct oa_options *o,
                           struct oa_shown *out);
/* The layers of one stack, in its mode. */
enum oa_error oa_show_stack(const struct oa_stack_specs *stacks, enum oa_stack_role role,
                            const struct oa_options *o, oa_context *c, struct oa_shown *out);
/* Parses a text with labels, which may be of all stacks there are; named = 0: it has none, and only
 * that is known. */
enum oa_error oa_show_stacks(oa_context *c, const char *text, struct oa_stack_specs *out);
enum oa_error oa_show_layer(struct oa_shown *s,
                            int index); /* opens it in place of the one before */
enum oa_error oa_show_mode(struct oa_shown *s,
                           enum oa_mode mode); /* opens it again, in a mode that it has */
void oa_show_close(struct oa_shown *s);

const char *oa_mode_name(enum oa_mode m);
/* Trainable and frozen elements of the parameters whose names begin with `prefix`; the output
 * projection is the layer's and counts only with prefix NULL. */
void oa_show_parameters(const struct oa_shown *s, const char *prefix, long *trainable,
                        long *frozen);

/* Of the layer that is open, one sequence of the full length, in its mode, as the counting device
 * counts (explain_cost.c); in cross-attention the other sequence is as long. FLOPs; bytes of
 * activations, gradients and scratch while it is trained. Once a layer. */
struct oa_show_cost {
    double forward, training, memory;
    double computed, softmax; /* training FLOPs with the masked pairs of tiles: of this layer, of
                                 softmax attention */
    double state_half, state; /* numbers that decoding keeps after half of the tokens, and after
                                 all; NaN: it cannot be */
};
enum oa_error oa_show_cost(struct oa_shown *s, struct oa_show_cost *out);

/* One option in force: "window=64", and whether that is the default. false: there is nothing to say
 * of it. */
bool oa_show_option(const struct oa_atom *a, int i, struct oa_text *out, bool *is_default);

#endif
