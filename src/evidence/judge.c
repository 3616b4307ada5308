/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts on predictions. All findings of an experiment about scores, within one comparison or
 * between two, are one family: each has a simultaneous interval for as many as were declared,
 * whether all comparisons are finished or not (score_findings.c). Which step trains faster follows
 * from the rounds in which steps were timed, each prediction by itself.
 *
 * Two equivalent attentions, of which none was found better than the uniform average, were not
 * compared at what attention does: any two would have been found equivalent. That is no answer
 * (assay sensitivity: ICH guideline E10, 2000, 1.5). For the same reason there is no share of a
 * gain that was not shown.
 *
 * An experiment holds when all its predictions hold, and fails when one of them fails; before all
 * of them were run it does neither.
 */
#include "evidence/score_findings.h"
#include "evidence/stability.h"
#include "report/verdicts.h"

#include <math.h>
#include <string.h>

const char *oa_claim_verdict_words(enum oa_claim_verdict v)
{
    static const char *const words[] = { [OA_CLAIM_NOT_RUN] = "not run",
                                         [OA_CLAIM_HOLDS] = "holds here",
                                         [OA_CLAIM_FAILS] = "fails here",
                                         [OA_CLAIM_INCONCLUSIVE] = "inconclusive at this scale",
                                         [OA_CLAIM_UNTESTABLE] = "not testable" };
    return words[v];
}

const char *oa_judged_words(const struct oa_judged *j)
{
    bool unfinished = j->verdict == OA_CLAIM_NOT_RUN && *j->declared.date;
    return unfinished ? "not finished" : oa_claim_verdict_words(j->verdict);
}

/* ---- one answer ---- */

static bool as_good(const struct oa_against *a)
{
    return a->verdict == OA_AGAINST_EQUIVALENT || a->verdict == OA_AGAINST_IDENTICAL;
}

enum oa_claim_verdict oa_claim_verdict_of(enum oa_relation relation, const struct oa_against *a,
                                          double margin)
{
    bool better = a->verdict == OA_AGAINST_BETTER, worse = a->verdict == OA_AGAINST_WORSE;
    if (a->verdict == OA_AGAINST_NONE || a->verdict == OA_AGAINST_UNJUDGED ||
        a->verdict == OA_AGAINST_ONE_SEED || a->verdict == OA_AGAINST_FEW_SEEDS)
        return OA_CLAIM_UNTESTABLE;
    if (relation == OA_BETTER_THAN || relation == OA_WORSE_THAN) {
        if (relation == OA_BETTER_THAN ? better : worse)
            return OA_CLAIM_HOLDS;
        return better || worse || as_good(a) ? OA_CLAIM_FAILS : OA_CLAIM_INCONCLUSIVE;
    }
    if (as_good(a) || (better && relation == OA_AT_LEAST_AS_GOOD_AS))
        return OA_CLAIM_HOLDS;
    /* a difference matters when its whole interval is beyond the margin */
    bool beyond = fabs(a->difference.mean) - a->half > margin;
    return (better || worse) && beyond ? OA_CLAIM_FAILS : OA_CLAIM_INCONCLUSIVE;
}

/* ---- findings ---- */

static const struct oa_prediction *prediction_of(const struct oa_judged *j,
                                                 const struct oa_finding *f)
{
    return &j->experiment->predictions[f->prediction];
}

/* A prediction that names no variant is one finding in each; one about the axis is one in all. */
static void list_findings(struct oa_judged *j)
{
    const struct oa_experiment *e = j->experiment;
    j->count = 0;
    for (int p = 0; p < e->prediction_count; p++) {
        int left = e->predictions[p].left.variant, right = e->predictions[p].right.variant;
        if (e->predictions[p].relation == OA_AS_STABLE_AS) {
            left = 0;
            right = e->variant_count - 1;
        }
        for (int v = 0; left < 0 && v < e->variant_count; v++)
            j->findings[j->count++] = (struct oa_finding){ .prediction = p, .left = v, .right = v };
        if (left >= 0)
            j->findings[j->count++] =
                (struct oa_finding){ .prediction = p, .left = left, .right = right };
    }
}

static bool both_ended(const struct oa_judged *j, const struct oa_finding *f)
{
    return j->record[f->left] && j->record[f->right];
}

static bool about(const struct oa_judged *j, const struct oa_finding *f, enum oa_relation relation)
{
    return prediction_of(j, f)->relation == relation;
}

static void judge_speed(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_prediction *p = prediction_of(j, f);
    const json_t *record = j->record[f->left];
    if (!record)
        return;
    f->speed = oa_record_speed(record, oa_record_entry(record, p->left.attention),
                               oa_record_entry(record, p->right.attention));
    f->verdict = !isfinite(f->speed.low) ? OA_CLAIM_UNTESTABLE
                 : f->speed.low > 1      ? OA_CLAIM_HOLDS
                 : f->speed.high < 1     ? OA_CLAIM_FAILS
                                         : OA_CLAIM_INCONCLUSIVE;
}

