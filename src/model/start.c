/* SPDX-License-Identifier: Apache-2.0 */
#include "model/start.h"

#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static enum oa_error join(oa_context *c, const char *folder, const char *name,
                          char out[OA_START_PATH])
{
    int n = snprintf(out, OA_START_PATH, "%s/%s", folder, name);
    return n > 0 && n < OA_START_PATH
               ? OA_OK
               : oa_fail(c, OA_IO, "train.init: the path %.60s…/%s is too long", folder, name);
}

/* The folder of a file. */
static void folder_of(const char *file, char out[OA_START_PATH])
{
    const char *slash = strrchr(file, '/');
    if (!slash)
        snprintf(out, OA_START_PATH, ".");
    else
        snprintf(out, OA_START_PATH, "%.*s", slash == file ? 1 : (int)(slash - file), file);
}

/* A comparison has many runs. */
static enum oa_error refuse_comparison(oa_context *c, const char *run)
{
    return oa_fail(c, OA_ARGUMENT,
                   "train.init = %s is a comparison: give the folder of one of its runs, such as "
                   "%s/runs/attention-01/seed-1; 'orthant compare --init' starts each attention "
                   "from its own run there",
                   run, run);
}

static enum oa_error find_in(oa_context *c, const char *run, const char *folder,
                             struct oa_start *out)
{
    char comparison[OA_START_PATH];
    OA_TRY(join(c, folder, "contest.json", comparison));
    OA_TRY(join(c, folder, "config.json", out->config));
    OA_TRY(join(c, folder, "tokenizer.json", out->tokenizer));
    if (!oa_file_exists(out->config) && oa_file_exists(comparison))
        return refuse_comparison(c, run);
    if (!oa_file_exists(out->config) || !oa_file_exists(out->tokenizer))
        return oa_fail(c, OA_IO,
                       "train.init = %s is no run: there is no %s; give the folder that 'orthant "
                       "train --out' made",
                       run, oa_file_exists(out->config) ? out->tokenizer : out->config);
    if (oa_file_exists(out->model))
        return OA_OK;
    return oa_fail(c, OA_IO,
                   "train.init = %s: the run has not ended, there is no %s; 'orthant train "
                   "--resume --out %s' goes on "
                   "with it",
                   run, out->model, folder);
}

enum oa_error oa_start_find(oa_context *c, const char *run, struct oa_start *out)
{
    char folder[OA_START_PATH];
    if (!oa_file_exists(run))
        return oa_fail(c, OA_IO, "train.init = %s: there is no such run; give the folder of one",
                       run);
    if (is_folder(run)) {
        OA_TRY(join(c, run, "model.safetensors", out->model));
        return find_in(c, run, run, out);
    }
    snprintf(out->model, sizeof out->model, "%s", run);
    folder_of(run, folder);
    return find_in(c, run, folder, out);
}

enum oa_error oa_start_tokenizer(oa_context *c, const struct oa_start *s, struct oa_tokenizer **out)
{
    return oa_tokenizer_load(c, s->tokenizer, out);
}

static enum oa_error read_config(oa_context *c, const struct oa_start *s, struct oa_options *o,
                                 struct oa_model_form *form)
{
    oa_options_default(o);
    return oa_config_load(c, s->config, o, form);
}

/* The names of the classes are part of what the model was trained as; the model is compared and
 * copied without them. */
enum oa_error oa_start_open(struct oa_device *d, const struct oa_start *s,
                            const struct oa_tokenizer *tokenizer, struct oa_model **out)
{
    struct oa_options o;
    struct oa_model_form form;
    struct oa_labels labels;
    OA_TRY(read_config(d->context, s, &o, &form));
    OA_TRY(oa_config_labels(d->context, s->config, &form, &labels));
    enum oa_error e = oa_model_open_saved(d, s->model, &o, &form, tokenizer, out);
    if (e == OA_OK)
        (*out)->form.labels = NULL;
    oa_labels_free(&labels);
    return e;
}

enum oa_error oa_start_describe(struct oa_device *d, const struct oa_start *s,
                                struct oa_model **out)
{
    struct oa_options o;
    struct oa_model_form form;
    OA_TRY(read_config(d->context, s, &o, &form));
    return oa_model_describe(d, &o, &form, out);
}
