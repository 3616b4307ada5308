/* SPDX-License-Identifier: Apache-2.0
 * Access to the data of a comparison. */
#include "compare/comparison.h"

#include <math.h>
#include <string.h>

const char *oa_entry_name(const struct oa_entry *e)
{
    return e->uniform ? "uniform baseline" : e->attention;
}

const char *oa_entry_kind(const struct oa_comparison *k)
{
    return k->imported ? "system" : "attention";
}

const char *oa_an_entry(const struct oa_comparison *k)
{
    return k->imported ? "a system" : "an attention";
}

const char *oa_run_kind(const struct oa_comparison *k)
{
    return k->unpaired ? "run" : "seed";
}

bool oa_run_finished(const struct oa_comparison *k, const struct oa_run *r)
{
    return !r->absent && !r->failed && isfinite(r->valid_loss) && isfinite(oa_run_score(k, r));
}

int oa_runs_made(const struct oa_entry *e, int seeds)
{
    int made = 0;
    for (int s = 0; s < seeds; s++)
        made += !e->runs[s].absent;
    return made;
}

struct oa_varied *oa_varied_of(const struct oa_vary *v, int entry, enum oa_chance source)
{
    return v->runs + ((size_t)entry * OA_CHANCES + source) * (size_t)v->values;
}

int oa_tunings(const struct oa_comparison *k)
{
    return k->tuning.per_seed ? k->seeds : 1;
}

struct oa_tuned *oa_tuned_of(const struct oa_comparison *k, int entry, int seed)
{
    return &k->entries[entry].tuned[k->tuning.per_seed ? seed : 0];
}

void oa_comparison_free(struct oa_comparison *comparison)
{
    for (int i = 0; i < comparison->count; i++) {
        for (int s = 0; comparison->entries[i].runs && s < comparison->seeds; s++)
            oa_run_free(&comparison->entries[i].runs[s]);
        oa_free(comparison->entries[i].runs);
        for (int g = 0; comparison->entries[i].tuned && g < oa_tunings(comparison); g++)
            oa_free(oa_tuned_of(comparison, i, g)->trials);
        oa_free(comparison->entries[i].tuned);
        oa_free(comparison->entries[i].initial_runs);
        oa_free(comparison->entries[i].step_seconds);
        oa_free(comparison->entries[i].attention);
    }
    oa_free(comparison->entries);
    oa_free(comparison->vary.runs);
    oa_free(comparison->measures);
    oa_free(comparison->remarks);
    oa_free(comparison->initial_comparison);
    oa_free(comparison->teacher);
    oa_free(comparison->options_json);
    oa_free(comparison->machine_json);
    *comparison = (struct oa_comparison){ 0 };
}

/* ---- measures ---- */

const struct oa_measure *oa_compared_measure(const struct oa_comparison *k)
{
    return &oa_measures_or_loss(k->measures)[k->metric];
}

const struct oa_measure *oa_comparison_measure(const struct oa_comparison *k, int i)
{
    return i < oa_measures_count(k->measures) ? &oa_measures_or_loss(k->measures)[i] : NULL;
}

double oa_run_score(const struct oa_comparison *k, const struct oa_run *r)
{
    return oa_run_measured(r, k->metric);
}

static const char *copy_text_into(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

/* One piece of memory: the array, and after it the texts that it points to. */
enum oa_error oa_comparison_set_measures(oa_context *c, struct oa_comparison *k,
                                         const struct oa_measure *measures, int metric)
{
    int n = oa_measures_count(measures);
    size_t bytes = ((size_t)n + 1) * sizeof *measures;
    for (int i = 0; i < n; i++)
        bytes +=
            strlen(measures[i].name) + strlen(measures[i].title) + strlen(measures[i].unit) + 3;
    struct oa_measure *copy = oa_alloc(c, bytes);
    if (!copy)
        return OA_NO_MEMORY;
    char *at = (char *)(copy + n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = (struct oa_measure){ .name = copy_text_into(&at, measures[i].name),
                                       .title = copy_text_into(&at, measures[i].title),
                                       .unit = copy_text_into(&at, measures[i].unit),
                                       .decimals = measures[i].decimals,
                                       .higher = measures[i].higher,
                                       .best = measures[i].best };
    copy[n] = (struct oa_measure){ 0 };
    oa_free(k->measures);
    k->measures = copy;
    k->metric = metric;
    return OA_OK;
}
