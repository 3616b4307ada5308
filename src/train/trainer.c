/* SPDX-License-Identifier: Apache-2.0
 * One run. The life of a training step, in the order of the code:
 *
 *     batch (data/batches.c) → oa_model_loss (model/transformer.c) → oa_tape_backward (ops/tape.c)
 *     → gradient norm and clipping → oa_optimizer_step (optimizer.c) → log, validation, checkpoint
 *
 * Nothing in the loop allocates after the first step. Everything random is a function of (seed, step), so a run that
 * goes on from a checkpoint makes the same bits as one that was never stopped. */
#include "train/train.h"

#include "device/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 4096 }; /* newest step times, for the median */

struct trainer {
    oa_context *c;
    const struct oa_train_request *r;
    const struct oa_options *o;
    struct oa_device *d;
    struct oa_model *m;
    oa_tape tape;
    struct oa_batches *train, *valid;
    struct oa_cover cover;
    struct oa_stream stream; /* of dropout */
    struct oa_progress p;
    struct oa_plan plan;
    double started, said; /* clock: of this sitting, of the last progress line */
    long first;           /* step at which this sitting began */
    double times[TIMES];
    double loss, norm; /* of the newest step */
    struct oa_run *run;
};

/* ---- opening ---- */

static enum oa_error open_data(struct trainer *t)
{
    const struct oa_options *o = t->o;
    const struct oa_corpus *corpus = &t->r->workload->corpus;
    OA_TRY(oa_batches_open(t->c, &corpus->train, (int)o->train_batch, (int)o->model_context, (uint64_t)o->train_seed,
                           &t->train));
    if (!corpus->valid.count)
        return OA_OK;
    OA_TRY(oa_batches_open(t->c, &corpus->valid, (int)o->train_batch, (int)o->model_context, 0, &t->valid));
    return oa_batches_cover(t->valid, t->r->workload->tokenizer, (uint64_t)o->train_eval_tokens, &t->cover);
}

static enum oa_error resume(struct trainer *t)
{
    bool found = false;
    uint64_t data = t->r->workload->corpus.train.fingerprint;
    if (t->r->resume && t->r->folder)
        OA_TRY(oa_folder_resume(t->m, &t->p, t->r->folder, &found));
    if (found && t->p.data != data)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "%s: the checkpoint was made from other training text or another tokenizer; train into a new folder",
            t->r->folder);
    t->p.data = data;
    if (found)
        oa_log(t->c, 0, "%s: going on from step %ld", t->r->folder, t->p.step);
    return t->r->folder ? oa_log_rewind(t->c, t->r->folder, t->p.step, t->run) : OA_OK;
}

static enum oa_error describe(struct trainer *t)
{
    char path[OA_PATH];
    if (!t->r->folder)
        return OA_OK;
    OA_TRY(oa_directory_make(t->c, t->r->folder));
    OA_TRY(oa_path(t->c, path, t->r->folder, "config.json"));
    OA_TRY(oa_model_save_config(t->m, path));
    OA_TRY(oa_path(t->c, path, t->r->folder, "tokenizer.json"));
    return oa_tokenizer_save(t->c, t->r->workload->tokenizer, path);
}

/* Arenas are sized before the first step: their pages are touched once, and plan and run agree or a test fails. */
static enum oa_error reserve(struct trainer *t)
{
    OA_TRY(oa_plan_make(t->c, t->o, oa_tokenizer_size(t->r->workload->tokenizer), &t->plan));
    oa_arena_reserve(&t->tape.arena, (size_t)t->plan.memory_activations);
    oa_arena_reserve(&t->d->scratch, (size_t)t->plan.memory_scratch);
    return oa_status(t->c);
}

static enum oa_error open_trainer(struct trainer *t)
{
    enum oa_precision precision;
    if (!oa_precision_parse(t->o->train_precision, &precision))
        return oa_fail(t->c, OA_ARGUMENT, "train.precision: \"%s\" is not f32, bf16 or f64", t->o->train_precision);
    OA_TRY(oa_device_open(t->c, precision, false, &t->d));
    OA_TRY(oa_model_open(t->d, t->o, oa_tokenizer_size(t->r->workload->tokenizer), true, &t->m));
    oa_tape_init(&t->tape, t->d);
    t->stream = oa_stream_named((uint64_t)t->o->train_seed, "dropout");
    OA_TRY(reserve(t));
    OA_TRY(open_data(t));
    OA_TRY(describe(t));
    return resume(t);
}

