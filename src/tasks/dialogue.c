/* SPDX-License-Identifier: Apache-2.0
 * Dialogues: the next turn from those before it. A long source is cut at its beginning. */
#include "tasks/example_task.h"

static const struct oa_example_layout layout = { .source_end = "</s>",
                                                 .target_begin = "<s>",
                                                 .target_end = "</s>",
                                                 .words = true,
                                                 .keep_end = true };

static enum oa_error score_dialogue_task(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    struct oa_written w;
    enum oa_error e = oa_write_side(j, &w);
    if (e == OA_OK)
        e = oa_written_score(j, &w, &oa_bleu, 1, 1, 1, scores);
    if (e == OA_OK)
        e = oa_written_score(j, &w, &oa_bleu, 4, 1, 2, scores);
    if (e == OA_OK)
        e = oa_written_score(j, &w, &oa_rouge_l, 4, 100, 3, scores);
    if (e == OA_OK)
        e = oa_written_details(j, &w, &oa_rouge_l, 100, "rougeL");
    oa_written_free(&w);
    return e;
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats a token", 4, false, 0 },
                                              { "bleu1", "BLEU-1", "BLEU", 2, true, 100 },
                                              { "bleu", "BLEU-4", "BLEU", 2, true, 100 },
                                              { "rougeL", "ROUGE-L", "F x 100", 2, true, 100 },
                                              { .name = NULL } };

static const struct oa_preset preset[] = {
    { .key = "model.source_context", .value = "256", .unless = "model.context" },
    OA_WRITING_PRESET,
    { .key = NULL }
};

const struct oa_task oa_task_dialogue = {
    .name = "dialogue",
    .what = "dialogue: the next turn from those before it",
    .citation = "Li et al. 2017, arXiv 1710.03957",
    .stacks = OA_STACK(OA_STACK_ENCODER) | OA_STACK(OA_STACK_DECODER) | OA_STACK(OA_STACK_CROSS),
    .measures = measures,
    .item_measures = 1u << 3,
    .preset = preset,
    .metric = "bleu",
    .layout = &layout,
    .open = oa_example_task_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_TEXT,
    .dialogues = true,
    .score = score_dialogue_task,
    .slow = true,
};
