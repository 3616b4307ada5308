/* SPDX-License-Identifier: Apache-2.0
 *
 * A prediction proves nothing when it was written after the numbers. Before the first run of an
 * experiment its predictions, its options and digests of its data go into declared.json; later they
 * must be the same. Comparisons check by themselves that their runs have their options
 * (train/fingerprint.h); they do not check margins, baselines and predictions, nor the data that
 * another comparison had under the same name.
 */
#include "base/checksum.h"
#include "evidence/reading.h"

#include <string.h>
#include <time.h>

#define SCHEMA "orthant.declared/1"

static const char remedy[] =
    "restore the file, or give the changed experiment another name to run it anew";

bool oa_declared_free(const char *key)
{
    const struct oa_option_row *row = oa_option_at(oa_option_number(key));
    return row && !(row->role & (OA_DECIDES_NUMBERS | OA_DECIDES_DATA | OA_DECIDES_VERDICTS));
}

/* Options that are not the defaults: an option that a later version adds has no effect by default.
 */
static json_t *options_json(oa_context *c, const struct oa_options *o)
{
    const struct oa_option_row *row;
    json_t *out = json_object();
    struct oa_options plain;
    oa_options_default(&plain);
    plain.compare_seeds = 3; /* its default when declarations began to leave it out */
    for (int i = 0; (row = oa_option_at(i)); i++) {
        const char *key = oa_option_stored_key(row);
        struct oa_option_pair value;
        oa_option_pair_open(c, o, &plain, key, &value);
        if (!oa_declared_free(key) && value.differ)
            json_object_set_new(out, key, json_string(value.a));
        oa_option_pair_close(&value);
    }
    return out;
}

/* data NULL: without digests of the data. */
static enum oa_error declaration_json(oa_context *c, const struct oa_experiment *e,
                                      const char *data, json_t **out)
{
    json_t *predictions = json_array(), *variants = json_object(), *digests = json_object();
    for (int i = 0; i < e->prediction_count; i++)
        json_array_append_new(predictions, json_string(e->predictions[i].text));
    for (int i = 0; i < e->variant_count; i++) {
        const struct oa_variant *v = &e->variants[i];
        json_t *options = options_json(c, &v->options);
        if (v->from >= 0)
            json_object_set_new(options, "train.init",
                                json_sprintf("the comparison %s", e->variants[v->from].name));
        json_object_set_new(variants, v->name, options);
    }
    *out = json_pack("{s:s, s:o, s:o, s:o, s:o}", "schema", SCHEMA, "predicts", predictions,
                     "variants", variants, "claim", oa_claim_texts(e), "data", digests);
    if (!*out)
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", e->path);
    OA_TRY(oa_status(c));
    return data ? oa_experiment_digests(c, e, data, digests) : OA_OK;
}

/* ---- comparing it with the experiment of now ---- */

static enum oa_error refuse_prediction(oa_context *c, const struct oa_experiment *e,
                                       const json_t *before, const json_t *now)
{
    for (size_t i = 0;; i++) {
        const char *was = json_string_value(json_array_get(before, i)),
                   *is = json_string_value(json_array_get(now, i));
        if (was && is && strcmp(was, is) == 0)
            continue;
        return oa_fail(
            c, OA_ARGUMENT,
            "%s: prediction %zu was declared as \"%s\" before the runs, and now it is \"%s\"; %s",
            e->path, i + 1, was ? was : "none", is ? is : "none", remedy);
    }
}

/* A list in one line; to be freed. */
static char *option_of(oa_context *c, const json_t *options, const char *key)
{
    const char *value = json_string_value(json_object_get(options, key));
    struct oa_text line;
    oa_text_init(&line, c);
    for (const char *at = value ? value : "its default"; *at; at++)
        oa_text_printf(&line, *at == '\n' ? ", " : "%c", *at);
    return line.s;
}

/* The first of the keys whose values differ; NULL: there is none. */
static const char *difference(json_t *keys, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    json_object_foreach(keys, key, value)
    {
        if (!json_equal(json_object_get(a, key), json_object_get(b, key)))
            return key;
    }
    return NULL;
}

static enum oa_error refuse_variant(oa_context *c, const struct oa_experiment *e, const char *name,
                                    json_t *before, json_t *now)
{
    char comparison[96] = "the comparison";
    if (!oa_experiment_plain(e))
        snprintf(comparison, sizeof comparison, "the comparison %.70s", name);
    if (!before || !now)
        return oa_fail(c, OA_ARGUMENT, "%s: %s was %s before the runs, and now it is %s; %s",
                       e->path, comparison, before ? "declared" : "not declared",
                       now ? "there" : "not there", remedy);
    const char *key = difference(before, before, now);
    if (!key)
        key = difference(now, before, now);
    char *was = option_of(c, before, key), *is = option_of(c, now, key);
    enum oa_error code = oa_status(c);
    if (code == OA_OK)
        code = oa_fail(c, OA_ARGUMENT,
                       "%s: %s of %s was declared as %s before the runs, and now it is %s; %s",
                       e->path, key, comparison, was, is, remedy);
    oa_free(was);
    oa_free(is);
    return code;
}

