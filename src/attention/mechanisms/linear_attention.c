/* SPDX-License-Identifier: Apache-2.0
 * Linear attention. Katharopoulos et al., Transformers are RNNs, 2020, arXiv 2006.16236.
 *
 *     O_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / (φ(q_i)ᵀ Σ_j φ(k_j)),   q = x W_Q, k = x W_K, not scaled
 *
 *     map=elu    φ(x) = x + 1 for x > 0, else eˣ      denominator + 10⁻⁶
 *     map=relu   φ(x) = max(x, 0)                     denominator + 10⁻⁶
 *     map=cos    φ(x) = cos x                         sign(den)·max(|den|, 10⁻⁶)
 *     map=power  φ(x) = [x, x², …, x^degree]          sign(den)·max(|den|, 10⁻⁶)
 *
 * The sums over keys are a state of r(V + 1) numbers (r = K, or K·degree), so time and memory are
 * linear in the length. Cost: per head (T + S)·r·(2V + 2) and the features. */
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

#define EPSILON 1e-6

static const struct oa_argument arguments[] = {
    { "map", OA_VALUE_CHOICE, NULL, "elu|relu|cos|power", 0, 0, "the feature map φ" },
    { "degree", OA_VALUE_INT, "2", NULL, 1, 16, "highest power of map=power" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_QUERY_HEAD_ARGUMENTS,
    { .key = NULL }
};

static bool linear_attention_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    if (oa_atom_is(a, "map", "power") || !oa_atom_value(a, "degree")->given)
        return false;
    snprintf(sentence, size, "degree belongs to map=power.");
    return true;
}

static enum oa_feature linear_attention_map_of(const struct oa_group *g)
{
    return (enum oa_feature)oa_atom_value(g->atom, "map")->number;
}

static int linear_attention_degree_of(const struct oa_group *g)
{
    return linear_attention_map_of(g) == OA_FEATURE_POWER ? (int)oa_atom_int(g->atom, "degree", 2)
                                                          : 1;
}

static bool positive(const struct oa_group *g)
{
    return linear_attention_map_of(g) == OA_FEATURE_ELU ||
           linear_attention_map_of(g) == OA_FEATURE_RELU;
}

static void linear_attention_forward(oa_tape *t, const struct oa_group *g,
                                     const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    enum oa_denominator policy = positive(g) ? OA_DENOMINATOR_ADD : OA_DENOMINATOR_SIGN;
    oa_tensor *q, *k;
    oa_project(t, g, in, &q, &k);
    q = oa_feature(t, q, linear_attention_map_of(g), linear_attention_degree_of(g), g->shape.heads);
    k = oa_feature(t, k, linear_attention_map_of(g), linear_attention_degree_of(g), g->key_heads);
    oa_linear_attention_op(t, &shape, q, k, v, policy, EPSILON, o);
}

static double linear_attention_flops(const struct oa_group *g, long queries, long keys)
{
    double features = (double)(g->shape.head_width * linear_attention_degree_of(g)),
           rows = (double)(g->shape.heads * (queries + keys));
    return rows * features * (2 * (double)g->shape.value_width + 2 + 1);
}

static double linear_attention_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    return oa_sums_state(g, (double)(g->shape.head_width * linear_attention_degree_of(g)));
}

/* ---- oracle: A_ij = φ(q_i)·φ(k_j) / den_i ---- */

static double linear_attention_feature(enum oa_feature map, double x, int power)
{
    switch (map) {
    case OA_FEATURE_ELU:
        return x > 0 ? x + 1 : exp(x);
    case OA_FEATURE_RELU:
        return x > 0 ? x : 0;
    case OA_FEATURE_COS:
        return cos(x);
    default:
        return pow(x, power);
    }
}

static double linear_attention_kernel(const struct oa_group *g, const double *q, const double *k,
                                      long i, long j)
{
    double sum = 0;
    (void)i, (void)j;
    for (long c = 0; c < g->shape.head_width; c++) {
        for (int p = 1; p <= linear_attention_degree_of(g); p++)
            sum += linear_attention_feature(linear_attention_map_of(g), q[c], p) *
                   linear_attention_feature(linear_attention_map_of(g), k[c], p);
    }
    return sum;
}

static double linear_attention_guard_denominator(const struct oa_group *g, double den)
{
    if (positive(g))
        return den + EPSILON;
    return copysign(fmax(fabs(den), EPSILON), den < 0 ? -1 : 1);
}

static enum oa_error linear_attention_weights(const struct oa_group *g, const struct oa_oracle *in,
                                              double *w)
{
    return oa_kernel_weights(g, in, linear_attention_kernel, NULL,
                             linear_attention_guard_denominator, w);
}

static unsigned linear_attention_can_with(const struct oa_atom *a)
{
    bool signs = oa_atom_is(a, "map", "cos") || oa_atom_is(a, "map", "power");
    return a->mechanism->can & ~(signs ? OA_POSITIVE : 0u);
}

const struct oa_mechanism oa_mechanism_linear = {
    .name = "linear",
    .title = "Linear attention",
    .citation = "Katharopoulos et al. 2020, arXiv 2006.16236",
    .formula = "O_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / (φ(q_i)ᵀ Σ_j φ(k_j)), q = x W_Q, k = x W_K, not "
               "scaled;  map=elu: φ(x) = x + 1 for x > 0, else eˣ; relu: φ(x) = max(x, 0); both "
               "add 10⁻⁶ to the denominator;  map=cos: φ(x) = cos x; power: φ(x) = [x, x² … "
               "x^degree]; a denominator nearer to 0 than ±10⁻⁶ is that",
    .caveats = "map=cos and map=power have features of both signs: the weights can be negative and "
               "the denominator can come near 0.",
    .mistakes = "Long Range Arena: padding is ignored or mishandled.\n"
                "Common: the state is added up in half precision. A bf16 sum stops growing at 256 "
                "times an increment, an f16 sum at 2048 times, and nothing says so.",
    .cost = "O(n·r·V) time, O(r·V) memory a head, r = K (map=power: K·degree)",
    .state = "r(V + 1) + 1, constant in t",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_LINEAR_TIME | OA_HAS_WEIGHTS |
           OA_POSITIVE | OA_AVERAGES,
    .can_with = linear_attention_can_with,
    .arguments = arguments,
    .clash = linear_attention_clash,
    .forward = linear_attention_forward,
    .flops = linear_attention_flops,
    .state_numbers = linear_attention_state_numbers,
    .weights = linear_attention_weights,
};
