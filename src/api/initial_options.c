/* SPDX-License-Identifier: Apache-2.0
 * Options of the model and of decoding that were not given and are those of the initial run
 * (train.init). */
#include "api/api.h"
#include "attention/attention.h"
#include "compare/initial_runs.h"
#include "model/pretrained.h"

#include <string.h>

struct initial_options {
    const oa_config *in;
    struct oa_options from; /* of the run */
    struct oa_model_form form;
    bool attention; /* is model.attention an option of this command? */
    unsigned stacks;
    oa_config *out;
    struct oa_text taken;
};

/* Whether models of this task can have the attention. */
static bool fits_attention(const struct initial_options *t)
{
    char *name = NULL;
    oa_context *c = t->in->context;
    bool good =
        t->attention && oa_stacks_canonical(c, t->from.model_attention, t->stacks, &name) == OA_OK;
    oa_free(name);
    oa_clear_error(c);
    return good;
}

/* Whether both models are encoder-decoders. */
static bool both_write(const struct initial_options *t)
{
    return t->form.encoder && t->form.decoder && (t->stacks & OA_STACK(OA_STACK_CROSS));
}

/* Options without effect in models of this task keep their values. */
static bool applies_here(const struct initial_options *t, const char *section, const char *name)
{
    static const char *const sources[] = { "encoder_layers",   "encoder_heads",
                                           "encoder_ffn",      "source_context",
                                           "share_embeddings", "encoder_rotary_base",
                                           "begin_token",      "end_token" },
                             *const encoders[] = { "head", "head_norm", "segments" };
    if (strcmp(section, "model") != 0)
        return strcmp(section, "decode") == 0 && both_write(t);
    if (strcmp(name, "attention") == 0)
        return fits_attention(t);
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++)
        if (strcmp(name, encoders[i]) == 0)
            return t->stacks == OA_STACK(OA_STACK_ENCODER);
    if (strcmp(name, "pool") == 0)
        return strcmp(t->from.data_task, t->in->options.data_task) == 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(name, sources[i]) == 0)
            return both_write(t);
    return true;
}

static enum oa_error take_initial_option(struct initial_options *t, int number, const char *key)
{
    oa_context *c = t->in->context;
    struct oa_option_pair value;
    oa_option_pair_open(c, &t->from, &t->out->options, key, &value);
    if (value.differ)
        oa_text_printf(&t->taken, "%s%s %s", t->taken.length ? ", " : "", key, value.a);
    enum oa_error e = oa_options_set(c, &t->out->options, key, value.a);
    t->out->given.option[number] = true;
    oa_option_pair_close(&value);
    return e;
}

static enum oa_error take_options(struct initial_options *t)
{
    const struct oa_option_row *row;
    for (int i = 0; (row = oa_option_at(i)); i++) {
        if (!t->in->given.option[i] && applies_here(t, row->section, row->name))
            OA_TRY(take_initial_option(t, i, row->key));
    }
    if (t->taken.length)
        oa_log(t->in->context, 0, "using the options of %s: %s", t->in->options.train_init,
               t->taken.s);
    return oa_status(t->in->context);
}

enum oa_error oa_config_begin_from(const oa_config *in, bool attention, oa_config *out)
{
    struct initial_options t = {
        .in = in, .attention = attention, .stacks = oa_options_stacks(&in->options), .out = out
    };
    struct oa_options asked = in->options;
    struct oa_pretrained start;
    *out = *in;
    if (!asked.train_init[0])
        return OA_OK;
    if (oa_is_comparison_folder(asked.train_init))
        OA_TRY(oa_initial_runs_first(in->context, &asked));
    OA_TRY(oa_pretrained_find(in->context, asked.train_init, &start));
    oa_options_default(&t.from);
    OA_TRY(oa_config_load(in->context, start.config, &t.from, &t.form));
    if (t.form.encoder && t.form.decoder && !(t.stacks & OA_STACK(OA_STACK_CROSS)) &&
        !in->given.option[oa_option_number("data.task")])
        return oa_fail(in->context, OA_ARGUMENT,
                       "%s has the task %s, and a model of the task %s would leave its encoder "
                       "behind: give --task %s, or --task %s to do that",
                       asked.train_init, t.from.data_task, asked.data_task, t.from.data_task,
                       asked.data_task);
    oa_text_init(&t.taken, in->context);
    enum oa_error e = take_options(&t);
    oa_text_free(&t.taken);
    return e;
}
