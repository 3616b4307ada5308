/* SPDX-License-Identifier: Apache-2.0
 * A source of chance whose seed was given for all runs is the same with every seed of the
 * comparison: the spread, and with it intervals and verdicts, hold for that one draw of it. So it
 * is with runs that start from one run of another comparison. */
#include "compare/initial_runs.h"
#include "report/report.h"

#include <jansson.h>

/* An option that was tuned is not among those that all share: then it is not known to be 0. */
static bool is_zero(const json_t *section, const char *key)
{
    const json_t *value = json_object_get(section, key);
    return value && json_number_value(value) == 0;
}

static bool has_no_effect(enum oa_chance s, const json_t *options)
{
    const json_t *model = json_object_get(options, "model");
    return s == OA_CHANCE_DROPOUT && is_zero(model, "dropout") &&
           is_zero(model, "attention_dropout");
}

/* -1: the source follows the seeds. */
static long held_at(enum oa_chance s, const json_t *options)
{
    char key[32];
    snprintf(key, sizeof key, "seed_%s", oa_chance_name(s));
    const json_t *value = json_object_get(json_object_get(options, "train"), key);
    return value && !has_no_effect(s, options) ? (long)json_integer_value(value) : -1;
}

void oa_fixed_sources_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out)
{
    json_t *options = k->options_json ? json_loads(k->options_json, 0, NULL) : NULL;
    const char *before = " Fixed for all seeds:";
    for (enum oa_chance source = OA_CHANCE_INIT; source <= OA_CHANCE_DROPOUT && s->seeds > 1;
         source++) {
        long seed = held_at(source, options);
        if (seed < 0)
            continue;
        oa_text_printf(out, "%s %s (train.seed_%s is %ld)", before, oa_chance_title(source),
                       oa_chance_name(source), seed);
        before = ",";
    }
    if (*before == ',')
        oa_text_printf(out, ". Intervals and verdicts are conditional on these.");
    json_decref(options);
    oa_text_printf(out, "%s", k->initial_comparison ? " " : "");
    oa_initial_runs_sentence(k, s->seeds, out);
}
