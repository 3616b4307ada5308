/* SPDX-License-Identifier: Apache-2.0
 *
 * What comparisons say of predictions. Within one comparison its own statistics answer: against the
 * baseline or the uniform baseline where the prediction is about one of them, otherwise between the
 * pair. Between two variants, which are comparisons of their own, the seeds that both have are
 * paired, and all such comparisons of the experiment are one family, of simultaneous intervals,
 * which are anytime-valid where a comparison may be looked at any number of times.
 *
 * Two attentions that are as good as each other, of which none was found better than the uniform
 * average, were not compared at what attention does: the comparison would have found as much of
 * anything. That is no answer (assay sensitivity: ICH guideline E10, 2000, 1.5).
 *
 * Who trains faster, and whether two comparisons have the same order, is told by what else the
 * records hold: the rounds in which steps were timed, and what was found of each pair.
 *
 * An experiment holds when all its predictions do, and fails when one of them fails; before all of
 * them were run it is neither.
 */
#include "evidence/evidence.h"

#include <math.h>
#include <string.h>

const char *oa_claim_verdict_code(enum oa_claim_verdict v)
{
    static const char *const codes[] = { [OA_CLAIM_NOT_RUN] = "not run",
                                         [OA_CLAIM_HOLDS] = "holds here",
                                         [OA_CLAIM_FAILS] = "fails here",
                                         [OA_CLAIM_INCONCLUSIVE] = "not resolved at this scale",
                                         [OA_CLAIM_UNTESTABLE] = "cannot be judged" };
    return codes[v];
}

const char *oa_claim_verdict_words(enum oa_claim_verdict v)
{
    return v == OA_CLAIM_INCONCLUSIVE ? "inconclusive at this scale"
           : v == OA_CLAIM_UNTESTABLE ? "not testable"
                                      : oa_claim_verdict_code(v);
}

static bool is_unfinished(const struct oa_judged *j)
{
    return j->verdict == OA_CLAIM_NOT_RUN && *j->declared.date;
}

const char *oa_judged_code(const struct oa_judged *j)
{
    return is_unfinished(j) ? "not finished" : oa_claim_verdict_code(j->verdict);
}

const char *oa_judged_words(const struct oa_judged *j)
{
    return is_unfinished(j) ? "not finished" : oa_claim_verdict_words(j->verdict);
}

/* ---- one answer ---- */

static bool as_good(const struct oa_against *a)
{
    return a->verdict == OA_AGAINST_EQUIVALENT || a->verdict == OA_AGAINST_IDENTICAL;
}

/* A difference that was found is not yet one that matters: the whole interval is beyond the margin.
 */
static bool beyond(const struct oa_against *a, double margin)
{
    return fabs(a->difference.mean) - a->difference.half > margin;
}

static enum oa_claim_verdict one_is(enum oa_against_verdict wanted, const struct oa_against *a)
{
    bool other = a->verdict == OA_AGAINST_BETTER || a->verdict == OA_AGAINST_WORSE;
    return a->verdict == wanted  ? OA_CLAIM_HOLDS
           : other || as_good(a) ? OA_CLAIM_FAILS
                                 : OA_CLAIM_INCONCLUSIVE;
}

enum oa_claim_verdict oa_claim_verdict_of(enum oa_relation relation, const struct oa_against *a,
                                          double margin)
{
    bool better = a->verdict == OA_AGAINST_BETTER, worse = a->verdict == OA_AGAINST_WORSE;
    if (a->verdict == OA_AGAINST_NONE || a->verdict == OA_AGAINST_UNJUDGED ||
        a->verdict == OA_AGAINST_ONE_SEED)
        return OA_CLAIM_UNTESTABLE;
    if (relation == OA_BETTER_THAN || relation == OA_WORSE_THAN)
        return one_is(relation == OA_BETTER_THAN ? OA_AGAINST_BETTER : OA_AGAINST_WORSE, a);
    if (as_good(a) || (better && relation == OA_AT_LEAST_AS_GOOD_AS))
        return OA_CLAIM_HOLDS;
    return (better || worse) && beyond(a, margin) ? OA_CLAIM_FAILS : OA_CLAIM_INCONCLUSIVE;
}

/* ---- findings ---- */

static const struct oa_prediction *prediction_of(const struct oa_judged *j,
                                                 const struct oa_finding *f)
{
    return &j->experiment->predictions[f->prediction];
}

/* Scores of two comparisons. */
static bool finding_crosses_variants(const struct oa_judged *j, const struct oa_finding *f)
{
    return f->left != f->right && prediction_of(j, f)->relation != OA_SAME_AS;
}

