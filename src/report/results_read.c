/* SPDX-License-Identifier: Apache-2.0
 *
 * results.json back into a contest, so that a report can be made again. Every field that the contest has must be there
 * and have its type; a refusal names the field. Statistics in the file are passed over.
 */
#include "report/results.h"

#include <math.h>
#include <string.h>

enum { PLACE = 96 }; /* bytes of "entries[12].runs[3].curve" */

/* ---- fields ---- */

static const char *type_name(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "text",  "a whole number",
                                         "a number",  "true",     "false", "null" };
    return value ? names[json_typeof(value)] : "nothing";
}

static enum oa_error refuse(oa_context *c, const char *place, const char *key, const char *wanted, const json_t *found)
{
    return oa_fail(c, OA_FORMAT, "results: %s%s%s: expected %s, found %s", place, *place ? "." : "", key, wanted,
                   type_name(found));
}

static enum oa_error get_number(oa_context *c, const json_t *object, const char *place, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value) && !json_is_null(value))
        return refuse(c, place, key, "a number or null", value);
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return OA_OK;
}

static enum oa_error get_count(oa_context *c, const json_t *object, const char *place, const char *key, long *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return refuse(c, place, key, "a whole number from 0", value);
    *out = (long)json_integer_value(value);
    return OA_OK;
}

static enum oa_error get_text(oa_context *c, const json_t *object, const char *place, const char *key, const char **out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_string_value(value);
    return *out ? OA_OK : refuse(c, place, key, "text", value);
}

static enum oa_error get_object(oa_context *c, const json_t *object, const char *place, const char *key,
                                const json_t **out)
{
    *out = json_object_get(object, key);
    return json_is_object(*out) ? OA_OK : refuse(c, place, key, "an object", *out);
}

static enum oa_error get_array(oa_context *c, const json_t *object, const char *place, const char *key,
                               const json_t **out)
{
    *out = json_object_get(object, key);
    return json_is_array(*out) ? OA_OK : refuse(c, place, key, "an array", *out);
}

/* ---- curves ---- */

static enum oa_error curve_column(oa_context *c, const json_t *curve, const char *place, const char *key, int points,
                                  const json_t **out)
{
    OA_TRY(get_array(c, curve, place, key, out));
    if (json_array_size(*out) != (size_t)points)
        return oa_fail(c, OA_FORMAT, "results: %s.%s has %zu points where \"step\" has %d", place, key,
                       json_array_size(*out), points);
    for (int i = 0; i < points; i++) {
        const json_t *value = json_array_get(*out, (size_t)i);
        if (!json_is_number(value) && !json_is_null(value))
            return refuse(c, place, key, "numbers or null", value);
    }
    return OA_OK;
}

static double curve_value(const json_t *column, int i)
{
    const json_t *value = json_array_get(column, (size_t)i);
    return json_is_null(value) ? NAN : json_number_value(value);
}

