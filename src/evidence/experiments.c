/* SPDX-License-Identifier: Apache-2.0
 * The experiments of a folder, and where their data are. */
#include "evidence/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- a folder of experiments ---- */

static int wanted(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".yaml") == 0;
}

static enum oa_error read_one(oa_context *c, const char *folder, const char *name,
                              struct oa_experiments *out)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, name));
    return oa_experiment_read(c, path, &out->at[out->count++]);
}

/* In the order of bytes, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

enum oa_error oa_experiments_read(oa_context *c, const char *folder, struct oa_experiments *out)
{
    struct dirent **names;
    *out = (struct oa_experiments){ 0 };
    int count = scandir(folder, &names, wanted, by_name);
    if (count < 0)
        return oa_fail(
            c, OA_IO,
            "%s: cannot be read: %s; give the folder of the experiments with --experiments", folder,
            strerror(errno));
    out->at = oa_alloc(c, ((size_t)count + 1) * sizeof *out->at);
    enum oa_error e = oa_status(c);
    for (int i = 0; i < count; i++) {
        if (e == OA_OK)
            e = read_one(c, folder, names[i]->d_name, out);
        free(names[i]);
    }
    free(names);
    if (e == OA_OK && count == 0)
        e = oa_fail(c, OA_IO, "%s contains no experiments (*.yaml)", folder);
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

static enum oa_error refuse_missing(oa_context *c, const struct oa_experiment *e, const char *path)
{
    return oa_fail(c, OA_IO,
                   "%s: data missing: %s does not exist. It needs %s: %s (licence: %s). Give the "
                   "folder of the data with --data",
                   e->name, path, oa_claim_data(e, "name"), oa_claim_data(e, "get"),
                   oa_claim_data(e, "licence"));
}

/* What ships with the source, and what is given with its whole path, is not in the folder of the
 * data. */
static bool elsewhere(const char *name)
{
    return *name == '/' || strncmp(name, "data/", 5) == 0;
}

/* The files of an experiment, and where they are looked for. */
struct files {
    oa_context *c;
    const struct oa_experiment *e;
    const char *data; /* folder of the data */
};

static enum oa_error path_of(const struct files *f, const char *name, char out[OA_PATH])
{
    if (!elsewhere(name))
        return oa_path(f->c, out, f->data, name);
    snprintf(out, OA_PATH, "%s", name);
    return OA_OK;
}

/* What an option names, in one text: with commas between them; nothing where it names no file. */
static enum oa_error names_of(oa_context *c, const struct oa_options *o, const char *key,
                              struct oa_text *out)
{
    size_t n = strlen(o->data_tokenizer);
    bool file = n > 5 && strcmp(o->data_tokenizer + n - 5, ".json") == 0;
    oa_text_init(out, c);
    return strcmp(key, "data.tokenizer") == 0 && !file ? OA_OK : oa_options_get(c, o, key, out);
}

/* use(name) for each. */
static enum oa_error each_file(const struct files *f, const struct oa_options *o, const char *key,
                               enum oa_error (*use)(const struct files *f, const char *name,
                                                    void *argument),
                               void *argument)
{
    struct oa_text names;
    char *rest = NULL;
    enum oa_error code = names_of(f->c, o, key, &names);
    for (char *name = names.s ? strtok_r(names.s, ",", &rest) : NULL; name && code == OA_OK;
         name = strtok_r(NULL, ",", &rest))
        code = use(f, name, argument);
    oa_text_free(&names);
    return code;
}

static enum oa_error add_path(const struct files *f, const char *name, void *argument)
{
    struct oa_text *out = argument;
    char path[OA_PATH];
    OA_TRY(path_of(f, name, path));
    oa_text_printf(out, "%s%s", out->length ? "," : "", path);
    return oa_file_exists(path) ? oa_status(f->c) : refuse_missing(f->c, f->e, path);
}

static enum oa_error set_declared_paths(const struct files *f, const char *key,
                                        struct oa_options *o)
{
    struct oa_text paths;
    oa_text_init(&paths, f->c);
    enum oa_error code = each_file(f, o, key, add_path, &paths);
    if (code == OA_OK && paths.length)
        code = oa_options_set(f->c, o, key, paths.s);
    oa_text_free(&paths);
    return code;
}

enum oa_error oa_variant_options(oa_context *c, const struct oa_experiment *e,
                                 const struct oa_variant *v, const char *data,
                                 struct oa_options *out)
{
    const struct oa_option_row *row;
    struct files f = { c, e, data };
    *out = v->options;
    for (int i = 0; (row = oa_option_at(i)); i++)
        if (row->role & OA_NAMES_FILES)
            OA_TRY(set_declared_paths(&f, row->key, out));
    return OA_OK;
}

/* ---- what they hold ---- */

/* Of a run that others start from, its model; another comparison says itself what its runs are. */
static enum oa_error add_digest(const struct files *f, const char *name, void *argument)
{
    json_t *out = argument;
    char path[OA_PATH], inside[OA_PATH];
    struct oa_digest digest;
    OA_TRY(path_of(f, name, path));
    OA_TRY(oa_path(f->c, inside, path, "."));
    if (oa_file_exists(inside))
        snprintf(path + strlen(path), sizeof path - strlen(path), "/model.safetensors");
    if (json_object_get(out, name) || !oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_digest_of_file(f->c, path, &digest));
    json_object_set_new(out, name, json_sprintf("sha256:%s", digest.hex));
    return OA_OK;
}

enum oa_error oa_experiment_digests(oa_context *c, const struct oa_experiment *e, const char *data,
                                    json_t *out)
{
    const struct oa_option_row *row;
    struct files f = { c, e, data };
    for (int v = 0; v < e->variant_count; v++)
        for (int i = 0; (row = oa_option_at(i)); i++)
            if (row->role & OA_NAMES_FILES)
                OA_TRY(each_file(&f, &e->variants[v].options, row->key, add_digest, out));
    return OA_OK;
}
