/* SPDX-License-Identifier: Apache-2.0
 * Options and data of a tuning: the grid, the options of an older comparison, the part of the text.
 */
#include "compare/comparison_session.h"

#include <string.h>

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
    struct oa_option_pair value;
    oa_options_default(&plain);
    oa_option_pair_open(t->c, t->r->options, &plain, key, &value);
    if (value.differ)
        oa_log(t->c, 0, "%s = %s is ignored: overridden by compare.tune", key, value.a);
    oa_option_pair_close(&value);
}

/* A comparison of an older program, without compare.tune_per and tune_extend, continues as it
 * began.
 */
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
