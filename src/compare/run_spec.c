/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/run_spec.h"

#include "base/folder_lock.h"
#include "compare/jobs.h"
#include "compare/run_items.h"
#include "train/arithmetic.h"
#include "train/teacher.h"

#include <string.h>

/* ---- the machine ---- */

void oa_machine_name(oa_context *c, const struct oa_workplace *place, enum oa_precision precision,
                     char out[OA_MACHINE])
{
    char arithmetic[OA_ARITHMETIC];
    int before, n = oa_arithmetic_name(c, precision, arithmetic, &before);
    int threads = oa_thread_count(c);
    memcpy(out, arithmetic, (size_t)n + 1);
    if (threads == place->threads)
        snprintf(out + n, OA_MACHINE - (size_t)n, ", %d threads", threads);
    else
        snprintf(out + n, OA_MACHINE - (size_t)n, ", %d of %d threads", threads, place->threads);
}

/* Where a machine that rounds as this one has its threads in the text of its name; NULL: another
 * one. */
static const char *threads_if_rounds_alike(oa_context *c, enum oa_precision precision,
                                           const char *machine)
{
    char name[OA_ARITHMETIC];
    int before;
    size_t n = (size_t)oa_arithmetic_name(c, precision, name, &before), old = (size_t)before;
    if (strstr(machine, "begun on"))
        return NULL;
    if (strncmp(machine, name, n) == 0 && (machine[n] == 0 || machine[n] == ','))
        return machine[n] ? machine + n + 2 : machine + n;
    bool older = strncmp(machine, name, old) == 0 && machine[old] == ',' &&
                 strspn(machine + old + 2, "0123456789") > 0;
    return older ? machine + old + 2 : NULL;
}

/* Another processor changes rounding and speed; another number of threads changes speed only. */
static enum oa_error check_machine(oa_context *c, struct oa_workplace *place,
                                   const struct oa_run_spec *spec, const char *machine)
{
    char here[OA_MACHINE];
    enum oa_precision precision = spec->options.train_precision;
    oa_machine_name(c, place, precision, here);
    if (strcmp(machine, here) == 0 ||
        (!place->clocked && threads_if_rounds_alike(c, precision, machine)))
        return OA_OK;
    if (place->clocked)
        return oa_fail(c, OA_ARGUMENT,
                       "%s was trained on another machine (%s; this one: %s), where the same time "
                       "is another budget: continue there, or give another --out",
                       spec->folder, machine, here);
    if (!atomic_exchange(&place->elsewhere, true))
        oa_log(c, 0,
               "%s was trained on another machine (%s; this one: %s): its losses are comparable, "
               "its speeds and times are not",
               spec->folder, machine, here);
    return OA_OK;
}

/* The machine of a run that was begun on `begun` and ended on `here`. */
static void name_machines(oa_context *c, enum oa_precision precision, const char *begun,
                          const char *here, struct oa_run *run)
{
    const char *threads = threads_if_rounds_alike(c, precision, begun);
    if (strcmp(begun, here) == 0)
        snprintf(run->machine, sizeof run->machine, "%s", here);
    else if (threads)
        snprintf(run->machine, sizeof run->machine, "%.190s, begun with %.50s", here, threads);
    else
        snprintf(run->machine, sizeof run->machine, "%.120s, begun on %.120s", here, begun);
}

/* ---- one run ---- */

struct oa_workload oa_run_spec_workload(const struct oa_run_spec *spec)
{
    struct oa_workload w = *spec->workload;
    if (spec->initial)
        w.start = spec->initial->model;
    return w;
}

static enum oa_error run_spec_fingerprint(oa_context *c, const struct oa_run_spec *spec,
                                          json_t **out)
{
    struct oa_workload w = oa_run_spec_workload(spec);
    OA_TRY(oa_fingerprint_make(c, &spec->options, &w, out));
    json_object_set_new(*out, "trainable parameters", json_sprintf("%.0f", spec->trainable));
    json_object_set_new(*out, "frozen parameters", json_sprintf("%.0f", spec->frozen));
    return oa_status(c);
}

enum oa_error oa_run_spec_read(oa_context *c, const struct oa_run_spec *spec,
                               struct oa_workplace *place, struct oa_run *run, bool *found)
{
    json_t *fingerprint = NULL;
    *found = false;
    enum oa_error e = run_spec_fingerprint(c, spec, &fingerprint);
    if (e == OA_OK)
        e = oa_run_load(c, spec->folder, fingerprint, &spec->options, spec->workload->task, run,
                        found);
    if (e == OA_OK && !*found && oa_run_trained(c, spec->folder, 0))
        e = oa_run_check_begun(c, spec->folder, fingerprint);
    json_decref(fingerprint);
    return e == OA_OK && *found && place ? check_machine(c, place, spec, run->machine) : e;
}

