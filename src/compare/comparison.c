/* SPDX-License-Identifier: Apache-2.0
 * A comparison: N attentions × S seeds under one budget. All runs share text, tokenizer and
 * options; batches and the first values of shared tensors depend on the seed and on names only
 * (named random streams), so runs of one seed differ by the attention and by nothing else. Runs are
 * ordered seed by seed. A run that is done leaves result.json in its folder, one that was
 * interrupted its checkpoint: starting the same comparison again goes on from there, with more
 * seeds or attentions if asked. Nothing of another comparison is used: files carry checksums and
 * fingerprints.
 *
 * comparison_parts.h says which file does what. */
#include "compare/comparison_parts.h"
#include "compare/farm.h"
#include "compare/jobs.h"
#include "compare/parents.h"
#include "compare/speed.h"
#include "compare/vary.h"
#include "train/initial.h"
#include "train/overwrite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- going on with a comparison ---- */

/* What all runs of the comparison share: the attention is each run's own. */
static enum oa_error shared_fingerprint(struct comparison *t)
{
    OA_TRY(oa_fingerprint_make(t->c, t->r->options, &t->workload, &t->shared));
    json_object_del(t->shared, "model.attention");
    json_object_set_new(
        t->shared, "compare.equal",
        json_string(oa_option_word("compare.equal", (int)t->r->options->compare_equal).s));
    if (oa_measures_count(t->out->measures) >
        1) /* else there is nothing to choose, and older folders do not say it */
        json_object_set_new(t->shared, "compare.metric", json_string(oa_metric(t->out)->name));
    oa_comparison_tune_fingerprint(t, t->shared);
    return OA_OK;
}

/* Budgets of attentions that are members already; how many are not. */
static int find_members(struct comparison *t)
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
        if (oa_comparison_tuned(t))
            t->out->entries[i].chosen = oa_comparison_tune_recorded(t, t->place[i]);
    }
    return added;
}

/* Where the first attention sets the budget of all, it stays the first. */
static enum oa_error check_first(const struct comparison *t)
{
    enum oa_equal equal = t->r->options->compare_equal;
    if (json_array_size(t->members) == 0 || t->place[0] == 0 || equal == OA_EQUAL_TOKENS)
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT,
                   "%s: with --equal %s the first attention sets the budget of all: it was \"%s\", "
                   "and now it is "
                   "\"%s\"; name the old one first, or give another --out",
                   t->r->folder, oa_option_word("compare.equal", (int)equal).s,
                   json_string_value(json_object_get(json_array_get(t->members, 0), "attention")),
                   t->out->entries[0].attention);
}

static bool *there(const struct comparison *t, int entry, int seed)
{
    return &t->there[entry * t->out->seeds + seed];
}

static enum oa_error order_of(struct comparison *t, int entry, int seed, struct oa_run_order *out)
{
    const struct oa_entry *e = &t->out->entries[entry];
    char name[64];
    *out = (struct oa_run_order){ .options = oa_comparison_options(t, entry, seed),
                                  .workload = &t->workload,
                                  .title = oa_entry_name(e),
                                  .trainable = e->trainable,
                                  .frozen = e->frozen };
    out->parent = oa_comparison_parent(t, entry, out->options.train_seed);
    snprintf(name, sizeof name, "runs/attention-%02d/seed-%ld", t->place[entry] + 1,
             out->options.train_seed);
    return oa_path(t->c, out->folder, t->r->folder, name);
}

static enum oa_error look_at_run(struct comparison *t, int entry, int seed)
{
    struct oa_run_order order;
    OA_TRY(order_of(t, entry, seed, &order));
    return oa_run_order_look(t->c, &order, &t->out->entries[entry].runs[seed],
                             there(t, entry, seed));
}

/* What was looked at takes no part yet. */
static void put_aside(struct oa_run *run)
{
    uint64_t seed = run->seed;
    oa_run_free(run);
    *run = (struct oa_run){ .seed = seed, .absent = true };
}

