/* SPDX-License-Identifier: Apache-2.0
 * Answers to prompts, instructions in messages, and sequences with targets at chosen tokens: a
 * decoder alone, whose loss is that of the targets. */
#include "tasks/example_task.h"

static const struct oa_example_layout layout = { .source_begin = "" };

struct answer_hits {
    const struct oa_scoring *j;
    double right, targets, whole, rows;
};

/* An example is whole if every target is the most probable token, each given the right ones before
 * it: those are the examples that greedy decoding reproduces. */
static void count_answer(struct answer_hits *k, long at, int row, long hits, long targets)
{
    struct oa_items *items = k->j->items;
    k->right += (double)hits;
    k->targets += (double)targets;
    k->whole += hits == targets;
    k->rows++;
    if (!items)
        return;
    long item = oa_items_row(items, k->j->batches, at, row);
    oa_items_add(items, 1, item, 100 * (double)hits, (double)targets);
    oa_items_add(items, 2, item, hits == targets ? 100 : 0, 1);
}

static enum oa_error score_answer_batch(struct answer_hits *k, long at)
{
    struct oa_batch b;
    OA_TRY(oa_batches_window(k->j->batches, at, &b));
    uint8_t *hit = oa_alloc(k->j->context, (size_t)(b.rows * b.length) + 1);
    enum oa_error e = hit ? oa_model_hits(k->j->tape, k->j->model, &b, hit) : OA_NO_MEMORY;
    for (int r = 0, next = 0; e == OA_OK && r < b.rows; r++) {
        long hits = 0, targets = 0;
        for (int t = 0; t < b.length; t++)
            if (b.target[(long)r * b.length + t] >= 0) {
                hits += hit[next++];
                targets++;
            }
        count_answer(k, at, r, hits, targets);
    }
    oa_free(hit);
    return e;
}

static enum oa_error score_answers_task(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    struct answer_hits k = { .j = j };
    OA_TRY(oa_items_begin(j->context, j->items, 1));
    OA_TRY(oa_items_begin(j->context, j->items, 2));
    for (long i = 0; i < j->cover->batches; i++) {
        if (j->progress && j->progress(j->argument, i, j->cover->batches))
            return OA_INTERRUPTED;
        OA_TRY(score_answer_batch(&k, i));
    }
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
