/* SPDX-License-Identifier: Apache-2.0
 * Span corruption: an encoder reads a text without some spans, a decoder predicts them. "<s>" and
 * "</s>" are placed as in translation. */
#include "data/masking.h"
#include "tasks/text_task.h"

static long span_row_tokens(const struct oa_options *o)
{
    return oa_span_tokens(o->data_mask_share, o->data_span_length, oa_model_source_context(o),
                          o->model_context);
}

static enum oa_error span_task_open(oa_context *c, const struct oa_options *o,
                                    struct oa_workload *out)
{
    static const char *const special[] = { "<s>", "</s>", NULL };
    long tokens = span_row_tokens(o), sentinels = 0;
    if (tokens) /* one per span of a full row, and one for the end */
        sentinels = oa_span_count(o->data_mask_share, o->data_span_length, tokens).spans + 1;
    OA_TRY(oa_text_task_open(c, o, special, sentinels, out));
    out->form = (struct oa_model_form){ .encoder = true,
                                        .decoder = true,
                                        .output = OA_OUTPUT_TOKENS,
                                        .vocabulary = oa_tokenizer_size(out->tokenizer) };
    return OA_OK;
}

static enum oa_error span_task_batches(oa_context *c, const struct oa_options *o,
                                       const struct oa_workload *w, enum oa_side side,
                                       uint64_t seed, struct oa_batches **out)
{
    struct oa_spanning how = { .rows = (int)o->train_batch,
                               .tokens = span_row_tokens(o),
                               .share = o->data_mask_share,
                               .mean = o->data_span_length,
                               .seed = seed,
                               .order = o->data_order,
                               .borders = o->data_documents,
                               .tokenizer = w->tokenizer };
    return oa_span_batches_open(c, oa_text_task_side(w, side), &how, out);
}

static enum oa_error span_task_shape(oa_context *c, const struct oa_options *o,
                                     const struct oa_workload *w, struct oa_step_shape *out)
{
    struct oa_span_counts n =
        oa_span_count(o->data_mask_share, o->data_span_length, oa_max(2, span_row_tokens(o)));
    struct oa_batch b = { .rows = (int)o->train_batch,
                          .length = (int)n.target,
                          .source_length = (int)n.source };
    (void)w;
    *out = (struct oa_step_shape){
        b, b, (double)(o->train_batch * o->train_accumulate) * (double)(n.source + n.target)
    };
    oa_text_task_plan_padding(o, out);
    return oa_status(c);
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats a token", 4, false, 0 },
                                              { "accuracy", "accuracy of tokens", "%", 2, true,
                                                100 },
                                              { .name = NULL } };

static const struct oa_preset preset[] = {
    { .key = "data.tokenizer", .value = "bpe", .unless = "train.init" },
    { .key = "model.source_context", .value = "128", .unless = "model.context" },
    { .key = "train.batch", .value = "32" },
    { .key = NULL }
};

const struct oa_task oa_task_span = {
    .name = "span",
    .what = "span corruption: spans that are left out of a text, from the rest of it",
    .citation = "Raffel et al. 2020, arXiv 1910.10683",
    .stacks = OA_STACK(OA_STACK_ENCODER) | OA_STACK(OA_STACK_DECODER) | OA_STACK(OA_STACK_CROSS),
    .measures = measures,
    .item_measures = 1u << 1,
    .preset = preset,
    .open = span_task_open,
    .open_measured = oa_text_task_open_measured,
    .batches = span_task_batches,
    .hold_out = oa_text_task_hold_out,
    .shape = span_task_shape,
    .score = oa_text_task_accuracy,
};
