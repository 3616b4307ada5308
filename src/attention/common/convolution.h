/* SPDX-License-Identifier: Apache-2.0
 * Shared by light and dynamic convolution: gated input, taps, map (convolution.c). */
#ifndef ORTHANT_ATTENTION_CONVOLUTION_H
#define ORTHANT_ATTENTION_CONVOLUTION_H

#include "attention/mechanism.h"

#define OA_CONVOLUTION_ARGUMENTS                                                                   \
    { "width", OA_VALUE_INT, "7", NULL, 1, 1 << 20, "taps; odd unless causal" },                   \
        { "glu", OA_VALUE_FLAG, "0", NULL, 0, 0, "a gated linear unit before the convolution" },   \
    {                                                                                              \
        "renormalise", OA_VALUE_FLAG, "0", NULL, 0, 0,                                             \
            "softmax over the taps inside of the sequence"                                         \
    }

enum { OA_CONVOLUTION_INPUT, OA_CONVOLUTION_FILTER }; /* indices of oa_group.parameter */

bool oa_convolution_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                               size_t size);
void oa_convolution_input_parameter(struct oa_group *g);
/* With OA_AVERAGES if the weights of a row sum to 1: renormalised, or a single tap. */
unsigned oa_convolution_can_with(const struct oa_atom *a);
long oa_convolution_width(const struct oa_group *g);
oa_tensor *oa_convolution_input(oa_tape *t, const struct oa_group *g,
                                const struct oa_layer_input *in);
struct oa_band oa_convolution_band(const struct oa_group *g, const struct oa_layer_input *in);
double oa_convolution_flops(const struct oa_group *g, long queries); /* input, gate and taps */
double oa_convolution_state(const struct oa_group *g, long t);

/* Oracles: the gated input, and the map from the logit of each tap k of query i. */
typedef double oa_convolution_logit(const struct oa_group *g, const struct oa_oracle *in, long head,
                                    long i, long k);
double oa_convolution_value(const struct oa_group *g, const double *x, long i, long column);
enum oa_error oa_convolution_weights(const struct oa_group *g, const struct oa_oracle *in,
                                     oa_convolution_logit *logit, double *w);

#endif
