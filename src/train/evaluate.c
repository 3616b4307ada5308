/* SPDX-License-Identifier: Apache-2.0
 * Validation: the loss on every target of a side, of a text every token but the first, each predicted once from at most
 * `context` tokens before it; and the measures of the task. Ranks share out the batches of the loss. */
#include "train/train.h"

#include "base/beside.h"

#include <math.h>

enum { ROUND = 8 }; /* batches of a rank, after which all tell each other what they were */

/* Of a rank, in a round. */
struct share {
    int signal; /* that asked it to stop; 0: none */
    double loss[ROUND];
};

struct covering {
    const struct oa_evaluation *e;
    struct oa_bar *bar;
    struct share *all; /* [ranks] */
    int rank, size;
};

static enum oa_error batch_loss(const struct oa_evaluation *e, long i, double *out)
{
    struct oa_batch batch;
    OA_TRY(oa_batches_window(e->batches, i, &batch));
    oa_tape_reset(e->tape, false, false, (struct oa_stream){ 0 });
    *out = oa_model_loss(e->tape, e->model, &batch, 1);
    return oa_status(e->model->context);
}

/* Batches from `first` on, by turns; this rank's, unless it is stopped, and then those of all. */
static enum oa_error cover_round(const struct covering *k, long first)
{
    const struct oa_evaluation *e = k->e;
    oa_context *c = e->model->context;
    struct share mine = { 0 };
    for (long i = 0, at; i < ROUND && (at = first + i * k->size + k->rank) < e->cover.batches; i++) {
        oa_bar_say(k->bar, at, e->cover.batches);
        if (oa_stop_requested(c))
            break;
        OA_TRY(batch_loss(e, at, &mine.loss[i]));
    }
    mine.signal = e->cluster ? oa_stop_held(c) : 0;
    OA_TRY(oa_cluster_gather(e->cluster, "the losses of a validation", &mine, sizeof mine, k->all));
    for (int r = 0; r < k->size; r++)
        if (k->all[r].signal)
            oa_stop(c, k->all[r].signal);
    return OA_OK;
}

/* In the order of the batches, whoever made them. */
static double round_sum(const struct covering *k, long first, double sum)
{
    for (long i = 0; i < ROUND * k->size && first + i < k->e->cover.batches; i++)
        sum += k->all[i % k->size].loss[i / k->size];
    return sum;
}

static enum oa_error cover_loss(const struct oa_evaluation *e, struct oa_bar *bar, double *sum, bool *whole)
{
    struct covering k = { .e = e, .bar = bar, .rank = oa_rank_of(e->cluster), .size = oa_rank_count(e->cluster) };
    enum oa_error error = OA_OK;
    oa_context *c = e->model->context;
    k.all = oa_alloc(c, (size_t)k.size * sizeof *k.all);
    *sum = 0;
    for (long i = 0; k.all && error == OA_OK && i < e->cover.batches && !oa_stop_requested(c); i += ROUND * k.size) {
        error = cover_round(&k, i);
        *sum = round_sum(&k, i, *sum);
    }
    oa_free(k.all);
    *whole = oa_stop_requested(c) == 0;
    return error == OA_OK ? oa_status(c) : error;
}

/* NaN where the data are ids without text. */
static double bits_for_each(double nats, uint64_t count)
{
    return count ? nats / log(2) / (double)count : (double)NAN;
}

static bool progress(void *argument, long done, long all)
{
    struct oa_bar *bar = argument;
    oa_bar_say(bar, done, all);
    return oa_stop_requested(bar->context) != 0;
}

/* One that was stopped says nothing, of the loss either. */
static enum oa_error judge(const struct oa_evaluation *e, struct oa_bar *bar, struct oa_run *out, bool *whole)
{
    struct oa_judging j = { .context = e->model->context,
                            .tape = e->tape,
                            .model = e->model,
                            .workload = e->workload,
                            .side = e->side,
                            .batches = e->batches,
                            .cover = &e->cover,
                            .progress = progress,
                            .argument = bar,
                            .details = e->detailed ? &out->details : NULL };
    enum oa_error error = e->workload->task->judge(&j, out->scores);
    if (error == OA_INTERRUPTED) {
        oa_clear_error(j.context);
        *whole = false;
        return OA_OK;
    }
    return error;
}

enum oa_error oa_evaluate(const struct oa_evaluation *e, struct oa_run *out)
{
    double sum;
    bool whole;
    struct oa_bar bar;
    oa_bar_open(&bar, e->model->context, e->title);
    oa_scores_clear(out->scores);
    oa_details_free(&out->details);
    OA_TRY(cover_loss(e, &bar, &sum, &whole));
    if (whole && !isfinite(sum))
        return oa_fail(e->model->context, OA_DIVERGED, "the validation loss is not finite");
    if (whole && e->judged && e->workload->task->judge)
        OA_TRY(judge(e, &bar, out, &whole));
    if (!whole) { /* a part of the text says nothing about the whole */
        sum = (double)NAN;
        oa_scores_clear(out->scores);
        oa_details_free(&out->details);
    }
    out->valid_loss = sum / (double)e->cover.targets;
    out->valid_tokens = (double)e->cover.targets;
    out->perplexity = exp(out->valid_loss);
    out->bits_per_character = bits_for_each(sum, e->cover.characters);
    out->bits_per_byte = bits_for_each(sum, e->cover.bytes);
    return OA_OK;
}
