/* SPDX-License-Identifier: Apache-2.0
 *
 * What is claimed of a contest counts for nothing when it was written after the numbers. Before the first run of an
 * experiment its predictions and its options go into declared.json; later they must be the same. That the runs are
 * those of the options is guarded by the contests themselves (train/fingerprint.h), which do not know about margins,
 * baselines and predictions.
 */
#include "base/seal.h"
#include "evidence/evidence.h"

#include <string.h>
#include <time.h>

#define SCHEMA "orthant.declared/1"

static const char remedy[] =
    "restore the file of the experiment, or give the changed one another name, so that it is run anew";

/* Options that decide no number and no verdict, or that only say how long to go on where any number of looks is
 * allowed. "*" at the end: all that begin so. */
static const char *const free_options[] = { "compare.most_seeds", "compare.budget",    "compare.jobs",
                                            "train.checkpoint*",  "train.save_frozen", "train.tensorboard",
                                            "generate.*" };

static bool is_free(const char *key)
{
    for (size_t i = 0; i < sizeof free_options / sizeof *free_options; i++) {
        size_t fixed = strcspn(free_options[i], "*");
        if (free_options[i][fixed] ? strncmp(key, free_options[i], fixed) == 0 : strcmp(key, free_options[i]) == 0)
            return true;
    }
    return false;
}

/* Options that are not the defaults: what a later version adds does by default what is done now. */
static json_t *options_json(oa_context *c, const struct oa_options *o)
{
    const struct oa_option_row *row;
    json_t *out = json_object();
    struct oa_options plain;
    oa_options_default(&plain);
    for (int i = 0; (row = oa_option_at(i)); i++) {
        char key[96];
        struct oa_text value, usual;
        snprintf(key, sizeof key, "%s.%s", row->section, row->name);
        oa_text_init(&value, c);
        oa_text_init(&usual, c);
        oa_options_get(c, o, key, &value);
        oa_options_get(c, &plain, key, &usual);
        if (!is_free(key) && value.s && usual.s && strcmp(value.s, usual.s) != 0)
            json_object_set_new(out, key, json_string(value.s));
        oa_text_free(&value);
        oa_text_free(&usual);
    }
    return out;
}

static json_t *declaration(oa_context *c, const struct oa_experiment *e)
{
    json_t *predictions = json_array(), *variants = json_object();
    for (int i = 0; i < e->prediction_count; i++)
        json_array_append_new(predictions, json_string(e->predictions[i].text));
    for (int i = 0; i < e->variant_count; i++)
        json_object_set_new(variants, e->variants[i].name, options_json(c, &e->variants[i].options));
    return json_pack("{s:s, s:o, s:o}", "schema", SCHEMA, "predicts", predictions, "variants", variants);
}

/* ---- the same as before? ---- */

static enum oa_error refuse_prediction(oa_context *c, const struct oa_experiment *e, const json_t *before,
                                       const json_t *now)
{
    for (size_t i = 0;; i++) {
        const char *was = json_string_value(json_array_get(before, i)), *is = json_string_value(json_array_get(now, i));
        if (was && is && strcmp(was, is) == 0)
            continue;
        return oa_fail(c, OA_ARGUMENT,
                       "%s: prediction %zu was declared as \"%s\" before the runs, and now it is \"%s\"; %s", e->path,
                       i + 1, was ? was : "none", is ? is : "none", remedy);
    }
}

static const char *option_of(const json_t *options, const char *key)
{
    const char *value = json_string_value(json_object_get(options, key));
    return value ? value : "its default";
}

/* The first of the keys that the two do not have alike; NULL: there is none. */
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

static enum oa_error refuse_variant(oa_context *c, const struct oa_experiment *e, const char *name, json_t *before,
                                    json_t *now)
{
    if (!before || !now)
        return oa_fail(c, OA_ARGUMENT, "%s: the contest %s was %s before the runs, and now it is %s; %s", e->path, name,
                       before ? "declared" : "not declared", now ? "there" : "not there", remedy);
    const char *key = difference(before, before, now);
    if (!key)
        key = difference(now, before, now);
    return oa_fail(c, OA_ARGUMENT, "%s: %s of the contest %s was declared as %s before the runs, and now it is %s; %s",
                   e->path, key ? key : "an option", name, option_of(before, key), option_of(now, key), remedy);
}

static enum oa_error compare(oa_context *c, const struct oa_experiment *e, const json_t *before, const json_t *now)
{
    json_t *was = json_object_get(before, "variants"), *is = json_object_get(now, "variants");
    const json_t *predicted = json_object_get(before, "predicts"), *predicts = json_object_get(now, "predicts");
    if (!json_equal(predicted, predicts))
        return refuse_prediction(c, e, predicted, predicts);
    const char *name = difference(is, was, is);
    if (!name)
        name = difference(was, was, is);
    return name ? refuse_variant(c, e, name, json_object_get(was, name), json_object_get(is, name)) : OA_OK;
}

/* ---- the file ---- */

static enum oa_error check(oa_context *c, const struct oa_experiment *e, const char *path, json_t *now, char date[16])
{
    json_t *before;
    OA_TRY(oa_sealed_read(c, path, "remove the folder to run the experiment anew", &before));
    const char *day = json_string_value(json_object_get(before, "date"));
    snprintf(date, 16, "%.15s", day ? day : "");
    enum oa_error code = compare(c, e, before, now);
    json_decref(before);
    return code;
}

static enum oa_error declare(oa_context *c, const struct oa_experiment *e, const char *folder, bool write,
                             char date[16])
{
    char path[OA_PATH];
    time_t now = time(NULL);
    struct tm utc;
    *date = 0;
    OA_TRY(oa_path(c, path, folder, "declared.json"));
    json_t *said = declaration(c, e);
    enum oa_error code = said ? oa_status(c) : oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    if (code == OA_OK && oa_file_exists(path)) {
        code = check(c, e, path, said, date);
    } else if (code == OA_OK && write) {
        strftime(date, 16, "%Y-%m-%d", gmtime_r(&now, &utc));
        json_object_set_new(said, "date", json_string(date));
        code = oa_sealed_write(c, path, said);
    }
    json_decref(said);
    return code;
}

enum oa_error oa_declare(oa_context *c, const struct oa_experiment *e, const char *folder)
{
    char date[16];
    OA_TRY(oa_directory_make(c, folder));
    return declare(c, e, folder, true, date);
}

enum oa_error oa_declared_check(oa_context *c, const struct oa_experiment *e, const char *folder, char date[16])
{
    return declare(c, e, folder, false, date);
}
