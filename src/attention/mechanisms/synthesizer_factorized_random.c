/* SPDX-License-Identifier: Apache-2.0
 * Factorized Random Synthesizer. Tay et al., Synthesizer: rethinking self-attention for Transformer
 * models, ICML 2021, arXiv 2005.00743.
 *
 *     S = L[h] R[h]ᵀ,      O = softmax(S) (X W_V)
 *
 * The logits of the random synthesizer with a rank of at most k: N·k numbers for queries and N·k
 * for keys instead of N². They do not depend on the input; a sequence shorter than N uses the
 * leading rows.
 *
 * Shapes: L (random.left), R (random.right) [H, N, k], which are the queries and keys of the logits
 * engine. Cost: H·T·S·(2k + 2V + 5); without padding one map serves the whole batch. */
#include "attention/mechanism.h"

#include <math.h>

enum { LEFT, RIGHT };

static const struct oa_argument arguments[] = { { "rank", OA_VALUE_INT, "8", NULL, 1, 1 << 20,
                                                  "columns of the two factors" },
                                                OA_LOGITS_HEAD_ARGUMENTS,
                                                { .key = NULL } };

static long factorized_random_rank_of(const struct oa_group *g)
{
    return oa_atom_int(g->atom, "rank", 8);
}

/* Glorot's uniform limit for each factor, an N × k matrix. */
static enum oa_error factorized_random_parameters(struct oa_group *g)
{
    long N = oa_group_length(g), rank = factorized_random_rank_of(g);
    struct oa_parameter p = { .dims = 3,
                              .dim = { g->shape.heads, N, rank },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = sqrt(6 / (double)(N + rank)) };
    g->parameter[LEFT] = oa_group_parameter(g, "random.left", &p);
    g->parameter[RIGHT] = oa_group_parameter(g, "random.right", &p);
    return oa_status(g->context);
}

static long factorized_random_length(const struct oa_atom *a, oa_stored_axis *axis,
                                     const void *argument)
{
    (void)a;
    return axis(argument, "random.left", -2);
}

static void factorized_random_part(oa_tape *t, const struct oa_group *g,
                                   const struct oa_layer_input *in, struct oa_part_tensors *out)
{
    (void)t;
    (void)in;
    *out = (struct oa_part_tensors){ .kind = OA_PART_DOT,
                                     .scale = 1,
                                     .width = factorized_random_rank_of(g),
                                     .q_table = g->parameter[LEFT],
                                     .k_table = g->parameter[RIGHT] };
}

static double factorized_random_flops(const struct oa_group *g, long queries, long keys)
{
    return oa_visible_pairs(g, queries, keys) *
           (2 * (double)factorized_random_rank_of(g) + 2 * (double)g->shape.value_width + 5);
}

static enum oa_error factorized_random_scores(const struct oa_group *g, const struct oa_oracle *in,
                                              double *s)
{
    long N = oa_group_length(g), rank = factorized_random_rank_of(g);
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++) {
            for (long j = 0; j < in->keys; j++, s++) {
                *s = 0;
                for (long c = 0; c < rank; c++)
                    *s += oa_parameter_at(g, g->parameter[LEFT], (h * N + i) * rank + c) *
                          oa_parameter_at(g, g->parameter[RIGHT], (h * N + j) * rank + c);
            }
        }
    }
    return OA_OK;
}

const struct oa_mechanism oa_mechanism_factorized_random = {
    .name = "factorized-random",
    .title = "Factorized Random Synthesizer",
    .citation = "Tay et al. 2021 (ICML), arXiv 2005.00743",
    .formula = "S = L Rᵀ, two trained tables of k columns for each head;  O = softmax(S) (x W_V)",
    .caveats = "The map is the same for every text, and its logits have at most rank k. "
               "Cross-attention is experimental.",
    .mistakes = "Mesh TensorFlow: both factors are declared along the keys, and the product "
                "broadcasts: every row of S is the same row.\n"
                "A popular PyTorch port: the factors depend on the input.",
    .cost = "O(n²(k + V)) time, O(n) memory, 2Nk parameters a head",
    .state = "values: tV",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_CAN_MIX | OA_BOUND_LENGTH | OA_ORDER | OA_HAS_WEIGHTS |
           OA_DROPS | OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .parameters = factorized_random_parameters,
    .length = factorized_random_length,
    .forward = oa_part_forward,
    .part = factorized_random_part,
    .flops = factorized_random_flops,
    .state_numbers = oa_value_state,
    .scores = factorized_random_scores,
    .weights = oa_softmax_weights,
};
