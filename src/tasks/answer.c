/* SPDX-License-Identifier: Apache-2.0
 * Answers to prompts, instructions in messages, and sequences with targets at chosen tokens: a
 * decoder alone, whose loss is that of the targets. */
#include "tasks/example_task.h"
#include "tasks/hits.h"

static const struct oa_example_layout layout = { .source_begin = "" };

struct answer_hits {
    struct oa_items *items;
    double right, targets, whole, rows;
};

/* An answer is exact if every target is the most likely token: greedy decoding reproduces it. */
static void count_answer_hits(void *argument, long item, long hits, long targets)
{
    struct answer_hits *k = argument;
    k->right += (double)hits;
    k->targets += (double)targets;
    k->whole += hits == targets;
    k->rows++;
    oa_items_add(k->items, 1, item, 100 * (double)hits, (double)targets);
    oa_items_add(k->items, 2, item, hits == targets ? 100 : 0, 1);
}

static enum oa_error score_answers_task(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    struct answer_hits k = { .items = j->items };
    OA_TRY(oa_items_begin(j->context, j->items, 1));
    OA_TRY(oa_items_begin(j->context, j->items, 2));
    OA_TRY(oa_visit_hits(j, count_answer_hits, &k));
    scores[1] = 100 * k.right / k.targets;
    scores[2] = 100 * k.whole / k.rows;
    return OA_OK;
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats a token", 4, false, 0 },
                                              { "accuracy", "accuracy of targets", "%", 2, true,
                                                100 },
                                              { "exact", "exact answers", "%", 2, true, 100 },
                                              { .name = NULL } };

static const struct oa_preset preset[] = {
    { .key = "data.tokenizer", .value = "bpe", .unless = "train.init" },
    { .key = "model.context", .value = "256" },
    { .key = "train.batch", .value = "32", .unless = "train.batch_tokens" },
    { .key = NULL }
};

const struct oa_task oa_task_answer = {
    .name = "answer",
    .what =
        "answers: the answer to a prompt, the assistant's turns, or the targets of chosen tokens",
    .citation = "Radford et al. 2018",
    .stacks = OA_LANGUAGE_MODEL,
    .measures = measures,
    .item_measures = 1u << 1 | 1u << 2,
    .preset = preset,
    .metric = "accuracy",
    .layout = &layout,
    .open = oa_example_task_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_TOKENS,
    .score = score_answers_task,
};
