/* SPDX-License-Identifier: Apache-2.0
 * "solved" of results.json. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "report/results.h"
#include "report/solved.h"
#include "report/summary.h"

#include <math.h>

static json_t *solved_entry_json(const struct oa_solved *s, const struct oa_solved_entry *e)
{
    json_t *object = json_pack(
        "{s:i, s:i, s:o, s:o, s:o, s:b, s:o, s:o}", "solved", e->share.k, "runs", e->share.n,
        "share", oa_json_number(e->share.n ? (double)e->share.k / e->share.n : NAN), "low",
        oa_json_number(e->share.low), "high", oa_json_number(e->share.high), "mixed", e->mixed,
        "mean_solved", oa_json_number(e->solving), "mean_not_solved", oa_json_number(e->remaining));
    if (s->stepped)
        json_object_set_new(object, "steps",
                            json_pack("{s:i, s:o, s:o, s:o}", "reached", e->reached, "median",
                                      oa_json_number(e->steps.value), "low",
                                      oa_json_number(e->steps.low), "high",
                                      oa_json_number(e->steps.high)));
    return object;
}

static json_t *solved_test_json(const struct oa_solved *s, const struct oa_solved_test *t)
{
    json_t *object = json_pack("{s:i, s:i, s:o, s:o}", "a", t->a, "b", t->b, "p",
                               oa_json_number(t->p), "p_corrected", oa_json_number(t->corrected));
    if (!s->stepped)
        return object;
    const struct oa_log_rank *l = &t->steps;
    json_t *steps =
        json_pack("{s:[i,i], s:[o,o], s:o, s:o, s:o, s:b}", "events", l->events[0], l->events[1],
                  "expected", oa_json_number(l->expected[0]), oa_json_number(l->expected[1]),
                  "chi_square", oa_json_number(l->chi_square), "p", oa_json_number(l->p),
                  "p_corrected", oa_json_number(t->steps_corrected), "exact", l->counted);
    json_object_set_new(object, "steps", steps);
    return object;
}

json_t *oa_solved_json(const struct oa_comparison *k, const struct oa_summary *s)
{
    const struct oa_solved *x = &s->solved;
    json_t *entries = json_array(), *tests = json_array();
    for (int i = 0; i < k->count && x->by != OA_SOLVED_NONE; i++)
        json_array_append_new(entries, solved_entry_json(x, &x->entries[i]));
    for (int i = 0; i < x->test_count; i++)
        json_array_append_new(tests, solved_test_json(x, &x->tests[i]));
    if (x->by != OA_SOLVED_NONE)
        return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "by",
                         x->by == OA_SOLVED_THRESHOLD ? "threshold" : "clusters", "metric",
                         oa_comparison_measure(k, x->at.measure)->name, "value",
                         oa_json_number(x->at.value), "mean_solved", oa_json_number(x->solving),
                         "mean_not_solved", oa_json_number(x->remaining), "entries", entries,
                         "tests", tests);
    json_decref(entries);
    json_decref(tests);
    return json_null();
}
