/* SPDX-License-Identifier: Apache-2.0
 * Tuning before a comparison; what is asked of it is read by tune_request.c. Every attention tries
 * every cell of compare.tune's grid in runs of their own, the trials, and takes the cell with the
 * lowest mean loss into the comparison (oa_comparison_options).
 *
 * Trials see neither the validation text of the comparison nor its seeds: they train on the
 * training text without its end, which judges them, and their seeds are far away. They are runs
 * like all others: with checksum and fingerprint, continued; tune/attention-NN/CELL/seed-S/ is the
 * folder of one. */
#include "compare/comparison_parts.h"
#include "compare/jobs.h"
#include "train/average.h"

#include <math.h>
#include <stdio.h>

enum {
    SEED_DISTANCE =
        1000000, /* from train.seed to the first seed of trials: compare.seeds ends far before */
    TITLE = OA_OPTION_TEXT + 512 /* bytes of "tuning ATTENTION, CELL" */
};

/* ---- a trial
 * -------------------------------------------------------------------------------------------------
 */

long oa_trial_seed(long train_seed, int number)
{
    long away = SEED_DISTANCE + number;
    return train_seed <= OA_LAST_SEED - away ? train_seed + away : train_seed - away;
}

/* compare.tune_steps is about the first attention; the others have more or fewer as in the
 * comparison. */
static long trial_steps(const struct comparison *t, int entry)
{
    long steps = t->r->options->compare_tune_steps;
    if (steps == 0)
        return t->steps[entry];
    if (t->steps[0] == 0 || t->steps[entry] == t->steps[0])
        return steps;
    return (long)fmax(1, round((double)steps * (double)t->steps[entry] / (double)t->steps[0]));
}

/* cell -1: the values that the comparison's options have. Only the loss at the end counts. */
static struct oa_options options_of(const struct comparison *t, int entry, int cell, int number)
{
    struct oa_options o = *t->r->options;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", t->out->entries[entry].attention);
    o.model_ffn = t->ffn[entry];
    o.train_seed = oa_trial_seed(o.train_seed, number);
    o.train_steps = trial_steps(t, entry);
    o.train_seconds = 0;
    o.train_eval_every = 0;
    o.compare_jobs = 0; /* nothing of a run tells what was trained beside it */
    oa_comparison_begin_from(t, entry, &o);
    if (cell >= 0)
        oa_grid_apply(t->c, &t->out->tuning.grid, cell, &o);
    if (oa_average_wanted(&o) && o.train_eval_every == 0) /* these are the steps of the mean */
        o.train_eval_every = t->r->options->train_eval_every;
    return o;
}

static enum oa_error order_of(const struct comparison *t, int entry, int cell, int number,
                              const char *title, struct oa_run_order *out)
{
    const struct oa_tuning *tuning = &t->out->tuning;
    const struct oa_entry *e = &t->out->entries[entry];
    char cell_name[OA_GRID_NAME], name[OA_GRID_NAME + 64];
    *out =
        (struct oa_run_order){ .options = options_of(t, entry, cell, number),
                               .workload = &t->held,
                               .held = tuning->fraction,
                               .title = title,
                               .trainable = e->trainable,
                               .frozen = e->frozen,
                               .number = ((long)entry * tuning->grid.cells + cell) * tuning->seeds +
                                         number + 1,
                               .count = (long)t->out->count * tuning->grid.cells * tuning->seeds };
    out->parent = oa_comparison_parent(t, entry, out->options.train_seed);
    snprintf(name, sizeof name, "tune/attention-%02d/%s/seed-%ld", t->place[entry] + 1,
             oa_grid_name(&tuning->grid, cell, cell_name), out->options.train_seed);
    return oa_path(t->c, out->folder, t->r->folder, name);
}

/* All trials, in the order in which they are made: attention by attention, cell by cell. */
struct trials {
    struct oa_run_order *orders;
    struct oa_run **runs; /* where each goes */
    char (*titles)[TITLE];
    int count;
};

static void free_trials(struct trials *all)
{
    oa_free(all->orders);
    oa_free(all->runs);
    oa_free(all->titles);
}

