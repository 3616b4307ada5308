/* SPDX-License-Identifier: Apache-2.0
 * Checks numbers of a run that were read from a file: those that follow from the options or from
 * other numbers are computed again, the others must be in their range. */
#include "compare/run_result.h"

#include "train/average.h"

#include <math.h>

struct run_check {
    oa_context *c;
    const char *path;
};

/* The same number, or both not finite. */
static enum oa_error check_equal(const struct run_check *r, const char *what, double found,
                                 double expected)
{
    bool same = found == expected || (!isfinite(found) && !isfinite(expected));
    return same ? OA_OK
                : oa_fail(r->c, OA_FORMAT,
                          "%s: %s is %s, but must be %s; remove the file to train that run again",
                          r->path, what, oa_real_text(found).s, oa_real_text(expected).s);
}

/* Math libraries do not all round exp and divisions alike. */
static enum oa_error check_close(const struct run_check *r, const char *what, double found,
                                 double expected)
{
    return fabs(found - expected) <= 1e-12 * fabs(expected) ? OA_OK
                                                            : check_equal(r, what, found, expected);
}

static enum oa_error check_not_negative(const struct run_check *r, const char *what, double found)
{
    if (isfinite(found) && found >= 0)
        return OA_OK;
    return oa_fail(
        r->c, OA_FORMAT,
        "%s: %s is %s, but must be a number from 0 on; remove the file to train that run again",
        r->path, what, oa_real_text(found).s);
}

/* Steps on running text are all alike; how many tokens those on examples have is in the data. */
static enum oa_error check_tokens(const struct run_check *r, const struct oa_options *o,
                                  const struct oa_task *task, const struct oa_run *run)
{
    struct oa_step_shape step;
    OA_TRY(check_not_negative(r, "tokens", run->tokens));
    if (task->layout)
        return OA_OK;
    OA_TRY(task->shape(r->c, o, NULL, &step));
    OA_TRY(check_equal(r, "tokens", run->tokens, step.tokens * (double)run->steps));
    return run->seconds_per_step > 0 ? check_close(r, "tokens_per_second", run->tokens_per_second,
                                                   step.tokens / run->seconds_per_step)
                                     : OA_OK;
}

static enum oa_error check_amounts(const struct run_check *r, const struct oa_options *o,
                                   const struct oa_task *task, const struct oa_run *run)
{
    if (o->train_seconds <= 0) /* else the clock decided */
        OA_TRY(check_equal(r, "steps", (double)run->steps, (double)o->train_steps));
    OA_TRY(check_tokens(r, o, task, run));
    OA_TRY(check_not_negative(r, "flops_per_step", run->flops_per_step));
    OA_TRY(check_close(r, "flops", run->flops, run->flops_per_step * (double)run->steps));
    OA_TRY(check_not_negative(r, "seconds", run->seconds));
    OA_TRY(check_not_negative(r, "processor_seconds", run->processor_seconds));
    OA_TRY(check_not_negative(r, "seconds_per_step", run->seconds_per_step));
    OA_TRY(check_not_negative(r, "tokens_per_second", run->tokens_per_second));
    return check_not_negative(r, "peak_memory", run->peak_memory);
}

static enum oa_error check_losses(const struct run_check *r, const struct oa_run *run)
{
    OA_TRY(check_not_negative(r, "valid_tokens", run->valid_tokens));
    OA_TRY(check_not_negative(r, "valid_loss", run->valid_loss));
    OA_TRY(check_close(r, "perplexity", run->perplexity, exp(run->valid_loss)));
    if (isnan(run->bits_per_character) && isnan(run->bits_per_byte)) /* of token ids */
        return OA_OK;
    OA_TRY(check_not_negative(r, "bits_per_character", run->bits_per_character));
    return check_not_negative(r, "bits_per_byte", run->bits_per_byte);
}

/* Steps rise, and the curve ends where the run does. */
static enum oa_error check_curve(const struct run_check *r, const struct oa_measure *measures,
                                 const struct oa_run *run)
{
    for (int i = 1; i < run->points; i++)
        if (run->curve[i].step <= run->curve[i - 1].step)
            return oa_fail(
                r->c, OA_FORMAT,
                "%s: step %ld of the curve follows step %ld; remove the file to train that "
                "run again",
                r->path, run->curve[i].step, run->curve[i - 1].step);
    if (run->steps == 0)
        return OA_OK;
    struct oa_curve_point none = { .step = 0, .valid_loss = (double)NAN }, *last = &none;
    oa_scores_clear(none.scores);
    if (run->points)
        last = &run->curve[run->points - 1];
    OA_TRY(check_equal(r, "the last step of the curve", (double)last->step, (double)run->steps));
    if (run->averaged) /* the curve is of the weights before */
        return OA_OK;
    OA_TRY(
        check_equal(r, "the last validation loss of the curve", last->valid_loss, run->valid_loss));
    for (int i = 1; i < oa_measures_count(measures); i++) {
        char what[64];
        snprintf(what, sizeof what, "the last %.24s of the curve", measures[i].name);
        OA_TRY(check_equal(r, what, last->scores[i], run->scores[i]));
    }
    return OA_OK;
}

enum oa_error oa_run_check(oa_context *c, const char *path, const struct oa_options *o,
                           const struct oa_task *task, const struct oa_run *run)
{
    struct run_check r = { .c = c, .path = path };
    OA_TRY(check_equal(&r, "seed", (double)run->seed, (double)o->train_seed));
    if (run->failed)
        return OA_OK;
    OA_TRY(check_amounts(&r, o, task, run));
    OA_TRY(check_losses(&r, run));
    if (run->test.made) {
        OA_TRY(check_not_negative(&r, "test.loss", run->test.loss));
        OA_TRY(check_not_negative(&r, "test.tokens", run->test.targets));
        OA_TRY(check_close(&r, "test.perplexity", run->test.perplexity, exp(run->test.loss)));
    }
    OA_TRY(check_equal(&r, "averaged", run->averaged,
                       oa_average_wanted(o) ? oa_average_count(o, run->steps) : 0));
    return check_curve(&r, task->measures, run);
}
