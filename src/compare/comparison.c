/* SPDX-License-Identifier: Apache-2.0
 * A comparison: N attentions × S seeds under one budget. All runs share text, tokenizer and
 * options; batches and initial values of shared tensors depend on the seed and on names only (named
 * random streams), so runs of one seed differ by the attention and by nothing else. Runs are
 * ordered seed by seed. A finished run has result.json in its folder, an interrupted one a
 * checkpoint: starting the same comparison again resumes from there, with more seeds or attentions
 * if given. Nothing of another comparison is used: files carry checksums and fingerprints.
 *
 * comparison_session.h lists which file does what. */
#include "compare/comparison_folder.h"
#include "compare/comparison_session.h"
#include "compare/dispatch.h"
#include "compare/initial_runs.h"
#include "compare/jobs.h"
#include "compare/run_items.h"
#include "compare/speed.h"
#include "train/initial.h"

#include <string.h>
#include <unistd.h>

/* ---- resuming a comparison ---- */

/* Of the options that all runs share. */
static enum oa_error shared_fingerprint(struct comparison_session *t)
{
    const char *equal = oa_option_word("compare.equal", (int)t->r->options->compare_equal).s;
    OA_TRY(oa_fingerprint_make(t->c, t->r->options, &t->workload, &t->shared));
    json_object_del(t->shared, "model.attention");
    json_object_set_new(t->shared, "compare.equal", json_string(equal));
    /* with one measure there is no choice, and older folders do not record it */
    if (oa_measures_count(t->out->measures) > 1)
        json_object_set_new(t->shared, "compare.metric",
                            json_string(oa_compared_measure(t->out)->name));
    oa_comparison_tune_fingerprint(t, t->shared);
    return OA_OK;
}

/* With --overwrite no member of the old comparison is used. */
static enum oa_error open_members(struct comparison_session *t)
{
    OA_TRY(oa_comparison_check_outside(t->c, t->r->folder));
    if (!t->r->overwrite) {
        OA_TRY(oa_folder_check_kind(t->c, t->r->folder, &oa_comparison_folder, &oa_run_folder));
        return oa_comparison_file_read(t->c, t->r->folder, t->shared, &t->members);
    }
    t->members = json_array();
    return oa_overwrite_check(t->c, t->r->folder, &oa_comparison_folder);
}

/* Takes the budgets of attentions that are members already; how many are not. */
static int find_members(struct comparison_session *t)
{
    int added = 0;
    for (int i = 0; i < t->out->count; i++) {
        struct oa_member m;
        t->place[i] = oa_comparison_file_find(t->members, t->out->entries[i].attention, &m);
        if (t->place[i] < 0) {
            added++;
            continue;
        }
        t->steps[i] = m.steps;
        t->ffn[i] = m.ffn;
    }
    return added;
}

/* added: attentions that the comparison did not have. Writes nothing. */
static enum oa_error plan_budgets(struct comparison_session *t, int *added)
{
    enum oa_equal equal = t->r->options->compare_equal;
    OA_TRY(shared_fingerprint(t));
    OA_TRY(open_members(t));
    *added = find_members(t);
    if (json_array_size(t->members) > 0 && t->place[0] != 0 && equal != OA_EQUAL_TOKENS) {
        const json_t *first = json_array_get(t->members, 0);
        return oa_fail(t->c, OA_ARGUMENT,
                       "%s: with --equal %s the first attention sets the budget of all: it was "
                       "\"%s\" and is now \"%s\"; name the old one first, or give another --out",
                       t->r->folder, oa_option_word("compare.equal", (int)equal).s,
                       json_string_value(json_object_get(first, "attention")),
                       t->out->entries[0].attention);
    }
    return oa_comparison_equalise(t);
}

/* Every attention starts from the same run (train.init), or from one of its own; what fits is
 * logged once, whatever its seeds. */
static enum oa_error log_initial_values(struct comparison_session *t)
{
    struct oa_text text;
    OA_TRY(oa_initial_check(t->c, t->r->options, t->r->folder));
    oa_text_init(&text, t->c);
    oa_initial_runs_sentence(t->out, t->out->seeds, &text);
    if (text.length)
        oa_log(t->c, 0, "%s", text.s);
    oa_text_free(&text);
    for (int i = 0; i < t->out->count; i++) {
        struct oa_options o = oa_comparison_options(t, i, 0);
        struct oa_started started;
        OA_TRY(
            oa_initial_log(t->c, &o, &t->workload, oa_entry_name(&t->out->entries[i]), &started));
        t->out->entries[i].started = started.taken;
        t->out->entries[i].tensors = started.count;
    }
    return OA_OK;
}

