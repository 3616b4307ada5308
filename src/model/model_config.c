/* SPDX-License-Identifier: Apache-2.0
 * config.json: the options of a run and the size of its vocabulary. */
#include "model/model.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum oa_error oa_model_save_config(const struct oa_model *m, const char *path)
{
    struct oa_text options, text;
    oa_text_init(&options, m->context);
    oa_text_init(&text, m->context);
    oa_options_json(&m->options, &options);
    oa_text_printf(&text,
                   "{\"orthant\": \"%s\", \"architecture\": \"decoder\", \"vocabulary\": %ld, \"options\": %s}\n",
                   oa_version(), m->vocabulary, options.s ? options.s : "{}");
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_file_write(m->context, path, text.s, text.length);
    oa_text_free(&options);
    oa_text_free(&text);
    return e;
}

static enum oa_error read_config(oa_context *c, const char *path, json_t *root, struct oa_options *options,
                                 long *vocabulary)
{
    const char *architecture = json_string_value(json_object_get(root, "architecture"));
    json_t *tokens = json_object_get(root, "vocabulary"), *o = json_object_get(root, "options");
    if (!architecture || strcmp(architecture, "decoder") != 0 || !json_is_integer(tokens) || !json_is_object(o))
        return oa_fail(c, OA_FORMAT,
                       "%s: not a configuration of an Orthant model (needs \"architecture\": \"decoder\", "
                       "\"vocabulary\" and \"options\")",
                       path);
    json_int_t rows = json_integer_value(tokens);
    if (rows < 1 || rows > INT32_MAX)
        return oa_fail(c, OA_FORMAT, "%s: the vocabulary is %lld; expected 1 to %d", path, (long long)rows, INT32_MAX);
    *vocabulary = (long)rows;
    char *text = json_dumps(o, 0);
    if (!text)
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    enum oa_error e = oa_options_from_json(c, options, path, text);
    free(text);
    return e;
}

enum oa_error oa_config_load(oa_context *c, const char *path, struct oa_options *options, long *vocabulary)
{
    char *text;
    size_t length;
    OA_TRY(oa_file_read(c, path, &text, &length));
    json_error_t where;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    oa_free(text);
    if (!root)
        return oa_fail(c, OA_FORMAT, "%s:%d:%d: %s", path, where.line, where.column, where.text);
    enum oa_error e = read_config(c, path, root, options, vocabulary);
    json_decref(root);
    return e;
}
