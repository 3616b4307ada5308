/* SPDX-License-Identifier: Apache-2.0
 * Claims of the mechanisms' tables, checked both ways: a claimed property must hold, and a property
 * that holds must be claimed. A mode that is not claimed is opened with a copy of the table that
 * claims it.
 *
 *     causal      no output depends on a later token
 *     order       swapping tokens changes outputs, with the default or some value of some option
 *                 except relative positions, which make every map depend on order
 *     mixture     the mechanism is a part of the logits, over all keys
 *     queries     it has the projection options
 *     bound       parameters grow with N, or the support ends
 *     linear      FLOPs without the projections grow at most 9 times from n = 8,192 to 8·8,192
 *     weights     it has an oracle of its map
 *     own values  it has the option `value`, or a value projection has no effect
 *     dropout     outputs in training depend on model.attention_dropout
 *     positive    no weight of the map is below 0
 *     averages    rows of the map sum to 1, or to 0
 *     cross       not measurable: the mechanism has it, or its table has the reason
 */
#include "attention/language/language.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* ---- maps ---- */

struct map_summary {
    double least_weight;
    double sum_error;   /* the largest distance of a row sum from the nearer of 0 and 1 */
    double largest_sum; /* of a row */
};

/* Larger than the 10⁻⁶ that some mechanisms add to a denominator. */
static const double sum_tolerance = 1e-3;

static struct map_summary measure_oracle_map(const double *w, long rows, long keys)
{
    struct map_summary m = { 0 };
    for (long r = 0; r < rows; r++) {
        double sum = 0;
        for (long j = 0; j < keys; j++) {
            sum += w[r * keys + j];
            m.least_weight = fmin(m.least_weight, w[r * keys + j]);
        }
        m.largest_sum = fmax(m.largest_sum, fabs(sum));
        m.sum_error = fmax(m.sum_error, fmin(fabs(sum), fabs(sum - 1)));
    }
    return m;
}

/* OA_POSITIVE and OA_AVERAGES if they hold for a group of the case; 0 if it has no map. If all rows
 * sum to 0 (a Gaussian far in the future of a causal layer), AVERAGES is as claimed; also where
 * relu follows conv, because z·σ(z) is mostly below 0 and sums are then as small as the 10⁻⁶ added
 * to them. */
static unsigned map_properties(struct oa_attention_case *a, const struct oa_group *g)
{
    unsigned holds = OA_POSITIVE | OA_AVERAGES, claims = oa_atom_capabilities(g->atom);
    double heaviest = 0, *w = oa_case_array(a, g->shape.heads * a->T * a->S);
    if (!g->mechanism->weights)
        return 0;
    for (long b = 0; w && b < a->B; b++) {
        struct oa_oracle in = oa_case_oracle(a, b);
        if (g->mechanism->weights(g, &in, w) != OA_OK)
            return 0;
        struct map_summary m = measure_oracle_map(w, g->shape.heads * a->T, a->S);
        heaviest = fmax(heaviest, m.largest_sum);
        holds &= ~((m.least_weight < 0 ? OA_POSITIVE : 0u) |
                   (m.sum_error > sum_tolerance ? OA_AVERAGES : 0u));
    }
    bool dark = oa_atom_is(g->atom, "map", "relu") && g->query_conv;
    return heaviest > sum_tolerance && !dark
               ? holds
               : (holds & ~(unsigned)OA_AVERAGES) | (claims & OA_AVERAGES);
}

/* ---- dropout ---- */

/* Outputs that a dropout of 0.9 changes; NaN after an error. */
static double count_dropout_changes(struct oa_proof *p, struct oa_attention_case *a)
{
    long count = a->B * a->T * a->D;
    double *without = oa_case_array(a, count), different = 0;
    a->no_gradients = true;
    if (!without || !oa_proof_run(p, a))
        return NAN;
    memcpy(without, a->y, (size_t)count * sizeof *without);
    a->setup.dropout = 0.9;
    bool done = oa_proof_run(p, a);
    a->setup.dropout = 0;
    for (long i = 0; i < count; i++)
        different += without[i] != a->y[i];
    return done ? different : NAN;
}

/* ---- one attention ---- */

/* Long enough that most rows of a pattern have the key at its offset. */
static const struct oa_setup claims_setup = { .precision = OA_PRECISION_F64,
                                              .queries = 9,
                                              .length = 9 };

/* Do parameters grow with N, or does the support end? Depends on options, so it is checked for
 * every attention. */
