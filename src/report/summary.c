/* SPDX-License-Identifier: Apache-2.0
 *
 * The summary of a comparison: means over the seeds, paired differences to the attention with the
 * lowest cost, verdicts. A cost is the validation loss, or the measure that the comparison is
 * about, negated where higher is better (oa_cost): nothing here knows another direction than
 * "lower is better". metric_words.c negates differences back for readers.
 *
 * The reference is chosen from the same data that test the others against it. What that costs,
 * simulated with normal losses, 3 to 10 seeds and up to twelve attentions (tests/test_statistics.c
 * repeats a part): the truly best attention is called worse in 3 % of the comparisons at most,
 * anything in truth better than the reference in 4 % at most. But of attentions that are exactly
 * equal, one is called worse more often than in 5 %: in 6 to 9 % of the comparisons between six, in
 * 9 to 14 % between twelve. Correcting over all pairs would mend that and halve the power at three
 * seeds, to protect from errors that cost nobody anything.
 *
 * In a sequential comparison nothing is tested: verdicts come from the anytime-valid intervals of
 * all pairs (pairs.c), which hold for whichever attention leads. Attentions may then have different
 * numbers of seeds: order and leader are those of the means that are adjusted for seeds that are
 * missing (adjusted.c). Who was shown to be worse than another by more than the margin does not
 * lead, however low its adjusted mean: the leader is then said to lead, and not to have the lowest
 * cost.
 *
 * The uniform baseline (comparison.h) is not ranked: it is in the order and has a difference, but
 * takes no part in the tests of the others; against.c compares them with it and with a baseline.
 *
 * An attention with a failed run takes no part in the tests: the seeds it survived are not a fair
 * sample.
 */
#include "report/adjusted.h"
#include "report/against.h"
#include "report/standing.h"

#include <math.h>

static const double level = 0.05;

/* ---- identical models ---- */

static bool same_run(const struct oa_comparison *k, const struct oa_run *x, const struct oa_run *y)
{
    return oa_run_finished(k, x) && oa_run_finished(k, y) && x->valid_loss == y->valid_loss &&
           oa_run_score(k, x) == oa_run_score(k, y);
}

bool oa_same_runs(const struct oa_comparison *k, int a, int b)
{
    int both = 0;
    for (int i = 0; i < k->seeds; i++) {
        const struct oa_run *x = &k->entries[a].runs[i], *y = &k->entries[b].runs[i];
        if (x->absent || y->absent)
            continue;
        if (!same_run(k, x, y))
            return false;
        both++;
    }
    return both > 0;
}

/* Attentions that compute the same, such as a window as wide as the context, are found by their
 * losses: no two models that differ in anything have these in common to the last bit. Other scores,
 * such as a share of right answers, may. */
static void find_twins(const struct oa_comparison *k, struct oa_summary *s)
{
    for (int i = 1; i < s->count; i++)
        for (int j = 0; j < i && s->entries[i].twin < 0; j++)
            if (oa_same_runs(k, i, j))
                s->entries[i].twin = j;
}

/* ---- comparisons ---- */

bool oa_is_ranked(const struct oa_summary *s, int i)
{
    return i != s->uniform && !s->entries[i].failed;
}

static const struct oa_against *pair(const struct oa_summary *s, int i, int j)
{
    return &s->pairs[i * s->count + j];
}

/* The first that was shown to be better by more than the margin; -1: none. */
static int beaten_by(const struct oa_summary *s, int i)
{
    for (int j = 0; j < s->count; j++)
        if (pair(s, i, j)->verdict == OA_AGAINST_WORSE)
            return j;
    return -1;
}

/* Does i have a lower cost than j? With the same seeds the paired difference is more exact. */
static bool lower(const struct oa_comparison *k, const struct oa_summary *s, int i, int j)
{
    if (s->uneven)
        return oa_adjusted_cost(k, s, i) < oa_adjusted_cost(k, s, j);
    return pair(s, i, j)->difference.mean < 0;
}

static int lowest(const struct oa_comparison *k, const struct oa_summary *s, bool of_all)
{
    int best = -1;
    for (int i = 0; i < s->count; i++)
        if (oa_is_ranked(s, i) && (of_all || beaten_by(s, i) < 0) &&
            (best < 0 || lower(k, s, i, best)))
            best = i;
    return best;
}

