/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pretrained.h"

#include <string.h>
#include <sys/stat.h>

static enum oa_error pretrained_find_files(oa_context *c, const char *run, const char *folder,
                                           struct oa_pretrained *out)
{
    char comparison[OA_PATH];
    OA_TRY(oa_path(c, comparison, folder, "contest.json"));
    OA_TRY(oa_path(c, out->config, folder, "config.json"));
    OA_TRY(oa_path(c, out->tokenizer, folder, "tokenizer.json"));
    if (!oa_file_exists(out->config) && oa_file_exists(comparison))
        return oa_fail(c, OA_ARGUMENT,
                       "train.init = %s is a comparison: give the folder of one of its runs, such "
                       "as %s/runs/attention-01/seed-1; 'orthant compare --init' starts each "
                       "attention from its own run there",
                       run, run);
    if (!oa_file_exists(out->config) || !oa_file_exists(out->tokenizer))
        return oa_fail(
            c, OA_IO,
            "train.init = %s is not a run: %s is missing; give the folder of 'orthant train --out'",
            run, oa_file_exists(out->config) ? out->tokenizer : out->config);
    if (oa_file_exists(out->model))
        return OA_OK;
    return oa_fail(c, OA_IO,
                   "train.init = %s: the run has not ended (%s is missing); 'orthant train "
                   "--resume --out %s' continues it",
                   run, out->model, folder);
}

enum oa_error oa_pretrained_find(oa_context *c, const char *run, struct oa_pretrained *out)
{
    char folder[OA_PATH];
    if (!oa_file_exists(run))
        return oa_fail(c, OA_IO, "train.init = %s: no such run; give the folder of one", run);
    struct stat about;
    if (stat(run, &about) == 0 && S_ISDIR(about.st_mode)) {
        OA_TRY(oa_path(c, out->model, run, "model.safetensors"));
        return pretrained_find_files(c, run, run, out);
    }
    snprintf(out->model, sizeof out->model, "%s", run);
    const char *slash = strrchr(run, '/');
    int length = !slash ? 0 : slash == run ? 1 : (int)(slash - run);
    snprintf(folder, sizeof folder, "%.*s", slash ? length : 1, slash ? run : ".");
    return pretrained_find_files(c, run, folder, out);
}

enum oa_error oa_pretrained_tokenizer(oa_context *c, const struct oa_pretrained *s,
                                      struct oa_tokenizer **out)
{
    return oa_tokenizer_load(c, s->tokenizer, out);
}

static enum oa_error pretrained_read_config(oa_context *c, const struct oa_pretrained *s,
                                            struct oa_options *o, struct oa_model_form *form)
{
    oa_options_default(o);
    return oa_config_load(c, s->config, o, form);
}

/* Class names are checked as part of the model's identity; the form does not contain them. */
enum oa_error oa_pretrained_open(struct oa_device *d, const struct oa_pretrained *s,
                                 const struct oa_tokenizer *tokenizer, struct oa_model **out)
{
    struct oa_options o;
    struct oa_model_form form;
    struct oa_labels labels;
    OA_TRY(pretrained_read_config(d->context, s, &o, &form));
    OA_TRY(oa_config_labels(d->context, s->config, &form, &labels));
    enum oa_error e = oa_model_open_saved(d, s->model, &o, &form, tokenizer, out);
    if (e == OA_OK)
        (*out)->form.labels = NULL;
    oa_labels_free(&labels);
    return e;
}

enum oa_error oa_pretrained_describe(struct oa_device *d, const struct oa_pretrained *s,
                                     struct oa_model **out)
{
    struct oa_options o;
    struct oa_model_form form;
    OA_TRY(pretrained_read_config(d->context, s, &o, &form));
    return oa_model_describe(d, &o, &form, out);
}
