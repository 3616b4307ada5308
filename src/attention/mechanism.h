/* SPDX-License-Identifier: Apache-2.0
 * Functions for the implementation of mechanisms. Read layer.h first, then mechanisms/softmax.c,
 * the smallest one. */
#ifndef ORTHANT_ATTENTION_MECHANISM_H
#define ORTHANT_ATTENTION_MECHANISM_H

#include "attention/layer.h"

/* ---- helpers for mechanisms ---- */

/* projection.c: q [B·T, H·K] and k [B·S, H·K] after projection, scale, temperature, diagonal
 * (docs/attention.md) and rotary positions. */
enum oa_error oa_project_parameters(struct oa_group *g);
enum oa_error oa_project_weights(struct oa_group *g); /* without t_h and Λ_h */
void oa_project(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                oa_tensor **q, oa_tensor **k);
double oa_project_flops(const struct oa_group *g, long queries, long keys);
/* A projection of the group (query, key) as a matrix [H·K, D] in double, however it is stored. */
enum oa_error oa_project_matrix(const struct oa_group *g, const struct oa_parameter *w,
                                double *matrix);
/* Conflicting projection options. */
bool oa_project_clash(const struct oa_atom *a, char *sentence, size_t size);

/* layer.c */
void oa_value_parameters(struct oa_group *g); /* value.weight and its bias */
/* A trained matrix [out, in], initially N(0, 1/in). */
struct oa_parameter *oa_group_matrix(struct oa_group *g, const char *name, long out, long in);
/* name.weight, a linear map of x to `out` numbers of a token, and name.bias where `biased`. */
void oa_group_map(struct oa_group *g, const char *name, long out, bool biased,
                  struct oa_parameter **weight, struct oa_parameter **bias);
/* Whether keys come from the memory (NULL if decoding has read it) instead of x. */
bool oa_keys_from_memory(const struct oa_group *g, const struct oa_layer_input *in);
/* View of `count` rows of x; NULL for NULL. */
oa_tensor *oa_rows_from(oa_tape *t, const oa_tensor *x, long first, long count);
oa_tensor *oa_key_input(const struct oa_group *g, const struct oa_layer_input *in);
struct oa_attention_shape oa_group_shape(const struct oa_group *g, const struct oa_layer_input *in);
long oa_group_length(const struct oa_group *g); /* N of its tables */
/* Registers prefix + name, otherwise as *p. NULL after a failure. */
struct oa_parameter *oa_group_parameter(struct oa_group *g, const char *name,
                                        const struct oa_parameter *p);

/* An option as `explain` shows it. */
struct oa_option_description {
    const char *name, *formula, *cost, *citation;
};

/* head_options.c: kv, qknorm, normalise, forget, gate; no-ops for groups without them. */
bool oa_head_clash(const struct oa_atom *a, char *sentence, size_t size);
#define OA_QKNORM_EPSILON 1e-6 /* where the shape has none */
double oa_qknorm_epsilon(const struct oa_group *g);
/* Options of components that belong to the mixture `a`, or to none. */
bool oa_head_component_clash(const struct oa_atom *a, char *sentence, size_t size);
bool oa_head_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                        size_t size);
enum oa_error oa_head_check(oa_context *c, const struct oa_group *g);
enum oa_error oa_head_parameters(struct oa_group *g);
const struct oa_option_description *oa_head_text_at(int i); /* NULL past the end */
const char *oa_head_text_option(int i);                     /* in an attention: "gate=head" */
bool oa_head_text_applies(const struct oa_atom *a, int i);
/* From logits to weights: relative positions, forget gates, normaliser. Once in a forward pass. */
struct oa_logits_rule oa_group_rule(oa_tape *t, const struct oa_group *g,
                                    const struct oa_layer_input *in);
/* Of forget gates: FLOPs of a sequence; numbers cached after t tokens. */
double oa_forget_flops(const struct oa_group *g, long queries);
double oa_forget_state(const struct oa_group *g, long t);
/* Oracle: ln σ of the forget gate of a token x [D]. */
double oa_oracle_forget(const struct oa_group *g, const double *x, long head);
enum oa_head_gate_kind oa_group_gate(const struct oa_group *g);
/* o = ungated times the gates of the tokens x. */
void oa_gate_heads(oa_tape *t, const struct oa_group *g, oa_tensor *x, oa_tensor *ungated,
                   oa_tensor *o);
double oa_gate_flops(const struct oa_group *g, long queries);
/* Oracle: the gate of column `column` of the H·V outputs of a token x [D]. */
double oa_oracle_gate(const struct oa_group *g, const double *x, long column);

/* relative.c: relative positions; no-ops for groups without the option. */
bool oa_relative_clash(const struct oa_atom *a, char *sentence, size_t size);
bool oa_relative_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                            size_t size);
enum oa_error oa_relative_parameters(struct oa_group *g); /* relative.bias */
struct oa_relative_bias oa_group_relative(const struct oa_group *g);
const struct oa_option_description *oa_relative_text(const struct oa_atom *a); /* or NULL */
/* Oracle: the bias of the distance j − i, in double. */
double oa_relative_score(const struct oa_group *g, long head, long i, long j);

/* logits.c: mechanisms with one part of the logits. */
void oa_part_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                     oa_tensor *v, oa_tensor *o);
double oa_visible_pairs(const struct oa_group *g, long queries, long keys); /* all heads */
void oa_dot_part(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                 struct oa_part_tensors *out);
double oa_dot_flops(const struct oa_group *g, long queries, long keys);
/* Sizes of decoding caches after t tokens: keys and values still visible; values only; sums S, z
 * and their scale for r features per head. */
double oa_dot_state(const struct oa_group *g, long t);
double oa_value_state(const struct oa_group *g, long t);
double oa_sums_state(const struct oa_group *g, double features);

/* oracle.c */
bool oa_oracle_visible(const struct oa_group *g, const struct oa_oracle *in, long head, long i,
                       long j);
enum oa_error oa_oracle_project(const struct oa_group *g, const struct oa_oracle *in, double *q,
                                double *k);
enum oa_error oa_dot_scores(const struct oa_group *g, const struct oa_oracle *in, double *scores);
enum oa_error oa_softmax_weights(const struct oa_group *g, const struct oa_oracle *in,
                                 double *weights);
/* Row `column` of w times x [D], plus b (or NULL). */
double oa_oracle_value(const struct oa_group *g, const struct oa_parameter *w,
                       const struct oa_parameter *b, const double *x, long column);
/* Slow for device memory. */
double oa_parameter_at(const struct oa_group *g, const struct oa_parameter *p, long i);
/* A_ij = kernel(q_i, k_j)/guard(Σ_j kernel(q_i, k_j)) over visible keys, rows of one head [K] at
 * positions i, j; 0 for a denominator of 0. guard NULL: identity. With log_scale, the kernel of a
 * key is multiplied by e^{log_scale}, relative to the largest scale among the visible keys. */
typedef double oa_kernel(const struct oa_group *g, const double *q, const double *k, long i,
                         long j);
enum oa_error oa_kernel_weights(const struct oa_group *g, const struct oa_oracle *in,
                                oa_kernel *kernel,
                                double (*log_scale)(const struct oa_group *g, const double *k),
                                double (*guard)(const struct oa_group *g, double den),
                                double *weights);
/* size(q_i, k_j)/guard(Σ_j kernel(q_i, k_j)) in the same way. */
enum oa_error oa_kernel_sizes(const struct oa_group *g, const struct oa_oracle *in,
                              oa_kernel *kernel, oa_kernel *size,
                              double (*guard)(const struct oa_group *g, double den), double *sizes);

#endif
