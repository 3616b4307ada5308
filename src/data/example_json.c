/* SPDX-License-Identifier: Apache-2.0
 * JSON Lines: one object per line. A value is a string, number or boolean; a target may also be a
 * list of strings, each a reference. Values that are not read may be anything. */
#include "data/example_parts.h"
#include "data/json_line.h"
#include "data/turns.h"
#include "tokenizers/word_table.h"

#include <math.h>
#include <string.h>

struct objects {
    struct oa_rows *rows;
    const char *columns;
    struct oa_text_file file;
    int number;           /* of the file */
    struct oa_words keys; /* of the first object, in its order */
    struct oa_column_plan plan;
    bool turns;                   /* objects have `messages` */
    struct oa_json_object object; /* of the current line */
    struct oa_json_object turn;   /* a message of it */
    struct oa_text joined;
};

static enum oa_error refuse_object(const struct objects *o, const char *what, const char *key,
                                   const char *remedy)
{
    return oa_fail(o->rows->context, OA_FORMAT, "%s, line %llu: %s%s%s%s%s", o->file.name,
                   (unsigned long long)(o->file.line - 1), what, key ? " \"" : "", key ? key : "",
                   key ? "\"" : "", remedy);
}

/* ---- which keys ---- */

static enum oa_error plan_keys(struct objects *o)
{
    struct oa_cells cells = { .context = o->rows->context };
    const struct oa_json_object *first = &o->object;
    enum oa_error error = OA_OK;
    for (size_t i = 0; i < first->count; i++)
        if (oa_words_add(&o->keys, first->keys.s + first->member[i].key,
                         first->member[i].key_length) < 0)
            return OA_NO_MEMORY;
    if (!oa_reserve(cells.context, &cells.cell, &cells.capacity, (size_t)o->keys.count + 1,
                    sizeof *cells.cell))
        return OA_NO_MEMORY;
    for (int32_t i = 0; i < o->keys.count; i++) {
        size_t n;
        char *s = (char *)oa_words_at(&o->keys, i, &n);
        cells.cell[cells.count++] = (struct oa_cell){ s, n };
    }
    error = oa_columns_plan(o->rows->context, o->rows, o->file.name, o->columns, &cells, true,
                            &o->plan);
    oa_free(cells.cell);
    return error;
}

/* ---- values ---- */

static enum oa_error refuse_json_value(const struct objects *o, const char *key,
                                       const struct oa_json_value *value, const char *why)
{
    enum { SHOWN = 24 };
    char what[160];
    snprintf(what, sizeof what, "the value %.*s%s %s, at key",
             (int)(value->length < SHOWN ? value->length : SHOWN), value->s,
             value->length > SHOWN ? "…" : "", why);
    return refuse_object(o, what, key, "; write a string or a finite number, or delete the line");
}

/* Integers are copied, however long; other numbers are printed with the shortest digits that read
 * back as the same double. */
static enum oa_error print_json_number(struct objects *o, const char *key,
                                       const struct oa_json_value *value)
{
    char text[400];
    double number;
    bool whole = !memchr(value->s, '.', value->length) && !memchr(value->s, 'e', value->length) &&
                 !memchr(value->s, 'E', value->length);
    if (whole) {
        bool zero = value->length == 2 && memcmp(value->s, "-0", 2) == 0;
        oa_text_add(&o->joined, value->s + zero, value->length - zero);
        return OA_OK;
    }
    snprintf(text, sizeof text, "%.*s", (int)value->length, value->s);
    if (value->length >= sizeof text || !oa_parse_real(text, &number) || !isfinite(number))
        return refuse_json_value(o, key, value, "is not a finite double");
    oa_text_real(&o->joined, number);
    return OA_OK;
}

/* Appends to o->joined. */
static enum oa_error print_json_value(struct objects *o, const char *key,
                                      const struct oa_json_value *value)
{
    const char *why;
    switch (value->s[0]) {
    case '"':
        why = oa_json_string_text(value, &o->joined);
        return why ? refuse_json_value(o, key, value, why) : OA_OK;
    case 't':
    case 'f':
        oa_text_add(&o->joined, value->s, value->length);
        return OA_OK;
    case 'N':
    case 'I':
        return refuse_json_value(o, key, value, "is not a finite number");
    case 'n':
    case '[':
    case '{':
        return refuse_object(o, "neither a string nor a number at key", key, "");
    default:
        return value->s[1] == 'I' ? refuse_json_value(o, key, value, "is not a finite number")
                                  : print_json_number(o, key, value);
    }
}

