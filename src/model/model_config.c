/* SPDX-License-Identifier: Apache-2.0
 * config.json: options of a run, form and vocabulary size of its model. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "model/model.h"

#include <string.h>
#include <sys/stat.h>

static const char damaged[] = "the file is damaged or truncated: restore it from a copy of the "
                              "run, or train the run again in another folder";

static void config_print_texts(const char *key, char *const *name, long count, struct oa_text *out)
{
    oa_text_printf(out, "\"%s\": [", key);
    for (long i = 0; i < count; i++) {
        json_t *label = json_string(name[i]);
        char *text = oa_json_dump(out->context, label, JSON_ENCODE_ANY);
        oa_text_printf(out, "%s%s", i ? ", " : "", text ? text : "null");
        oa_free(text);
        json_decref(label);
    }
    oa_text_printf(out, "], ");
}

static void config_print_form(const struct oa_model_form *f, struct oa_text *out)
{
    oa_text_printf(out, "\"architecture\": \"%s\", ", oa_architecture_name(f));
    if (f->output != OA_OUTPUT_TOKENS)
        oa_text_printf(out, "\"output\": \"%s\", ", oa_output_name(f->output));
    if (f->output == OA_OUTPUT_CLASSES)
        oa_text_printf(out, "\"classes\": %ld, ", f->classes);
    if (f->output == OA_OUTPUT_CLASSES && f->labels)
        config_print_texts("labels", f->labels, f->classes, out);
    if (f->segments)
        oa_text_printf(out, "\"segments\": true, ");
    if (f->patch)
        oa_text_printf(out, "\"patch\": %ld, ", f->patch);
    if (f->channels)
        oa_text_printf(out, "\"channels\": %ld, \"image_height\": %ld, \"image_width\": %ld, ",
                       f->channels, f->image_height, f->image_width);
}

enum oa_error oa_model_save_config(const struct oa_model *m, const struct oa_labels *specials,
                                   const char *path)
{
    struct oa_text options, text;
    oa_text_init(&options, m->context);
    oa_text_init(&text, m->context);
    oa_options_json(&m->options, &options);
    oa_text_printf(&text, "{\"orthant\": \"%s\", ", oa_version());
    config_print_form(&m->form, &text);
    if (specials)
        config_print_texts("specials", specials->name, specials->count, &text);
    oa_text_printf(&text, "\"vocabulary\": %ld, \"options\": %s}\n", m->vocabulary,
                   options.s ? options.s : "{}");
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_file_write(m->context, path, text.s, text.length);
    oa_text_free(&options);
    oa_text_free(&text);
    return e;
}

/* The integer `key`, `fallback` if absent, −1 if not from 1 to INT32_MAX. */
static long config_count(json_t *root, const char *key, long fallback)
{
    json_t *value = json_object_get(root, key);
    json_int_t n = json_integer_value(value);
    if (!value)
        return fallback;
    return json_is_integer(value) && n >= 1 && n <= INT32_MAX ? (long)n : -1;
}

static enum oa_error config_read_form(oa_context *c, const char *path, json_t *root,
                                      struct oa_model_form *f)
{
    const char *architecture = json_string_value(json_object_get(root, "architecture"));
    json_t *output = json_object_get(root, "output"), *segments = json_object_get(root, "segments");
    *f = (struct oa_model_form){ .vocabulary = config_count(root, "vocabulary", -1),
                                 .classes = config_count(root, "classes", 0),
                                 .segments = json_is_true(segments),
                                 .patch = config_count(root, "patch", 0),
                                 .channels = config_count(root, "channels", 0),
                                 .image_height = config_count(root, "image_height", 0),
                                 .image_width = config_count(root, "image_width", 0) };
    if (!architecture || !oa_architecture_parse(architecture, f))
        return oa_fail(c, OA_FORMAT,
                       "%s: not a configuration of an Orthant model (\"architecture\" must be "
                       "\"decoder\", \"encoder\" or \"encoder-decoder\")",
                       path);
    if (output &&
        (!json_is_string(output) || !oa_output_parse(json_string_value(output), &f->output)))
        return oa_fail(c, OA_FORMAT,
                       "%s: \"output\" must be \"tokens\", \"classes\", "
                       "\"number\" or \"states\"",
                       path);
    if (segments && !json_is_boolean(segments))
        return oa_fail(c, OA_FORMAT, "%s: \"segments\" must be true or false", path);
    const char *wrong = f->vocabulary < 1     ? "vocabulary"
                        : f->classes < 0      ? "classes"
                        : f->patch < 0        ? "patch"
                        : f->channels < 0     ? "channels"
                        : f->image_height < 0 ? "image_height"
                        : f->image_width < 0  ? "image_width"
                                              : NULL;
    if (!wrong)
        return OA_OK;
    json_t *found = json_object_get(root, wrong);
    char *value = found ? oa_json_dump(c, found, JSON_ENCODE_ANY) : NULL;
    enum oa_error e = oa_fail(c, OA_FORMAT, "%s: \"%s\" is %.64s, expected an integer from 1 to %d",
                              path, wrong, value ? value : "missing", INT32_MAX);
    oa_free(value);
    return e;
}

