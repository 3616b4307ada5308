/* SPDX-License-Identifier: Apache-2.0
 * The trials of a tuning before they run: seeds, steps and options, the check that every cell is
 * the same model, and the cost of all. */
#include "compare/trial_specs.h"
#include "compare/comparison_session.h"
#include "compare/initial_runs.h"
#include "print/print.h"
#include "train/average.h"

#include <math.h>
#include <stdio.h>

enum {
    SEED_DISTANCE =
        1000000 /* from train.seed to the first seed of trials: compare.seeds ends far before */
};

/* ---- a trial ---- */

long oa_trial_seed(long train_seed, int number)
{
    long away = SEED_DISTANCE + number;
    return train_seed <= OA_LAST_SEED - away ? train_seed + away : train_seed - away;
}

/* compare.tune_steps is for the first attention; the others have more or fewer as in the
 * comparison. */
long oa_trial_steps(const struct comparison_session *t, int entry)
{
    long steps = t->r->options->compare_tune_steps;
    if (steps == 0)
        return t->steps[entry];
    if (t->steps[0] == 0 || t->steps[entry] == t->steps[0])
        return steps;
    return (long)fmax(1, round((double)steps * (double)t->steps[entry] / (double)t->steps[0]));
}

/* The seed that selects the initial run of a trial: that of its tuning, or, with one tuning for all
 * seeds, its own, which no initial run has, so that the first one is taken. */
static long seed_of_start(const struct comparison_session *t, int tuning, long trial_seed)
{
    return t->out->tuning.per_seed ? t->r->options->train_seed + tuning : trial_seed;
}

/* cell -1: the values that the comparison's options have. Only the loss at the end counts. */
struct oa_options oa_trial_options(const struct comparison_session *t, int entry, int tuning,
                                   int cell, int number)
{
    struct oa_options o = *t->r->options;
    long seed = oa_trial_seed(o.train_seed, tuning * t->out->tuning.seeds + number);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", t->out->entries[entry].attention);
    o.model_ffn = t->ffn[entry];
    o.train_seed = seed_of_start(t, tuning, seed);
    oa_comparison_set_initial_run(t, entry, &o);
    o.train_seed = seed;
    o.train_steps = oa_trial_steps(t, entry);
    o.train_seconds = 0;
    o.train_eval_every = 0;
    o.compare_jobs = 0; /* a run does not record what was trained next to it */
    if (cell >= 0)
        oa_grid_apply(t->c, &oa_tuned_of(t->out, entry, tuning)->grid, cell, &o);
    if (oa_average_wanted(&o) && o.train_eval_every == 0) /* these are the steps of the mean */
        o.train_eval_every = t->r->options->train_eval_every;
    return o;
}

enum oa_error oa_trial_spec(const struct comparison_session *t, int entry, int tuning, int cell,
                            int number, struct oa_run_spec *out)
{
    char name[OA_GRID_NAME], folder[OA_GRID_NAME + 64];
    struct oa_options o = oa_trial_options(t, entry, tuning, cell, number);
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
    struct oa_options o = oa_trial_options(t, entry, 0, cell, 0);
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
enum oa_error oa_trial_check_plans(struct comparison_session *t)
{
    for (int entry = 0; entry < t->out->count; entry++) {
        struct oa_plan usual;
        struct oa_options o = oa_trial_options(t, entry, 0, -1, 0);
        OA_TRY(oa_tuned_open(t->c, t->out, oa_tuned_of(t->out, entry, 0)));
        OA_TRY(oa_plan_workload(t->c, &o, &t->workload, &usual));
        for (int cell = 0; cell < t->out->tuning.grid.cells; cell++)
            OA_TRY(check_trial_plan(t, entry, cell, &usual));
    }
    return OA_OK;
}

/* ---- cost ---- */

/* Runs of the comparison that are known to be made. */
static long count_comparison_runs(const struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    return t->out->count * (o->compare_until_resolved ? o->compare_seeds : t->out->seeds);
}

/* Logged once, after the first tuning of each attention, unless runs of an earlier call exist. */
void oa_tuning_log_times(struct comparison_session *t)
{
    const struct oa_overall *all = &t->overall;
    long first = (long)t->out->count * t->out->tuning.grid.cells * t->out->tuning.seeds;
    double trials = 0, runs = 0;
    char tuning[OA_NUMBER], comparison[OA_NUMBER];
    if (all->had > 0 || all->ended != first || oa_comparison_by_time(t))
        return;
    for (int entry = 0; entry < t->out->count; entry++) {
        trials += (double)oa_trial_steps(t, entry);
        runs += (double)t->steps[entry];
    }
    double step = (oa_clock() - all->began) / all->made, share = (double)t->out->count;
    long tunings = t->out->tuning.per_seed ? count_comparison_runs(t) : t->out->count;
    trials *= (double)first / share * (double)tunings / share;
    oa_log(t->c, 2,
           "tuning: about %s, and %s for the %ld runs of the comparison, by the first %ld runs",
           oa_number_seconds(tuning, step * trials),
           oa_number_seconds(comparison, step * runs * (double)count_comparison_runs(t) / share),
           count_comparison_runs(t), first);
}

enum oa_error oa_comparison_tune_announce(struct comparison_session *t)
{
    const struct oa_tuning *tuning = &t->out->tuning;
    double trials = 0, runs = 0;
    long each = (long)tuning->grid.cells * tuning->seeds,
         seeds = count_comparison_runs(t) / t->out->count;
    char a[OA_NUMBER], b[OA_NUMBER];
    struct oa_text line;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    long tunings = tuning->per_seed ? seeds : 1;
    for (int entry = 0; entry < t->out->count; entry++) {
        struct oa_plan plan;
        struct oa_options o = oa_trial_options(t, entry, 0, -1, 0);
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
    oa_text_printf(&line, "; the comparison: %ld runs", count_comparison_runs(t));
    if (!oa_comparison_by_time(t))
        oa_text_printf(&line, " with %s FLOPs", oa_number_si(b, runs));
    oa_log(t->c, 2, "%s", line.s ? line.s : "");
    oa_text_free(&line);
    return oa_status(t->c);
}
