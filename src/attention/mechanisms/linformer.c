/* SPDX-License-Identifier: Apache-2.0
 * Linformer. Wang, Li, Khabsa, Fang, Ma, Linformer: self-attention with linear complexity, 2020,
 * arXiv 2006.04768.
 *
 *     K' = E[:m]ᵀ K,  V' = F[:m]ᵀ V,      O = softmax(τ Q K'ᵀ) V',  τ = 1/√K
 *
 * The m keys and values become k rows by trained matrices along the length, for each head, or
 * (share=heads) the same for all heads, or (share=kv) one for keys and values of all heads. Padding
 * counts as zeros. Every row of K' has seen every position, so there is no causal form.
 *
 * Shapes: E (length.key), F (length.value) [H, N, k], or [N, k]. The logits engine gets
 * sequences of k keys. Cost: 2·H·S·k(K + V) + H·T·k(2K + 2V + 5) in addition to the projections;
 * memory O(T + k). */
#include "attention/mechanism.h"

#include <math.h>

enum { LENGTH_KEY, LENGTH_VALUE };

static const struct oa_argument arguments[] = {
    { "rank", OA_VALUE_INT, "64", NULL, 1, 1 << 20, "k: length of the projected keys and values" },
    { "share", OA_VALUE_CHOICE, NULL, "none|heads|kv", 0, 0,
      "length matrices: one a head; for all heads; for keys and values of all heads" },
    { "qk", OA_VALUE_CHOICE, NULL, OA_QK_LEARNED, 0, 0,
      "how queries and keys are projected; all but learned are frozen" },
    { "tie", OA_VALUE_FLAG, "0", NULL, 0, 0, "keys use the query projection" },
    { "scale", OA_VALUE_CHOICE, "none", "none|jl", 0, 0, "jl: times √(D/K)" },
    { "temperature", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable scalar for each head" },
    { "diagonal", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable diagonal for each head" },
    OA_QKNORM_ARGUMENT,
    OA_GATE_ARGUMENT,
    { .key = NULL }
};

static long linformer_rank_of(const struct oa_group *g)
{
    return oa_atom_int(g->atom, "rank", 64);
}

static struct oa_parameter *add_length(struct oa_group *g, const char *name)
{
    long N = oa_group_length(g), rank = linformer_rank_of(g);
    bool own = oa_atom_is(g->atom, "share", "none");
    struct oa_parameter p = { .dims = own ? 3 : 2,
                              .dim = { own ? g->shape.heads : N, own ? N : rank, own ? rank : 0 },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = 1 / sqrt((double)rank) };
    return oa_group_parameter(g, name, &p);
}

static enum oa_error linformer_parameters(struct oa_group *g)
{
    g->parameter[LENGTH_KEY] = add_length(g, "length.key");
    g->parameter[LENGTH_VALUE] = oa_atom_is(g->atom, "share", "kv") ? g->parameter[LENGTH_KEY]
                                                                    : add_length(g, "length.value");
    return oa_status(g->context);
}

static long linformer_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument)
{
    (void)a;
    return axis(argument, "length.key", -2);
}

static void linformer_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                              oa_tensor *v, oa_tensor *o)
{
    long H = g->shape.heads;
    struct oa_attention_shape shape = oa_group_shape(g, in);
    struct oa_part_tensors part = { .kind = OA_PART_DOT };
    oa_dot_part(t, g, in, &part);
    part.k = oa_project_length(t, part.k, in->batch, H, in->lengths, g->parameter[LENGTH_KEY]);
    oa_tensor *values =
        oa_project_length(t, v, in->batch, H, in->lengths, g->parameter[LENGTH_VALUE]);
    shape.keys = linformer_rank_of(g);
    shape.key_lengths = NULL;
    oa_logits_op(t, &shape, NULL, 1, &part, NULL, NULL, values, in->dropout, o);
}

static double linformer_flops(const struct oa_group *g, long queries, long keys)
{
    double H = (double)g->shape.heads, k = (double)linformer_rank_of(g);
    double widths = (double)(g->shape.head_width + g->shape.value_width);
    return H * k * (2 * (double)keys * widths + (double)queries * (2 * widths + 5));
}

static double linformer_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    return (double)(g->shape.heads * linformer_rank_of(g) *
                    (g->shape.head_width + g->shape.value_width));
}

const struct oa_mechanism oa_mechanism_linformer = {
    .name = "linformer",
    .title = "Linformer",
    .citation = "Wang et al. 2020, arXiv 2006.04768",
    .formula = "K' = E[:n]ᵀ(x W_K), V' = F[:n]ᵀ(x W_V), k rows each, E and F [N, k];  O = "
               "softmax((x W_Q) K'ᵀ / √K) V'",
    .caveats = "Not causal: each of the k keys mixes all positions. There is no attention map over "
               "tokens to show.",
    .mistakes = "All implementations read (Long Range Arena, lucidrains, xFormers): padded rows "
                "are not set to 0 "
                "before E and F mix them, so the contents of the padding change the output.",
    .cost = "O(nk(K + V)) time, O(n + k) memory, 2Nk parameters a head (share=none)",
    .state = "the k keys and values, of another sequence only",
    .can = OA_CAN_CROSS | OA_HAS_QUERIES | OA_BOUND_LENGTH | OA_ORDER | OA_LINEAR_TIME | OA_DROPS,
    .arguments = arguments,
    .parameters = linformer_parameters,
    .length = linformer_length,
    .forward = linformer_forward,
    .flops = linformer_flops,
    .state_numbers = linformer_state_numbers,
};
