/* SPDX-License-Identifier: Apache-2.0
 * Notices about options that were changed from their defaults and have no effect with the others.
 */
#include "train/train.h"

#include <string.h>

static bool differs_from_default(oa_context *c, const struct oa_options *o, const char *key)
{
    struct oa_options fresh;
    struct oa_text now, before;
    oa_options_default(&fresh);
    oa_text_init(&now, c);
    oa_text_init(&before, c);
    oa_options_get(c, o, key, &now);
    oa_options_get(c, &fresh, key, &before);
    bool differ = now.s && before.s && strcmp(now.s, before.s) != 0;
    oa_text_free(&now);
    oa_text_free(&before);
    return differ;
}

void oa_remarks(oa_context *c, const struct oa_options *o)
{
    bool named = o->data_valid[0] != 0, no_validation = !named && o->data_valid_fraction == 0;
    bool end_rate =
        o->train_schedule == OA_SCHEDULE_COSINE || o->train_schedule == OA_SCHEDULE_LINEAR;
    bool adamw = o->train_optimizer == OA_OPTIMIZER_ADAMW;
    const struct {
        const char *key;
        bool idle;
        const char *because;
    } rows[] = {
        { "data.valid_fraction", named, "data.valid names the validation text" },
        { "train.eval_every", no_validation, "there is no validation text" },
        { "train.eval_tokens", no_validation, "there is no validation text" },
        { "train.eval_tokens", !no_validation && o->train_eval_every == 0,
          "train.eval_every is 0: the only validation is at the end" },
        { "train.clock", o->train_seconds == 0 && o->compare_equal != OA_EQUAL_TIME,
          "there is no time budget" },
        { "train.final_tokens", no_validation, "there is no validation text" },
        { "train.seed_dropout", o->model_dropout == 0 && o->model_attention_dropout == 0,
          "there is no dropout" },
        { "train.min_lr", !end_rate, "only the schedules cosine and linear decay to it" },
        { "train.beta1", o->train_optimizer == OA_OPTIMIZER_ADAFACTOR,
          "adafactor has no first moment" },
        { "train.beta2", !adamw, "only adamw uses it" },
        { "train.epsilon", !adamw, "only adamw uses it" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].idle && differs_from_default(c, o, rows[i].key))
            oa_log(c, 0, "%s has no effect: %s", rows[i].key, rows[i].because);
    bool timed = o->train_seconds > 0 || o->train_pace[0] != 0;
    if (!timed && o->train_steps > 0 && o->train_warmup > o->train_steps)
        oa_log(c, 0,
               "train.warmup = %ld exceeds train.steps = %ld: the learning rate ends at %s and "
               "never reaches train.lr = %s",
               o->train_warmup, o->train_steps,
               oa_real_rounded(oa_learning_rate(o, o->train_steps), 3).s,
               oa_real_text(o->train_lr).s);
}
