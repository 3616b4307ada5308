/* SPDX-License-Identifier: Apache-2.0
 * Levels of a run with a time budget: from the clock, and in a file. */
#include "train/pace.h"

#include "base/checksum.h"
#include "base/json_write.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

/* ---- levels and steps ---- */

static double level_share(const struct oa_pace *p, long step)
{
    int level = 0;
    while (level + 1 < p->levels && p->began[level + 1] <= step)
        level++;
    return (double)level / (OA_PACE_LEVELS - 1);
}

void oa_pace_advance(struct oa_pace *p, long step, double used)
{
    if (p->budget <= 0 || step < 1)
        return;
    int level = (int)fmin(OA_PACE_LEVELS - 1, floor(OA_PACE_LEVELS * used / p->budget));
    while (p->levels <= level)
        p->began[p->levels++] = step + 1;
    if (used + 0.5 * used / (double)step >= p->budget)
        p->steps = step;
}

bool oa_pace_ended(const struct oa_pace *p, long step)
{
    return p->steps >= 0 && step >= p->steps;
}

double oa_pace_rate(const struct oa_pace *p, const struct oa_options *o, long step)
{
    if (!p->timed)
        return oa_learning_rate(o, step);
    double warm = level_share(p, o->train_warmup), now = level_share(p, step);
    return oa_learning_rate_at(o, step, warm < 1 ? (now - warm) / (1 - warm) : 1);
}

double oa_pace_total(const struct oa_pace *p, long step, double used)
{
    if (p->steps >= 0)
        return (double)p->steps;
    return used > 0 ? fmax((double)step, (double)step / used * p->budget) : (double)step;
}

/* ---- the file ---- */

enum oa_error oa_pace_save(oa_context *c, const struct oa_pace *p, const char *clock,
                           const char *path)
{
    if (!p->timed)
        return OA_OK;
    json_t *root = json_object(), *began = json_array();
    for (int i = 0; i < p->levels; i++)
        oa_json_append(c, began, json_integer(p->began[i]));
    oa_json_set(c, root, "seconds", p->budget > 0 ? json_real(p->budget) : json_null());
    oa_json_set(c, root, "clock", json_string(clock));
    oa_json_set(c, root, "steps", p->steps >= 0 ? json_integer(p->steps) : json_null());
    oa_json_set(c, root, "began", began);
    if (p->changed)
        oa_json_set(c, root, "budget_changed_after_step", json_integer(p->changed));
    enum oa_error e = oa_checksummed_write(c, path, root);
    json_decref(root);
    return e;
}

/* Levels begin in order, the first with step 1; a long step may begin several. */
static bool read_pace_levels(const json_t *began, struct oa_pace *p)
{
    size_t n = json_array_size(began);
    if (n < 1 || n > OA_PACE_LEVELS)
        return false;
    for (p->levels = 0; p->levels < (int)n; p->levels++) {
        const json_t *value = json_array_get(began, (size_t)p->levels);
        long step = (long)json_integer_value(value),
             before = p->levels ? p->began[p->levels - 1] : 1;
        if (!json_is_integer(value) || step < before || (p->levels == 0 && step != 1))
            return false;
        p->began[p->levels] = step;
    }
    return true;
}

/* All but the budget, which is *budget: 0 where the file has none. */
static enum oa_error read_pace(oa_context *c, const char *path, struct oa_pace *p, double *budget)
{
    json_t *root;
    OA_TRY(oa_checksummed_read(c, path, "only an unchanged pace.json can be repeated", &root));
    const json_t *steps = json_object_get(root, "steps");
    bool good = read_pace_levels(json_object_get(root, "began"), p);
    p->steps = json_is_integer(steps) ? (long)json_integer_value(steps) : -1;
    p->changed = (long)json_integer_value(json_object_get(root, "budget_changed_after_step"));
    *budget = json_number_value(json_object_get(root, "seconds"));
    json_decref(root);
    if (!good || p->steps < -1)
        return oa_fail(
            c, OA_FORMAT,
            "%s: not the pace of a run (\"began\" must be at most %d increasing steps from 1)",
            path, OA_PACE_LEVELS);
    return OA_OK;
}

static enum oa_error check_repeatable(oa_context *c, const char *path, const struct oa_pace *p)
{
    if (p->steps < 0)
        return oa_fail(c, OA_ARGUMENT,
                       "%s: that run has not ended, so its number of steps is unknown; finish it "
                       "first (--resume)",
                       path);
    if (p->changed)
        return oa_fail(c, OA_ARGUMENT,
                       "%s: that run cannot be repeated: its train.seconds was changed after step "
                       "%ld, and the learning rates before are not recorded",
                       path, p->changed);
    return OA_OK;
}

enum oa_error oa_pace_open(oa_context *c, const struct oa_options *o, struct oa_pace *out)
{
    bool repeat = *o->train_pace != 0;
    *out = (struct oa_pace){
        .timed = repeat || o->train_seconds > 0, .began = { 1 }, .levels = 1, .steps = -1
    };
    if (repeat && o->train_seconds > 0)
        return oa_fail(
            c, OA_ARGUMENT,
            "train.pace and train.seconds exclude each other: the first repeats a run, the "
            "second sets a new budget");
    if (repeat) {
        double measured;
        OA_TRY(read_pace(c, o->train_pace, out, &measured));
        return check_repeatable(c, o->train_pace, out);
    }
    if (out->timed)
        out->budget = o->train_seconds;
    else
        out->steps = o->train_steps;
    return OA_OK;
}

/* Levels, which are fractions of the budget `before`, become fractions of p->budget: a new level
 * begins with the old one in which its time begins. */
static void change_pace_budget(struct oa_pace *p, double before, long step)
{
    int levels = 0, old;
    long began[OA_PACE_LEVELS];
    while (levels < OA_PACE_LEVELS && (old = (int)ceil(levels * p->budget / before)) < p->levels)
        began[levels++] = p->began[old];
    memcpy(p->began, began, (size_t)levels * sizeof *began);
    p->levels = levels;
    p->changed = step;
}

enum oa_error oa_pace_resume(oa_context *c, struct oa_pace *p, const char *path, long step)
{
    double before;
    if (p->budget <= 0 || step == 0)
        return OA_OK;
    OA_TRY(read_pace(c, path, p, &before));
    p->steps = -1;
    while (p->levels > 1 && p->began[p->levels - 1] > step + 1)
        p->levels--;
    if (before > 0 && before != p->budget)
        change_pace_budget(p, before, step);
    return OA_OK;
}

enum oa_error oa_pace_steps(oa_context *c, const char *path, long *steps)
{
    struct oa_pace p;
    double budget;
    OA_TRY(read_pace(c, path, &p, &budget));
    *steps = p.steps;
    return OA_OK;
}
