/* SPDX-License-Identifier: Apache-2.0
 * Summarisation, evaluated by ROUGE (Lin 2004). */
#include "tasks/example_task.h"

static const struct oa_example_layout layout = {
    .source_end = "</s>", .target_begin = "<s>", .target_end = "</s>", .words = true
};

static enum oa_error score_summaries_task(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    static const struct oa_metric *const metrics[] = { &oa_rouge1, &oa_rouge2, &oa_rouge_l,
                                                       &oa_bleu };
    struct oa_written w;
    enum oa_error e = oa_write_side(j, &w);
    for (int i = 0; e == OA_OK && i < 4; i++)
        e = oa_written_score(j, &w, metrics[i], 4, i < 3 ? 100 : 1, 1 + i, scores);
    if (e == OA_OK)
        e = oa_written_details(j, &w, &oa_rouge1, 100, "rouge1");
    oa_written_free(&w);
    return e;
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats a token", 4, false, 0 },
                                              { "rouge1", "ROUGE-1", "F x 100", 2, true, 100 },
                                              { "rouge2", "ROUGE-2", "F x 100", 2, true, 100 },
                                              { "rougeL", "ROUGE-L", "F x 100", 2, true, 100 },
                                              { "bleu", "BLEU", "BLEU", 2, true, 100 },
                                              { .name = NULL } };

static const struct oa_preset preset[] = {
    { .key = "model.source_context", .value = "512", .unless = "model.context" },
    { .key = "model.context", .value = "128" },
    OA_WRITING_PRESET,
    { .key = NULL }
};

const struct oa_task oa_task_summarize = {
    .name = "summarize",
    .what = "summaries: a short text from a long one",
    .citation = "Rush et al. 2015, arXiv 1509.00685",
    .stacks = OA_STACK(OA_STACK_ENCODER) | OA_STACK(OA_STACK_DECODER) | OA_STACK(OA_STACK_CROSS),
    .measures = measures,
    .item_measures = 7u << 1,
    .preset = preset,
    .metric = "rouge1",
    .layout = &layout,
    .open = oa_example_task_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_TEXT,
    .score = score_summaries_task,
    .slow = true,
};
