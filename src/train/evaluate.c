/* SPDX-License-Identifier: Apache-2.0
 * Validation: every token of the text but the first is predicted once, from at most `context` tokens before it. */
#include "train/train.h"

#include <math.h>

static enum oa_error cover_loss(oa_tape *t, struct oa_model *m, struct oa_batches *batches,
                                const struct oa_cover *cover, double *sum)
{
    *sum = 0;
    for (long i = 0; i < cover->batches; i++) {
        struct oa_batch batch;
        OA_TRY(oa_batches_window(batches, i, &batch));
        oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
        *sum += oa_model_loss(t, m, &batch, 1);
        OA_TRY(oa_status(m->context));
    }
    return OA_OK;
}

enum oa_error oa_evaluate_tokens(oa_tape *t, struct oa_model *m, struct oa_batches *batches,
                                 const struct oa_cover *cover, struct oa_run *out)
{
    double sum;
    OA_TRY(cover_loss(t, m, batches, cover, &sum));
    if (!isfinite(sum))
        return oa_fail(m->context, OA_DIVERGED, "the validation loss is not finite");
    out->valid_loss = sum / (double)cover->targets;
    out->perplexity = exp(out->valid_loss);
    out->bits_per_character = sum / log(2) / (double)cover->characters;
    out->bits_per_byte = sum / log(2) / (double)cover->bytes;
    return OA_OK;
}