static void set_differences(const struct oa_comparison *k, double *scratch, struct oa_summary *s)
{
    const struct oa_entry *best = &k->entries[s->reference];
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        e->difference = oa_paired(k, i, s->reference, s->seeds, scratch);
        double theirs = 0; /* the reference's score on the shared seeds */
        for (int r = 0; r < s->seeds; r++)
            if (oa_run_finished(k, &k->entries[i].runs[r]) && oa_run_finished(k, &best->runs[r]))
                theirs += oa_run_score(k, &best->runs[r]) / e->difference.n;
        e->percent = 100 * oa_cost(oa_compared_measure(k), e->difference.mean) / fabs(theirs);
    }
}

static enum oa_verdict standing_verdict(const struct oa_standing *e)
{
    if (e->failed)
        return OA_VERDICT_FAILED;
    if (e->twin >= 0)
        return OA_VERDICT_IDENTICAL;
    if (e->difference.n < 2)
        return OA_VERDICT_ONE_SEED;
    if (isnan(e->p))
        return OA_VERDICT_UNJUDGED;
    return e->holm < level ? OA_VERDICT_WORSE : OA_VERDICT_UNRESOLVED;
}

/* Is it tested against the reference? */
static bool in_family(const struct oa_summary *s, int i)
{
    return oa_is_ranked(s, i) && i != s->reference && s->entries[i].twin < 0;
}

/* Where all have the same score, and nothing could be tested, the first row is what the others are.
 */
static enum oa_verdict first_of_equals(const struct oa_summary *s)
{
    enum oa_verdict others = OA_VERDICT_LOWEST;
    for (int i = 0; i < s->count; i++) {
        if (!in_family(s, i))
            continue;
        others = s->entries[i].verdict;
        bool untested = others == OA_VERDICT_UNJUDGED || others == OA_VERDICT_ONE_SEED;
        if (!untested || s->entries[i].difference.mean != 0)
            return OA_VERDICT_LOWEST;
    }
    return others;
}

static void set_reference_verdict(const struct oa_comparison *k, struct oa_summary *s)
{
    int others = 0, worse = 0;
    for (int i = 0; i < s->count; i++) {
        others += in_family(s, i);
        worse += in_family(s, i) && s->entries[i].verdict == OA_VERDICT_WORSE;
    }
    bool unbeaten = !k->sequential || beaten_by(s, s->reference) < 0;
    bool all_others_worse = others > 0 && worse == others && unbeaten;
    bool undercut = s->uneven && lowest(k, s, true) != s->reference;
    s->entries[s->reference].verdict = undercut           ? OA_VERDICT_LEADS
                                       : all_others_worse ? OA_VERDICT_BEST
                                                          : first_of_equals(s);
}

/* p[i], holm[i], levels[i] belong to entry i against the reference. What is needed of seeds is what
 * this level asks. */
static void judge(const struct oa_comparison *k, struct oa_summary *s, const double *p,
                  const double *holm, const double *levels)
{
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        if (i == s->reference)
            continue;
        e->p = p[i];
        e->holm = holm[i];
        e->verdict = i == s->uniform && !e->failed ? OA_VERDICT_UNIFORM : standing_verdict(e);
        e->level = levels[i];
        e->half = oa_half_at(&e->difference, e->level);
        if (e->verdict != OA_VERDICT_UNRESOLVED)
            continue;
        e->half = fmax(e->half, fabs(e->difference.mean));
        e->seeds_needed = oa_seeds_needed(e->difference.mean, e->difference.sd, e->level);
        e->seeds_range = oa_seeds_range_of(&e->difference, e->level);
        if (e->seeds_range.low <= e->difference.n) /* these did not */
            e->seeds_range.low = e->difference.n + 1;
    }
    set_reference_verdict(k, s);
}

/* ---- sequential comparisons ---- */

static enum oa_verdict sequential_verdict(const struct oa_summary *s, int i)
{
    enum oa_against_verdict v = pair(s, i, s->reference)->verdict;
    if (s->entries[i].failed || s->entries[i].twin >= 0)
        return s->entries[i].failed ? OA_VERDICT_FAILED : OA_VERDICT_IDENTICAL;
    if (beaten_by(s, i) >= 0)
        return OA_VERDICT_WORSE;
    return v == OA_AGAINST_EQUIVALENT ? OA_VERDICT_EQUIVALENT
           : v == OA_AGAINST_ONE_SEED ? OA_VERDICT_ONE_SEED
           : v == OA_AGAINST_UNJUDGED ? OA_VERDICT_UNJUDGED
                                      : OA_VERDICT_UNRESOLVED;
}

