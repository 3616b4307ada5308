/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/threshold.h"

#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A loss is above 0. Other measures are percentages, or scores of 100 at most; a score of 0 or
 * below is no better than chance. */
static enum oa_error check_bounds(oa_context *c, const char *given, const struct oa_measure *m,
                                  double value)
{
    if (value > 0 && (!m->higher || value <= 100))
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "compare.threshold = \"%s\": a threshold of %s is %s; give a value %s", given,
                   m->name, value > 0 ? "above 100" : "not above 0",
                   m->higher ? "above 0 and up to 100" : "above 0");
}

static enum oa_error check_validations(oa_context *c, const struct oa_options *o)
{
    bool by_steps = o->train_seconds <= 0;
    if (o->train_eval_every == 0)
        return oa_fail(c, OA_ARGUMENT,
                       "compare.threshold counts the steps to the first validation at the "
                       "threshold, and train.eval_every = 0 makes none before the end of a run: "
                       "give train.eval_every a number of steps");
    if (by_steps && o->train_eval_every >= o->train_steps)
        return oa_fail(c, OA_ARGUMENT,
                       "compare.threshold counts the steps to the first validation at the "
                       "threshold, and train.eval_every = %ld makes none before the end of %ld "
                       "steps: give a smaller train.eval_every",
                       o->train_eval_every, o->train_steps);
    return OA_OK;
}

enum oa_error oa_threshold_read(oa_context *c, const struct oa_options *o,
                                const struct oa_task *task, struct oa_threshold *out)
{
    const char *given = o->compare_threshold, *equals = strchr(given, '=');
    char name[24], *end;
    *out = (struct oa_threshold){ .given = *given };
    if (!*given)
        return OA_OK;
    size_t n = equals ? (size_t)(equals - given) : 0;
    out->value = equals ? strtod(equals + 1, &end) : NAN;
    if (n < 1 || n >= sizeof name || !equals[1] || *end || !isfinite(out->value))
        return oa_fail(c, OA_ARGUMENT,
                       "compare.threshold = \"%s\" is no METRIC=NUMBER: write it like accuracy=95 "
                       "or loss=1.2",
                       given);
    snprintf(name, sizeof name, "%.*s", (int)n, given);
    OA_TRY(oa_measure_find(c, "compare.threshold", task, name, &out->measure));
    OA_TRY(check_bounds(c, given, &task->measures[out->measure], out->value));
    return check_validations(c, o);
}

bool oa_threshold_met(const struct oa_threshold *t, const struct oa_measure *m, double score)
{
    return m->higher ? score >= t->value : score <= t->value;
}
