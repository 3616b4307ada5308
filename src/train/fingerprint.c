/* SPDX-License-Identifier: Apache-2.0 */
#include "train/fingerprint.h"

#include <string.h>

static void add_option(oa_context *c, json_t *fingerprint, const struct oa_option_row *row,
                       const struct oa_options *o)
{
    const char *key = oa_option_stored_key(row);
    struct oa_text value;
    if (!(row->role & OA_DECIDES_NUMBERS))
        return;
    oa_text_init(&value, c);
    oa_options_get(c, o, key, &value);
    json_object_set_new(fingerprint, key, json_string(value.s ? value.s : ""));
    oa_text_free(&value);
}

static void add_digest(json_t *fingerprint, const char *key, const struct oa_digest *digest)
{
    json_object_set_new(fingerprint, key, json_sprintf("sha256:%s", digest->hex));
}

static enum oa_error add_data(oa_context *c, json_t *fingerprint, const struct oa_workload *w)
{
    struct oa_digest tokenizer, training = oa_workload_side(w, OA_TRAINING).digest,
                                validation = oa_workload_side(w, OA_VALIDATION).digest;
    struct oa_extent test = oa_workload_side(w, OA_TEST);
    OA_TRY(oa_tokenizer_digest(c, w->tokenizer, &tokenizer));
    add_digest(fingerprint, "training text", &training);
    add_digest(fingerprint, "validation text", &validation);
    add_digest(fingerprint, "tokenizer", &tokenizer);
    if (test.targets > 0) /* else older folders do not say it */
        add_digest(fingerprint, OA_TEST_DATA, &test.digest);
    if (w->start.hex[0]) /* older folders do not say it */
        add_digest(fingerprint, "first values", &w->start);
    return OA_OK;
}

enum oa_error oa_fingerprint_make(oa_context *c, const struct oa_options *o,
                                  const struct oa_workload *w, json_t **out)
{
    const struct oa_option_row *row;
    struct oa_options settled = *o;
    oa_workload_settle(w, &settled);
    *out = json_object();
    json_object_set_new(*out, "numbers version", json_sprintf("%d", OA_NUMBERS_VERSION));
    OA_TRY(add_data(c, *out, w));
    for (int i = 0; (row = oa_option_at(i)); i++)
        add_option(c, *out, row, &settled);
    return oa_status(c);
}

/* ---- comparing ---- */

static const char *text_of(const json_t *fingerprint, const char *key)
{
    const char *text = json_string_value(json_object_get(fingerprint, key));
    return text ? text : "not given";
}

/* A copy in which every option stands: what an older program did not have yet did what its default
 * does. */
static json_t *complete(oa_context *c, const json_t *fingerprint)
{
    struct oa_options plain;
    const struct oa_option_row *row;
    json_t *all = json_object();
    const struct oa_task *task = oa_task_find(text_of(fingerprint, "data.task"));
    oa_options_default(&plain);
    if (task && oa_task_writes(task))
        plain.data_bleu_tokenize = OA_BLEU_TOKENIZE_13A;
    for (int i = 0; (row = oa_option_at(i)); i++)
        add_option(c, all, row, &plain);
    json_object_update(all, (json_t *)(uintptr_t)fingerprint);
    return all;
}

/* The first key of `keys` that the two do not have alike; NULL: none. */
static const char *first_difference(const json_t *keys, const json_t *before, const json_t *now)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)keys, key, value)
    {
        if (!json_equal(json_object_get(before, key), json_object_get(now, key)))
            return key;
    }
    return NULL;
}

static enum oa_error compare(oa_context *c, const char *path, const json_t *before,
                             const json_t *now, const char *remedy)
{
    const char *key = first_difference(now, before, now);
    if (!key)
        key = first_difference(before, before, now);
    if (!key)
        return oa_status(c);
    const struct oa_option_row *row = oa_option_at(oa_option_number(key));
    return oa_fail(c, OA_ARGUMENT, "%s: %s was %s, and now it is %s; %s", path,
                   row ? row->key : key, text_of(before, key), text_of(now, key), remedy);
}

enum oa_error oa_fingerprint_check(oa_context *c, const char *path, const json_t *before,
                                   const json_t *now, const char *remedy)
{
    json_t *was = complete(c, before), *is = complete(c, now);
    enum oa_error e = compare(c, path, was, is, remedy);
    json_decref(was);
    json_decref(is);
    return e;
}
