/* SPDX-License-Identifier: Apache-2.0
 * Validation: the loss on every target of a side (of a text every token but the first), each
 * predicted once from at most `context` tokens before it; and the measures of the task. The batches
 * of the loss are divided among the ranks. */
#include "train/row_losses.h"

#include "base/concurrent.h"

#include <math.h>

enum { ROUND = 8 }; /* batches of a rank between two exchanges of losses */

/* Of a rank, in a round. */
struct round_losses {
    int signal; /* that asked it to stop; 0: none */
    double loss[ROUND];
};

struct evaluating {
    const struct oa_evaluation *e;
    struct oa_row_losses rows;
    struct oa_bar bar;
    struct round_losses *all; /* [ranks] */
    int rank, size;
    enum oa_error failed; /* of an exchange while scores were made */
};

static enum oa_error evaluation_batch_loss(struct evaluating *k, long i, double *out)
{
    struct oa_batch batch;
    const struct oa_evaluation *e = k->e;
    OA_TRY(oa_batches_window(e->batches, i, &batch));
    oa_tape_reset(e->tape, false, false, (struct oa_stream){ 0 });
    return oa_row_losses_batch(&k->rows, e, i, &batch, out);
}

/* Gathers the losses of all ranks; a stop of one of them is a stop of all. */
static enum oa_error exchange_losses(const struct evaluating *k, struct round_losses *mine)
{
    oa_context *c = k->e->model->context;
    mine->signal = k->e->cluster ? oa_stop_pending(c) : 0;
    OA_TRY(
        oa_cluster_gather(k->e->cluster, "its part of a validation", mine, sizeof *mine, k->all));
    for (int r = 0; r < k->size; r++)
        if (k->all[r].signal)
            oa_stop(c, k->all[r].signal);
    return OA_OK;
}

/* Evaluates this rank's batches, every size-th from `first` on, unless it is stopped; then
 * exchanges losses. */
static enum oa_error evaluate_round(struct evaluating *k, long first)
{
    const struct oa_evaluation *e = k->e;
    struct round_losses mine = { 0 };
    for (long i = 0, at; i < ROUND && (at = first + i * k->size + k->rank) < e->cover.batches;
         i++) {
        oa_bar_log(&k->bar, at, e->cover.batches);
        if (oa_stop_requested(e->model->context))
            break;
        OA_TRY(evaluation_batch_loss(k, at, &mine.loss[i]));
    }
    return exchange_losses(k, &mine);
}

static enum oa_error evaluate_loss(struct evaluating *k, double *sum, bool *whole)
{
    oa_context *c = k->e->model->context;
    *sum = 0;
    for (long i = 0; i < k->e->cover.batches && !oa_stop_requested(c); i += ROUND * k->size) {
        OA_TRY(evaluate_round(k, i));
        /* in the order of the batches, whichever rank evaluated them */
        for (long b = 0; b < ROUND * k->size && i + b < k->e->cover.batches; b++)
            *sum += k->all[b % k->size].loss[b / k->size];
    }
    *whole = oa_stop_requested(c) == 0;
    return oa_status(c);
}

/* NaN for token ids without text. */
static double bits_per_unit(double nats, uint64_t count)
{
    return count ? nats / log(2) / (double)count : (double)NAN;
}

/* Called equally often on every rank, since each makes all scores. */
static bool evaluation_progress(void *argument, long done, long all)
{
    struct evaluating *k = argument;
    oa_bar_log(&k->bar, done, all);
    k->failed = exchange_losses(k, &(struct round_losses){ 0 });
    return k->failed != OA_OK || oa_stop_requested(k->e->model->context) != 0;
}

/* A stopped one leaves no scores, nor a loss. */
static enum oa_error score_task(struct evaluating *k, struct oa_run *out, bool *whole)
{
    const struct oa_evaluation *e = k->e;
    struct oa_scoring j = { .context = e->model->context,
                            .tape = e->tape,
                            .model = e->model,
                            .workload = e->workload,
                            .side = e->side,
                            .batches = e->batches,
                            .cover = &e->cover,
                            .progress = evaluation_progress,
                            .argument = k,
                            .details = e->detailed ? &out->details : NULL,
                            .items = k->rows.items };
    enum oa_error error = e->workload->task->score(&j, out->scores);
    if (error != OA_INTERRUPTED || k->failed != OA_OK)
        return k->failed != OA_OK ? k->failed : error;
    oa_clear_error(j.context);
    *whole = false;
    return OA_OK;
}

static enum oa_error evaluate_whole(struct evaluating *k, struct oa_run *out, double *sum,
                                    bool *whole)
{
    const struct oa_evaluation *e = k->e;
    OA_TRY(evaluate_loss(k, sum, whole));
    if (*whole && !isfinite(*sum))
        return oa_fail(e->model->context, OA_DIVERGED, "the %s loss is not finite",
                       e->side == OA_TEST ? "test" : "validation");
    if (*whole)
        OA_TRY(oa_row_losses_finish(&k->rows, e));
    return *whole && e->judged && e->workload->task->score ? score_task(k, out, whole) : OA_OK;
}

enum oa_error oa_evaluate(const struct oa_evaluation *e, struct oa_run *out)
{
    double sum;
    bool whole = false;
    oa_context *c = e->model->context;
    struct evaluating k = { .e = e,
                            .rank = oa_rank_of(e->cluster),
                            .size = oa_rank_count(e->cluster) };
    oa_bar_open(&k.bar, c, e->title);
    oa_scores_clear(out->scores);
    oa_details_free(&out->details);
    oa_items_free(&out->items);
    k.all = oa_alloc(c, (size_t)k.size * sizeof *k.all);
    enum oa_error error = k.all ? OA_OK : OA_NO_MEMORY;
    if (error == OA_OK)
        error = oa_row_losses_open(e, e->itemised ? &out->items : NULL, &k.rows);
    if (error == OA_OK)
        error = evaluate_whole(&k, out, &sum, &whole);
    oa_row_losses_close(&k.rows);
    oa_free(k.all);
    OA_TRY(error);
    if (!whole) { /* part of the text is not representative */
        sum = (double)NAN;
        oa_scores_clear(out->scores);
        oa_details_free(&out->details);
        oa_items_free(&out->items);
    }
    out->valid_loss = sum / (double)e->cover.targets;
    out->valid_tokens = (double)e->cover.targets;
    out->perplexity = exp(out->valid_loss);
    out->bits_per_character = bits_per_unit(sum, e->cover.characters);
    out->bits_per_byte = bits_per_unit(sum, e->cover.bytes);
    return OA_OK;
}
