/* SPDX-License-Identifier: Apache-2.0
 * Reading an experiment: the options of the file, and its section `claim`. */
#include "base/yaml_section.h"
#include "evidence/reading.h"

#include <math.h>
#include <string.h>

/* ---- nodes of the section ---- */

const char *oa_claim_scalar(const json_t *node)
{
    return json_string_value(json_object_get(node, OA_YAML_TEXT));
}

enum oa_error oa_claim_refuse(oa_context *c, const struct oa_experiment *e, const json_t *at,
                              const char *format, ...)
{
    char sentence[2048];
    va_list arguments;
    va_start(arguments, format);
    oa_format(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    const json_t *line = json_object_get(at, OA_YAML_LINE);
    if (json_is_integer(line))
        return oa_fail(c, OA_ARGUMENT, "%s:%d: %s", e->path, (int)json_integer_value(line),
                       sentence);
    return oa_fail(c, OA_ARGUMENT, "%s: %s", e->path, sentence);
}

static const char *member(const json_t *map, const char *key)
{
    const char *text = oa_claim_scalar(json_object_get(map, key));
    return text ? text : "";
}

enum oa_error oa_claim_pass_on(oa_context *c, const struct oa_experiment *e, const json_t *at)
{
    char sentence[1024];
    const char *why;
    if (oa_last_error(c, &why) == OA_NO_MEMORY)
        return OA_NO_MEMORY;
    snprintf(sentence, sizeof sentence, "%.*s",
             (int)strcspn(why, "\n") < 1000 ? (int)strcspn(why, "\n") : 1000, why);
    oa_clear_error(c);
    return oa_claim_refuse(c, e, at, "%s", sentence);
}

const char *oa_claim_text(const struct oa_experiment *e, const char *key)
{
    return member(e->claim, key);
}

const char *oa_claim_data(const struct oa_experiment *e, const char *key)
{
    return member(json_object_get(e->claim, "data"), key);
}

const char *oa_claim_published(const struct oa_experiment *e, int i)
{
    return oa_claim_scalar(json_array_get(json_object_get(e->claim, "published"), (size_t)i));
}

bool oa_experiment_plain(const struct oa_experiment *e)
{
    return json_object_get(e->claim, "variants") == NULL;
}

/* ---- required and known keys ---- */

static const char *const texts[] = { "title", "question", "source", "scale", NULL };
static const char *const of_data[] = { "name", "get", "licence", NULL };
static const char *const of_variants[] = { "name", "at", "from", "set", NULL };
static const char *const others[] = { "published", "data",   "predicts", "variants",
                                      "axis",      "answer", "order",    NULL };

static bool among(const char *const *keys, const char *key)
{
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys != NULL;
}

static void list_keys(const char *const *keys, struct oa_text *out)
{
    for (; keys && *keys; keys++)
        oa_text_printf(out, "%s%s", out->length ? ", " : "", *keys);
}

static enum oa_error refuse_key(oa_context *c, const struct oa_experiment *e, const json_t *value,
                                const char *where, const char *key, const char *const *keys,
                                const char *const *more)
{
    struct oa_text known;
    oa_text_init(&known, c);
    list_keys(keys, &known);
    list_keys(more, &known);
    enum oa_error code = oa_claim_refuse(c, e, value, "%s: unknown key \"%.60s\"; known keys: %s",
                                         where, key, known.s ? known.s : "none");
    oa_text_free(&known);
    return code;
}

/* more: further known keys, or NULL. */
static enum oa_error check_keys(oa_context *c, const struct oa_experiment *e, const char *where,
                                json_t *map, const char *const *keys, const char *const *more)
{
    const char *key;
    json_t *value;
    if (!json_is_object(map) || oa_claim_scalar(map))
        return oa_claim_refuse(c, e, map, "%s is missing or not a map", where);
    json_object_foreach(map, key, value)
    {
        if (!among(keys, key) && !(more && among(more, key)))
            return refuse_key(c, e, value, where, key, keys, more);
    }
    return OA_OK;
}

static enum oa_error check_texts(oa_context *c, const struct oa_experiment *e, const char *where,
                                 const json_t *map, const char *const *keys)
{
    for (; *keys; keys++)
        if (!*member(map, *keys))
            return oa_claim_refuse(c, e, NULL, "%s.%s is missing; give it as text", where, *keys);
    return OA_OK;
}

static enum oa_error check_list(oa_context *c, const struct oa_experiment *e, const char *key)
{
    const json_t *list = json_object_get(e->claim, key);
    if (!json_is_array(list) || json_array_size(list) == 0)
        return oa_claim_refuse(c, e, NULL, "claim.%s is missing; give it as a list of texts", key);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!oa_claim_scalar(json_array_get(list, i)))
            return oa_claim_refuse(c, e, NULL, "item %zu of claim.%s is not text", i + 1, key);
    return OA_OK;
}

