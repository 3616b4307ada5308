/* SPDX-License-Identifier: Apache-2.0
 * What a comparison may spend that goes on until its questions are answered: seeds, and time on the
 * clock. */
#include "compare/comparison_parts.h"
#include "compare/spending.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 3, USUAL_MOST = 30 };

/* "90s", "1.5 h" in seconds; 0: that is no time. */
static double seconds_of(const char *text)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 } };
    char *end;
    double value = strtod(text, &end);
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++)
        if (strcmp(end, units[i].name) == 0 && value > 0 && value < 1e9)
            return value * units[i].seconds;
    return 0;
}

static enum oa_error check_unused(const struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    if (!*o->compare_budget && o->compare_most_seeds == USUAL_MOST)
        return OA_OK;
    return oa_fail(
        t->c, OA_ARGUMENT,
        "compare.%s is for a comparison that stops by itself: give compare.until_resolved, too",
        *o->compare_budget ? "budget" : "most_seeds");
}

static enum oa_error check_seeds(const struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    if (o->compare_seeds < LEAST)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.until_resolved begins with compare.seeds = %ld of each attention: "
                       "give %d or more, so "
                       "that there is a spread to judge by",
                       o->compare_seeds, LEAST);
    if (o->compare_most_seeds < o->compare_seeds)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.most_seeds = %ld is less than compare.seeds = %ld, which each "
                       "attention gets at least",
                       o->compare_most_seeds, o->compare_seeds);
    return OA_OK;
}

/* The first attention has to be in every round where its time is the budget of the others. */
static enum oa_error check_clock(const struct comparison *t)
{
    if (!oa_comparison_by_time(t) || t->r->options->train_seconds > 0 || t->out->baseline == 1)
        return OA_OK;
    return oa_fail(
        t->c, OA_ARGUMENT,
        "compare.until_resolved with --equal time: the first attention measures the time of the "
        "others, and "
        "so needs every seed; give train.seconds, or make the first attention the baseline");
}

enum oa_error oa_comparison_limits(struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    if (!o->compare_until_resolved)
        return check_unused(t);
    if (oa_comparison_contenders(t) == 1)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "compare.until_resolved asks which attention is better, and there is one: add another "
            "--attention, or leave it out");
    OA_TRY(check_seeds(t));
    OA_TRY(check_clock(t));
    t->out->until.least = (int)o->compare_seeds;
    t->out->until.most = (int)o->compare_most_seeds;
    t->out->until.budget = seconds_of(o->compare_budget);
    if (*o->compare_budget && t->out->until.budget <= 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.budget = \"%s\" is no time: write a number above 0 and its unit, "
                       "s, min or h, as in 90s, "
                       "30min, 2h",
                       o->compare_budget);
    return OA_OK;
}