/* ---- scores ---- */

static bool variant_is_sequential(const struct oa_variant *v)
{
    return v->options.compare_until_resolved || v->options.compare_sequential;
}

/* A finding is judged as one of all that are about scores. The uniform baseline has no margin.
 * Two seeds are enough for a verdict, because the predictions were declared. */
static struct oa_family family_of(const struct oa_judged *j, const struct oa_finding *f)
{
    const struct oa_prediction *p = prediction_of(j, f);
    const struct oa_variant *left = &j->experiment->variants[f->left],
                            *right = &j->experiment->variants[f->right];
    bool uniform = strcmp(p->left.attention, OA_CLAIMED_UNIFORM) == 0 ||
                   strcmp(p->right.attention, OA_CLAIMED_UNIFORM) == 0;
    struct oa_family family = { .margin = uniform ? 0 : left->options.compare_margin,
                                .sequential =
                                    variant_is_sequential(left) || variant_is_sequential(right),
                                .verdict_seeds = 2 };
    for (int i = 0; i < j->count; i++)
        family.comparisons += !about(j, &j->findings[i], OA_FASTER_THAN) &&
                              !about(j, &j->findings[i], OA_AS_STABLE_AS);
    return family;
}

static struct oa_recorded recorded(const json_t *record, const char *attention)
{
    return (struct oa_recorded){ record, oa_record_entry(record, attention) };
}

/* Was the attention found better than the uniform baseline of its comparison? Also true if the
 * comparison has none. */
static bool attends(const struct oa_recorded *r, struct oa_family family)
{
    struct oa_recorded uniform = recorded(r->record, OA_CLAIMED_UNIFORM);
    family.margin = 0;
    return uniform.entry < 0 ||
           oa_recorded_against(r, &uniform, &family).verdict == OA_AGAINST_BETTER;
}

/* The difference is of costs until it has been judged, then of scores. */
static void judge_score(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_prediction *p = prediction_of(j, f);
    struct oa_family family = family_of(j, f);
    if (!both_ended(j, f))
        return;
    struct oa_recorded left = recorded(j->record[f->left], p->left.attention),
                       right = recorded(j->record[f->right], p->right.attention);
    if (left.entry >= 0 && right.entry >= 0)
        f->against = oa_recorded_against(&left, &right, &family);
    bool blind = as_good(&f->against) && !attends(&left, family) && !attends(&right, family);
    f->verdict =
        blind ? OA_CLAIM_UNTESTABLE : oa_claim_verdict_of(p->relation, &f->against, family.margin);
    if (oa_record_measure_of(left.record).higher)
        f->against.difference.mean = -f->against.difference.mean;
}

static void judge_share(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_prediction *p = prediction_of(j, f);
    const json_t *record = j->record[f->left];
    struct oa_family family = family_of(j, f);
    if (!record)
        return;
    int entry = oa_record_entry(record, p->left.attention), whole = oa_record_whole(record),
        uniform = oa_record_entry(record, OA_CLAIMED_UNIFORM);
    if (entry >= 0 && whole >= 0 && uniform >= 0)
        f->share = oa_recorded_share(record, entry, whole, uniform, &family);
    f->verdict = f->share.form != OA_FIELLER_BOUNDED || f->share.gain < 0 ? OA_CLAIM_UNTESTABLE
                 : f->share.low >= p->share                               ? OA_CLAIM_HOLDS
                 : f->share.high < p->share                               ? OA_CLAIM_FAILS
                                                                          : OA_CLAIM_INCONCLUSIVE;
}

/* One opposed pair refutes the prediction; it holds when every pair is alike. */
static void judge_ranking(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_variant *v = &j->experiment->variants[f->left];
    if (!both_ended(j, f))
        return;
    f->ranking = oa_recorded_rankings(j->record[f->left], j->record[f->right], v->attention,
                                      v->attentions, family_of(j, f));
    f->verdict = f->ranking.opposed ? OA_CLAIM_FAILS
                 : f->ranking.open  ? OA_CLAIM_INCONCLUSIVE
                                    : OA_CLAIM_HOLDS;
}

static void judge_stability(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_prediction *p = prediction_of(j, f);
    if (oa_judged_records(j) < j->experiment->variant_count)
        return;
    f->stability = oa_recorded_stability(j, p->left.attention, p->right.attention);
    f->verdict = oa_stability_verdict(&f->stability);
}

/* ---- findings in words ---- */