/* ---- variants ---- */

/* A list as the options have it: a line for each item. */
static enum oa_error value_text(oa_context *c, const struct oa_experiment *e, const char *key,
                                const json_t *value, struct oa_text *out)
{
    if (oa_claim_scalar(value))
        oa_text_printf(out, "%s", oa_claim_scalar(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *item = oa_claim_scalar(json_array_get(value, i));
        if (!item)
            return oa_claim_refuse(c, e, NULL, "an item of %s is not text", key);
        oa_text_printf(out, "%s%s", i ? "\n" : "", item);
    }
    if (!out->s)
        return oa_claim_refuse(
            c, e, value, "%s has no value; a variant sets options to a text, a number or a list",
            key);
    return oa_status(c);
}

static enum oa_error set_option(oa_context *c, const struct oa_experiment *e, const char *key,
                                const json_t *value, struct oa_options *o)
{
    struct oa_text text;
    oa_text_init(&text, c);
    enum oa_error code = value_text(c, e, key, value, &text);
    if (code == OA_OK && oa_options_set(c, o, key, text.s) != OA_OK)
        code = oa_claim_pass_on(c, e, value);
    oa_text_free(&text);
    return code;
}

static enum oa_error name_variant(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                  int i)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    struct oa_variant *v = &e->variants[i];
    const char *name = member(node, "name");
    size_t length = strlen(name);
    if (length == 0 || length >= 60 || *name == '.' || strspn(name, letters) != length)
        return oa_claim_refuse(c, e, json_object_get(node, "name"),
                               "variant %d needs a name of letters, digits, - and _, which is also "
                               "the name of its folder",
                               i + 1);
    for (int k = 0; k < i; k++)
        if (strcmp(e->variants[k].name, name) == 0)
            return oa_claim_refuse(c, e, json_object_get(node, "name"), "two variants are named %s",
                                   name);
    v->name = oa_copy_text(c, name);
    return oa_status(c);
}

/* The lines of compare.attentions in canonical form. */
static enum oa_error read_attentions(oa_context *c, const struct oa_experiment *e,
                                     struct oa_variant *v)
{
    char lines[OA_OPTION_TEXT], *rest = NULL;
    snprintf(lines, sizeof lines, "%s", v->options.compare_attentions);
    v->attention = oa_alloc(c, OA_OPTION_TEXT * sizeof *v->attention);
    if (!v->attention)
        return OA_NO_MEMORY;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (line[strspn(line, " ")] && oa_stacks_canonical(c, line, oa_options_stacks(&v->options),
                                                           &v->attention[v->attentions++]) != OA_OK)
            return oa_claim_pass_on(c, e, NULL);
    if (v->attentions < 2)
        return oa_claim_refuse(
            c, e, NULL, "compare.attentions names %d attentions; a claim compares at least two",
            v->attentions);
    return OA_OK;
}

/* ---- a variant that starts from another one ---- */

static bool variant_includes(const struct oa_variant *v, const char *attention)
{
    bool uniform = strcmp(attention, OA_UNIFORM_ATTENTION) == 0;
    return oa_variant_has(v, attention) || (uniform && oa_variant_has(v, OA_CLAIMED_UNIFORM));
}

/* Errors that would otherwise appear only after the first of the two has run. */
static enum oa_error check_from(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                const struct oa_variant *v)
{
    const struct oa_variant *from = &e->variants[v->from];
    if (*v->options.train_init)
        return oa_claim_refuse(c, e, node, "variant %s starts from %s, so it cannot set train.init",
                               v->name, from->name);
    for (int i = 0; i < v->attentions; i++)
        if (!variant_includes(from, v->attention[i]))
            return oa_claim_refuse(c, e, node,
                                   "variant %s starts from %s, which does not contain \"%s\"",
                                   v->name, from->name, v->attention[i]);
    if (v->options.compare_uniform_baseline && !variant_includes(from, OA_UNIFORM_ATTENTION))
        return oa_claim_refuse(c, e, node,
                               "variant %s starts from %s, which has no uniform baseline: set "
                               "compare.uniform_baseline in both or in neither",
                               v->name, from->name);
    return OA_OK;
}

static enum oa_error read_from(oa_context *c, const struct oa_experiment *e, const json_t *node,
                               int i)
{
    struct oa_variant *v = &e->variants[i];
    if (!node)
        return OA_OK;
    const char *name = oa_claim_scalar(node);
    for (int k = 0; k < i && name; k++)
        if (strcmp(e->variants[k].name, name) == 0)
            v->from = k;
    if (v->from < 0)
        return oa_claim_refuse(
            c, e, node,
            "variant %s starts from \"%.60s\", which is not the name of an earlier variant",
            v->name, name ? name : "");
    return check_from(c, e, node, v);
}

