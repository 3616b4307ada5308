/* SPDX-License-Identifier: Apache-2.0
 * Polynomial attention, exact. Kacham, Mirrokni, Zhong, PolySketchFormer, 2023, arXiv 2310.01655.
 *
 *     w_ij = (τ q_i·k_j)^p, p even, τ = 1/√K;   O_i = Σ_j w_ij v_j / (Σ_j w_ij + bias)
 *
 * Even powers are ≥ 0; a row whose denominator is exactly 0 is 0. Two equivalent forms:
 *
 *     pairs      device/cpu/cpu_polynomial.c: 2(K + V) FLOPs per pair and head
 *     features   p = 2 only: (q·k)² = φ(q)·φ(k) with the r = K(K + 1)/2 products of elements of a
 *                row, those off the diagonal times √2, on the linear attention engine: 4r(V + 1)
 * per row and head, and 64(r + V) inside the chunks of the causal form
 *
 * The cheaper one is used. Decoding uses the one with the smaller cache for the longest sequence:
 * N(K + V) keys and values, or r(V + 1) sums. Neither form needs n×n memory. */
#include "attention/mechanism.h"

#include <math.h>

static const struct oa_argument arguments[] = {
    { "degree", OA_VALUE_INT, "2", NULL, 2, 16, "power of the scaled product, even" },
    { "bias", OA_VALUE_REAL, "0", NULL, 0, 1e6, "added to the denominator" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_QUERY_HEAD_ARGUMENTS,
    { .key = NULL }
};

static bool polynomial_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    long degree = oa_atom_int(a, "degree", 2);
    if (degree % 2 == 0)
        return false;
    snprintf(sentence, size,
             "degree=%ld must be even, since odd powers give negative weights; use %ld or %ld.",
             degree, degree - 1, degree + 1);
    return true;
}

static int polynomial_degree_of(const struct oa_group *g)
{
    return (int)oa_atom_int(g->atom, "degree", 2);
}

static double polynomial_scale_of(const struct oa_group *g)
{
    return 1 / sqrt((double)g->shape.head_width);
}

/* r, of degree 2. */
static double polynomial_features_of(const struct oa_group *g)
{
    double K = (double)g->shape.head_width;
    return K * (K + 1) / 2;
}

/* FLOPs of the forward pass of all heads, pair by pair and by features. */
static double polynomial_pair_flops(const struct oa_group *g, long queries, long keys)
{
    return oa_visible_pairs(g, queries, keys) *
           (2 * (double)(g->shape.head_width + g->shape.value_width) + 2);
}

static double polynomial_feature_flops(const struct oa_group *g, long queries, long keys)
{
    double V = (double)g->shape.value_width, r = polynomial_features_of(g);
    double rows = (double)g->shape.heads * (double)(queries + keys) / 2;
    return rows * (4 * r * (V + 1) + 2 * r + (g->shape.causal ? 64 * (r + V) : 0));
}

static bool polynomial_by_features(const struct oa_group *g, long queries, long keys)
{
    return polynomial_degree_of(g) == 2 &&
           polynomial_feature_flops(g, queries, keys) < polynomial_pair_flops(g, queries, keys);
}

/* Decoding: by the longest length, so that all tokens use the same form. */
static bool polynomial_keeps_sums(const struct oa_group *g)
{
    double pairs = oa_dot_state(g, oa_group_length(g));
    return polynomial_degree_of(g) == 2 && oa_sums_state(g, polynomial_features_of(g)) < pairs;
}

static void polynomial_forward(oa_tape *t, const struct oa_group *g,
                               const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    oa_tensor *q, *k;
    const double c[3] = { 0, 0, polynomial_scale_of(g) }, bias = oa_atom_real(g->atom, "bias", 0);
    oa_project(t, g, in, &q, &k);
    if (t->state ? polynomial_keeps_sums(g) : polynomial_by_features(g, shape.queries, shape.keys))
        oa_squared_attention_op(t, &shape, q, k, v, c, OA_DENOMINATOR_ADD, bias, o);
    else
        oa_polynomial_op(t, &shape, q, k, v, polynomial_degree_of(g), polynomial_scale_of(g), bias,
                         o);
}