static void close_trainer(struct trainer *t)
{
    oa_batches_close(t->train);
    oa_batches_close(t->valid);
    if (t->m)
        oa_tape_free(&t->tape);
    oa_model_close(t->m);
    oa_device_close(t->d);
}

/* ---- a step ---- */

/* Name of the first parameter whose gradient is not finite. */
static const char *bad_gradient(const struct trainer *t)
{
    for (int i = 0; i < t->m->store.count; i++) {
        const struct oa_parameter *p = t->m->store.parameter[i];
        if (p->gradient && !isfinite(t->d->ops->sum_squares(t->d, p->count, p->gradient)))
            return p->name;
    }
    return NULL;
}

static enum oa_error diverged(struct trainer *t, long step, long micro)
{
    const char *name = bad_gradient(t);
    return oa_fail(t->c, OA_DIVERGED,
                   "step %ld, micro-batch %ld of %ld: the %s is not finite (first tensor: %s%s). Lower train.lr, raise "
                   "train.warmup, or train with --train.precision f32",
                   step, micro, t->o->train_accumulate, isfinite(t->loss) ? "gradient" : "loss",
                   name ? "gradient of " : "", name ? name : "the loss itself");
}

static enum oa_error gradients(struct trainer *t, long step)
{
    const struct oa_options *o = t->o;
    struct oa_stream stream = oa_stream_child(t->stream, (uint64_t)step);
    double scale = 1 / (double)(o->train_batch * o->model_context * o->train_accumulate);
    oa_store_zero_gradients(&t->m->store);
    t->loss = 0;
    for (long micro = 0; micro < o->train_accumulate; micro++) {
        struct oa_batch batch;
        OA_TRY(oa_batches_random(t->train, (uint64_t)step, (uint64_t)micro, &batch));
        oa_tape_reset(&t->tape, true, true, oa_stream_child(stream, (uint64_t)micro));
        t->loss += scale * oa_model_loss(&t->tape, t->m, &batch, scale);
        OA_TRY(oa_status(t->c));
        if (!isfinite(t->loss))
            return diverged(t, step, micro + 1);
        oa_tape_backward(&t->tape);
        OA_TRY(oa_status(t->c));
    }
    return OA_OK;
}

static enum oa_error one_step(struct trainer *t, long step)
{
    const struct oa_options *o = t->o;
    OA_TRY(gradients(t, step));
    t->norm = sqrt(t->d->ops->sum_squares(t->d, t->m->store.updated, t->m->store.gradients));
    if (!isfinite(t->norm))
        return diverged(t, step, o->train_accumulate);
    double clip = o->train_clip > 0 && t->norm > o->train_clip ? o->train_clip / t->norm : 1;
    oa_optimizer_step(&t->m->store, o, step, clip);
    return oa_model_after_step(t->m, step);
}

/* ---- between steps ---- */

static bool due(long step, long every, long last)
{
    return step == last || (every > 0 && step % every == 0);
}

static void say_progress(struct trainer *t, long step)
{
    double now = oa_clock();
    if (now - t->said < 0.2 && step != t->o->train_steps)
        return;
    t->said = now;
    double left = (now - t->started) / (double)(step - t->first) * (double)(t->o->train_steps - step);
    char which[64] = "";
    if (t->r->runs)
        snprintf(which, sizeof which, "[%ld/%ld] ", t->r->run, t->r->runs);
    oa_log(t->c, 1, "%s%s: step %ld/%ld, loss %.4f, %.0f tokens/s, %ld:%02ld left", which, t->r->title, step,
           t->o->train_steps, t->loss, (t->p.tokens > 0 ? t->p.tokens / t->p.seconds : 0), (long)left / 60,
           (long)left % 60);
}

static enum oa_error validate(struct trainer *t, long step, double *loss)
{
    *loss = (double)NAN;
    if (!t->valid || !due(step, t->o->train_eval_every, t->o->train_steps))
        return OA_OK;
    OA_TRY(oa_evaluate_tokens(&t->tape, t->m, t->valid, &t->cover, t->run));
    *loss = t->run->valid_loss;
    return OA_OK;
}

static enum oa_error write_log(struct trainer *t, long step)
{
    struct oa_log_line line = { .step = step,
                                .loss = t->loss,
                                .lr = oa_learning_rate(t->o, step),
                                .gradient_norm = t->norm,
                                .seconds = t->p.seconds,
                                .tokens = t->p.tokens };
    OA_TRY(validate(t, step, &line.valid_loss));
    if (isnan(line.valid_loss) && !due(step, t->o->train_log_every, t->o->train_steps))
        return OA_OK;
    return oa_log_add(t->c, t->r->folder, &line, t->run);
}