static enum oa_error read_curve(oa_context *c, const json_t *run, const char *run_place, struct oa_run *r)
{
    const json_t *curve, *column;
    char place[PLACE];
    snprintf(place, sizeof place, "%.80s.curve", run_place);
    OA_TRY(get_object(c, run, run_place, "curve", &curve));
    OA_TRY(get_array(c, curve, place, "step", &column));
    int points = (int)json_array_size(column);
    r->curve = oa_alloc(c, ((size_t)points + 1) * sizeof *r->curve);
    if (!r->curve)
        return OA_NO_MEMORY;
    r->points = points;
    for (int i = 0; i < points; i++) {
        const json_t *step = json_array_get(column, (size_t)i);
        if (!json_is_integer(step))
            return refuse(c, place, "step", "whole numbers", step);
        r->curve[i].step = (long)json_integer_value(step);
    }
#define COLUMN(field)                                                                                                  \
    OA_TRY(curve_column(c, curve, place, #field, points, &column));                                                    \
    for (int i = 0; i < points; i++)                                                                                   \
        r->curve[i].field = curve_value(column, i);
    OA_CURVE_NUMBERS(COLUMN)
#undef COLUMN
    return OA_OK;
}

/* ---- runs and entries ---- */

static enum oa_error read_failure(oa_context *c, const json_t *run, const char *place, struct oa_run *r)
{
    const json_t *failed = json_object_get(run, "failed");
    const char *sentence;
    if (!json_is_boolean(failed))
        return refuse(c, place, "failed", "true or false", failed);
    r->failed = json_is_true(failed);
    if (!r->failed)
        return OA_OK;
    OA_TRY(get_text(c, run, place, "failure", &sentence));
    snprintf(r->failure, sizeof r->failure, "%s", sentence);
    return OA_OK;
}

static enum oa_error read_run(oa_context *c, const json_t *run, const char *place, struct oa_run *r)
{
    long seed;
    if (!json_is_object(run))
        return oa_fail(c, OA_FORMAT, "results: %s: expected an object, found %s", place, type_name(run));
    OA_TRY(get_count(c, run, place, "seed", &seed));
    r->seed = (uint64_t)seed;
    OA_TRY(read_failure(c, run, place, r));
    OA_TRY(get_count(c, run, place, "steps", &r->steps));
#define NUMBER(field) OA_TRY(get_number(c, run, place, #field, &r->field));
    OA_RUN_NUMBERS(NUMBER)
#undef NUMBER
    return read_curve(c, run, place, r);
}

/* The runs of one column are paired: they must have the same seed in every entry. */
static enum oa_error check_pairing(oa_context *c, const struct oa_contest *k, int entry, int run)
{
    if (k->entries[entry].runs[run].seed == k->entries[0].runs[run].seed)
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "results: entries[%d].runs[%d] has seed %llu where entries[0] has %llu", entry, run,
                   (unsigned long long)k->entries[entry].runs[run].seed,
                   (unsigned long long)k->entries[0].runs[run].seed);
}

static enum oa_error read_entry(oa_context *c, const json_t *entry, int number, struct oa_contest *k)
{
    struct oa_entry *e = &k->entries[number];
    const json_t *runs;
    const char *attention;
    char place[PLACE];
    snprintf(place, sizeof place, "entries[%d]", number);
    OA_TRY(get_text(c, entry, place, "attention", &attention));
    e->attention = oa_copy_text(c, attention);
    OA_TRY(get_number(c, entry, place, "trainable", &e->trainable));
    OA_TRY(get_number(c, entry, place, "frozen", &e->frozen));
    OA_TRY(get_array(c, entry, place, "runs", &runs));
    if (json_array_size(runs) != (size_t)k->seeds)
        return oa_fail(c, OA_FORMAT, "results: %s has %zu runs where \"seeds\" says %d", place, json_array_size(runs),
                       k->seeds);
    e->runs = oa_alloc(c, ((size_t)k->seeds + 1) * sizeof *e->runs);
    for (int r = 0; r < k->seeds && e->runs; r++) {
        snprintf(place, sizeof place, "entries[%d].runs[%d]", number, r);
        OA_TRY(read_run(c, json_array_get(runs, (size_t)r), place, &e->runs[r]));
        OA_TRY(check_pairing(c, k, number, r));
    }
    return oa_status(c);
}

/* ---- the file ---- */

static char *embedded(oa_context *c, const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    struct oa_text t;
    oa_text_init(&t, c);
    oa_json_text(value, &t);
    return t.s;
}

static enum oa_error check_schema(oa_context *c, const json_t *root)
{
    const char *schema;
    OA_TRY(get_text(c, root, "", "schema", &schema));
    if (strcmp(schema, OA_RESULTS_SCHEMA) != 0)
        return oa_fail(c, OA_FORMAT, "results: schema \"%s\" is not known; this version reads \"%s\"", schema,
                       OA_RESULTS_SCHEMA);
    return OA_OK;
}

static enum oa_error read_head(oa_context *c, const json_t *root, struct oa_contest *k)
{
    const json_t *valid;
    const char *equal;
    long seeds;
    OA_TRY(get_text(c, root, "", "equal", &equal));
    snprintf(k->equal, sizeof k->equal, "%s", equal);
    OA_TRY(get_count(c, root, "", "seeds", &seeds));
    k->seeds = seeds < 1000000 ? (int)seeds : 1000000; /* what is wrong shows when the runs are counted */
    OA_TRY(get_object(c, root, "", "validation", &valid));
    OA_TRY(get_number(c, valid, "validation", "characters", &k->characters));
    OA_TRY(get_number(c, valid, "validation", "bytes", &k->bytes));
    OA_TRY(get_number(c, valid, "validation", "tokens", &k->valid_tokens));
    k->options_json = embedded(c, json_object_get(root, "options"));
    k->machine_json = embedded(c, json_object_get(root, "machine"));
    return oa_status(c);
}

static enum oa_error read_root(oa_context *c, const json_t *root, struct oa_contest *k)
{
    const json_t *entries;
    OA_TRY(check_schema(c, root));
    OA_TRY(read_head(c, root, k));
    OA_TRY(get_array(c, root, "", "entries", &entries));
    k->entries = oa_alloc(c, (json_array_size(entries) + 1) * sizeof *k->entries);
    if (!k->entries)
        return OA_NO_MEMORY;
    k->count = (int)json_array_size(entries);
    for (int i = 0; i < k->count; i++)
        OA_TRY(read_entry(c, json_array_get(entries, (size_t)i), i, k));
    return OA_OK;
}

enum oa_error oa_contest_from_json(oa_context *c, const char *json, struct oa_contest *out)
{
    *out = (struct oa_contest){ 0 };
    json_error_t error;
    json_t *root = json_loads(json, 0, &error);
    if (!root)
        return oa_fail(c, OA_FORMAT, "results: line %d, column %d: %s", error.line, error.column, error.text);
    enum oa_error code = read_root(c, root, out);
    json_decref(root);
    if (code != OA_OK)
        oa_contest_free(out);
    return code;
}
