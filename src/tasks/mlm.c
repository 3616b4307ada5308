/* SPDX-License-Identifier: Apache-2.0
 * Masked language modelling: hidden tokens from their context on both sides. Rows are "[CLS] text
 * [SEP]", so that both embeddings are trained. No pairs and no next-sentence prediction, which Liu
 * et al. 2019 (arXiv 1907.11692) found useless. */
#include "data/masking.h"
#include "tasks/text_task.h"

static enum oa_error mlm_open(oa_context *c, const struct oa_options *o, struct oa_workload *out)
{
    static const char *const special[] = { "[CLS]", "[SEP]", "[MASK]", NULL };
    OA_TRY(oa_text_task_open(c, o, special, 0, out));
    out->form = (struct oa_model_form){ .encoder = true,
                                        .output = OA_OUTPUT_TOKENS,
                                        .vocabulary = oa_tokenizer_size(out->tokenizer) };
    return OA_OK;
}

static enum oa_error mlm_batches(oa_context *c, const struct oa_options *o,
                                 const struct oa_workload *w, enum oa_side side, uint64_t seed,
                                 struct oa_batches **out)
{
    struct oa_masking how = { .rows = (int)o->train_batch,
                              .length = o->model_context,
                              .share = o->data_mask_share,
                              .seed = seed,
                              .order = o->data_order,
                              .borders = o->data_documents,
                              .tokenizer = w->tokenizer };
    return oa_masked_batches_open(c, oa_text_task_side(w, side), &how, out);
}

static enum oa_error mlm_shape(oa_context *c, const struct oa_options *o,
                               const struct oa_workload *w, struct oa_step_shape *out)
{
    (void)w;
    *out = oa_language_model_step_shape(o);
    out->typical.planned_targets =
        o->train_batch * oa_masked_targets(o->data_mask_share, o->model_context);
    out->largest = out->typical;
    oa_text_task_plan_padding(o, out);
    return oa_status(c);
}

static const struct oa_measure measures[] = {
    { "loss", "valid loss", "nats a masked token", 4, false, 0 },
    { "accuracy", "accuracy of masked tokens", "%", 2, true, 100 },
    { .name = NULL }
};

static const struct oa_preset preset[] = {
    { .key = "data.tokenizer", .value = "bpe", .unless = "train.init" },
    { .key = "model.context", .value = "128" },
    { .key = "train.batch", .value = "32" },
    { .key = NULL }
};

const struct oa_task oa_task_mlm = {
    .name = "mlm",
    .what = "masked language modelling: hidden tokens of a text from all the others",
    .citation = "Devlin et al. 2019, arXiv 1810.04805",
    .stacks = OA_STACK(OA_STACK_ENCODER),
    .measures = measures,
    .item_measures = 1u << 1,
    .preset = preset,
    .open = mlm_open,
    .open_measured = oa_text_task_open_measured,
    .batches = mlm_batches,
    .hold_out = oa_text_task_hold_out,
    .shape = mlm_shape,
    .score = oa_text_task_accuracy,
};
