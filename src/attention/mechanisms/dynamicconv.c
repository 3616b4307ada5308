/* SPDX-License-Identifier: Apache-2.0
 * Dynamic convolution. Wu, Fan, Baevski, Dauphin, Auli, Pay less attention with lightweight and
 * dynamic convolutions, ICLR 2019, arXiv 1901.10430.
 *
 *     O_i = Σ_k softmax(f_i[h])_k u_{i+k−P},   f_i = u_i W_fᵀ,   u the gated input (convolution.c)
 *
 * The filter of each head depends on the token; taps outside of the sequence keep their weight
 * unless renormalised.
 *
 * Shapes: W_f (conv.filter.weight) [H·width, H·V], f [B·T, H·width].
 * Cost: O(n·width·V) and the products that make u and f; memory O(n·width). */
#include "attention/common/convolution.h"

#include <math.h>

static const struct oa_argument arguments[] = { OA_CONVOLUTION_ARGUMENTS,
                                                OA_GATE_ARGUMENT,
                                                { .key = NULL } };

static enum oa_error dynamicconv_parameters(struct oa_group *g)
{
    long out = g->shape.heads * oa_convolution_width(g), in = g->shape.heads * g->shape.value_width;
    struct oa_parameter p = { .dims = 2,
                              .dim = { out, in },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = sqrt(6 / (double)(in + out)) }; /* Xavier */
    oa_convolution_input_parameter(g);
    g->parameter[OA_CONVOLUTION_FILTER] = oa_group_parameter(g, "conv.filter.weight", &p);
    return oa_status(g->context);
}

static void dynamicconv_forward(oa_tape *t, const struct oa_group *g,
                                const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    (void)v;
    struct oa_band band = oa_convolution_band(g, in);
    oa_tensor *u = oa_convolution_input(t, g, in);
    oa_band_op(t, &band, NULL, oa_linear(t, u, g->parameter[OA_CONVOLUTION_FILTER], NULL), u, o);
}

static double dynamicconv_flops(const struct oa_group *g, long queries, long keys)
{
    (void)keys;
    return oa_convolution_flops(g, queries) +
           2 * (double)queries * (double)g->parameter[OA_CONVOLUTION_FILTER]->count;
}

static double dynamicconv_logit(const struct oa_group *g, const struct oa_oracle *in, long head,
                                long i, long k)
{
    long row = head * oa_convolution_width(g) + k, inputs = g->shape.heads * g->shape.value_width;
    double sum = 0;
    for (long c = 0; c < inputs && i < in->length; c++)
        sum += oa_convolution_value(g, in->x + i * g->shape.width, 0, c) *
               oa_parameter_at(g, g->parameter[OA_CONVOLUTION_FILTER], row * inputs + c);
    return sum;
}

static enum oa_error dynamicconv_weights(const struct oa_group *g, const struct oa_oracle *in,
                                         double *w)
{
    return oa_convolution_weights(g, in, dynamicconv_logit, w);
}

const struct oa_mechanism oa_mechanism_dynamicconv = {
    .name = "dynamicconv",
    .title = "Dynamic convolution",
    .citation = "Wu et al. 2019 (ICLR), arXiv 1901.10430",
    .formula = "O_i = Σ_k softmax(u_i W_f)_k u_{i+k−P}, a filter a token and head, P = width − 1 "
               "in a causal layer, else ⌊width/2⌋;  u = x W_in, with glu a·σ(b), [a | b] = x W_in",
    .caveats = "One layer sees no further than its taps. There is no value.weight: "
               "conv.input.weight replaces it.",
    .mistakes = "fairseq: has two maps from channels to heads, ⌊c/(D/H)⌋ and c mod H. Weights "
                "trained with one are not those of the other; here it is the first.",
    .reads_input = true,
    .cost = "O(n·width·V) time, O(n·width) memory",
    .state = "the last width − 1 inputs",
    .can = OA_CAN_CAUSAL | OA_ORDER | OA_LINEAR_TIME | OA_HAS_WEIGHTS | OA_OWN_VALUES | OA_POSITIVE,
    .self_only = "positions of one sequence, since its taps lie around the query",
    .can_with = oa_convolution_can_with,
    .arguments = arguments,
    .mode_clash = oa_convolution_mode_clash,
    .parameters = dynamicconv_parameters,
    .forward = dynamicconv_forward,
    .flops = dynamicconv_flops,
    .state_numbers = oa_convolution_state,
    .weights = dynamicconv_weights,
    .values = oa_convolution_value,
};