static void summary_judge_sequentially(const struct oa_comparison *k, struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        if (i == s->reference)
            continue;
        if (oa_is_ranked(s, i)) {
            e->difference = pair(s, i, s->reference)->difference;
            e->half = pair(s, i, s->reference)->half;
            e->level = pair(s, i, s->reference)->level;
            e->worse_than = beaten_by(s, i);
        }
        e->verdict = i == s->uniform && !e->failed ? OA_VERDICT_UNIFORM : sequential_verdict(s, i);
    }
    set_reference_verdict(k, s);
}

static enum oa_error test_all(oa_context *c, const struct oa_comparison *k, struct oa_summary *s)
{
    size_t count = (size_t)s->count;
    double *p = oa_alloc(c, 3 * count * sizeof *p);
    if (!p)
        return OA_NO_MEMORY;
    double *holm = p + count, *levels = p + 2 * count;
    for (int i = 0; i < s->count; i++)
        p[i] = in_family(s, i) ? oa_t_test(&s->entries[i].difference) : NAN;
    oa_holm(p, s->count, holm, NULL);
    oa_holm_levels(p, s->count, level, levels);
    judge(k, s, p, holm, levels);
    oa_free(p);
    return OA_OK;
}

static enum oa_error compare_all(oa_context *c, const struct oa_comparison *k, double *scratch,
                                 struct oa_summary *s)
{
    set_differences(k, scratch, s);
    if (!k->sequential)
        return test_all(c, k, s);
    summary_judge_sequentially(k, s);
    return OA_OK;
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
    for (int i = 0; i < s->count;
         i++) { /* insertion keeps equal entries in the order they were given */
        int j = i;
        for (; j > 0 && standing_before(k, s, i, s->order[j - 1]); j--)
            s->order[j] = s->order[j - 1];
        s->order[j] = i;
    }
}

/* ---- speeds ---- */

/* The first that takes part in comparisons, in the order of the comparison, and was measured; -1:
 * none. */
static int first_measured(const struct oa_comparison *k, const struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        if (oa_is_ranked(s, i) && k->entries[i].step_seconds)
            return i;
    return -1;
}

static void set_speeds(const struct oa_comparison *k, struct oa_summary *s)
{
    int first = first_measured(k, s);
    const double *theirs = first < 0 ? NULL : k->entries[first].step_seconds;
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

/* ---- the uniform baseline and the baseline ---- */

static enum oa_error compare_with_fixed(oa_context *c, const struct oa_comparison *k,
                                        struct oa_summary *s)
{
    size_t count = (size_t)s->count;
    struct oa_against *uniform = oa_alloc(c, (2 * count + 1) * sizeof *uniform),
                      *baseline = uniform + count;
    if (!uniform)
        return OA_NO_MEMORY;
    enum oa_error e = oa_compare_against(c, k, s, s->uniform, 0, false, uniform);
    if (e == OA_OK)
        e = oa_compare_against(c, k, s, k->baseline - 1, k->margin, k->sequential, baseline);
    for (int i = 0; e == OA_OK && i < s->count; i++) {
        s->entries[i].uniform = uniform[i];
        s->entries[i].baseline = baseline[i];
    }
    if (e == OA_OK && s->uniform >= 0 && s->reference >= 0) { /* reversed: the same interval */
        s->entries[s->uniform].half = uniform[s->reference].half;
        s->entries[s->uniform].level = uniform[s->reference].level;
    }
    oa_free(uniform);
    return e;
}

/* ---- all of it ---- */

static enum oa_error summary_fill(oa_context *c, const struct oa_comparison *k, double *scratch,
                                  struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        oa_standing_of(k, &k->entries[i], scratch, &s->entries[i]);
    for (int i = 0; i < s->count; i++)
        s->uniform = k->entries[i].uniform ? i : s->uniform;
    find_twins(k, s);
    OA_TRY(oa_adjust_means(c, k, s));
    OA_TRY(oa_compare_pairs(c, k, s, s->pairs));
    s->reference = lowest(k, s, !k->sequential);
    if (s->reference < 0)
        s->reference = lowest(k, s, true); /* rare: each is beaten by another */
    if (s->reference >= 0)
        OA_TRY(compare_all(c, k, scratch, s));
    else
        for (int i = 0; i < s->count; i++)
            s->entries[i].verdict =
                i == s->uniform && !s->entries[i].failed ? OA_VERDICT_UNIFORM : OA_VERDICT_FAILED;
    sort(k, s);
    set_speeds(k, s);
    oa_pareto_fronts(k, s, scratch);
    OA_TRY(compare_with_fixed(c, k, s));
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
    oa_free(s->conclusion);
    oa_free(s->recommendation);
    *s = (struct oa_summary){ .reference = -1, .uniform = -1 };
}
