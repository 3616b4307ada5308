/* SPDX-License-Identifier: Apache-2.0
 * Sketched polynomial attention of degree 4. Kacham, Mirrokni, Zhong, PolySketchFormer, 2023, arXiv
 * 2310.01655.
 *
 *     x̂ = layer norm of a head's row (ε = 10⁻⁵, no parameters)
 *     r(x) = s^{−½} (x̂ S_1)∘(x̂ S_2),   φ(x) = vec(r rᵀ)
 *     w_ij = φ(q_i)·φ(k_j) = (r(q_i)·r(k_j))² ≥ 0,   O_i = Σ_j w_ij v_j / Σ_j w_ij
 *
 * S_1, S_2 [K, s] are frozen Gaussian matrices, the same for all heads: E r(q)·r(k) = (q̂·k̂)² over
 * their draws. Of the symmetric r rᵀ one triangle is used, off the diagonal times √2: s(s + 1)/2
 * features. A row whose denominator is exactly 0 is 0.
 *
 * Parameters: features.sketch [2, K, s], frozen. Cost: per head (T + S)(4Ks + s(s + 1)/2·(2V + 2)).
 */
#include "attention/mechanism.h"

#include <math.h>

#define EPSILON 1e-5

static const struct oa_argument arguments[] = { { "sketch", OA_VALUE_INT, "32", NULL, 1, 256,
                                                  "s: width of the sketch" },
                                                OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
                                                OA_QUERY_HEAD_ARGUMENTS,
                                                { .key = NULL } };

static enum oa_error polysketch_parameters(struct oa_group *g)
{
    struct oa_parameter p = { .dims = 3,
                              .dim = { 2, g->shape.head_width, oa_atom_int(g->atom, "sketch", 32) },
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 };
    g->parameter[0] = oa_group_parameter(g, "features.sketch", &p);
    return oa_status(g->context);
}

static long polysketch_width(const struct oa_group *g)
{
    return g->parameter[0]->dim[2];
}

/* r(x) */
static oa_tensor *polysketch_sketches(oa_tape *t, const struct oa_group *g, oa_tensor *x, long H)
{
    oa_tensor *row = oa_head_norm(t, x, H, OA_HEAD_NORM_LAYER, EPSILON, NULL);
    oa_tensor *one = oa_sketch(t, row, H, g->parameter[0], 0),
              *two = oa_sketch(t, row, H, g->parameter[0], 1);
    return oa_product(t, one, two, 1 / sqrt((double)polysketch_width(g)));
}

static void polysketch_forward(oa_tape *t, const struct oa_group *g,
                               const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    static const double square[3] = { 0, 0, 1 };
    struct oa_attention_shape shape = oa_group_shape(g, in);
    oa_tensor *q, *k;
    oa_project(t, g, in, &q, &k);
    q = polysketch_sketches(t, g, q, g->shape.heads);
    k = polysketch_sketches(t, g, k, g->key_heads);
    oa_squared_attention_op(t, &shape, q, k, v, square, OA_DENOMINATOR_NONE, 0, o);
}

static double polysketch_flops(const struct oa_group *g, long queries, long keys)
{
    double s = (double)polysketch_width(g), K = (double)g->shape.head_width,
           V = (double)g->shape.value_width;
    return (double)(g->shape.heads * (queries + keys)) *
           (4 * K * s + 8 * K + s * (s + 1) / 2 * (2 * V + 2 + 1));
}

static double polysketch_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    double s = (double)polysketch_width(g);
    return oa_sums_state(g, s * (s + 1) / 2);
}

/* ---- oracle ---- */

/* Element c of the row after layer norm. */
static double polysketch_normed(const struct oa_group *g, const double *x, long c)
{
    double K = (double)g->shape.head_width, mean = 0, square = 0;
    for (long i = 0; i < g->shape.head_width; i++)
        mean += x[i] / K;
    for (long i = 0; i < g->shape.head_width; i++)
        square += (x[i] - mean) * (x[i] - mean) / K;
    return (x[c] - mean) / sqrt(square + EPSILON);
}

/* Element l of r(x). */
static double polysketch_element(const struct oa_group *g, const double *x, long l)
{
    long s = polysketch_width(g), K = g->shape.head_width;
    double one = 0, two = 0;
    for (long c = 0; c < K; c++) {
        one += polysketch_normed(g, x, c) * oa_parameter_at(g, g->parameter[0], c * s + l);
        two += polysketch_normed(g, x, c) * oa_parameter_at(g, g->parameter[0], (K + c) * s + l);
    }
    return one * two / sqrt((double)s);
}

static double polysketch_kernel(const struct oa_group *g, const double *q, const double *k, long i,
                                long j)
{
    double sum = 0;
    (void)i, (void)j;
    for (long l = 0; l < polysketch_width(g); l++)
        sum += polysketch_element(g, q, l) * polysketch_element(g, k, l);
    return sum * sum;
}

static enum oa_error polysketch_weights(const struct oa_group *g, const struct oa_oracle *in,
                                        double *w)
{
    return oa_kernel_weights(g, in, polysketch_kernel, NULL, NULL, w);
}

static double polysketch_size(const struct oa_group *g, const double *q, const double *k, long i,
                              long j)
{
    double size = 0;
    (void)i, (void)j;
    for (long l = 0; l < polysketch_width(g); l++)
        size += fabs(polysketch_element(g, q, l) * polysketch_element(g, k, l));
    return size * size;
}

static enum oa_error polysketch_sizes(const struct oa_group *g, const struct oa_oracle *in,
                                      double *sizes)
{
    return oa_kernel_sizes(g, in, polysketch_kernel, polysketch_size, NULL, sizes);
}

const struct oa_mechanism oa_mechanism_polysketch = {
    .name = "polysketch",
    .title = "Sketched polynomial attention (PolySketchFormer)",
    .citation = "Kacham et al. 2023, arXiv 2310.01655",
    .formula = "r(x) = s^{−½} (x̂ S_1)∘(x̂ S_2), x̂ the layer norm of x; w_ij = (r(q_i)·r(k_j))²; O_i "
               "= Σ_j w_ij v_j / Σ_j w_ij",
    .caveats = "r(q)·r(k) estimates (q̂·k̂)² of normalised queries and keys without bias, with a "
               "variance that falls as 1/s; its square, the weight, is on average larger than "
               "(q̂·k̂)⁴ by that variance. Not scaled by 1/√K.",
    .mistakes = "The authors' code: divides both sketches by √s, so that the mean of r(q)·r(k) is "
                "(q·k)²/s. Normalised it cancels; mixed with exact blocks it is wrong.\n"
                "The authors' code: the Hadamard sketch samples columns with replacement.",
    .cost = "O(n·s²·V) time, O(s²·V) memory a head",
    .state = "r(V + 1) + 1, r = s(s + 1)/2, constant in t",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_LINEAR_TIME | OA_HAS_WEIGHTS |
           OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .parameters = polysketch_parameters,
    .forward = polysketch_forward,
    .flops = polysketch_flops,
    .state_numbers = polysketch_state_numbers,
    .weights = polysketch_weights,
    .sizes = polysketch_sizes,
    .rounding = 8, /* a sketch is rounded and then raised to the fourth power */
};