static bool options_known(const struct comparison *t, int entry, int seed)
{
    bool chosen = !oa_comparison_tuned(t) || t->out->entries[entry].chosen >= 0;
    return chosen && oa_comparison_budget_known(t, entry, seed);
}

/* All runs that are there, before anything is written: a start that is refused changes no file. */
static enum oa_error look_at_runs(struct comparison *t)
{
    for (int seed = 0; seed < t->out->seeds; seed++)
        for (int entry = 0; entry < t->out->count; entry++)
            if (options_known(t, entry, seed))
                OA_TRY(look_at_run(t, entry, seed));
    for (int seed = 0; seed < t->out->seeds; seed++)
        for (int entry = 0; entry < t->out->count; entry++)
            put_aside(&t->out->entries[entry].runs[seed]);
    return OA_OK;
}

static void say_parents(const struct comparison *t)
{
    struct oa_text text;
    oa_text_init(&text, t->c);
    oa_parents_sentence(t->out, t->out->seeds, &text);
    if (text.length)
        oa_log(t->c, 0, "%s", text.s);
    oa_text_free(&text);
}

/* Every attention starts from the same run (train.init), or from one of its own; what fits is said
 * once, whatever its seeds. */
static enum oa_error say_first_values(struct comparison *t)
{
    OA_TRY(oa_initial_check(t->c, t->r->options, t->r->folder));
    say_parents(t);
    for (int i = 0; i < t->out->count; i++) {
        struct oa_options o = oa_comparison_options(t, i, 0);
        struct oa_started started;
        OA_TRY(
            oa_initial_say(t->c, &o, &t->workload, oa_entry_name(&t->out->entries[i]), &started));
    }
    return OA_OK;
}

/* Of a comparison that is to be overwritten nothing is taken over. */
static enum oa_error read_members(struct comparison *t)
{
    OA_TRY(oa_folder_check_outside(t->c, t->r->folder));
    if (!t->r->overwrite) {
        OA_TRY(oa_folder_check_kind(t->c, t->r->folder, OA_MADE_COMPARISON));
        return oa_comparison_file_read(t->c, t->r->folder, t->shared, &t->members);
    }
    t->members = json_array();
    return oa_overwrite_check(t->c, t->r->folder, OA_MADE_COMPARISON);
}

/* added: attentions that the comparison did not have. Writes nothing. */
static enum oa_error plan_budgets(struct comparison *t, int *added)
{
    OA_TRY(shared_fingerprint(t));
    OA_TRY(read_members(t));
    *added = find_members(t);
    OA_TRY(check_first(t));
    return oa_comparison_equalise(t);
}

static enum oa_error settle_budgets(struct comparison *t)
{
    int added;
    OA_TRY(plan_budgets(t, &added));
    OA_TRY(say_first_values(t));
    if (t->r->overwrite)
        OA_TRY(oa_overwrite(t->c, t->r->folder, OA_MADE_COMPARISON));
    for (int i = 0; i < t->out->count; i++)
        if (t->place[i] < 0)
            t->place[i] = oa_comparison_file_add(
                t->members,
                &(struct oa_member){ t->out->entries[i].attention, t->steps[i], t->ffn[i] });
    OA_TRY(oa_comparison_tune_look(t));
    OA_TRY(look_at_runs(t));
    return added ? oa_comparison_file_write(t->c, t->r->folder, t->shared, t->members) : OA_OK;
}

/* A start that fails before the first run leaves no new folder behind. */
static enum oa_error begin(struct comparison *t)
{
    bool made = !oa_file_exists(t->r->folder);
    OA_TRY(oa_directory_make(t->c, t->r->folder));
    enum oa_error e = settle_budgets(t);
    if (e != OA_OK && made)
        rmdir(t->r->folder);
    return e;
}

/* ---- the runs ---- */

/* Cells that are trained side by side. */
struct batch_of_cells {
    struct comparison *t;
    const struct oa_cell *cells;
};

/* Runs of two seeds that end with one model were no two runs: something does not follow the seed.
 */
