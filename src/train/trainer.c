/* SPDX-License-Identifier: Apache-2.0
 * One run. The life of a training step, in the order of the code:
 *
 *     batch (data/batches.c) → oa_model_loss (model/forward.c) → oa_tape_backward (ops/tape.c)
 *     → the sum over micro-batches and ranks (cluster/tree_sum.c; during the last: handout.c)
 *     → gradient norm, and the factor of train.clip → oa_shards_step (shards.c), which calls
 *     oa_optimizer_update (optimizer.c) → log, validation, checkpoint
 *
 * Nothing in the loop allocates after the first step. Everything random is a function of (seed,
 * step), so a run resumed from a checkpoint gives the same bits as one that was never stopped. */
#include "train/trainer.h"

#include "train/divergence.h"

#include "base/concurrent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a step ---- */

static enum oa_error report_divergence(struct trainer *t, long step)
{
    if (t->teacher.model)
        return oa_fail(t->c, OA_DIVERGED,
                       "step %ld: what is learned from %s is not finite; lower train.lr or "
                       "distil.attention_lr",
                       step, t->o->distil_teacher);
    struct oa_step s = { .model = t->m,
                         .tape = &t->tape,
                         .batches = t->train,
                         .stream = oa_stream_child(t->stream, (uint64_t)step),
                         .step = step,
                         .accumulate = t->o->train_accumulate,
                         .scale = 1 / t->amount.targets };
    return oa_diverged(&s, isfinite(t->loss));
}

/* Gradients of one micro-batch. A loss that is not finite ends the step in sum_gradients(). */
static enum oa_error train_micro_batch(void *argument, long micro)
{
    struct trainer *t = argument;
    long step = t->p.step + 1;
    struct oa_batch batch;
    oa_store_zero_gradients(&t->m->store);
    OA_TRY(oa_batches_random(t->train, (uint64_t)step, t->o->train_accumulate, micro, &batch));
    oa_tape_reset(&t->tape, true, true,
                  oa_stream_child(oa_stream_child(t->stream, (uint64_t)step), (uint64_t)micro));
    double scale = 1 / t->amount.targets; /* sums over micro-batches are means over all targets */
    t->losses[micro] = t->teacher.model ? oa_teacher_loss(&t->teacher, &t->tape, &batch, scale,
                                                          1 / (double)t->o->train_accumulate)
                                        : scale * oa_model_loss(&t->tape, t->m, &batch, scale);
    OA_TRY(oa_status(t->c));
    if (isfinite(t->losses[micro]))
        oa_handout_backward(&t->handout, &t->tape);
    return oa_status(t->c);
}

static enum oa_error sum_gradients(struct trainer *t, long step)
{
    oa_batches_amount(t->train, (uint64_t)step, t->o->train_accumulate, &t->amount);
    OA_TRY(oa_tree_sum_make(&t->sum, train_micro_batch, t));
    OA_TRY(oa_ranks_after_gradients(t));
    t->loss = 0;
    for (long micro = 0; micro < t->o->train_accumulate; micro++)
        t->loss += t->losses[micro];
    return isfinite(t->loss) ? OA_OK : report_divergence(t, step);
}

static enum oa_error train_step(struct trainer *t, long step)
{
    const struct oa_options *o = t->o;
    OA_TRY(sum_gradients(t, step));
    double squares;
    OA_TRY(oa_shards_squares(&t->shards, &squares));
    t->norm = sqrt(squares);
    if (!isfinite(t->norm))
        return report_divergence(t, step);
    double clip = o->train_clip > 0 && t->norm > o->train_clip ? o->train_clip / t->norm : 1;
    OA_TRY(oa_shards_step(&t->shards, o, step, oa_pace_rate(&t->pace, o, step), clip));
    return oa_model_after_step(t->m, step);
}

/* ---- between steps ---- */

static bool no_step_after(const struct trainer *t, long step)
{
    return oa_pace_ended(&t->pace, step) || oa_best_over(&t->p.best, t->o);
}

static bool is_due(const struct trainer *t, long step, long every)
{
    return no_step_after(t, step) || (every > 0 && step % every == 0);
}

