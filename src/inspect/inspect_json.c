/* SPDX-License-Identifier: Apache-2.0
 * The inspection as JSON, and as a table of text. */
#include "inspect/inspect.h"

#include "base/json_read.h"
#include "base/json_write.h"

#include <math.h>

/* ---- JSON ---- */

static json_t *token_names_json(oa_context *c, const struct oa_token_names *t)
{
    json_t *list = json_array();
    for (long i = 0; i < t->count; i++)
        oa_json_append(c, list, json_string(t->name[i]));
    return list;
}

/* Rounded to 1e-4: the facts are computed from the exact map. */
static json_t *map_rows_json(const struct oa_layer_view *v, long head)
{
    json_t *rows = json_array();
    const double *w = v->map + head * v->in.queries * v->in.keys;
    for (long i = 0; i < v->in.queries; i++) {
        json_t *row = json_array();
        for (long j = 0; j < v->in.keys; j++, w++)
            oa_json_append(v->layer->context, row, oa_json_number(round(*w * 1e4) / 1e4));
        oa_json_append(v->layer->context, rows, row);
    }
    return rows;
}

static json_t *text_value(struct oa_text *text)
{
    json_t *value = json_string(text->s ? text->s : "");
    oa_text_free(text);
    return value;
}

static json_t *head_json(const struct oa_layer_view *v, long h)
{
    const struct oa_group *g = oa_view_group(v, h);
    const struct oa_head_facts *f = &v->head[h];
    bool shown = g->mechanism->weights != NULL;
    struct oa_text own;
    oa_pause(v->layer->context);
    if (oa_status(v->layer->context) != OA_OK)
        return NULL;
    oa_text_init(&own, v->layer->context);
    oa_atom_print(g->atom, &own);
    json_t *o = json_pack("{s:I, s:o}", "head", (json_int_t)h, "attention", text_value(&own));
    if (shown) {
        oa_json_set(v->layer->context, o, "entropy", oa_json_number(f->entropy));
        oa_json_set(v->layer->context, o, "entropy_share", oa_json_number(f->entropy_share));
        oa_json_set(v->layer->context, o, "distance", oa_json_number(f->distance));
        oa_json_set(v->layer->context, o, "nearest", json_string(f->nearest));
        oa_json_set(v->layer->context, o, "covered", oa_json_number(f->covered));
        oa_json_set(v->layer->context, o, "replaceable", json_boolean(oa_head_replaceable(v, h)));
    }
    oa_json_set(v->layer->context, o, "map", shown ? map_rows_json(v, h) : json_null());
    return o;
}

static json_t *layer_json(const struct oa_layer_view *v)
{
    struct oa_text attention, suggestion;
    json_t *heads = json_array();
    oa_text_init(&attention, v->layer->context);
    oa_text_init(&suggestion, v->layer->context);
    oa_view_attention(v, &attention);
    oa_view_suggestion(v, &suggestion);
    for (long h = 0; h < v->layer->shape.heads; h++)
        oa_json_append(v->layer->context, heads, head_json(v, h));
    return json_pack("{s:s, s:i, s:s, s:b, s:o, s:o, s:o, s:o}", "stack", v->stack->shape.role,
                     "layer", v->number, "kind", v->layer->shape.cross ? "cross" : "self", "causal",
                     v->layer->shape.causal, "attention", text_value(&attention), "suggestion",
                     text_value(&suggestion), "deviation", oa_json_number(v->deviation), "heads",
                     heads);
}

json_t *oa_inspection_layers_json(const struct oa_inspection *what)
{
    json_t *layers = json_array();
    for (int i = 0; i < what->layers; i++)
        oa_json_append(what->context, layers, layer_json(&what->layer[i]));
    return layers;
}

