/* SPDX-License-Identifier: Apache-2.0 */
#include "train/fingerprint.h"

#include "base/json_write.h"

#include <string.h>

static void add_option_value(oa_context *c, json_t *fingerprint, const struct oa_option_row *row,
                             const struct oa_options *o)
{
    const char *key = oa_option_stored_key(row);
    struct oa_text value;
    if (!(row->role & OA_DECIDES_NUMBERS))
        return;
    oa_text_init(&value, c);
    oa_options_get(c, o, key, &value);
    oa_json_set(c, fingerprint, key, json_string(value.s ? value.s : ""));
    oa_text_free(&value);
}

static void add_digest_value(oa_context *c, json_t *fingerprint, const char *key,
                             const struct oa_digest *digest)
{
    oa_json_set(c, fingerprint, key, json_sprintf("sha256:%s", digest->hex));
}

static enum oa_error add_data_digests(oa_context *c, json_t *fingerprint,
                                      const struct oa_workload *w)
{
    struct oa_digest tokenizer, training = oa_workload_side(w, OA_TRAINING).digest,
                                validation = oa_workload_side(w, OA_VALIDATION).digest;
    struct oa_extent test = oa_workload_side(w, OA_TEST);
    OA_TRY(oa_tokenizer_digest(c, w->tokenizer, &tokenizer));
    add_digest_value(c, fingerprint, "training text", &training);
    add_digest_value(c, fingerprint, "validation text", &validation);
    add_digest_value(c, fingerprint, "tokenizer", &tokenizer);
    if (test.targets > 0) /* older folders do not record it */
        add_digest_value(c, fingerprint, OA_TEST_DATA, &test.digest);
    if (w->start.hex[0]) /* older folders do not record it */
        add_digest_value(c, fingerprint, "first values", &w->start);
    return OA_OK;
}

enum oa_error oa_fingerprint_make(oa_context *c, const struct oa_options *o,
                                  const struct oa_workload *w, json_t **out)
{
    const struct oa_option_row *row;
    struct oa_options settled = *o;
    oa_workload_settle(w, &settled);
    *out = json_object();
    oa_json_set(c, *out, "numbers version", json_sprintf("%d", OA_NUMBERS_VERSION));
    OA_TRY(add_data_digests(c, *out, w));
    for (int i = 0; (row = oa_option_at(i)); i++)
        add_option_value(c, *out, row, &settled);
    return oa_status(c);
}

/* ---- comparing ---- */

static const char *fingerprint_text(const json_t *fingerprint, const char *key)
{
    const char *text = json_string_value(json_object_get(fingerprint, key));
    return text ? text : "not given";
}

/* A copy with every option: those that an older program did not have yet have their defaults. */
static json_t *with_all_options(oa_context *c, const json_t *fingerprint)
{
    struct oa_options plain;
    const struct oa_option_row *row;
    json_t *all = json_object();
    const struct oa_task *task = oa_task_find(fingerprint_text(fingerprint, "data.task"));
    oa_options_default(&plain);
    if (task && oa_task_writes(task))
        plain.data_bleu_tokenize = OA_BLEU_TOKENIZE_13A;
    for (int i = 0; (row = oa_option_at(i)); i++)
        add_option_value(c, all, row, &plain);
    if (json_object_update(all, (json_t *)(uintptr_t)fingerprint) != 0)
        oa_fail(c, OA_NO_MEMORY, "out of memory for comparing options");
    return all;
}

/* The first key of `keys` in which the two differ; NULL: none. */
static const char *first_different_key(const json_t *keys, const json_t *before, const json_t *now)
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

enum oa_error oa_fingerprint_check(oa_context *c, const char *path, const json_t *before,
                                   const json_t *now, const char *remedy)
{
    json_t *was = with_all_options(c, before), *is = with_all_options(c, now);
    const char *key = first_different_key(is, was, is);
    if (!key)
        key = first_different_key(was, was, is);
    enum oa_error e = oa_status(c);
    if (key) {
        const struct oa_option_row *row = oa_option_at(oa_option_number(key));
        e = oa_fail(c, OA_ARGUMENT, "%s: %s was %s, but it is %s now; %s", path,
                    row ? row->key : key, fingerprint_text(was, key), fingerprint_text(is, key),
                    remedy);
    }
    json_decref(was);
    json_decref(is);
    return e;
}