static void log_training_progress(struct trainer *t, long step)
{
    double now = oa_clock(), total = oa_pace_total(&t->pace, step, oa_trainer_used(t));
    if (!t->r->title || (now - t->logged < 0.2 && !no_step_after(t, step)))
        return;
    t->logged = now;
    if (t->r->on_progress)
        t->r->on_progress(t->r->progress_argument, total > 0 ? (double)step / total : 1);
    double seconds = t->p.seconds - t->first_seconds,
           rate = (t->p.tokens - t->first_tokens) / fmax(seconds, 1e-9);
    double left = (now - t->started) / (double)(step - t->first) * (total - (double)step);
    oa_log(t->c, 1, "%s%s: step %ld/%.0f, loss %.4f, %.0f tokens/s, %ld:%02ld left",
           t->r->progress_prefix ? t->r->progress_prefix : "", t->title, step, total, t->loss, rate,
           (long)left / 60, (long)left % 60);
}

static bool validation_due(const struct trainer *t, long step)
{
    return t->valid && is_due(t, step, t->o->train_eval_every);
}

/* On train.eval_tokens, at the end on train.final_tokens. With train.keep_best, all validations
 * must use the same tokens, and with train.average the final model is another one:
 * oa_trainer_finish then makes the final validation. */
static enum oa_error run_validation(struct trainer *t)
{
    bool result = oa_pace_ended(&t->pace, t->p.step) && !oa_trainer_ends_otherwise(t);
    return oa_trainer_evaluate(t, t->m, result ? t->o->train_final_tokens : t->o->train_eval_tokens,
                               result);
}

/* Records the newest validation, unless it was stopped. */
static enum oa_error note_best_model(struct trainer *t)
{
    long before = t->p.best.step;
    if (!oa_best_wanted(t->o) || isnan(t->run->valid_loss))
        return OA_OK;
    const struct oa_measure *metric = &t->r->workload->task->measures[t->metric];
    bool best = oa_best_note(&t->p.best, t->p.step, oa_run_measured(t->run, t->metric), metric);
    if (!best || !t->o->train_keep_best || !t->folder)
        return OA_OK;
    return oa_best_save(&t->best, t->m, t->r->workload->tokenizer, &t->p.best, before);
}

static enum oa_error write_event(const struct trainer *t, const struct oa_log_line *line)
{
    return t->folder && t->o->train_tensorboard ? oa_events_add(t->c, t->folder, line) : OA_OK;
}

static void add_validation_to_line(const struct trainer *t, struct oa_log_line *line)
{
    line->valid_loss = t->run->valid_loss;
    memcpy(line->scores, t->run->scores, sizeof line->scores);
}

static struct oa_log_line empty_line(const struct trainer *t, long step)
{
    double none = (double)NAN;
    struct oa_log_line line = { step, none, none, none,
                                none, none, none, t->r->workload->task->measures,
                                0,    0,    0,    { 0 },
                                0,    { 0 } };
    struct oa_reading reading;
    oa_scores_clear(line.scores);
    oa_batches_reading(t->train, (uint64_t)step, t->o->train_accumulate, &reading);
    if (t->o->data_order == OA_ORDER_EPOCH)
        line.corpora = reading.corpora;
    for (int i = 0; i < line.corpora; i++)
        line.epochs[i] = reading.corpus[i].epochs;
    return line;
}

/* Makes the validation of the newest step if the run was stopped during it. */
static enum oa_error complete_validation(struct trainer *t)
{
    const struct oa_run *run = t->run;
    const struct oa_curve_point *newest = run->points ? &run->curve[run->points - 1] : NULL;
    bool lacks = newest && newest->step == t->p.step && isnan(newest->valid_loss) &&
                 validation_due(t, t->p.step);
    OA_TRY(oa_cluster_broadcast(t->r->cluster, "the state of the run", &lacks,
                                sizeof lacks)); /* the log is rank 0's */
    if (!lacks)
        return OA_OK;
    OA_TRY(run_validation(t));
    if (!oa_trainer_complete(t))
        return oa_trainer_stopped(t);
    OA_TRY(note_best_model(t));
    struct oa_log_line line = empty_line(t, t->p.step);
    add_validation_to_line(t, &line);
    OA_TRY(write_event(t, &line));
    return t->folder ? oa_log_complete(t->c, t->folder, &line, t->run) : OA_OK;
}

static enum oa_error log_step(struct trainer *t, long step)
{
    struct oa_log_line line = empty_line(t, step);
    line.loss = t->loss;
    line.lr = oa_pace_rate(&t->pace, t->o, step);
    line.gradient_norm = t->norm;
    line.seconds = t->p.seconds;
    line.tokens = t->p.tokens;
    bool validation = validation_due(t, step);
    if (!validation && !is_due(t, step, t->o->train_log_every))
        return OA_OK;
    if (validation) {
        OA_TRY(run_validation(t));
        add_validation_to_line(t, &line);
        OA_TRY(note_best_model(t));
    }
    oa_ranks_log(t, &line);
    OA_TRY(oa_log_add(t->c, t->folder, &line, t->run));
    return write_event(t, &line);
}

