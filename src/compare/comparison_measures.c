/* SPDX-License-Identifier: Apache-2.0
 * Which measure a comparison is about. */
#include "compare/comparison.h"

#include <string.h>

const struct oa_measure *oa_metric(const struct oa_comparison *k)
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

/* ---- a copy ---- */

static size_t size_of(const char *text)
{
    return strlen(text) + 1;
}

static const char *put(char **at, const char *text)
{
    char *copy = memcpy(*at, text, size_of(text));
    *at += size_of(text);
    return copy;
}

/* One piece of memory: the array, and behind it the texts that it points to. */
enum oa_error oa_comparison_set_measures(oa_context *c, struct oa_comparison *k,
                                         const struct oa_measure *measures, int metric)
{
    int n = oa_measures_count(measures);
    size_t bytes = ((size_t)n + 1) * sizeof *measures;
    for (int i = 0; i < n; i++)
        bytes += size_of(measures[i].name) + size_of(measures[i].title) + size_of(measures[i].unit);
    struct oa_measure *copy = oa_alloc(c, bytes);
    if (!copy)
        return OA_NO_MEMORY;
    char *at = (char *)(copy + n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = (struct oa_measure){ .name = put(&at, measures[i].name),
                                       .title = put(&at, measures[i].title),
                                       .unit = put(&at, measures[i].unit),
                                       .decimals = measures[i].decimals,
                                       .higher = measures[i].higher };
    copy[n] = (struct oa_measure){ 0 };
    oa_free(k->measures);
    k->measures = copy;
    k->metric = metric;
    return OA_OK;
}
