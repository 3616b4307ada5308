/* SPDX-License-Identifier: Apache-2.0
 * Dense Synthesizer. Tay et al., Synthesizer: rethinking self-attention for Transformer models,
 * ICML 2021, arXiv 2005.00743.
 *
 *     S_i = relu(in_i W1 + b1) W2 + b2,      O = softmax(S) (X W_V)
 *
 * in_i is x_i, or the D/H channels of x_i at the head's number. Row i of the logits depends on
 * token i only: keys are not compared with queries; the N columns of W2 are positions.
 *
 * Shapes: W1 [H, hidden, in], W2 [H, N, hidden] or shared [N, hidden]; a sequence shorter than N
 * uses the leading rows. In the logits engine the hidden layer are the queries and W2 the
 * keys. Cost: per head 2·T·in·hidden + T·S·(2·hidden + 2V + 5). */
#include "attention/common/synthesizer.h"

#include <math.h>

enum { HIDDEN_WEIGHT, HIDDEN_BIAS, LOGITS_WEIGHT, LOGITS_BIAS };

static const struct oa_argument arguments[] = {
    OA_SYNTHESIZER_INPUT_ARGUMENT,
    { "hidden", OA_VALUE_INT, NULL, NULL, 1, 1 << 20,
      "width of the hidden layer; default: the head width" },
    { "shared", OA_VALUE_FLAG, "0", NULL, 0, 0, "heads share the matrix that makes logits" },
    { "bias", OA_VALUE_FLAG, "0", NULL, 0, 0, "biases in both layers" },
    OA_LOGITS_HEAD_ARGUMENTS,
    { .key = NULL }
};

static long hidden_width(const struct oa_group *g)
{
    return oa_atom_int(g->atom, "hidden", g->shape.head_width);
}

static enum oa_error synthesizer_dense_check(oa_context *c, const struct oa_group *g)
{
    OA_TRY(oa_synthesizer_check(c, g));
    if (hidden_width(g) < 1)
        return oa_fail(c, OA_SHAPE,
                       "dense: the hidden layer is as wide as a head by default, and the model "
                       "width %ld does not divide by %d heads; give hidden=",
                       g->shape.width, g->layer_heads);
    return OA_OK;
}

/* ---- parameters ---- */

static enum oa_error synthesizer_dense_parameters(struct oa_group *g)
{
    long H = g->shape.heads, N = oa_group_length(g), hidden = hidden_width(g);
    bool shared = oa_atom_flag(g->atom, "shared"), biased = oa_atom_flag(g->atom, "bias");
    struct oa_parameter hidden_bias = { .dims = 2, .dim = { H, hidden }, .trainable = true };
    struct oa_parameter logits = { .dims = shared ? 2 : 3,
                                   .dim = { shared ? N : H, shared ? hidden : N,
                                            shared ? 0 : hidden },
                                   .trainable = true,
                                   .decay = true,
                                   .matrix = true,
                                   .init = OA_INIT_UNIFORM,
                                   .scale = sqrt(6 / (double)(hidden + N)) }; /* Glorot */
    struct oa_parameter logits_bias = { .dims = shared ? 1 : 2,
                                        .dim = { shared ? N : H, N },
                                        .trainable = true };
    g->parameter[HIDDEN_WEIGHT] = oa_synthesizer_weight(g, "dense.hidden.weight", hidden);
    if (biased)
        g->parameter[HIDDEN_BIAS] = oa_group_parameter(g, "dense.hidden.bias", &hidden_bias);
    g->parameter[LOGITS_WEIGHT] = oa_group_parameter(g, "dense.logits.weight", &logits);
    if (biased)
        g->parameter[LOGITS_BIAS] = oa_group_parameter(g, "dense.logits.bias", &logits_bias);
    return oa_status(g->context);
}

static long synthesizer_dense_length(const struct oa_atom *a, oa_stored_axis *axis,
                                     const void *argument)
{
    (void)a;
    return axis(argument, "dense.logits.weight", -2);
}

