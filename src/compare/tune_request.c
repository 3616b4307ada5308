/* SPDX-License-Identifier: Apache-2.0
 * What is asked of a tuning, before anything is trained: its options, its split of the training
 * text, and what of it decides the runs of the comparison. */
#include "compare/comparison_parts.h"

#include <string.h>

bool oa_comparison_tuned(const struct comparison *t)
{
    return t->out->tuning.grid.options > 0;
}

/* What is about tuning would be passed over in silence. */
static enum oa_error check_untuned(const struct comparison *t)
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
                   "compare.tune_%s says how compare.tune is done: give compare.tune, too", idle);
}

/* An option that was set for all and is tuned for each. */
static void say_replaced(const struct comparison *t, const char *key)
{
    struct oa_options plain;
    struct oa_text given, usual;
    oa_options_default(&plain);
    oa_text_init(&given, t->c);
    oa_text_init(&usual, t->c);
    oa_options_get(t->c, t->r->options, key, &given);
    oa_options_get(t->c, &plain, key, &usual);
    if (given.s && usual.s && strcmp(given.s, usual.s) != 0)
        oa_log(t->c, 0, "%s = %s takes no part: with compare.tune each attention has its own", key,
               given.s);
    oa_text_free(&given);
    oa_text_free(&usual);
}

enum oa_error oa_comparison_tune_read(struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_grid *g = &t->out->tuning.grid;
    OA_TRY(oa_grid_parse(t->c, o->compare_tune, g));
    if (!oa_comparison_tuned(t))
        return check_untuned(t);
    if (oa_comparison_by_time(t) && o->compare_tune_steps == 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.tune with --equal time: how many steps a run makes is known when "
                       "it ends, and tuning "
                       "comes before; give compare.tune_steps");
    for (int i = 0; i < g->options; i++)
        say_replaced(t, g->option[i].key);
    if (o->compare_tune_steps > 0 && o->train_warmup > o->compare_tune_steps)
        oa_log(t->c, 0,
               "compare.tune_steps is %ld and train.warmup %ld: tuning ends before the peak "
               "learning rate",
               o->compare_tune_steps, o->train_warmup);
    return OA_OK;
}

/* The part that judges and the part that trains both need a whole row. */
static enum oa_error check_split(const struct comparison *t)
{
    long need = t->held.train.rows
                    ? 1
                    : t->r->options->model_context + 1; /* an example, or a row of a text */
    double trains = oa_workload_side(&t->held, OA_TRAINING).targets;
    double judged = oa_workload_side(&t->held, OA_VALIDATION).targets;
    bool judges = (long)judged >= need;
    if (judges && (long)trains >= need)
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT,
                   "compare.tune_fraction = %s leaves %.0f tokens of the training text to %s, and "
                   "a row of model.context "
                   "needs %ld: %s it, or give more text",
                   oa_real_text(t->r->options->compare_tune_fraction).s, judges ? trains : judged,
                   judges ? "train on" : "judge by", need, judges ? "lower" : "raise");
}

enum oa_error oa_comparison_tune_open(struct comparison *t)
{
    struct oa_tuning *tuning = &t->out->tuning;
    if (!oa_comparison_tuned(t))
        return OA_OK;
    tuning->seeds = (int)t->r->options->compare_tune_seeds;
    tuning->fraction = t->r->options->compare_tune_fraction;
    OA_TRY(t->workload.task->hold_out(&t->workload, tuning->fraction, &t->held));
    OA_TRY(check_split(t));
    tuning->train_tokens = oa_workload_side(&t->held, OA_TRAINING).targets;
    tuning->valid_tokens = oa_workload_side(&t->held, OA_VALIDATION).targets;
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

/* The grid decides what the runs of a comparison are; what it chooses is no longer shared by them.
 */
void oa_comparison_tune_fingerprint(const struct comparison *t, json_t *shared)
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
