/* SPDX-License-Identifier: Apache-2.0
 * Queries on a parsed attention: heads of groups, values of options. */
#include "attention/language/language.h"

#include <string.h>

/* ---- heads of groups ---- */

static enum oa_error heads_error(oa_context *c, const struct oa_layer_spec *s, int heads,
                                 const char *why)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_spec_print(&(struct oa_spec){ .layer = (struct oa_layer_spec *)s, .layers = 1 }, &text);
    enum oa_error e =
        oa_fail(c, OA_ARGUMENT, "%d heads do not fit \"%s\": %s", heads, text.s ? text.s : "", why);
    oa_text_free(&text);
    return e;
}

enum oa_error oa_spec_heads(oa_context *c, const struct oa_layer_spec *s, int heads, int *count)
{
    long counted = 0;
    int open = 0;
    for (int g = 0; g < s->groups; g++) {
        counted += s->group[g].heads;
        open += s->group[g].heads == 0;
    }
    long left = heads - counted, share = open ? left / open : 0;
    char why[200] = "";
    if (open == 0 && left != 0)
        snprintf(why, sizeof why,
                 "the counts of its groups sum to %ld; change a count or the number of heads",
                 counted);
    else if (open > 0 && left < open)
        snprintf(why, sizeof why,
                 "%ld are assigned and %d more groups need at least one each, so at least %ld",
                 counted, open, counted + open);
    else if (open > 0 && left % open != 0)
        snprintf(why, sizeof why,
                 "the remaining %ld cannot be split equally among %d groups; add counts", left,
                 open);
    if (why[0])
        return heads_error(c, s, heads, why);
    for (int g = 0; g < s->groups; g++)
        count[g] = s->group[g].heads ? s->group[g].heads : (int)share;
    return OA_OK;
}

/* ---- values of options ---- */

static int argument_index(const struct oa_atom *a, const char *key)
{
    const struct oa_argument *row = a->mechanism->arguments;
    for (int i = 0; row[i].key; i++) {
        if (strcmp(row[i].key, key) == 0)
            return i;
    }
    return -1;
}

const struct oa_value *oa_atom_value(const struct oa_atom *a, const char *key)
{
    static const struct oa_value none;
    int i = argument_index(a, key);
    return i < 0 ? &none : &a->value[i];
}

bool oa_atom_value_exists(const struct oa_atom *a, const char *key)
{
    return argument_index(a, key) >= 0;
}

double oa_atom_real(const struct oa_atom *a, const char *key, double fallback)
{
    int i = argument_index(a, key);
    if (i < 0)
        return fallback;
    bool constant = a->mechanism->arguments[i].fallback != NULL;
    return a->value[i].given || constant ? a->value[i].number : fallback;
}

long oa_atom_int(const struct oa_atom *a, const char *key, long fallback)
{
    return (long)oa_atom_real(a, key, (double)fallback);
}

bool oa_atom_flag(const struct oa_atom *a, const char *key)
{
    return oa_atom_value(a, key)->number > 0;
}

bool oa_atom_is(const struct oa_atom *a, const char *key, const char *word)
{
    int i = argument_index(a, key);
    return i >= 0 &&
           oa_choice_is(a->mechanism->arguments[i].choices, (int)a->value[i].number, word);
}

int oa_atom_reals(const struct oa_atom *a, const char *key, double *out, int room)
{
    const char *text = oa_atom_value(a, key)->text;
    int n = 0;
    for (; *text && n < room; n++) {
        char number[40];
        size_t digits = strcspn(text, "/");
        snprintf(number, sizeof number, "%.*s", (int)digits, text);
        oa_parse_real(number, &out[n]);
        text += digits + (text[digits] == '/');
    }
    return n;
}
