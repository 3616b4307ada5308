/* SPDX-License-Identifier: Apache-2.0
 *
 * JSONL: an object a line. A value is a text, a number or a truth value; where targets are asked for also a list of
 * texts, each a target.
 */
#include "data/example_parts.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

struct objects {
    struct oa_rows *rows;
    const char *columns;
    struct oa_text_file file;
    int number;           /* of the file */
    struct oa_words keys; /* of the first object, in its order */
    struct oa_column_plan plan;
    struct oa_text joined;
};

static enum oa_error refuse(const struct objects *o, const char *what, const char *key)
{
    return oa_fail(o->rows->context, OA_FORMAT, "%s, line %llu: %s%s%s%s", o->file.name,
                   (unsigned long long)(o->file.line - 1), what, key ? " \"" : "", key ? key : "", key ? "\"" : "");
}

/* ---- which keys ------------------------------------------------------------------------------------------------ */

static enum oa_error plan_keys(struct objects *o, json_t *first)
{
    struct oa_cells cells = { .context = o->rows->context };
    const char *key;
    json_t *value;
    enum oa_error error = OA_OK;
    json_object_foreach(first, key, value)
    {
        if (oa_words_add(&o->keys, key, strlen(key)) < 0)
            return OA_NO_MEMORY;
    }
    if (!oa_reserve(cells.context, &cells.cell, &cells.capacity, (size_t)o->keys.count + 1, sizeof *cells.cell))
        return OA_NO_MEMORY;
    for (int32_t i = 0; i < o->keys.count; i++) {
        size_t n;
        char *s = (char *)oa_words_at(&o->keys, i, &n);
        cells.cell[cells.count++] = (struct oa_cell){ s, n };
    }
    error = oa_columns_plan(o->rows->context, o->rows, o->file.name, o->columns, &cells, true, &o->plan);
    oa_free(cells.cell);
    return error;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* Behind what is in o->joined. */
static enum oa_error print_value(struct objects *o, const char *key, const json_t *value)
{
    struct oa_text *out = &o->joined;
    if (json_is_string(value))
        oa_text_add(out, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        oa_text_printf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        oa_text_real(out, json_real_value(value));
    else if (json_is_boolean(value))
        oa_text_printf(out, "%s", json_is_true(value) ? "true" : "false");
    else
        return refuse(o, value ? "there is neither a text nor a number at the key" : "there is no key", key);
    return OA_OK;
}

static enum oa_error add_list(struct objects *o, const char *key, const json_t *list)
{
    if (json_array_size(list) == 0)
        return refuse(o, "the list is empty at the key", key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        oa_text_cut(&o->joined, 0);
        OA_TRY(print_value(o, key, json_array_get(list, i)));
        OA_TRY(oa_rows_add_cell(o->rows, o->joined.s ? o->joined.s : "", o->joined.length));
    }
    return OA_OK;
}

/* Of a class: 10.0 is printed as 10, and is the class that 10 is. */
static void note_whole_real(struct objects *o, double label)
{
    char written[OA_LABEL_SHOWN];
    if (label != floor(label) || strspn(o->joined.s, "-0123456789") < o->joined.length)
        return; /* what has an exponent is respelled where it is added */
    snprintf(written, sizeof written, "%.1f", label);
    oa_rows_respell(o->rows, written, strlen(written), o->joined.s);
}

static enum oa_error add_column(struct objects *o, const json_t *object, int column)
{
    const struct oa_column *c = &o->plan.column[column];
    bool target = o->rows->answer == OA_ANSWER_TEXT && column > 0;
    oa_text_cut(&o->joined, 0);
    for (int k = 0; k < c->joined; k++) {
        const char *key = oa_words_at(&o->keys, c->at[k], NULL);
        const json_t *value = json_object_get(object, key);
        if (target && c->joined == 1 && json_is_array(value))
            return add_list(o, key, value);
        oa_text_add(&o->joined, " ", k > 0);
        OA_TRY(print_value(o, key, value));
        if (o->rows->answer == OA_ANSWER_CLASS && column == 0 && c->joined == 1 && json_is_real(value))
            note_whole_real(o, json_real_value(value));
    }
    return oa_rows_add_cell(o->rows, o->joined.s ? o->joined.s : "", o->joined.length);
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static enum oa_error add_object(struct objects *o, json_t *object)
{
    if (!json_is_object(object))
        return refuse(o, "there is no object {\"key\": value, …} in the line", NULL);
    if (o->plan.count == 0)
        OA_TRY(plan_keys(o, object));
    for (int i = 0; i < o->plan.count; i++)
        OA_TRY(add_column(o, object, i));
    return oa_rows_end(o->rows, o->number, o->file.line - 1);
}

/* A list over several lines is the usual other form; numbers beyond 64 bits are JSON, and nothing here would hold them.
 */
static enum oa_error refuse_json(const struct objects *o, const json_error_t *why)
{
    if (json_error_code(why) == json_error_numeric_overflow)
        return refuse(o, "a number has more digits than 64 bits hold; write it in quotes, as a text", NULL);
    return refuse(o, "no JSON object by itself (a file has one a line; jq -c '.[]' makes lines of a list):", why->text);
}

static enum oa_error read_line(struct objects *o, const char *line, size_t length)
{
    json_error_t why;
    if (strspn(line, " \t") >= length) {
        oa_rows_leave_out(o->rows, o->file.line - 1);
        return OA_OK;
    }
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        return refuse_json(o, &why);
    enum oa_error error = add_object(o, object);
    json_decref(object);
    return error;
}

static enum oa_error read_lines(struct objects *o)
{
    char *line;
    size_t length;
    while (oa_text_file_line(&o->file, &line, &length))
        OA_TRY(read_line(o, line, length));
    return OA_OK;
}

enum oa_error oa_read_jsonl(struct oa_rows *rows, const char *file, const char *columns)
{
    struct objects o = { .rows = rows, .columns = columns };
    oa_words_init(&o.keys, rows->context);
    oa_text_init(&o.joined, rows->context);
    enum oa_error error = oa_text_file_open(rows->context, file, &o.file);
    if (error == OA_OK)
        error = (o.number = oa_rows_add_file(rows, file)) < 0 ? OA_NO_MEMORY : read_lines(&o);
    rows->carriage_returns += o.file.carriage_returns;
    oa_text_file_close(&o.file);
    oa_words_free(&o.keys);
    oa_text_free(&o.joined);
    return error;
}