static enum oa_error save_state(struct trainer *t)
{
    return t->r->folder ? oa_folder_checkpoint(t->m, &t->p, t->r->folder) : OA_OK;
}

static enum oa_error after_step(struct trainer *t, long step)
{
    OA_TRY(write_log(t, step));
    say_progress(t, step);
    int signal = oa_stop_requested(t->c);
    bool last = step == t->o->train_steps;
    if ((t->o->train_checkpoint_every > 0 && step % t->o->train_checkpoint_every == 0) || signal ||
        (last && t->r->keep))
        OA_TRY(save_state(t));
    if (signal && !last)
        return oa_fail(t->c, OA_INTERRUPTED, "stopped by signal %d after step %ld%s", signal, step,
                       t->r->folder ? "; --resume goes on from here" : "");
    return OA_OK;
}

/* The first step has shown what a step needs: arenas become one piece, workers get equal scratch. */
static void settle(struct trainer *t)
{
    oa_tape_reset(&t->tape, false, false, t->stream);
    oa_device_settle(t->d);
}

/* Points that the log will have: its lines and the validations. */
static int curve_points(const struct oa_options *o)
{
    long points = o->train_steps / o->train_log_every + 2;
    if (o->train_eval_every)
        points += o->train_steps / o->train_eval_every;
    return (int)oa_min(points, 1 << 24);
}

static enum oa_error loop(struct trainer *t)
{
    OA_TRY(oa_curve_reserve(t->c, t->run, curve_points(t->o)));
    t->first = t->p.step;
    t->started = oa_clock();
    for (long step = t->p.step + 1; step <= t->o->train_steps; step++) {
        double start = oa_clock();
        OA_TRY(one_step(t, step));
        if (step == t->first + 1)
            settle(t);
        double seconds = oa_clock() - start;
        t->times[step % TIMES] = seconds;
        t->p.step = step;
        t->p.seconds += seconds;
        t->p.tokens += (double)(t->o->train_batch * t->o->train_accumulate * t->o->model_context);
        OA_TRY(after_step(t, step));
    }
    return OA_OK;
}

/* ---- the end ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of the newest step times, the first step of a sitting left out (it sizes arenas and makes primitives). */
static double median_time(struct trainer *t)
{
    long done = t->p.step - t->first, n = oa_min(done - 1, TIMES - 1);
    if (n < 1)
        return t->p.step ? t->p.seconds / (double)t->p.step : 0;
    double sorted[TIMES];
    for (long i = 0; i < n; i++)
        sorted[i] = t->times[(t->p.step - i) % TIMES];
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return sorted[n / 2];
}

static enum oa_error finish(struct trainer *t)
{
    struct oa_run *run = t->run;
    char path[OA_PATH];
    run->seed = (uint64_t)t->o->train_seed;
    run->steps = t->p.step;
    run->tokens = t->p.tokens;
    run->seconds = t->p.seconds;
    run->seconds_per_step = median_time(t);
    run->tokens_per_second = run->seconds_per_step > 0 ? t->plan.tokens / run->seconds_per_step : 0;
    run->flops_per_step = t->plan.flops;
    run->flops = t->plan.flops * (double)t->p.step;
    run->peak_memory = (double)(t->m->store.arena.peak + t->tape.arena.peak + t->d->scratch.peak);
    if (t->valid && t->first == t->p.step) /* nothing was left to train: the loss at the end is not known yet */
        OA_TRY(oa_evaluate_tokens(&t->tape, t->m, t->valid, &t->cover, run));
    if (!t->r->folder)
        return OA_OK;
    OA_TRY(oa_path(t->c, path, t->r->folder, "model.safetensors"));
    OA_TRY(oa_model_save(t->m, path, false));
    if (!t->r->keep)
        oa_folder_forget(t->c, t->r->folder);
    return OA_OK;
}

enum oa_error oa_train_run(oa_context *c, const struct oa_train_request *r, struct oa_run *out)
{
    struct trainer *t = oa_alloc(c, sizeof *t);
    if (!t)
        return OA_NO_MEMORY;
    *out = (struct oa_run){ .valid_loss = (double)NAN,
                            .perplexity = (double)NAN,
                            .bits_per_character = (double)NAN,
                            .bits_per_byte = (double)NAN };
    t->c = c;
    t->r = r;
    t->o = r->options;
    t->run = out;
    enum oa_error e = open_trainer(t);
    if (e == OA_OK)
        e = loop(t);
    if (e == OA_OK)
        e = finish(t);
    close_trainer(t);
    oa_free(t);
    return e;
}
