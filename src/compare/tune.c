/* SPDX-License-Identifier: Apache-2.0
 * Tuning before a comparison. Every attention tries every cell of compare.tune's grid in runs of
 * its own, the trials, and takes the cell with the best mean score into the comparison
 * (oa_comparison_options). With compare.tune_per = seed that is done for each seed with trials of
 * its own, so that what chance does to the choice varies over the seeds of the comparison; with
 * once, all seeds share one tuning, which is otherwise the same.
 *
 * Trials see neither the validation text of the comparison nor its seeds: they train on the
 * training text without its end, which validates them, and their seeds are far away. They are runs
 * like all others, with checksums, fingerprints and checkpoints; the folder of one is
 * tune/attention-NN/CELL/seed-S/. */
#include "compare/comparison_session.h"
#include "compare/initial_runs.h"
#include "print/print.h"
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
                       : o->compare_tune_per != plain.compare_tune_per         ? "per"
                       : o->compare_tune_extend != plain.compare_tune_extend   ? "extend"
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

/* A comparison that was begun before there were compare.tune_per and tune_extend goes on as it
 * began. */
static enum oa_error read_tuning_options(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_tuning *tuning = &t->out->tuning;
    json_t *before = NULL;
    tuning->per_seed = o->compare_tune_per == OA_TUNE_PER_SEED;
    tuning->extend = (int)o->compare_tune_extend;
    if (!t->r->overwrite)
        OA_TRY(oa_comparison_file_fingerprint(t->c, t->r->folder, &before));
    tuning->older =
        json_object_get(before, "compare.tune") && !json_object_get(before, "compare.tune_per");
    json_decref(before);
    if (!tuning->older)
        return OA_OK;
    if (tuning->per_seed || tuning->extend)
        oa_log(t->c, 0,
               "%s was begun by an older program, and goes on as it began: compare.tune_per = "
               "once, compare.tune_extend = 0",
               t->r->folder);
    tuning->per_seed = false;
    tuning->extend = 0;
    return OA_OK;
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
    return read_tuning_options(t);
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
        e->tuned = oa_alloc(t->c, (size_t)oa_tunings(t->out) * sizeof *e->tuned);
        if (!e->tuned)
            return OA_NO_MEMORY;
        for (int g = 0; g < oa_tunings(t->out); g++)
            e->tuned[g].chosen = -1;
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
    if (!t->out->tuning.older) {
        const char *per = oa_option_word("compare.tune_per", (int)o->compare_tune_per).s;
        json_object_set_new(shared, "compare.tune_per", json_string(per));
        json_object_set_new(shared, "compare.tune_extend",
                            json_sprintf("%ld", o->compare_tune_extend));
    }
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

/* The seed of the comparison that a trial belongs to where it starts from another one's run: that
 * of its tuning, or of none, so that it starts from the first run there. */
static long seed_of_start(const struct comparison_session *t, int tuning, long trial_seed)
{
    return t->out->tuning.per_seed ? t->r->options->train_seed + tuning : trial_seed;
}

/* cell -1: the values that the comparison's options have. Only the loss at the end counts. */
static struct oa_options trial_options(const struct comparison_session *t, int entry, int tuning,
                                       int cell, int number)
{
    struct oa_options o = *t->r->options;
    long seed = oa_trial_seed(o.train_seed, tuning * t->out->tuning.seeds + number);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", t->out->entries[entry].attention);
    o.model_ffn = t->ffn[entry];
    o.train_seed = seed_of_start(t, tuning, seed);
    oa_comparison_set_initial_run(t, entry, &o);
    o.train_seed = seed;
    o.train_steps = trial_steps(t, entry);
    o.train_seconds = 0;
    o.train_eval_every = 0;
    o.compare_jobs = 0; /* a run does not record what was trained next to it */
    if (cell >= 0)
        oa_grid_apply(t->c, &oa_tuned_of(t->out, entry, tuning)->grid, cell, &o);
    if (oa_average_wanted(&o) && o.train_eval_every == 0) /* these are the steps of the mean */
        o.train_eval_every = t->r->options->train_eval_every;
    return o;
}

static enum oa_error trial_spec(const struct comparison_session *t, int entry, int tuning, int cell,
                                int number, struct oa_run_spec *out)
{
    char name[OA_GRID_NAME], folder[OA_GRID_NAME + 64];
    struct oa_options o = trial_options(t, entry, tuning, cell, number);
    snprintf(folder, sizeof folder, "tune/attention-%02d/%s/seed-%ld", t->place[entry] + 1,
             oa_grid_name(&oa_tuned_of(t->out, entry, tuning)->grid, cell, name), o.train_seed);
    OA_TRY(oa_comparison_spec(t, entry, &o, &t->tuning, folder, out));
    out->initial =
        oa_initial_run_of(&t->out->entries[entry], seed_of_start(t, tuning, o.train_seed));
    out->held_out = t->out->tuning.fraction;
    return OA_OK;
}

/* ---- before anything runs ---- */

static enum oa_error check_trial_plan(const struct comparison_session *t, int entry, int cell,
                                      const struct oa_plan *usual)
{
    struct oa_plan plan;
    char name[OA_GRID_NAME];
    struct oa_options o = trial_options(t, entry, 0, cell, 0);
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
static enum oa_error check_trial_plans(struct comparison_session *t)
{
    for (int entry = 0; entry < t->out->count; entry++) {
        struct oa_plan usual;
        struct oa_options o = trial_options(t, entry, 0, -1, 0);
        OA_TRY(oa_tuned_open(t->c, t->out, oa_tuned_of(t->out, entry, 0)));
        OA_TRY(oa_plan_workload(t->c, &o, &t->workload, &usual));
        for (int cell = 0; cell < t->out->tuning.grid.cells; cell++)
            OA_TRY(check_trial_plan(t, entry, cell, &usual));
    }
    return OA_OK;
}

static json_t *cell_values(const struct oa_grid *g, int cell)
{
    json_t *values = json_object();
    for (int i = 0; i < g->options; i++)
        json_object_set_new(values, g->option[i].key, json_string(oa_grid_value(g, cell, i)));
    return values;
}

/* Key of the choice in contest.json; NULL: of all seeds. */
static const char *seed_key(const struct comparison_session *t, int tuning, char out[32])
{
    if (!t->out->tuning.per_seed)
        return NULL;
    snprintf(out, 32, "%ld", t->r->options->train_seed + tuning);
    return out;
}

/* The cell that contest.json has for it; -1: none, or one that no cell is. */
static int recorded_cell(const struct comparison_session *t, int entry, int tuning)
{
    char key[32];
    const struct oa_tuned *u = oa_tuned_of(t->out, entry, tuning);
    const json_t *recorded =
        oa_comparison_file_tuned(t->members, t->place[entry], seed_key(t, tuning, key));
    for (int cell = 0; recorded && cell < u->grid.cells; cell++) {
        json_t *values = cell_values(&u->grid, cell);
        bool same = json_equal(values, recorded);
        json_decref(values);
        if (same)
            return cell;
    }
    return -1;
}

/* Reads the trials of its grid that have ended. */
static enum oa_error read_trials(const struct comparison_session *t, int entry, int tuning)
{
    struct oa_tuned *u = oa_tuned_of(t->out, entry, tuning);
    int seeds = t->out->tuning.seeds;
    for (int i = 0; i < u->grid.cells * seeds; i++) {
        struct oa_run_spec spec;
        struct oa_run run = { 0 };
        bool found;
        OA_TRY(trial_spec(t, entry, tuning, i / seeds, i % seeds, &spec));
        enum oa_error e = oa_run_spec_read(t->c, &spec, NULL, &run, &found);
        oa_run_free(&run);
        OA_TRY(e);
        u->trials[i] = run;
        u->trials[i].absent = !found;
    }
    return OA_OK;
}

/* Checks the trials of a tuning that are there. The choice is that of an earlier call, or what they
 * lead to where they are complete. The trials are read again when they are needed. */
static enum oa_error check_tuning(struct comparison_session *t, int entry, int tuning)
{
    struct oa_tuned *u = oa_tuned_of(t->out, entry, tuning);
    int added = 1;
    OA_TRY(oa_tuned_open(t->c, t->out, u));
    while (added) {
        OA_TRY(read_trials(t, entry, tuning));
        if (!oa_tuned_made(t->out, u)) {
            OA_TRY(oa_tuned_open(t->c, t->out, u));
            u->chosen = recorded_cell(t, entry, tuning);
            return OA_OK;
        }
        OA_TRY(oa_trial_extend(t->c, t->out, u, &added));
    }
    u->chosen = recorded_cell(t, entry, tuning);
    if (u->chosen < 0)
        u->chosen = oa_trial_best(t->out, u);
    for (int i = 0; i < u->grid.cells * t->out->tuning.seeds; i++)
        u->trials[i] = (struct oa_run){ .absent = true };
    return OA_OK;
}

enum oa_error oa_comparison_tune_check(struct comparison_session *t)
{
    if (!oa_comparison_tuned(t))
        return OA_OK;
    OA_TRY(check_trial_plans(t));
    for (int entry = 0; entry < t->out->count; entry++)
        for (int g = 0; g < oa_tunings(t->out); g++)
            OA_TRY(check_tuning(t, entry, g));
    return OA_OK;
}

/* ---- the trials ---- */

/* A tuning that is asked for. */
struct wanted_tuning {
    int entry, number;
};

/* Trials that are to be made, in this order. */
struct trials {
    struct comparison_session *t;
    struct oa_run_spec *specs;
    struct oa_run **runs; /* where each goes */
    char (*titles)[TITLE];
    int count;
};

static void free_trials(struct trials *all)
{
    oa_free(all->specs);
    oa_free(all->runs);
    oa_free(all->titles);
}

static int count_absent(const struct comparison_session *t, const struct wanted_tuning *w)
{
    const struct oa_tuned *u = oa_tuned_of(t->out, w->entry, w->number);
    int count = 0;
    for (int i = 0; i < u->grid.cells * t->out->tuning.seeds; i++)
        count += u->trials[i].absent;
    return count;
}

static enum oa_error add_trials(const struct wanted_tuning *w, struct trials *all)
{
    struct comparison_session *t = all->t;
    const struct oa_tuned *u = oa_tuned_of(t->out, w->entry, w->number);
    int seeds = t->out->tuning.seeds;
    char cell_name[OA_GRID_NAME];
    for (int k = 0; k < u->grid.cells * seeds; k++) {
        if (!u->trials[k].absent)
            continue;
        int i = all->count++;
        OA_TRY(trial_spec(t, w->entry, w->number, k / seeds, k % seeds, &all->specs[i]));
        snprintf(all->titles[i], TITLE, "tuning %.*s, %s", OA_OPTION_TEXT,
                 oa_entry_name(&t->out->entries[w->entry]),
                 oa_grid_name(&u->grid, k / seeds, cell_name));
        all->runs[i] = &u->trials[k];
        all->specs[i].title = all->titles[i];
    }
    return OA_OK;
}

/* To be freed whatever is returned. */
static enum oa_error list_trials(struct comparison_session *t, const struct wanted_tuning *wanted,
                                 int tunings, struct trials *all)
{
    size_t count = 1;
    for (int i = 0; i < tunings; i++)
        count += (size_t)count_absent(t, &wanted[i]);
    *all = (struct trials){ .t = t,
                            .specs = oa_alloc(t->c, count * sizeof *all->specs),
                            .runs = oa_alloc(t->c, count * sizeof *all->runs),
                            .titles = oa_alloc(t->c, count * sizeof *all->titles) };
    if (!all->specs || !all->runs || !all->titles)
        return OA_NO_MEMORY;
    for (int i = 0; i < tunings; i++)
        OA_TRY(add_trials(&wanted[i], all));
    for (int i = 0; i < all->count; i++) {
        all->specs[i].number = i + 1;
        all->specs[i].count = all->count;
    }
    return oa_status(t->c);
}

/* Runs of the comparison that are known to be made. */
static long count_runs(const struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    return t->out->count * (o->compare_until_resolved ? o->compare_seeds : t->out->seeds);
}

/* Once, by the trials of one tuning of each attention, where nothing was there before. */
static void log_times(struct comparison_session *t)
{
    const struct oa_overall *all = &t->overall;
    long first = (long)t->out->count * t->out->tuning.grid.cells * t->out->tuning.seeds;
    double trials = 0, runs = 0;
    char tuning[OA_NUMBER], comparison[OA_NUMBER];
    if (all->had > 0 || all->ended != first || oa_comparison_by_time(t))
        return;
    for (int entry = 0; entry < t->out->count; entry++) {
        trials += (double)trial_steps(t, entry);
        runs += (double)t->steps[entry];
    }
    double step = (oa_clock() - all->began) / all->made, share = (double)t->out->count;
    long tunings = t->out->tuning.per_seed ? count_runs(t) : t->out->count;
    trials *= (double)first / share * (double)tunings / share;
    oa_log(t->c, 2,
           "tuning: about %s, and %s for the %ld runs of the comparison, by the first %ld runs",
           oa_number_seconds(tuning, step * trials),
           oa_number_seconds(comparison, step * runs * (double)count_runs(t) / share),
           count_runs(t), first);
}

/* Only the score of a trial is wanted, so its model and its curve go. */
static enum oa_error trial_ended(void *argument, long number, struct oa_run *run)
{
    const struct trials *all = argument;
    char path[OA_PATH];
    log_times(all->t);
    oa_run_free(run);
    *all->runs[number] = *run;
    OA_TRY(oa_path(all->t->c, path, all->specs[number].folder, "model.safetensors"));
    remove(path);
    return OA_OK;
}

/* Trials have a budget of steps, so one of another machine is equivalent. */
static enum oa_error make_trials(struct comparison_session *t, const struct wanted_tuning *wanted,
                                 int tunings)
{
    struct oa_workplace here = { .threads = oa_thread_count(t->c) };
    struct trials all;
    enum oa_error e = list_trials(t, wanted, tunings, &all);
    if (e == OA_OK)
        e = oa_comparison_train(t, all.specs, all.count, &here, trial_ended, &all);
    free_trials(&all);
    return e;
}

static void expect_trials(struct comparison_session *t, int entry, int tuning, long count)
{
    struct oa_options o = trial_options(t, entry, tuning, -1, 0);
    oa_overall_expect(&t->overall, count, oa_overall_weight(&t->overall, &o));
}

enum oa_error oa_comparison_tune_announce(struct comparison_session *t)
{
    const struct oa_tuning *tuning = &t->out->tuning;
    double trials = 0, runs = 0;
    long each = (long)tuning->grid.cells * tuning->seeds, seeds = count_runs(t) / t->out->count;
    char a[OA_NUMBER], b[OA_NUMBER];
    struct oa_text line;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    long tunings = tuning->per_seed ? seeds : 1;
    for (int entry = 0; entry < t->out->count; entry++) {
        struct oa_plan plan;
        struct oa_options o = trial_options(t, entry, 0, -1, 0);
        OA_TRY(oa_plan_workload(t->c, &o, &t->workload, &plan));
        trials += plan.flops * (double)o.train_steps * (double)(each * tunings);
        runs += plan.flops * (double)t->steps[entry] * (double)seeds;
    }
    oa_text_init(&line, t->c);
    oa_text_printf(&line, "tuning: %d values or combinations", tuning->grid.cells);
    if (tuning->seeds > 1)
        oa_text_printf(&line, " × %d runs", tuning->seeds);
    if (tuning->per_seed)
        oa_text_printf(&line, " × %s%ld seed%s",
                       t->r->options->compare_until_resolved ? "at least " : "", seeds,
                       oa_plural(seeds));
    oa_text_printf(&line, " × %d attention%s = %ld runs with %s FLOPs", t->out->count,
                   oa_plural(t->out->count), each * tunings * t->out->count,
                   oa_number_si(a, trials));
    if (tuning->extend)
        oa_text_printf(&line, ", more where the best is at an edge");
    oa_text_printf(&line, "; the comparison: %ld runs", count_runs(t));
    if (!oa_comparison_by_time(t))
        oa_text_printf(&line, " with %s FLOPs", oa_number_si(b, runs));
    oa_log(t->c, 2, "%s", line.s ? line.s : "");
    oa_text_free(&line);
    return oa_status(t->c);
}

void oa_comparison_tune_expect(struct comparison_session *t)
{
    if (!oa_comparison_tuned(t) ||
        (t->r->options->compare_until_resolved && t->out->tuning.per_seed))
        return;
    for (int entry = 0; entry < t->out->count; entry++)
        for (int g = 0; g < oa_tunings(t->out); g++)
            expect_trials(t, entry, g, count_absent(t, &(struct wanted_tuning){ entry, g }));
}

/* *added: values, over all of them. */
static enum oa_error extend_grids(struct comparison_session *t, const struct wanted_tuning *wanted,
                                  int tunings, int *added)
{
    *added = 0;
    for (int i = 0; i < tunings; i++) {
        int more;
        struct oa_tuned *u = oa_tuned_of(t->out, wanted[i].entry, wanted[i].number);
        OA_TRY(oa_trial_extend(t->c, t->out, u, &more));
        if (more)
            expect_trials(t, wanted[i].entry, wanted[i].number, count_absent(t, &wanted[i]));
        *added += more;
    }
    return OA_OK;
}

/* ---- choosing ---- */

static void log_trial_remarks(const struct comparison_session *t, int entry)
{
    struct oa_text text;
    oa_text_init(&text, t->c);
    oa_trial_remarks(t->out, entry, &text);
    if (text.length)
        oa_log(t->c, 0, "compare.tune: %s", text.s);
    oa_text_free(&text);
}

static enum oa_error refuse_diverged(const struct comparison_session *t, int entry, int tuning)
{
    const struct oa_entry *e = &t->out->entries[entry];
    char seed[32], of_seed[64] = "";
    if (seed_key(t, tuning, seed))
        snprintf(of_seed, sizeof of_seed, " in the tuning of seed %s", seed);
    return oa_fail(t->c, OA_DIVERGED,
                   "compare.tune: \"%s\" diverged with every value%s: try other values in "
                   "another --out, or leave the attention out. The first failure: %.400s",
                   oa_entry_name(e), of_seed, e->tuned[tuning].trials[0].failure);
}

/* {"train.lr": "0.01"} as "train.lr=0.01". */
static void add_recorded(const json_t *values, struct oa_text *out)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)values, key, value)
        oa_text_printf(out, "%s%s=%s", out->length ? "," : "", key,
                       json_is_string(value) ? json_string_value(value) : "?");
}

