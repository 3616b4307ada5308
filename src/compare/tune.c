/* SPDX-License-Identifier: Apache-2.0
 * Tuning before a comparison. Every attention tries every cell of compare.tune's grid in runs of
 * its own, the trials, and takes the cell with the best mean score into the comparison
 * (oa_comparison_options).
 *
 * Trials see neither the validation text of the comparison nor its seeds: they train on the
 * training text without its end, which validates them, and their seeds are far away. They are runs
 * like all others, with checksums, fingerprints and checkpoints; the folder of one is
 * tune/attention-NN/CELL/seed-S/. */
#include "compare/comparison_session.h"
#include "train/average.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SEED_DISTANCE =
        1000000, /* from train.seed to the first seed of trials: compare.seeds ends far before */
    TITLE = OA_OPTION_TEXT + 512 /* bytes of "tuning ATTENTION, CELL" */
};

/* ---- options and data ---- */

bool oa_comparison_tuned(const struct comparison_session *t)
{
    return t->out->tuning.grid.options > 0;
}

static enum oa_error check_untuned(const struct comparison_session *t)
{
    struct oa_options plain;
    const struct oa_options *o = t->r->options;
    oa_options_default(&plain);
    const char *idle = o->compare_tune_fraction != plain.compare_tune_fraction ? "fraction"
                       : o->compare_tune_seeds != plain.compare_tune_seeds     ? "seeds"
                       : o->compare_tune_steps != plain.compare_tune_steps     ? "steps"
                                                                               : NULL;
    if (!idle)
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT,
                   "compare.tune_%s has no effect without compare.tune: give it, too", idle);
}

/* An option that was set for all and is tuned for each. */
static void log_overridden(const struct comparison_session *t, const char *key)
{
    struct oa_options plain;
    struct oa_text given, usual;
    oa_options_default(&plain);
    oa_text_init(&given, t->c);
    oa_text_init(&usual, t->c);
    oa_options_get(t->c, t->r->options, key, &given);
    oa_options_get(t->c, &plain, key, &usual);
    if (given.s && usual.s && strcmp(given.s, usual.s) != 0)
        oa_log(t->c, 0, "%s = %s is ignored: overridden by compare.tune", key, given.s);
    oa_text_free(&given);
    oa_text_free(&usual);
}

enum oa_error oa_comparison_tune_read(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_grid *g = &t->out->tuning.grid;
    OA_TRY(oa_grid_parse(t->c, o->compare_tune, g));
    if (!oa_comparison_tuned(t))
        return check_untuned(t);
    if (oa_comparison_by_time(t) && o->compare_tune_steps == 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.tune with --equal time needs compare.tune_steps: the number of "
                       "steps of a run is not known before it ends");
    for (int i = 0; i < g->options; i++)
        log_overridden(t, g->option[i].key);
    if (o->compare_tune_steps > 0 && o->train_warmup > o->compare_tune_steps)
        oa_log(t->c, 0,
               "compare.tune_steps = %ld is less than train.warmup = %ld: trials end before the "
               "peak learning rate",
               o->compare_tune_steps, o->train_warmup);
    return OA_OK;
}

/* Both parts need a whole row of text, or an example. */
static enum oa_error check_split(const struct comparison_session *t)
{
    long need = t->tuning.train.rows ? 1 : t->r->options->model_context + 1;
    double trains = oa_workload_side(&t->tuning, OA_TRAINING).targets;
    double judged = oa_workload_side(&t->tuning, OA_VALIDATION).targets;
    bool judges = (long)judged >= need;
    if (judges && (long)trains >= need)
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT,
                   "compare.tune_fraction = %s leaves %.0f tokens of the training text to %s, but "
                   "a row of model.context needs %ld: %s it, or give more text",
                   oa_real_text(t->r->options->compare_tune_fraction).s, judges ? trains : judged,
                   judges ? "train on" : "validate on", need, judges ? "lower" : "raise");
}

