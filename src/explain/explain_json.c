/* SPDX-License-Identifier: Apache-2.0
 * The explanation of an attention, and the list of mechanisms, as JSON. */
#include "base/json_write.h"
#include "explain/explain.h"

#include "print/print.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static enum oa_error write_explained_json(oa_context *c, json_t *root, struct oa_text *out)
{
    oa_json_text(root, out);
    json_decref(root);
    return oa_status(c);
}

/* ---- mechanisms ---- */

static json_t *mistake_array(oa_context *c, const char *text)
{
    json_t *array = json_array();
    for (const char *s = text ? text : ""; *s; s += s[0] == '\n') {
        size_t n = strcspn(s, "\n");
        oa_json_append(c, array, json_stringn(s, n));
        s += n;
    }
    return array;
}

static void add_mechanism_texts(oa_context *c, json_t *object, const struct oa_mechanism *m)
{
    oa_json_set(c, object, "name", json_string(m->name));
    oa_json_set(c, object, "title", json_string(m->title));
    oa_json_set(c, object, "formula", json_string(m->formula));
    oa_json_set(c, object, "cost", json_string(m->cost));
    oa_json_set(c, object, "decoding", json_string(m->state));
    oa_json_set(c, object, "caveats", m->caveats ? json_string(m->caveats) : json_null());
    oa_json_set(c, object, "mistakes", mistake_array(c, m->mistakes));
    oa_json_set(c, object, "citation", json_string(m->citation));
}

const struct oa_capability_name oa_capabilities[OA_CAPABILITIES] = {
    { OA_CAN_CAUSAL, "causal" },         { OA_CAN_CROSS, "cross" },
    { OA_CAN_MIX, "mixture" },           { OA_HAS_QUERIES, "queries" },
    { OA_BOUND_LENGTH, "bound_length" }, { OA_ORDER, "order" },
    { OA_LINEAR_TIME, "linear_time" },   { OA_HAS_WEIGHTS, "weights" },
    { OA_OWN_VALUES, "own_values" },     { OA_DROPS, "dropout" },
    { OA_POSITIVE, "positive" },         { OA_AVERAGES, "averages" }
};

static json_t *capability_object(oa_context *c, unsigned can)
{
    json_t *object = json_object();
    for (int i = 0; i < OA_CAPABILITIES; i++)
        oa_json_set(c, object, oa_capabilities[i].name,
                    json_boolean(can & oa_capabilities[i].flag));
    return object;
}

static json_t *option_object(oa_context *c, const struct oa_argument *a)
{
    static const char *const kinds[] = {
        [OA_VALUE_INT] = "integer",   [OA_VALUE_REAL] = "number", [OA_VALUE_FLAG] = "flag",
        [OA_VALUE_CHOICE] = "choice", [OA_VALUE_TEXT] = "text",   [OA_VALUE_REALS] = "numbers"
    };
    char word[64];
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "key", a->key, "kind", kinds[a->kind], "help", a->help);
    json_t *choices = a->choices ? json_array() : json_null();
    for (int i = 0; a->choices && oa_choice_at(a->choices, i, word, sizeof word); i++)
        oa_json_append(c, choices, json_string(word));
    json_t *fallback = a->choices    ? json_incref(json_array_get(choices, 0))
                       : a->fallback ? json_string(a->fallback)
                                     : json_null();
    oa_json_set(c, object, "choices", choices); /* frees them after a failure */
    oa_json_set(c, object, "default", fallback);
    return object;
}

enum oa_error oa_attention_list_json(oa_context *c, struct oa_text *out)
{
    const struct oa_mechanism *m;
    json_t *root = json_array();
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        json_t *object = json_object(), *arguments = json_array();
        add_mechanism_texts(c, object, m);
        for (const struct oa_argument *a = m->arguments; a->key; a++)
            oa_json_append(c, arguments, option_object(c, a));
        oa_json_set(c, object, "can", capability_object(c, m->can));
        oa_json_set(c, object, "options", arguments);
        oa_json_append(c, root, object);
    }
    return write_explained_json(c, root, out);
}

/* ---- an explanation ---- */

static json_t *atom_string(oa_context *c, const struct oa_atom *a)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_atom_print(a, &text);
    json_t *value = json_string(text.s ? text.s : "");
    oa_text_free(&text);
    return value;
}

static json_t *options_object(oa_context *c, const struct oa_atom *a)
{
    json_t *object = json_object();
    for (int i = 0; a->mechanism->arguments[i].key; i++) {
        const char *key = a->mechanism->arguments[i].key;
        struct oa_text text;
        bool is_default;
        oa_text_init(&text, c);
        if (oa_explanation_print_option(a, i, &text, &is_default) && text.s)
            oa_json_set(c, object, key[0] ? key : "kind",
                        json_pack("{s:s, s:b}", "value", text.s + strlen(key) + (key[0] != 0),
                                  "default", (int)is_default));
        oa_text_free(&text);
    }
    return object;
}

static void add_parameter_counts(json_t *object, const struct oa_explanation *s, const char *prefix)
{
    long trainable, frozen;
    oa_explanation_count_parameters(s, prefix, &trainable, &frozen);
    oa_json_set(s->context, object, "trainable", json_integer(trainable));
    oa_json_set(s->context, object, "frozen", json_integer(frozen));
}

static json_t *option_text_object(const struct oa_option_description *r)
{
    return r ? json_pack("{s:s, s:s, s:s, s:s}", "kind", r->name, "formula", r->formula, "cost",
                         r->cost, "citation", r->citation)
             : json_null();
}

