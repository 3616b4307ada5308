/* SPDX-License-Identifier: Apache-2.0
 *
 * Polynomial attention, exact. Kacham, Mirrokni, Zhong, PolySketchFormer, 2023, arXiv 2310.01655.
 *
 *     w_ij = (τ q_i·k_j)^p, p even, τ = 1/√K;   O_i = Σ_j w_ij v_j / (Σ_j w_ij + bias)
 *
 * Even powers are ≥ 0, so no exponential is needed; a row whose denominator is exactly 0 is 0. Evaluated pair by pair
 * on its own engine (device/cpu_polynomial.c): features of degree p would be K^p wide. Cost: 2(K + V) FLOPs a pair and
 * head, no n×n memory.
 */
#include "attention/attention.h"

#include <math.h>

static const struct oa_argument arguments[] = {
    { "degree", OA_VALUE_INT, "2", NULL, 2, 16, "power of the scaled product, even" },
    { "bias", OA_VALUE_REAL, "0", NULL, 0, 1e6, "added to the denominator" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    { .key = NULL }
};

static bool clash(const struct oa_atom *a, char *sentence, size_t size)
{
    long degree = oa_atom_int(a, "degree", 2);
    if (degree % 2 == 0)
        return false;
    snprintf(sentence, size, "degree=%ld gives weights of both signs; it must be even: %ld or %ld.", degree, degree - 1,
             degree + 1);
    return true;
}

static int degree_of(const struct oa_group *g)
{
    return (int)oa_atom_int(g->atom, "degree", 2);
}

static double scale_of(const struct oa_group *g)
{
    return 1 / sqrt((double)g->shape.head_width);
}

static void forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    oa_tensor *q, *k;
    oa_project(t, g, in, &q, &k);
    oa_polynomial_op(t, &shape, q, k, v, degree_of(g), scale_of(g), oa_atom_real(g->atom, "bias", 0), o);
}

static double flops(const struct oa_group *g, long queries, long keys)
{
    return oa_visible_pairs(g, queries, keys) * (2 * (double)(g->shape.head_width + g->shape.value_width) + 2);
}

static double kernel(const struct oa_group *g, const double *q, const double *k, long i, long j)
{
    double sum = 0;
    (void)i, (void)j;
    for (long c = 0; c < g->shape.head_width; c++)
        sum += q[c] * k[c];
    return pow(sum * scale_of(g), degree_of(g));
}

static double biased(const struct oa_group *g, double den)
{
    return den + oa_atom_real(g->atom, "bias", 0);
}

static enum oa_error weights(const struct oa_group *g, const struct oa_oracle *in, double *w)
{
    return oa_kernel_weights(g, in, kernel, NULL, biased, w);
}

const struct oa_mechanism oa_mechanism_polynomial = {
    .name = "polynomial",
    .title = "Polynomial attention",
    .citation = "Kacham et al. 2023, arXiv 2310.01655",
    .formula = "w_ij = (τ q_i·k_j)^p, p even, τ = 1/√K; O_i = Σ_j w_ij v_j / (Σ_j w_ij + bias)",
    .caveats = "Keys that point the opposite way weigh as much as those that point the same way. The output does not "
               "depend on the length of the query unless there is a bias. Attention dropout does not exist here and is "
               "ignored.",
    .mistakes = "PolySketchFormer's code: adds 1 to the denominator, which is another function than the paper's; "
                "bias=1 gives it.",
    .cost = "O(n²(K + V)) time, O(n) memory",
    .state = "t(K + V)",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_HAS_WEIGHTS,
    .arguments = arguments,
    .clash = clash,
    .forward = forward,
    .flops = flops,
    .weights = weights,
};