/* A choice of an earlier call stays, since runs of the comparison have it. */
static enum oa_error choose_cell(struct comparison_session *t, const struct wanted_tuning *w,
                                 bool *changed)
{
    struct oa_tuned *u = oa_tuned_of(t->out, w->entry, w->number);
    char seed[32], now[OA_GRID_NAME];
    const char *key = seed_key(t, w->number, seed);
    int place = t->place[w->entry];
    const json_t *recorded = oa_comparison_file_tuned(t->members, place, key);
    u->chosen = oa_trial_best(t->out, u);
    if (u->chosen < 0)
        return refuse_diverged(t, w->entry, w->number);
    if (recorded && recorded_cell(t, w->entry, w->number) == u->chosen)
        return OA_OK;
    if (recorded) {
        struct oa_text before;
        oa_text_init(&before, t->c);
        add_recorded(recorded, &before);
        oa_fail(t->c, OA_FORMAT,
                "%s/contest.json chose %s for \"%s\"%s%s, but by the runs in tune the best is "
                "%s: were they repeated on another machine? Give another --out, or remove "
                "the folder",
                t->r->folder, before.s ? before.s : "", oa_entry_name(&t->out->entries[w->entry]),
                key ? " with seed " : "", key ? key : "", oa_grid_name(&u->grid, u->chosen, now));
        oa_text_free(&before);
        return OA_FORMAT;
    }
    oa_comparison_file_set_tuned(t->members, place, key, cell_values(&u->grid, u->chosen));
    *changed = true;
    return OA_OK;
}