/* ---- forward ---- */

static void synthesizer_dense_part(oa_tape *t, const struct oa_group *g,
                                   const struct oa_layer_input *in, struct oa_part_tensors *out)
{
    oa_tensor *hidden =
        oa_synthesizer_map(t, g, in->x, g->parameter[HIDDEN_WEIGHT], g->parameter[HIDDEN_BIAS]);
    *out = (struct oa_part_tensors){ .kind = OA_PART_DOT,
                                     .scale = 1,
                                     .width = hidden_width(g),
                                     .q = oa_relu(t, hidden),
                                     .k_table = g->parameter[LOGITS_WEIGHT],
                                     .bias = g->parameter[LOGITS_BIAS] };
}

static double synthesizer_dense_flops(const struct oa_group *g, long queries, long keys)
{
    double hidden = (double)hidden_width(g), in = (double)oa_synthesizer_input_width(g);
    double layer = 2 * (double)(g->shape.heads * queries) * in * hidden;
    return layer +
           oa_visible_pairs(g, queries, keys) * (2 * hidden + 2 * (double)g->shape.value_width + 5);
}

/* ---- oracle ---- */

static enum oa_error synthesizer_dense_scores(const struct oa_group *g, const struct oa_oracle *in,
                                              double *s)
{
    long hidden = hidden_width(g), H = g->shape.heads,
         stride = oa_atom_flag(g->atom, "shared") ? 0 : oa_group_length(g);
    for (long h = 0; h < H; h++) {
        for (long i = 0; i < in->queries; i++) {
            double *row = s + (h * in->queries + i) * in->keys;
            for (long j = 0; j < in->keys; j++)
                row[j] = g->parameter[LOGITS_BIAS]
                             ? oa_parameter_at(g, g->parameter[LOGITS_BIAS], h * stride + j)
                             : 0;
            for (long u = 0; u < hidden; u++) {
                double value = fmax(0, oa_synthesizer_value(g, g->parameter[HIDDEN_WEIGHT],
                                                            g->parameter[HIDDEN_BIAS],
                                                            in->x + i * g->shape.width, h, u));
                for (long j = 0; j < in->keys; j++)
                    row[j] += value * oa_parameter_at(g, g->parameter[LOGITS_WEIGHT],
                                                      (h * stride + j) * hidden + u);
            }
        }
    }
    return OA_OK;
}

const struct oa_mechanism oa_mechanism_dense = {
    .name = "dense",
    .title = "Dense Synthesizer",
    .citation = "Tay et al. 2021 (ICML), arXiv 2005.00743",
    .formula = "S_i = relu(in_i W1 + b1) W2 + b2, in_i a slice of x_i (in = D/H) or all of it (in "
               "= D);  O = softmax(S) (x W_V)",
    .caveats = "The logits of a query never see the keys, only their positions. Cross-attention is "
               "experimental.",
    .mistakes = "Long Range Arena: the logits [B, L, H, N] are reshaped, not transposed, to [B, H, "
                "L, N], so tokens and heads are scrambled; the key axis is cut with the length of "
                "the queries; padding is ignored whenever no dot product takes part.",
    .reads_input = true,
    .cost = "O(n·in·hidden + n²(hidden + V)) time, O(n) memory, (in + N)·hidden parameters a head",
    .state = "values: tV",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_CAN_MIX | OA_BOUND_LENGTH | OA_ORDER | OA_HAS_WEIGHTS |
           OA_DROPS | OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .check = synthesizer_dense_check,
    .parameters = synthesizer_dense_parameters,
    .length = synthesizer_dense_length,
    .forward = oa_part_forward,
    .part = synthesizer_dense_part,
    .flops = synthesizer_dense_flops,
    .state_numbers = oa_value_state,
    .scores = synthesizer_dense_scores,
    .weights = oa_softmax_weights,
};
