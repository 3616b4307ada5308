/* SPDX-License-Identifier: Apache-2.0
 * JSON lines, and lists of objects, as tables. */
#include "data/json_line.h"
#include "import/sheet.h"

#include <string.h>

enum { DEEPEST = 8 }; /* objects in objects */

static enum oa_error refuse_json_row(const struct oa_sheet *s, unsigned long line,
                                     const struct oa_json_fault *fault)
{
    if (!fault->why)
        return oa_fail(s->context, OA_NO_MEMORY, "out of memory for reading %s", s->path);
    return oa_fail(s->context, OA_FORMAT,
                   "%s:%lu: not a JSON object (byte %zu: %s); write one object on each line",
                   s->path, line, fault->at, fault->why);
}

static enum oa_error add_json_cell(struct oa_sheet *s, const char *name, size_t length,
                                   const struct oa_json_value *value)
{
    int32_t column = oa_words_add(&s->names, name, length);
    if (column < 0)
        return OA_NO_MEMORY;
    if (*value->s != '"')
        return oa_sheet_add(s, column, value->s, value->length);
    struct oa_text text;
    oa_text_init(&text, s->context);
    const char *why = oa_json_string_text(value, &text);
    enum oa_error e = why ? oa_fail(s->context, OA_FORMAT, "%s:%lu: %.*s: %s", s->path,
                                    s->row[s->rows - 1].line, (int)length, name, why)
                          : oa_sheet_add(s, column, text.s ? text.s : "", text.length);
    oa_text_free(&text);
    return e;
}

/* The members of an object as cells of the newest row. outer: "a." of the members of a. */
static enum oa_error add_object(struct oa_sheet *s, const struct oa_json_value *object,
                                const char *outer, int depth)
{
    struct oa_json_object o;
    struct oa_json_fault fault;
    struct oa_text name;
    enum oa_error e = OA_OK;
    oa_json_object_init(&o, s->context);
    oa_text_init(&name, s->context);
    if (!oa_json_object_cut(&o, object->s, object->length, &fault))
        e = refuse_json_row(s, s->row[s->rows - 1].line, &fault);
    for (size_t i = 0; e == OA_OK && i < o.count; i++) {
        const struct oa_json_value *value = &o.member[i].value;
        oa_text_cut(&name, 0);
        oa_text_printf(&name, "%s", outer);
        if (!o.member[i].key_length || *value->s == '[')
            continue;
        oa_text_add(&name, o.keys.s + o.member[i].key, o.member[i].key_length);
        e = oa_status(s->context);
        if (e != OA_OK)
            continue;
        if (*value->s != '{') {
            e = add_json_cell(s, name.s, name.length, value);
        } else if (depth < DEEPEST) {
            oa_text_printf(&name, ".");
            e = name.s ? add_object(s, value, name.s, depth + 1) : OA_NO_MEMORY;
        }
    }
    oa_text_free(&name);
    oa_json_object_free(&o);
    return e;
}

static enum oa_error read_lines(struct oa_sheet *s, const char *data, size_t length)
{
    unsigned long line = 1;
    for (const char *at = data, *end = data + length; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at), blank = 0;
        while (blank < n && strchr(" \t\r", at[blank]))
            blank++;
        if (blank < n) {
            OA_TRY(oa_sheet_begin_row(s, line));
            OA_TRY(add_object(s, &(struct oa_json_value){ at, n }, "", 0));
        }
        at += n + 1;
    }
    return OA_OK;
}

/* Rows are numbered instead of lines. The list is checked as the value of a member. */
static enum oa_error read_list(struct oa_sheet *s, const char *data, size_t length)
{
    struct oa_text whole;
    struct oa_json_object o;
    struct oa_json_fault fault;
    struct oa_json_value list, item;
    enum oa_error e = OA_OK;
    oa_text_init(&whole, s->context);
    oa_json_object_init(&o, s->context);
    oa_text_printf(&whole, "{\"rows\":");
    oa_text_add(&whole, data, length);
    oa_text_printf(&whole, "}");
    if (oa_status(s->context) != OA_OK)
        e = OA_NO_MEMORY;
    else if (!oa_json_object_cut(&o, whole.s, whole.length, &fault))
        e = refuse_json_row(s, 1, &fault);
    else if (o.count != 1 || oa_json_find(&o, "rows", 4, &list) != 1)
        e = oa_fail(s->context, OA_FORMAT, "%s: more than one list; give one list of objects",
                    s->path);
    for (size_t at = 0; e == OA_OK && oa_json_list_next(&list, &at, &item);) {
        e = oa_sheet_begin_row(s, (unsigned long)s->rows + 1);
        if (e == OA_OK)
            e = add_object(s, &item, "", 0);
    }
    oa_json_object_free(&o);
    oa_text_free(&whole);
    return e;
}

enum oa_error oa_sheet_read_json(struct oa_sheet *s, const char *data, size_t length)
{
    size_t blank = strspn(data, " \t\r\n");
    return data[blank] == '[' ? read_list(s, data + blank, length - blank)
                              : read_lines(s, data, length);
}
