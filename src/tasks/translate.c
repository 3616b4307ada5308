/* SPDX-License-Identifier: Apache-2.0
 * Translation by an encoder-decoder. */
#include "tasks/example_task.h"

static const struct oa_example_layout layout = {
    .source_end = "</s>", .target_begin = "<s>", .target_end = "</s>", .words = true
};

static enum oa_error score_translations_task(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    struct oa_written w;
    enum oa_error e = oa_write_side(j, &w);
    if (e == OA_OK)
        e = oa_written_score(j, &w, &oa_bleu, 4, 1, 1, scores);
    if (e == OA_OK)
        e = oa_written_score(j, &w, &oa_chrf, 4, 1, 2, scores);
    if (e == OA_OK)
        e = oa_written_details(j, &w, &oa_bleu, 1, "bleu");
    oa_written_free(&w);
    return e;
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats a token", 4, false, 0 },
                                              { "bleu", "BLEU", "BLEU", 2, true, 100 },
                                              { "chrf", "chrF2", "chrF2", 2, true, 100 },
                                              { .name = NULL } };

static const struct oa_preset preset[] = { { .key = "model.context", .value = "128" },
                                           OA_WRITING_PRESET,
                                           { .key = NULL } };

const struct oa_task oa_task_translate = {
    .name = "translate",
    .what = "translation: the text of a target from that of a source",
    .citation = "Vaswani et al. 2017, arXiv 1706.03762",
    .stacks = OA_STACK(OA_STACK_ENCODER) | OA_STACK(OA_STACK_DECODER) | OA_STACK(OA_STACK_CROSS),
    .measures = measures,
    .preset = preset,
    .metric = "bleu",
    .layout = &layout,
    .open = oa_example_task_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_TEXT,
    .score = score_translations_task,
    .slow = true,
};
