/* SPDX-License-Identifier: Apache-2.0
 * Advice after a training diverged, of what the options do not have yet: clipping, a longer
 * warm-up, another update rule than SGD, more precision than bf16. */
#include "train/train.h"

enum { MOST = 6 };

const char *oa_divergence_advice(const struct oa_options *o, char out[OA_ADVICE])
{
    char advice[MOST][96];
    int n = 0, length = 0;
    snprintf(advice[n++], sizeof *advice, "lower train.lr (it is %s)", oa_real_text(o->train_lr).s);
    if (o->train_clip == 0)
        snprintf(advice[n++], sizeof *advice, "clip the gradients (train.clip is 0)");
    /* after a short warm-up AdamW's first steps have their full length, whatever the gradient */
    if (o->train_warmup < 100 && o->train_warmup < o->train_steps / 10 + 1)
        snprintf(advice[n++], sizeof *advice, "raise train.warmup (it is %ld)", o->train_warmup);
    if (o->train_optimizer == OA_OPTIMIZER_SGD)
        snprintf(advice[n++], sizeof *advice, "use another train.optimizer than sgd");
    if (o->train_optimizer == OA_OPTIMIZER_MUON)
        snprintf(advice[n++], sizeof *advice, "lower train.muon_lr (it is %s)",
                 oa_real_text(o->train_muon_lr).s);
    if (o->train_precision == OA_PRECISION_BF16)
        snprintf(advice[n++], sizeof *advice, "train with train.precision f32");
    for (int i = 0; i < n; i++)
        length += snprintf(out + length, (size_t)(OA_ADVICE - length), "%s%s",
                           i == 0       ? ""
                           : i + 1 == n ? ", or "
                                        : ", ",
                           advice[i]);
    out[0] = 'L';
    return out;
}
