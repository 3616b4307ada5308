/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention language, printed in canonical form: options in the order of their table, defaults
 * dropped, one way of spacing. Parsing what was printed gives the same thing back.
 */
#include "attention/language/language.h"

#include <string.h>

/* A default that is a constant is dropped; where it depends on the model, what was given is
 * printed. */
static bool is_printed(const struct oa_argument *a, const struct oa_value *v)
{
    double fallback = 0;
    switch (a->kind) {
    case OA_VALUE_FLAG:
    case OA_VALUE_CHOICE:
        return v->number > 0;
    case OA_VALUE_INT:
    case OA_VALUE_REAL:
        return v->given &&
               !(a->fallback && oa_parse_real(a->fallback, &fallback) && fallback == v->number);
    default:
        return v->given;
    }
}

static void print_value(const struct oa_argument *a, const struct oa_value *v, struct oa_text *out)
{
    char word[64];
    if (a->kind != OA_VALUE_FLAG && a->key[0])
        oa_text_printf(out, "%s=", a->key);
    if (a->kind == OA_VALUE_FLAG)
        oa_text_printf(out, "%s", a->key);
    else if (a->kind == OA_VALUE_INT)
        oa_text_printf(out, "%.0f", v->number);
    else if (a->kind == OA_VALUE_REAL)
        oa_text_real(out, v->number);
    else if (a->kind == OA_VALUE_CHOICE &&
             oa_choice_word(a->choices, (int)v->number, word, sizeof word))
        oa_text_printf(out, "%s", word);
    else
        oa_text_printf(out, "%s", v->text);
}

static int printed_options(const struct oa_atom *a)
{
    int n = 0;
    for (int i = 0; a->mechanism->arguments[i].key; i++)
        n += is_printed(&a->mechanism->arguments[i], &a->value[i]);
    return n;
}

static void print_plain(const struct oa_atom *a, struct oa_text *out)
{
    const char *before = "(";
    oa_text_printf(out, "%s", a->mechanism->name);
    for (int i = 0; i < a->children; i++, before = ", ") {
        oa_text_printf(out, "%s", before);
        oa_atom_print(&a->child[i], out);
    }
    for (int i = 0; a->mechanism->arguments[i].key; i++) {
        if (!is_printed(&a->mechanism->arguments[i], &a->value[i]))
            continue;
        oa_text_printf(out, "%s", before);
        print_value(&a->mechanism->arguments[i], &a->value[i], out);
        before = ", ";
    }
    oa_text_printf(out, "%s", before[0] == ',' ? ")" : "");
}

void oa_atom_print(const struct oa_atom *a, struct oa_text *out)
{
    if (a->children == 0 || printed_options(a) > 0) {
        print_plain(a, out);
        return;
    }
    for (int i = 0; i < a->children; i++) {
        oa_text_printf(out, "%s", i ? " + " : "");
        print_plain(&a->child[i], out);
    }
}

static void print_layer(const struct oa_layer_spec *layer, struct oa_text *out)
{
    for (int g = 0; g < layer->groups; g++) {
        oa_text_printf(out, "%s", g ? " | " : "");
        oa_atom_print(&layer->group[g].atom, out);
        if (layer->group[g].heads > 0)
            oa_text_printf(out, ":%d", layer->group[g].heads);
    }
}

void oa_spec_print(const struct oa_spec *s, struct oa_text *out)
{
    for (int l = 0; l < s->layers; l++) {
        oa_text_printf(out, "%s", l ? " ; " : "");
        print_layer(&s->layer[l], out);
    }
}
