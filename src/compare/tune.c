/* SPDX-License-Identifier: Apache-2.0
 * Tuning before a comparison. Every attention tries every cell of compare.tune's grid in runs of
 * its own, the trials, and takes the cell with the best mean score into the comparison
 * (oa_comparison_options). With compare.tune_per = seed each seed has a tuning with trials of its
 * own, so that the effect of chance on the choice varies over the seeds of the comparison; with
 * once, all seeds share one tuning.
 *
 * Trials see neither the validation text of the comparison nor its seeds: they train on the
 * training text without its end, which validates them, and their seeds are far away. They are runs
 * like all others, with checksums, fingerprints and checkpoints; the folder of one is
 * tune/attention-NN/CELL/seed-S/. */
#include "compare/comparison_session.h"
#include "compare/trial_specs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TITLE = OA_OPTION_TEXT + 512 /* bytes of "tuning ATTENTION, CELL" */
};

/* ---- trials and choices of earlier calls ---- */

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

/* The cell that contest.json records; -1: none, or values that are no cell of the grid. */
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
        OA_TRY(oa_trial_spec(t, entry, tuning, i / seeds, i % seeds, &spec));
        enum oa_error e = oa_run_spec_read(t->c, &spec, NULL, &run, &found);
        oa_run_free(&run);
        OA_TRY(e);
        u->trials[i] = run;
        u->trials[i].absent = !found;
    }
    return OA_OK;
}

/* Checks the finished trials of a tuning. The choice is that of an earlier call or, where all
 * trials are finished, the one they lead to; they are then read again when they are needed. */
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
    OA_TRY(oa_trial_check_plans(t));
    for (int entry = 0; entry < t->out->count; entry++)
        for (int g = 0; g < oa_tunings(t->out); g++)
            OA_TRY(check_tuning(t, entry, g));
    return OA_OK;
}

/* ---- the trials ---- */

/* A tuning to be made. */
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
        OA_TRY(oa_trial_spec(t, w->entry, w->number, k / seeds, k % seeds, &all->specs[i]));
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

/* Only the score of a trial is needed: removes its model and its curve. */
static enum oa_error trial_ended(void *argument, long number, struct oa_run *run)
{
    const struct trials *all = argument;
    char path[OA_PATH];
    oa_tuning_log_times(all->t);
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
    oa_free(all.specs);
    oa_free(all.runs);
    oa_free(all.titles);
    return e;
}

static void expect_trials(struct comparison_session *t, int entry, int tuning, long count)
{
    struct oa_options o = oa_trial_options(t, entry, tuning, -1, 0);
    oa_overall_expect(&t->overall, count, oa_overall_weight(&t->overall, &o));
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

/* *added: number of values added to all grids. */
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
    const struct oa_tuned *u = &e->tuned[tuning];
    const char *failure = "a score that is not finite";
    for (int i = u->grid.cells * t->out->tuning.seeds; i-- > 0;)
        failure = u->trials[i].failed ? u->trials[i].failure : failure;
    char seed[32], of_seed[64] = "";
    if (seed_key(t, tuning, seed))
        snprintf(of_seed, sizeof of_seed, " in the tuning of seed %s", seed);
    return oa_fail(t->c, OA_DIVERGED,
                   "compare.tune: \"%s\" diverged with every value%s: try other values in "
                   "another --out, or leave the attention out. The first failure: %.400s",
                   oa_entry_name(e), of_seed, failure);
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

/* Fails if the folder records another choice: existing runs were trained with it. */
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

/* Logs remarks, which are about all choices so far, where this call made one. */
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
