/* SPDX-License-Identifier: Apache-2.0
 * Light convolution. Wu, Fan, Baevski, Dauphin, Auli, Pay less attention with lightweight and
 * dynamic convolutions, ICLR 2019, arXiv 1901.10430.
 *
 *     O_i = Σ_k softmax(ω[h])_k u_{i+k−P},   u the gated input (convolution.c)
 *
 * One filter per head, the same at every token; taps outside of the sequence keep their weight
 * unless renormalised.
 *
 * Shapes: ω (conv.kernel) [H, width]. Cost: O(n·width·V) in addition to the input's projection;
 * memory O(n). */
#include "attention/common/convolution.h"

#include <math.h>

static const struct oa_argument arguments[] = { OA_CONVOLUTION_ARGUMENTS,
                                                OA_GATE_ARGUMENT,
                                                { .key = NULL } };

/* Xavier, for a convolution from one channel to H with `width` taps. */
static enum oa_error lightconv_parameters(struct oa_group *g)
{
    long H = g->shape.heads, width = oa_convolution_width(g);
    struct oa_parameter p = { .dims = 2,
                              .dim = { H, width },
                              .trainable = true,
                              .decay = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = sqrt(6 / (double)(width * (1 + H))) };
    oa_convolution_input_parameter(g);
    g->parameter[OA_CONVOLUTION_FILTER] = oa_group_parameter(g, "conv.kernel", &p);
    return oa_status(g->context);
}

static void lightconv_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                              oa_tensor *v, oa_tensor *o)
{
    (void)v;
    struct oa_band band = oa_convolution_band(g, in);
    oa_band_op(t, &band, g->parameter[OA_CONVOLUTION_FILTER], NULL, oa_convolution_input(t, g, in),
               o);
}

static double lightconv_flops(const struct oa_group *g, long queries, long keys)
{
    (void)keys;
    return oa_convolution_flops(g, queries);
}

static double lightconv_logit(const struct oa_group *g, const struct oa_oracle *in, long head,
                              long i, long k)
{
    (void)in;
    (void)i;
    return oa_parameter_at(g, g->parameter[OA_CONVOLUTION_FILTER],
                           head * oa_convolution_width(g) + k);
}

static enum oa_error lightconv_weights(const struct oa_group *g, const struct oa_oracle *in,
                                       double *w)
{
    return oa_convolution_weights(g, in, lightconv_logit, w);
}

const struct oa_mechanism oa_mechanism_lightconv = {
    .name = "lightconv",
    .title = "Light convolution",
    .citation = "Wu et al. 2019 (ICLR), arXiv 1901.10430",
    .formula = "O_i = Σ_k softmax(ω)_k u_{i+k−P}, one filter ω a head, P = width − 1 in a causal "
               "layer, else ⌊width/2⌋;  u = x W_in, with glu a·σ(b), [a | b] = x W_in",
    .caveats = "One layer sees no further than its taps, and weighs them alike at every token. "
               "There is no value.weight: conv.input.weight replaces it.",
    .mistakes = "fairseq: has two maps from channels to heads, ⌊c/(D/H)⌋ and c mod H. Weights "
                "trained with one are not those of the other; here it is the first.",
    .reads_input = true,
    .cost = "O(n·width·V) time, O(n) memory",
    .state = "the last width − 1 inputs",
    .can = OA_CAN_CAUSAL | OA_ORDER | OA_LINEAR_TIME | OA_HAS_WEIGHTS | OA_OWN_VALUES | OA_POSITIVE,
    .self_only = "positions of one sequence, since its taps lie around the query",
    .can_with = oa_convolution_can_with,
    .arguments = arguments,
    .mode_clash = oa_convolution_mode_clash,
    .parameters = lightconv_parameters,
    .forward = lightconv_forward,
    .flops = lightconv_flops,
    .state_numbers = oa_convolution_state,
    .weights = lightconv_weights,
    .values = oa_convolution_value,
};
