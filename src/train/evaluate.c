/* SPDX-License-Identifier: Apache-2.0
 * Validation: every token of the text but the first is predicted once, from at most `context` tokens before it. */
#include "train/train.h"

#include <math.h>

static enum oa_error cover_loss(oa_tape *t, struct oa_model *m, struct oa_batches *batches,
                                const struct oa_cover *cover, struct oa_bar *bar, double *sum, bool *whole)
{
    *sum = 0;
    *whole = false;
    for (long i = 0; i < cover->batches; i++) {
        struct oa_batch batch;
        oa_bar_say(bar, i, cover->batches);
        if (oa_stop_requested(m->context))
            return OA_OK;
        OA_TRY(oa_batches_window(batches, i, &batch));
        oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
        *sum += oa_model_loss(t, m, &batch, 1);
        OA_TRY(oa_status(m->context));
    }
    *whole = true;
    return OA_OK;
}

/* NaN where the data are ids without text. */
static double bits_for_each(double nats, uint64_t count)
{
    return count ? nats / log(2) / (double)count : (double)NAN;
}

enum oa_error oa_evaluate_tokens(oa_tape *t, struct oa_model *m, struct oa_batches *batches,
                                 const struct oa_cover *cover, const char *title, struct oa_run *out)
{
    double sum;
    bool whole;
    struct oa_bar bar;
    oa_bar_open(&bar, m->context, title);
    OA_TRY(cover_loss(t, m, batches, cover, &bar, &sum, &whole));
    if (!whole) /* a part of the text says nothing about the whole */
        sum = (double)NAN;
    else if (!isfinite(sum))
        return oa_fail(m->context, OA_DIVERGED, "the validation loss is not finite");
    out->valid_loss = sum / (double)cover->targets;
    out->valid_tokens = (double)cover->targets;
    out->perplexity = exp(out->valid_loss);
    out->bits_per_character = bits_for_each(sum, cover->characters);
    out->bits_per_byte = bits_for_each(sum, cover->bytes);
    return OA_OK;
}