static bool is_bound_to_n(struct oa_proof *p, const struct oa_attention_case *a)
{
    struct oa_layer_shape shape = a->single.layer.shape;
    struct oa_single_layer longer;
    bool ends = false;
    shape.length *= 2;
    shape.memory_length *= 2;
    if (oa_single_layer_dry(p->context, a->setup.spec, &shape, &longer) == OA_OK)
        ends = longer.store.trainable + longer.store.frozen !=
               a->single.store.trainable + a->single.store.frozen;
    oa_single_layer_close(&longer);
    for (int i = 0; i < a->single.layer.groups; i++)
        ends |= a->single.layer.group[i].support.end > 0;
    return ends;
}

void oa_attention_matches_claims(struct oa_proof *p, struct oa_attention_case *a)
{
    bool drops = false, bound = false, ends = is_bound_to_n(p, a);
    for (int i = 0; i < a->single.layer.groups; i++) {
        const struct oa_group *g = &a->single.layer.group[i];
        unsigned claims = oa_atom_capabilities(g->atom), map = OA_POSITIVE | OA_AVERAGES;
        drops |= (claims & OA_DROPS) != 0;
        bound |= (claims & OA_BOUND_LENGTH) != 0;
        oa_proof_measure(
            p, a, (claims & map) != map_properties(a, g), 0,
            "map of group %d differs from its claims positive and averages (0: agrees)", i);
    }
    oa_proof_measure(p, a, bound != ends, 0, "bound to N: %s, %s (0: agrees)",
                     bound ? "claimed" : "not claimed", ends ? "holds" : "does not hold");
    double different = count_dropout_changes(p, a);
    oa_proof_measure(p, a, (different > 0) == drops ? 0 : 1, 0,
                     "attention dropout changes %.0f outputs, claimed to change %s (0: agrees)",
                     different, drops ? "some" : "none");
}

static void verify_claims_of_attention(struct oa_proof *p, const char *spec)
{
    oa_proof_check_modes(p, spec, &claims_setup, OA_MODE_BOTH, OA_MODE_CAUSAL,
                         oa_attention_matches_claims);
}

/* ---- one mechanism ---- */

/* The mechanism in the registry, and its text with defaults. */
struct claims_subject {
    struct oa_proof *p;
    const struct oa_mechanism *m;
    const char *text;
};

static bool has_option(const struct oa_mechanism *m, const char *key)
{
    const struct oa_argument *a = m->arguments;
    while (a->key && strcmp(a->key, key) != 0)
        a++;
    return a->key != NULL;
}

static unsigned measure_causal(const struct claims_subject *s)
{
    struct oa_mechanism claiming = *s->m;
    struct oa_setup setup = claims_setup;
    struct oa_attention_case a;
    double leaks = 1, meets = 1;
    claiming.can |= OA_CAN_CAUSAL;
    setup.substitute = &claiming;
    if (oa_proof_open(s->p, s->text, OA_MODE_CAUSAL, &setup, &a)) {
        if (!oa_count_changed_outputs(s->p, &a, &leaks, &meets))
            leaks = 1;
        oa_case_close(&a);
    }
    return leaks == 0 ? OA_CAN_CAUSAL : 0u;
}

static unsigned measure_map_and_dropout(const struct claims_subject *s)
{
    struct oa_attention_case a;
    unsigned holds = 0;
    if (oa_proof_open(s->p, s->text, OA_MODE_BOTH, &claims_setup, &a)) {
        holds = map_properties(&a, &a.single.layer.group[0]) |
                (count_dropout_changes(s->p, &a) > 0 ? OA_DROPS : 0u);
        oa_case_close(&a);
    }
    return holds;
}

static bool order_matters_for(const struct claims_subject *s, const char *text)
{
    struct oa_setup setup = {
        .spec = text, .precision = OA_PRECISION_F64, .queries = 24, .length = 24
    };
    struct oa_attention_case a;
    bool shows =
        oa_case_open(s->p->context, &setup, &a) == OA_OK && oa_order_difference(s->p, &a) > 1e-8;
    if (oa_status(s->p->context) != OA_NO_MEMORY)
        oa_clear_error(s->p->context); /* the option alone is invalid */
    oa_case_close(&a);
    return shows;
}

static bool order_matters_with(const struct claims_subject *s, const char *key, const char *value)
{
    char text[OA_PROOF_TEXT];
    snprintf(text, sizeof text, "%s(%s%s%s)", s->m->name, key, key[0] ? "=" : "", value);
    return order_matters_for(s, text);
}

/* With defaults, and with small values of options, since default windows cover a short sequence. */
static unsigned measure_order(const struct claims_subject *s)
{
    char word[64];
    bool shows = order_matters_for(s, s->text);
    for (const struct oa_argument *a = s->m->arguments; a->key && !shows; a++) {
        if (strcmp(a->key, "relative") == 0)
            continue;
        shows = a->kind == OA_VALUE_INT && order_matters_with(s, a->key, "2");
        for (int i = 1;
             a->kind == OA_VALUE_CHOICE && !shows && oa_choice_at(a->choices, i, word, sizeof word);
             i++)
            shows = order_matters_with(s, a->key, word);
    }
    return shows ? OA_ORDER : 0u;
}

