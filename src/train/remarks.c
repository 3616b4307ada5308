/* SPDX-License-Identifier: Apache-2.0
 * Notices about options that were changed from their defaults and have no effect with the others.
 */
#include "train/train.h"

#include <string.h>

static bool differs_from_default(oa_context *c, const struct oa_options *o, const char *key)
{
    struct oa_options defaults;
    struct oa_option_pair value;
    oa_options_default(&defaults);
    oa_option_pair_open(c, o, &defaults, key, &value);
    oa_option_pair_close(&value);
    return value.differ;
}

void oa_remarks(oa_context *c, const struct oa_options *o)
{
    bool adamw =
        o->train_optimizer == OA_OPTIMIZER_ADAMW || o->train_optimizer == OA_OPTIMIZER_MUON;
    const struct oa_task *task = oa_task_find(o->data_task);
    bool named = o->data_valid[0] != 0, validated = named || o->data_valid_fraction > 0;
    const struct {
        unsigned need;
        bool met;
        const char *because;
    } needs[] = {
        { OA_NEEDS_SPLIT, !named, "data.valid names the validation text" },
        { OA_NEEDS_VALIDATION, validated, "there is no validation text" },
        { OA_NEEDS_INTERIM_VALIDATION, !validated || o->train_eval_every > 0,
          "train.eval_every is 0: the only validation is at the end" },
        { OA_NEEDS_TIME_BUDGET, o->train_seconds > 0 || o->compare_equal == OA_EQUAL_TIME,
          "there is no time budget" },
        { OA_NEEDS_DROPOUT, o->model_dropout > 0 || o->model_attention_dropout > 0,
          "there is no dropout" },
        { OA_NEEDS_FINAL_RATE,
          o->train_schedule != OA_SCHEDULE_INVERSE_SQRT &&
              o->train_schedule != OA_SCHEDULE_CONSTANT,
          "only the schedules cosine, linear and trapezoid decay to it" },
        { OA_NEEDS_TRAPEZOID, o->train_schedule == OA_SCHEDULE_TRAPEZOID,
          "only the schedule trapezoid has a cool-down" },
        { OA_NEEDS_FIRST_MOMENT, o->train_optimizer != OA_OPTIMIZER_ADAFACTOR,
          "adafactor has no first moment" },
        { OA_NEEDS_RUNNING_TEXT, !task || !task->layout, "the task reads examples" },
        { OA_NEEDS_ROTARY, o->model_position == OA_POSITION_ROTARY,
          "model.position is not rotary" },
        { OA_NEEDS_ROTARY_SCALING, o->model_rotary_scaling != OA_SCALING_NONE,
          "model.rotary_scaling is none" },
        { OA_NEEDS_ADAMW, adamw, "only adamw and muon use it" },
        { OA_NEEDS_BETA2, adamw || o->train_optimizer == OA_OPTIMIZER_LION,
          "only adamw, muon and lion use it" },
        { OA_NEEDS_TEACHER, o->distil_teacher[0] != 0, "there is no distil.teacher" },
        { OA_NEEDS_MUON, o->train_optimizer == OA_OPTIMIZER_MUON, "only muon uses it" },
    };
    for (int i = 0; oa_option_at(i); i++)
        for (size_t k = 0; k < sizeof needs / sizeof *needs; k++)
            if (oa_option_at(i)->needs & needs[k].need && !needs[k].met &&
                differs_from_default(c, o, oa_option_at(i)->key))
                oa_log(c, 0, "%s has no effect: %s", oa_option_at(i)->key, needs[k].because);
    bool timed = o->train_seconds > 0 || o->train_pace[0] != 0;
    if (!timed && o->train_steps > 0 && o->train_warmup > o->train_steps)
        oa_log(c, 0,
               "train.warmup = %ld exceeds train.steps = %ld: the learning rate ends at %s and "
               "never reaches train.lr = %s",
               o->train_warmup, o->train_steps,
               oa_real_rounded(oa_learning_rate(o, o->train_steps), 3).s,
               oa_real_text(o->train_lr).s);
}
