/* SPDX-License-Identifier: Apache-2.0
 *
 * results.json: the whole comparison, every run with its curve, and the statistics, which can be
 * computed again from the rest. docs/results.md describes it.
 */
#include "base/json_read.h"
#include "base/json_write.h"
#include "compare/initial_runs.h"
#include "report/adjusted.h"
#include "report/columns.h"
#include "report/notes.h"
#include "report/over_items.h"
#include "report/page.h"
#include "report/power.h"
#include "report/report.h"
#include "report/results.h"
#include "report/retained.h"
#include "report/teacher_share.h"
#include "report/until.h"
#include "report/variance.h"
#include "train/run_scores.h"

#include <math.h>

/* Text that is JSON already (options, machine). */
static json_t *parsed(oa_context *c, const char *json, const char *what)
{
    json_error_t error;
    json_t *value = json ? json_loads(json, JSON_DECODE_ANY, &error) : json_null();
    if (!value)
        oa_fail(c, OA_INTERNAL, "the %s of this comparison are not JSON (line %d: %s)", what,
                error.line, error.text);
    return value ? value : json_null();
}

/* ---- runs ---- */

/* The measures other than the loss, a column each. */
static json_t *curve_scores_json(oa_context *c, const struct oa_comparison *k,
                                 const struct oa_run *r)
{
    json_t *scores = json_object();
    const struct oa_measure *m;
    for (int i = 1; (m = oa_comparison_measure(k, i)); i++) {
        json_t *column = json_array();
        for (int p = 0; p < r->points; p++)
            oa_json_append(c, column, oa_json_number(oa_point_measured(&r->curve[p], i)));
        oa_json_set(c, scores, m->name, column);
    }
    return scores;
}

