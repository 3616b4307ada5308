/* SPDX-License-Identifier: Apache-2.0
 *
 * The summary of a comparison: means over the seeds, paired differences, verdicts. A cost is the
 * validation loss, or the measure that the comparison ranks by, negated where higher is better
 * (oa_cost): here lower is always better. metric_words.c negates differences back for readers.
 *
 * Verdicts are those of one declared family (against.c). The attention with the lowest cost, the
 * reference, is found in the same data: that it is the lowest is a description, and it is the best
 * only where a family of all pairs shows every other one to be worse.
 *
 * In a sequential comparison attentions may have different numbers of seeds: order and leader are
 * those of the means that are adjusted for missing seeds (adjusted.c). In a family of all pairs an
 * attention that was shown to be worse than another by more than the margin is worse, and does not
 * lead, however low its adjusted mean: the conclusion is then that the leader leads, and not that
 * it has the lowest cost.
 *
 * The uniform baseline (comparison.h) is compared like all others and not ranked: it is never the
 * reference. An attention with a failed run is not judged: the seeds it survived are not a fair
 * sample.
 */
#include "report/adjusted.h"
#include "report/standing.h"

#include <math.h>

/* ---- identical models ---- */

bool oa_same_runs(const struct oa_comparison *k, int a, int b)
{
    int both = 0;
    for (int i = 0; i < k->seeds && !k->unpaired; i++) {
        const struct oa_run *x = &k->entries[a].runs[i], *y = &k->entries[b].runs[i];
        if (x->absent || y->absent)
            continue;
        if (!(oa_run_finished(k, x) && oa_run_finished(k, y) && x->valid_loss == y->valid_loss &&
              oa_run_score(k, x) == oa_run_score(k, y)))
            return false;
        both++;
    }
    return both > 0;
}

/* ---- comparisons ---- */

bool oa_is_ranked(const struct oa_summary *s, int i)
{
    return i != s->uniform && !s->entries[i].failed;
}

/* In a sequential family of all pairs: the first attention that i was shown to be worse than; -1:
 * none. */
static int beaten_by(const struct oa_comparison *k, const struct oa_summary *s, int i)
{
    bool all = k->sequential && oa_family_kind_of(k) == OA_FAMILY_PAIRS;
    for (int j = 0; j < s->count && all; j++)
        if (oa_is_ranked(s, j) && oa_compared_pair(s, i, j)->verdict == OA_AGAINST_WORSE)
            return j;
    return -1;
}

/* Whether i has a lower cost than j. With the same seeds the paired difference is more exact. */
static bool lower(const struct oa_comparison *k, const struct oa_summary *s, int i, int j)
{
    if (s->uneven)
        return oa_adjusted_cost(k, s, i) < oa_adjusted_cost(k, s, j);
    return oa_compared_pair(s, i, j)->difference.mean < 0;
}

static int lowest(const struct oa_comparison *k, const struct oa_summary *s, bool of_all)
{
    int best = -1;
    for (int i = 0; i < s->count; i++)
        if (oa_is_ranked(s, i) && (of_all || beaten_by(k, s, i) < 0) &&
            (best < 0 || lower(k, s, i, best)))
            best = i;
    return best;
}

static void set_percents(const struct oa_comparison *k, struct oa_summary *s)
{
    const struct oa_entry *best = &k->entries[s->reference];
    for (int i = 0; i < s->count; i++) {
        const struct oa_estimate *d = &oa_compared_pair(s, i, s->reference)->difference;
        double theirs = 0; /* the reference's score on the shared seeds */
        for (int r = 0; r < s->seeds; r++)
            if (oa_run_finished(k, &k->entries[i].runs[r]) && oa_run_finished(k, &best->runs[r]))
                theirs += oa_run_score(k, &best->runs[r]) / d->n;
        if (k->unpaired)
            theirs = oa_standing_score(k, &s->entries[s->reference])->mean;
        s->entries[i].percent = 100 * oa_cost(oa_compared_measure(k), d->mean) / fabs(theirs);
    }
}

/* ---- verdicts ---- */