static bool *run_ended_flag(const struct comparison_session *t, int entry, int seed)
{
    return &t->ended[entry * t->out->seeds + seed];
}

enum oa_error oa_comparison_spec(const struct comparison_session *t, int entry,
                                 const struct oa_options *options, const struct oa_workload *w,
                                 const char *folder, struct oa_run_spec *out)
{
    const struct oa_entry *e = &t->out->entries[entry];
    *out = (struct oa_run_spec){ .options = *options,
                                 .workload = w,
                                 .initial = oa_initial_run_of(e, options->train_seed),
                                 .title = oa_entry_name(e),
                                 .trainable = e->trainable,
                                 .frozen = e->frozen };
    return oa_path(t->c, out->folder, t->r->folder, folder);
}

static enum oa_error spec_of_cell(const struct comparison_session *t, int entry, int seed,
                                  struct oa_run_spec *out)
{
    struct oa_options o = oa_comparison_options(t, entry, seed);
    char folder[64];
    snprintf(folder, sizeof folder, "runs/attention-%02d/seed-%ld", t->place[entry] + 1,
             o.train_seed);
    OA_TRY(oa_comparison_spec(t, entry, &o, &t->workload, folder, out));
    out->itemised = true;
    return OA_OK;
}

/* With compare.items random every run must have been measured item by item. */
static enum oa_error check_run_items(const struct comparison_session *t,
                                     const struct oa_run_spec *spec, const struct oa_run *run)
{
    const struct oa_comparison *k = t->out;
    if (!k->random_items || run->failed || run->items.measured[k->metric])
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT,
                   "compare.items = random: %s has no " OA_ITEMS_FILE ", since an older version "
                   "trained it: remove that folder to train it again, or give compare.items fixed",
                   spec->folder);
}

/* Checks existing runs, as far as their options are known, before anything is written: a refused
 * start changes no file. */
static enum oa_error check_runs(struct comparison_session *t)
{
    int count = t->out->count * t->out->seeds;
    for (int i = 0; i < count; i++) {
        struct oa_run_spec spec;
        int seed = i / t->out->count, entry = i % t->out->count;
        struct oa_entry *e = &t->out->entries[entry];
        if ((oa_comparison_tuned(t) && oa_tuned_of(t->out, entry, seed)->chosen < 0) ||
            !oa_comparison_budget_known(t, entry, seed))
            continue;
        OA_TRY(spec_of_cell(t, entry, seed, &spec));
        OA_TRY(oa_run_spec_read(t->c, &spec, NULL, &e->runs[seed], run_ended_flag(t, entry, seed)));
        if (*run_ended_flag(t, entry, seed))
            OA_TRY(check_run_items(t, &spec, &e->runs[seed]));
    }
    for (int i = 0; i < count; i++) { /* read again when needed */
        struct oa_run *run = &t->out->entries[i % t->out->count].runs[i / t->out->count];
        uint64_t seed = run->seed;
        oa_run_free(run);
        *run = (struct oa_run){ .seed = seed, .absent = true };
    }
    for (int i = 0; oa_comparison_tuned(t) && i < t->out->count * oa_tunings(t->out); i++)
        oa_tuned_of(t->out, i % t->out->count, i / t->out->count)->chosen = -1; /* likewise */
    return OA_OK;
}

static enum oa_error begin_in_folder(struct comparison_session *t)
{
    int added;
    OA_TRY(plan_budgets(t, &added));
    OA_TRY(log_initial_values(t));
    oa_comparison_log_widths(t);
    if (t->r->overwrite)
        OA_TRY(oa_overwrite(t->c, t->r->folder, &oa_comparison_folder));
    for (int i = 0; i < t->out->count; i++)
        if (t->place[i] < 0)
            t->place[i] = oa_comparison_file_add(
                t->members,
                &(struct oa_member){ t->out->entries[i].attention, t->steps[i], t->ffn[i] });
    OA_TRY(oa_comparison_tune_check(t));
    OA_TRY(check_runs(t));
    OA_TRY(oa_comparison_evaluate_teacher(t));
    return added ? oa_comparison_file_write(t->c, t->r->folder, t->shared, t->members) : OA_OK;
}

/* ---- the runs ---- */