static enum oa_error add_cell(const struct comparison *t, int entry, int cell, struct trials *all)
{
    const struct oa_tuning *tuning = &t->out->tuning;
    char name[OA_GRID_NAME];
    for (int s = 0; s < tuning->seeds; s++) {
        int i = all->count++;
        snprintf(all->titles[i], TITLE, "tuning %.*s, %s", OA_OPTION_TEXT,
                 oa_entry_name(&t->out->entries[entry]), oa_grid_name(&tuning->grid, cell, name));
        all->runs[i] = &t->out->entries[entry].trials[cell * tuning->seeds + s];
        OA_TRY(order_of(t, entry, cell, s, all->titles[i], &all->orders[i]));
    }
    return OA_OK;
}

/* To be freed whatever is returned. */
static enum oa_error list_trials(const struct comparison *t, struct trials *all)
{
    const struct oa_tuning *tuning = &t->out->tuning;
    size_t count = (size_t)t->out->count * (size_t)tuning->grid.cells * (size_t)tuning->seeds;
    *all = (struct trials){ .orders = oa_alloc(t->c, count * sizeof *all->orders),
                            .runs = oa_alloc(t->c, count * sizeof *all->runs),
                            .titles = oa_alloc(t->c, count * sizeof *all->titles) };
    if (!all->orders || !all->runs || !all->titles)
        return OA_NO_MEMORY;
    for (int entry = 0; entry < t->out->count; entry++)
        for (int cell = 0; cell < tuning->grid.cells; cell++)
            OA_TRY(add_cell(t, entry, cell, all));
    return oa_status(t->c);
}

/* ---- before anything runs
 * ------------------------------------------------------------------------------------ */

static enum oa_error check_plan(const struct comparison *t, int entry, int cell,
                                const struct oa_plan *usual)
{
    struct oa_plan plan;
    char name[OA_GRID_NAME];
    struct oa_options o = options_of(t, entry, cell, 0);
    OA_TRY(oa_plan_workload(t->c, &o, &t->workload, &plan));
    bool size = plan.trainable == usual->trainable && plan.frozen == usual->frozen;
    bool flops = plan.flops == usual->flops || t->r->options->compare_equal != OA_EQUAL_FLOPS;
    if (size && flops)
        return OA_OK;
    return oa_fail(
        t->c, OA_ARGUMENT,
        "compare.tune: %s changes the number of %s of \"%s\"%s; give that option to all attentions "
        "instead",
        oa_grid_name(&t->out->tuning.grid, cell, name), size ? "FLOPs a step" : "parameters",
        t->out->entries[entry].attention,
        size ? ", from which --equal flops has made its steps" : ": it would be another model");
}

/* Every cell is the same model at the same cost: no attention may win by a larger one. */
static enum oa_error check_plans(const struct comparison *t)
{
    for (int entry = 0; entry < t->out->count; entry++) {
        struct oa_plan usual;
        struct oa_options o = options_of(t, entry, -1, 0);
        OA_TRY(oa_plan_workload(t->c, &o, &t->workload, &usual));
        for (int cell = 0; cell < t->out->tuning.grid.cells; cell++)
            OA_TRY(check_plan(t, entry, cell, &usual));
    }
    return OA_OK;
}

static enum oa_error look_at_all(const struct comparison *t, const struct trials *all)
{
    for (int i = 0; i < all->count; i++) {
        struct oa_run run = { 0 };
        bool found;
        enum oa_error e = oa_run_order_look(t->c, &all->orders[i], &run, &found);
        oa_run_free(&run);
        OA_TRY(e);
    }
    return OA_OK;
}

enum oa_error oa_comparison_tune_look(struct comparison *t)
{
    struct trials all;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    OA_TRY(check_plans(t));
    enum oa_error e = list_trials(t, &all);
    if (e == OA_OK)
        e = look_at_all(t, &all);
    free_trials(&all);
    return e;
}

/* ---- choosing
 * ------------------------------------------------------------------------------------------------
 */

static json_t *values_of(const struct oa_grid *g, int cell)
{
    json_t *values = json_object();
    for (int i = 0; i < g->options; i++)
        json_object_set_new(values, g->option[i].key, json_string(oa_grid_value(g, cell, i)));
    return values;
}

/* The cell that an earlier call chose; -1: none did. */
int oa_comparison_tune_recorded(const struct comparison *t, int place)
{
    const json_t *recorded = oa_comparison_file_tuned(t->members, place);
    for (int cell = 0; recorded && cell < t->out->tuning.grid.cells; cell++) {
        json_t *values = values_of(&t->out->tuning.grid, cell);
        bool same = json_equal(values, recorded);
        json_decref(values);
        if (same)
            return cell;
    }
    return -1;
}

