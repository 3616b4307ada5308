/* SPDX-License-Identifier: Apache-2.0
 * Names and options of the attention language: resolves mechanisms and aliases, sets options from
 * key=value and bare words. Unknown names are refused with the nearest spelling and the valid ones.
 */
#include "attention/language/language.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names that stand for a mechanism with options. */
static const struct {
    const char *name, *mechanism, *options;
    bool mixes; /* may be a component of a mixture */
} aliases[] = {
    { "fixed-random", "random", "frozen", true },
    { "mqa", "softmax", "kv=1", false },
    { "hedgehog", "linear", "map=hedgehog", false },
    { "retention", "linear", "map=identity, decay=fixed, gate=swish", false },
    { "gla", "linear", "map=identity, decay=channel, gate=swish", false },
    { "deltanet", "linear", "map=unit, conv=4, update=delta", false },
    { "gated-deltanet", "linear", "map=unit, conv=4, decay=head, update=delta, gate=swish", false },
    { "kda", "linear", "map=unit, conv=4, decay=channel, update=delta, gate=channel", false },
};
#define ALIASES ((int)(sizeof aliases / sizeof aliases[0]))

const char oa_raganato[] =
    "pattern(current):1 | pattern(previous):1 | pattern(next):1 | pattern(left):1 | "
    "pattern(right):1 | pattern(end):1 | pattern(start):1 | softmax";

#define MOST_NAMES 128 /* candidates for "did you mean" */

/* ---- mechanisms ---- */

const struct oa_mechanism *oa_name_mechanism(const char *name, const char **preset)
{
    *preset = NULL;
    for (int i = 0; i < ALIASES; i++) {
        if (strcmp(name, aliases[i].name) == 0) {
            *preset = aliases[i].options;
            return oa_mechanism_find(aliases[i].mechanism);
        }
    }
    return oa_mechanism_find(name);
}

bool oa_alias_at(int i, const char **name, char *meaning, size_t size)
{
    if (i < 0 || i > ALIASES)
        return false;
    *name = i < ALIASES ? aliases[i].name : RAGANATO;
    if (i < ALIASES)
        snprintf(meaning, size, "%s(%s)", aliases[i].mechanism, aliases[i].options);
    else
        snprintf(meaning, size, "%s", oa_raganato);
    return true;
}

/* Valid names, including aliases; component: those that can be mixed. */
static int language_mechanism_names(bool component, const char **names)
{
    int count = 0;
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)) && count < MOST_NAMES; i++) {
        if (!component || m->can & OA_CAN_MIX)
            names[count++] = m->name;
    }
    for (int i = 0; i < ALIASES && count < MOST_NAMES; i++) {
        if (!component || aliases[i].mixes)
            names[count++] = aliases[i].name;
    }
    if (!component && count < MOST_NAMES)
        names[count++] = RAGANATO;
    return count;
}

void oa_suggest(const char *word, const char *const *names, int count, char *out, size_t size)
{
    const char *nearest = oa_nearest(word, names, count);
    snprintf(out, size, nearest ? "; did you mean %s?" : ".", nearest);
}

enum oa_error oa_unknown_mechanism(const struct oa_language_reader *r, const struct oa_word *w,
                                   bool component)
{
    const char *names[MOST_NAMES];
    int count = language_mechanism_names(component, names);
    char here[96], hint[96] = ".";
    struct oa_language_reader at_word = *r;
    at_word.at = w->at;
    oa_describe_next(&at_word, here, sizeof here);
    if (w->text[0])
        oa_suggest(w->text, names, count, hint, sizeof hint);
    const char *wanted = component ? "a mechanism that can be mixed" : "a mechanism";
    struct oa_text list;
    oa_text_init(&list, r->context);
    for (int i = 0; i < count; i++)
        oa_text_printf(&list, "%s%s", i ? ", " : "", names[i]);
    enum oa_error e = oa_syntax_error(r, w->at, "%s; expected %s%s Valid: %s", here, wanted, hint,
                                      list.s ? list.s : "");
    oa_text_free(&list);
    return e;
}

/* favor# is the paper's name of sderf. */
static int choice_index(const char *choices, const char *word)
{
    return oa_choice_index(choices, strcmp(word, "favor#") == 0 ? "sderf" : word);
}

/* ---- lists of valid options ---- */

/* One option as it is written: tie · scale=none|jl · window=<integer> · current|previous (only bare
 * words). */