/* A prediction that names no variant is one finding in each. */
static void list_findings(struct oa_judged *j)
{
    const struct oa_experiment *e = j->experiment;
    j->count = 0;
    for (int p = 0; p < e->prediction_count; p++) {
        int left = e->predictions[p].left.variant, right = e->predictions[p].right.variant;
        for (int v = 0; left < 0 && v < e->variant_count; v++)
            j->findings[j->count++] = (struct oa_finding){ .prediction = p, .left = v, .right = v };
        if (left >= 0)
            j->findings[j->count++] =
                (struct oa_finding){ .prediction = p, .left = left, .right = right };
    }
}

/* Was the attention found better than the uniform baseline of its comparison? Also true if
 * the comparison has none. */
static bool attends(const json_t *record, const char *attention)
{
    int entry = oa_record_entry(record, attention),
        uniform = oa_record_entry(record, OA_CLAIMED_UNIFORM);
    return uniform < 0 || entry < 0 ||
           oa_record_against(record, entry, uniform).verdict == OA_AGAINST_BETTER;
}

static enum oa_claim_verdict held_of(const struct oa_judged *j, const struct oa_finding *f,
                                     double margin)
{
    const struct oa_prediction *p = prediction_of(j, f);
    if (as_good(&f->against) && !attends(j->record[f->left], p->left.attention) &&
        !attends(j->record[f->right], p->right.attention))
        return OA_CLAIM_UNTESTABLE;
    return oa_claim_verdict_of(p->relation, &f->against, margin);
}

static double finding_margin(const struct oa_judged *j, const struct oa_finding *f)
{
    return j->experiment->variants[f->left].options.compare_margin;
}

static bool both_ended(const struct oa_judged *j, const struct oa_finding *f)
{
    return j->record[f->left] && j->record[f->right];
}

static bool about(const struct oa_judged *j, const struct oa_finding *f, enum oa_relation relation)
{
    return prediction_of(j, f)->relation == relation;
}

static enum oa_claim_verdict held_of_speed(const struct oa_range *r)
{
    if (!isfinite(r->low))
        return OA_CLAIM_UNTESTABLE;
    return r->low > 1 ? OA_CLAIM_HOLDS : r->high < 1 ? OA_CLAIM_FAILS : OA_CLAIM_INCONCLUSIVE;
}

static void judge_speed(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_prediction *p = prediction_of(j, f);
    const json_t *record = j->record[f->left];
    if (!record)
        return;
    f->speed = oa_record_speed(record, oa_record_entry(record, p->left.attention),
                               oa_record_entry(record, p->right.attention));
    f->verdict = held_of_speed(&f->speed);
}

/* A pair that is turned round decides; the same order is told when every pair is. */
static void judge_ranking(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_variant *v = &j->experiment->variants[f->left];
    if (!both_ended(j, f))
        return;
    f->ranking = oa_rankings(j->record[f->left], j->record[f->right], v->attention, v->attentions);
    f->verdict = f->ranking.opposed ? OA_CLAIM_FAILS
                 : f->ranking.open  ? OA_CLAIM_INCONCLUSIVE
                                    : OA_CLAIM_HOLDS;
}

const char *oa_finding_code(const struct oa_judged *j, const struct oa_finding *f)
{
    static const char *const speed[] = { "", "faster", "slower", "not resolved", "not timed" };
    static const char *const order[] = { "", "the same order", "another order", "not resolved" };
    if (about(j, f, OA_FASTER_THAN))
        return speed[f->verdict];
    return about(j, f, OA_SAME_AS) ? order[f->verdict] : oa_against_code(f->against.verdict);
}

const char *oa_finding_words(const struct oa_judged *j, const struct oa_finding *f)
{
    const char *code = oa_finding_code(j, f);
    if (about(j, f, OA_FASTER_THAN) || about(j, f, OA_SAME_AS))
        return strcmp(code, "not resolved") == 0 ? "inconclusive" : code;
    return oa_recorded_words(f->against.verdict);
}

static void judge_within(struct oa_judged *j, struct oa_finding *f)
{
    const struct oa_prediction *p = prediction_of(j, f);
    const json_t *record = j->record[f->left];
    f->against = oa_against_nothing();
    if (!record)
        return;
    int a = oa_record_entry(record, p->left.attention),
        b = oa_record_entry(record, p->right.attention);
    if (a >= 0 && b >= 0)
        f->against = oa_record_against(record, a, b);
    f->verdict = held_of(j, f, finding_margin(j, f));
}

/* ---- between variants ---- */

static double with_seed(const json_t *record, int entry, json_int_t seed)
{
    json_int_t found;
    for (int r = 0; r < oa_record_runs(record, entry); r++) {
        double score = oa_record_run(record, entry, r, &found);
        if (found == seed)
            return score;
    }
    return INFINITY; /* it has no run of that seed */
}

