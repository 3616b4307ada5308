/* SPDX-License-Identifier: Apache-2.0
 * "metric" and "measures" of results.json. Comparisons of tasks with the loss alone have neither.
 */
#include "report/results.h"

#include "base/json_read.h"

void oa_results_measures(const struct oa_comparison *k, json_t *root)
{
    const struct oa_measure *m;
    json_t *list = json_array();
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:b, s:o}", "name", m->name,
                                              "title", m->title, "unit", m->unit, "decimals",
                                              m->decimals, "higher_is_better", m->higher, "best",
                                              oa_json_number(m->best)));
    if (json_array_size(list) > 1 || k->imported) {
        json_object_set_new(root, "metric", json_string(oa_compared_measure(k)->name));
        json_object_set(root, "measures", list);
    }
    json_decref(list);
}
