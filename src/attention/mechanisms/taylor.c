/* SPDX-License-Identifier: Apache-2.0
 * Taylor attention: the exponential of softmax attention to second order. Arora et al., Simple
 * linear attention language models balance the recall-throughput tradeoff, 2024, arXiv 2402.18668.
 *
 *     w_ij = 1 + s + s²/2 with s = q_i·k_j/√d,   O_i = Σ_j w_ij v_j / Σ_j w_ij
 *
 * w_ij = φ(q_i)·φ(k_j) with φ(x) = [1, x/d^¼, x xᵀ/(√2 √d)]; of the symmetric matrix one triangle
 * is used, off the diagonal times √2, which gives the same product with r = 1 + d + d(d + 1)/2.
 * Queries and keys have a width d of their own (option width). w ≥ ½, so the denominator needs no
 * guard. Rotary positions have the width of the model's heads and are not applied. Cost: per head
 * (T + S)·r·(2V + 2). */
#include "attention/mechanism.h"

#include <math.h>

static const struct oa_argument arguments[] = { { "width", OA_VALUE_INT, "16", NULL, 1, 256,
                                                  "d: width of queries and keys" },
                                                OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
                                                OA_QUERY_HEAD_ARGUMENTS,
                                                { .key = NULL } };

static long taylor_head_width(const struct oa_atom *a)
{
    return oa_atom_int(a, "width", 16);
}

static void taylor_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                           oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    struct oa_layer_input unrotated = *in;
    double d = (double)g->shape.head_width;
    const double c[3] = { 1, pow(d, -0.25), 1 / sqrt(2 * d) };
    oa_tensor *q, *k;
    unrotated.rotary = (struct oa_rotary){ 0 };
    oa_project(t, g, &unrotated, &q, &k);
    oa_squared_attention_op(t, &shape, q, k, v, c, OA_DENOMINATOR_NONE, 0, o);
}

static double taylor_flops(const struct oa_group *g, long queries, long keys)
{
    double d = (double)g->shape.head_width, features = 1 + d + d * (d + 1) / 2;
    return (double)(g->shape.heads * (queries + keys)) * features *
           (2 * (double)g->shape.value_width + 2 + 1);
}

static double taylor_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    double d = (double)g->shape.head_width;
    return oa_sums_state(g, 1 + d + d * (d + 1) / 2);
}

static double taylor_kernel(const struct oa_group *g, const double *q, const double *k, long i,
                            long j)
{
    double s = 0;
    (void)i, (void)j;
    for (long c = 0; c < g->shape.head_width; c++)
        s += q[c] * k[c] / sqrt((double)g->shape.head_width);
    return 1 + s + s * s / 2;
}

static enum oa_error taylor_weights(const struct oa_group *g, const struct oa_oracle *in, double *w)
{
    struct oa_oracle unrotated = *in;
    unrotated.cosine = unrotated.sine = NULL;
    return oa_kernel_weights(g, &unrotated, taylor_kernel, NULL, NULL, w);
}

const struct oa_mechanism oa_mechanism_taylor = {
    .name = "taylor",
    .title = "Taylor attention (Based)",
    .citation = "Arora et al. 2024, arXiv 2402.18668",
    .formula = "w_ij = 1 + s + s²/2, s = q_i·k_j/√d; O_i = Σ_j w_ij v_j / Σ_j w_ij; φ(x) = [1, "
               "x/d^¼, x xᵀ/(√2 √d)]",
    .caveats =
        "Against e^s a weight is 8 % too small at s = 1 and 36 % too large at s = −1; before they "
        "are divided weights never fall below ½. Rotary positions are not applied.",
    .mistakes = "Based: adds 10⁻¹² to the denominator. In f16 that is 0, elsewhere it is absorbed; "
                "nothing is needed, because every weight is at least ½.",
    .cost = "O(n·d²·V) time, O(d²·V) memory a head",
    .state = "r(V + 1) + 1, r = 1 + d + d(d + 1)/2, constant in t",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_LINEAR_TIME | OA_HAS_WEIGHTS |
           OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .head_width = taylor_head_width,
    .forward = taylor_forward,
    .flops = taylor_flops,
    .state_numbers = taylor_state_numbers,
    .weights = taylor_weights,
    .trial = "width=4",
};