/* Remarks are about all that was chosen so far: made where this call chose something. */
static enum oa_error choose_cells(struct comparison_session *t, const struct wanted_tuning *wanted,
                                  int tunings)
{
    bool any = false;
    for (int entry = 0; entry < t->out->count; entry++) {
        bool changed = false;
        for (int i = 0; i < tunings; i++)
            if (wanted[i].entry == entry)
                OA_TRY(choose_cell(t, &wanted[i], &changed));
        if (changed)
            log_trial_remarks(t, entry);
        any = any || changed;
    }
    return any ? oa_comparison_file_write(t->c, t->r->folder, t->shared, t->members) : OA_OK;
}

static enum oa_error tune_wanted(struct comparison_session *t, const struct wanted_tuning *wanted,
                                 int tunings)
{
    int added = 1;
    for (int i = 0; i < tunings && t->r->options->compare_until_resolved; i++)
        if (t->out->tuning.per_seed)
            expect_trials(t, wanted[i].entry, wanted[i].number, count_absent(t, &wanted[i]));
    while (added) {
        OA_TRY(make_trials(t, wanted, tunings));
        OA_TRY(extend_grids(t, wanted, tunings, &added));
    }
    return choose_cells(t, wanted, tunings);
}

enum oa_error oa_comparison_tune(struct comparison_session *t, const struct oa_cell *cells,
                                 int count)
{
    int tunings = 0;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    struct wanted_tuning *wanted = oa_alloc(t->c, ((size_t)count + 1) * sizeof *wanted);
    if (!wanted)
        return OA_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        struct wanted_tuning w = { cells[i].entry, t->out->tuning.per_seed ? cells[i].seed : 0 };
        bool listed = !count_absent(t, &w);
        for (int k = 0; k < tunings && !listed; k++)
            listed = wanted[k].entry == w.entry && wanted[k].number == w.number;
        if (!listed)
            wanted[tunings++] = w;
    }
    enum oa_error e = tunings ? tune_wanted(t, wanted, tunings) : OA_OK;
    oa_free(wanted);
    return e;
}
