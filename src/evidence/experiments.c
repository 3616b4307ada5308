/* SPDX-License-Identifier: Apache-2.0
 * The experiments of a folder, and where their data are. */
#include "evidence/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- a folder of experiments ---- */

static int is_experiment(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".yaml") == 0;
}

/* In the order of bytes, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int by_order(const void *a, const void *b)
{
    const struct oa_experiment *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->name, y->name);
}

enum oa_error oa_experiments_read(oa_context *c, const char *folder, struct oa_experiments *out)
{
    struct dirent **names;
    *out = (struct oa_experiments){ 0 };
    int count = scandir(folder, &names, is_experiment, by_name);
    if (count < 0)
        return oa_fail(
            c, OA_IO,
            "%s: cannot be read: %s; give the folder of the experiments with --experiments", folder,
            strerror(errno));
    out->at = oa_alloc(c, ((size_t)count + 1) * sizeof *out->at);
    enum oa_error e = oa_status(c);
    for (int i = 0; i < count; i++) {
        char path[OA_PATH];
        if (e == OA_OK)
            e = oa_path(c, path, folder, names[i]->d_name);
        if (e == OA_OK)
            e = oa_experiment_read(c, path, &out->at[out->count++]);
        free(names[i]);
    }
    free(names);
    if (e == OA_OK && count == 0)
        e = oa_fail(c, OA_IO, "%s contains no experiments (*.yaml)", folder);
    if (e == OA_OK)
        qsort(out->at, (size_t)out->count, sizeof *out->at, by_order);
    return e;
}

void oa_experiments_free(struct oa_experiments *e)
{
    for (int i = 0; i < e->count; i++)
        oa_experiment_free(&e->at[i]);
    oa_free(e->at);
    *e = (struct oa_experiments){ 0 };
}

/* ---- data ---- */

/* Files that ship with the source, and those with an absolute path, are not in the folder of the
 * data. */
static enum oa_error data_path(oa_context *c, const char *data, const char *name, char out[OA_PATH])
{
    if (*name != '/' && strncmp(name, "data/", 5) != 0)
        return oa_path(c, out, data, name);
    snprintf(out, OA_PATH, "%s", name);
    return OA_OK;
}

/* The files that an option names, separated by commas; none where the tokenizer is no file. */
static enum oa_error file_names(oa_context *c, const struct oa_options *o, const char *key,
                                struct oa_text *out)
{
    size_t n = strlen(o->data_tokenizer);
    bool file = n > 5 && strcmp(o->data_tokenizer + n - 5, ".json") == 0;
    oa_text_init(out, c);
    return strcmp(key, "data.tokenizer") == 0 && !file ? OA_OK : oa_options_get(c, o, key, out);
}

static enum oa_error set_data_paths(oa_context *c, const struct oa_experiment *e, const char *data,
                                    const char *key, struct oa_options *o)
{
    struct oa_text names, paths;
    char path[OA_PATH], *rest = NULL;
    oa_text_init(&paths, c);
    enum oa_error code = file_names(c, o, key, &names);
    for (char *name = names.s ? strtok_r(names.s, ",", &rest) : NULL; name && code == OA_OK;
         name = strtok_r(NULL, ",", &rest)) {
        code = data_path(c, data, name, path);
        if (code == OA_OK && !oa_file_exists(path))
            code = oa_fail(c, OA_IO,
                           "%s: data missing: %s does not exist. It needs %s: %s (licence: %s). "
                           "Give the folder of the data with --data",
                           e->name, path, oa_claim_data(e, "name"), oa_claim_data(e, "get"),
                           oa_claim_data(e, "licence"));
        if (code == OA_OK)
            oa_text_printf(&paths, "%s%s", paths.length ? "," : "", path);
    }
    if (code == OA_OK && oa_status(c) == OA_OK && paths.length)
        code = oa_options_set(c, o, key, paths.s);
    oa_text_free(&names);
    oa_text_free(&paths);
    return code == OA_OK ? oa_status(c) : code;
}

enum oa_error oa_variant_options(oa_context *c, const struct oa_experiment *e,
                                 const struct oa_variant *v, const char *data,
                                 struct oa_options *out)
{
    const struct oa_option_row *row;
    *out = v->options;
    for (int i = 0; (row = oa_option_at(i)); i++)
        if (row->role & OA_NAMES_FILES)
            OA_TRY(set_data_paths(c, e, data, row->key, out));
    return OA_OK;
}

/* Of a run that others start from, the digest is that of its model. A folder without a model is
 * another comparison, whose own declaration has its data. */
static enum oa_error add_digest(oa_context *c, const char *data, const char *name, json_t *out)
{
    char path[OA_PATH], inside[OA_PATH];
    struct oa_digest digest;
    OA_TRY(data_path(c, data, name, path));
    OA_TRY(oa_path(c, inside, path, "."));
    if (oa_file_exists(inside))
        snprintf(path + strlen(path), sizeof path - strlen(path), "/model.safetensors");
    if (json_object_get(out, name) || !oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_digest_of_file(c, path, &digest));
    json_object_set_new(out, name, json_sprintf("sha256:%s", digest.hex));
    return OA_OK;
}

enum oa_error oa_experiment_digests(oa_context *c, const struct oa_experiment *e, const char *data,
                                    json_t *out)
{
    const struct oa_option_row *row;
    enum oa_error code = OA_OK;
    for (int v = 0; v < e->variant_count; v++)
        for (int i = 0; (row = oa_option_at(i)) && code == OA_OK; i++) {
            struct oa_text names;
            char *rest = NULL;
            if (!(row->role & OA_NAMES_FILES))
                continue;
            code = file_names(c, &e->variants[v].options, row->key, &names);
            for (char *name = names.s ? strtok_r(names.s, ",", &rest) : NULL; name && code == OA_OK;
                 name = strtok_r(NULL, ",", &rest))
                code = add_digest(c, data, name, out);
            oa_text_free(&names);
        }
    return code;
}