/* Older versions declared options that are free now, and had another word for comparisons. */
static void update_variants(const struct oa_experiment *e, json_t *variants)
{
    static const char former[] = "the contest ";
    const char *name, *key;
    json_t *options = json_object_get(variants, OA_ONLY_VARIANT_FORMER), *value;
    void *next;
    if (options && oa_experiment_plain(e)) {
        json_object_set(variants, OA_ONLY_VARIANT, options);
        json_object_del(variants, OA_ONLY_VARIANT_FORMER);
    }
    json_object_foreach(variants, name, options)
    {
        const char *init = json_string_value(json_object_get(options, "train.init"));
        if (init && strncmp(init, former, sizeof former - 1) == 0)
            json_object_set_new(options, "train.init",
                                json_sprintf("the comparison %s", init + sizeof former - 1));
        json_object_foreach_safe(options, next, key, value)
        {
            if (oa_declared_free(key))
                json_object_del(options, key);
        }
    }
}

static enum oa_error declaration_compare(oa_context *c, const struct oa_experiment *e,
                                         const json_t *before, const json_t *now)
{
    update_variants(e, json_object_get(before, "variants"));
    json_t *was = json_object_get(before, "variants"), *is = json_object_get(now, "variants");
    const json_t *predicted = json_object_get(before, "predicts"),
                 *predicts = json_object_get(now, "predicts");
    if (!json_equal(predicted, predicts))
        return refuse_prediction(c, e, predicted, predicts);
    const char *name = difference(is, was, is);
    if (!name)
        name = difference(was, was, is);
    return name ? refuse_variant(c, e, name, json_object_get(was, name), json_object_get(is, name))
                : OA_OK;
}

static enum oa_error compare_data(oa_context *c, const struct oa_experiment *e,
                                  const json_t *before, json_t *now)
{
    const char *name;
    json_t *is;
    if (!before)
        oa_log(c, 0,
               "%s was declared by a version without digests of the data: whether all comparisons "
               "used the same data cannot be checked",
               e->name);
    json_object_foreach(now, name, is)
    {
        const json_t *was = json_object_get(before, name);
        if (was && !json_equal(was, is))
            return oa_fail(c, OA_ARGUMENT,
                           "%s: the digest of %s was declared as %s before the runs, and now it is "
                           "%s; restore the file, or give another --out to run everything anew",
                           e->path, name, json_string_value(was), json_string_value(is));
    }
    return OA_OK;
}

/* ---- the file ---- */

static enum oa_error declaration_check(oa_context *c, const struct oa_experiment *e,
                                       const char *path, json_t *now, struct oa_declared *out)
{
    json_t *before, *data = json_object_get(now, "data");
    OA_TRY(oa_checksummed_read(c, path, "remove the folder to run the experiment anew", &before));
    const char *day = json_string_value(json_object_get(before, "date"));
    snprintf(out->date, sizeof out->date, "%.15s", day ? day : "");
    out->changed =
        oa_claim_changed(json_object_get(before, "claim"), json_object_get(now, "claim"));
    enum oa_error code = declaration_compare(c, e, before, now);
    if (code == OA_OK && json_object_size(data) > 0)
        code = compare_data(c, e, json_object_get(before, "data"), data);
    json_decref(before);
    return code;
}

static enum oa_error declare(oa_context *c, const struct oa_experiment *e, const char *data,
                             const char *folder, struct oa_declared *out)
{
    char path[OA_PATH], date[16];
    time_t now = time(NULL);
    struct tm utc;
    json_t *declaration;
    *out = (struct oa_declared){ 0 };
    OA_TRY(oa_path(c, path, folder, "declared.json"));
    enum oa_error code = declaration_json(c, e, data, &declaration);
    if (code == OA_OK && oa_file_exists(path))
        code = declaration_check(c, e, path, declaration, out);
    else if (code == OA_OK && data) {
        strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
        json_object_set_new(declaration, "date", json_string(date));
        code = oa_checksummed_write(c, path, declaration);
    }
    json_decref(declaration);
    return code;
}

enum oa_error oa_declare(oa_context *c, const struct oa_experiment *e, const char *data,
                         const char *folder)
{
    struct oa_declared before;
    OA_TRY(oa_directory_make(c, folder));
    enum oa_error code = declare(c, e, data, folder, &before);
    json_decref(before.changed);
    return code;
}

enum oa_error oa_declared_check(oa_context *c, const struct oa_experiment *e, const char *folder,
                                struct oa_declared *out)
{
    return declare(c, e, NULL, folder, out);
}

enum oa_error oa_declared_at_all(oa_context *c, const struct oa_experiment *e, const char *folder,
                                 const char *result)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "declared.json"));
    if (oa_file_exists(path))
        return OA_OK;
    return oa_fail(c, OA_FORMAT,
                   "%s: %s exists without %s: the declaration must precede the runs; restore it, "
                   "or give another --out to run everything anew",
                   e->path, result, path);
}
