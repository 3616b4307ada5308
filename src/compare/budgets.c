/* SPDX-License-Identifier: Apache-2.0
 * Equal budgets. tokens: as many steps; params: the feed-forward width is chosen so that the number
 * of trainable parameters is that of the first attention; flops: as many steps as the first
 * attention's budget pays for; time: every run trains until it has had as many seconds of
 * train.clock as the first attention's run of the same seed took, or train.seconds. */
#include "compare/comparison_parts.h"

#include <math.h>

bool oa_comparison_by_time(const struct comparison *t)
{
    return t->r->options->compare_equal == OA_EQUAL_TIME;
}

static double seconds_of(const struct comparison *t, const struct oa_run *run)
{
    return t->r->options->train_clock == OA_CLOCK_WALL ? run->seconds : run->processor_seconds;
}

struct oa_options oa_comparison_options(const struct comparison *t, int entry, int seed)
{
    struct oa_options o = *t->r->options;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", t->out->entries[entry].attention);
    o.train_seed += seed;
    o.train_steps = t->steps[entry];
    o.model_ffn = t->ffn[entry];
    o.compare_jobs = 0; /* nothing of a run tells what was trained beside it */
    oa_comparison_begin_from(t, entry, &o);
    if (oa_comparison_tuned(t) && t->out->entries[entry].chosen >= 0)
        oa_grid_apply(t->c, &t->out->tuning.grid, t->out->entries[entry].chosen, &o);
    if (oa_comparison_by_time(t) && entry > 0 && o.train_seconds <= 0)
        o.train_seconds = seconds_of(t, &t->out->entries[0].runs[seed]);
    return o;
}

/* Parameters of each entry, from the plan device: this also refuses impossible combinations before
 * anything runs. */
static enum oa_error plan_entry(struct comparison *t, int entry, struct oa_plan *plan)
{
    struct oa_options o = oa_comparison_options(t, entry, 0);
    OA_TRY(oa_plan_workload(t->c, &o, &t->workload, plan));
    t->out->entries[entry].trainable = plan->trainable;
    t->out->entries[entry].frozen = plan->frozen;
    return OA_OK;
}

/* Parameters grow linearly with the feed-forward width: two plans give the line, a third checks it.
 */
static enum oa_error equal_params(struct comparison *t, int entry, double wanted)
{
    struct oa_plan narrow, wide;
    long ffn = t->ffn[0];
    t->ffn[entry] = ffn;
    OA_TRY(plan_entry(t, entry, &narrow));
    t->ffn[entry] = ffn + 1;
    OA_TRY(plan_entry(t, entry, &wide));
    double width = (double)ffn + (wanted - narrow.trainable) / (wide.trainable - narrow.trainable);
    if (width < 1)
        return oa_fail(t->c, OA_ARGUMENT,
                       "--equal params: \"%s\" has more parameters than \"%s\" even with the "
                       "narrowest feed-forward layer; "
                       "put it first, or shrink its tables",
                       t->out->entries[entry].attention, t->out->entries[0].attention);
    t->ffn[entry] = lround(width);
    return plan_entry(t, entry, &narrow);
}

/* Steps that the budget of the first attention (`first` a step) pays for, at `cost` a step. */
static long affordable(const struct comparison *t, double first, double cost)
{
    return (long)fmax(1, round((double)t->steps[0] * first / cost));
}

/* The budget of an attention that is new to the comparison, from that of the first. */
static enum oa_error equalise_entry(struct comparison *t, int entry, const struct oa_plan *first)
{
    enum oa_equal equal = t->r->options->compare_equal;
    struct oa_plan plan;
    OA_TRY(plan_entry(t, entry, &plan));
    if (equal == OA_EQUAL_PARAMS)
        OA_TRY(equal_params(t, entry, first->trainable));
    if (equal == OA_EQUAL_FLOPS)
        t->steps[entry] = affordable(t, first->flops, plan.flops);
    return OA_OK;
}

enum oa_error oa_comparison_equalise(struct comparison *t)
{
    struct oa_plan first, plan;
    OA_TRY(plan_entry(t, 0, &first));
    for (int i = 1; i < t->out->count; i++)
        OA_TRY(t->place[i] < 0 ? equalise_entry(t, i, &first) : plan_entry(t, i, &plan));
    return OA_OK;
}

/* Equal time is known when the first attention's run is. */
bool oa_comparison_budget_known(const struct comparison *t, int entry, int seed)
{
    return !oa_comparison_by_time(t) || entry == 0 || t->r->options->train_seconds > 0 ||
           seconds_of(t, &t->out->entries[0].runs[seed]) > 0;
}

/* Where the first attention's run is the measure, it has to be whole. */
enum oa_error oa_comparison_check_budget(struct comparison *t, int entry, int seed)
{
    const struct oa_run *first = &t->out->entries[0].runs[seed];
    if (!oa_comparison_by_time(t) || entry == 0 || t->r->options->train_seconds > 0 ||
        !first->failed)
        return OA_OK;
    return oa_fail(t->c, OA_DIVERGED,
                   "--equal time: \"%s\" with seed %ld is the measure of the other runs, and it "
                   "failed: %.300s; give "
                   "train.seconds, or put another attention first",
                   t->out->entries[0].attention, t->r->options->train_seed + seed, first->failure);
}
