/* SPDX-License-Identifier: Apache-2.0
 * Canonical form of the attention language: options in table order, constant defaults omitted,
 * fixed spacing. Parsing it gives the same attention. */
#include "attention/language/language.h"

#include <string.h>

bool oa_value_is_printed(const struct oa_argument *a, const struct oa_value *v)
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

static void atom_print_value(const struct oa_argument *a, const struct oa_value *v,
                             struct oa_text *out)
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
             oa_choice_at(a->choices, (int)v->number, word, sizeof word))
        oa_text_printf(out, "%s", word);
    else
        oa_text_printf(out, "%s", v->text);
}

static void atom_print_plain(const struct oa_atom *a, struct oa_text *out)
{
    const char *before = "(";
    oa_text_printf(out, "%s", a->mechanism->name);
    for (int i = 0; i < a->children; i++, before = ", ") {
        oa_text_printf(out, "%s", before);
        oa_atom_print(&a->child[i], out);
    }
    for (int i = 0; a->mechanism->arguments[i].key; i++) {
        if (!oa_value_is_printed(&a->mechanism->arguments[i], &a->value[i]))
            continue;
        oa_text_printf(out, "%s", before);
        atom_print_value(&a->mechanism->arguments[i], &a->value[i], out);
        before = ", ";
    }
    oa_text_printf(out, "%s", before[0] == ',' ? ")" : "");
}

void oa_atom_print(const struct oa_atom *a, struct oa_text *out)
{
    bool plain = a->children == 0;
    for (int i = 0; a->mechanism->arguments[i].key; i++)
        plain = plain || oa_value_is_printed(&a->mechanism->arguments[i], &a->value[i]);
    if (plain) {
        atom_print_plain(a, out);
        return;
    }
    for (int i = 0; i < a->children; i++) {
        oa_text_printf(out, "%s", i ? " + " : "");
        atom_print_plain(&a->child[i], out);
    }
}

void oa_spec_print(const struct oa_spec *s, struct oa_text *out)
{
    for (int l = 0; l < s->layers; l++) {
        oa_text_printf(out, "%s", l ? " ; " : "");
        for (int g = 0; g < s->layer[l].groups; g++) {
            const struct oa_group_spec *group = &s->layer[l].group[g];
            oa_text_printf(out, "%s", g ? " | " : "");
            oa_atom_print(&group->atom, out);
            if (group->heads > 0)
                oa_text_printf(out, ":%d", group->heads);
        }
    }
}
