/* SPDX-License-Identifier: Apache-2.0
 * The folder of a run, opened for use: config.json, tokenizer.json, model.safetensors. */
#include "api/api.h"

#include <math.h>

static enum oa_error check_folder(oa_context *c, const char *folder)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "config.json"));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_IO, "%s holds no run: there is no config.json in it; 'orthant train --out %s' makes one",
                       folder, folder);
    OA_TRY(oa_path(c, path, folder, "model.safetensors"));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_IO,
                       "%s: the run has not ended, there is no model.safetensors; 'orthant train --resume --out %s' "
                       "goes on with it",
                       folder, folder);
    return OA_OK;
}

static enum oa_error open_model(struct oa_trained *t, const char *folder, const struct oa_model_form *form)
{
    char path[OA_PATH];
    OA_TRY(oa_device_open(t->context, t->options.train_precision, false, &t->device));
    OA_TRY(oa_path(t->context, path, folder, "model.safetensors"));
    OA_TRY(oa_model_open_saved(t->device, path, &t->options, form, t->tokenizer, &t->model));
    oa_tape_init(&t->tape, t->device);
    return OA_OK;
}

enum oa_error oa_trained_open(oa_context *c, const char *folder, struct oa_trained *t)
{
    char path[OA_PATH];
    struct oa_model_form form;
    *t = (struct oa_trained){ .context = c };
    OA_TRY(check_folder(c, folder));
    OA_TRY(oa_path(c, path, folder, "config.json"));
    oa_options_default(&t->options);
    OA_TRY(oa_config_load(c, path, &t->options, &form));
    OA_TRY(oa_path(c, path, folder, "tokenizer.json"));
    OA_TRY(oa_tokenizer_load(c, path, &t->tokenizer));
    if (oa_tokenizer_size(t->tokenizer) > form.vocabulary)
        return oa_fail(c, OA_FORMAT, "%s: the tokenizer has %ld tokens, the model only %ld: it is another run's", path,
                       (long)oa_tokenizer_size(t->tokenizer), form.vocabulary);
    return open_model(t, folder, &form);
}

void oa_trained_close(struct oa_trained *t)
{
    if (t->model)
        oa_tape_free(&t->tape);
    oa_model_close(t->model);
    oa_device_close(t->device);
    oa_tokenizer_close(t->tokenizer);
}

enum oa_error oa_config_read_run(oa_config *config, const char *folder)
{
    char path[OA_PATH];
    struct oa_model_form form;
    OA_TRY(oa_path(config->context, path, folder, "config.json"));
    return oa_config_load(config->context, path, &config->options, &form);
}

/* ---- scores ---- */

struct oa_scores oa_scores_of(const struct oa_run *run, double tokens)
{
    return (struct oa_scores){ .loss = run->valid_loss,
                               .perplexity = run->perplexity,
                               .bits_per_character = run->bits_per_character,
                               .bits_per_byte = run->bits_per_byte,
                               .tokens = tokens };
}

void oa_scores_text(const struct oa_scores *s, const char *unit, struct oa_text *out)
{
    oa_text_printf(out, "loss            %.4f nats a token (%s)\n", s->loss, unit);
    oa_text_printf(out, "perplexity      %.4f a token\n", s->perplexity);
    if (isnan(s->bits_per_character)) {
        oa_text_printf(out, "bits/character  not known: what is predicted is no text\n");
        return;
    }
    oa_text_printf(out, "bits/character  %.4f\n", s->bits_per_character);
    oa_text_printf(out, "bits/byte       %.4f\n", s->bits_per_byte);
}

void oa_scores_json(const struct oa_scores *s, json_t *object)
{
    json_object_set_new(object, "loss", oa_json_number(s->loss));
    json_object_set_new(object, "perplexity", oa_json_number(s->perplexity));
    json_object_set_new(object, "bits_per_character", oa_json_number(s->bits_per_character));
    json_object_set_new(object, "bits_per_byte", oa_json_number(s->bits_per_byte));
}
