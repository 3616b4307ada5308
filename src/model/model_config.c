/* SPDX-License-Identifier: Apache-2.0
 * config.json: the options of a run, what its model is for, and the size of its vocabulary. */
#include "model/model.h"

#include <jansson.h>
#include <stdlib.h>

static void print_form(const struct oa_model_form *f, struct oa_text *out)
{
    oa_text_printf(out, "\"architecture\": \"%s\", ", oa_architecture_name(f));
    if (f->output != OA_OUTPUT_TOKENS)
        oa_text_printf(out, "\"output\": \"%s\", ", oa_output_name(f->output));
    if (f->output == OA_OUTPUT_CLASSES)
        oa_text_printf(out, "\"classes\": %ld, ", f->classes);
    if (f->segments)
        oa_text_printf(out, "\"segments\": true, ");
}

enum oa_error oa_model_save_config(const struct oa_model *m, const char *path)
{
    struct oa_text options, text;
    oa_text_init(&options, m->context);
    oa_text_init(&text, m->context);
    oa_options_json(&m->options, &options);
    oa_text_printf(&text, "{\"orthant\": \"%s\", ", oa_version());
    print_form(&m->form, &text);
    oa_text_printf(&text, "\"vocabulary\": %ld, \"options\": %s}\n", m->vocabulary, options.s ? options.s : "{}");
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_file_write(m->context, path, text.s, text.length);
    oa_text_free(&options);
    oa_text_free(&text);
    return e;
}

/* The number `key`, or `fallback` where there is none; −1 for what is no number from 1 to INT32_MAX. */
static long count_of(json_t *root, const char *key, long fallback)
{
    json_t *value = json_object_get(root, key);
    json_int_t n = json_integer_value(value);
    if (!value)
        return fallback;
    return json_is_integer(value) && n >= 1 && n <= INT32_MAX ? (long)n : -1;
}

static enum oa_error read_form(oa_context *c, const char *path, json_t *root, struct oa_model_form *f)
{
    const char *architecture = json_string_value(json_object_get(root, "architecture"));
    json_t *output = json_object_get(root, "output"), *segments = json_object_get(root, "segments");
    *f = (struct oa_model_form){ .vocabulary = count_of(root, "vocabulary", -1),
                                 .classes = count_of(root, "classes", 0),
                                 .segments = json_is_true(segments) };
    if (!architecture || !oa_architecture_parse(architecture, f))
        return oa_fail(c, OA_FORMAT,
                       "%s: not a configuration of an Orthant model (\"architecture\" is to be \"decoder\", "
                       "\"encoder\" or \"encoder-decoder\")",
                       path);
    if (output && (!json_is_string(output) || !oa_output_parse(json_string_value(output), &f->output)))
        return oa_fail(c, OA_FORMAT, "%s: \"output\" is to be \"tokens\", \"classes\" or \"number\"", path);
    if (segments && !json_is_boolean(segments))
        return oa_fail(c, OA_FORMAT, "%s: \"segments\" is to be true or false", path);
    if (f->vocabulary < 1 || f->classes < 0)
        return oa_fail(c, OA_FORMAT, "%s: \"%s\" is to be a whole number from 1 to %d", path,
                       f->vocabulary < 1 ? "vocabulary" : "classes", INT32_MAX);
    return OA_OK;
}

static enum oa_error read_config(oa_context *c, const char *path, json_t *root, struct oa_options *options,
                                 struct oa_model_form *form)
{
    json_t *o = json_object_get(root, "options");
    OA_TRY(read_form(c, path, root, form));
    if (!json_is_object(o))
        return oa_fail(c, OA_FORMAT, "%s: not a configuration of an Orthant model (it has no \"options\")", path);
    char *text = json_dumps(o, 0);
    if (!text)
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    enum oa_error e = oa_options_from_json(c, options, path, text);
    free(text);
    return e;
}

enum oa_error oa_config_load(oa_context *c, const char *path, struct oa_options *options, struct oa_model_form *form)
{
    char *text;
    size_t length;
    OA_TRY(oa_file_read(c, path, &text, &length));
    json_error_t where;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    oa_free(text);
    if (!root)
        return oa_fail(c, OA_FORMAT, "%s:%d:%d: %s", path, where.line, where.column, where.text);
    enum oa_error e = read_config(c, path, root, options, form);
    json_decref(root);
    return e;
}
