/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/comparison_file.h"

#include "base/checksum.h"
#include "compare/run_result.h"

#include <string.h>

static const char remedy[] = "give another --out, or remove the folder";

/* The checked file; NULL: there is none, or nothing was trained yet. json_decref it. */
static enum oa_error read_begun(oa_context *c, const char *folder, const char *path, json_t **root)
{
    char runs[OA_PATH], trials[OA_PATH];
    *root = NULL;
    OA_TRY(oa_path(c, runs, folder, "runs"));
    OA_TRY(oa_path(c, trials, folder, "tune"));
    if (!oa_file_exists(path) || (!oa_run_trained(c, runs, 2) && !oa_run_trained(c, trials, 3)))
        return OA_OK;
    return oa_checksummed_read(c, path, remedy, root);
}

enum oa_error oa_comparison_file_fingerprint(oa_context *c, const char *folder, json_t **out)
{
    char path[OA_PATH];
    json_t *root;
    *out = NULL;
    OA_TRY(oa_path(c, path, folder, "contest.json"));
    OA_TRY(read_begun(c, folder, path, &root));
    *out = json_incref(json_object_get(root, "fingerprint"));
    json_decref(root);
    return OA_OK;
}

enum oa_error oa_comparison_file_read(oa_context *c, const char *folder, const json_t *fingerprint,
                                      json_t **members)
{
    char path[OA_PATH];
    json_t *root;
    *members = NULL;
    OA_TRY(oa_path(c, path, folder, "contest.json"));
    OA_TRY(read_begun(c, folder, path, &root));
    enum oa_error e = OA_OK;
    if (root)
        e = oa_fingerprint_check(
            c, path, json_object_get(root, "fingerprint"), fingerprint,
            "the folder contains another comparison: give another --out, or remove the folder");
    if (root && e == OA_OK)
        *members = json_incref(json_object_get(root, "members"));
    json_decref(root);
    OA_TRY(e);
    if (!*members)
        *members = json_array();
    return *members ? OA_OK : oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
}

enum oa_error oa_comparison_file_write(oa_context *c, const char *folder, json_t *fingerprint,
                                       json_t *members)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "contest.json"));
    json_t *root = json_pack("{s:O, s:O}", "fingerprint", fingerprint, "members", members);
    enum oa_error e = oa_checksummed_write(c, path, root);
    json_decref(root);
    return e;
}

enum oa_error oa_comparison_file_keep_bleu(oa_context *c, const char *folder, struct oa_options *o)
{
    static const char key[] = "data.bleu_tokenize";
    char path[OA_PATH];
    json_t *root;
    OA_TRY(oa_path(c, path, folder, "contest.json"));
    if (o->data_bleu_tokenize != OA_BLEU_TOKENIZE_AUTO || !oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_checksummed_read(c, path, remedy, &root));
    const char *kept =
        json_string_value(json_object_get(json_object_get(root, "fingerprint"), key));
    enum oa_error e = kept ? oa_options_set(c, o, key, kept) : OA_OK;
    json_decref(root);
    return e;
}

int oa_comparison_file_find(const json_t *members, const char *attention, struct oa_member *out)
{
    for (int i = 0; i < (int)json_array_size(members); i++) {
        const json_t *m = json_array_get(members, (size_t)i);
        const char *name = json_string_value(json_object_get(m, "attention"));
        if (!name || strcmp(name, attention) != 0)
            continue;
        *out = (struct oa_member){ .attention = name,
                                   .steps = (long)json_integer_value(json_object_get(m, "steps")),
                                   .ffn = (long)json_integer_value(json_object_get(m, "ffn")) };
        return i;
    }
    return -1;
}

int oa_comparison_file_add(json_t *members, const struct oa_member *m)
{
    json_array_append_new(members, json_pack("{s:s, s:I, s:I}", "attention", m->attention, "steps",
                                             (json_int_t)m->steps, "ffn", (json_int_t)m->ffn));
    return (int)json_array_size(members) - 1;
}

static const char by_seed[] = "tuned_by_seed";

const json_t *oa_comparison_file_tuned(const json_t *members, int place, const char *seed)
{
    const json_t *member = json_array_get(members, (size_t)place);
    return seed ? json_object_get(json_object_get(member, by_seed), seed)
                : json_object_get(member, "tuned");
}

void oa_comparison_file_set_tuned(json_t *members, int place, const char *seed, json_t *values)
{
    json_t *member = json_array_get(members, (size_t)place);
    if (seed && !json_object_get(member, by_seed))
        json_object_set_new(member, by_seed, json_object());
    if (seed)
        json_object_set_new(json_object_get(member, by_seed), seed, values);
    else
        json_object_set_new(member, "tuned", values);
}

/* ---- spending.json ---- */

static enum oa_error read_seconds(oa_context *c, const char *path, const json_t *root,
                                  const char *key, double *out)
{
    const json_t *value = json_object_get(root, key);
    *out = json_number_value(value);
    if (json_is_number(value) && *out >= 0)
        return OA_OK;
    return oa_fail(c, OA_FORMAT,
                   "%s: \"%s\" must be a number of seconds; remove the file to count from 0", path,
                   key);
}

enum oa_error oa_spending_read(oa_context *c, const char *folder, struct oa_spending *out)
{
    char path[OA_PATH];
    json_t *root;
    *out = (struct oa_spending){ 0 };
    OA_TRY(oa_path(c, path, folder, "spending.json"));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_checksummed_read(c, path, "remove it to count from 0", &root));
    enum oa_error e = read_seconds(c, path, root, "clock", &out->clock);
    if (e == OA_OK)
        e = read_seconds(c, path, root, "rounds", &out->rounds);
    if (e == OA_OK)
        e = read_seconds(c, path, root, "training", &out->training);
    json_decref(root);
    return e;
}

enum oa_error oa_spending_write(oa_context *c, const char *folder, const struct oa_spending *s)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "spending.json"));
    json_t *root = json_pack("{s:f, s:f, s:f}", "clock", s->clock, "rounds", s->rounds, "training",
                             s->training);
    enum oa_error e = root ? oa_checksummed_write(c, path, root)
                           : oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    json_decref(root);
    return e;
}