static double polynomial_flops(const struct oa_group *g, long queries, long keys)
{
    return polynomial_by_features(g, queries, keys) ? polynomial_feature_flops(g, queries, keys)
                                                    : polynomial_pair_flops(g, queries, keys);
}

static double polynomial_state_numbers(const struct oa_group *g, long t)
{
    return polynomial_keeps_sums(g) ? oa_sums_state(g, polynomial_features_of(g))
                                    : oa_dot_state(g, t);
}

static double polynomial_kernel(const struct oa_group *g, const double *q, const double *k, long i,
                                long j)
{
    double sum = 0;
    (void)i, (void)j;
    for (long c = 0; c < g->shape.head_width; c++)
        sum += q[c] * k[c];
    return pow(sum * polynomial_scale_of(g), polynomial_degree_of(g));
}

static double polynomial_add_bias(const struct oa_group *g, double den)
{
    return den + oa_atom_real(g->atom, "bias", 0);
}

static enum oa_error polynomial_weights(const struct oa_group *g, const struct oa_oracle *in,
                                        double *w)
{
    return oa_kernel_weights(g, in, polynomial_kernel, NULL, polynomial_add_bias, w);
}

/* Degree 2 may run as sums of products of two columns; other degrees are powers of one sum. */
static double polynomial_size(const struct oa_group *g, const double *q, const double *k, long i,
                              long j)
{
    double sum = 0, size = 0, degree = polynomial_degree_of(g);
    (void)i, (void)j;
    for (long c = 0; c < g->shape.head_width; c++) {
        sum += q[c] * k[c] * polynomial_scale_of(g);
        size += fabs(q[c] * k[c]) * polynomial_scale_of(g);
    }
    return degree > 2 ? degree * pow(fabs(sum), degree - 1) * size : size * size;
}

static enum oa_error polynomial_sizes(const struct oa_group *g, const struct oa_oracle *in,
                                      double *sizes)
{
    return oa_kernel_sizes(g, in, polynomial_kernel, polynomial_size, polynomial_add_bias, sizes);
}

/* A bias shares the denominator with the weights; only degree 2 has a form by features. */
static unsigned polynomial_can_with(const struct oa_atom *a)
{
    unsigned without = (oa_atom_real(a, "bias", 0) > 0 ? OA_AVERAGES : 0u);
    return a->mechanism->can & ~(without | (oa_atom_int(a, "degree", 2) > 2 ? OA_LINEAR_TIME : 0u));
}

const struct oa_mechanism oa_mechanism_polynomial = {
    .name = "polynomial",
    .title = "Polynomial attention",
    .citation = "Kacham et al. 2023, arXiv 2310.01655",
    .formula = "w_ij = (τ q_i·k_j)^p, p even, τ = 1/√K; O_i = Σ_j w_ij v_j / (Σ_j w_ij + bias)",
    .caveats =
        "Keys that point the opposite way weigh as much as those that point the same way. "
        "The output does not depend on the length of the query unless there is a bias. The sums of "
        "degree 2 lose digits where a query is nearly orthogonal to every visible key: then "
        "decoding and whole sequences differ by more than usual.",
    .mistakes = "PolySketchFormer's code: adds 1 to the denominator, which is another function "
                "than the paper's; bias=1 gives it.",
    .cost = "O(n²(K + V)) time, degree 2 at most O(n·K²·V); O(n) memory",
    .state = "t(K + V); with degree 2 r(V + 1) + 1, r = K(K + 1)/2, constant in t, where that is "
             "less at t = N",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_LINEAR_TIME | OA_HAS_WEIGHTS |
           OA_POSITIVE | OA_AVERAGES,
    .can_with = polynomial_can_with,
    .arguments = arguments,
    .clash = polynomial_clash,
    .forward = polynomial_forward,
    .flops = polynomial_flops,
    .state_numbers = polynomial_state_numbers,
    .weights = polynomial_weights,
    .sizes = polynomial_sizes,
};
