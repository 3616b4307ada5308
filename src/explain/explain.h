/* SPDX-License-Identifier: Apache-2.0
 * `orthant explain` and `orthant list`: an attention in words and numbers at the shape of a model,
 * and the table of all mechanisms, each as text and as JSON. Layers are opened on the plan
 * device, where nothing is computed and every parameter has its shape. */
#ifndef ORTHANT_EXPLAIN_H
#define ORTHANT_EXPLAIN_H

#include "attention/layer/single_layer.h"

/* One attention at the shape of a model: formulas, parameters, FLOPs, modes, options in force,
 * caveats. A text with labels may name any stacks; each is explained in its mode. */
enum oa_error oa_attention_explain(oa_context *c, const char *text, const struct oa_options *o,
                                   struct oa_text *out);
enum oa_error oa_attention_explain_json(oa_context *c, const char *text, const struct oa_options *o,
                                        struct oa_text *out);
enum oa_error oa_attention_list(oa_context *c, struct oa_text *out); /* a table of all mechanisms */
enum oa_error oa_attention_list_json(oa_context *c, struct oa_text *out);
/* docs/attention.md */
enum oa_error oa_attention_list_markdown(oa_context *c, struct oa_text *out);

enum oa_mode { OA_MODE_BOTH, OA_MODE_CAUSAL, OA_MODE_CROSS, OA_MODES };

const char *oa_mode_name(enum oa_mode m);

/* The claims of a mechanism, with their names in JSON. */
enum { OA_CAPABILITIES = 12 };
extern const struct oa_capability_name {
    unsigned flag; /* of struct oa_mechanism.can */
    const char *name;
} oa_capabilities[OA_CAPABILITIES];

/* ---- shared by the text and the JSON ---- */

struct oa_explanation {
    oa_context *context;
    struct oa_single_layer single; /* on the plan device */
    struct oa_layer_shape shape;   /* of a layer */
    bool more_heads;   /* model.heads does not fit: shape has the fewest heads that do */
    int index;         /* of the layer that is open */
    bool one_mode;     /* the layers of a stack have one mode; otherwise causal if supported */
    enum oa_mode mode; /* of the layer that is open */
    const struct oa_mechanism *described[64]; /* already described in full in this explanation */
    int descriptions;
    bool can[OA_MODES];
    char why_not[OA_MODES][512];
};

/* An attention without labels. Close in any case. */
enum oa_error oa_explanation_open(oa_context *c, const char *spec, const struct oa_options *o,
                                  struct oa_explanation *out);
/* The layers of one stack, in its mode. Close in any case. */
enum oa_error oa_explanation_open_stack(const struct oa_stack_specs *stacks,
                                        enum oa_stack_role role, const struct oa_options *o,
                                        oa_context *c, struct oa_explanation *out);
/* Parses a text with labels of any stacks. A text without labels gives named = 0, unparsed. */
enum oa_error oa_explanation_parse_stacks(oa_context *c, const char *text,
                                          struct oa_stack_specs *out);
/* Replaces the open layer by layer `index`, and finds the modes that it supports. */
enum oa_error oa_explanation_open_layer(struct oa_explanation *s, int index);
/* Reopens the layer in a mode that it supports. */
enum oa_error oa_explanation_open_mode(struct oa_explanation *s, enum oa_mode mode);
void oa_explanation_close(struct oa_explanation *s);

/* Trainable and frozen elements of the parameters whose names begin with `prefix`; the output
 * projection is the layer's and counts only with prefix NULL. */
void oa_explanation_count_parameters(const struct oa_explanation *s, const char *prefix,
                                     long *trainable, long *frozen);

/* Cost of the open layer for one sequence of the full length in its mode, as the plan device
 * counts it; in cross-attention the memory has the same length. FLOPs, and bytes. */
struct oa_explained_cost {
    double forward, training; /* FLOPs; training: with the backward pass */
    double memory;            /* bytes of activations, gradients and scratch in training */
    double computed, softmax; /* training FLOPs with masked entries of tiles: of this layer, and
                                 of softmax attention in its place */
    double state_half, state; /* numbers in the decoding state after half of the tokens and after
                                 all; NaN: cannot be decoded */
};
/* Once for each opened layer. */
enum oa_error oa_explanation_cost(struct oa_explanation *s, struct oa_explained_cost *out);

/* Appends one option in force, "window=64". False: it has no printable value. */
bool oa_explanation_print_option(const struct oa_atom *a, int i, struct oa_text *out,
                                 bool *is_default);

#endif