static enum oa_error add_target_list(struct objects *o, const char *key,
                                     const struct oa_json_value *list)
{
    struct oa_json_value item;
    size_t at = 0, items = 0;
    for (; oa_json_list_next(list, &at, &item); items++) {
        oa_text_cut(&o->joined, 0);
        OA_TRY(print_json_value(o, key, &item));
        OA_TRY(oa_rows_add_cell(o->rows, o->joined.s ? o->joined.s : "", o->joined.length));
    }
    return items ? OA_OK : refuse_object(o, "empty list at key", key, "");
}

/* A class 10.0 is printed as 10 and is the same class as 10. */
static void note_whole_real(struct objects *o, const struct oa_json_value *label)
{
    bool real = strchr("-0123456789", label->s[0]) && label->length != o->joined.length;
    if (real && strspn(o->joined.s, "-0123456789") >= o->joined.length)
        oa_rows_count_respelled(o->rows, label->s, label->length, o->joined.s);
}

static enum oa_error find_value(const struct objects *o, const char *key, struct oa_json_value *out)
{
    int found = oa_json_find(&o->object, key, strlen(key), out);
    if (found == 1)
        return OA_OK;
    return found ? refuse_object(o, "duplicate key", key, "")
                 : refuse_object(o, "missing key", key, "");
}

static enum oa_error add_key_column(struct objects *o, int column)
{
    const struct oa_column *c = &o->plan.column[column];
    bool target = o->rows->answer == OA_ANSWER_TEXT && column > 0;
    struct oa_json_value value;
    oa_text_cut(&o->joined, 0);
    for (int k = 0; k < c->joined; k++) {
        const char *key = oa_words_at(&o->keys, c->at[k], NULL);
        OA_TRY(find_value(o, key, &value));
        if (target && c->joined == 1 && value.s[0] == '[')
            return add_target_list(o, key, &value);
        oa_text_add(&o->joined, " ", k > 0);
        OA_TRY(print_json_value(o, key, &value));
    }
    if (o->rows->answer == OA_ANSWER_CLASS && column == 0 && c->joined == 1)
        note_whole_real(o, &value);
    return oa_rows_add_cell(o->rows, o->joined.s ? o->joined.s : "", o->joined.length);
}

/* ---- messages ---- */

