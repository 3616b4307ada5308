/* SPDX-License-Identifier: Apache-2.0
 * Who takes part in a comparison: every attention in canonical form, once, and behind them the
 * floor, which is the uniform average of what a token may see. */
#include "compare/comparison_parts.h"

#include <string.h>

static enum oa_error canonical(struct comparison *t, const char *text, char **out)
{
    OA_TRY(oa_stacks_canonical(t->c, text, t->workload.task->stacks, out));
    if (strlen(*out) < OA_OPTION_TEXT)
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT, "the attention \"%.60s…\" is longer than %d characters", *out,
                   OA_OPTION_TEXT - 1);
}

static enum oa_error check_distinct(struct comparison *t, int last)
{
    for (int i = 0; i < last; i++)
        if (strcmp(t->out->entries[i].attention, t->out->entries[last].attention) == 0)
            return oa_fail(t->c, OA_ARGUMENT, "the attention \"%s\" takes part twice",
                           t->out->entries[i].attention);
    return OA_OK;
}

/* Whether the floor is to be added: it is wanted, and not among the attentions that were given. */
static bool wants_floor(struct comparison *t)
{
    bool given = false;
    for (int i = 0; i < t->r->count; i++) {
        char *spec = NULL;
        if (canonical(t, t->r->attentions[i], &spec) != OA_OK)
            return false; /* oa_comparison_entries says what is wrong with it */
        given = given || strcmp(spec, OA_UNIFORM_ATTENTION) == 0;
        oa_free(spec);
    }
    return t->r->options->compare_floor && !given;
}

/* A margin that nothing asks about would be passed over in silence. */
static enum oa_error check_no_baseline(const struct comparison *t)
{
    if (t->out->margin > 0 && !t->out->any_looks)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "compare.margin is for verdicts against a baseline, or at any number of looks: give "
            "compare.baseline, compare.looks any or compare.until_resolved, too");
    return OA_OK;
}

/* The floor is nothing that a question could be about. */
int oa_comparison_contenders(const struct comparison *t)
{
    int count = 0;
    for (int i = 0; i < t->out->count; i++)
        count += !t->out->entries[i].floor;
    return count;
}

/* The baseline is one of the attentions. */
enum oa_error oa_comparison_baseline(struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    char *spec = NULL;
    t->out->margin = o->compare_margin;
    t->out->any_looks = o->compare_until_resolved || o->compare_looks == OA_LOOKS_ANY;
    if (!*o->compare_baseline)
        return check_no_baseline(t);
    OA_TRY(canonical(t, o->compare_baseline, &spec));
    for (int i = 0; i < t->out->count; i++)
        if (strcmp(t->out->entries[i].attention, spec) == 0)
            t->out->baseline = i + 1;
    if (!t->out->baseline)
        oa_fail(t->c, OA_ARGUMENT,
                "the baseline \"%s\" is not among the attentions; add --attention \"%s\"", spec,
                spec);
    else if (oa_comparison_contenders(t) == 1)
        oa_fail(t->c, OA_ARGUMENT,
                "the baseline \"%s\" is the only attention: add another --attention, which is then "
                "held against it",
                spec);
    oa_free(spec);
    return oa_status(t->c);
}

enum oa_error oa_comparison_entries(struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_comparison *out = t->out;
    bool floor = wants_floor(t);
    int count = t->r->count + floor,
        seeds = (int)(o->compare_until_resolved ? o->compare_most_seeds : o->compare_seeds);
    out->entries = oa_alloc(t->c, (size_t)count * sizeof *out->entries);
    t->steps = oa_alloc(t->c, (size_t)count * sizeof *t->steps);
    t->ffn = oa_alloc(t->c, (size_t)count * sizeof *t->ffn);
    t->place = oa_alloc(t->c, (size_t)count * sizeof *t->place);
    t->there = oa_alloc(t->c, (size_t)count * (size_t)seeds * sizeof *t->there);
    if (!out->entries || !t->steps || !t->ffn || !t->place || !t->there)
        return OA_NO_MEMORY;
    out->seeds = seeds;
    while (out->count < count) {
        int i = out->count++;
        struct oa_entry *e = &out->entries[i];
        e->runs = oa_alloc(t->c, (size_t)seeds * sizeof *e->runs);
        if (!e->runs)
            return OA_NO_MEMORY;
        for (int s = 0; s < seeds; s++)
            e->runs[s] = (struct oa_run){ .seed = (uint64_t)(o->train_seed + s), .absent = true };
        OA_TRY(canonical(t, i < t->r->count ? t->r->attentions[i] : OA_UNIFORM_ATTENTION,
                         &e->attention));
        OA_TRY(check_distinct(t, i));
        e->floor = o->compare_floor && count > 1 && strcmp(e->attention, OA_UNIFORM_ATTENTION) == 0;
        t->steps[i] = o->train_steps;
        t->ffn[i] = o->model_ffn ? o->model_ffn : 4 * o->model_width;
    }
    return OA_OK;
}
