/* SPDX-License-Identifier: Apache-2.0
 * Causal language modelling: each token from those before it. */
#include "tasks/text_task.h"

static enum oa_error lm_form(oa_context *c, const struct oa_options *o, struct oa_model_form *out)
{
    struct oa_tokenizer *tok;
    OA_TRY(oa_text_task_tokenizer(c, o, &tok));
    *out = oa_language_model_form(oa_tokenizer_size(tok));
    oa_tokenizer_close(tok);
    return OA_OK;
}

static enum oa_error lm_open(oa_context *c, const struct oa_options *o, struct oa_workload *out)
{
    static const char *const special[] = { NULL };
    OA_TRY(oa_text_task_open(c, o, special, 0, out));
    out->form = oa_language_model_form(oa_tokenizer_size(out->tokenizer));
    return OA_OK;
}

static enum oa_error lm_batches(oa_context *c, const struct oa_options *o,
                                const struct oa_workload *w, enum oa_side side, uint64_t seed,
                                struct oa_batches **out)
{
    struct oa_text_batching how = { .rows = (int)o->train_batch,
                                    .length = (int)o->model_context,
                                    .seed = seed,
                                    .order = o->data_order,
                                    .borders = o->data_documents };
    return oa_text_batches_open(c, oa_text_task_side(w, side), &how, out);
}

struct oa_step_shape oa_language_model_step_shape(const struct oa_options *o)
{
    struct oa_batch batch = { .rows = (int)o->train_batch, .length = (int)o->model_context };
    struct oa_step_shape shape = {
        batch, batch, (double)(o->train_batch * o->train_accumulate * o->model_context)
    };
    oa_text_task_plan_padding(o, &shape);
    return shape;
}

static enum oa_error lm_shape(oa_context *c, const struct oa_options *o,
                              const struct oa_workload *w, struct oa_step_shape *out)
{
    (void)w;
    *out = oa_language_model_step_shape(o);
    return oa_status(c);
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats a token", 4, false, 0 },
                                              { .name = NULL } };

const struct oa_task oa_task_lm = {
    .name = "lm",
    .what = "language modelling: each token of a text from those before it",
    .citation = "Radford et al. 2018",
    .stacks = OA_LANGUAGE_MODEL,
    .measures = measures,
    .open = lm_open,
    .open_measured = oa_text_task_open_measured,
    .batches = lm_batches,
    .hold_out = oa_text_task_hold_out,
    .form = lm_form,
    .shape = lm_shape,
};