static json_t *head_option_array(oa_context *c, const struct oa_atom *a)
{
    json_t *array = json_array();
    for (int i = 0; oa_head_text_at(i); i++) {
        if (oa_head_text_applies(a, i))
            oa_json_append(c, array, option_text_object(oa_head_text_at(i)));
    }
    return array;
}

static json_t *group_object(const struct oa_explanation *s, const struct oa_group *g)
{
    json_t *object = json_object();
    oa_json_set(s->context, object, "spec", atom_string(s->context, g->atom));
    if (!g->no_value)
        oa_json_set(s->context, object, "heads",
                    json_pack("[i, i]", g->first_head, (int)g->shape.heads));
    add_mechanism_texts(s->context, object, g->mechanism);
    oa_json_set(s->context, object, "relative", option_text_object(oa_relative_text(g->atom)));
    oa_json_set(s->context, object, "head_options", head_option_array(s->context, g->atom));
    oa_json_set(s->context, object, "options", options_object(s->context, g->atom));
    add_parameter_counts(object, s, g->prefix);
    if (g->components == 0)
        return object;
    json_t *components = json_array();
    for (int c = 0; c < g->components; c++)
        oa_json_append(s->context, components, group_object(s, &g->component[c]));
    oa_json_set(s->context, object, "components", components);
    return object;
}

static json_t *layer_object(struct oa_explanation *s)
{
    struct oa_explained_cost cost;
    json_t *object = json_object(), *modes = json_object(), *groups = json_array();
    oa_explanation_cost(s, &cost);
    add_parameter_counts(object, s, NULL);
    oa_json_set(s->context, object, "flops", json_real(cost.forward));
    oa_json_set(s->context, object, "training_flops", json_real(cost.training));
    oa_json_set(s->context, object, "computed_of_softmax", json_real(cost.computed / cost.softmax));
    oa_json_set(s->context, object, "training_memory", json_real(cost.memory));
    oa_json_set(s->context, object, "decoding",
                isfinite(cost.state) ? json_pack("{s:f, s:f}", "state_numbers", cost.state,
                                                 "state_numbers_half_way", cost.state_half)
                                     : json_null());
    for (int m = 0; m < OA_MODES; m++)
        oa_json_set(s->context, modes, oa_mode_name((enum oa_mode)m),
                    s->can[m] ? json_true() : json_pack("{s:s}", "refused", s->why_not[m]));
    oa_json_set(s->context, object, "modes", modes);
    for (int g = 0; g < s->single.layer.groups; g++)
        oa_json_append(s->context, groups, group_object(s, &s->single.layer.group[g]));
    oa_json_set(s->context, object, "groups", groups);
    return object;
}

/* "spec", "shape", … of one attention; NULL after a failure. */
static json_t *attention_object(struct oa_explanation *s)
{
    struct oa_text spec;
    json_t *root = json_object(), *layers = json_array();
    oa_text_init(&spec, s->context);
    oa_spec_print(&s->single.spec, &spec);
    oa_json_set(s->context, root, "spec", json_string(spec.s ? spec.s : ""));
    oa_text_free(&spec);
    oa_json_set(s->context, root, "shape",
                json_pack("{s:I, s:I, s:I, s:b}", "width", (json_int_t)s->shape.width, "heads",
                          (json_int_t)s->shape.heads, "length", (json_int_t)s->shape.length, "bias",
                          (int)s->shape.bias));
    oa_json_set(s->context, root, "heads_changed", json_boolean(s->more_heads));
    oa_json_set(s->context, root, "layers", layers);
    for (int l = 0; l < s->single.spec.layers; l++) {
        if (oa_explanation_open_layer(s, l) != OA_OK) {
            json_decref(root);
            return NULL;
        }
        oa_json_append(s->context, layers, layer_object(s));
    }
    return root;
}

/* The canonical form, and each named stack under its label. */
static json_t *stacks_object(oa_context *c, const struct oa_stack_specs *stacks,
                             const struct oa_options *o)
{
    struct oa_text spec;
    json_t *root = json_object(), *object = json_object();
    oa_text_init(&spec, c);
    oa_stacks_print(stacks, &spec);
    oa_json_set(c, root, "spec", json_string(spec.s ? spec.s : ""));
    oa_json_set(c, root, "stacks", object);
    oa_text_free(&spec);
    for (int role = 0; role < OA_STACK_ROLES && oa_status(c) == OA_OK; role++) {
        if (!(stacks->named & OA_STACK(role)))
            continue;
        struct oa_explanation s;
        if (oa_explanation_open_stack(stacks, (enum oa_stack_role)role, o, c, &s) == OA_OK)
            oa_json_set(c, object, oa_stack_name((enum oa_stack_role)role), attention_object(&s));
        oa_explanation_close(&s);
    }
    return root;
}

enum oa_error oa_attention_explain_json(oa_context *c, const char *text, const struct oa_options *o,
                                        struct oa_text *out)
{
    struct oa_stack_specs stacks;
    OA_TRY(oa_status(c));
    enum oa_error e = oa_explanation_parse_stacks(c, text, &stacks);
    json_t *root = NULL;
    if (e == OA_OK && stacks.named) {
        root = stacks_object(c, &stacks, o);
    } else if (e == OA_OK) {
        struct oa_explanation s;
        root = oa_explanation_open(c, text, o, &s) == OA_OK ? attention_object(&s) : NULL;
        oa_explanation_close(&s);
    }
    oa_stacks_free(&stacks);
    if (oa_status(c) == OA_OK && root)
        return write_explained_json(c, root, out);
    json_decref(root);
    return oa_status(c);
}
