/* SPDX-License-Identifier: Apache-2.0
 * cosFormer. Qin et al., cosFormer: Rethinking Softmax in Attention, ICLR 2022, arXiv 2202.08791.
 *
 *     w_ij = relu(q_i)·relu(k_j) cos(π(i − j)/(2M)),   O_i = Σ_j w_ij v_j / max(Σ_j w_ij, 10⁻⁶)
 *
 * The cosine of a difference is a product of features, φ_t(x) = [relu(x) sin θ_t, relu(x) cos θ_t]
 * with θ_t = π t/(2M), t from 0, so it runs on the kernel engine with r = 2K. M is a fixed option
 * (default N): taken from the current batch, as in the authors' code, it would make outputs depend
 * on padding. Longer sequences than M would have negative weights and are refused. A query without
 * positive channels has the output 0 and no gradient. Cost: per head (T + S)·2K·(2V + 2). */
#include "attention/mechanism.h"

#include <math.h>

#define EPSILON 1e-6
#define PI 3.14159265358979323846

static const struct oa_argument arguments[] = {
    { "length", OA_VALUE_INT, NULL, NULL, 1, 1 << 30,
      "M: length over which the angle goes from 0 to π/2 (default N)" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_QUERY_HEAD_ARGUMENTS,
    { .key = NULL }
};

static long cosformer_limit(const struct oa_group *g)
{
    return oa_atom_int(g->atom, "length", oa_group_length(g));
}

static enum oa_error cosformer_check(oa_context *c, const struct oa_group *g)
{
    if (cosformer_limit(g) >= oa_group_length(g))
        return OA_OK;
    return oa_fail(c, OA_SHAPE,
                   "cosformer(length=%ld) with sequences of up to %ld tokens: keys at distances "
                   "from %ld on would get negative weights; use a length of at least %ld, or none",
                   cosformer_limit(g), oa_group_length(g), cosformer_limit(g), oa_group_length(g));
}

/* By default the angles are in units of N. */
static bool cosformer_length_counts(const struct oa_group *g)
{
    return !oa_atom_value(g->atom, "length")->given;
}

static void cosformer_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                              oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    oa_tensor *q, *k;
    oa_project(t, g, in, &q, &k);
    q = oa_position_features(t, q, shape.queries, g->shape.heads, (double)cosformer_limit(g));
    k = oa_position_features(t, k, shape.keys, g->key_heads, (double)cosformer_limit(g));
    oa_linear_attention_op(t, &shape, q, k, v, OA_DENOMINATOR_CLAMP, EPSILON, o);
}

static double cosformer_flops(const struct oa_group *g, long queries, long keys)
{
    double features = 2 * (double)g->shape.head_width,
           rows = (double)(g->shape.heads * (queries + keys));
    return rows * features * (2 * (double)g->shape.value_width + 2 + 1);
}

static double cosformer_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    return oa_sums_state(g, 2 * (double)g->shape.head_width);
}

static double cosformer_kernel(const struct oa_group *g, const double *q, const double *k, long i,
                               long j)
{
    double sum = 0;
    for (long c = 0; c < g->shape.head_width; c++)
        sum += fmax(q[c], 0) * fmax(k[c], 0);
    return sum * cos(PI * (double)(i - j) / (2 * (double)cosformer_limit(g)));
}

static double cosformer_clamp(const struct oa_group *g, double den)
{
    (void)g;
    return fmax(den, EPSILON);
}

static enum oa_error cosformer_weights(const struct oa_group *g, const struct oa_oracle *in,
                                       double *w)
{
    return oa_kernel_weights(g, in, cosformer_kernel, NULL, cosformer_clamp, w);
}

const struct oa_mechanism oa_mechanism_cosformer = {
    .name = "cosformer",
    .title = "cosFormer",
    .citation = "Qin et al. 2022, arXiv 2202.08791",
    .formula =
        "w_ij = relu(q_i)·relu(k_j) cos(π(i − j)/(2M)), O_i = Σ_j w_ij v_j / max(Σ_j w_ij, 10⁻⁶)",
    .caveats = "A query whose channels are all negative attends to nothing. As cross-attention it "
               "prefers keys at the same position, which has a meaning for monotone alignments "
               "only. Sequences longer than M are refused: keys further away would get negative "
               "weights. By default M is N, so a model of another N is another function.",
    .mistakes = "The authors' code: M is the longest sequence of the batch at hand, so the output "
                "of a text depends on the padding of its neighbours and decoding is impossible; "
                "padded keys are not masked; the option elu is a broken expression.\n"
                "Write-ups: φ(x) = cos x. That is another function (linear(map=cos)).",
    .cost = "O(n·K·V) time, O(K·V) memory a head",
    .state = "2K(V + 1) + 1, constant in t",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_ORDER | OA_LINEAR_TIME |
           OA_HAS_WEIGHTS | OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .check = cosformer_check,
    .forward = cosformer_forward,
    .flops = cosformer_flops,
    .state_numbers = cosformer_state_numbers,
    .weights = cosformer_weights,
    .numbers = "length=80", /* the longest sequence in verify */
    .length_counts = cosformer_length_counts,
};
