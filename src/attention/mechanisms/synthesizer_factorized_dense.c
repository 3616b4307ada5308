/* SPDX-License-Identifier: Apache-2.0
 * Factorized Dense Synthesizer. Tay et al., Synthesizer: rethinking self-attention for Transformer
 * models, ICML 2021, arXiv 2005.00743.
 *
 *     S_ij = A_i[j mod a] · B_i[⌊j/a⌋],  A_i = in_i W_A,  B_i = in_i W_B,  a·b = N,      O =
 * softmax(S) (X W_V)
 *
 * A_i is tiled and B_i repeated, so that each of the N positions has a distinct pair of elements:
 * a row of logits is the Kronecker product B_i ⊗ A_i. (Tiling both would repeat with the period
 * lcm(a, b).) in_i is all of x_i, or its D/H channels at the head's number; only the query's token
 * enters. A sequence shorter than N uses the leading columns.
 *
 * Shapes: W_A (dense.a.weight) [H, a, in], W_B (dense.b.weight) [H, b, in].
 * Cost: per head 2·T·in·(a + b) + T·S·(2 + 2V + 5). */
#include "attention/mechanism.h"

#include <math.h>

enum { SIDE_A, SIDE_B };

static const struct oa_argument arguments[] = {
    { "a", OA_VALUE_INT, NULL, NULL, 1, 1 << 20,
      "length of the tiled factor; default: the largest divisor of N ≤ √N" },
    { "b", OA_VALUE_INT, NULL, NULL, 1, 1 << 20, "length of the repeated factor; default: N/a" },
    { "input", OA_VALUE_CHOICE, NULL, "slice|full", 0, 0,
      "slice: the D/H channels at the head's number in the layer" },
    OA_LOGITS_HEAD_ARGUMENTS,
    { .key = NULL }
};

static bool factorized_dense_sliced(const struct oa_group *g)
{
    return oa_atom_is(g->atom, "input", "slice");
}

static long factorized_dense_input_width(const struct oa_group *g)
{
    return factorized_dense_sliced(g) ? g->shape.width / g->layer_heads : g->shape.width;
}

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
    if (factorized_dense_sliced(g) && g->shape.width % g->layer_heads)
        return oa_fail(
            c, OA_SHAPE,
            "factorized-dense gives each of the %d heads a slice of the model width, but %ld does "
            "not divide by %d; change one, or use factorized-dense(input=full)",
            g->layer_heads, g->shape.width, g->layer_heads);
    return OA_OK;
}

/* ---- parameters ---- */

static struct oa_parameter *add_side(struct oa_group *g, const char *name, long out)
{
    long in = factorized_dense_input_width(g);
    struct oa_parameter p = { .dims = 3,
                              .dim = { g->shape.heads, out, in },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = sqrt(6 / (double)(in + out)) }; /* Glorot */
    return oa_group_parameter(g, name, &p);
}

static enum oa_error factorized_dense_parameters(struct oa_group *g)
{
    g->parameter[SIDE_A] = add_side(g, "dense.a.weight", factor_a(g));
    g->parameter[SIDE_B] = add_side(g, "dense.b.weight", factor_b(g));
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
    long first = g->first_head * factorized_dense_input_width(g);
    *out = (struct oa_part_tensors){ .kind = OA_PART_FOLD,
                                     .scale = 1,
                                     .width = factor_a(g),
                                     .q = oa_head_linear(t, in->x, g->parameter[SIDE_A], NULL,
                                                         factorized_dense_sliced(g), first),
                                     .k = oa_head_linear(t, in->x, g->parameter[SIDE_B], NULL,
                                                         factorized_dense_sliced(g), first) };
}

static double factorized_dense_flops(const struct oa_group *g, long queries, long keys)
{
    double layers = 2 * (double)(g->shape.heads * queries * factorized_dense_input_width(g)) *
                    (double)(factor_a(g) + factor_b(g));
    return layers + oa_visible_pairs(g, queries, keys) * (2 + 2 * (double)g->shape.value_width + 5);
}

/* ---- oracle ---- */

/* Number `at` of A_i (side 0) or B_i (side 1) of a head. */
static double factorized_dense_side(const struct oa_group *g, const double *row, int which,
                                    long head, long at)
{
    long in = factorized_dense_input_width(g), out = which == SIDE_A ? factor_a(g) : factor_b(g);
    const double *x = row + (factorized_dense_sliced(g) ? (g->first_head + head) * in : 0);
    double sum = 0;
    for (long c = 0; c < in; c++)
        sum += x[c] * oa_parameter_at(g, g->parameter[which], (head * out + at) * in + c);
    return sum;
}

static enum oa_error factorized_dense_scores(const struct oa_group *g, const struct oa_oracle *in,
                                             double *s)
{
    long a = factor_a(g);
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++) {
            const double *row = in->x + i * g->shape.width;
            for (long j = 0; j < in->keys; j++)
                *s++ = factorized_dense_side(g, row, SIDE_A, h, j % a) *
                       factorized_dense_side(g, row, SIDE_B, h, j / a);
        }
    }
    return OA_OK;
}

/* Which pair of numbers a position has. */
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
