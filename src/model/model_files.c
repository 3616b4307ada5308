/* SPDX-License-Identifier: Apache-2.0
 * model.safetensors and config.json. */
#include "model/model.h"

#include <jansson.h>
#include <string.h>

static struct oa_array array_of(const struct oa_model *m, const struct oa_parameter *p)
{
    enum oa_type type = m->device->kernels.real;
    struct oa_array a = { .name = (char *)(uintptr_t)p->name,
                          .type = type,
                          .dims = p->dims,
                          .data = p->value,
                          .bytes = (size_t)p->count * oa_type_size(type) };
    for (int i = 0; i < p->dims; i++)
        a.dim[i] = p->dim[i];
    return a;
}

/* The values of a parameter of bits are written as integers. */
static int32_t *make_integers(const struct oa_model *m, const struct oa_parameter *p, struct oa_array *a)
{
    int32_t *out = oa_alloc(m->context, (size_t)p->count * sizeof *out);
    for (long i = 0; out && i < p->count; i++)
        out[i] = (int32_t)oa_array_value(a, (size_t)i);
    a->type = OA_I32;
    a->bytes = (size_t)p->count * sizeof *out;
    a->data = out;
    return out;
}

static void free_integers(struct oa_array *arrays, int count)
{
    for (int i = 0; i < count; i++) {
        if (arrays[i].type == OA_I32)
            oa_free((void *)(uintptr_t)arrays[i].data);
    }
}

enum oa_error oa_model_save(const struct oa_model *m, const char *path, bool frozen)
{
    struct oa_array *arrays = oa_alloc(m->context, (size_t)m->store.count * sizeof *arrays);
    if (!arrays)
        return OA_NO_MEMORY;
    int count = 0;
    for (int i = 0; i < m->store.count; i++) {
        const struct oa_parameter *p = m->store.parameter[i];
        if (!p->trainable && !frozen && !p->kept && !p->moving)
            continue;
        arrays[count] = array_of(m, p);
        if (p->bits && !make_integers(m, p, &arrays[count]))
            break;
        count++;
    }
    struct oa_text spec;
    char trainable[32], hidden[32];
    oa_text_init(&spec, m->context);
    oa_spec_print(&m->spec, &spec);
    snprintf(trainable, sizeof trainable, "%ld", m->store.trainable);
    snprintf(hidden, sizeof hidden, "%ld", m->store.frozen);
    const char *metadata[] = { "format",    "pt",      "orthant", oa_version(), "attention", spec.s ? spec.s : "",
                               "trainable", trainable, "frozen",  hidden,       NULL };
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_tensors_write(m->context, path, arrays, count, metadata);
    oa_text_free(&spec);
    free_integers(arrays, count);
    oa_free(arrays);
    return e;
}

static bool fits(const struct oa_array *a, const struct oa_parameter *p)
{
    if (a->dims != p->dims)
        return false;
    for (int i = 0; i < p->dims; i++)
        if (a->dim[i] != p->dim[i])
            return false;
    if (p->bits)
        return a->type == OA_I32 || a->type == OA_I64;
    return a->type == OA_F32 || a->type == OA_F64 || a->type == OA_BF16;
}

static enum oa_error copy_in(struct oa_model *m, const struct oa_array *a, struct oa_parameter *p, const char *path)
{
    if (!fits(a, p))
        return oa_fail(m->context, OA_SHAPE,
                       "%s: tensor %s has type %s and %d dimensions (first %ld); the model needs %d "
                       "dimensions (first %ld): was it made with other model.* options?",
                       path, a->name, oa_type_name(a->type), a->dims, a->dims ? a->dim[0] : 1, p->dims, p->dim[0]);
    bool wide = m->device->kernels.real == OA_F64;
    for (long i = 0; i < p->count; i++) {
        double x = oa_array_value(a, (size_t)i);
        if (wide)
            ((double *)p->value)[i] = x;
        else
            ((float *)p->value)[i] = (float)x;
    }
    return OA_OK;
}

enum oa_error oa_model_load(struct oa_model *m, const char *path)
{
    struct oa_tensors *f;
    OA_TRY(oa_tensors_open(m->context, path, &f));
    enum oa_error e = OA_OK;
    for (int i = 0; e == OA_OK && i < m->store.count; i++) {
        struct oa_parameter *p = m->store.parameter[i];
        const struct oa_array *a = oa_tensors_find(f, p->name);
        if (a)
            e = copy_in(m, a, p, path);
        else if (p->trainable || p->moving)
            e = oa_fail(m->context, OA_FORMAT, "%s: tensor %s is missing", path, p->name);
    }
    for (int i = 0; e == OA_OK && i < oa_tensors_count(f); i++)
        if (!oa_store_find(&m->store, oa_tensors_at(f, i)->name))
            e = oa_fail(m->context, OA_FORMAT, "%s: tensor %s is not part of this model", path,
                        oa_tensors_at(f, i)->name);
    oa_tensors_close(f);
    if (e == OA_OK)
        oa_store_refresh(&m->store);
    return e;
}

/* ---- config.json ---- */

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
    *vocabulary = (long)json_integer_value(tokens);
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