static enum oa_error check_seeds_differ(const struct comparison *t, const struct oa_entry *e,
                                        const struct oa_run *run)
{
    for (const struct oa_run *r = e->runs; r < e->runs + t->out->seeds; r++)
        if (r != run && *r->weights && r->valid_loss == run->valid_loss &&
            strcmp(run->weights, r->weights) == 0)
            return oa_fail(t->c, OA_INTERNAL,
                           "%s: seeds %llu and %llu ended with the same model, bit for bit "
                           "(validation loss %.9g, "
                           "weights %.16s…): nothing in it follows the seed, so no interval can be "
                           "given; this is a "
                           "fault of the program, please report it",
                           e->attention, (unsigned long long)r->seed, (unsigned long long)run->seed,
                           run->valid_loss, run->weights);
    return OA_OK;
}

/* A run of the comparison ended; others of it may still be trained. */
static enum oa_error ended(void *argument, long order, struct oa_run *run)
{
    const struct batch_of_cells *b = argument;
    const struct oa_cell *cell = &b->cells[order];
    struct oa_entry *e = &b->t->out->entries[cell->entry];
    e->runs[cell->seed] = *run;
    *there(b->t, cell->entry, cell->seed) = true;
    return check_seeds_differ(b->t, e, &e->runs[cell->seed]);
}

/* `first`, `all`: for progress lines, the number of the first cell among all that are wanted. */
static enum oa_error carry_out(struct comparison *t, const struct oa_cell *cells, int count,
                               int first, int all, struct oa_run_order *orders)
{
    int jobs;
    struct batch_of_cells batch = { t, cells };
    struct oa_jobs j = { .orders = orders,
                         .count = count,
                         .place = &t->here,
                         .overall = &t->overall,
                         .cluster = t->r->cluster,
                         .ended = ended,
                         .argument = &batch };
    for (int i = 0; i < count; i++) {
        OA_TRY(oa_comparison_check_budget(t, cells[i].entry, cells[i].seed));
        OA_TRY(order_of(t, cells[i].entry, cells[i].seed, &orders[i]));
        orders[i].number = first + i + 1;
        orders[i].count = all;
    }
    OA_TRY(oa_jobs_choose(t->c, &j, t->r->options->compare_jobs, &jobs));
    return oa_jobs_carry_out(t->c, &j, jobs);
}

/* Of a cell: the steps of its attention. */
static void expect_run(struct comparison *t, int entry)
{
    struct oa_options o = { .train_steps = t->steps[entry] };
    oa_overall_expect(&t->overall, 1, oa_overall_weight(&t->overall, &o));
}

/* Where seeds are added as they are needed, runs are expected when they are wanted. */
static void expect_runs(struct comparison *t)
{
    t->overall.by_time = oa_comparison_by_time(t);
    oa_comparison_tune_expect(t);
    oa_vary_expect(t);
    for (int i = 0; i < t->out->count * t->out->seeds && !t->r->options->compare_until_resolved;
         i++)
        expect_run(t, i % t->out->count);
}

/* Where a run's time is the budget of others, the next order is known when it has ended. */
enum oa_error oa_comparison_make(struct comparison *t, const struct oa_cell *cells, int count)
{
    int together = oa_comparison_by_time(t) ? 1 : count;
    struct oa_run_order *orders = oa_alloc(t->c, ((size_t)together + 1) * sizeof *orders);
    enum oa_error e = orders ? OA_OK : OA_NO_MEMORY;
    for (int i = 0; i < count && t->r->options->compare_until_resolved; i++)
        expect_run(t, cells[i].entry);
    for (int first = 0; e == OA_OK && first < count; first += together)
        e = carry_out(t, cells + first, together, first, count, orders);
    oa_free(orders);
    return e;
}

static enum oa_error make_all(struct comparison *t)
{
    int count = t->out->count * t->out->seeds;
    struct oa_cell *cells = oa_alloc(t->c, ((size_t)count + 1) * sizeof *cells);
    for (int i = 0; i < count && cells; i++)
        cells[i] = (struct oa_cell){ .entry = i % t->out->count, .seed = i / t->out->count };
    enum oa_error e = cells ? oa_comparison_make(t, cells, count) : OA_NO_MEMORY;
    oa_free(cells);
    return e;
}