enum oa_error oa_comparison_train(struct comparison_session *t, const struct oa_run_spec *specs,
                                  long count, struct oa_workplace *place,
                                  enum oa_error (*ended)(void *, long, struct oa_run *),
                                  void *argument)
{
    int jobs;
    struct oa_run_batch b = { .specs = specs,
                              .count = count,
                              .place = place,
                              .overall = &t->overall,
                              .cluster = t->r->cluster,
                              .ended = ended,
                              .argument = argument };
    OA_TRY(oa_jobs_choose(t->c, &b, t->r->options->compare_jobs, &jobs));
    return oa_run_batch_train(t->c, &b, jobs);
}

/* Cells that are trained in parallel. */
struct cell_batch {
    struct comparison_session *t;
    const struct oa_cell *cells;
    const struct oa_run_spec *specs;
};

/* A run ended; others may still be training. Two seeds must not give the same model: then something
 * does not depend on the seed. */
static enum oa_error cell_ended(void *argument, long number, struct oa_run *ended)
{
    const struct cell_batch *b = argument;
    const struct oa_cell *cell = &b->cells[number];
    struct oa_entry *e = &b->t->out->entries[cell->entry];
    struct oa_run *run = &e->runs[cell->seed];
    *run = *ended;
    *run_ended_flag(b->t, cell->entry, cell->seed) = true;
    OA_TRY(check_run_items(b->t, &b->specs[number], run));
    for (const struct oa_run *r = e->runs; r < e->runs + b->t->out->seeds; r++)
        if (r != run && *r->weights && r->valid_loss == run->valid_loss &&
            strcmp(run->weights, r->weights) == 0)
            return oa_fail(b->t->c, OA_INTERNAL,
                           "%s: seeds %llu and %llu ended with the same model, bit for bit "
                           "(validation loss %.9g, weights %.16s…), so no interval can be given; "
                           "this is a fault of the program, please report it",
                           e->attention, (unsigned long long)r->seed, (unsigned long long)run->seed,
                           run->valid_loss, run->weights);
    return OA_OK;
}

/* first, all: of progress lines, the number of the first cell among all that are wanted. */
static enum oa_error train_cells(struct comparison_session *t, const struct oa_cell *cells,
                                 int count, int first, int all, struct oa_run_spec *specs)
{
    for (int i = 0; i < count; i++) {
        OA_TRY(oa_comparison_check_budget(t, cells[i].entry, cells[i].seed));
        OA_TRY(spec_of_cell(t, cells[i].entry, cells[i].seed, &specs[i]));
        specs[i].number = first + i + 1;
        specs[i].count = all;
    }
    return oa_comparison_train(t, specs, count, &t->here, cell_ended,
                               &(struct cell_batch){ t, cells, specs });
}

static void expect_run(struct comparison_session *t, int entry)
{
    struct oa_options o = { .train_steps = t->steps[entry] };
    oa_overall_expect(&t->overall, 1, oa_overall_weight(&t->overall, &o));
}

/* Where the time of a run is the budget of others, their specs are known only after it ended. */
enum oa_error oa_comparison_make(struct comparison_session *t, const struct oa_cell *cells,
                                 int count)
{
    int together = oa_comparison_by_time(t) ? 1 : count;
    struct oa_run_spec *specs = oa_alloc(t->c, ((size_t)together + 1) * sizeof *specs);
    enum oa_error e = specs ? OA_OK : OA_NO_MEMORY;
    for (int i = 0; i < count && t->r->options->compare_until_resolved; i++)
        expect_run(t, cells[i].entry);
    if (e == OA_OK)
        e = oa_comparison_tune(t, cells, count);
    for (int first = 0; e == OA_OK && first < count; first += together)
        e = train_cells(t, cells + first, together, first, count, specs);
    oa_free(specs);
    return e;
}

bool oa_comparison_has(const struct comparison_session *t, const struct oa_cell *cell)
{
    return *run_ended_flag(t, cell->entry, cell->seed);
}

/* ---- opening ---- */

/* Options and data; nothing is written. */
static enum oa_error open_comparison_data(struct comparison_session *t)
{
    int metric;
    if (t->r->count < 1)
        return oa_fail(t->c, OA_ARGUMENT, "a comparison needs at least one --attention");
    OA_TRY(oa_comparison_check_options(t));
    OA_TRY(oa_comparison_vary_read(t));
    OA_TRY(oa_comparison_name_initial_run(t));
    if (!t->r->overwrite)
        OA_TRY(oa_comparison_file_keep_bleu(t->c, t->r->folder, &t->asked));
    OA_TRY(oa_workload_open(t->c, &t->asked, &t->workload));
    if (oa_workload_side(&t->workload, OA_VALIDATION).targets == 0)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "a comparison needs validation text: give data.valid or data.valid_fraction > 0");
    const struct oa_task *task = t->workload.task;
    OA_TRY(oa_metric_choose(t->c, task, t->r->options->compare_metric, &metric));
    return oa_comparison_set_measures(t->c, t->out, task->measures, metric);
}