enum { SHORT = 128, LONG = 8192 };

static struct oa_layer_shape flops_shape(long length)
{
    return (struct oa_layer_shape){
        64, 4, 16, 16, .length = length, .memory_length = length, .causal = false
    };
}

static double flops_at(const struct claims_subject *s, long n)
{
    struct oa_layer_shape shape = flops_shape(n);
    struct oa_single_layer l;
    double flops = NAN;
    if (oa_single_layer_dry(s->p->context, s->text, &shape, &l) == OA_OK)
        flops = s->m->flops(&l.layer.group[0], n, n);
    oa_single_layer_close(&l);
    return flops;
}

static unsigned measure_tables(const struct claims_subject *s)
{
    struct oa_layer_shape less = flops_shape(SHORT), more = flops_shape(2 * SHORT);
    struct oa_single_layer a, b;
    unsigned holds = 0;
    if (oa_single_layer_dry(s->p->context, s->text, &less, &a) == OA_OK &&
        oa_single_layer_dry(s->p->context, s->text, &more, &b) == OA_OK) {
        const struct oa_support *support = &a.layer.group[0].support;
        bool grows = a.store.total != b.store.total;
        holds = grows || support->end ? OA_BOUND_LENGTH : 0u;
        holds |= s->m->part && s->m->scores && support->form == OA_SUPPORT_ALL ? OA_CAN_MIX : 0u;
        oa_single_layer_close(&b);
    }
    oa_single_layer_close(&a);
    return holds;
}

/* Has a value projection no effect? */
static bool ignores_values(const struct claims_subject *s)
{
    struct oa_mechanism given = *s->m;
    struct oa_setup setup = claims_setup;
    struct oa_attention_case a;
    bool ignores = true;
    given.can &= ~(unsigned)OA_OWN_VALUES;
    setup.substitute = &given;
    if (!oa_proof_open(s->p, s->text, OA_MODE_BOTH, &setup, &a))
        return false;
    const struct oa_parameter *v = oa_store_find(&a.single.store, "value.weight");
    if (v && oa_proof_run(s->p, &a)) {
        for (long i = 0; i < v->count; i++)
            ignores &= oa_real_read(a.single.device, v->gradient, i) == 0;
    }
    oa_case_close(&a);
    return ignores;
}

static unsigned measure_properties(const struct claims_subject *s)
{
    unsigned holds = measure_causal(s) | measure_map_and_dropout(s) | measure_order(s) |
                     measure_tables(s) | (s->m->weights ? OA_HAS_WEIGHTS : 0u);
    holds |= flops_at(s, 8L * LONG) < 9 * flops_at(s, LONG) ? OA_LINEAR_TIME : 0u;
    holds |= has_option(s->m, "qk") ? OA_HAS_QUERIES : 0u;
    holds |= has_option(s->m, "value") || ignores_values(s) ? OA_OWN_VALUES : 0u;
    return holds | (s->m->self_only ? 0u : OA_CAN_CROSS);
}

/* The claims of a copy of the table with default options; order with any, as it is measured. */
static unsigned default_claims(const struct claims_subject *s, const struct oa_mechanism *m)
{
    struct oa_spec spec;
    unsigned claims = 0;
    if (oa_spec_parse(s->p->context, s->text, &spec) == OA_OK) {
        spec.layer[0].group[0].atom.mechanism = m;
        claims = oa_atom_capabilities(&spec.layer[0].group[0].atom) | (m->can & OA_ORDER);
    }
    oa_spec_free(&spec);
    return claims;
}

void oa_check_mechanism_claims(struct oa_proof *p, const struct oa_mechanism *m)
{
    const struct oa_mechanism *registered = oa_mechanism_find(m->name);
    struct claims_subject s = { p, registered, oa_proof_default_spec(registered) };
    unsigned claims = default_claims(&s, m), holds = measure_properties(&s);
    for (int i = 0; i < OA_CAPABILITIES; i++) {
        unsigned flag = oa_capabilities[i].flag;
        oa_proof_measure_mechanism(
            p, m->name, ((claims ^ holds) & flag) != 0, 0, "%s: %s, %s", oa_capabilities[i].name,
            claims & flag ? "claimed" : "not claimed", holds & flag ? "holds" : "does not hold");
    }
}

static void verify_claims_of_mechanisms(struct oa_proof *p)
{
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)) && !oa_proof_stopped(p); i++) {
        if (oa_proof_includes(p, m->name))
            oa_check_mechanism_claims(p, m);
    }
}

const struct oa_subject oa_subject_claims = { "claims", 1, verify_claims_of_attention,
                                              verify_claims_of_mechanisms };
