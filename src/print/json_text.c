/* SPDX-License-Identifier: Apache-2.0
 * JSON values as text. jansson's own printer gives 17 digits to every number (0.1 becomes
 * 0.10000000000000001) and a line to every point of a curve; a file that people open deserves
 * better. */
#include "print/print.h"

#include "base/json_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static void add(const json_t *value, int depth, struct oa_text *out);

/* A zero byte within the text is \u0000. */
static void add_string(const json_t *string, struct oa_text *out)
{
    char *quoted = oa_json_dump(out->context, string, JSON_ENCODE_ANY);
    if (quoted)
        oa_text_add(out, quoted, strlen(quoted));
    oa_free(quoted);
}

/* Everything on one line: a depth that stays below 0. */
enum { ONE_LINE = -1000000 };

static void new_line(int depth, struct oa_text *out)
{
    if (depth >= 0)
        oa_text_printf(out, "\n%*s", 2 * depth, "");
}

static const char *comma(int depth)
{
    return depth >= 0 ? "," : ", ";
}

static void json_text_add_object(const json_t *object, int depth, struct oa_text *out)
{
    const char *key, *between = "";
    json_t *value;
    oa_text_printf(out, "{");
    json_object_foreach((json_t *)object, key, value)
    {
        oa_text_printf(out, "%s", between);
        new_line(depth + 1, out);
        json_t *name = json_string(key);
        add_string(name, out);
        json_decref(name);
        oa_text_printf(out, ": ");
        add(value, depth + 1, out);
        between = comma(depth);
    }
    if (*between)
        new_line(depth, out);
    oa_text_printf(out, "}");
}

static void add_array(const json_t *array, int depth, struct oa_text *out)
{
    bool lines = json_is_object(json_array_get(array, 0));
    oa_text_printf(out, "[");
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i)
            oa_text_printf(out, "%s", lines ? comma(depth) : ", ");
        if (lines)
            new_line(depth + 1, out);
        add(json_array_get(array, i), depth + 1, out);
    }
    if (lines)
        new_line(depth, out);
    oa_text_printf(out, "]");
}

static void add(const json_t *value, int depth, struct oa_text *out)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        json_text_add_object(value, depth, out);
        break;
    case JSON_ARRAY:
        add_array(value, depth, out);
        break;
    case JSON_STRING:
        add_string(value, out);
        break;
    case JSON_INTEGER:
        oa_text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        oa_text_real(out, json_real_value(value));
        break;
    default:
        oa_text_printf(out, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
    }
}

static void print(const json_t *value, int depth, struct oa_text *out)
{
    if (value)
        add(value, depth, out);
    else
        oa_fail(out->context, OA_NO_MEMORY, "no memory left to write JSON");
    oa_text_printf(out, "\n");
}

void oa_json_text(const json_t *value, struct oa_text *out)
{
    print(value, 0, out);
}

void oa_json_line_text(const json_t *value, struct oa_text *out)
{
    print(value, ONE_LINE, out);
}

json_t *oa_json_string(const char *s)
{
    if (!s)
        return json_null();
    json_t *value = json_string(s);
    if (value)
        return value;
    char *copy = strdup(s);
    for (utf8proc_ssize_t i = 0, n; copy && copy[i]; i += n > 0 ? n : 1) {
        utf8proc_int32_t code;
        n = utf8proc_iterate((const utf8proc_uint8_t *)copy + i, -1, &code);
        if (n <= 0)
            copy[i] = '?';
    }
    value = copy ? json_string(copy) : NULL;
    free(copy);
    return value;
}
