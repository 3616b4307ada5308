/* SPDX-License-Identifier: Apache-2.0
 * Notices about options that were changed from their defaults and have no effect with the others.
 */
#include "train/train.h"

#include <string.h>

static bool valid_is_apart(const struct oa_options *o)
{
    return o->data_valid[0] != 0;
}

static bool no_validation(const struct oa_options *o)
{
    return !valid_is_apart(o) && o->data_valid_fraction == 0;
}

static bool no_end_rate(const struct oa_options *o)
{
    return o->train_schedule == OA_SCHEDULE_CONSTANT ||
           o->train_schedule == OA_SCHEDULE_INVERSE_SQRT;
}

static bool lacks_adamw(const struct oa_options *o)
{
    return o->train_optimizer != OA_OPTIMIZER_ADAMW;
}

static bool uses_adafactor(const struct oa_options *o)
{
    return o->train_optimizer == OA_OPTIMIZER_ADAFACTOR;
}

static bool by_clock(const struct oa_options *o)
{
    return o->train_seconds > 0 || o->train_pace[0] != 0;
}

static bool no_validation_before_the_end(const struct oa_options *o)
{
    return !no_validation(o) && o->train_eval_every == 0;
}

static bool nothing_timed(const struct oa_options *o)
{
    return o->train_seconds == 0 && o->compare_equal != OA_EQUAL_TIME;
}

static bool no_dropout(const struct oa_options *o)
{
    return o->model_dropout == 0 && o->model_attention_dropout == 0;
}

static const struct {
    const char *key;
    bool (*idle)(const struct oa_options *o);
    const char *because;
} rows[] = {
    { "data.valid_fraction", valid_is_apart, "data.valid names the validation text" },
    { "train.eval_every", no_validation, "there is no validation text" },
    { "train.eval_tokens", no_validation, "there is no validation text" },
    { "train.eval_tokens", no_validation_before_the_end,
      "train.eval_every is 0: the only validation is at the end" },
    { "train.clock", nothing_timed, "there is no time budget" },
    { "train.final_tokens", no_validation, "there is no validation text" },
    { "train.seed_dropout", no_dropout, "there is no dropout" },
    { "train.min_lr", no_end_rate, "only the schedules cosine and linear decay to it" },
    { "train.beta1", uses_adafactor, "adafactor has no first moment" },
    { "train.beta2", lacks_adamw, "only adamw uses it" },
    { "train.epsilon", lacks_adamw, "only adamw uses it" },
};

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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].idle(o) && differs_from_default(c, o, rows[i].key))
            oa_log(c, 0, "%s has no effect: %s", rows[i].key, rows[i].because);
    if (!by_clock(o) && o->train_steps > 0 && o->train_warmup > o->train_steps)
        oa_log(
            c, 0,
            "train.warmup = %ld exceeds train.steps = %ld: the learning rate ends at %s and never "
            "reaches train.lr = %s",
            o->train_warmup, o->train_steps,
            oa_real_rounded(oa_learning_rate(o, o->train_steps), 3).s, oa_real_text(o->train_lr).s);
}