enum oa_error oa_comparison_tune_open(struct comparison_session *t)
{
    struct oa_tuning *tuning = &t->out->tuning;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    tuning->seeds = (int)t->r->options->compare_tune_seeds;
    tuning->fraction = t->r->options->compare_tune_fraction;
    OA_TRY(t->workload.task->hold_out(&t->workload, tuning->fraction, &t->tuning));
    OA_TRY(check_split(t));
    tuning->train_tokens = oa_workload_side(&t->tuning, OA_TRAINING).targets;
    tuning->valid_tokens = oa_workload_side(&t->tuning, OA_VALIDATION).targets;
    for (int i = 0; i < t->out->count; i++) {
        struct oa_entry *e = &t->out->entries[i];
        e->chosen = -1;
        e->trials =
            oa_alloc(t->c, (size_t)(tuning->grid.cells * tuning->seeds) * sizeof *e->trials);
        if (!e->trials)
            return OA_NO_MEMORY;
    }
    return OA_OK;
}

/* The grid decides what the runs of a comparison are; options that it tunes are no longer shared by
 * them. */
void oa_comparison_tune_fingerprint(const struct comparison_session *t, json_t *shared)
{
    const struct oa_options *o = t->r->options;
    const struct oa_grid *g = &t->out->tuning.grid;
    struct oa_text text;
    if (!oa_comparison_tuned(t))
        return;
    oa_text_init(&text, t->c);
    oa_grid_text(g, &text);
    json_object_set_new(shared, "compare.tune", json_string(text.s ? text.s : ""));
    oa_text_cut(&text, 0);
    oa_text_real(&text, o->compare_tune_fraction);
    json_object_set_new(shared, "compare.tune_fraction", json_string(text.s ? text.s : ""));
    json_object_set_new(shared, "compare.tune_seeds", json_sprintf("%ld", o->compare_tune_seeds));
    json_object_set_new(shared, "compare.tune_steps", json_sprintf("%ld", o->compare_tune_steps));
    for (int i = 0; i < g->options; i++)
        json_object_set_new(shared, g->option[i].key, json_string("tuned"));
    oa_text_free(&text);
}

/* ---- a trial ---- */

long oa_trial_seed(long train_seed, int number)
{
    long away = SEED_DISTANCE + number;
    return train_seed <= OA_LAST_SEED - away ? train_seed + away : train_seed - away;
}

/* compare.tune_steps is for the first attention; the others have more or fewer as in the
 * comparison. */
static long trial_steps(const struct comparison_session *t, int entry)
{
    long steps = t->r->options->compare_tune_steps;
    if (steps == 0)
        return t->steps[entry];
    if (t->steps[0] == 0 || t->steps[entry] == t->steps[0])
        return steps;
    return (long)fmax(1, round((double)steps * (double)t->steps[entry] / (double)t->steps[0]));
}

/* cell -1: the values that the comparison's options have. Only the loss at the end counts. */
static struct oa_options trial_options(const struct comparison_session *t, int entry, int cell,
                                       int number)
{
    struct oa_options o = *t->r->options;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", t->out->entries[entry].attention);
    o.model_ffn = t->ffn[entry];
    o.train_seed = oa_trial_seed(o.train_seed, number);
    o.train_steps = trial_steps(t, entry);
    o.train_seconds = 0;
    o.train_eval_every = 0;
    o.compare_jobs = 0; /* a run does not record what was trained next to it */
    oa_comparison_set_initial_run(t, entry, &o);
    if (cell >= 0)
        oa_grid_apply(t->c, &t->out->tuning.grid, cell, &o);
    if (oa_average_wanted(&o) && o.train_eval_every == 0) /* these are the steps of the mean */
        o.train_eval_every = t->r->options->train_eval_every;
    return o;
}

/* All trials, in the order in which they are made: attention by attention, cell by cell. */
struct trials {
    struct oa_run_spec *specs;
    struct oa_run **runs; /* where each goes */
    char (*titles)[TITLE];
    int count;
    oa_context *c;
};

static void free_trials(struct trials *all)
{
    oa_free(all->specs);
    oa_free(all->runs);
    oa_free(all->titles);
}

