/* SPDX-License-Identifier: Apache-2.0
 * Token mixing. Tolstikhin et al., MLP-Mixer: an all-MLP architecture for vision, NeurIPS 2021,
 * arXiv 2105.01601.
 *
 *     Y = W2[:n] gelu(W1[:, :n] X + b1 1ᵀ) + b2[:n] 1ᵀ
 *
 * X [n, C] are the group's D/H channels of x for each head, or with `value` those of x W_V; the MLP
 * along the length is shared by all channels and heads of the group. gelu is exact (erf). Padding
 * is zero, and a sequence shorter than N uses the leading columns of W1 and rows of W2.
 *
 * The causal form is ours: hidden unit u has time t(u) = ⌊uN/D_S⌋, reads tokens j ≤ t(u), and is
 * read by tokens i ≥ t(u).
 *
 * Shapes: W1 (mixer.in.weight) [D_S, N], b1 [D_S], W2 (mixer.out.weight) [N, D_S], b2 [N]. Cost:
 * 4·n·D_S·C. */
#include "attention/mechanism.h"

#include <math.h>

enum { IN_WEIGHT, IN_BIAS, OUT_WEIGHT, OUT_BIAS };

static const struct oa_argument arguments[] = {
    { "hidden", OA_VALUE_INT, NULL, NULL, 1, 1 << 20,
      "hidden units; default: half the model width" },
    { "value", OA_VALUE_FLAG, "0", NULL, 0, 0,
      "mix x W_V; without it a head mixes its D/H channels of x" },
    OA_GATE_ARGUMENT,
    { .key = NULL }
};

static long hidden_units(const struct oa_group *g)
{
    return oa_atom_int(g->atom, "hidden", g->shape.width / 2);
}

static enum oa_error mixer_check(oa_context *c, const struct oa_group *g)
{
    long V = g->shape.value_width, width = g->shape.width;
    if (hidden_units(g) < 1)
        return oa_fail(
            c, OA_SHAPE,
            "mixer: half of the model width %ld gives no hidden units; set hidden=", width);
    if (!oa_atom_flag(g->atom, "value") && V * g->layer_heads != width)
        return oa_fail(c, OA_SHAPE,
                       "mixer splits the model width among the %d heads, but %ld heads of %ld "
                       "channels do not make %ld; change one, or use mixer(value)",
                       g->layer_heads, (long)g->layer_heads, V, width);
    return OA_OK;
}

static enum oa_error mixer_parameters(struct oa_group *g)
{
    long D = hidden_units(g), N = oa_group_length(g);
    struct oa_parameter w = { .dims = 2,
                              .dim = { D, N },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = sqrt(6 / (double)(D + N)) }; /* Glorot */
    struct oa_parameter b = { .dims = 1, .dim = { D }, .trainable = true };
    g->parameter[IN_WEIGHT] = oa_group_parameter(g, "mixer.in.weight", &w);
    g->parameter[IN_BIAS] = oa_group_parameter(g, "mixer.in.bias", &b);
    w.dim[0] = b.dim[0] = N;
    w.dim[1] = D;
    g->parameter[OUT_WEIGHT] = oa_group_parameter(g, "mixer.out.weight", &w);
    g->parameter[OUT_BIAS] = oa_group_parameter(g, "mixer.out.bias", &b);
    return oa_status(g->context);
}

static long mixer_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument)
{
    (void)a;
    return axis(argument, "mixer.in.weight", -1);
}

/* Padding rows of x are 0 already, but those of values are not if they have a bias. */
static void mixer_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                          oa_tensor *v, oa_tensor *o)
{
    struct oa_mixer mixer = { .in_weight = g->parameter[IN_WEIGHT],
                              .in_bias = g->parameter[IN_BIAS],
                              .out_weight = g->parameter[OUT_WEIGHT],
                              .out_bias = g->parameter[OUT_BIAS],
                              .causal = g->shape.causal };
    if (v && in->lengths)
        v = oa_select_rows(t, v, in->queries, in->lengths);
    if (g->value)
        oa_mixer_op(t, &mixer, v, 0, in->batch, o);
    else
        oa_mixer_op(t, &mixer, in->x, g->first_head * g->shape.value_width, in->batch, o);
}

static double mixer_flops(const struct oa_group *g, long queries, long keys)
{
    (void)keys;
    return 4 * (double)queries * (double)hidden_units(g) *
           (double)(g->shape.heads * g->shape.value_width);
}

static double mixer_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    return (double)(hidden_units(g) * g->shape.heads * g->shape.value_width);
}

/* N determines the time of each hidden unit. */
static bool mixer_length_counts(const struct oa_group *g)
{
    return g->shape.causal;
}

const struct oa_mechanism oa_mechanism_mixer = {
    .name = "mixer",
    .title = "Token mixing",
    .citation = "Tolstikhin et al. 2021 (NeurIPS), arXiv 2105.01601",
    .formula = "Y = W2[:n] gelu(W1[:, :n] X + b1 1ᵀ) + b2[:n] 1ᵀ, X [n, C] the D/H channels of x "
               "for each head, with value those of x W_V;  W1 [hidden, N], W2 [N, hidden], one for "
               "all channels and heads of the group, gelu with erf;  causal: hidden unit u, of the "
               "time t = ⌊uN/hidden⌋, reads tokens j ≤ t and is read by tokens i ≥ t",
    .caveats = "How tokens are mixed is the same for every text, and there is no attention map. "
               "The causal form gives each hidden unit a time, by the longest length N: a causal "
               "model of another N is another function.",
    .mistakes = "lucidrains: the two expansion factors are swapped; the hidden width along the "
                "tokens is 4·D instead of D/2.",
    .reads_input = true,
    .cost = "O(n·hidden·V) time, O(hidden·V + n) memory, 2N·hidden + N + hidden parameters a group",
    .state = "the hidden units of each channel: hidden·V",
    .can = OA_CAN_CAUSAL | OA_BOUND_LENGTH | OA_ORDER | OA_LINEAR_TIME | OA_OWN_VALUES,
    .self_only = "positions of one sequence, which are mixed with each other",
    .arguments = arguments,
    .check = mixer_check,
    .parameters = mixer_parameters,
    .length = mixer_length,
    .forward = mixer_forward,
    .flops = mixer_flops,
    .state_numbers = mixer_state_numbers,
    .length_counts = mixer_length_counts,
};
