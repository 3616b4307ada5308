/* SPDX-License-Identifier: Apache-2.0
 * Hard-coded Gaussian heads. You, Sun, Iyyer, Hard-coded Gaussian attention for neural machine
 * translation, ACL 2020, arXiv 2005.00742.
 *
 *     w_ij = exp(−(j − i − o)²/2σ²) / (σ√(2π)),      O_i = Σ_j w_ij (x_j W_V)
 *
 * summed over existing keys: near the ends, and in a causal layer, the weights sum to less than 1,
 * unless they are divided by their sum (`renormalise`). Only W_V is trained. In cross-attention
 * query i attends around position i + o of the memory.
 *
 * Cost: O(n·σ·V): weights too small to change a sum in double are omitted (cpu_band.c). */
#include "attention/mechanism.h"

#include <math.h>

static const struct oa_argument arguments[] = {
    { "offset", OA_VALUE_REAL, "0", NULL, -1e6, 1e6,
      "position of the centre relative to the query" },
    { "sigma", OA_VALUE_REAL, "1", NULL, 1e-3, 1e6, "standard deviation, in tokens" },
    { "renormalise", OA_VALUE_FLAG, "0", NULL, 0, 0, "weights of a row sum to 1, at the ends too" },
    OA_GATE_ARGUMENT,
    { .key = NULL }
};

static struct oa_band band_of(const struct oa_group *g)
{
    return (struct oa_band){ .offset = oa_atom_real(g->atom, "offset", 0),
                             .sigma = oa_atom_real(g->atom, "sigma", 1),
                             .renormalise = oa_atom_flag(g->atom, "renormalise") };
}

static void gaussian_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                             oa_tensor *v, oa_tensor *o)
{
    struct oa_band band = band_of(g);
    band.shape = oa_group_shape(g, in);
    oa_band_op(t, &band, NULL, NULL, v, o);
}

static double gaussian_flops(const struct oa_group *g, long queries, long keys)
{
    struct oa_band band = band_of(g);
    band.shape.keys = keys;
    return 2 * (double)(g->shape.heads * queries * g->shape.value_width) *
           (double)oa_band_taps(&band);
}

static double gaussian_state_numbers(const struct oa_group *g, long t)
{
    struct oa_band band = band_of(g);
    const struct oa_horizon h = { .span = oa_band_span(&band) };
    return (double)(g->shape.heads * g->shape.value_width *
                    (g->shape.cross ? t : oa_cache_live_rows(&h, t)));
}

/* ---- oracle ---- */

static double logit(const struct oa_band *b, long i, long j)
{
    double distance = (double)(j - i) - b->offset;
    return -distance * distance / (2 * b->sigma * b->sigma);
}

static void gaussian_weigh_row(const struct oa_group *g, const struct oa_oracle *in, long head,
                               long i, double *w)
{
    struct oa_band b = band_of(g);
    double top = -INFINITY, sum = 0;
    for (long j = 0; j < in->keys; j++) {
        if (oa_oracle_visible(g, in, head, i, j))
            top = fmax(top, logit(&b, i, j));
    }
    for (long j = 0; j < in->keys; j++) {
        w[j] = oa_oracle_visible(g, in, head, i, j)
                   ? exp(logit(&b, i, j) - (b.renormalise ? top : 0))
                   : 0;
        sum += w[j];
    }
    for (long j = 0; j < in->keys && sum > 0; j++)
        w[j] /= b.renormalise ? sum : b.sigma * sqrt(2 * acos(-1));
}

static enum oa_error gaussian_weights(const struct oa_group *g, const struct oa_oracle *in,
                                      double *w)
{
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++)
            gaussian_weigh_row(g, in, h, i, w + (h * in->queries + i) * in->keys);
    }
    return OA_OK;
}

static unsigned gaussian_can_with(const struct oa_atom *a)
{
    return a->mechanism->can | (oa_atom_flag(a, "renormalise") ? OA_AVERAGES : 0u);
}

const struct oa_mechanism oa_mechanism_gaussian = {
    .name = "gaussian",
    .title = "Hard-coded Gaussian",
    .citation = "You, Sun, Iyyer 2020 (ACL), arXiv 2005.00742",
    .formula = "w_ij = exp(−(j − i − offset)²/2σ²) / (σ√(2π));  O_i = Σ_j w_ij (x_j W_V)",
    .caveats =
        "The map does not depend on the text. Rows near the ends sum to less than 1 (the first row "
        "of a causal layer to 0.40 with offset=0 and sigma=1) unless renormalised.",
    .cost = "O(nσV) time, O(n) memory",
    .state = "the values of the last 9.2σ + max(0, −offset) tokens",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_ORDER | OA_LINEAR_TIME | OA_HAS_WEIGHTS | OA_POSITIVE,
    .can_with = gaussian_can_with,
    .arguments = arguments,
    .forward = gaussian_forward,
    .flops = gaussian_flops,
    .state_numbers = gaussian_state_numbers,
    .weights = gaussian_weights,
};
