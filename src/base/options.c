/* SPDX-License-Identifier: Apache-2.0
 * The table of options.def as data, and the text form of every value: set, get, JSON. */
#include "base/context.h"
#include "base/json_write.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

/* Names of the column `role`. */
enum {
    NUMBERS = OA_DECIDES_NUMBERS,
    DATA = OA_DECIDES_DATA,
    VERDICTS = OA_DECIDES_VERDICTS,
    RESUME = OA_MAY_CHANGE,
    FILES = OA_NAMES_FILES,
    PER_RANK = OA_PER_RANK,
    BUDGET = OA_SHARED_BUDGET,
    STEP_SIZE = OA_SHARED_STEP_SIZE,
    SEED = OA_SHARED_SEED,
    MEASUREMENT = OA_SHARED_MEASUREMENT
};
#define WAS(former_key) , .former = former_key
#define WORDS(words) , .former_words = words
#define NEEDS(what) , .needs = OA_NEEDS_##what

#define ROW(s, n, k, d, h, ...)                                                                    \
    .section = #s, .name = #n, .key = #s "." #n, .kind = OA_OPTION_##k, .fallback = d, .help = h,  \
    .offset = offsetof(struct oa_options, s##_##n), .role = __VA_ARGS__
#define OA_INT(section, name, fallback, least, most, role, help)                                   \
    { ROW(section, name, INT, #fallback, help, role), .low = least, .high = most },
#define OA_REAL(section, name, fallback, least, most, role, help)                                  \
    { ROW(section, name, REAL, #fallback, help, role), .low = least, .high = most },
#define OA_BOOL(section, name, fallback, role, help)                                               \
    { ROW(section, name, BOOL, #fallback, help, role) },
#define OA_TEXT(section, name, fallback, role, help)                                               \
    { ROW(section, name, WORDS, fallback, help, role) },
#define OA_CHOICE(section, name, type, fallback, words, role, help)                                \
    { ROW(section, name, CHOICE, fallback, help, role), .choices = words },
static const struct oa_option_row rows[] = {
#include "base/options.def"
};
#undef OA_INT
#undef OA_REAL
#undef OA_BOOL
#undef OA_TEXT
#undef OA_CHOICE

#define ROWS ((int)(sizeof rows / sizeof rows[0]))
_Static_assert(ROWS <= OA_MOST_OPTIONS, "raise OA_MOST_OPTIONS");

/* parse_value() writes every choice as an int. */
#define OA_INT(section, name, fallback, low, high, role, help)
#define OA_REAL(section, name, fallback, low, high, role, help)
#define OA_BOOL(section, name, fallback, role, help)
#define OA_TEXT(section, name, fallback, role, help)
#define OA_CHOICE(section, name, type, fallback, choices, role, help)                              \
    _Static_assert(sizeof(enum oa_##type) == sizeof(int), "a choice is an int");
#include "base/options.def"
#undef OA_INT
#undef OA_REAL
#undef OA_BOOL
#undef OA_TEXT
#undef OA_CHOICE

const struct oa_option_row *oa_option_at(int i)
{
    return i >= 0 && i < ROWS ? &rows[i] : NULL;
}

const char *oa_option_stored_key(const struct oa_option_row *row)
{
    return row->former ? row->former : row->key;
}

/* ---- from text ---- */

static bool parse_int(const char *text, long *value)
{
    const char *digits = text + (text[0] == '-');
    if (digits[0] == 0 || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    *value = strtol(text, NULL, 10);
    return errno == 0;
}

static bool parse_bool(const char *text, bool *value)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
    for (int i = 0; i < 8; i++) {
        if (strcmp(text, words[i]) == 0) {
            *value = i % 2;
            return true;
        }
    }
    return false;
}

/* Choices that were a truth value in earlier versions: true and false are still read and written,
 * and none and all are their synonyms. */
static bool was_truth_value(const char *choices)
{
    return strncmp(choices, "false|true|", 11) == 0;
}

static int parse_choice(const char *choices, const char *text)
{
    int i = oa_choice_index(choices, text);
    bool on;
    if (i >= 0 || !was_truth_value(choices))
        return i;
    if (parse_bool(text, &on))
        return on;
    return oa_choice_index("none|all", text);
}

/* Files with options are UTF-8. */
static bool option_is_utf8(const char *text)
{
    json_t *string = json_string(text);
    json_decref(string);
    return string != NULL;
}

static bool parse_value(struct oa_options *o, const struct oa_option_row *r, const char *text)
{
    void *value = (char *)o + r->offset;
    double x;
    long n;
    int i;
    switch (r->kind) {
    case OA_OPTION_INT:
        if (!parse_int(text, &n) || (double)n < r->low || (double)n > r->high)
            return false;
        *(long *)value = n;
        return true;
    case OA_OPTION_REAL:
        if (!oa_parse_real(text, &x) || !(x >= r->low && x <= r->high))
            return false;
        *(double *)value = x;
        return true;
    case OA_OPTION_BOOL:
        i = r->former_words ? oa_choice_index(r->former_words, text) : -1;
        if (i >= 0)
            *(bool *)value = i;
        return i >= 0 || parse_bool(text, value);
    case OA_OPTION_CHOICE:
        i = parse_choice(r->choices, text);
        if (i >= 0)
            *(int *)value = i;
        return i >= 0;
    default:
        if (strlen(text) >= OA_OPTION_TEXT || !option_is_utf8(text))
            return false;
        snprintf(value, OA_OPTION_TEXT, "%s", text);
        return true;
    }
}

void oa_options_default(struct oa_options *o)
{
    memset(o, 0, sizeof *o);
    for (int i = 0; i < ROWS; i++)
        parse_value(o, &rows[i], rows[i].fallback);
}

/* ---- error messages ---- */

static void explain_refusal(char why[SENTENCE], const char *format, ...) OA_PRINTF(2, 3);
static void explain_refusal(char why[SENTENCE], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    oa_format(why, SENTENCE, format, arguments);
    va_end(arguments);
}

static void refuse_choice(const struct oa_option_row *r, const char *value, char why[SENTENCE])
{
    char words[256];
    const char *candidates[32];
    char *rest;
    int n = 0;
    snprintf(words, sizeof words, "%s", r->choices);
    for (char *w = strtok_r(words, "|", &rest); w && n < 32; w = strtok_r(NULL, "|", &rest))
        candidates[n++] = w;
    const char *near = oa_nearest(value, candidates, n);
    explain_refusal(why, "%s is \"%.80s\"; %s%s%schoose one of %s", r->key, value,
                    near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "",
                    r->choices);
}

static enum oa_error refuse_value(const struct oa_option_row *r, const char *value,
                                  char why[SENTENCE])
{
    switch (r->kind) {
    case OA_OPTION_INT:
        explain_refusal(why, "%s is \"%.80s\"; give a whole number from %.0f to %.0f", r->key,
                        value, r->low, r->high);
        break;
    case OA_OPTION_REAL:
        explain_refusal(why, "%s is \"%.80s\"; give a number from %s to %s", r->key, value,
                        oa_real_text(r->low).s, oa_real_text(r->high).s);
        break;
    case OA_OPTION_BOOL:
        explain_refusal(why, "%s is \"%.80s\"; give true or false", r->key, value);
        break;
    case OA_OPTION_CHOICE:
        refuse_choice(r, value, why);
        break;
    case OA_OPTION_WORDS:
        explain_refusal(why, "%s has %zu bytes; give at most %d bytes of UTF-8 text", r->key,
                        strlen(value), OA_OPTION_TEXT - 1);
        break;
    }
    return OA_ARGUMENT;
}

/* Without a section, only the names are compared. */
static enum oa_error refuse_option_key(const char *key, char why[SENTENCE])
{
    const char *candidates[ROWS];
    bool bare = !strchr(key, '.');
    for (int i = 0; i < ROWS; i++)
        candidates[i] = bare ? rows[i].name : rows[i].key;
    const char *near = oa_nearest(key, candidates, ROWS);
    int found = 0;
    while (near && candidates[found] != near)
        found++;
    if (near)
        explain_refusal(why, "unknown option \"%.80s\"; did you mean \"%s\"?", key,
                        rows[found].key);
    else
        explain_refusal(why,
                        "unknown option \"%.80s\"; options are written section.name, as in "
                        "model.layers",
                        key);
    return OA_ARGUMENT;
}

/* ---- by key ---- */

int oa_option_number(const char *key)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].key, key) == 0 || (rows[i].former && strcmp(rows[i].former, key) == 0))
            return i;
    return -1;
}

static const struct oa_option_row *option_find(const char *key)
{
    return oa_option_at(oa_option_number(key));
}

enum oa_error oa_option_apply(struct oa_options *o, const char *key, const char *value,
                              char why[SENTENCE])
{
    const struct oa_option_row *r = option_find(key);
    if (!r)
        return refuse_option_key(key, why);
    return parse_value(o, r, value) ? OA_OK : refuse_value(r, value, why);
}

enum oa_error oa_options_set(oa_context *c, struct oa_options *o, const char *key,
                             const char *value)
{
    char why[SENTENCE];
    enum oa_error e = oa_option_apply(o, key, value, why);
    return e == OA_OK ? OA_OK : oa_fail(c, e, "%s", why);
}

/* ---- choices ---- */

static struct oa_choice_word choice_word(const char *choices, int i)
{
    struct oa_choice_word word = { "" };
    oa_choice_at(choices, i, word.s, sizeof word.s);
    return word;
}

struct oa_choice_word oa_option_word(const char *key, int choice)
{
    return choice_word(option_find(key)->choices, choice);
}

int oa_option_choice(const char *key, const char *word)
{
    return oa_choice_index(option_find(key)->choices, word);
}

/* ---- to text ---- */

void oa_option_print(const struct oa_options *o, const struct oa_option_row *r, struct oa_text *out)
{
    const void *at = (const char *)o + r->offset;
    switch (r->kind) {
    case OA_OPTION_INT:
        oa_text_printf(out, "%ld", *(const long *)at);
        break;
    case OA_OPTION_REAL:
        oa_text_real(out, *(const double *)at);
        break;
    case OA_OPTION_BOOL:
        oa_text_printf(out, "%s", *(const bool *)at ? "true" : "false");
        break;
    case OA_OPTION_CHOICE:
        oa_text_printf(out, "%s", choice_word(r->choices, *(const int *)at).s);
        break;
    case OA_OPTION_WORDS:
        oa_text_printf(out, "%s", (const char *)at);
    }
}

static struct oa_choice_word former_word(const struct oa_options *o, const struct oa_option_row *r)
{
    const bool *value = (const void *)((const char *)o + r->offset);
    return choice_word(r->former_words, *value);
}

void oa_option_pair_open(oa_context *c, const struct oa_options *a, const struct oa_options *b,
                         const char *key, struct oa_option_pair *out)
{
    oa_text_init(&out->text[0], c);
    oa_text_init(&out->text[1], c);
    oa_options_get(c, a, key, &out->text[0]);
    oa_options_get(c, b, key, &out->text[1]);
    out->a = out->text[0].s ? out->text[0].s : "";
    out->b = out->text[1].s ? out->text[1].s : "";
    out->differ = out->text[0].s && out->text[1].s && strcmp(out->a, out->b) != 0;
}

void oa_option_pair_close(struct oa_option_pair *p)
{
    oa_text_free(&p->text[0]);
    oa_text_free(&p->text[1]);
}

enum oa_error oa_options_get(oa_context *c, const struct oa_options *o, const char *key,
                             struct oa_text *value)
{
    char why[SENTENCE];
    const struct oa_option_row *r = option_find(key);
    if (!r) {
        refuse_option_key(key, why);
        return oa_fail(c, OA_ARGUMENT, "%s", why);
    }
    if (r->former_words && strcmp(key, r->former) == 0)
        oa_text_printf(value, "%s", former_word(o, r).s);
    else
        oa_option_print(o, r, value);
    return OA_OK;
}

void oa_option_quote(const struct oa_options *o, const struct oa_option_row *r, struct oa_text *out)
{
    if (r->kind != OA_OPTION_WORDS) {
        int choice = r->kind == OA_OPTION_CHOICE ? *(const int *)((const char *)o + r->offset) : 0;
        bool bare = r->kind != OA_OPTION_CHOICE || (was_truth_value(r->choices) && choice < 2);
        const char *mark = bare ? "" : "\""; /* no word of a choice needs escapes */
        oa_text_printf(out, "%s", mark);
        oa_option_print(o, r, out);
        oa_text_printf(out, "%s", mark);
        return;
    }
    json_t *string = json_string((const char *)o + r->offset);
    char *quoted = oa_json_dump(out->context, string, JSON_ENCODE_ANY);
    if (quoted)
        oa_text_add(out, quoted, strlen(quoted));
    oa_free(quoted);
    json_decref(string);
}

/* ---- JSON ---- */

void oa_options_json(const struct oa_options *o, struct oa_text *out)
{
    const char *section = NULL;
    for (int i = 0; i < ROWS; i++) {
        const struct oa_option_row *r = &rows[i];
        if (!section || strcmp(section, r->section) != 0)
            oa_text_printf(out, "%s\"%s\": {", section ? "}, " : "{", r->section);
        else
            oa_text_add(out, ", ", 2);
        section = r->section;
        oa_text_printf(out, "\"%s\": ", strchr(oa_option_stored_key(r), '.') + 1);
        if (r->former_words)
            oa_text_printf(out, "\"%s\"", former_word(o, r).s);
        else
            oa_option_quote(o, r, out);
    }
    oa_text_add(out, "}}", 2);
}

/* A JSON scalar as the text that oa_options_set takes; false for anything else. */
static bool scalar_text(json_t *value, struct oa_text *out)
{
    if (json_is_string(value))
        oa_text_printf(out, "%s", json_string_value(value));
    else if (json_is_integer(value))
        oa_text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        oa_text_real(out, json_real_value(value));
    else if (json_is_boolean(value))
        oa_text_printf(out, "%s", json_is_true(value) ? "true" : "false");
    else
        return false;
    return true;
}

static enum oa_error apply_json(oa_context *c, struct oa_options *o, const char *path,
                                const char *section, const char *name, json_t *value)
{
    char why[SENTENCE];
    struct oa_text key, text;
    oa_text_init(&key, c);
    oa_text_init(&text, c);
    oa_text_printf(&key, "%s.%s", section, name);
    bool scalar = scalar_text(value, &text);
    enum oa_error e = OA_NO_MEMORY;
    if (!scalar)
        e = oa_fail(c, OA_FORMAT, "%s: the option %s is not a text, a number or a truth value",
                    path, key.s);
    else if (key.s && text.s && (e = oa_option_apply(o, key.s, text.s, why)) != OA_OK)
        oa_fail(c, e, "%s: %s", path, why);
    oa_text_free(&key);
    oa_text_free(&text);
    return e;
}

static enum oa_error apply_json_section(oa_context *c, struct oa_options *o, const char *path,
                                        const char *section, json_t *values)
{
    const char *name;
    json_t *value;
    if (!json_is_object(values))
        return oa_fail(c, OA_FORMAT, "%s: \"%.80s\" is not a section of options (a JSON object)",
                       path, section);
    json_object_foreach(values, name, value)
    {
        OA_TRY(apply_json(c, o, path, section, name, value));
    }
    return OA_OK;
}

/* Records from before an option existed, which mean another value of it than the default. */
static void apply_older(struct oa_options *o, json_t *root)
{
    json_t *data = json_object_get(root, "data");
    if (json_is_object(data) && !json_object_get(data, "stratify"))
        o->data_stratify = false;
}

enum oa_error oa_options_from_json(oa_context *c, struct oa_options *o, const char *path,
                                   const char *json)
{
    json_error_t why;
    const char *section;
    json_t *values, *root = json_loads(json, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        return oa_fail(c, OA_FORMAT, "%s:%d:%d: not valid JSON: %s", path, why.line, why.column,
                       why.text);
    enum oa_error e = OA_OK;
    if (!json_is_object(root))
        e = oa_fail(c, OA_FORMAT, "%s: options are written as a JSON object of sections", path);
    apply_older(o, root);
    json_object_foreach(root, section, values)
    {
        if (e == OA_OK)
            e = apply_json_section(c, o, path, section, values);
    }
    json_decref(root);
    return e;
}
