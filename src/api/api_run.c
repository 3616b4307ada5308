/* SPDX-License-Identifier: Apache-2.0
 * The folder of a run, opened for use: config.json, tokenizer.json, and model.safetensors or, where
 * the run has not ended, its newest checkpoint. */
#include "api/api.h"
#include "base/file_copies.h"

#include <sys/stat.h>

static enum oa_error find_run_config(oa_context *c, const char *folder, char path[OA_PATH])
{
    OA_TRY(oa_path(c, path, folder, "contest.json"));
    bool comparison = oa_file_exists(path);
    OA_TRY(oa_path(c, path, folder, "config.json"));
    if (oa_file_exists(path))
        return OA_OK;
    if (comparison)
        return oa_fail(c, OA_IO, "%s is a comparison; give one of its runs, a folder in %s/runs",
                       folder, folder);
    return oa_fail(c, OA_IO,
                   "%s contains no run (no config.json); 'orthant train --out %s' makes one",
                   folder, folder);
}

/* Whether the run has ended: model.safetensors is there. One without it needs a checkpoint. */
static enum oa_error check_run_ended(oa_context *c, const char *folder, bool *ended)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "model.safetensors"));
    *ended =
        lstat(path, &(struct stat){ 0 }) == 0; /* a link to nothing too: no older weights then */
    if (*ended || oa_folder_has_checkpoint(c, folder))
        return OA_OK;
    return oa_fail(
        c, OA_IO,
        "%s has not ended: there is neither model.safetensors nor a checkpoint; 'orthant "
        "train --resume --out %s' continues it",
        folder, folder);
}

/* The model is only used, not trained further. */
static enum oa_error accept_any_checkpoint(void *argument, const struct oa_progress *p)
{
    (void)argument;
    (void)p;
    return OA_OK;
}

/* A finished model includes the layout of blocks; a checkpoint needs the file that its attention
 * names. The folder may be another person's, so only the copy in it is opened. */
static enum oa_error check_layout_copies(const struct oa_model *m, const char *folder)
{
    for (int i = 0; i < m->store.count; i++) {
        struct oa_text path;
        const char *file = m->store.parameter[i]->source;
        oa_text_init(&path, m->context);
        enum oa_error e = file ? oa_copies_find(m->context, file, &path) : OA_OK;
        if (e == OA_OK && file && !oa_file_exists(path.s))
            e = oa_fail(
                m->context, OA_UNSUPPORTED,
                "%s has not ended, and there is no copy of the layout file of its attention "
                "in it; 'orthant train --resume --out %s' continues it",
                folder, folder);
        oa_text_free(&path);
        OA_TRY(e);
    }
    return OA_OK;
}

static enum oa_error open_newest_checkpoint(struct oa_trained *t, const char *folder,
                                            const struct oa_model_form *form)
{
    struct oa_progress p = { 0 };
    double age;
    OA_TRY(oa_model_describe(t->device, &t->options, form, &t->model));
    OA_TRY(check_layout_copies(t->model, folder));
    OA_TRY(oa_model_hold_others(t->model)); /* the checkpoint is of a model in training */
    OA_TRY(oa_store_allocate(&t->model->store, oa_chance_seed(&t->options, OA_CHANCE_INIT), false));
    OA_TRY(oa_folder_resume(t->model, &p, folder, accept_any_checkpoint, NULL, &age));
    OA_TRY(oa_model_merge_adapters(t->model));
    t->checkpoint = p.step;
    oa_log(t->context, 0, "%s has not ended: using the checkpoint of step %ld", folder, p.step);
    return OA_OK;
}

/* Instead of a precision: the run's own one, or float32 where that is bf16. */
enum run_precision { AS_TRAINED = -2, FINELY = -1 };

static enum oa_error open_trained_run(oa_context *c, const char *folder, int wanted,
                                      struct oa_trained *t)
{
    char path[OA_PATH];
    struct oa_model_form form;
    bool ended;
    *t = (struct oa_trained){ .context = c, .checkpoint = -1 };
    OA_TRY(find_run_config(c, folder, path));
    OA_TRY(check_run_ended(c, folder, &ended));
    oa_options_default(&t->options);
    OA_TRY(oa_config_load(c, path, &t->options, &form));
    OA_TRY(oa_config_labels(c, path, &form, &t->labels));
    OA_TRY(oa_config_specials(c, path, &t->specials));
    OA_TRY(oa_path(c, path, folder, "tokenizer.json"));
    OA_TRY(oa_tokenizer_load(c, path, &t->tokenizer));
    if (oa_tokenizer_size(t->tokenizer) > form.vocabulary)
        return oa_fail(
            c, OA_FORMAT,
            "%s: the tokenizer has %ld tokens, but the model has %ld: it belongs to another run",
            path, (long)oa_tokenizer_size(t->tokenizer), form.vocabulary);
    enum oa_precision trained = t->options.train_precision,
                      precision = wanted >= 0 ? (enum oa_precision)wanted : trained;
    if (wanted == FINELY && trained == OA_PRECISION_BF16)
        precision = OA_PRECISION_F32;
    OA_TRY(oa_device_open(c, precision, false, &t->device));
    oa_tape_init(&t->tape, t->device);
    OA_TRY(oa_path(c, path, folder, "model.safetensors"));
    oa_copies_use(c, folder, true);
    enum oa_error e =
        ended ? oa_model_open_saved(t->device, path, &t->options, &form, t->tokenizer, &t->model)
              : open_newest_checkpoint(t, folder, &form);
    oa_copies_use(c, NULL, false);
    return e;
}

