/* SPDX-License-Identifier: Apache-2.0
 * Opening a run: data, model, device, the checkpoint that it is resumed from. Nothing is written
 * before all is checked. */
#include "base/file_copies.h"
#include "base/folder_lock.h"
#include "train/arithmetic.h"
#include "train/overwrite.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

void oa_trainer_name(struct trainer *t)
{
    char which[64] = "";
    if (t->r->runs)
        snprintf(which, sizeof which, "[%ld/%ld] ", t->r->run, t->r->runs);
    snprintf(t->title, sizeof t->title, "%s%s", which, t->r->title ? t->r->title : "");
}

static enum oa_error open_batches(struct trainer *t)
{
    const struct oa_options *o = t->o;
    const struct oa_workload *w = t->r->workload;
    struct oa_batch first; /* refuses a text that is too short before anything is written */
    OA_TRY(
        w->task->batches(t->c, o, w, OA_TRAINING, oa_chance_seed(o, OA_CHANCE_ORDER), &t->train));
    OA_TRY(oa_batches_random(t->train, 1, o->train_accumulate, 0, &first));
    if (!t->r->unjudged && oa_workload_side(w, OA_TEST).targets > 0)
        OA_TRY(w->task->batches(t->c, o, w, OA_TEST, 0, &t->test));
    if (t->r->unjudged || oa_workload_side(w, OA_VALIDATION).targets == 0)
        return OA_OK;
    return w->task->batches(t->c, o, w, OA_VALIDATION, 0, &t->valid);
}

double oa_trainer_used(const struct trainer *t)
{
    return t->o->train_clock == OA_CLOCK_WALL ? t->p.seconds : t->p.processor;
}

static enum oa_error resume_pace(struct trainer *t)
{
    char path[OA_PATH];
    OA_TRY(oa_pace_open(t->c, t->o, &t->pace));
    if (!t->folder)
        return OA_OK;
    OA_TRY(oa_path(t->c, path, t->folder, OA_PACE_FILE));
    OA_TRY(oa_pace_resume(t->c, &t->pace, path, t->p.step));
    oa_pace_advance(&t->pace, t->p.step, oa_trainer_used(t));
    return OA_OK;
}

/* Refuses a checkpoint that is beyond the end of the run by its options. */
static enum oa_error check_not_beyond(const struct trainer *t, const struct oa_progress *p)
{
    const struct oa_options *o = t->o;
    double used = o->train_clock == OA_CLOCK_WALL ? p->seconds : p->processor;
    if (o->train_pace[0])
        return OA_OK;
    if (o->train_seconds > 0 && o->train_seconds < p->options.train_seconds &&
        used > o->train_seconds)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "%s has used %.6g seconds already, but train.seconds is %g: give at least as many",
            t->r->folder, used, o->train_seconds);
    if (o->train_seconds <= 0 && p->step > o->train_steps)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "%s has done %ld steps already, but train.steps is %ld: give at least as many",
            t->r->folder, p->step, o->train_steps);
    return OA_OK;
}

static enum oa_error accept_checkpoint(void *argument, const struct oa_progress *p)
{
    const struct trainer *t = argument;
    OA_TRY(t->r->exact ? oa_equal_options(t->c, t->r->folder, &p->options, &t->m->options)
                       : oa_same_options(t->c, t->r->folder, &p->options, &t->m->options));
    OA_TRY(check_not_beyond(t, p));
    OA_TRY(oa_best_accept(t->c, t->o, &p->options, &p->best, t->r->folder));
    OA_TRY(oa_average_accept(t->c, t->o, &p->options, p->step, t->r->folder));
    return oa_same_origin(t->c, t->r->folder, &p->origin, &t->origin);
}

/* Another processor or device rounds differently: the run goes on, with other bits. */
static void compare_arithmetic(struct trainer *t)
{
    char here[OA_ARITHMETIC];
    int before;
    oa_arithmetic_name(t->c, t->o->train_precision, here, &before);
    if (t->p.arithmetic[0] && strcmp(t->p.arithmetic, here) != 0)
        oa_log(t->c, 0,
               "%s: the first %ld steps were made with %s, the others are made with %s: they round "
               "differently, so the weights will not have the bits of a run made with one of them",
               t->r->folder, t->p.step, t->p.arithmetic, here);
    snprintf(t->p.arithmetic, sizeof t->p.arithmetic, "%s", here);
}

/* Reads and compares; writes nothing. */
static enum oa_error load_checkpoint(struct trainer *t)
{
    t->age = -1;
    OA_TRY(oa_origin_of(t->c, t->r->workload, &t->origin));
    OA_TRY(oa_teacher_digest(t->c, t->o, &t->origin.teacher));
    if (t->r->resume && t->folder)
        OA_TRY(oa_folder_resume(t->m, &t->p, t->folder, accept_checkpoint, t, &t->age));
    compare_arithmetic(t);
    t->p.origin = t->origin;
    t->best = (struct oa_best_files){ t->folder, t->p.best.step };
    return resume_pace(t);
}

/* Values of the initial run; with a checkpoint only the seeds of transforms, which it lacks. */
static enum oa_error load_initial_values(struct trainer *t)
{
    if (!t->o->train_init[0] || oa_rank_of(t->r->cluster) != 0)
        return OA_OK;
    OA_TRY(oa_initial_open(t->m, t->r->workload, true, &t->initial));
    if (t->age < 0)
        return oa_transfer_copy(&t->initial.transfer);
    oa_transfer_seeds(&t->initial.transfer);
    return OA_OK;
}