static json_t *curve_json(oa_context *c, const struct oa_comparison *k, const struct oa_run *r)
{
    json_t *curve = json_object(), *steps = json_array();
    for (int i = 0; i < r->points; i++)
        oa_json_append(c, steps, json_integer(r->curve[i].step));
    oa_json_set(c, curve, "step", steps);
#define COLUMN(field)                                                                              \
    json_t *field = json_array();                                                                  \
    for (int i = 0; i < r->points; i++)                                                            \
        oa_json_append(c, field, oa_json_number(r->curve[i].field));                               \
    oa_json_set(c, curve, #field, field);
    OA_CURVE_NUMBERS(COLUMN)
#undef COLUMN
    if (oa_comparison_measure(k, 1))
        oa_json_set(c, curve, "scores", curve_scores_json(c, k, r));
    return curve;
}

/* The run of another comparison that a run starts from; null: none of its own (train.init). */
static json_t *parent_json(oa_context *c, const struct oa_initial_run *p)
{
    if (!p)
        return json_null();
    json_t *object = json_object();
    oa_json_set(c, object, "run", oa_json_string(p->folder));
    oa_json_set(c, object, "seed", json_integer(p->seed));
    oa_json_set(c, object, "model", json_sprintf("sha256:%s", p->model.hex));
    return object;
}

static json_t *run_json(oa_context *c, const struct oa_comparison *k, const struct oa_entry *e,
                        const struct oa_run *r)
{
    json_t *run = json_object();
    oa_json_set(c, run, "seed", json_integer((json_int_t)r->seed));
    oa_json_set(c, run, "started_from", parent_json(c, oa_initial_run_of(e, (long)r->seed)));
    oa_json_set(c, run, "failed", json_boolean(r->failed));
    oa_json_set(c, run, "failure", r->failed ? oa_json_string(r->failure) : json_null());
    oa_json_set(c, run, "machine", *r->machine ? oa_json_string(r->machine) : json_null());
    oa_json_set(c, run, "weights", *r->weights ? oa_json_string(r->weights) : json_null());
    oa_json_set(c, run, "steps", json_integer(r->steps));
#define NUMBER(field) oa_json_set(c, run, #field, oa_json_number(r->field));
    OA_RUN_NUMBERS(NUMBER)
#undef NUMBER
    if (oa_comparison_measure(k, 1))
        oa_json_set(c, run, "scores", oa_run_scores_json(k->measures, r->scores));
    oa_json_set(c, run, "test", oa_run_test_json(k->measures, &r->test));
    oa_json_set(c, run, "curve", curve_json(c, k, r));
    oa_parts_write(r, run);
    return run;
}

/* ---- statistics ---- */

static json_t *estimate_json(oa_context *c, const struct oa_estimate *e)
{
    json_t *object = json_object();
    oa_json_set(c, object, "n", json_integer(e->n));
    oa_json_set(c, object, "mean", oa_json_number(e->mean));
    oa_json_set(c, object, "sd", oa_json_number(e->sd));
    oa_json_set(c, object, "low", oa_json_number(e->mean - e->half));
    oa_json_set(c, object, "high", oa_json_number(e->mean + e->half));
    return object;
}

/* A difference of costs as one of scores. */
static json_t *difference_json(oa_context *c, const struct oa_comparison *k,
                               const struct oa_estimate *cost)
{
    struct oa_estimate shown = oa_shown(k, *cost);
    return estimate_json(c, &shown);
}

json_t *oa_interval_json(oa_context *c, const struct oa_comparison *k,
                         const struct oa_estimate *cost, double half, double level)
{
    struct oa_estimate shown = oa_shown(k, *cost);
    if (isnan(half))
        return json_null();
    json_t *object = json_object();
    oa_json_set(c, object, "confidence", oa_json_number(1 - level));
    oa_json_set(c, object, "low", oa_json_number(shown.mean - half));
    oa_json_set(c, object, "high", oa_json_number(shown.mean + half));
    return object;
}

/* One attention against another; of a pair that is not judged only the difference. */
static void fill_against(oa_context *c, const struct oa_comparison *k, const struct oa_against *a,
                         json_t *object)
{
    bool judged = a->verdict != OA_AGAINST_NONE;
    const char *code = oa_against_code(a->verdict);
    const char *words = oa_against_words(a->verdict, oa_is_practical(k));
    oa_json_set(c, object, "verdict", judged ? oa_json_string(code) : json_null());
    oa_json_set(c, object, "difference", difference_json(c, k, &a->difference));
    oa_json_set(c, object, "p", oa_json_number(a->p));
    oa_json_set(c, object, "p_adjusted", oa_json_number(a->adjusted));
    oa_json_set(c, object, "p_equivalence", oa_json_number(a->equivalence));
    oa_json_set(c, object, "verdict_text", judged ? oa_json_string(words) : json_null());
    oa_json_set(c, object, "standard_error", oa_json_number(a->se));
    oa_json_set(c, object, "degrees_of_freedom", oa_json_number(a->df));
    oa_json_set(c, object, "interval", oa_interval_json(c, k, &a->difference, a->half, a->level));
}

static json_t *range_json(oa_context *c, const struct oa_range *x)
{
    if (x->n == 0)
        return json_null();
    json_t *object = json_object();
    oa_json_set(c, object, "n", json_integer(x->n));
    oa_json_set(c, object, "value", oa_json_number(x->value));
    oa_json_set(c, object, "low", oa_json_number(x->low));
    oa_json_set(c, object, "high", oa_json_number(x->high));
    return object;
}

/* Comparison with the uniform baseline or the baseline; null where there is none, and for the
 * baseline itself. */
static json_t *against_json(oa_context *c, const struct oa_comparison *k,
                            const struct oa_summary *s, int entry, int other)
{
    if (other < 0 || entry == other || s->entries[entry].failed || s->entries[other].failed)
        return json_null();
    json_t *object = json_object();
    fill_against(c, k, oa_compared_pair(s, entry, other), object);
    return object;
}

/* Every two entries without failures once: a's score minus b's. */
static json_t *pairs_json(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s)
{
    json_t *pairs = json_array();
    for (int i = 0; i < s->count; i++)
        for (int j = i + 1; j < s->count; j++) {
            if (s->entries[i].failed || s->entries[j].failed)
                continue;
            json_t *object = json_pack("{s:i, s:i}", "a", i, "b", j);
            fill_against(c, k, oa_compared_pair(s, i, j), object);
            oa_set_item_intervals(c, k, oa_compared_pair(s, i, j), object);
            oa_json_append(c, pairs, object);
        }
    return pairs;
}

static json_t *family_json(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s)
{
    json_t *object = json_object();
    int judged = 0;
    for (int i = 0; i < s->count; i++)
        for (int j = i + 1; j < s->count; j++)
            judged += oa_compared_pair(s, i, j)->verdict != OA_AGAINST_NONE;
    oa_json_set(c, object, "kind", oa_json_string(oa_family_name(oa_family_kind_of(k))));
    oa_json_set(c, object, "comparisons", json_integer(oa_family_size(k)));
    oa_json_set(c, object, "judged", json_integer(judged));
    oa_json_set(c, object, "level", oa_json_number(oa_family_level(k)));
    oa_json_set(c, object, "test",
                oa_json_string(k->unpaired                                      ? "welch"
                               : k->test == OA_TWO_WAY_ERRORS && !k->sequential ? "two-way"
                                                                                : "paired"));
    oa_json_set(c, object, "deviation", oa_json_number(oa_family_deviation(k, s)));
    oa_json_set(c, object, "detectable", oa_json_number(oa_detectable_difference(k, s)));
    return object;
}

/* A number of seeds; null where it does not apply. */
static json_t *seeds(int n)
{
    return n ? json_integer(n) : json_null();
}

/* The interval after each seed; null unless the comparison is sequential and includes the entry. */
static json_t *trajectory_json(oa_context *c, const struct oa_comparison *k,
                               const struct oa_summary *s, int entry)
{
    static const char *const keys[] = { "seeds", "mean", "low", "high" };
    size_t room = (size_t)s->seeds + 1;
    json_t *object = json_object(), *columns[4];
    double *scratch = oa_alloc(c, room * sizeof *scratch);
    struct oa_estimate *intervals = oa_alloc(c, room * sizeof *intervals);
    int n = scratch && intervals ? oa_trajectory(k, s, entry, scratch, intervals) : 0;
    for (int i = 0; i < 4; i++)
        oa_json_set(c, object, keys[i], columns[i] = json_array());
    for (int i = 0; i < n; i++) {
        struct oa_estimate e = oa_shown(k, intervals[i]);
        oa_json_append(c, columns[0], json_integer(e.n));
        oa_json_append(c, columns[1], oa_json_number(e.mean));
        oa_json_append(c, columns[2], oa_json_number(e.mean - e.half));
        oa_json_append(c, columns[3], oa_json_number(e.mean + e.half));
    }
    oa_free(scratch);
    oa_free(intervals);
    if (n)
        return object;
    json_decref(object);
    return json_null();
}

/* Estimates of the measures other than the loss. */
static json_t *standing_scores_json(oa_context *c, const struct oa_comparison *k,
                                    const struct oa_standing *s)
{
    json_t *scores = json_object();
    const struct oa_measure *m;
    for (int i = 1; (m = oa_comparison_measure(k, i)); i++)
        oa_json_set(c, scores, m->name, estimate_json(c, &s->scores[i]));
    return scores;
}

static json_t *standing_json(oa_context *c, const struct oa_comparison *k,
                             const struct oa_summary *summary, int entry)
{
    const struct oa_standing *s = &summary->entries[entry];
    int reference = summary->reference, fixed = oa_compared_to(k, summary);
    struct oa_against nothing = oa_against_nothing();
    const struct oa_against *lowest =
        reference < 0 ? &nothing : oa_compared_pair(summary, entry, reference);
    const struct oa_against *judged =
        fixed < 0 ? &nothing : oa_compared_pair(summary, entry, fixed);
    struct oa_estimate adjusted = oa_shown(k, oa_to_reference(k, summary, entry));
    json_t *object = json_object();
    char code[OA_VERDICT];
    struct oa_text words;
    oa_text_init(&words, c);
    oa_add_verdict(k, summary, entry, &words);
    oa_json_set(c, object, "verdict", oa_json_string(oa_verdict_code(k, s->verdict, code)));
    oa_json_set(c, object, "identical_with", s->twin < 0 ? json_null() : json_integer(s->twin));
    oa_json_set(c, object, "runs_made", json_integer(s->made));
    oa_json_set(c, object, "failed_runs", json_integer(s->failed));
    oa_json_set(c, object, "loss", estimate_json(c, &s->loss));
    if (oa_comparison_measure(k, 1))
        oa_json_set(c, object, "scores", standing_scores_json(c, k, s));
    oa_json_set(c, object, "adjusted", oa_json_number(s->adjusted));
    oa_json_set(c, object, "adjusted_difference", oa_json_number(adjusted.mean));
    oa_json_set(c, object, "difference",
                lowest->difference.n ? difference_json(c, k, &lowest->difference) : json_null());
    oa_json_set(c, object, "difference_percent", oa_json_number(s->percent));
    oa_json_set(c, object, "p", oa_json_number(judged->p));
    oa_json_set(c, object, "p_adjusted", oa_json_number(judged->adjusted));
    oa_json_set(c, object, "seeds_needed", seeds(s->seeds_needed));
    oa_json_set(c, object, "seeds_needed_low", seeds(s->seeds_range.low));
    oa_json_set(c, object, "seeds_needed_high", seeds(s->seeds_range.high));
    for (int q = OA_FIRST_QUANTITY; q < OA_COLUMNS; q++)
        oa_json_set(c, object, oa_report_columns[q].key,
                    oa_json_number(*oa_quantity_mean(q, &summary->entries[entry])));
    oa_json_set(c, object, "floor", against_json(c, k, summary, entry, summary->uniform));
    oa_json_set(c, object, "baseline", against_json(c, k, summary, entry, k->baseline - 1));
    oa_json_set(c, object, "step", range_json(c, &s->step));
    oa_json_set(c, object, "speed", range_json(c, &s->speed));
    oa_json_set(c, object, "front_speed", json_boolean(s->front_speed));
    oa_json_set(c, object, "front_parameters", json_boolean(s->front_parameters));
    oa_json_set(c, object, "verdict_text", oa_json_string(words.s));
    oa_json_set(c, object, "interval",
                oa_interval_json(c, k, &judged->difference, judged->half, judged->level));
    oa_text_free(&words);
    return object;
}

/* ---- the file ---- */

/* Seconds of a step in each round; null: not measured. */
static json_t *rounds_json(oa_context *c, const double *seconds, int rounds)
{
    if (!seconds)
        return json_null();
    json_t *list = json_array();
    for (int r = 0; r < rounds; r++)
        oa_json_append(c, list, oa_json_number(seconds[r]));
    return list;
}

/* Estimates of every measure on the test data; null where there are none. */
static json_t *test_json(oa_context *c, const struct oa_comparison *k, int entry)
{
    double *scratch = oa_alloc(c, ((size_t)k->seeds + 1) * sizeof *scratch);
    json_t *object = k->test_targets > 0 && scratch ? json_object() : json_null();
    const struct oa_measure *m;
    for (int i = 0; json_is_object(object) && (m = oa_comparison_measure(k, i)); i++) {
        struct oa_estimate e = oa_test_estimate(k, entry, i, scratch);
        oa_json_set(c, object, m->name, estimate_json(c, &e));
    }
    oa_free(scratch);
    return object;
}

static json_t *entry_json(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s,
                          int i)
{
    json_t *entry = json_object(), *runs = json_array();
    oa_json_set(c, entry, "attention", oa_json_string(k->entries[i].attention));
    oa_json_set(c, entry, "floor", json_boolean(k->entries[i].uniform));
    oa_json_set(c, entry, "trainable", oa_json_number(k->entries[i].trainable));
    oa_json_set(c, entry, "frozen", oa_json_number(k->entries[i].frozen));
    oa_json_set(c, entry, "ffn", k->entries[i].ffn ? json_integer(k->entries[i].ffn) : json_null());
    oa_json_set(c, entry, "step_seconds", rounds_json(c, k->entries[i].step_seconds, k->rounds));
    oa_json_set(c, entry, "statistics", standing_json(c, k, s, i));
    oa_json_set(c, entry, "retained", oa_retained_json(c, k, s, i));
    if (k->teacher)
        oa_json_set(c, entry, "teacher_share", oa_teacher_share_json(c, k, s, i));
    oa_json_set(c, entry, "test", test_json(c, k, i));
    oa_json_set(c, entry, "trajectory", trajectory_json(c, k, s, i));
    for (int r = 0; r < k->seeds; r++)
        if (!k->entries[i].runs[r].absent)
            oa_json_append(c, runs, run_json(c, k, &k->entries[i], &k->entries[i].runs[r]));
    oa_json_set(c, entry, "runs", runs);
    oa_json_set(c, entry, "tuning", oa_results_trials(c, k, i));
    return entry;
}

/* The ending with compare.until_resolved; otherwise null. */
static json_t *until_json(oa_context *c, const struct oa_until *u)
{
    if (u->ending == OA_ENDING_NONE)
        return json_null();
    json_t *object = json_object();
    oa_json_set(c, object, "ending", oa_json_string(oa_ending_name(u->ending)));
    oa_json_set(c, object, "least_seeds", json_integer(u->least));
    oa_json_set(c, object, "most_seeds", json_integer(u->most));
    oa_json_set(c, object, "rounds", json_integer(u->rounds));
    oa_json_set(c, object, "budget_seconds",
                u->budget > 0 ? oa_json_number(u->budget) : json_null());
    oa_json_set(c, object, "spent_seconds", oa_json_number(u->spent));
    return object;
}

static json_t *recommendation_json(oa_context *c, const struct oa_summary *s)
{
    const struct oa_recommendation *r = &s->advice;
    json_t *object = json_object();
    oa_json_set(c, object, "text", oa_json_string(s->recommendation));
    oa_json_set(c, object, "action", oa_json_string(oa_action_name(r->action)));
    oa_json_set(c, object, "entry", r->entry < 0 ? json_null() : json_integer(r->entry));
    oa_json_set(c, object, "cheaper", r->cheaper < 0 ? json_null() : json_integer(r->cheaper));
    oa_json_set(c, object, "speed", oa_json_number(r->speed));
    oa_json_set(c, object, "attentions", json_integer(r->open));
    oa_json_set(c, object, "seeds", seeds(r->seeds));
    oa_json_set(c, object, "seconds", oa_json_number(r->seeds ? r->seconds : NAN));
    return object;
}

static json_t *comparison_json(oa_context *c, const struct oa_comparison *k,
                               const struct oa_summary *s)
{
    json_t *root = json_object(), *valid = json_object(), *order = json_array(),
           *entries = json_array();
    oa_json_set(c, root, "schema", oa_json_string(OA_RESULTS_SCHEMA));
    oa_json_set(c, root, "conclusion", oa_json_string(s->conclusion));
    oa_results_measures(k, root);
    oa_json_set(c, root, "equal",
                k->imported ? json_null()
                            : oa_json_string(oa_option_word("compare.equal", (int)k->equal).s));
    oa_json_set(c, root, "imported", json_boolean(k->imported));
    oa_json_set(c, root, "paired", json_boolean(!k->unpaired));
    oa_json_set(c, root, "remarks", k->remarks ? oa_json_string(k->remarks + 1) : json_null());
    oa_json_set(c, root, "seeds", json_integer(k->seeds));
    oa_json_set(c, valid, "characters", oa_json_number(k->characters));
    oa_json_set(c, valid, "bytes", oa_json_number(k->bytes));
    oa_json_set(c, valid, "tokens", oa_json_number(k->valid_tokens));
    oa_json_set(c, valid, "used", oa_json_number(oa_validation_used(k)));
    oa_json_set(c, valid, "used_during_training", oa_json_number(k->eval_tokens));
    oa_json_set(c, root, "validation", valid);
    oa_json_set(c, root, "test_targets",
                k->test_targets > 0 ? oa_json_number(k->test_targets) : json_null());
    oa_json_set(c, root, "options", parsed(c, k->options_json, "options"));
    oa_json_set(c, root, "machine", parsed(c, k->machine_json, "machine's data"));
    oa_json_set(c, root, "speed_rounds", json_integer(k->rounds));
    oa_json_set(c, root, "speed_machine",
                k->rounds ? oa_json_string(k->speed_machine) : json_null());
    if (k->teacher)
        oa_json_set(c, root, "teacher", oa_teacher_json(c, k));
    oa_json_set(c, root, "baseline", k->baseline ? json_integer(k->baseline - 1) : json_null());
    oa_json_set(c, root, "margin", oa_json_number(k->margin));
    oa_json_set(c, root, "family", family_json(c, k, s));
    oa_json_set(c, root, "items", oa_json_string(k->random_items ? "random" : "fixed"));
    oa_json_set(c, root, "looks", oa_json_string(k->sequential ? "any" : "one"));
    oa_json_set(c, root, "until_resolved", until_json(c, &k->until));
    oa_json_set(c, root, "tuning", oa_results_tuning(c, k));
    oa_json_set(c, root, "reference", s->reference < 0 ? json_null() : json_integer(s->reference));
    for (int i = 0; i < k->count; i++)
        oa_json_append(c, order, json_integer(s->order[i]));
    oa_json_set(c, root, "order", order);
    for (int i = 0; i < k->count; i++)
        oa_json_append(c, entries, entry_json(c, k, s, i));
    oa_json_set(c, root, "entries", entries);
    oa_json_set(c, root, "pairs", pairs_json(c, k, s));
    oa_json_set(c, root, "vary", oa_variances_json(k));
    oa_json_set(c, root, "solved", oa_solved_json(k, s));
    oa_json_set(c, root, "recommendation", recommendation_json(c, s));
    return root;
}

void oa_report_json(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    json_t *root = comparison_json(out->context, k, s);
    if (oa_status(out->context) == OA_OK)
        oa_json_text(root, out);
    json_decref(root);
}