enum oa_error oa_trained_open(oa_context *c, const char *folder, struct oa_trained *t)
{
    return open_trained_run(c, folder, AS_TRAINED, t);
}

enum oa_error oa_trained_open_finely(oa_context *c, const char *folder, struct oa_trained *t)
{
    return open_trained_run(c, folder, FINELY, t);
}

enum oa_error oa_trained_open_in(oa_context *c, const char *folder, enum oa_precision precision,
                                 struct oa_trained *t)
{
    return open_trained_run(c, folder, (int)precision, t);
}

enum oa_error oa_precision_read(oa_context *c, const char *name, enum oa_precision *out)
{
    if (oa_precision_parse(name, out))
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT, "--precision \"%.40s\": expected f32, bf16 or f64", name);
}

enum oa_error oa_trained_open_as(oa_context *c, const char *folder, const char *precision,
                                 struct oa_trained *t)
{
    enum oa_precision wanted;
    if (!precision)
        return oa_trained_open(c, folder, t);
    *t = (struct oa_trained){ .context = c };
    OA_TRY(oa_precision_read(c, precision, &wanted));
    OA_TRY(oa_trained_open_in(c, folder, wanted, t));
    if (wanted != OA_PRECISION_BF16 || t->options.train_precision == wanted)
        return OA_OK;
    struct oa_options o = t->options; /* the warning of training in bf16 */
    o.train_precision = OA_PRECISION_BF16;
    o.model_attention_dropout = 0;
    return oa_attention_warn(c, o.model_attention, oa_form_stacks(&t->model->form), &o);
}

enum oa_error oa_trained_check_output(const struct oa_trained *t, const char *folder)
{
    const struct oa_model_form *f = &t->model->form;
    if (f->output == OA_OUTPUT_STATES)
        return oa_fail(t->context, OA_UNSUPPORTED,
                       "%s has no output layer: 'orthant train --init' trains one for a task, and "
                       "'orthant forward' prints its hidden states",
                       folder);
    if (!f->channels)
        return OA_OK;
    return oa_fail(t->context, OA_UNSUPPORTED,
                   "%s reads images of %ld channels, %ld x %ld, which no data file here has; "
                   "'orthant forward' runs it on a tensor pixel_values",
                   folder, f->channels, f->image_height, f->image_width);
}

void oa_trained_json(const struct oa_trained *t, json_t *object)
{
    if (t->checkpoint >= 0)
        oa_json_set(t->context, object, "checkpoint", json_integer(t->checkpoint));
}

void oa_trained_close(struct oa_trained *t)
{
    if (t->model)
        oa_tape_free(&t->tape);
    oa_model_close(t->model);
    oa_device_close(t->device);
    oa_tokenizer_close(t->tokenizer);
    oa_labels_free(&t->labels);
    oa_labels_free(&t->specials);
}

enum oa_error oa_config_like_run(oa_config *config, const char *folder)
{
    char path[OA_PATH];
    oa_context *c = config->context;
    OA_TRY(oa_config_read_run(config, folder));
    OA_TRY(oa_path(c, path, folder, "tokenizer.json"));
    OA_TRY(oa_options_set(c, &config->options, "data.tokenizer", path));
    config->left_teacher = config->options.distil_teacher[0] != 0;
    config->options.train_init[0] = config->options.distil_teacher[0] = 0;
    oa_copies_use(c, folder, true);
    return OA_OK;
}

enum oa_error oa_config_read_run(oa_config *config, const char *folder)
{
    char path[OA_PATH];
    struct oa_model_form form;
    OA_TRY(find_run_config(config->context, folder, path));
    OA_TRY(oa_config_load(config->context, path, &config->options, &form));
    for (int i = 0; oa_option_at(i); i++)
        config->given.option[i] = true;
    return OA_OK;
}
