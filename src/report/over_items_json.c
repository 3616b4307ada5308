/* SPDX-License-Identifier: Apache-2.0
 * Both intervals of a pair in results.json. */
#include "print/print.h"
#include "report/metric_words.h"
#include "report/over_items.h"
#include "report/results_values.h"

static json_t *half_json(oa_context *c, const struct oa_comparison *k, const struct oa_against *a,
                         double level, double half)
{
    struct oa_estimate shown = oa_shown(k, a->difference);
    if (isnan(half))
        return json_null();
    json_t *object = json_object();
    set(c, object, "confidence", oa_json_number(1 - level));
    set(c, object, "low", oa_json_number(shown.mean - half));
    set(c, object, "high", oa_json_number(shown.mean + half));
    return object;
}

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
    set(c, object, "over_seeds", half_json(c, k, a, h.level, h.seeds));
    json_t *both = half_json(c, k, a, h.level, h.both);
    if (json_is_object(both)) {
        set(c, both, "items", json_integer(x.of.items));
        set(c, both, "item", oa_json_string(x.text ? "block" : "example"));
        set(c, both, "variance_seeds", oa_json_number(x.of.seed));
        set(c, both, "variance_items", oa_json_number(x.of.item));
        set(c, both, "variance_interaction", oa_json_number(x.of.interaction));
        set(c, both, "variance", oa_json_number(x.of.variance));
        set(c, both, "degrees_of_freedom", oa_json_number(x.of.df));
    }
    set(c, object, "over_items", both);
    set(c, object, "items_state", oa_json_string(states[x.state]));
}
