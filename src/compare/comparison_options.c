/* SPDX-License-Identifier: Apache-2.0
 * Options of a run that mean something else in a comparison, or nothing, or that would make its
 * verdicts worth less. */
#include "compare/comparison_parts.h"
#include "train/average.h"

#include <string.h>

/* What the runs of the comparison count their seeds up to. */
static long most_seeds(const struct oa_options *o)
{
    return o->compare_until_resolved ? o->compare_most_seeds : o->compare_seeds;
}

static enum oa_error check_clock(const struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    if (*o->train_pace)
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.pace repeats a single run: use it with orthant train");
    OA_TRY(oa_check_training_data(t->c, o));
    if (oa_comparison_by_time(t) && o->compare_jobs > 1)
        oa_log(t->c, 0, "compare.jobs is %ld, and times are budgets: one run at a time",
               o->compare_jobs);
    if (o->train_seconds > 0 && !oa_comparison_by_time(t))
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.seconds = %s gives every run the same time, and compare.equal is %s: "
                       "say --equal time, or "
                       "leave train.seconds out",
                       oa_real_text(o->train_seconds).s,
                       oa_option_word("compare.equal", (int)o->compare_equal).s);
    return OA_OK;
}

static enum oa_error check_choice(const struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    if (!o->train_keep_best && o->train_patience == 0)
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT,
                   "train.%s chooses by the validation text that the verdicts are about, and ends "
                   "budgets that must "
                   "be equal: leave it out of a comparison",
                   o->train_keep_best ? "keep_best" : "patience");
}

/* A source of chance that does not follow the seed makes intervals narrower than they seem. */
static void say_held(const struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    const long own[] = { [OA_CHANCE_INIT] = o->train_seed_init,
                         [OA_CHANCE_ORDER] = o->train_seed_order,
                         [OA_CHANCE_DROPOUT] = o->train_seed_dropout };
    bool dropout = o->model_dropout > 0 || o->model_attention_dropout > 0;
    for (enum oa_chance s = OA_CHANCE_INIT; s <= OA_CHANCE_DROPOUT; s++)
        if (own[s] >= 0 && (s != OA_CHANCE_DROPOUT || dropout))
            oa_log(
                t->c, 0,
                "train.seed_%s is %ld: %s will be the same with every seed, and not in the spread",
                oa_chance_name(s), own[s], oa_chance_title(s));
}

static enum oa_error check_seeds(const struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    long seeds = most_seeds(o);
    if (o->train_seed > OA_LAST_SEED - seeds + 1)
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.seed = %ld and %ld seeds: the last one would be above %ld, where "
                       "readers of JSON can no "
                       "longer tell numbers apart; give a smaller train.seed",
                       o->train_seed, seeds, OA_LAST_SEED);
    if (seeds > 1 && o->train_seed_init >= 0 && o->train_seed_order >= 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.seed_init and train.seed_order hold what the %ld seeds are to vary: "
                       "leave one of them out",
                       seeds);
    if (seeds > 1)
        say_held(t);
    return OA_OK;
}

/* A task that does not exist is refused with the data. */
static enum oa_error check_metric(struct comparison *t)
{
    int metric;
    const struct oa_task *task = oa_task_find(t->r->options->data_task);
    return task ? oa_metric_choose(t->c, task, t->r->options->compare_metric, &metric) : OA_OK;
}

enum oa_error oa_comparison_check_options(struct comparison *t)
{
    OA_TRY(check_clock(t));
    OA_TRY(check_metric(t));
    OA_TRY(check_choice(t));
    OA_TRY(oa_average_check(t->c, t->r->options, t->r->folder));
    OA_TRY(check_seeds(t));
    return oa_comparison_tune_read(t);
}