bool oa_comparison_has(const struct comparison *t, const struct oa_cell *cell)
{
    return *there(t, cell->entry, cell->seed);
}

/* ---- opening ---- */

static enum oa_error choose_metric(struct comparison *t)
{
    int metric;
    const struct oa_task *task = t->workload.task;
    OA_TRY(oa_metric_choose(t->c, task, t->r->options->compare_metric, &metric));
    return oa_comparison_set_measures(t->c, t->out, task->measures, metric);
}

static enum oa_error open_data(struct comparison *t)
{
    if (t->r->count < 1)
        return oa_fail(t->c, OA_ARGUMENT, "a comparison needs at least one --attention");
    OA_TRY(oa_comparison_check_options(t));
    OA_TRY(oa_vary_choose(t));
    OA_TRY(oa_comparison_parents_named(t));
    OA_TRY(oa_workload_open(t->c, &t->asked, &t->workload));
    if (oa_workload_side(&t->workload, OA_VALIDATION).targets == 0)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "a comparison needs validation text: give data.valid or data.valid_fraction > 0");
    return choose_metric(t);
}

/* What is asked for of these data. Writes nothing. */
static enum oa_error examine(struct comparison *t)
{
    OA_TRY(oa_comparison_describe(t));
    OA_TRY(oa_comparison_entries(t));
    OA_TRY(oa_comparison_baseline(t));
    OA_TRY(oa_comparison_limits(t));
    OA_TRY(oa_comparison_parents(t));
    return oa_comparison_tune_open(t);
}

static enum oa_error hold(oa_context *c, const struct oa_comparison_request *r,
                          struct oa_comparison *out, struct comparison **held)
{
    struct comparison *t = *held = oa_alloc(c, sizeof *t);
    *out = (struct oa_comparison){ 0 };
    if (!t)
        return OA_NO_MEMORY;
    *t = (struct comparison){ .c = c, .r = r, .out = out };
    return OA_OK;
}

enum oa_error oa_comparison_open(oa_context *c, const struct oa_comparison_request *r,
                                 struct oa_comparison *out, struct comparison **held)
{
    OA_TRY(hold(c, r, out, held));
    struct comparison *t = *held;
    OA_TRY(oa_same_everywhere(r->cluster, r->options, &t->workload, open_data(t)));
    t->served = r->cluster != NULL;
    OA_TRY(examine(t));
    OA_TRY(begin(t));
    expect_runs(t);
    return oa_comparison_tune(t);
}

enum oa_error oa_comparison_check(oa_context *c, const struct oa_comparison_request *r)
{
    struct oa_comparison comparison;
    struct comparison *t;
    int added;
    enum oa_error e = hold(c, r, &comparison, &t);
    if (e == OA_OK)
        e = open_data(t);
    if (e == OA_OK)
        e = examine(t);
    if (e == OA_OK)
        e = plan_budgets(t, &added);
    oa_comparison_close(t);
    oa_comparison_free(&comparison);
    return e;
}

void oa_comparison_close(struct comparison *t)
{
    if (!t)
        return;
    if (t->served)
        oa_farm_dismiss(t->r->cluster);
    oa_workload_close(&t->held);
    oa_workload_close(&t->workload);
    oa_free(t->steps);
    oa_free(t->ffn);
    oa_free(t->place);
    oa_free(t->there);
    json_decref(t->shared);
    json_decref(t->members);
    oa_free(t);
}

enum oa_error oa_comparison_finish(struct comparison *t)
{
    OA_TRY(oa_comparison_vary(t));
    return oa_comparison_speeds(t);
}

enum oa_error oa_comparison_run(oa_context *c, const struct oa_comparison_request *r,
                                struct oa_comparison *out)
{
    struct comparison *t;
    enum oa_error e = oa_comparison_open(c, r, out, &t);
    if (e == OA_OK)
        e = make_all(t);
    if (e == OA_OK)
        e = oa_comparison_finish(t);
    oa_comparison_close(t);
    return e;
}