static enum oa_error add_trials_of_cell(const struct comparison_session *t, int entry, int cell,
                                        struct trials *all)
{
    const struct oa_tuning *tuning = &t->out->tuning;
    const struct oa_entry *e = &t->out->entries[entry];
    char cell_name[OA_GRID_NAME], folder[OA_GRID_NAME + 64];
    oa_grid_name(&tuning->grid, cell, cell_name);
    for (int s = 0; s < tuning->seeds; s++) {
        int i = all->count++;
        struct oa_options o = trial_options(t, entry, cell, s);
        snprintf(folder, sizeof folder, "tune/attention-%02d/%s/seed-%ld", t->place[entry] + 1,
                 cell_name, o.train_seed);
        OA_TRY(oa_comparison_spec(t, entry, &o, &t->tuning, folder, &all->specs[i]));
        snprintf(all->titles[i], TITLE, "tuning %.*s, %s", OA_OPTION_TEXT, oa_entry_name(e),
                 cell_name);
        all->runs[i] = &e->trials[cell * tuning->seeds + s];
        all->specs[i].title = all->titles[i];
        all->specs[i].held_out = tuning->fraction;
        all->specs[i].number = i + 1;
        all->specs[i].count = (long)t->out->count * tuning->grid.cells * tuning->seeds;
    }
    return OA_OK;
}

/* To be freed whatever is returned. */
static enum oa_error list_trials(const struct comparison_session *t, struct trials *all)
{
    const struct oa_tuning *tuning = &t->out->tuning;
    size_t count = (size_t)t->out->count * (size_t)tuning->grid.cells * (size_t)tuning->seeds;
    *all = (struct trials){ .specs = oa_alloc(t->c, count * sizeof *all->specs),
                            .runs = oa_alloc(t->c, count * sizeof *all->runs),
                            .titles = oa_alloc(t->c, count * sizeof *all->titles),
                            .c = t->c };
    if (!all->specs || !all->runs || !all->titles)
        return OA_NO_MEMORY;
    for (int entry = 0; entry < t->out->count; entry++)
        for (int cell = 0; cell < tuning->grid.cells; cell++)
            OA_TRY(add_trials_of_cell(t, entry, cell, all));
    return oa_status(t->c);
}

/* ---- before anything runs ---- */

static enum oa_error check_trial_plan(const struct comparison_session *t, int entry, int cell,
                                      const struct oa_plan *usual)
{
    struct oa_plan plan;
    char name[OA_GRID_NAME];
    struct oa_options o = trial_options(t, entry, cell, 0);
    OA_TRY(oa_plan_workload(t->c, &o, &t->workload, &plan));
    bool size = plan.trainable == usual->trainable && plan.frozen == usual->frozen;
    bool flops = plan.flops == usual->flops || t->r->options->compare_equal != OA_EQUAL_FLOPS;
    if (size && flops)
        return OA_OK;
    return oa_fail(
        t->c, OA_ARGUMENT,
        "compare.tune: %s changes the number of %s of \"%s\"%s; set that option for all attentions "
        "instead",
        oa_grid_name(&t->out->tuning.grid, cell, name), size ? "FLOPs a step" : "parameters",
        t->out->entries[entry].attention,
        size ? ", from which --equal flops derives its steps" : ", and so the model");
}

/* Every cell is the same model at the same cost: no attention may win by a larger one. */
static enum oa_error check_trial_plans(const struct comparison_session *t)
{
    for (int entry = 0; entry < t->out->count; entry++) {
        struct oa_plan usual;
        struct oa_options o = trial_options(t, entry, -1, 0);
        OA_TRY(oa_plan_workload(t->c, &o, &t->workload, &usual));
        for (int cell = 0; cell < t->out->tuning.grid.cells; cell++)
            OA_TRY(check_trial_plan(t, entry, cell, &usual));
    }
    return OA_OK;
}

enum oa_error oa_comparison_tune_check(struct comparison_session *t)
{
    struct trials all;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    OA_TRY(check_trial_plans(t));
    enum oa_error e = list_trials(t, &all);
    for (int i = 0; e == OA_OK && i < all.count; i++) {
        struct oa_run run = { 0 };
        bool found;
        e = oa_run_spec_read(t->c, &all.specs[i], NULL, &run, &found);
        oa_run_free(&run);
    }
    free_trials(&all);
    return e;
}