static void language_describe_option(const struct oa_argument *a, struct oa_text *out)
{
    static const char *const shapes[] = { [OA_VALUE_INT] = "<integer>",
                                          [OA_VALUE_REAL] = "<number>",
                                          [OA_VALUE_TEXT] = "<text>",
                                          [OA_VALUE_REALS] = "<number>/<number>…" };
    if (a->kind == OA_VALUE_FLAG)
        oa_text_printf(out, "%s", a->key);
    else if (a->kind == OA_VALUE_CHOICE)
        oa_text_printf(out, "%s%s%s", a->key, a->key[0] ? "=" : "", a->choices);
    else
        oa_text_printf(out, "%s=%s", a->key, shapes[a->kind]);
}

static void language_describe_options(const struct oa_mechanism *m, struct oa_text *out)
{
    for (const struct oa_argument *a = m->arguments; a->key; a++) {
        oa_text_printf(out, "%s", a == m->arguments ? "" : ", ");
        language_describe_option(a, out);
    }
    if (strcmp(m->name, MIXTURE) == 0)
        oa_text_printf(out, ", and mechanisms that can be mixed");
}

/* All keys and choice words of a mechanism, for suggestions; room: memory for the words. */
static int language_option_names(const struct oa_mechanism *m, char room[][64], const char **names,
                                 bool keys_only)
{
    int count = 0;
    for (const struct oa_argument *a = m->arguments; a->key && count < MOST_NAMES; a++) {
        if (a->key[0])
            names[count++] = a->key;
        if (a->kind != OA_VALUE_CHOICE || keys_only)
            continue;
        for (int i = 0; count < MOST_NAMES && oa_choice_at(a->choices, i, room[count], 64);
             i++, count++)
            names[count] = room[count];
    }
    return count;
}

static enum oa_error language_unknown_option(const struct oa_language_reader *r,
                                             const struct oa_mechanism *m, const struct oa_word *w,
                                             bool key)
{
    char room[MOST_NAMES][64], hint[96];
    const char *names[2 * MOST_NAMES];
    int count = language_option_names(m, room, names, key);
    if (strcmp(m->name, MIXTURE) == 0 && !key)
        count += language_mechanism_names(true, names + count);
    oa_suggest(w->text, names, count, hint, sizeof hint);
    struct oa_text list;
    oa_text_init(&list, r->context);
    language_describe_options(m, &list);
    enum oa_error e = oa_syntax_error(r, w->at, "%s has no option \"%s\"%s Valid: %s", m->name,
                                      w->text, hint, list.s ? list.s : "");
    oa_text_free(&list);
    return e;
}

/* ---- values ---- */

static bool parse_integer(const char *text, double *out)
{
    size_t sign = text[0] == '-';
    size_t digits = strspn(text + sign, "0123456789");
    if (digits == 0 || digits > 15 || text[sign + digits])
        return false;
    *out = (double)strtoll(text, NULL, 10);
    return true;
}

static enum oa_error option_set_number(const struct oa_language_reader *r,
                                       const struct oa_argument *a, struct oa_value *v, size_t at,
                                       const char *text)
{
    bool whole = a->kind == OA_VALUE_INT,
         good = whole ? parse_integer(text, &v->number)
                      : oa_parse_real(text, &v->number) && isfinite(v->number);
    if (!good)
        return oa_syntax_error(r, at, "%s is \"%s\"; expected %s from %s to %s.", a->key, text,
                               whole ? "an integer" : "a number", oa_real_text(a->low).s,
                               oa_real_text(a->high).s);
    if (v->number < a->low || v->number > a->high)
        return oa_syntax_error(r, at, "%s is %s; it must be between %s and %s.", a->key, text,
                               oa_real_text(a->low).s, oa_real_text(a->high).s);
    return OA_OK;
}

static enum oa_error option_set_choice(const struct oa_language_reader *r,
                                       const struct oa_argument *a, struct oa_value *v, size_t at,
                                       const char *text)
{
    int i = choice_index(a->choices, text);
    v->number = i;
    if (i >= 0)
        return OA_OK;
    char room[MOST_NAMES][64], hint[96];
    const char *names[MOST_NAMES];
    int count = 0;
    while (count < MOST_NAMES && oa_choice_at(a->choices, count, room[count], sizeof room[0])) {
        names[count] = room[count];
        count++;
    }
    oa_suggest(text, names, count, hint, sizeof hint);
    return oa_syntax_error(r, at, "%s has no value \"%s\"%s Valid: %s", a->key, text, hint,
                           a->choices);
}

