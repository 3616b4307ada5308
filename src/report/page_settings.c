/* SPDX-License-Identifier: Apache-2.0
 * The last section of report.html: the options of the comparison and the machine it ran on. */
#include "report/page.h"

#include <jansson.h>
#include <string.h>

static void add_value(const json_t *value, struct oa_text *out)
{
    if (json_is_string(value))
        oa_html_text(out, json_string_length(value) ? json_string_value(value) : "–");
    else if (json_is_integer(value))
        oa_text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        oa_text_real(out, json_real_value(value));
    else if (json_is_boolean(value))
        oa_text_printf(out, json_is_true(value) ? "yes" : "no");
    else
        oa_text_printf(out, "–");
}

/* Sizes in bytes go by these names. */
static bool is_bytes(const char *key)
{
    static const char *const names[] = { "memory", "l1", "l2", "l3" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return false;
}

/* Options that have no effect on a comparison. */
static bool is_irrelevant_setting(const char *section, const char *key)
{
    return strcmp(key, "generate") == 0 || strcmp(key, "cluster") == 0 ||
           (strcmp(section, "model") == 0 && strcmp(key, "attention") == 0);
}

static void settings_add_row(const char *key, const json_t *value, bool same, struct oa_text *out)
{
    oa_text_printf(out, "<tr%s><td>", same ? " class=\"same\"" : "");
    oa_html_text(out, key);
    oa_text_printf(out, "</td><td>");
    char number[OA_NUMBER];
    if (json_is_number(value) && is_bytes(key))
        oa_text_printf(out, "%s", oa_number_bytes(number, json_number_value(value)));
    else if (json_is_array(value))
        for (size_t i = 0; i < json_array_size(value); i++) {
            oa_text_printf(out, i ? ", " : "");
            add_value(json_array_get(value, i), out);
        }
    else
        add_value(value, out);
    oa_text_printf(out, "</td></tr>\n");
}

/* 1 and 1.0 are the same setting. */
static bool settings_equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return b && json_equal((json_t *)a, (json_t *)b);
}

/* The plain values of an object as one table, each object in it as another. */
static void settings_add_object(const char *name, const json_t *object, const json_t *defaults,
                                struct oa_text *out)
{
    const char *key;
    json_t *value;
    bool open = false;
    json_object_foreach((json_t *)object, key, value)
    {
        if (json_is_object(value) || is_irrelevant_setting(name, key))
            continue;
        if (!open) {
            oa_text_printf(out, "<table><caption>");
            oa_html_text(out, name);
            oa_text_printf(out, "</caption><tbody>\n");
            open = true;
        }
        settings_add_row(key, value, settings_equal(value, json_object_get(defaults, key)), out);
    }
    if (open)
        oa_text_printf(out, "</tbody></table>\n");
    json_object_foreach((json_t *)object, key, value)
    {
        if (json_is_object(value) && !is_irrelevant_setting(name, key))
            settings_add_object(key, value, json_object_get(defaults, key), out);
    }
}

static void add_json(const char *heading, const char *id, const char *json, const json_t *defaults,
                     struct oa_text *out)
{
    json_t *root = json ? json_loads(json, 0, NULL) : NULL;
    if (json_is_object(root)) {
        oa_text_printf(out, "<h3 id=\"%s\">%s</h3>\n<div class=\"panel columns\">\n", id, heading);
        settings_add_object(heading, root, defaults, out);
        oa_text_printf(out, "</div>\n");
    }
    json_decref(root);
}

static json_t *default_options(oa_context *c)
{
    struct oa_options o;
    struct oa_text t;
    oa_options_default(&o);
    oa_text_init(&t, c);
    oa_options_json(&o, &t);
    json_t *root = t.s ? json_loads(t.s, 0, NULL) : NULL;
    oa_text_free(&t);
    return root;
}

void oa_page_settings(const struct oa_comparison *k, struct oa_text *out)
{
    json_t *defaults = default_options(out->context);
    oa_page_open("settings", "Settings and machine", out);
    add_json("Machine", "machine", k->machine_json, NULL, out);
    add_json("Options shared by all runs (pale: defaults)", "options", k->options_json, defaults,
             out);
    oa_page_close(out);
    json_decref(defaults);
}
