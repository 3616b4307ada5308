/* SPDX-License-Identifier: Apache-2.0
 * Both intervals of a pair in results.json. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "print/print.h"
#include "report/metric_words.h"
#include "report/over_items.h"
#include "report/results.h"

void oa_set_item_intervals(oa_context *c, const struct oa_comparison *k, const struct oa_against *a,
                           json_t *object)
{
    static const char *const states[] = { [OA_ITEMS_KNOWN] = "known",
                                          [OA_ITEMS_ONE] = "one",
                                          [OA_ITEMS_NO_MEAN] = "no mean",
                                          [OA_ITEMS_MISSING] = "missing",
                                          [OA_ITEMS_UNLIKE] = "unlike" };
    struct oa_over_items x;
    if (oa_over_items_of(c, k, a->a, a->b, &x) != OA_OK)
        return;
    struct oa_item_halves h = oa_item_halves_of(k, a, &x);
    oa_json_set(c, object, "over_seeds", oa_interval_json(c, k, &a->difference, h.seeds, h.level));
    json_t *both = oa_interval_json(c, k, &a->difference, h.both, h.level);
    if (json_is_object(both)) {
        oa_json_set(c, both, "items", json_integer(x.of.items));
        oa_json_set(c, both, "item", oa_json_string(x.text ? "block" : "example"));
        oa_json_set(c, both, "variance_seeds", oa_json_number(x.of.seed));
        oa_json_set(c, both, "variance_items", oa_json_number(x.of.item));
        oa_json_set(c, both, "variance_interaction", oa_json_number(x.of.interaction));
        oa_json_set(c, both, "variance", oa_json_number(x.of.variance));
        oa_json_set(c, both, "degrees_of_freedom", oa_json_number(x.of.df));
    }
    oa_json_set(c, object, "over_items", both);
    oa_json_set(c, object, "items_state", oa_json_string(states[x.state]));
}