/* ---- choosing ---- */

static json_t *cell_values(const struct oa_grid *g, int cell)
{
    json_t *values = json_object();
    for (int i = 0; i < g->options; i++)
        json_object_set_new(values, g->option[i].key, json_string(oa_grid_value(g, cell, i)));
    return values;
}

int oa_comparison_tune_recorded(const struct comparison_session *t, int place)
{
    const json_t *recorded = oa_comparison_file_tuned(t->members, place);
    for (int cell = 0; recorded && cell < t->out->tuning.grid.cells; cell++) {
        json_t *values = cell_values(&t->out->tuning.grid, cell);
        bool same = json_equal(values, recorded);
        json_decref(values);
        if (same)
            return cell;
    }
    return -1;
}

static void log_trial_remarks(const struct comparison_session *t, int entry)
{
    struct oa_text text;
    oa_text_init(&text, t->c);
    oa_trial_remarks(t->out, entry, &text);
    if (text.length)
        oa_log(t->c, 0, "compare.tune: %s", text.s);
    oa_text_free(&text);
}

/* A choice of an earlier call stays, since runs of the comparison have it. */
static enum oa_error choose_cell(struct comparison_session *t, int entry, bool *changed)
{
    struct oa_entry *e = &t->out->entries[entry];
    const struct oa_grid *g = &t->out->tuning.grid;
    char before[OA_GRID_NAME], now[OA_GRID_NAME];
    int best = oa_trial_best(t->out, entry);
    if (best < 0)
        return oa_fail(t->c, OA_DIVERGED,
                       "compare.tune: \"%s\" diverged with every value: try other values in "
                       "another --out, or leave the attention out. The first failure: %.400s",
                       oa_entry_name(e), e->trials[0].failure);
    if (e->chosen == best)
        return OA_OK;
    if (e->chosen >= 0)
        return oa_fail(t->c, OA_FORMAT,
                       "%s/contest.json chose %s for \"%s\", but by the runs in tune the best is "
                       "%s: were they repeated on another machine? Give another --out, or remove "
                       "the folder",
                       t->r->folder, oa_grid_name(g, e->chosen, before), oa_entry_name(e),
                       oa_grid_name(g, best, now));
    e->chosen = best;
    oa_comparison_file_set_tuned(t->members, t->place[entry], cell_values(g, best));
    log_trial_remarks(t, entry);
    *changed = true;
    return OA_OK;
}

/* ---- the trials ---- */

/* Only the score of a trial is wanted, so its model and its curve go. */
static enum oa_error trial_ended(void *argument, long number, struct oa_run *run)
{
    const struct trials *all = argument;
    char path[OA_PATH];
    oa_run_free(run);
    *all->runs[number] = *run;
    OA_TRY(oa_path(all->c, path, all->specs[number].folder, "model.safetensors"));
    remove(path);
    return OA_OK;
}

void oa_comparison_tune_expect(struct comparison_session *t)
{
    long runs = oa_comparison_tuned(t) ? (long)t->out->tuning.grid.cells * t->out->tuning.seeds : 0;
    for (int entry = 0; runs && entry < t->out->count; entry++) {
        struct oa_options o = trial_options(t, entry, -1, 0);
        oa_overall_expect(&t->overall, runs, oa_overall_weight(&t->overall, &o));
    }
}

/* Trials have a budget of steps, so one of another machine is equivalent. */
enum oa_error oa_comparison_tune(struct comparison_session *t)
{
    struct oa_workplace here = { .threads = oa_thread_count(t->c) };
    struct trials all;
    bool changed = false;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    enum oa_error e = list_trials(t, &all);
    if (e == OA_OK)
        e = oa_comparison_train(t, all.specs, all.count, &here, trial_ended, &all);
    free_trials(&all);
    for (int entry = 0; e == OA_OK && entry < t->out->count; entry++)
        e = choose_cell(t, entry, &changed);
    if (e != OA_OK || !changed)
        return e;
    return oa_comparison_file_write(t->c, t->r->folder, t->shared, t->members);
}