static enum oa_error read_variant(oa_context *c, const struct oa_experiment *e, json_t *node, int i)
{
    struct oa_variant *v = &e->variants[i];
    json_t *set = json_object_get(node, "set"), *at = json_object_get(node, "at"), *value;
    const char *key;
    OA_TRY(check_keys(c, e, "a variant", node, of_variants, NULL));
    OA_TRY(name_variant(c, e, node, i));
    if (at && (!oa_claim_scalar(at) || !oa_parse_real(oa_claim_scalar(at), &v->at)))
        return oa_claim_refuse(c, e, at, "at must be a number");
    if (!json_is_object(set) || oa_claim_scalar(set))
        return oa_claim_refuse(c, e, set, "variant %s needs a map `set` of options", v->name);
    json_object_foreach(set, key, value)
    {
        OA_TRY(set_option(c, e, key, value, &v->options));
    }
    OA_TRY(read_attentions(c, e, v));
    return read_from(c, e, json_object_get(node, "from"), i);
}

static enum oa_error read_variants(oa_context *c, struct oa_experiment *e,
                                   const struct oa_options *shared)
{
    const json_t *list = json_object_get(e->claim, "variants");
    int count = list ? (int)json_array_size(list) : 1;
    if (count == 0)
        return oa_claim_refuse(c, e, list, "claim.variants must be a list of variants");
    e->variants = oa_alloc(c, (size_t)count * sizeof *e->variants);
    if (!e->variants)
        return OA_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        e->variant_count = i + 1;
        e->variants[i] = (struct oa_variant){ .at = NAN, .from = -1, .options = *shared };
        if (list)
            OA_TRY(read_variant(c, e, json_array_get(list, (size_t)i), i));
    }
    if (list)
        return OA_OK;
    e->variants[0].name = oa_copy_text(c, OA_ONLY_VARIANT);
    e->variants[0].only = true;
    return read_attentions(c, e, &e->variants[0]);
}

static enum oa_error read_predictions(oa_context *c, struct oa_experiment *e)
{
    const json_t *list = json_object_get(e->claim, "predicts");
    size_t count = json_array_size(list);
    e->predictions = oa_alloc(c, count * sizeof *e->predictions);
    if (!e->predictions)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        e->prediction_count = (int)i + 1;
        OA_TRY(oa_prediction_read(c, e, json_array_get(list, i), &e->predictions[i]));
    }
    return OA_OK;
}

/* ---- the whole file ---- */

static enum oa_error read_order(oa_context *c, struct oa_experiment *e)
{
    const json_t *order = json_object_get(e->claim, "order");
    e->order = INFINITY;
    if (order && (!oa_claim_scalar(order) || !oa_parse_real(oa_claim_scalar(order), &e->order)))
        return oa_claim_refuse(c, e, order, "claim.order must be a number");
    return OA_OK;
}

enum oa_error oa_experiment_read(oa_context *c, const char *path, struct oa_experiment *out)
{
    struct oa_options shared;
    const char *slash = strrchr(path, '/');
    *out = (struct oa_experiment){ .name = oa_copy_text(c, slash ? slash + 1 : path),
                                   .path = oa_copy_text(c, path) };
    OA_TRY(oa_status(c));
    char *dot = strrchr(out->name, '.');
    if (dot)
        *dot = 0;
    oa_options_default(&shared);
    OA_TRY(oa_options_load(c, &shared, path, NULL));
    OA_TRY(oa_yaml_section(c, path, OA_CLAIM_SECTION, &out->claim));
    json_t *data = json_object_get(out->claim, "data");
    OA_TRY(check_keys(c, out, "the section claim", out->claim, texts, others));
    OA_TRY(check_texts(c, out, "claim", out->claim, texts));
    OA_TRY(check_keys(c, out, "claim.data", data, of_data, NULL));
    OA_TRY(check_texts(c, out, "claim.data", data, of_data));
    OA_TRY(check_list(c, out, "published"));
    OA_TRY(check_list(c, out, "predicts"));
    OA_TRY(read_order(c, out));
    OA_TRY(read_variants(c, out, &shared));
    return read_predictions(c, out);
}

void oa_experiment_free(struct oa_experiment *e)
{
    for (int i = 0; i < e->variant_count; i++) {
        for (int a = 0; a < e->variants[i].attentions; a++)
            oa_free(e->variants[i].attention[a]);
        oa_free(e->variants[i].attention);
        oa_free(e->variants[i].name);
    }
    for (int i = 0; i < e->prediction_count; i++) {
        oa_free(e->predictions[i].text);
        oa_free(e->predictions[i].left.attention);
        oa_free(e->predictions[i].right.attention);
    }
    oa_free(e->variants);
    oa_free(e->predictions);
    oa_free(e->name);
    oa_free(e->path);
    json_decref(e->claim);
    *e = (struct oa_experiment){ 0 };
}
