/* SPDX-License-Identifier: Apache-2.0
 * Mixture of logits. Tay et al., Synthesizer, ICML 2021, arXiv 2005.00743.
 *
 *     S = Σ_c α_c S⁽ᶜ⁾,      O = softmax(S) (X W_V)        one softmax, one W_V
 *
 *     alpha=softmax   α = softmax(θ), θ [H, C] initialised to 0
 *     alpha=sigmoid   S = (1 − σ(θ)) S⁽⁰⁾ + σ(θ) S⁽¹⁾, θ [1]
 *     alpha=sum       α = 1
 *     alpha=fixed     α = weights
 *
 * Components register their parameters under mix.0., mix.1., …; the logits engine adds their parts
 * of the logits tile by tile. Cost: all parts, and one softmax and product with V. */
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

static const struct oa_argument arguments[] = {
    { "alpha", OA_VALUE_CHOICE, NULL, "softmax|sigmoid|sum|fixed", 0, 0,
      "how components are weighted" },
    { "weights", OA_VALUE_REALS, NULL, NULL, 0, 0, "the weights of alpha=fixed, e.g. 0.3/0.7" },
    OA_NORMALISE_ARGUMENT,
    OA_GATE_ARGUMENT,
    OA_RELATIVE_ARGUMENTS,
    { "share", OA_VALUE_CHOICE, NULL, "none|layers", 0, 0,
      "layers: one relative.bias for all layers" },
    { .key = NULL }
};

static bool has_relative_component(const struct oa_atom *a)
{
    bool any = false;
    for (int c = 0; c < a->children; c++)
        any |= oa_atom_value(&a->child[c], "relative")->number > 0;
    return any;
}

static bool mix_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    const struct oa_value *weights = oa_atom_value(a, "weights");
    bool fixed = oa_atom_is(a, "alpha", "fixed");
    if (a->children < 2)
        snprintf(sentence, size,
                 "a mixture has at least two components, as in mix(random, softmax) or random + "
                 "softmax.");
    else if (oa_atom_is(a, "alpha", "sigmoid") && a->children != 2)
        snprintf(sentence, size, "alpha=sigmoid weighs exactly two components; there are %d.",
                 a->children);
    else if (fixed && !weights->given)
        snprintf(sentence, size,
                 "alpha=fixed needs weights=…, one number for each of the %d components.",
                 a->children);
    else if (!fixed && weights->given)
        snprintf(sentence, size, "weights belong to alpha=fixed.");
    else if (fixed && weights->number != a->children)
        snprintf(sentence, size, "there are %.0f weights for %d components.", weights->number,
                 a->children);
    else if (has_relative_component(a))
        snprintf(sentence, size,
                 "relative positions belong to the mixture as a whole: write mix(…, "
                 "relative=alibi) or another, once.");
    else if (oa_head_component_clash(a, sentence, size))
        return true;
    else if (oa_atom_is(a, "share", "layers") && !oa_atom_is(a, "relative", "t5"))
        snprintf(sentence, size, "share=layers is for relative=t5, one bias for all layers.");
    else
        return false;
    return true;
}

static enum oa_error mix_parameters(struct oa_group *g)
{
    struct oa_parameter theta = { .trainable = true };
    if (oa_atom_is(g->atom, "alpha", "softmax")) {
        theta.dims = 2;
        theta.dim[0] = g->shape.heads;
        theta.dim[1] = g->components;
    } else if (oa_atom_is(g->atom, "alpha", "sigmoid")) {
        theta.dims = 1;
        theta.dim[0] = 1;
    } else {
        return OA_OK;
    }
    g->parameter[0] = oa_group_parameter(g, "mix.theta", &theta);
    return oa_status(g->context);
}

static struct oa_mixture mixture_of(const struct oa_group *g)
{
    struct oa_mixture m = { .theta = g->parameter[0] };
    if (oa_atom_is(g->atom, "alpha", "softmax"))
        m.kind = OA_MIX_SOFTMAX;
    else if (oa_atom_is(g->atom, "alpha", "sigmoid"))
        m.kind = OA_MIX_SIGMOID;
    else if (oa_atom_is(g->atom, "alpha", "fixed"))
        m.kind = OA_MIX_FIXED;
    oa_atom_reals(g->atom, "weights", m.weight, OA_MAX_PARTS);
    return m;
}