const char *oa_finding_words(const struct oa_judged *j, const struct oa_finding *f)
{
    static const char *const speed[] = { "", "faster", "slower", "inconclusive", "not timed" };
    static const char *const order[] = { "", "the same order", "another order", "inconclusive" };
    static const char *const share[] = { "", "at least as much", "less", "inconclusive",
                                         "not bounded" };
    static const char *const limit[] = { "", "the same limits", "other limits", "inconclusive",
                                         "limits outside the axis" };
    if (about(j, f, OA_FASTER_THAN))
        return speed[f->verdict];
    if (about(j, f, OA_AS_STABLE_AS))
        return limit[f->verdict];
    if (about(j, f, OA_KEEPS_AT_LEAST))
        return f->verdict == OA_CLAIM_UNTESTABLE && f->share.form != OA_FIELLER_OUTSIDE &&
                       f->share.form != OA_FIELLER_EVERYTHING
                   ? "not testable"
                   : share[f->verdict];
    return about(j, f, OA_SAME_AS) ? order[f->verdict]
                                   : oa_against_words(f->against.verdict, false);
}

/* ---- all of it ---- */

/* The verdict on two predictions: the first of this order that either has. */
static enum oa_claim_verdict together(enum oa_claim_verdict a, enum oa_claim_verdict b)
{
    static const enum oa_claim_verdict order[] = { OA_CLAIM_NOT_RUN, OA_CLAIM_FAILS,
                                                   OA_CLAIM_UNTESTABLE, OA_CLAIM_INCONCLUSIVE,
                                                   OA_CLAIM_HOLDS };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return OA_CLAIM_NOT_RUN;
}

enum oa_claim_verdict oa_prediction_verdict(const struct oa_judged *j, int prediction)
{
    enum oa_claim_verdict verdict = OA_CLAIM_HOLDS;
    for (const struct oa_finding *f = j->findings; f < j->findings + j->count; f++)
        if (f->prediction == prediction)
            verdict = together(verdict, f->verdict);
    return verdict;
}

int oa_judged_count(const struct oa_judged *j, enum oa_claim_verdict verdict)
{
    int n = 0;
    for (int p = 0; p < j->experiment->prediction_count; p++)
        n += oa_prediction_verdict(j, p) == verdict;
    return n;
}

int oa_judged_records(const struct oa_judged *j)
{
    int n = 0;
    for (int v = 0; v < j->experiment->variant_count; v++)
        n += j->record[v] != NULL;
    return n;
}

struct oa_record_cost oa_judged_cost(const struct oa_judged *j)
{
    struct oa_record_cost sum = { 0 };
    for (int v = 0; v < j->experiment->variant_count; v++)
        if (j->record[v]) {
            struct oa_record_cost one = oa_record_cost_of(j->record[v]);
            sum.runs += one.runs;
            sum.flops += one.flops;
            sum.processor_seconds += one.processor_seconds;
        }
    return sum;
}

static void judge_all(struct oa_judged *j)
{
    list_findings(j);
    for (struct oa_finding *f = j->findings; f < j->findings + j->count; f++) {
        f->against = oa_against_nothing();
        f->share = (struct oa_fieller){ .value = NAN, .low = NAN, .high = NAN, .gain = NAN };
        if (about(j, f, OA_FASTER_THAN))
            judge_speed(j, f);
        else if (about(j, f, OA_SAME_AS))
            judge_ranking(j, f);
        else if (about(j, f, OA_AS_STABLE_AS))
            judge_stability(j, f);
        else if (about(j, f, OA_KEEPS_AT_LEAST))
            judge_share(j, f);
        else
            judge_score(j, f);
    }
    j->verdict = OA_CLAIM_HOLDS;
    for (int p = 0; p < j->experiment->prediction_count; p++)
        j->verdict = together(j->verdict, oa_prediction_verdict(j, p));
}

enum oa_error oa_judge(oa_context *c, const struct oa_experiment *e, const char *folder,
                       struct oa_judged *out)
{
    size_t variants = (size_t)e->variant_count, predictions = (size_t)e->prediction_count;
    *out = (struct oa_judged){ .experiment = e };
    out->record = oa_alloc(c, variants * sizeof *out->record);
    out->findings = oa_alloc(c, variants * predictions * sizeof *out->findings);
    OA_TRY(oa_status(c));
    OA_TRY(oa_declared_check(c, e, folder, &out->declared));
    for (size_t v = 0; v < variants; v++)
        OA_TRY(oa_record_read(c, folder, e, &e->variants[v], &out->record[v]));
    judge_all(out);
    return OA_OK;
}

void oa_judged_free(struct oa_judged *j)
{
    for (int v = 0; j->record && v < j->experiment->variant_count; v++)
        json_decref(j->record[v]);
    json_decref(j->declared.changed);
    oa_free(j->record);
    oa_free(j->findings);
    *j = (struct oa_judged){ 0 };
}