bool oa_trainer_time_to_save(const struct trainer *t)
{
    double minutes = t->o->train_checkpoint_minutes;
    return minutes > 0 && oa_clock() - t->saved >= oa_checkpoint_wait(minutes, t->cost);
}

static bool checkpoint_due(const struct trainer *t, long step)
{
    long every = t->o->train_checkpoint_every;
    if (every > 0 && step % every == 0)
        return true;
    return t->r->cluster ? t->ranks.save : oa_trainer_time_to_save(t);
}

/* pace.json is written first: on resume, one newer than the checkpoint is truncated. */
static enum oa_error save_checkpoint(struct trainer *t)
{
    if (!t->folder)
        return oa_shards_help_saving(&t->shards);
    OA_TRY(oa_trainer_save_pace(t));
    double start = oa_clock();
    OA_TRY(oa_folder_checkpoint(t->m, &t->p, t->folder));
    oa_best_settle(t->c, &t->best, &t->p.best);
    t->saved = oa_clock();
    t->cost = t->saved - start;
    return OA_OK;
}

static enum oa_error finish_step(struct trainer *t, long step)
{
    OA_TRY(log_step(t, step));
    log_training_progress(t, step);
    bool signal = oa_stop_requested(t->c) != 0, last = no_step_after(t, step);
    if (t->folder)
        OA_TRY(oa_average_note(t->m, step, t->folder));
    if (checkpoint_due(t, step) || signal || (last && (t->r->keep || oa_average_wanted(t->o))))
        OA_TRY(save_checkpoint(t));
    return signal && !(last && oa_trainer_complete(t)) ? oa_trainer_stopped(t) : OA_OK;
}

static enum oa_error train_steps(struct trainer *t)
{
    const struct oa_options *o = t->o;
    long points = t->pace.steps / o->train_log_every + 2; /* of the log: lines and validations */
    if (o->train_eval_every)
        points += t->pace.steps / o->train_eval_every;
    OA_TRY(oa_curve_reserve(t->c, t->run, (int)oa_min(points, 1 << 24)));
    OA_TRY(complete_validation(t));
    t->first = t->p.step;
    t->first_tokens = t->p.tokens;
    t->first_seconds = t->p.seconds;
    t->started = t->saved = oa_clock();
    for (long step = t->p.step + 1; !no_step_after(t, step - 1); step++) {
        double start = oa_clock(), processor = oa_context_clock(t->c),
               waited = oa_cluster_waited(t->r->cluster);
        OA_TRY(train_step(t, step));
        if (step == t->first + 1) {
            /* The first step has shown how much memory a step needs: merge the arenas. */
            oa_tape_reset(&t->tape, false, false, t->stream);
            oa_device_settle(t->d);
        }
        oa_device_sync(t->d);
        double seconds = oa_clock() - start;
        t->times[step % OA_TIMES] = seconds;
        t->p.step = step;
        t->p.seconds += seconds;
        t->p.processor += oa_context_clock(t->c) - processor;
        t->p.tokens += t->amount.tokens;
        OA_TRY(oa_ranks_after_step(t, waited));
        oa_pace_advance(&t->pace, step, oa_trainer_used(t));
        OA_TRY(finish_step(t, step));
    }
    return OA_OK;
}

/* ---- the run ---- */

enum oa_error oa_train_run(oa_context *c, const struct oa_train_request *r, struct oa_run *out)
{
    struct trainer *t = oa_alloc(c, sizeof *t);
    if (!t)
        return OA_NO_MEMORY;
    *out = (struct oa_run){ .valid_loss = (double)NAN,
                            .perplexity = (double)NAN,
                            .bits_per_character = (double)NAN,
                            .bits_per_byte = (double)NAN };
    oa_scores_clear(out->scores);
    t->c = c;
    t->r = r;
    t->o = r->options;
    t->run = out;
    t->folder = oa_rank_of(r->cluster) == 0 ? r->folder : NULL;
    oa_trainer_name(t);
    enum oa_error e = oa_trainer_open(t);
    if (e == OA_OK)
        e = train_steps(t);
    if (e == OA_OK || e == OA_DIVERGED)
        oa_trainer_account(t);
    if (e == OA_OK) /* the others have no folder */
        e = oa_rank_of(r->cluster) == 0 ? oa_trainer_finish(t)
                                        : oa_trainer_last_validation(t, t->m);
    oa_trainer_close(t);
    oa_free(t);
    return e;
}