/* Progress of a stage as a share of the run: stages by their steps. */
struct run_stage {
    const struct oa_run_spec *spec;
    double before, share;
};

static void report_stage_progress(void *argument, double done)
{
    const struct run_stage *s = argument;
    s->spec->on_progress(s->spec->progress_argument, s->before + s->share * done);
}

/* With a teacher: the layers with another attention learn its outputs first, in the folder
 * "attention" of the run, whose result is *learned; *o and *w then start from there. */
static enum oa_error train_attention_first(oa_context *c, struct run_stage *stage,
                                           struct oa_options *o, struct oa_workload *w,
                                           struct oa_run *learned)
{
    const struct oa_run_spec *spec = stage->spec;
    struct oa_options first = spec->options;
    char folder[OA_PATH], model[OA_PATH], title[OA_OPTION_TEXT + 16];
    bool any;
    if (!o->distil_teacher[0] || o->distil_attention_steps == 0)
        return OA_OK;
    OA_TRY(oa_teacher_first_stage(c, &first, &w->form, &any));
    if (!any)
        return OA_OK;
    OA_TRY(oa_path(c, folder, spec->folder, "attention"));
    OA_TRY(oa_path(c, model, folder, "model.safetensors"));
    snprintf(title, sizeof title, "%.*s, attention", OA_OPTION_TEXT, spec->title);
    stage->share = (double)first.train_steps / (double)(first.train_steps + o->train_steps);
    struct oa_train_request r = { .options = &first,
                                  .workload = w,
                                  .cluster = spec->group,
                                  .folder = folder,
                                  .resume = true,
                                  .keep = true,
                                  .title = title,
                                  .run = spec->number,
                                  .runs = spec->count,
                                  .on_progress = spec->on_progress ? report_stage_progress : NULL,
                                  .progress_argument = stage,
                                  .progress_prefix = spec->progress_prefix };
    OA_TRY(oa_train_run(c, &r, learned));
    stage->before = stage->share;
    stage->share = 1 - stage->share;
    OA_TRY(oa_options_set(c, o, "train.init", folder));
    /* the first rank has written the file */
    OA_TRY(oa_cluster_agree(spec->group, OA_OK));
    return oa_digest_of_file(c, model, &w->start);
}

static enum oa_error train_as_result(oa_context *c, const struct oa_run_spec *spec,
                                     struct oa_run *run)
{
    struct oa_workload w = oa_run_spec_workload(spec);
    struct oa_options o = spec->options;
    struct run_stage stage = { .spec = spec, .share = 1 };
    struct oa_train_request r = { .options = &o,
                                  .workload = &w,
                                  .cluster = spec->group,
                                  .folder = spec->folder,
                                  .resume = true,
                                  .exact = true,
                                  .itemised = spec->itemised,
                                  .title = spec->title,
                                  .run = spec->number,
                                  .runs = spec->count,
                                  .on_progress = spec->on_progress ? report_stage_progress : NULL,
                                  .progress_argument = &stage,
                                  .progress_prefix = spec->progress_prefix };
    struct oa_run learned = { 0 };
    enum oa_error e = train_attention_first(c, &stage, &o, &w, &learned);
    if (e == OA_OK)
        e = oa_train_run(c, &r, run);
    run->attention_tokens = learned.tokens;
    run->attention_loss = learned.valid_loss;
    oa_run_free(&learned);
    if (e != OA_DIVERGED)
        return e;
    const char *why;
    oa_last_error(c, &why);
    run->failed = true;
    run->seed = (uint64_t)spec->options.train_seed;
    snprintf(run->failure, sizeof run->failure, "%s", why);
    oa_clear_error(c);
    oa_log(c, 0, "%s, seed %ld: %s", spec->title, spec->options.train_seed, run->failure);
    return OA_OK;
}

/* Training locks the folder once more. */
static enum oa_error train_and_save(oa_context *c, const struct oa_run_spec *spec,
                                    struct oa_workplace *place, json_t *fingerprint,
                                    struct oa_lock **lock, struct oa_run *run)
{
    char here[OA_MACHINE], begun[OA_MACHINE];
    oa_machine_name(c, place, spec->options.train_precision, here);
    enum oa_error e = oa_folder_lock(c, spec->folder, lock);
    if (e == OA_OK)
        e = oa_run_begin(c, spec->folder, fingerprint, here, begun);
    if (e == OA_OK)
        e = check_machine(c, place, spec, begun);
    OA_TRY(oa_cluster_agree(spec->group, e));
    OA_TRY(train_as_result(c, spec, run));
    name_machines(c, spec->options.train_precision, begun, here, run);
    if (!run->failed) {
        OA_TRY(oa_run_weights(c, spec->folder, run));
        OA_TRY(oa_run_items_save(c, spec->folder, spec->workload->task->measures, run));
    }
    return oa_run_save(c, spec->folder, fingerprint, spec->workload->task->measures, run);
}