/* Costs of one minus costs of the other, over the seeds that both have. A run that failed leaves no
 * comparison: the seeds that survive are no fair sample. */
static struct oa_estimate paired(const json_t *left, int a, const json_t *right, int b,
                                 double *scratch)
{
    int n = 0;
    double sign = oa_record_measure_of(left).higher ? -1 : 1;
    for (int r = 0; r < oa_record_runs(left, a); r++) {
        json_int_t seed;
        double mine = oa_record_run(left, a, r, &seed), theirs = with_seed(right, b, seed);
        if (isnan(mine) || isnan(theirs))
            return oa_estimate_of(NULL, 0);
        if (isfinite(theirs))
            scratch[n++] = sign * (mine - theirs);
    }
    return oa_estimate_of(scratch, n);
}

static enum oa_error compare_across(oa_context *c, const struct oa_judged *j,
                                    const struct oa_finding *f, struct oa_against *out)
{
    const struct oa_prediction *p = prediction_of(j, f);
    const json_t *left = j->record[f->left], *right = j->record[f->right];
    *out = oa_against_nothing();
    if (!left || !right ||
        strcmp(oa_record_measure_of(left).name, oa_record_measure_of(right).name) != 0)
        return OA_OK;
    int a = oa_record_entry(left, p->left.attention),
        b = oa_record_entry(right, p->right.attention);
    if (a < 0 || b < 0)
        return OA_OK;
    double *scratch = oa_alloc(c, ((size_t)oa_record_runs(left, a) + 1) * sizeof *scratch);
    if (scratch)
        out->difference = paired(left, a, right, b, scratch);
    oa_free(scratch);
    return oa_status(c);
}

static bool variant_is_sequential(const struct oa_variant *v)
{
    return v->options.compare_until_resolved || v->options.compare_sequential;
}

/* No verdict until all comparisons of the family have ended: a correction over fewer would be
 * too weak. */
static bool family_ready(const struct oa_judged *j, int *members, bool *sequential)
{
    *members = 0;
    *sequential = false;
    for (const struct oa_finding *f = j->findings; f < j->findings + j->count; f++) {
        if (!finding_crosses_variants(j, f))
            continue;
        if (!both_ended(j, f))
            return false;
        *members += 1;
        *sequential = *sequential || variant_is_sequential(&j->experiment->variants[f->left]) ||
                      variant_is_sequential(&j->experiment->variants[f->right]);
    }
    return *members > 0;
}

static enum oa_error judge_family(oa_context *c, struct oa_judged *j, int members, bool sequential,
                                  struct oa_against *room)
{
    int n = 0;
    double margin = 0;
    for (const struct oa_finding *f = j->findings; f < j->findings + j->count; f++)
        if (finding_crosses_variants(j, f)) {
            margin = finding_margin(j, f);
            OA_TRY(compare_across(c, j, f, &room[n++]));
        }
    struct oa_family family = {
        .comparisons = members, .margin = margin, .sequential = sequential, .verdict_seeds = 2
    };
    oa_paired_errors(room, members);
    oa_family_judge(&family, room, members);
    n = 0;
    for (struct oa_finding *f = j->findings; f < j->findings + j->count; f++)
        if (finding_crosses_variants(j, f)) {
            f->against = room[n++];
            f->verdict = held_of(j, f, margin);
            if (oa_record_measure_of(j->record[f->left]).higher)
                f->against.difference.mean = -f->against.difference.mean;
        }
    return OA_OK;
}

static enum oa_error judge_across(oa_context *c, struct oa_judged *j)
{
    int members;
    bool sequential;
    if (!family_ready(j, &members, &sequential))
        return OA_OK;
    struct oa_against *room = oa_alloc(c, (size_t)members * sizeof *room);
    enum oa_error e = room ? judge_family(c, j, members, sequential, room) : OA_NO_MEMORY;
    oa_free(room);
    return e;
}

/* ---- all of it ---- */

/* What was not run leaves the whole so. Then one that fails decides, one that cannot be judged, one
 * that is open. */
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

static enum oa_error judge_all(oa_context *c, struct oa_judged *j)
{
    list_findings(j);
    for (struct oa_finding *f = j->findings; f < j->findings + j->count; f++) {
        f->against = oa_against_nothing();
        if (about(j, f, OA_FASTER_THAN))
            judge_speed(j, f);
        else if (about(j, f, OA_SAME_AS))
            judge_ranking(j, f);
        else if (!finding_crosses_variants(j, f))
            judge_within(j, f);
    }
    OA_TRY(judge_across(c, j));
    j->verdict = OA_CLAIM_HOLDS;
    for (int p = 0; p < j->experiment->prediction_count; p++)
        j->verdict = together(j->verdict, oa_prediction_verdict(j, p));
    return OA_OK;
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
    return judge_all(c, out);
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