static enum oa_verdict standing_verdict(const struct oa_comparison *k, const struct oa_summary *s,
                                        int i)
{
    static const enum oa_verdict verdicts[] = {
        [OA_AGAINST_NONE] = OA_VERDICT_NONE,
        [OA_AGAINST_BETTER] = OA_VERDICT_BETTER,
        [OA_AGAINST_WORSE] = OA_VERDICT_WORSE,
        [OA_AGAINST_EQUIVALENT] = OA_VERDICT_EQUIVALENT,
        [OA_AGAINST_IDENTICAL] = OA_VERDICT_IDENTICAL,
        [OA_AGAINST_UNRESOLVED] = OA_VERDICT_UNRESOLVED,
        [OA_AGAINST_UNJUDGED] = OA_VERDICT_UNJUDGED,
        [OA_AGAINST_ONE_SEED] = OA_VERDICT_ONE_SEED,
        [OA_AGAINST_FEW_SEEDS] = OA_VERDICT_FEW_SEEDS,
    };
    int fixed = oa_compared_to(k, s);
    if (s->entries[i].failed)
        return OA_VERDICT_FAILED;
    if (i == fixed)
        return i == s->uniform ? OA_VERDICT_UNIFORM : OA_VERDICT_BASELINE;
    enum oa_against_verdict v =
        fixed < 0 ? OA_AGAINST_NONE : oa_compared_pair(s, i, fixed)->verdict;
    return v != OA_AGAINST_IDENTICAL && s->entries[i].worse_than >= 0 ? OA_VERDICT_WORSE
                                                                      : verdicts[v];
}

/* Where all have the same score, and nothing could be tested, the reference has the verdict of the
 * others. */
static enum oa_verdict first_of_equals(const struct oa_summary *s)
{
    enum oa_verdict others = OA_VERDICT_LOWEST;
    for (int i = 0; i < s->count; i++) {
        enum oa_verdict v = s->entries[i].verdict;
        if (i == s->reference || v == OA_VERDICT_IDENTICAL || v == OA_VERDICT_FAILED)
            continue;
        bool untested = v == OA_VERDICT_UNJUDGED || v == OA_VERDICT_ONE_SEED ||
                        v == OA_VERDICT_EQUIVALENT || v == OA_VERDICT_FEW_SEEDS;
        if (!untested || oa_compared_pair(s, i, s->reference)->difference.mean != 0)
            return OA_VERDICT_LOWEST;
        others = v;
    }
    return others;
}

/* In a family of all pairs. */
static enum oa_verdict reference_verdict(const struct oa_comparison *k, const struct oa_summary *s)
{
    int others = 0, worse = 0;
    for (int i = 0; i < s->count; i++) {
        enum oa_verdict v = s->entries[i].verdict;
        others += i != s->reference && v != OA_VERDICT_FAILED && v != OA_VERDICT_IDENTICAL;
        worse += i != s->reference && v == OA_VERDICT_WORSE;
    }
    bool undercut = s->uneven && lowest(k, s, true) != s->reference;
    bool best = others > 0 && worse == others && beaten_by(k, s, s->reference) < 0;
    return undercut ? OA_VERDICT_LEADS : best ? OA_VERDICT_BEST : first_of_equals(s);
}

static void set_verdicts(const struct oa_comparison *k, struct oa_summary *s)
{
    int fixed = oa_compared_to(k, s);
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        e->worse_than = i == fixed ? -1 : beaten_by(k, s, i);
        e->verdict = standing_verdict(k, s, i);
        if (e->verdict != OA_VERDICT_UNRESOLVED || k->sequential)
            continue;
        const struct oa_against *a = oa_compared_pair(s, i, fixed);
        if (!(a->se > 0))
            continue;
        e->seeds_needed =
            oa_seeds_needed_beyond(a->difference.mean, a->difference.sd, a->constant, a->level);
        if (a->constant > 0) /* no range is known */
            continue;
        e->seeds_range = oa_seeds_range_of(&a->difference, a->level);
        if (e->seeds_range.low <= a->difference.n) /* these were too few */
            e->seeds_range.low = a->difference.n + 1;
    }
    if (oa_family_kind_of(k) == OA_FAMILY_PAIRS && s->reference >= 0)
        s->entries[s->reference].verdict = reference_verdict(k, s);
}

/* ---- the order ---- */

/* By the difference to the reference; where there is none, by the cost. */
static double standing_cost(const struct oa_comparison *k, const struct oa_summary *s, int i)
{
    return s->reference < 0 ? oa_adjusted_cost(k, s, i) : oa_to_reference(k, s, i).mean;
}

