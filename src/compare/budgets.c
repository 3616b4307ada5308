/* SPDX-License-Identifier: Apache-2.0
 * Equal budgets. tokens: as many steps; params: the feed-forward width is chosen so that the number
 * of trainable parameters is that of the first attention; flops: as many steps as the first
 * attention's budget pays for; time: every run trains until it has had as many seconds of
 * train.clock as the first attention's run of the same seed took, or train.seconds. */
#include "compare/comparison_session.h"

#include <math.h>

bool oa_comparison_by_time(const struct comparison_session *t)
{
    return t->r->options->compare_equal == OA_EQUAL_TIME;
}

static double budget_clock_seconds(const struct comparison_session *t, const struct oa_run *run)
{
    return t->r->options->train_clock == OA_CLOCK_WALL ? run->seconds : run->processor_seconds;
}

struct oa_options oa_comparison_options(const struct comparison_session *t, int entry, int seed)
{
    struct oa_options o = *t->r->options;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", t->out->entries[entry].attention);
    o.data_bleu_tokenize = t->asked.data_bleu_tokenize;
    o.train_seed += seed;
    o.train_steps = t->steps[entry];
    o.model_ffn = t->ffn[entry];
    o.compare_jobs = 0; /* a run does not record what was trained next to it */
    oa_comparison_set_initial_run(t, entry, &o);
    const struct oa_tuned *tuned = oa_comparison_tuned(t) ? oa_tuned_of(t->out, entry, seed) : NULL;
    if (tuned && tuned->chosen >= 0)
        oa_grid_apply(t->c, &tuned->grid, tuned->chosen, &o);
    if (oa_comparison_by_time(t) && entry > 0 && o.train_seconds <= 0)
        o.train_seconds = budget_clock_seconds(t, &t->out->entries[0].runs[seed]);
    return o;
}

/* Parameters of each entry, from the plan device: this also refuses impossible combinations before
 * anything runs. */
static enum oa_error plan_entry(struct comparison_session *t, int entry, struct oa_plan *plan)
{
    struct oa_options o = oa_comparison_options(t, entry, 0);
    OA_TRY(oa_plan_workload(t->c, &o, &t->workload, plan));
    t->out->entries[entry].trainable = plan->trainable;
    t->out->entries[entry].frozen = plan->frozen;
    return OA_OK;
}

/* Parameters grow linearly with the feed-forward width: two plans give the line, a third checks it.
 */
static enum oa_error equal_params(struct comparison_session *t, int entry, double wanted)
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
                       "narrowest feed-forward layer: put it first, or make its tables smaller",
                       t->out->entries[entry].attention, t->out->entries[0].attention);
    t->ffn[entry] = lround(width);
    return plan_entry(t, entry, &narrow);
}

/* A change of the width above which feed-forward layers are compared as much as attentions. */
static const double much_of_the_width = 0.25;

void oa_comparison_log_widths(const struct comparison_session *t)
{
    for (int i = 1; i < t->out->count; i++) {
        double change = (double)t->ffn[i] / (double)t->ffn[0] - 1;
        if (fabs(change) > much_of_the_width)
            oa_log(t->c, 0,
                   "--equal params: the feed-forward layers of \"%s\" are %ld wide, those of "
                   "\"%s\" %ld (%+.0f %%): what is compared is attention and feed-forward layer "
                   "together",
                   oa_entry_name(&t->out->entries[i]), t->ffn[i],
                   oa_entry_name(&t->out->entries[0]), t->ffn[0], 100 * change);
    }
}

/* Attentions that are new to the comparison get their budgets from that of the first. */
enum oa_error oa_comparison_equalise(struct comparison_session *t)
{
    enum oa_equal equal = t->r->options->compare_equal;
    struct oa_plan first, plan;
    OA_TRY(plan_entry(t, 0, &first));
    for (int i = 1; i < t->out->count; i++) {
        OA_TRY(plan_entry(t, i, &plan));
        if (t->place[i] < 0 && equal == OA_EQUAL_PARAMS)
            OA_TRY(equal_params(t, i, first.trainable));
        if (t->place[i] < 0 && equal == OA_EQUAL_FLOPS)
            t->steps[i] = (long)fmax(1, round((double)t->steps[0] * first.flops / plan.flops));
    }
    for (int i = 0; i < t->out->count; i++)
        t->out->entries[i].ffn = t->ffn[i];
    return OA_OK;
}

/* The time of the first attention's run is the budget of this one. */
static bool follows_first(const struct comparison_session *t, int entry)
{
    return oa_comparison_by_time(t) && entry > 0 && t->r->options->train_seconds <= 0;
}

bool oa_comparison_budget_known(const struct comparison_session *t, int entry, int seed)
{
    return !follows_first(t, entry) || budget_clock_seconds(t, &t->out->entries[0].runs[seed]) > 0;
}

enum oa_error oa_comparison_check_budget(struct comparison_session *t, int entry, int seed)
{
    const struct oa_run *first = &t->out->entries[0].runs[seed];
    if (!follows_first(t, entry) || !first->failed)
        return OA_OK;
    return oa_fail(t->c, OA_DIVERGED,
                   "--equal time: \"%s\" with seed %ld sets the time of the other runs, and it "
                   "failed: %.300s; give train.seconds, or put another attention first",
                   t->out->entries[0].attention, t->r->options->train_seed + seed, first->failure);
}
