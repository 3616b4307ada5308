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

/* low and high are null where it is not bounded. */
static json_t *share(const struct oa_fieller *r)
{
    bool bounded = r->form == OA_FIELLER_BOUNDED;
    return json_pack("{s:i, s:o, s:o, s:o}", "n", r->n, "value", oa_json_number(r->value), "low",
                     oa_json_number(bounded ? r->low : NAN), "high",
                     oa_json_number(bounded ? r->high : NAN));
}

static json_t *evidence_finding_json(const struct oa_judged *j, const struct oa_finding *f)
{
    const struct oa_variant *v = j->experiment->variants;
    const struct oa_against *a = &f->against;
    const struct oa_range *speed = &f->speed;
    const struct oa_ranking *pairs = &f->ranking;
    const struct oa_stability *limits = &f->stability;
    json_t *interval = /* the simultaneous one */
        isnan(a->half) ? json_null()
                       : json_pack("{s:o, s:o, s:o}", "confidence", oa_json_number(1 - a->level),
                                   "low", oa_json_number(a->difference.mean - a->half), "high",
                                   oa_json_number(a->difference.mean + a->half));
    json_t *out =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "left", v[f->left].name, "right",
                  v[f->right].name, "verdict", oa_claim_verdict_words(f->verdict), "found",
                  oa_finding_words(j, f), "difference", evidence_estimate_json(&a->difference),
                  "interval", interval, "p_adjusted", oa_json_number(a->adjusted), "p_equivalence",
                  oa_json_number(a->equivalence));
    enum oa_relation relation = j->experiment->predictions[f->prediction].relation;
    if (relation == OA_FASTER_THAN)
        json_object_set_new(
            out, "speed",
            json_pack("{s:i, s:o, s:o, s:o}", "n", speed->n, "value", oa_json_number(speed->value),
                      "low", oa_json_number(speed->low), "high", oa_json_number(speed->high)));
    if (relation == OA_SAME_AS)
        json_object_set_new(out, "pairs",
                            json_pack("{s:i, s:i, s:i}", "alike", pairs->alike, "opposed",
                                      pairs->opposed, "open", pairs->open));
    if (relation == OA_AS_STABLE_AS)
        json_object_set_new(out, "limits",
                            json_pack("{s:i, s:i, s:i, s:o, s:o}", "seeds", limits->seeds,
                                      "left_larger", limits->left_larger, "right_larger",
                                      limits->right_larger, "left",
                                      oa_json_number(limits->left_limit), "right",
                                      oa_json_number(limits->right_limit)));
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

static json_t *entries(const json_t *record)
{
    json_t *list = json_array(), *entry;
    size_t i;
    json_array_foreach(json_object_get(record, "entries"), i, entry)
    {
        struct oa_estimate score = oa_record_score(record, (int)i);
        struct oa_fieller r;
        json_t *floor = json_object_get(entry, "floor"),
               *attention = json_object_get(entry, "attention");
        bool retained =
            !json_is_true(floor) && oa_evidence_share(record, json_string_value(attention), &r);
        const json_t *tuning = json_object_get(entry, "tuning");
        json_t *tuned = json_object_get(tuning, "values"),
               *choices = json_object_get(tuning, "choices");
        json_array_append_new(list, json_pack("{s:O, s:O, s:O, s:O, s:o, s:o, s:O?, s:O?}",
                                              "attention", attention, "floor", floor, "trainable",
                                              json_object_get(entry, "trainable"), "frozen",
                                              json_object_get(entry, "frozen"), "score",
                                              evidence_estimate_json(&score), "retained",
                                              retained ? share(&r) : json_null(), "tuned", tuned,
                                              "choices", choices));
    }
    return list;
}

static json_t *record_cost_json(struct oa_record_cost cost)
{
    return json_pack("{s:f, s:f, s:f}", "runs", cost.runs, "flops", cost.flops, "processor_seconds",
                     cost.processor_seconds);
}

static json_t *evidence_comparisons_json(const struct oa_judged *j)
{
    json_t *list = json_array();
    const struct oa_variant *variants = j->experiment->variants;
    for (int v = 0; v < j->experiment->variant_count; v++) {
        const json_t *record = j->record[v];
        int from = variants[v].from;
        if (record)
            json_array_append_new(
                list, json_pack("{s:s, s:s?, s:s, s:O, s:o, s:o}", "name", variants[v].name, "from",
                                from < 0 ? NULL : variants[from].name, "measure",
                                oa_record_measure_of(record).name, "conclusion",
                                json_object_get(record, "conclusion"), "entries", entries(record),
                                "cost", record_cost_json(oa_record_cost_of(record))));
    }
    return list;
}

static json_t *experiment(const struct oa_judged *j)
{
    const struct oa_experiment *e = j->experiment;
    json_t *changed = j->declared.changed ? json_incref(j->declared.changed) : json_array();
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", e->name, "title",
                     oa_claim_text(e, "title"), "source", oa_claim_text(e, "source"), "verdict",
                     oa_judged_words(j), "declared", j->declared.date, "changed", changed,
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
