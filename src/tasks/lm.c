/* SPDX-License-Identifier: Apache-2.0
 * Language modelling: each token of a text from those before it. */
#include "tasks/tasks.h"

static enum oa_error form(oa_context *c, const struct oa_options *o, struct oa_model_form *out)
{
    struct oa_tokenizer *tok;
    OA_TRY(oa_tokenizer_open(c, o->data_tokenizer, o->data_train, o->data_valid, &tok));
    *out = oa_language_model_form(oa_tokenizer_size(tok));
    oa_tokenizer_close(tok);
    return OA_OK;
}

static enum oa_error open(oa_context *c, const struct oa_options *o, struct oa_workload *out)
{
    OA_TRY(oa_tokenizer_open(c, o->data_tokenizer, o->data_train, o->data_valid, &out->tokenizer));
    out->form = oa_language_model_form(oa_tokenizer_size(out->tokenizer));
    return oa_corpus_open_split(c, out->tokenizer, o->data_train, o->data_valid, o->data_valid_fraction,
                                oa_chance_seed(o, OA_CHANCE_SPLIT), &out->corpus);
}

static enum oa_error open_measured(oa_context *c, const struct oa_options *o, const char *files,
                                   struct oa_workload *out, enum oa_side *side)
{
    *side = files ? OA_TRAINING : OA_VALIDATION;
    if (files)
        return oa_corpus_open(c, out->tokenizer, files, NULL, 0, &out->corpus);
    return oa_corpus_open_split(c, out->tokenizer, o->data_train, o->data_valid, o->data_valid_fraction,
                                oa_chance_seed(o, OA_CHANCE_SPLIT), &out->corpus);
}

static enum oa_error batches(oa_context *c, const struct oa_options *o, const struct oa_workload *w, enum oa_side side,
                             uint64_t seed, struct oa_batches **out)
{
    return oa_batches_open(c, side == OA_TRAINING ? &w->corpus.train : &w->corpus.valid, (int)o->train_batch,
                           (int)o->model_context, seed, out);
}

static enum oa_error hold_out(const struct oa_workload *w, double fraction, struct oa_workload *out)
{
    *out = *w;
    out->lent = out->lent_ids = true;
    oa_corpus_hold_out(w->tokenizer, &w->corpus.train, fraction, &out->corpus);
    return OA_OK;
}

struct oa_step_shape oa_language_model_shape(const struct oa_options *o)
{
    struct oa_batch batch = { .rows = (int)o->train_batch, .length = (int)o->model_context };
    return (struct oa_step_shape){ batch, batch, (double)(o->train_batch * o->train_accumulate * o->model_context) };
}

static void shape(const struct oa_options *o, const struct oa_workload *w, struct oa_step_shape *out)
{
    (void)w;
    *out = oa_language_model_shape(o);
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats a token", 4, false }, { NULL } };

const struct oa_task oa_task_lm = {
    .name = "lm",
    .what = "language modelling: each token of a text from those before it",
    .citation = "Radford et al. 2018",
    .stacks = OA_LANGUAGE_MODEL,
    .measures = measures,
    .open = open,
    .open_measured = open_measured,
    .batches = batches,
    .hold_out = hold_out,
    .form = form,
    .shape = shape,
};