/* Stores numbers separated by / in canonical form: 0.30 / 0.7 becomes 0.3/0.7. */
static enum oa_error option_set_reals(const struct oa_language_reader *r,
                                      const struct oa_argument *a, struct oa_value *v, size_t at,
                                      const char *text)
{
    struct oa_text canonical;
    oa_text_init(&canonical, r->context);
    bool good = true;
    v->number = 0;
    while (good) {
        text += strspn(text, " \t\r\n");
        size_t n = strcspn(text, "/ \t\r\n");
        char number[40];
        double value;
        snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : 0), text);
        good = oa_parse_real(number, &value) && isfinite(value);
        oa_text_printf(&canonical, v->number > 0 ? "/" : "");
        if (good)
            oa_text_real(&canonical, value);
        v->number++;
        text += n;
        text += strspn(text, " \t\r\n");
        if (*text != '/')
            break;
        text++;
    }
    good = good && *text == 0 && canonical.s && canonical.length < sizeof v->text;
    snprintf(v->text, sizeof v->text, "%s", good ? canonical.s : "");
    oa_text_free(&canonical);
    return good ? OA_OK
                : oa_syntax_error(r, at, "%s takes numbers separated by /, such as %s=0.3/0.7.",
                                  a->key, a->key);
}

static enum oa_error option_set_value(const struct oa_language_reader *r,
                                      const struct oa_argument *a, struct oa_value *v, size_t at,
                                      const char *text)
{
    switch (a->kind) {
    case OA_VALUE_INT:
    case OA_VALUE_REAL:
        return option_set_number(r, a, v, at, text);
    case OA_VALUE_CHOICE:
        return option_set_choice(r, a, v, at, text);
    case OA_VALUE_REALS:
        return option_set_reals(r, a, v, at, text);
    case OA_VALUE_TEXT:
        snprintf(v->text, sizeof v->text, "%s", text);
        return OA_OK;
    default:
        return oa_syntax_error(r, at, "%s is a flag and takes no value: write %s only.", a->key,
                               a->key);
    }
}

/* ---- options of an atom ---- */

void oa_atom_start(struct oa_atom *a, const struct oa_mechanism *m)
{
    *a = (struct oa_atom){ .mechanism = m };
    for (int i = 0; m->arguments[i].key; i++) {
        const struct oa_argument *row = &m->arguments[i];
        if (row->kind != OA_VALUE_CHOICE && row->fallback)
            oa_parse_real(row->fallback, &a->value[i].number);
    }
}

static enum oa_error language_given_twice(const struct oa_language_reader *r, size_t at,
                                          const struct oa_argument *a)
{
    return oa_syntax_error(r, at, "%s is given twice.", a->key[0] ? a->key : a->choices);
}

enum oa_error oa_set_option(struct oa_language_reader *r, struct oa_atom *a,
                            const struct oa_word *key)
{
    const struct oa_argument *row = a->mechanism->arguments;
    int i = 0;
    while (row[i].key && (row[i].key[0] == 0 || strcmp(row[i].key, key->text) != 0))
        i++;
    if (!row[i].key)
        return language_unknown_option(r, a->mechanism, key, true);
    if (a->value[i].given && !a->value[i].preset)
        return language_given_twice(r, key->at, &row[i]);
    char value[256];
    struct oa_word w = oa_read_value(r, value, sizeof value);
    if (!value[0])
        return oa_syntax_error(r, w.at, "%s= needs a value of 1 to %zu bytes.", key->text,
                               sizeof value - 1);
    a->value[i].given = true;
    a->value[i].preset = false;
    return option_set_value(r, &row[i], &a->value[i], w.at, value);
}

/* A bare word sets the flag of that name, or the choice that has it among its words. A word of two
 * choices needs its key, except that words of both qk and init set qk. */
enum oa_error oa_set_word(const struct oa_language_reader *r, struct oa_atom *a,
                          const struct oa_word *w)
{
    const struct oa_argument *row = a->mechanism->arguments;
    int found = -1, number = 1;
    for (int i = 0; row[i].key; i++) {
        bool after_qk =
            found >= 0 && strcmp(row[i].key, "init") == 0 && strcmp(row[found].key, "qk") == 0;
        int choice = row[i].kind == OA_VALUE_CHOICE && !after_qk
                         ? choice_index(row[i].choices, w->text)
                         : -1;
        bool flag = row[i].kind == OA_VALUE_FLAG && strcmp(row[i].key, w->text) == 0;
        if (choice < 0 && !flag) {
            if (strcmp(row[i].key, w->text) == 0)
                return oa_syntax_error(r, w->at, "%s needs a value: %s=…", w->text, w->text);
            continue;
        }
        if (found >= 0)
            return oa_syntax_error(r, w->at,
                                   "\"%s\" is a value of several options; write %s=%s or %s=%s.",
                                   w->text, row[found].key, w->text, row[i].key, w->text);
        found = i;
        number = flag ? 1 : choice;
    }
    if (found < 0)
        return language_unknown_option(r, a->mechanism, w, false);
    if (a->value[found].given && !a->value[found].preset)
        return language_given_twice(r, w->at, &row[found]);
    a->value[found].given = true;
    a->value[found].preset = false;
    a->value[found].number = number;
    return OA_OK;
}
