/* SPDX-License-Identifier: Apache-2.0
 * Validation: the loss on every target of a side, of a text every token but the first, each predicted once from at most
 * `context` tokens before it; and the measures of the task. */
#include "train/train.h"

#include <math.h>

static enum oa_error cover_loss(const struct oa_evaluation *e, struct oa_bar *bar, double *sum, bool *whole)
{
    *sum = 0;
    *whole = false;
    for (long i = 0; i < e->cover.batches; i++) {
        struct oa_batch batch;
        oa_bar_say(bar, i, e->cover.batches);
        if (oa_stop_requested(e->model->context))
            return OA_OK;
        OA_TRY(oa_batches_window(e->batches, i, &batch));
        oa_tape_reset(e->tape, false, false, (struct oa_stream){ 0 });
        *sum += oa_model_loss(e->tape, e->model, &batch, 1);
        OA_TRY(oa_status(e->model->context));
    }
    *whole = true;
    return OA_OK;
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
