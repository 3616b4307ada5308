/* SPDX-License-Identifier: Apache-2.0
 * Identity of a model: options model.*, seed, vocabulary, form, as JSON in the metadata of
 * model.safetensors. Detects a config.json that was edited without changing shapes (positions, the
 * window of an attention). */
#include "model/model_identity.h"

#include "base/json_write.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Omitted for plain language models, as in files of old versions. */
static void identity_add_form(oa_context *c, json_t *own, const struct oa_model_form *f)
{
    if (oa_is_language_model(f) && !f->segments)
        return;
    oa_json_set(c, own, "architecture", json_string(oa_architecture_name(f)));
    oa_json_set(c, own, "output", json_string(oa_output_name(f->output)));
    oa_json_set(c, own, "classes", json_integer(f->classes));
    oa_json_set(c, own, "segments", json_boolean(f->segments));
    if (f->patch)
        oa_json_set(c, own, "patch", json_integer(f->patch));
    if (f->channels)
        oa_json_set(c, own, "image",
                    json_pack("[I, I, I]", (json_int_t)f->channels, (json_int_t)f->image_height,
                              (json_int_t)f->image_width));
    if (!f->labels)
        return;
    json_t *labels = json_array();
    for (long i = 0; i < f->classes; i++)
        oa_json_append(c, labels, json_string(f->labels[i]));
    oa_json_set(c, own, "labels", labels);
}

static json_t *identity_json(oa_context *c, const struct oa_options *o,
                             const struct oa_model_form *f)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_options_json(o, &text);
    json_t *all = text.s ? json_loads(text.s, 0, NULL) : NULL,
           *own = json_copy(json_object_get(all, "model"));
    oa_json_set(c, own, "seed", json_integer((json_int_t)oa_chance_seed(o, OA_CHANCE_INIT)));
    oa_json_set(c, own, "vocabulary", json_integer(f->vocabulary));
    identity_add_form(c, own, f);
    json_decref(all);
    oa_text_free(&text);
    if (!own)
        oa_fail(c, OA_NO_MEMORY, "out of memory for the options of a model");
    return own;
}

char *oa_model_identity(oa_context *c, const struct oa_options *o, const struct oa_model_form *f)
{
    json_t *own = identity_json(c, o, f);
    char *text = oa_json_dump(c, own, JSON_COMPACT);
    json_decref(own);
    return text;
}

static void identity_value_text(json_t *value, char *out, size_t size)
{
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    snprintf(out, size, "%s", text ? text : "absent");
    free(text);
}

static enum oa_error identity_compare(oa_context *c, const char *path, json_t *trained, json_t *now)
{
    const char *key;
    json_t *value;
    json_object_foreach(trained, key, value)
    {
        char was[300], is[300];
        if (json_equal(value, json_object_get(now, key)))
            continue;
        identity_value_text(value, was, sizeof was);
        identity_value_text(json_object_get(now, key), is, sizeof is);
        return oa_fail(c, OA_FORMAT,
                       "%s: the model was trained with %s = %s, but config.json has %s: it was "
                       "altered or belongs to another run; restore the value",
                       path, key, was, is);
    }
    return OA_OK;
}

enum oa_error oa_model_check_identity(oa_context *c, const char *path, const char *text,
                                      const struct oa_options *o, const struct oa_model_form *f)
{
    json_t *trained = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *now = identity_json(c, o, f);
    enum oa_error e = oa_status(c);
    if (e == OA_OK && !json_is_object(trained))
        e = oa_fail(c, OA_FORMAT, "%s: metadata \"%s\" is not a JSON object", path,
                    OA_MODEL_IDENTITY);
    if (e == OA_OK)
        e = identity_compare(c, path, trained, now);
    json_decref(trained);
    json_decref(now);
    return e;
}