static enum oa_error new_session(oa_context *c, const struct oa_comparison_request *r,
                                 struct oa_comparison *out, struct comparison_session **session)
{
    struct comparison_session *t = *session = oa_alloc(c, sizeof *t);
    *out = (struct oa_comparison){ 0 };
    if (!t)
        return OA_NO_MEMORY;
    *t = (struct comparison_session){ .c = c, .r = r, .out = out };
    return OA_OK;
}

/* Trains the cells of `seeds` seeds, or only tunes for them. */
static enum oa_error for_all_cells(struct comparison_session *t, int seeds,
                                   enum oa_error (*make)(struct comparison_session *,
                                                         const struct oa_cell *, int))
{
    int count = t->out->count * seeds;
    struct oa_cell *cells = oa_alloc(t->c, ((size_t)count + 1) * sizeof *cells);
    for (int i = 0; i < count && cells; i++)
        cells[i] = (struct oa_cell){ .entry = i % t->out->count, .seed = i / t->out->count };
    enum oa_error e = cells ? make(t, cells, count) : OA_NO_MEMORY;
    oa_free(cells);
    return e;
}

enum oa_error oa_comparison_open(oa_context *c, const struct oa_comparison_request *r,
                                 struct oa_comparison *out, struct comparison_session **session)
{
    OA_TRY(new_session(c, r, out, session));
    struct comparison_session *t = *session;
    OA_TRY(oa_same_everywhere(r->cluster, r->options, &t->workload, open_comparison_data(t)));
    t->dispatching = r->cluster != NULL;
    OA_TRY(oa_comparison_set_up(t));
    OA_TRY(oa_comparison_read_initial_runs(t));
    OA_TRY(oa_comparison_tune_open(t));
    bool new_folder = !oa_file_exists(r->folder);
    OA_TRY(oa_directory_make(c, r->folder));
    enum oa_error e = begin_in_folder(t);
    if (e != OA_OK && new_folder)
        rmdir(r->folder);
    OA_TRY(e);
    t->overall.by_time = oa_comparison_by_time(t);
    oa_comparison_tune_expect(t);
    oa_comparison_vary_expect(t);
    /* with compare.until_resolved runs are counted when they are requested */
    for (int i = 0; i < out->count * out->seeds && !r->options->compare_until_resolved; i++)
        expect_run(t, i % out->count);
    if (r->announce)
        r->announce(c, out, r->folder);
    OA_TRY(oa_comparison_tune_announce(t));
    /* all seeds share what is tuned, so its time is not counted in a round of runs */
    return t->out->tuning.per_seed ? OA_OK : for_all_cells(t, 1, oa_comparison_tune);
}

enum oa_error oa_comparison_check(oa_context *c, const struct oa_comparison_request *r)
{
    struct oa_comparison comparison;
    struct comparison_session *t;
    int added;
    enum oa_error e = new_session(c, r, &comparison, &t);
    if (e == OA_OK)
        e = open_comparison_data(t);
    if (e == OA_OK)
        e = oa_comparison_set_up(t);
    if (e == OA_OK)
        e = oa_comparison_read_initial_runs(t);
    if (e == OA_OK)
        e = oa_comparison_tune_open(t);
    if (e == OA_OK)
        e = plan_budgets(t, &added);
    oa_comparison_close(t);
    oa_comparison_free(&comparison);
    return e;
}

void oa_comparison_close(struct comparison_session *t)
{
    if (!t)
        return;
    if (t->dispatching)
        oa_dispatch_dismiss(t->r->cluster);
    oa_workload_close(&t->tuning);
    oa_workload_close(&t->workload);
    oa_free(t->steps);
    oa_free(t->ffn);
    oa_free(t->place);
    oa_free(t->ended);
    json_decref(t->shared);
    json_decref(t->members);
    oa_free(t);
}

enum oa_error oa_comparison_finish(struct comparison_session *t)
{
    OA_TRY(oa_comparison_vary(t));
    return oa_comparison_speeds(t);
}

enum oa_error oa_comparison_run(oa_context *c, const struct oa_comparison_request *r,
                                struct oa_comparison *out)
{
    struct comparison_session *t;
    enum oa_error e = oa_comparison_open(c, r, out, &t);
    if (e == OA_OK)
        e = for_all_cells(t, out->seeds, oa_comparison_make);
    if (e == OA_OK)
        e = oa_comparison_finish(t);
    oa_comparison_close(t);
    return e;
}
