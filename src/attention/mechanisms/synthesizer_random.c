/* SPDX-License-Identifier: Apache-2.0
 * Random Synthesizer, and Fixed Random with `frozen`. Tay et al., Synthesizer: rethinking
 * self-attention for Transformer models, ICML 2021, arXiv 2005.00743.
 *
 *     S_ij = R[h][i][j],      O = softmax(S) (X W_V)
 *
 * The logits do not depend on the input: R is trained, or frozen as it was drawn. A sequence
 * shorter than N uses the leading rows and columns.
 *
 * Shapes: R [H, N, N]. Cost: H·T·S·(2V + 5); without padding one map serves the whole batch. */
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

static const struct oa_argument arguments[] = {
    { "frozen", OA_VALUE_FLAG, "0", NULL, 0, 0, "never trained (Fixed Random)" },
    { "init", OA_VALUE_CHOICE, NULL, "glorot|normal|uniform", 0, 0,
      "glorot: uniform up to √(6/(H·N + N²)), nearly flat" },
    { "sigma", OA_VALUE_REAL, NULL, NULL, 0, 1e6, "spread of normal, limit of uniform; default 1" },
    OA_LOGITS_HEAD_ARGUMENTS,
    { .key = NULL }
};

static bool synthesizer_random_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    if (!oa_atom_is(a, "init", "glorot") || !oa_atom_value(a, "sigma")->given)
        return false;
    snprintf(sentence, size,
             "sigma belongs to init=normal or init=uniform; give one of them, or leave sigma out.");
    return true;
}

static enum oa_error synthesizer_random_parameters(struct oa_group *g)
{
    long H = g->shape.heads, N = oa_group_length(g);
    bool trainable = !oa_atom_flag(g->atom, "frozen"),
         normal = oa_atom_is(g->atom, "init", "normal");
    double limit = sqrt(6 / ((double)H * (double)N + (double)N * (double)N));
    double sigma = oa_atom_real(g->atom, "sigma", 1);
    struct oa_parameter p = { .dims = 3,
                              .dim = { H, N, N },
                              .trainable = trainable,
                              .decay = trainable,
                              .init = normal ? OA_INIT_NORMAL : OA_INIT_UNIFORM,
                              .scale = oa_atom_is(g->atom, "init", "glorot") ? limit : sigma };
    g->parameter[0] = oa_group_parameter(g, "random.logits", &p);
    return oa_status(g->context);
}

static long synthesizer_random_length(const struct oa_atom *a, oa_stored_axis *axis,
                                      const void *argument)
{
    (void)a;
    return axis(argument, "random.logits", -1);
}

static void synthesizer_random_part(oa_tape *t, const struct oa_group *g,
                                    const struct oa_layer_input *in, struct oa_part_tensors *out)
{
    (void)t;
    (void)in;
    *out = (struct oa_part_tensors){ .kind = OA_PART_TABLE, .table = g->parameter[0] };
}

static double synthesizer_random_flops(const struct oa_group *g, long queries, long keys)
{
    return oa_visible_pairs(g, queries, keys) * (2 * (double)g->shape.value_width + 5);
}

static enum oa_error synthesizer_random_scores(const struct oa_group *g, const struct oa_oracle *in,
                                               double *s)
{
    long N = oa_group_length(g);
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++) {
            for (long j = 0; j < in->keys; j++)
                *s++ = oa_parameter_at(g, g->parameter[0], (h * N + i) * N + j);
        }
    }
    return OA_OK;
}

const struct oa_mechanism oa_mechanism_random = {
    .name = "random",
    .title = "Random Synthesizer",
    .citation = "Tay et al. 2021 (ICML), arXiv 2005.00743",
    .formula =
        "S = R, a table of its own for each head, trained or frozen;  O = softmax(S) (x W_V)",
    .caveats = "The map is the same for every text. Glorot starts (and with `frozen` stays) near "
               "the plain average: weights are off by at most e^{2l} − 1 of it, l = √(6/(H·N + "
               "N²)), which for 8 heads is 1 % at N = 512 and 7.5 % at N = 64. init=normal with "
               "sigma=1 or more mixes tokens at random. Cross-attention is experimental.",
    .mistakes = "Long Range Arena: padding is ignored whenever no dot product takes part.\n"
                "A popular PyTorch port: leaves the softmax out.\n"
                "Mesh TensorFlow: random_plus hard-codes the length 512.",
    .cost = "O(n²V) time, O(n) memory, N² parameters a head",
    .state = "values: tV",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_CAN_MIX | OA_BOUND_LENGTH | OA_ORDER | OA_HAS_WEIGHTS |
           OA_DROPS | OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .clash = synthesizer_random_clash,
    .parameters = synthesizer_random_parameters,
    .length = synthesizer_random_length,
    .forward = oa_part_forward,
    .part = synthesizer_random_part,
    .flops = synthesizer_random_flops,
    .state_numbers = oa_value_state,
    .scores = synthesizer_random_scores,
    .weights = oa_softmax_weights,
};
