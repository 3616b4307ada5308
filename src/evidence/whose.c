/* SPDX-License-Identifier: Apache-2.0
 *
 * Which variant a record belongs to. A checksum shows that a file is whole, not what it is about: a
 * record that was copied from another variant, experiment or declaration would appear under a wrong
 * name. So a record names its variant and has the SHA-256 of the declared.json that it was made
 * under, and the options of its comparison are checked against the declared ones.
 */
#include "base/checksum.h"
#include "evidence/reading.h"

#include <stdlib.h>
#include <string.h>

static const char remedy[] =
    "restore the right file, or remove it to have it made again from the files of the comparison";

/* ---- options ---- */

/* {"model": {"layers": 4, …}, …} */
static json_t *sections_of(oa_context *c, const struct oa_options *o)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_options_json(o, &text);
    json_t *sections = text.s ? json_loads(text.s, 0, NULL) : NULL;
    oa_text_free(&text);
    return sections;
}

static const json_t *option_in(const json_t *sections, const struct oa_option_row *row)
{
    return json_object_get(json_object_get(sections, row->section),
                           strchr(oa_option_stored_key(row), '.') + 1);
}

/* Does each path, of several separated by commas, end in the name at the same place of `names`? */
static bool ends_with_names(const char *paths, const char *names)
{
    for (;;) {
        size_t path = strcspn(paths, ","), name = strcspn(names, ",");
        bool whole = path == name || (path > name && paths[path - name - 1] == '/');
        if (!whole || strncmp(paths + path - name, names, name) != 0)
            return false;
        if (!paths[path] || !names[name])
            return paths[path] == names[name];
        paths += path + 1;
        names += name + 1;
    }
}

static bool recorded_value_matches(const json_t *recorded, const json_t *declared)
{
    if (json_is_string(recorded) && json_is_string(declared))
        return ends_with_names(json_string_value(recorded), json_string_value(declared));
    if (json_is_number(recorded) && json_is_number(declared))
        return !(json_number_value(recorded) < json_number_value(declared) ||
                 json_number_value(recorded) > json_number_value(declared));
    return json_equal(recorded, declared);
}

/* Options that are not compared: those that may change, those that each attention has a value of
 * its own of, and the way of tuning of a comparison that an older program began
 * (compare/tune.c). */
static bool not_compared(const struct oa_variant *v, const json_t *recorded, const char *key)
{
    const char *tuned = strstr(v->options.compare_tune, key), *text = json_string_value(recorded);
    return oa_declared_free(key) || (tuned && tuned[strlen(key)] == '=') ||
           (strcmp(key, "compare.tune_per") == 0 && text && strcmp(text, "once") == 0) ||
           (strcmp(key, "compare.tune_extend") == 0 && json_integer_value(recorded) == 0);
}

static enum oa_error check_options(oa_context *c, const struct oa_experiment *e,
                                   const struct oa_variant *v, const char *path,
                                   const json_t *record)
{
    const struct oa_option_row *row;
    const char *other = NULL;
    struct oa_options options = v->options, plain;
    oa_options_default(&plain);
    if (v->from >= 0) /* the record has the variant it starts from in the place of a run */
        snprintf(options.train_init, sizeof options.train_init, "%s", e->variants[v->from].name);
    json_t *declared = sections_of(c, &options), *defaults = sections_of(c, &plain);
    for (int i = 0; (row = oa_option_at(i)) && !other; i++) {
        const json_t *recorded = option_in(json_object_get(record, "options"), row);
        if (not_compared(v, recorded, row->key))
            continue;
        /* an option that an older program did not record had its default */
        if (!recorded_value_matches(recorded ? recorded : option_in(defaults, row),
                                    option_in(declared, row)))
            other = row->key;
    }
    json_decref(declared);
    json_decref(defaults);
    OA_TRY(oa_status(c));
    return other ? oa_fail(c, OA_FORMAT, "%s: its comparison has another %s than declared; %s",
                           path, other, remedy)
                 : OA_OK;
}

/* ---- the declaration ---- */

static enum oa_error declaration_digest(oa_context *c, const char *folder, char out[80])
{
    char path[OA_PATH];
    struct oa_digest digest;
    OA_TRY(oa_path(c, path, folder, "declared.json"));
    OA_TRY(oa_digest_of_file(c, path, &digest));
    snprintf(out, 80, "sha256:%s", digest.hex);
    return OA_OK;
}

/* Records of versions that did not name their declaration have a date, and declarations of that
 * time no digests of the data. */
static enum oa_error check_older(oa_context *c, const char *folder, const json_t *record,
                                 bool *good)
{
    char path[OA_PATH];
    json_t *declared;
    OA_TRY(oa_path(c, path, folder, "declared.json"));
    OA_TRY(oa_checksummed_read(c, path, "remove the folder to run the experiment anew", &declared));
    const char *day = json_string_value(json_object_get(declared, "date"));
    const char *made =
        json_string_value(json_object_get(json_object_get(record, "machine"), "date"));
    *good =
        !json_object_get(declared, "data") && day && made && strncmp(made, day, strlen(day)) >= 0;
    json_decref(declared);
    return OA_OK;
}

static enum oa_error check_declaration(oa_context *c, const char *folder, const char *path,
                                       const json_t *record)
{
    const char *recorded = json_string_value(json_object_get(record, "declared"));
    char digest[80];
    bool good;
    OA_TRY(declaration_digest(c, folder, digest));
    if (recorded)
        good = strcmp(recorded, digest) == 0;
    else
        OA_TRY(check_older(c, folder, record, &good));
    return good ? OA_OK
                : oa_fail(c, OA_FORMAT,
                          "%s does not belong to the declared.json next to it: one of them was "
                          "replaced or made anew after the runs; restore it, or give another --out "
                          "to run everything anew",
                          path);
}

/* ---- the record ---- */

enum oa_error oa_record_claim(oa_context *c, const char *folder, const struct oa_variant *v,
                              json_t *record)
{
    char digest[80];
    OA_TRY(declaration_digest(c, folder, digest));
    json_object_set_new(record, "declared", json_string(digest));
    json_object_set_new(record, "variant", json_string(v->name));
    return OA_OK;
}

enum oa_error oa_record_check(oa_context *c, const char *folder, const struct oa_experiment *e,
                              const struct oa_variant *v, const char *path, const json_t *record)
{
    const char *of = json_string_value(json_object_get(record, "variant"));
    bool former = v->only && of && strcmp(of, OA_ONLY_VARIANT_FORMER) == 0;
    OA_TRY(oa_declared_at_all(c, e, folder, path));
    if (of && !former && strcmp(of, v->name) != 0)
        return oa_fail(c, OA_FORMAT, "%s belongs to the comparison %s; %s", path, of, remedy);
    OA_TRY(check_options(c, e, v, path, record));
    return check_declaration(c, folder, path, record);
}