/* Appends the message's role to *roles and its content to *contents, each ended by a zero. */
static enum oa_error read_message(struct objects *o, const struct oa_json_value *item,
                                  struct oa_text *roles, struct oa_text *contents)
{
    struct oa_json_fault why;
    struct oa_json_value role, content;
    if (item->s[0] != '{' || !oa_json_object_cut(&o->turn, item->s, item->length, &why) ||
        oa_json_find(&o->turn, "role", 4, &role) != 1 ||
        oa_json_find(&o->turn, "content", 7, &content) != 1)
        return refuse_object(o, "a message without one role and one content, at key", "messages",
                             "");
    oa_text_cut(&o->joined, 0);
    OA_TRY(print_json_value(o, "role", &role));
    char letter = oa_role_letter(o->joined.s ? o->joined.s : "");
    if (!letter)
        return refuse_object(o, "unknown role", o->joined.s,
                             "; known are system, user, assistant and tool");
    oa_text_add(roles, &letter, 1);
    oa_text_cut(&o->joined, 0);
    OA_TRY(print_json_value(o, "content", &content));
    oa_text_add(contents, o->joined.s, o->joined.length);
    oa_text_add(contents, "", 1);
    return oa_status(o->rows->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

static enum oa_error add_messages(struct objects *o, const struct oa_text *roles,
                                  const struct oa_text *contents)
{
    const char *last = roles->s ? memrchr(roles->s, 'a', roles->length) : NULL;
    if (!last)
        return refuse_object(o, "no message of the assistant at key", "messages",
                             ": there is nothing to learn; delete the line");
    size_t turns = (size_t)(last - roles->s) + 1; /* no target follows them */
    OA_TRY(oa_rows_add_cell(o->rows, roles->s, turns));
    const char *content = contents->s;
    for (size_t i = 0; i < turns; i++, content += strlen(content) + 1)
        OA_TRY(oa_rows_add_cell(o->rows, content, strlen(content)));
    return OA_OK;
}

static enum oa_error read_messages(struct objects *o)
{
    struct oa_json_value list, item;
    struct oa_text roles, contents;
    size_t at = 0;
    OA_TRY(find_value(o, "messages", &list));
    if (list.s[0] != '[')
        return refuse_object(o, "not a list at key", "messages", "");
    oa_text_init(&roles, o->rows->context);
    oa_text_init(&contents, o->rows->context);
    enum oa_error e = OA_OK;
    while (e == OA_OK && oa_json_list_next(&list, &at, &item))
        e = read_message(o, &item, &roles, &contents);
    if (e == OA_OK)
        e = add_messages(o, &roles, &contents);
    oa_text_free(&roles);
    oa_text_free(&contents);
    return e;
}

/* ---- lines ---- */

static enum oa_error refuse_json(const struct objects *o, const char *line, size_t length,
                                 const struct oa_json_fault *why)
{
    char place[160];
    if (!why->why)
        return OA_NO_MEMORY;
    const char *hint =
        *line == '[' ? "; write one object per line: jq -c '.[]' FILE converts a list"
        : why->cut_off
            ? "; write one object per line: jq -c . FILE converts objects of several lines"
        : *line == '{'               ? ""
        : memchr(line, '\t', length) ? "; name a table with tabs *.tsv"
                                     : "; write one object per line";
    snprintf(place, sizeof place, "not a JSON object: at byte %zu %s", why->at, why->why);
    return refuse_object(o, place, NULL, hint);
}

static enum oa_error read_json_line(struct objects *o, const char *line, size_t length)
{
    struct oa_json_fault why;
    size_t white = strspn(line, " \t");
    if (white >= length) {
        oa_rows_count_left_out(o->rows, o->file.line - 1);
        return OA_OK;
    }
    if (!oa_json_object_cut(&o->object, line, length, &why))
        return refuse_json(o, line + white, length - white, &why);
    struct oa_json_value list;
    if (o->plan.count == 0 && o->rows->answer == OA_ANSWER_TOKENS && !oa_is_given(o->columns))
        o->turns = o->turns || oa_json_find(&o->object, "messages", 8, &list) > 0;
    if (o->turns) {
        OA_TRY(read_messages(o));
        return oa_rows_end(o->rows, o->number, o->file.line - 1);
    }
    if (o->plan.count == 0)
        OA_TRY(plan_keys(o));
    if (o->rows->answer == OA_ANSWER_TOKENS)
        OA_TRY(oa_rows_add_roles(o->rows, o->plan.aligned));
    for (int i = 0; i < o->plan.count; i++)
        OA_TRY(add_key_column(o, i));
    return oa_rows_end(o->rows, o->number, o->file.line - 1);
}

enum oa_error oa_read_jsonl(struct oa_rows *rows, const char *file, const char *columns)
{
    struct objects o = { .rows = rows, .columns = columns };
    char *line;
    size_t length;
    oa_words_init(&o.keys, rows->context);
    oa_text_init(&o.joined, rows->context);
    oa_json_object_init(&o.object, rows->context);
    oa_json_object_init(&o.turn, rows->context);
    enum oa_error error = oa_text_file_open(rows->context, file, &o.file);
    if (error == OA_OK && (o.number = oa_rows_add_file(rows, file)) < 0)
        error = OA_NO_MEMORY;
    while (error == OA_OK && oa_text_file_line(&o.file, &line, &length))
        error = read_json_line(&o, line, length);
    rows->carriage_returns += o.file.carriage_returns;
    oa_text_file_close(&o.file);
    oa_words_free(&o.keys);
    oa_text_free(&o.joined);
    oa_json_object_free(&o.object);
    oa_json_object_free(&o.turn);
    return error;
}