static enum oa_error config_read(oa_context *c, const char *path, json_t *root,
                                 struct oa_options *options, struct oa_model_form *form)
{
    json_t *o = json_object_get(root, "options");
    OA_TRY(config_read_form(c, path, root, form));
    if (!json_is_object(o))
        return oa_fail(c, OA_FORMAT,
                       "%s: not a configuration of an Orthant model (\"options\" missing)", path);
    char *text = oa_json_dump(c, o, 0);
    if (!text)
        return OA_NO_MEMORY;
    enum oa_error e = oa_options_from_json(c, options, path, text);
    oa_free(text);
    if (e == OA_OK && !options->model_head_width && options->model_width % options->model_heads)
        e = oa_fail(c, OA_ARGUMENT, "%s: model.heads = %ld does not divide model.width = %ld", path,
                    options->model_heads, options->model_width);
    if (e != OA_ARGUMENT)
        return e;
    /* An invalid value in a file is OA_FORMAT, not a usage error. */
    const char *why;
    oa_last_error(c, &why);
    char *sentence = oa_copy_text(c, why);
    oa_clear_error(c);
    e = sentence ? oa_fail(c, OA_FORMAT, "%s; %s", sentence, damaged) : OA_NO_MEMORY;
    oa_free(sentence);
    return e;
}

enum oa_error oa_config_load(oa_context *c, const char *path, struct oa_options *options,
                             struct oa_model_form *form)
{
    json_t *root;
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) /* a pipe could block */
        return oa_fail(c, OA_IO, "cannot read %s: not a regular file", path);
    OA_TRY(oa_json_read(c, path, damaged, &root));
    enum oa_error e = config_read(c, path, root, options, form);
    json_decref(root);
    return e;
}

/* ---- labels ---- */

static enum oa_error config_read_texts(oa_context *c, const char *path, const char *key,
                                       const json_t *list, long classes, struct oa_labels *out)
{
    size_t listed = json_array_size(list); /* allocation by actual size, not by `classes` */
    char **name = oa_alloc(c, (listed + 1) * sizeof *name);
    long count = 0;
    while (name && count < (long)listed && json_string_length(json_array_get(list, (size_t)count)))
        count += (name[count] = (char *)(uintptr_t)json_string_value(
                      json_array_get(list, (size_t)count))) != NULL;
    enum oa_error e = name ? OA_OK : OA_NO_MEMORY;
    if (name && (count != classes || listed != (size_t)classes))
        e = oa_fail(c, OA_FORMAT, "%s: \"%s\" must be a list of %ld strings%s", path, key, classes,
                    strcmp(key, "labels") == 0 ? ", the names of the classes" : "");
    if (e == OA_OK)
        e = oa_labels_copy(c, name, count, out);
    oa_free(name);
    return e;
}

enum oa_error oa_config_labels(oa_context *c, const char *path, struct oa_model_form *form,
                               struct oa_labels *out)
{
    json_t *root;
    *out = (struct oa_labels){ 0 };
    OA_TRY(oa_json_read(c, path, damaged, &root));
    json_t *list = json_object_get(root, "labels");
    enum oa_error e = list ? config_read_texts(c, path, "labels", list, form->classes, out) : OA_OK;
    json_decref(root);
    form->labels = out->name;
    return e;
}

enum oa_error oa_config_specials(oa_context *c, const char *path, struct oa_labels *out)
{
    json_t *root;
    *out = (struct oa_labels){ 0 };
    OA_TRY(oa_json_read(c, path, damaged, &root));
    json_t *list = json_object_get(root, "specials");
    enum oa_error e =
        list ? config_read_texts(c, path, "specials", list, (long)json_array_size(list), out)
             : OA_OK;
    json_decref(root);
    return e;
}
