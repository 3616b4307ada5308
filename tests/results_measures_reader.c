/* SPDX-License-Identifier: Apache-2.0
 * "metric" and "measures" of results.json, back into a comparison. */
#include "compare/comparison.h"
#include "results_reader.h"

#include <string.h>

static enum oa_error refuse(oa_context *c, size_t i)
{
    return oa_fail(c, OA_FORMAT, "results: measures[%zu] is not what a comparison writes there", i);
}

/* Borrows the texts. */
static bool read_measure(const json_t *o, struct oa_measure *m)
{
    const json_t *decimals = json_object_get(o, "decimals"),
                 *higher = json_object_get(o, "higher_is_better");
    *m = (struct oa_measure){ .name = json_string_value(json_object_get(o, "name")),
                              .title = json_string_value(json_object_get(o, "title")),
                              .unit = json_string_value(json_object_get(o, "unit")),
                              .decimals = (int)json_integer_value(decimals),
                              .higher = json_is_true(higher),
                              .best = json_number_value(json_object_get(o, "best")) };
    return m->name && strlen(m->name) < 24 && m->title && strlen(m->title) < 48 && m->unit &&
           strlen(m->unit) < 48 && json_is_integer(decimals) && m->decimals >= 0 &&
           m->decimals <= 12 && json_is_boolean(higher);
}

static enum oa_error find_metric(oa_context *c, const json_t *root,
                                 const struct oa_measure *measures, int *metric)
{
    const char *name = json_string_value(json_object_get(root, "metric"));
    for (*metric = 0; name && measures[*metric].name; ++*metric)
        if (strcmp(measures[*metric].name, name) == 0)
            return OA_OK;
    return oa_fail(c, OA_FORMAT,
                   "results: metric: expected the name of one of \"measures\", found %s",
                   name ? name : "no text");
}

enum oa_error oa_measures_read(oa_context *c, const json_t *root, struct oa_comparison *k)
{
    const json_t *list = json_object_get(root, "measures");
    struct oa_measure measures[OA_MEASURES + 1] = { { 0 } };
    int metric;
    if (!list)
        return OA_OK;
    size_t n = json_array_size(list);
    if (n < 1 || n > OA_MEASURES)
        return oa_fail(c, OA_FORMAT, "results: measures: expected 1 to %d, found %zu", OA_MEASURES,
                       n);
    for (size_t i = 0; i < n; i++)
        if (!read_measure(json_array_get(list, i), &measures[i]))
            return refuse(c, i);
    OA_TRY(find_metric(c, root, measures, &metric));
    return oa_comparison_set_measures(c, k, measures, metric);
}