void oa_inspection_json(const struct oa_inspected *s, struct oa_text *out)
{
    struct oa_text suggestion;
    oa_text_init(&suggestion, out->context);
    bool any = oa_inspection_suggestion(s->what, &suggestion);
    json_t *root = json_pack("{s:s, s:o, s:s}", "schema", "orthant.inspect/1", "run",
                             oa_json_string(s->run), "model_attention", s->attention);
    if (s->checkpoint >= 0)
        oa_json_set(out->context, root, "checkpoint", json_integer(s->checkpoint));
    oa_json_set(out->context, root, "tokens", token_names_json(out->context, s->queries));
    if (s->source)
        oa_json_set(out->context, root, "source_tokens", token_names_json(out->context, s->source));
    oa_json_set(out->context, root, "suggestion", any ? json_string(suggestion.s) : json_null());
    oa_json_set(out->context, root, "layers", oa_inspection_layers_json(s->what));
    oa_json_text(root, out);
    json_decref(root);
    oa_text_free(&suggestion);
}

/* ---- a table ---- */

static void add_head_row(const struct oa_layer_view *v, long h, struct oa_table *t)
{
    const struct oa_head_facts *f = &v->head[h];
    char number[OA_NUMBER];
    struct oa_text text;
    oa_text_init(&text, t->context);
    oa_view_title(v, &text);
    oa_table_cell(t, "%s", text.s ? text.s : "");
    oa_table_cell(t, "%ld", h);
    oa_text_cut(&text, 0);
    oa_atom_print(oa_view_group(v, h)->atom, &text);
    oa_table_cell(t, "%s", text.s ? text.s : "");
    oa_table_cell(t, "%s", oa_number_fixed(number, f->entropy, 3));
    oa_table_cell(t, "%s", oa_number_fixed(number, 100 * f->entropy_share, 1));
    oa_table_cell(t, "%s", oa_number_fixed(number, f->distance, 2));
    oa_table_cell(t, "%s%s", oa_fixed_name(f->nearest), oa_head_replaceable(v, h) ? " *" : "");
    oa_table_cell(t, "%s", oa_number_fixed(number, 100 * f->covered, 1));
    oa_text_free(&text);
}

/* Lists the layers with heads that have no map. */
static void add_mapless(const struct oa_inspection *what, struct oa_text *out)
{
    for (int i = 0; i < what->layers; i++) {
        const struct oa_group *g = oa_layer_without_map(what->layer[i].layer);
        if (!g)
            continue;
        oa_view_title(&what->layer[i], out);
        oa_text_printf(out, ": %s has no attention map to show\n", g->mechanism->name);
    }
}

void oa_inspection_table(const struct oa_inspected *s, int width, struct oa_text *out)
{
    static const struct oa_column columns[] = { { "layer", false, false },
                                                { "head", true, false },
                                                { "attention", false, true },
                                                { "entropy\nnats", true, false },
                                                { "entropy\n% of max", true, false },
                                                { "distance\ntokens", true, false },
                                                { "nearest fixed attention", false, false },
                                                { "covers\n% of mass", true, false } };
    struct oa_table t;
    struct oa_text suggestion;
    bool any = false;
    oa_table_init(&t, out->context, columns, 8);
    oa_text_init(&suggestion, out->context);
    for (int l = 0; l < s->what->layers; l++)
        for (long h = 0; h < s->what->layer[l].layer->shape.heads; h++)
            if (oa_view_group(&s->what->layer[l], h)->mechanism->weights) {
                add_head_row(&s->what->layer[l], h, &t);
                any = true;
            }
    if (any) {
        oa_table_text(&t, width, out);
        oa_text_printf(out,
                       "uniform: the average of all visible tokens, " OA_UNIFORM_ATTENTION "\n");
    }
    add_mapless(s->what, out);
    if (oa_inspection_suggestion(s->what, &suggestion))
        oa_text_printf(out,
                       "\n* A fixed attention covers %.0f %% or more of these heads. With them "
                       "replaced, to be tried with orthant compare:\n  \"%s\"\n",
                       100 * OA_REPLACEABLE, suggestion.s);
    oa_text_free(&suggestion);
    oa_table_free(&t);
}
