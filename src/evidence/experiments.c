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

static enum oa_error read_one(oa_context *c, const char *folder, const char *name, struct oa_experiments *out)
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
        return oa_fail(c, OA_IO, "%s: cannot be read: %s; --experiments names the folder of the experiments", folder,
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
        e = oa_fail(c, OA_IO, "%s holds no experiments: there is no file *.yaml in it", folder);
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
                   "%s: its data are not there: %s does not exist. It needs %s: %s (licence: %s). --data names the "
                   "folder of the data",
                   e->name, path, oa_claim_data(e, "name"), oa_claim_data(e, "get"), oa_claim_data(e, "licence"));
}

/* What ships with the source, and what is given with its whole path, is not in the folder of the data. */
static bool elsewhere(const char *name)
{
    return *name == '/' || strncmp(name, "data/", 5) == 0;
}

static enum oa_error add_file(oa_context *c, const struct oa_experiment *e, const char *data, const char *name,
                              struct oa_text *out)
{
    char path[OA_PATH];
    snprintf(path, sizeof path, "%s", name);
    if (!elsewhere(name))
        OA_TRY(oa_path(c, path, data, name));
    oa_text_printf(out, "%s%s", out->length ? "," : "", path);
    return oa_file_exists(path) ? oa_status(c) : refuse_missing(c, e, path);
}

/* An option that names files, with commas between. */
static enum oa_error place(oa_context *c, const struct oa_experiment *e, const char *data, const char *key,
                           struct oa_options *o)
{
    struct oa_text given, files;
    char *rest = NULL;
    oa_text_init(&given, c);
    oa_text_init(&files, c);
    enum oa_error code = oa_options_get(c, o, key, &given);
    for (char *name = given.s ? strtok_r(given.s, ",", &rest) : NULL; name && code == OA_OK;
         name = strtok_r(NULL, ",", &rest))
        code = add_file(c, e, data, name, &files);
    if (code == OA_OK && files.length)
        code = oa_options_set(c, o, key, files.s);
    oa_text_free(&given);
    oa_text_free(&files);
    return code;
}

enum oa_error oa_variant_options(oa_context *c, const struct oa_experiment *e, const struct oa_variant *v,
                                 const char *data, struct oa_options *out)
{
    size_t n = strlen(v->options.data_tokenizer);
    *out = v->options;
    OA_TRY(place(c, e, data, "data.train", out));
    OA_TRY(place(c, e, data, "data.valid", out));
    OA_TRY(place(c, e, data, "data.test", out));
    OA_TRY(place(c, e, data, "train.init", out));
    bool file = n > 5 && strcmp(v->options.data_tokenizer + n - 5, ".json") == 0;
    return file ? place(c, e, data, "data.tokenizer", out) : OA_OK;
}
