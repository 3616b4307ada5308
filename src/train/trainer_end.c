/* SPDX-License-Identifier: Apache-2.0
 * Validations, and the end of a run: its measurements and its final model. */
#include "train/trainer.h"

#include "base/compare_doubles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum oa_error oa_trainer_evaluate(struct trainer *t, struct oa_model *m, long tokens, bool last)
{
    const struct oa_workload *w = t->r->workload;
    char title[sizeof t->title + 16];
    struct oa_evaluation e = { .tape = &t->tape,
                               .model = m,
                               .cluster = t->r->cluster,
                               .workload = w,
                               .side = OA_VALIDATION,
                               .batches = t->valid,
                               .title = title,
                               .judged = last || !w->task->slow || oa_best_wanted(t->o),
                               .detailed = last,
                               .itemised = last && t->r->itemised };
    snprintf(title, sizeof title, "%s: validation", t->title);
    OA_TRY(oa_batches_cover(t->valid, w->tokenizer, (uint64_t)tokens, &e.cover));
    return oa_evaluate(&e, t->run);
}

bool oa_trainer_complete(const struct trainer *t)
{
    return !t->valid || !isnan(t->run->valid_loss);
}

bool oa_trainer_ends_otherwise(const struct trainer *t)
{
    return oa_best_wanted(t->o) || oa_average_wanted(t->o);
}

enum oa_error oa_trainer_stopped(struct trainer *t)
{
    const char *advice = t->r->runs ? "; run the same command again to continue"
                                    : "; run it again with --resume to continue";
    return oa_fail(t->c, OA_INTERRUPTED, "stopped by signal %d after step %ld%s",
                   oa_stop_requested(t->c), t->p.step, t->r->folder ? advice : "");
}

enum oa_error oa_trainer_save_pace(struct trainer *t)
{
    char path[OA_PATH];
    OA_TRY(oa_path(t->c, path, t->r->folder, OA_PACE_FILE));
    return oa_pace_save(t->c, &t->pace, oa_option_word("train.clock", (int)t->o->train_clock).s,
                        path);
}

/* ---- the end ---- */

/* For a session without timed steps: the median over the lines of the log, without the first line,
 * which includes the first step. */
static double median_time_logged(const struct oa_run *run)
{
    double sorted[OA_TIMES];
    int n = 0;
    for (int i = 1; i < run->points && n < OA_TIMES; i++) {
        const struct oa_curve_point *p = &run->curve[i];
        double step = (p->seconds - p[-1].seconds) / (double)(p->step - p[-1].step);
        if (step > 0)
            sorted[n++] = step;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, oa_compare_doubles);
    return n ? sorted[n / 2] : 0;
}

/* Median of the newest step times without the first step of the session, which sizes arenas and
 * makes primitives. */
static double median_time(struct trainer *t)
{
    long done = t->p.step - t->first, n = done < OA_TIMES ? done - 1 : OA_TIMES - 1;
    if (n < 1) {
        double logged = median_time_logged(t->run);
        return logged > 0 ? logged : t->p.step ? t->p.seconds / (double)t->p.step : 0;
    }
    double sorted[OA_TIMES];
    for (long i = 0; i < n; i++)
        sorted[i] = t->times[(t->p.step - i) % OA_TIMES];
    qsort(sorted, (size_t)n, sizeof *sorted, oa_compare_doubles);
    return sorted[n / 2];
}

void oa_trainer_account(struct trainer *t)
{
    struct oa_run *run = t->run;
    run->seed = (uint64_t)t->o->train_seed;
    run->steps = t->p.step;
    run->tokens = t->p.tokens;
    if (t->train)
        oa_batches_reading(t->train, (uint64_t)t->p.step, t->o->train_accumulate, &run->reading);
    run->seconds = t->p.seconds;
    run->processor_seconds = t->p.processor;
    run->seconds_per_step = median_time(t);
    double tokens = t->plan.tokens * (1 - run->reading.padding);
    run->tokens_per_second = run->seconds_per_step > 0 ? tokens / run->seconds_per_step : 0;
    run->flops_per_step = t->plan.flops;
    run->flops = t->plan.flops * (double)t->p.step;
    run->peak_memory = (double)(t->m->store.arena.peak + t->sum.arena.peak + t->tape.arena.peak +
                                t->d->scratch.peak);
    run->best_step = t->o->train_keep_best ? t->p.best.step : 0;
}

