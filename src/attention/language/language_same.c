/* SPDX-License-Identifier: Apache-2.0
 * Whether two parsed attentions compute the same function of the same parameters. */
#include "attention/language/language.h"

#include <string.h>

/* Whether the option only sets initial values of trained parameters: init, and sigma where it
 * qualifies init. Frozen parameters keep their initial values, which are part of the function. */
static bool is_initial(const struct oa_atom *a, const char *key)
{
    return !oa_atom_flag(a, "frozen") &&
           (strcmp(key, "init") == 0 ||
            (strcmp(key, "sigma") == 0 && oa_atom_value_exists(a, "init")));
}

bool oa_atom_value_matters(const struct oa_atom *a, int i)
{
    const struct oa_argument *row = &a->mechanism->arguments[i];
    return oa_value_is_printed(row, &a->value[i]) && !is_initial(a, row->key);
}

bool oa_atom_same_function(const struct oa_atom *a, const struct oa_atom *b)
{
    if (a->mechanism != b->mechanism || a->children != b->children)
        return false;
    for (int i = 0; a->mechanism->arguments[i].key; i++) {
        bool matters = oa_atom_value_matters(a, i);
        if (matters != oa_atom_value_matters(b, i))
            return false;
        if (matters && (a->value[i].number != b->value[i].number ||
                        strcmp(a->value[i].text, b->value[i].text) != 0))
            return false;
    }
    for (int i = 0; i < a->children; i++)
        if (!oa_atom_same_function(&a->child[i], &b->child[i]))
            return false;
    return true;
}

bool oa_layer_same_function(const struct oa_layer_spec *a, const struct oa_layer_spec *b)
{
    bool same = a->groups == b->groups;
    for (int g = 0; same && g < a->groups; g++)
        same = a->group[g].heads == b->group[g].heads &&
               oa_atom_same_function(&a->group[g].atom, &b->group[g].atom);
    return same;
}

bool oa_spec_same_function(const struct oa_spec *a, const struct oa_spec *b)
{
    if (!a->layers || !b->layers)
        return a->layers == b->layers;
    for (int i = 0; i < a->layers * b->layers; i++)
        if (!oa_layer_same_function(&a->layer[i % a->layers], &b->layer[i % b->layers]))
            return false;
    return true;
}

bool oa_stacks_same_function(const struct oa_stack_specs *a, const struct oa_stack_specs *b)
{
    bool same = a->has == b->has;
    for (int role = 0; role < OA_STACK_ROLES; role++)
        same = same && oa_spec_same_function(&a->spec[role], &b->spec[role]);
    return same;
}