static void mix_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                        oa_tensor *v, oa_tensor *o)
{
    struct oa_part_tensors parts[OA_MAX_PARTS];
    struct oa_mixture mixture = mixture_of(g);
    struct oa_logits_rule rule = oa_group_rule(t, g, in);
    rule.last = true;
    struct oa_attention_shape shape = oa_group_shape(g, in);
    for (int c = 0; c < g->components; c++)
        g->component[c].mechanism->part(t, &g->component[c], in, &parts[c]);
    oa_logits_op(t, &shape, NULL, g->components, parts, &mixture, &rule, v, in->dropout, o);
}

/* Each component counts its own softmax and product with V; they happen once. */
static double mix_flops(const struct oa_group *g, long queries, long keys)
{
    double pairs = oa_visible_pairs(g, queries, keys), sum = 0;
    for (int c = 0; c < g->components; c++)
        sum += g->component[c].mechanism->flops(&g->component[c], queries, keys);
    sum += oa_group_relative(g).kind != OA_RELATIVE_NONE ? pairs : 0;
    return sum + pairs * (2 * g->components -
                          (g->components - 1) * (2 * (double)g->shape.value_width + 5));
}

/* Values are cached once. */
static double mix_state_numbers(const struct oa_group *g, long t)
{
    double values = oa_value_state(g, t), sum = values;
    for (int c = 0; c < g->components; c++)
        sum += g->component[c].mechanism->state_numbers(&g->component[c], t) - values;
    return sum;
}

/* ---- oracle ---- */

static double alpha(const struct oa_group *g, const struct oa_mixture *m, long head, int c)
{
    double sum = 0;
    switch (m->kind) {
    case OA_MIX_SOFTMAX:
        for (int i = 0; i < g->components; i++)
            sum += exp(oa_parameter_at(g, m->theta, head * g->components + i) -
                       oa_parameter_at(g, m->theta, head * g->components + c));
        return 1 / sum;
    case OA_MIX_SIGMOID:
        return 1 / (1 + exp((c ? -1 : 1) * oa_parameter_at(g, m->theta, 0)));
    case OA_MIX_FIXED:
        return m->weight[c];
    default:
        return 1;
    }
}

static enum oa_error mix_scores(const struct oa_group *g, const struct oa_oracle *in, double *s)
{
    long each = in->queries * in->keys, all = g->shape.heads * each;
    struct oa_mixture m = mixture_of(g);
    double *one = oa_alloc(g->context, (size_t)all * sizeof *one);
    if (!one)
        return OA_NO_MEMORY;
    memset(s, 0, (size_t)all * sizeof *s);
    for (int c = 0; c < g->components; c++) {
        g->component[c].mechanism->scores(&g->component[c], in, one);
        for (long i = 0; i < all; i++)
            s[i] += alpha(g, &m, i / each, c) * one[i];
    }
    oa_free(one);
    return oa_status(g->context);
}

const struct oa_mechanism oa_mechanism_mix = {
    .name = "mix",
    .title = "Mixture of logits",
    .citation = "Tay et al. 2021 (ICML), arXiv 2005.00743",
    .formula = "S = Σ_c α_c S⁽ᶜ⁾;  O = softmax(S) (x W_V);  alpha=softmax: α = softmax(θ), θ "
               "trained, for each head and component, from 0;  alpha=sigmoid: α = [1 − σ(θ), "
               "σ(θ)], one trained θ, from 0;  alpha=sum: α = 1;  alpha=fixed: α = weights",
    .caveats = "All components are computed, whatever their weights.",
    .mistakes =
        "Many write-ups: α weights separate softmaxes. In the paper and its code it weights "
        "the logits of one softmax.\n"
        "Common: masked logits are −∞ and α may be 0; 0·(−∞) is NaN. Here masked pairs are "
        "never formed.",
    .cost = "the sum of the components' logits, one softmax",
    .state = "that of the components; the values once",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_WEIGHTS | OA_DROPS | OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .clash = mix_clash,
    .parameters = mix_parameters,
    .forward = mix_forward,
    .flops = mix_flops,
    .state_numbers = mix_state_numbers,
    .scores = mix_scores,
    .weights = oa_softmax_weights,
    .plain = "random + softmax",
};