enum oa_error oa_run_spec_train(oa_context *c, const struct oa_run_spec *spec,
                                struct oa_workplace *place, struct oa_run *run)
{
    json_t *fingerprint = NULL;
    struct oa_lock *lock = NULL;
    enum oa_error e = oa_cluster_agree(spec->group, run_spec_fingerprint(c, spec, &fingerprint));
    if (e == OA_OK)
        e = train_and_save(c, spec, place, fingerprint, &lock, run);
    oa_folder_unlock(lock);
    json_decref(fingerprint);
    return e;
}

enum oa_error oa_run_spec_follow(oa_context *c, const struct oa_run_spec *spec, struct oa_run *run)
{
    /* one for each oa_cluster_agree() that the first rank calls before it trains */
    OA_TRY(oa_cluster_agree(spec->group, OA_OK));
    OA_TRY(oa_cluster_agree(spec->group, OA_OK));
    return train_as_result(c, spec, run);
}

/* ---- a batch ---- */

enum oa_error oa_run_batch_ended(const struct oa_run_batch *b, long number, struct oa_run *run,
                                 bool was_there)
{
    double weight = oa_overall_weight(b->overall, &b->specs[number].options);
    oa_overall_ended(b->overall, weight, was_there);
    return b->ended(b->argument, number, run);
}

/* Runs that have not ended are listed in todo. */
static enum oa_error read_ended_runs(oa_context *c, const struct oa_run_batch *b, long *todo,
                                     long *count)
{
    for (long i = 0; i < b->count; i++) {
        struct oa_run run = { 0 };
        bool found;
        enum oa_error e = oa_run_spec_read(c, &b->specs[i], b->place, &run, &found);
        if (e != OA_OK)
            oa_run_free(&run);
        OA_TRY(e);
        if (found)
            OA_TRY(oa_run_batch_ended(b, i, &run, true));
        else
            todo[(*count)++] = i;
    }
    return OA_OK;
}

struct sequential_run {
    const struct oa_run_batch *batch;
    const struct oa_run_spec *spec;
    char prefix[OA_OVERALL + 2]; /* "3 of 24 runs, 0:12 left; " */
};

static void update_progress_prefix(void *argument, double done)
{
    struct sequential_run *s = argument;
    struct oa_overall *all = s->batch->overall;
    char whole[OA_OVERALL];
    oa_overall_text(all, done * oa_overall_weight(all, &s->spec->options), oa_clock(), whole);
    snprintf(s->prefix, sizeof s->prefix, "%s; ", whole);
}

static enum oa_error train_one_by_one(oa_context *c, const struct oa_run_batch *b, const long *todo,
                                      long count)
{
    for (long i = 0; i < count; i++) {
        struct oa_run run = { 0 };
        struct oa_run_spec spec = b->specs[todo[i]];
        struct sequential_run s = { .batch = b, .spec = &spec };
        spec.on_progress = update_progress_prefix;
        spec.progress_argument = &s;
        spec.progress_prefix = s.prefix;
        update_progress_prefix(&s, 0);
        enum oa_error e = oa_run_spec_train(c, &spec, b->place, &run);
        if (e != OA_OK)
            oa_run_free(&run);
        OA_TRY(e);
        OA_TRY(oa_run_batch_ended(b, todo[i], &run, false));
    }
    return OA_OK;
}

enum oa_error oa_run_batch_train(oa_context *c, const struct oa_run_batch *b, int jobs)
{
    long count = 0, *todo = oa_alloc(c, ((size_t)b->count + 1) * sizeof *todo);
    if (!todo)
        return OA_NO_MEMORY;
    enum oa_error e = read_ended_runs(c, b, todo, &count);
    if (count && b->overall->began == 0)
        b->overall->began = oa_clock();
    if (e == OA_OK && count && (b->cluster || (jobs > 1 && count > 1)))
        e = oa_jobs_side_by_side(c, b, todo, count, (int)(jobs < count ? jobs : count));
    else if (e == OA_OK)
        e = train_one_by_one(c, b, todo, count);
    oa_free(todo);
    return e;
}
