/* SPDX-License-Identifier: Apache-2.0
 * Factorized Dense Synthesizer. Tay et al., Synthesizer: rethinking self-attention for Transformer
 * models, ICML 2021, arXiv 2005.00743.
 *
 *     S_ij = A_i[j mod a] · B_i[⌊j/a⌋],  A_i = in_i W_A,  B_i = in_i W_B,  a·b = N
 *     O = softmax(S) (X W_V)
 *
 * A_i is tiled and B_i repeated, so that each of the N positions has a distinct pair of elements:
 * a row of logits is the Kronecker product B_i ⊗ A_i. (Tiling both would repeat with the period
 * lcm(a, b).) in_i is all of x_i, or its D/H channels at the head's number; only the query's token
 * enters. A sequence shorter than N uses the leading columns.
 *
 * Shapes: W_A (dense.a.weight) [H, a, in], W_B (dense.b.weight) [H, b, in].
 * Cost: per head 2·T·in·(a + b) + T·S·(2 + 2V + 5). */
#include "attention/common/synthesizer.h"

enum { SIDE_A, SIDE_B };

static const struct oa_argument arguments[] = {
    { "a", OA_VALUE_INT, NULL, NULL, 1, 1 << 20,
      "length of the tiled factor; default: the largest divisor of N ≤ √N" },
    { "b", OA_VALUE_INT, NULL, NULL, 1, 1 << 20, "length of the repeated factor; default: N/a" },
    OA_SYNTHESIZER_INPUT_ARGUMENT,
    OA_LOGITS_HEAD_ARGUMENTS,
    { .key = NULL }
};

/* ---- a·b = N ---- */

static long largest_divisor(long n)
{
    long best = 1;
    for (long a = 2; a * a <= n; a++)
        best = n % a == 0 ? a : best;
    return best;
}

static long factor_a(const struct oa_group *g)
{
    long N = oa_group_length(g), b = oa_atom_int(g->atom, "b", 0);
    return oa_atom_int(g->atom, "a", b ? (b < N ? N / b : 1) : largest_divisor(N));
}

static long factor_b(const struct oa_group *g)
{
    return oa_atom_int(g->atom, "b", oa_group_length(g) / factor_a(g));
}

static enum oa_error factorized_dense_check(oa_context *c, const struct oa_group *g)
{
    long N = oa_group_length(g), a = factor_a(g), b = factor_b(g);
    if (a * b != N)
        return oa_fail(c, OA_SHAPE,
                       "factorized-dense: a = %ld times b = %ld is %ld, but must be the longest "
                       "length N = %ld; use divisors of N, or remove a and b",
                       a, b, a * b, N);
    return oa_synthesizer_check(c, g);
}

/* ---- parameters ---- */

static enum oa_error factorized_dense_parameters(struct oa_group *g)
{
    g->parameter[SIDE_A] = oa_synthesizer_weight(g, "dense.a.weight", factor_a(g));
    g->parameter[SIDE_B] = oa_synthesizer_weight(g, "dense.b.weight", factor_b(g));
    return oa_status(g->context);
}

static long factorized_dense_length(const struct oa_atom *a, oa_stored_axis *axis,
                                    const void *argument)
{
    (void)a;
    return axis(argument, "dense.a.weight", -2) * axis(argument, "dense.b.weight", -2);
}

/* ---- forward ---- */

static void factorized_dense_part(oa_tape *t, const struct oa_group *g,
                                  const struct oa_layer_input *in, struct oa_part_tensors *out)
{
    *out =
        (struct oa_part_tensors){ .kind = OA_PART_FOLD,
                                  .scale = 1,
                                  .width = factor_a(g),
                                  .q = oa_synthesizer_map(t, g, in->x, g->parameter[SIDE_A], NULL),
                                  .k =
                                      oa_synthesizer_map(t, g, in->x, g->parameter[SIDE_B], NULL) };
}

static double factorized_dense_flops(const struct oa_group *g, long queries, long keys)
{
    double layers = 2 * (double)(g->shape.heads * queries * oa_synthesizer_input_width(g)) *
                    (double)(factor_a(g) + factor_b(g));
    return layers + oa_visible_pairs(g, queries, keys) * (2 + 2 * (double)g->shape.value_width + 5);
}

/* ---- oracle ---- */

static enum oa_error factorized_dense_scores(const struct oa_group *g, const struct oa_oracle *in,
                                             double *s)
{
    long a = factor_a(g);
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++) {
            const double *x = in->x + i * g->shape.width;
            for (long j = 0; j < in->keys; j++)
                *s++ = oa_synthesizer_value(g, g->parameter[SIDE_A], NULL, x, h, j % a) *
                       oa_synthesizer_value(g, g->parameter[SIDE_B], NULL, x, h, j / a);
        }
    }
    return OA_OK;
}

/* N determines which pair of numbers a position has. */
static bool factorized_dense_length_counts(const struct oa_group *g)
{
    (void)g;
    return true;
}

const struct oa_mechanism oa_mechanism_factorized_dense = {
    .name = "factorized-dense",
    .title = "Factorized Dense Synthesizer",
    .citation = "Tay et al. 2021 (ICML), arXiv 2005.00743",
    .formula = "S_ij = A_i[j mod a]·B_i[⌊j/a⌋], A_i = in_i W_A, B_i = in_i W_B, a·b = N;  in_i a "
               "slice of x_i (in = D/H) or all of it (in = D);  O = softmax(S) (x W_V)",
    .caveats = "The logits of a query never see the keys, only their positions. Cross-attention is "
               "experimental.",
    .mistakes = "A popular PyTorch port: tiles both factors instead of tiling one and repeating "
                "the other. S then repeats with the period lcm(a, b), which is less than N "
                "whenever a and b have a common divisor above 1.",
    .reads_input = true,
    .cost = "O(n·in·(a + b) + n²V) time, O(n) memory, (a + b)·in parameters a head",
    .state = "values: tV",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_CAN_MIX | OA_BOUND_LENGTH | OA_ORDER | OA_HAS_WEIGHTS |
           OA_DROPS | OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .check = factorized_dense_check,
    .parameters = factorized_dense_parameters,
    .length = factorized_dense_length,
    .forward = oa_part_forward,
    .part = factorized_dense_part,
    .flops = factorized_dense_flops,
    .state_numbers = oa_value_state,
    .scores = factorized_dense_scores,
    .weights = oa_softmax_weights,
    .numbers = "a=1|b=1", /* divisors of every length */
    .length_counts = factorized_dense_length_counts,
};