static enum oa_error all_diverged(const struct comparison *t, int entry)
{
    const struct oa_entry *e = &t->out->entries[entry];
    return oa_fail(t->c, OA_DIVERGED,
                   "compare.tune: \"%s\" diverged with every value that was tried, so none can be "
                   "chosen; try others in "
                   "another --out, or leave it out. The first: %.400s",
                   oa_entry_name(e), e->trials[0].failure);
}

static void say_edges(const struct comparison *t, int entry)
{
    struct oa_text text;
    oa_text_init(&text, t->c);
    oa_trial_remarks(t->out, entry, &text);
    if (text.length)
        oa_log(t->c, 0, "compare.tune: %s", text.s);
    oa_text_free(&text);
}

/* What an earlier call chose stands, as the runs of the comparison have it. */
static enum oa_error check_recorded(const struct comparison *t, int entry, int best)
{
    const struct oa_entry *e = &t->out->entries[entry];
    const struct oa_grid *g = &t->out->tuning.grid;
    char before[OA_GRID_NAME], now[OA_GRID_NAME];
    if (e->chosen == best)
        return OA_OK;
    return oa_fail(t->c, OA_FORMAT,
                   "%s/contest.json chose %s for \"%s\", and by the runs in tune it is %s: were "
                   "they made again on "
                   "another machine? Give another --out, or remove the folder",
                   t->r->folder, oa_grid_name(g, e->chosen, before), oa_entry_name(e),
                   oa_grid_name(g, best, now));
}

static enum oa_error choose(struct comparison *t, int entry, bool *changed)
{
    struct oa_entry *e = &t->out->entries[entry];
    int best = oa_trial_best(t->out, entry);
    if (best < 0)
        return all_diverged(t, entry);
    if (e->chosen >= 0)
        return check_recorded(t, entry, best);
    e->chosen = best;
    oa_comparison_file_set_tuned(t->members, t->place[entry],
                                 values_of(&t->out->tuning.grid, best));
    say_edges(t, entry);
    *changed = true;
    return OA_OK;
}

static enum oa_error choose_all(struct comparison *t)
{
    bool changed = false;
    for (int entry = 0; entry < t->out->count; entry++)
        OA_TRY(choose(t, entry, &changed));
    return changed ? oa_comparison_file_write(t->c, t->r->folder, t->shared, t->members) : OA_OK;
}

/* ---- the trials
 * ---------------------------------------------------------------------------------------------- */

/* Where ended trials go. */
struct trying {
    const struct comparison *t;
    const struct trials *all;
};

/* A trial ended. Nobody asks for its model or its curve: its loss is what it was for. */
static enum oa_error ended(void *argument, long order, struct oa_run *run)
{
    const struct trying *trying = argument;
    char path[OA_PATH];
    oa_run_free(run);
    *trying->all->runs[order] = *run;
    OA_TRY(oa_path(trying->t->c, path, trying->all->orders[order].folder, "model.safetensors"));
    remove(path);
    return OA_OK;
}

/* Trials are made by steps, so one of another machine is as good. */
static enum oa_error carry_out(struct comparison *t, const struct trials *all)
{
    int jobs;
    struct oa_workplace here = { .threads = oa_thread_count(t->c) };
    struct trying trying = { t, all };
    struct oa_jobs j = { .orders = all->orders,
                         .count = all->count,
                         .place = &here,
                         .overall = &t->overall,
                         .cluster = t->r->cluster,
                         .ended = ended,
                         .argument = &trying };
    OA_TRY(oa_jobs_choose(t->c, &j, t->r->options->compare_jobs, &jobs));
    return oa_jobs_carry_out(t->c, &j, jobs);
}

void oa_comparison_tune_expect(struct comparison *t)
{
    long runs = oa_comparison_tuned(t) ? (long)t->out->tuning.grid.cells * t->out->tuning.seeds : 0;
    for (int entry = 0; runs && entry < t->out->count; entry++) {
        struct oa_options o = options_of(t, entry, -1, 0);
        oa_overall_expect(&t->overall, runs, oa_overall_weight(&t->overall, &o));
    }
}

enum oa_error oa_comparison_tune(struct comparison *t)
{
    struct trials all;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    enum oa_error e = list_trials(t, &all);
    if (e == OA_OK)
        e = carry_out(t, &all);
    free_trials(&all);
    return e == OA_OK ? choose_all(t) : e;
}
