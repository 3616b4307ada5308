/* SPDX-License-Identifier: Apache-2.0
 * evidence.json: the contents of the page, for programs. docs/results.md describes it. */
#include "evidence/pages.h"

#include "base/json_read.h"

#include <math.h>

#define SCHEMA "orthant.evidence/3"

static json_t *evidence_estimate_json(const struct oa_estimate *e)
{
    return json_pack("{s:i, s:o, s:o, s:o}", "n", e->n, "mean", oa_json_number(e->mean), "low",
                     oa_json_number(e->mean - e->half), "high", oa_json_number(e->mean + e->half));
}

static json_t *speed(const struct oa_range *r)
{
    return json_pack("{s:i, s:o, s:o, s:o}", "n", r->n, "value", oa_json_number(r->value), "low",
                     oa_json_number(r->low), "high", oa_json_number(r->high));
}

static json_t *pairs(const struct oa_ranking *r)
{
    return json_pack("{s:i, s:i, s:i}", "alike", r->alike, "opposed", r->opposed, "open", r->open);
}

static json_t *limits(const struct oa_stability *s)
{
    return json_pack("{s:i, s:i, s:i, s:o, s:o}", "seeds", s->seeds, "left_larger", s->left_larger,
                     "right_larger", s->right_larger, "left", oa_json_number(s->left_limit),
                     "right", oa_json_number(s->right_limit));
}

/* Without ends where it is not bounded. */
static json_t *share(const struct oa_fieller *r)
{
    bool bounded = r->form == OA_FIELLER_BOUNDED;
    return json_pack("{s:i, s:o, s:o, s:o}", "n", r->n, "value", oa_json_number(r->value), "low",
                     oa_json_number(bounded ? r->low : NAN), "high",
                     oa_json_number(bounded ? r->high : NAN));
}

/* The simultaneous one; null: nothing was judged. */
static json_t *interval(const struct oa_against *a)
{
    if (isnan(a->half))
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "confidence", oa_json_number(1 - a->level), "low",
                     oa_json_number(a->difference.mean - a->half), "high",
                     oa_json_number(a->difference.mean + a->half));
}

static json_t *evidence_finding_json(const struct oa_judged *j, const struct oa_finding *f)
{
    const struct oa_variant *v = j->experiment->variants;
    json_t *out = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "left", v[f->left].name, "right",
        v[f->right].name, "verdict", oa_claim_verdict_words(f->verdict), "found",
        oa_finding_words(j, f), "difference", evidence_estimate_json(&f->against.difference),
        "interval", interval(&f->against), "p_adjusted", oa_json_number(f->against.adjusted),
        "p_equivalence", oa_json_number(f->against.equivalence));
    enum oa_relation relation = j->experiment->predictions[f->prediction].relation;
    if (relation == OA_FASTER_THAN)
        json_object_set_new(out, "speed", speed(&f->speed));
    if (relation == OA_SAME_AS)
        json_object_set_new(out, "pairs", pairs(&f->ranking));
    if (relation == OA_AS_STABLE_AS)
        json_object_set_new(out, "limits", limits(&f->stability));
    if (relation == OA_KEEPS_AT_LEAST)
        json_object_set_new(out, "retained", share(&f->share));
    return out;
}

static json_t *predictions(const struct oa_judged *j)
{
    json_t *list = json_array();
    for (int p = 0; p < j->experiment->prediction_count; p++) {
        json_t *found = json_array();
        for (const struct oa_finding *f = j->findings; f < j->findings + j->count; f++)
            if (f->prediction == p)
                json_array_append_new(found, evidence_finding_json(j, f));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "prediction",
                                              j->experiment->predictions[p].text, "verdict",
                                              oa_claim_verdict_words(oa_prediction_verdict(j, p)),
                                              "findings", found));
    }
    return list;
}

/* null: it does not apply, or is not bounded. */
static json_t *retained(const json_t *record, const json_t *entry)
{
    struct oa_fieller r;
    const char *attention = json_string_value(json_object_get(entry, "attention"));
    bool uniform = json_is_true(json_object_get(entry, "floor"));
    return !uniform && oa_evidence_share(record, attention, &r) ? share(&r) : json_null();
}

static json_t *entries(const json_t *record)
{
    json_t *list = json_array(), *entry;
    size_t i;
    json_array_foreach(json_object_get(record, "entries"), i, entry)
    {
        struct oa_estimate score = oa_record_score(record, (int)i);
        const json_t *tuning = json_object_get(entry, "tuning");
        json_t *tuned = json_object_get(tuning, "values"),
               *choices = json_object_get(tuning, "choices");
        json_array_append_new(
            list,
            json_pack("{s:O, s:O, s:O, s:O, s:o, s:o, s:O?, s:O?}", "attention",
                      json_object_get(entry, "attention"), "floor", json_object_get(entry, "floor"),
                      "trainable", json_object_get(entry, "trainable"), "frozen",
                      json_object_get(entry, "frozen"), "score", evidence_estimate_json(&score),
                      "retained", retained(record, entry), "tuned", tuned, "choices", choices));
    }
    return list;
}

static json_t *record_cost_json(struct oa_record_cost cost)
{
    return json_pack("{s:f, s:f, s:f}", "runs", cost.runs, "flops", cost.flops, "processor_seconds",
                     cost.processor_seconds);
}

static json_t *from_json(const struct oa_experiment *e, int variant)
{
    int from = e->variants[variant].from;
    return from < 0 ? json_null() : json_string(e->variants[from].name);
}

static json_t *evidence_comparisons_json(const struct oa_judged *j)
{
    json_t *list = json_array();
    for (int v = 0; v < j->experiment->variant_count; v++)
        if (j->record[v])
            json_array_append_new(list,
                                  json_pack("{s:s, s:o, s:s, s:O, s:o, s:o}", "name",
                                            j->experiment->variants[v].name, "from",
                                            from_json(j->experiment, v), "measure",
                                            oa_record_measure_of(j->record[v]).name, "conclusion",
                                            json_object_get(j->record[v], "conclusion"), "entries",
                                            entries(j->record[v]), "cost",
                                            record_cost_json(oa_record_cost_of(j->record[v]))));
    return list;
}

static json_t *changed(const struct oa_judged *j)
{
    return j->declared.changed ? json_incref(j->declared.changed) : json_array();
}

static json_t *experiment(const struct oa_judged *j)
{
    const struct oa_experiment *e = j->experiment;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", e->name, "title",
                     oa_claim_text(e, "title"), "source", oa_claim_text(e, "source"), "verdict",
                     oa_judged_words(j), "declared", j->declared.date, "changed", changed(j),
                     "predictions", predictions(j), "comparisons", evidence_comparisons_json(j),
                     "cost", record_cost_json(oa_judged_cost(j)));
}

json_t *oa_evidence_json(const struct oa_judged *j, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, experiment(&j[i]));
    return json_pack("{s:s, s:o}", "schema", SCHEMA, "experiments", list);
}