/* Once, after all selection. */
static enum oa_error evaluate_on_test(struct trainer *t, struct oa_model *m)
{
    const struct oa_workload *w = t->r->workload;
    struct oa_run tested = { 0 };
    char title[sizeof t->title + 16];
    struct oa_evaluation e = { .tape = &t->tape,
                               .model = m,
                               .cluster = t->r->cluster,
                               .workload = w,
                               .side = OA_TEST,
                               .batches = t->test,
                               .title = title,
                               .judged = true,
                               .itemised = t->r->itemised };
    snprintf(title, sizeof title, "%s: test", t->title);
    OA_TRY(oa_batches_cover(t->test, w->tokenizer, 0, &e.cover));
    enum oa_error error = oa_evaluate(&e, &tested);
    oa_items_free(&t->run->test_items);
    t->run->test_items = tested.items;
    OA_TRY(error);
    if (isnan(tested.valid_loss))
        return oa_trainer_stopped(t);
    t->run->test = (struct oa_tested){ .made = true,
                                       .loss = tested.valid_loss,
                                       .targets = tested.valid_tokens,
                                       .perplexity = tested.perplexity,
                                       .bits_per_character = tested.bits_per_character,
                                       .bits_per_byte = tested.bits_per_byte };
    memcpy(t->run->test.scores, tested.scores, sizeof tested.scores);
    return OA_OK;
}

enum oa_error oa_trainer_last_validation(struct trainer *t, struct oa_model *m)
{
    bool known = !t->valid || (!isnan(t->run->valid_loss) && !oa_trainer_ends_otherwise(t));
    if (!known || t->test)
        OA_TRY(oa_ranks_send_model(t, m));
    if (!known)
        OA_TRY(oa_trainer_evaluate(t, m, t->o->train_final_tokens, true));
    if (!oa_trainer_complete(t))
        return oa_trainer_stopped(t);
    return t->test ? evaluate_on_test(t, m) : OA_OK;
}

static enum oa_error save_final_model(struct trainer *t, struct oa_model *m)
{
    char path[OA_PATH];
    OA_TRY(oa_trainer_last_validation(t, m));
    if (!t->r->folder)
        return OA_OK;
    OA_TRY(oa_trainer_save_pace(t));
    OA_TRY(oa_path(t->c, path, t->r->folder, "model.safetensors"));
    OA_TRY(oa_model_save(m, t->r->workload->tokenizer, path, t->o->train_save_frozen));
    if (t->r->keep)
        return OA_OK;
    oa_folder_forget(t->c, t->r->folder);
    oa_best_forget(t->c, t->r->folder);
    oa_average_forget(t->c, t->r->folder);
    return OA_OK;
}

static void log_end(const struct trainer *t)
{
    const struct oa_measure *metric = &t->r->workload->task->measures[t->metric];
    const char *best = metric->higher ? "highest" : "lowest";
    if (!oa_pace_ended(&t->pace, t->p.step))
        oa_log(t->c, 0,
               "%s: stopped early after step %ld of %ld: %ld validations without a new %s %s",
               t->title, t->p.step, t->o->train_steps, t->p.best.stale, best,
               t->metric ? metric->title : "loss");
    if (t->run->best_step)
        oa_log(t->c, 0, "%s: the final model is that of step %ld, with the %s %s, %s", t->title,
               t->p.best.step, best, t->metric ? metric->title : "validation loss",
               oa_real_rounded(t->p.best.score, 6).s);
}

/* Replaces the weights by the mean; a checkpoint has the original ones. */
static enum oa_error average_weights(struct trainer *t)
{
    OA_TRY(oa_average_take(t->m, t->p.step, t->r->folder, &t->run->averaged));
    if (t->run->averaged == 1)
        oa_log(t->c, 0, "%s: train.average has no effect: the run ended before step %ld", t->title,
               t->o->train_eval_every + 1);
    else
        oa_log(
            t->c, 0,
            "%s: the final model is the mean of the weights at the last %d validations, every %ld "
            "steps",
            t->title, t->run->averaged, t->o->train_eval_every);
    return OA_OK;
}

enum oa_error oa_trainer_finish(struct trainer *t)
{
    struct oa_model *best = NULL;
    log_end(t);
    if (oa_average_wanted(t->o))
        OA_TRY(average_weights(t));
    if (!t->run->best_step)
        return save_final_model(t, t->m);
    enum oa_error e = oa_best_open(&t->best, t->m, t->r->workload->tokenizer, &t->p.best, &best);
    if (e == OA_OK)
        e = save_final_model(t, best);
    oa_model_close(best);
    return e;
}