static void print_age(double seconds, char out[64])
{
    static const struct {
        double size;
        const char *name;
    } units[] = { { 86400, "days" }, { 3600, "hours" }, { 60, "minutes" }, { 1, "seconds" } };
    int i = 0;
    while (i < 3 && seconds < 2 * units[i].size)
        i++;
    snprintf(out, 64, "%.0f %s", floor(seconds / units[i].size), units[i].name);
}

static enum oa_error resume_log(struct trainer *t)
{
    char age[64], whole[64];
    OA_TRY(oa_events_rewind(t->c, t->r->folder, t->p.step));
    if (t->age < 0)
        return oa_log_put_aside(t->c, t->r->folder);
    print_age(t->age, age);
    if (t->pace.budget > 0)
        snprintf(whole, sizeof whole, ", %.3g of %g seconds", oa_trainer_used(t), t->pace.budget);
    else
        snprintf(whole, sizeof whole, " of %ld", t->pace.steps);
    oa_log(t->c, 0, "%s: resuming after step %ld%s and %.0f tokens; the checkpoint is %s old",
           t->r->folder, t->p.step, whole, t->p.tokens, age);
    return oa_log_rewind(t->c, t->r->folder, t->p.step, t->r->workload->task->measures, t->run);
}

static enum oa_error save_run_config(struct trainer *t)
{
    char path[OA_PATH];
    struct oa_labels specials;
    enum oa_error e = oa_workload_specials(t->c, t->r->workload, &specials);
    if (e == OA_OK)
        e = oa_path(t->c, path, t->r->folder, "config.json");
    if (e == OA_OK)
        e = oa_model_save_config(t->m, specials.name ? &specials : NULL, path);
    oa_labels_free(&specials);
    return e;
}

/* The first writes, after all checks. */
static enum oa_error begin_in_run_folder(struct trainer *t)
{
    char path[OA_PATH];
    if (!t->folder)
        return OA_OK;
    OA_TRY(oa_directory_make(t->c, t->r->folder));
    if (t->r->overwrite)
        OA_TRY(oa_overwrite(t->c, t->r->folder, &oa_run_folder));
    oa_folder_remove_temporaries(t->r->folder);
    OA_TRY(save_run_config(t));
    OA_TRY(oa_path(t->c, path, t->r->folder, "tokenizer.json"));
    OA_TRY(oa_tokenizer_save(t->c, t->r->workload->tokenizer, path));
    for (int i = 0; i < t->m->store.count; i++)
        if (t->m->store.parameter[i]->source)
            OA_TRY(oa_copies_save(t->c, t->r->folder, t->m->store.parameter[i]->source));
    if (t->initial.from && t->age < 0)
        OA_TRY(oa_initial_save(&t->initial.transfer, t->o->train_init, &t->r->workload->start,
                               t->r->folder));
    return resume_log(t);
}

/* Arenas are sized before the first step: their pages are touched once, and plan and run agree or a
 * test fails. */
static enum oa_error reserve_memory(struct trainer *t)
{
    OA_TRY(oa_plan_workload(t->c, t->o, t->r->workload, &t->plan));
    oa_arena_reserve(&t->tape.arena, (size_t)t->plan.memory_activations);
    oa_arena_reserve(&t->d->scratch, (size_t)t->plan.memory_scratch);
    t->losses = oa_alloc(t->c, (size_t)t->o->train_accumulate * sizeof *t->losses);
    if (!t->losses)
        return OA_NO_MEMORY;
    OA_TRY(oa_shards_open(t->m, t->r->cluster, &t->sum, &t->shards));
    return oa_handout_open(&t->m->store, &t->sum, &t->handout);
}

/* Nothing is written. */
static enum oa_error open_trainer(struct trainer *t)
{
    OA_TRY(oa_ranks_open(t));
    OA_TRY(oa_metric_choose(t->c, t->r->workload->task, t->o->compare_metric, &t->metric));
    OA_TRY(oa_best_check(t->c, t->o, oa_workload_side(t->r->workload, OA_VALIDATION).targets > 0,
                         t->r->folder));
    OA_TRY(oa_average_check(t->c, t->o, t->r->folder));
    OA_TRY(oa_device_open(t->c, t->o->train_precision, false, &t->d));
    OA_TRY(oa_shards_model(t->d, t->o, &t->r->workload->form, oa_rank_count(t->r->cluster), &t->m));
    oa_workload_settle(t->r->workload, &t->m->options);
    oa_tape_init(&t->tape, t->d);
    t->stream = oa_stream_named(oa_chance_seed(t->o, OA_CHANCE_DROPOUT), "dropout");
    OA_TRY(oa_teacher_open(t->m, t->r->workload->tokenizer, &t->teacher));
    OA_TRY(reserve_memory(t));
    OA_TRY(open_batches(t));
    OA_TRY(load_checkpoint(t));
    return load_initial_values(t);
}

enum oa_error oa_trainer_open(struct trainer *t)
{
    OA_TRY(oa_cluster_agree(t->r->cluster, open_trainer(t)));
    OA_TRY(oa_cluster_agree(t->r->cluster, begin_in_run_folder(t)));
    oa_initial_close(&t->initial);
    return oa_ranks_begin(t);
}

void oa_trainer_close(struct trainer *t)
{
    oa_initial_close(&t->initial);
    oa_batches_close(t->train);
    oa_batches_close(t->valid);
    oa_batches_close(t->test);
    oa_ranks_close(t);
    oa_teacher_close(&t->teacher);
    oa_handout_close(&t->handout);
    oa_shards_close(&t->shards);
    oa_tree_sum_close(&t->sum);
    oa_free(t->losses);
    if (t->m)
        oa_tape_free(&t->tape);
    oa_model_close(t->m);
    oa_device_close(t->d);
}