static bool standing_before(const struct oa_comparison *k, const struct oa_summary *s, int a, int b)
{
    double place_a = standing_cost(k, s, a), place_b = standing_cost(k, s, b);
    bool a_failed = s->entries[a].failed > 0, b_failed = s->entries[b].failed > 0;
    if (a_failed != b_failed)
        return b_failed;
    if (isnan(place_a) || isnan(place_b))
        return !isnan(place_a) && isnan(place_b);
    return place_a < place_b;
}

static void sort(const struct oa_comparison *k, struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++) { /* insertion: equal entries stay in the order given */
        int j = i;
        for (; j > 0 && standing_before(k, s, i, s->order[j - 1]); j--)
            s->order[j] = s->order[j - 1];
        s->order[j] = i;
    }
}

/* ---- speeds ---- */

static void set_speeds(const struct oa_comparison *k, struct oa_summary *s)
{
    const double *theirs = NULL; /* of the first ranked attention that was timed */
    for (int i = 0; i < s->count && !theirs; i++)
        if (oa_is_ranked(s, i))
            theirs = k->entries[i].step_seconds;
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        e->step = oa_median_of(k->entries[i].step_seconds, k->rounds);
        e->speed = oa_ratio_of(theirs, k->entries[i].step_seconds, k->rounds);
        if (!k->rounds)
            continue;
        e->seconds_per_step = e->step.value;
        e->tokens_per_second = e->tokens / e->steps / e->step.value;
    }
}

/* ---- the summary ---- */

static enum oa_error summary_fill(oa_context *c, const struct oa_comparison *k, double *scratch,
                                  struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        oa_standing_of(k, &k->entries[i], scratch, &s->entries[i]);
    for (int i = 0; i < s->count; i++)
        s->uniform = k->entries[i].uniform ? i : s->uniform;
    /* Attentions that compute the same, such as a window as wide as the context, are found by their
     * losses: no two models that differ in anything have the same to the last bit. */
    for (int i = 1; i < s->count; i++)
        for (int j = 0; j < i && s->entries[i].twin < 0; j++)
            if (oa_same_runs(k, i, j))
                s->entries[i].twin = j;
    OA_TRY(oa_solved_make(c, k, s, &s->solved));
    OA_TRY(oa_adjust_means(c, k, s));
    OA_TRY(oa_compare_all(c, k, s, s->pairs));
    s->reference = lowest(k, s, false);
    if (s->reference < 0)
        s->reference = lowest(k, s, true); /* rare: each is beaten by another */
    if (s->reference >= 0)
        set_percents(k, s);
    set_verdicts(k, s);
    sort(k, s);
    set_speeds(k, s);
    oa_pareto_fronts(k, s, scratch);
    s->conclusion = oa_conclusion(c, k, s);
    s->advice = oa_recommend(k, s);
    s->recommendation = oa_recommendation_text(c, k, s, &s->advice);
    return oa_status(c);
}

enum oa_error oa_summary_make(oa_context *c, const struct oa_comparison *comparison,
                              struct oa_summary *out)
{
    *out = (struct oa_summary){
        .count = comparison->count, .seeds = comparison->seeds, .reference = -1, .uniform = -1
    };
    size_t count = (size_t)comparison->count + 1,
           seeds = (size_t)comparison->seeds + 1; /* + 1: none of them is empty */
    double *scratch = oa_alloc(c, seeds * sizeof *scratch);
    out->entries = oa_alloc(c, count * sizeof *out->entries);
    out->order = oa_alloc(c, count * sizeof *out->order);
    out->pairs = oa_alloc(c, count * count * sizeof *out->pairs);
    if (scratch && out->entries && out->order && out->pairs)
        summary_fill(c, comparison, scratch, out);
    oa_free(scratch);
    if (oa_status(c) != OA_OK)
        oa_summary_free(out);
    return oa_status(c);
}

int oa_fewest_seeds(const struct oa_summary *s, bool with_uniform)
{
    int least = s->seeds;
    for (int i = 0; i < s->count; i++)
        if ((with_uniform || i != s->uniform) && s->entries[i].made < least)
            least = s->entries[i].made;
    return least;
}

void oa_summary_free(struct oa_summary *s)
{
    oa_free(s->entries);
    oa_free(s->order);
    oa_free(s->pairs);
    oa_solved_free(&s->solved);
    oa_free(s->conclusion);
    oa_free(s->recommendation);
    *s = (struct oa_summary){ .reference = -1, .uniform = -1 };
}
