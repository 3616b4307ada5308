/* SPDX-License-Identifier: Apache-2.0
 * Shared by light and dynamic convolution (Wu et al. 2019, arXiv 1901.10430):
 *
 *     u = x W_inᵀ,  or with glu  [a | b] = x W_inᵀ,  u = a σ(b)
 *     O_i = Σ_k w_ik u_{i+k−P},  w_i = softmax of the taps' logits
 *
 * P = width − 1 (causal) or ⌊width/2⌋. All channels of a head share its taps; heads are contiguous
 * channels. Taps on padding and outside of the sequence have u = 0, and with `renormalise` are
 * excluded from the softmax.
 *
 * Shapes: W_in (conv.input.weight) [H·V, D], with glu [2H·V, D], the second half the gate;
 * u [B·T, H·V]. */
#include "attention/common/convolution.h"

#include <math.h>

unsigned oa_convolution_can_with(const struct oa_atom *a)
{
    bool averages = oa_atom_flag(a, "renormalise") || oa_atom_int(a, "width", 7) == 1;
    return a->mechanism->can | (averages ? OA_AVERAGES : 0u);
}

long oa_convolution_width(const struct oa_group *g)
{
    return oa_atom_int(g->atom, "width", 7);
}

bool oa_convolution_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                               size_t size)
{
    long width = oa_atom_int(a, "width", 7);
    (void)cross;
    if (causal || width % 2)
        return false;
    snprintf(sentence, size,
             "%s(width=%ld): the width must be odd in a layer that is not causal; use %ld or %ld",
             a->mechanism->name, width, width - 1, width + 1);
    return true;
}

void oa_convolution_input_parameter(struct oa_group *g)
{
    long out = g->shape.heads * g->shape.value_width * (oa_atom_flag(g->atom, "glu") ? 2 : 1);
    g->parameter[OA_CONVOLUTION_INPUT] =
        oa_group_matrix(g, "conv.input.weight", out, g->shape.width);
}

oa_tensor *oa_convolution_input(oa_tape *t, const struct oa_group *g,
                                const struct oa_layer_input *in)
{
    oa_tensor *u = oa_linear(t, in->x, g->parameter[OA_CONVOLUTION_INPUT], NULL);
    return oa_atom_flag(g->atom, "glu") ? oa_gate(t, u) : u;
}

static long taps_before(const struct oa_group *g)
{
    long width = oa_convolution_width(g);
    return g->shape.causal ? width - 1 : width / 2;
}

struct oa_band oa_convolution_band(const struct oa_group *g, const struct oa_layer_input *in)
{
    return (struct oa_band){ .shape = oa_group_shape(g, in),
                             .taps = oa_convolution_width(g),
                             .before = taps_before(g),
                             .renormalise = oa_atom_flag(g->atom, "renormalise") };
}

double oa_convolution_flops(const struct oa_group *g, long queries)
{
    double out = (double)(g->shape.heads * g->shape.value_width),
           gate = oa_atom_flag(g->atom, "glu") ? 2 : 1;
    return 2 * (double)queries * out *
           (gate * (double)g->shape.width + (double)oa_convolution_width(g));
}

double oa_convolution_state(const struct oa_group *g, long t)
{
    const struct oa_horizon h = { .span = oa_convolution_width(g) };
    return (double)(g->shape.heads * g->shape.value_width * oa_cache_live_rows(&h, t));
}

/* ---- oracle ---- */

static double convolution_product(const struct oa_group *g, const double *x, long out)
{
    double sum = 0;
    for (long c = 0; c < g->shape.width; c++)
        sum +=
            x[c] * oa_parameter_at(g, g->parameter[OA_CONVOLUTION_INPUT], out * g->shape.width + c);
    return sum;
}

double oa_convolution_value(const struct oa_group *g, const double *x, long i, long column)
{
    (void)i;
    double u = convolution_product(g, x, column);
    if (oa_atom_flag(g->atom, "glu"))
        u /= 1 + exp(-convolution_product(g, x, g->shape.heads * g->shape.value_width + column));
    return u;
}

/* Row i of the map; the logits are overwritten. */
static void convolution_row(const struct oa_group *g, const struct oa_oracle *in, long head, long i,
                            double *logits, double *map)
{
    bool renormalise = oa_atom_flag(g->atom, "renormalise");
    long first = i - taps_before(g), width = oa_convolution_width(g);
    double top = -INFINITY, sum = 0;
    for (long j = 0; j < in->keys; j++)
        map[j] = 0;
    for (long k = 0; k < width; k++)
        top = fmax(top, logits[k]);
    for (long k = 0; k < width; k++) {
        bool seen = first + k >= 0 && oa_oracle_visible(g, in, head, i, first + k);
        logits[k] = exp(logits[k] - top);
        sum += seen || !renormalise ? logits[k] : 0;
        if (seen)
            map[first + k] = logits[k];
    }
    for (long j = 0; j < in->keys && sum > 0; j++)
        map[j] /= sum;
}

enum oa_error oa_convolution_weights(const struct oa_group *g, const struct oa_oracle *in,
                                     oa_convolution_logit *logit, double *w)
{
    long width = oa_convolution_width(g);
    double *logits = oa_alloc(g->context, (size_t)width * sizeof *logits);
    if (!logits)
        return OA_NO_MEMORY;
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++, w += in->keys) {
            for (long k = 0; k < width; k++)
                logits[k] = logit(g, in, h, i, k);
            convolution_row(g, in, h, i, logits, w);
        }
    }
    oa_free(logits);
    return OA_OK;
}
