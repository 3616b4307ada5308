/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision of a recommendation: a table by two outcomes, and how the summary decides the
 * outcomes. Only tested equivalence counts, and of speeds measured in rounds only a ratio whose
 * interval is above 1.
 */
#include "report/recommendation.h"

#include "report/against.h"
#include "report/summary.h"

#include <math.h>

/* ---- the table ---- */

enum oa_action oa_action_for(enum oa_outcome outcome, enum oa_saving saving)
{
    enum {
        REPAIR = OA_ACTION_REPAIR,
        NONE = OA_ACTION_NONE,
        SEEDS = OA_ACTION_SEEDS,
        KEEP = OA_ACTION_KEEP,
        CHANGE = OA_ACTION_CHANGE,
        TAKE = OA_ACTION_TAKE,
        CHEAPER = OA_ACTION_TAKE_CHEAPER
    };
    static const unsigned char table[OA_OUTCOMES][OA_SAVINGS] = {
        /*                            unasked  none    some     same time */
        [OA_OUTCOME_FAILED] = { REPAIR, REPAIR, REPAIR, REPAIR },
        [OA_OUTCOME_BASELINE_FAILED] = { REPAIR, REPAIR, REPAIR, REPAIR },
        [OA_OUTCOME_ALONE] = { NONE, NONE, NONE, NONE },
        [OA_OUTCOME_FEW_SEEDS] = { SEEDS, SEEDS, SEEDS, SEEDS },
        [OA_OUTCOME_UNIFORM] = { NONE, NONE, NONE, NONE },
        [OA_OUTCOME_UNJUDGED] = { NONE, NONE, NONE, NONE },
        [OA_OUTCOME_OPEN] = { SEEDS, SEEDS, KEEP, SEEDS },
        [OA_OUTCOME_FAR] = { KEEP, KEEP, KEEP, KEEP },
        [OA_OUTCOME_NOT_BETTER] = { KEEP, KEEP, KEEP, KEEP },
        [OA_OUTCOME_BETTER] = { CHANGE, CHANGE, CHANGE, CHANGE },
        [OA_OUTCOME_OPEN_LOWEST] = { SEEDS, SEEDS, SEEDS, SEEDS },
        [OA_OUTCOME_FAR_LOWEST] = { TAKE, TAKE, CHEAPER, TAKE },
        [OA_OUTCOME_ALIKE] = { TAKE, TAKE, CHEAPER, TAKE },
        [OA_OUTCOME_BEST] = { TAKE, TAKE, TAKE, TAKE },
    };
    return (enum oa_action)table[outcome][saving];
}

const char *oa_action_name(enum oa_action a)
{
    static const char *const names[] = { [OA_ACTION_REPAIR] = "repair",
                                         [OA_ACTION_NONE] = "none",
                                         [OA_ACTION_SEEDS] = "more seeds",
                                         [OA_ACTION_KEEP] = "keep",
                                         [OA_ACTION_CHANGE] = "change",
                                         [OA_ACTION_TAKE] = "take",
                                         [OA_ACTION_TAKE_CHEAPER] = "take the cheaper" };
    return names[a];
}

/* ---- the attentions by verdict ---- */

/* The uniform baseline is never recommended. In a family of all pairs an attention that is worse
 * than any other counts as worse. */
static struct oa_against against_fixed(const struct oa_comparison *k, const struct oa_summary *s,
                                       int i, int fixed)
{
    if (i == fixed || i == s->uniform)
        return oa_against_nothing();
    struct oa_against a = *oa_compared_pair(s, i, fixed);
    bool alike = a.verdict == OA_AGAINST_EQUIVALENT || a.verdict == OA_AGAINST_IDENTICAL;
    if (!k->baseline && !alike && s->entries[i].verdict == OA_VERDICT_WORSE)
        a.verdict = OA_AGAINST_WORSE;
    return a;
}

static int count_standing(const struct oa_comparison *k, const struct oa_summary *s, int fixed,
                          enum oa_against_verdict v)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += against_fixed(k, s, i, fixed).verdict == v;
    return n;
}

/* ---- seeds that are missing ---- */

/* The number of seeds at which the anytime-valid interval, with the observed mean and deviation,
 * would resolve the difference. */
static int seeds_needed_sequentially(const struct oa_estimate *d, double level, double margin)
{
    struct oa_estimate then = *d;
    for (then.n = d->n + 1; then.n <= OA_SEEDS_CAP; then.n++)
        if (oa_relevance_of(d->mean, oa_anytime_half(&then, level), margin) != OA_RELEVANCE_OPEN)
            break;
    return then.n;
}

/* The number of seeds that resolves the comparison, as a difference or as equivalence, whichever
 * needs fewer. */
static int seeds_to_settle(const struct oa_comparison *k, const struct oa_against *a)
{
    const struct oa_estimate *d = &a->difference;
    if (k->sequential)
        return seeds_needed_sequentially(d, a->level, k->margin);
    int different = oa_seeds_needed_beyond(d->mean, d->sd, a->constant, a->level);
    int alike = k->margin > 0 ? oa_equivalence_seeds_needed_beyond(d->mean, d->sd, a->constant,
                                                                   k->margin, a->level / 2)
                              : different;
    return alike < different ? alike : different;
}

/* Where each seed has a tuning of its own, the missing seeds need theirs too. */
static void add_runs(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                     int seeds, struct oa_recommendation *r)
{
    const struct oa_standing *e = &s->entries[entry];
    struct oa_trial_cost tuning = { 0 };
    if (seeds <= e->made)
        return;
    r->open++;
    r->seconds += (seeds - e->made) * (isfinite(e->seconds) ? e->seconds : 0);
    if (k->tuning.grid.options && k->tuning.per_seed && e->made) {
        oa_trial_cost_sum(k, entry, &tuning);
        r->seconds += (seeds - e->made) * tuning.seconds / e->made;
    }
}

/* The seeds that unresolved comparisons need, where OA_SEEDS_CAP suffices: each attention its own
 * number, and what they are compared with the largest. */
static void count_seeds(const struct oa_comparison *k, const struct oa_summary *s, int fixed,
                        struct oa_recommendation *r)
{
    for (int i = 0; i < s->count; i++) {
        struct oa_against a = against_fixed(k, s, i, fixed);
        int seeds = a.verdict == OA_AGAINST_UNRESOLVED ? seeds_to_settle(k, &a) : OA_SEEDS_CAP + 1;
        if (seeds <= a.difference.n) /* these did not resolve it */
            seeds = a.difference.n + 1;
        if (seeds > OA_SEEDS_CAP)
            continue;
        add_runs(k, s, i, seeds, r);
        r->seeds = seeds > r->seeds ? seeds : r->seeds;
        if (r->nearest < 0 || seeds < r->fewest) {
            r->nearest = i;
            r->fewest = seeds;
        }
    }
    if (r->seeds)
        add_runs(k, s, fixed, r->seeds, r);
}

/* With too few seeds for a verdict: OA_VERDICT_SEEDS, or the most that the estimated differences
 * need within OA_SEEDS_CAP, if that is more. */
static int seeds_for_verdicts(const struct oa_comparison *k, const struct oa_summary *s, int fixed)
{
    int most = OA_VERDICT_SEEDS;
    for (int i = 0; i < s->count; i++) {
        struct oa_against a = against_fixed(k, s, i, fixed);
        int seeds = a.verdict == OA_AGAINST_FEW_SEEDS ? seeds_to_settle(k, &a) : 0;
        if (seeds > most && seeds <= OA_SEEDS_CAP)
            most = seeds;
    }
    return most;
}

/* ---- the outcomes ---- */

static enum oa_outcome outcome_of(const struct oa_comparison *k, const struct oa_summary *s,
                                  int fixed, int seeds)
{
    bool baseline = k->baseline > 0;
    if (s->reference < 0)
        return OA_OUTCOME_FAILED;
    if (oa_family_kind_of(k) == OA_FAMILY_UNIFORM)
        return OA_OUTCOME_UNIFORM;
    if (s->entries[fixed].failed)
        return OA_OUTCOME_BASELINE_FAILED;
    int judged = 0, better = count_standing(k, s, fixed, OA_AGAINST_BETTER);
    int open = count_standing(k, s, fixed, OA_AGAINST_UNRESOLVED);
    int few_seeds = count_standing(k, s, fixed, OA_AGAINST_ONE_SEED) +
                    count_standing(k, s, fixed, OA_AGAINST_FEW_SEEDS);
    int unjudged = count_standing(k, s, fixed, OA_AGAINST_UNJUDGED);
    for (int i = 0; i < s->count; i++)
        judged += against_fixed(k, s, i, fixed).verdict != OA_AGAINST_NONE;
    if (judged == 0 && !(baseline && s->count - (s->uniform >= 0) > 1))
        return OA_OUTCOME_ALONE;
    if (better)
        return OA_OUTCOME_BETTER;
    if (few_seeds)
        return OA_OUTCOME_FEW_SEEDS;
    if (open)
        return seeds ? (baseline ? OA_OUTCOME_OPEN : OA_OUTCOME_OPEN_LOWEST)
                     : (baseline ? OA_OUTCOME_FAR : OA_OUTCOME_FAR_LOWEST);
    if (unjudged && unjudged == judged)
        return OA_OUTCOME_UNJUDGED;
    if (baseline)
        return OA_OUTCOME_NOT_BETTER;
    bool alike = count_standing(k, s, fixed, OA_AGAINST_EQUIVALENT) +
                 count_standing(k, s, fixed, OA_AGAINST_IDENTICAL);
    return alike ? OA_OUTCOME_ALIKE : OA_OUTCOME_BEST;
}

/* The first of those that are better; where none is, what others are compared with. */
static int choice(const struct oa_comparison *k, const struct oa_summary *s, int fixed)
{
    for (int o = 0; o < s->count; o++)
        if (against_fixed(k, s, s->order[o], fixed).verdict == OA_AGAINST_BETTER)
            return s->order[o];
    return fixed;
}

/* Its speed over that of `other`; NaN: not faster, or not shown to be. */
static double faster(const struct oa_comparison *k, const struct oa_summary *s, int i, int other)
{
    struct oa_range r =
        oa_ratio_of(k->entries[other].step_seconds, k->entries[i].step_seconds, k->rounds);
    if (isfinite(r.low))
        return r.low > 1 ? r.value : NAN;
    double ratio = s->entries[i].tokens_per_second / s->entries[other].tokens_per_second;
    return ratio > 1 ? ratio : NAN;
}

/* Its speed over that of `other`, also below 1; NaN: no difference was shown. */
static double speed_of(const struct oa_comparison *k, const struct oa_summary *s, int i, int other)
{
    struct oa_range r =
        oa_ratio_of(k->entries[other].step_seconds, k->entries[i].step_seconds, k->rounds);
    if (r.low <= 1 && r.high >= 1)
        return NAN;
    return isfinite(r.value)
               ? r.value
               : s->entries[i].tokens_per_second / s->entries[other].tokens_per_second;
}

/* Is i equivalent to the recommended entry and, where that replaces a baseline, also better than
 * the baseline? */
static bool may_replace(const struct oa_comparison *k, const struct oa_summary *s, int i, int fixed,
                        int entry)
{
    enum oa_against_verdict own = against_fixed(k, s, i, fixed).verdict,
                            pair = s->pairs[i * s->count + entry].verdict;
    enum oa_against_verdict v = entry == fixed             ? own
                                : own == OA_AGAINST_BETTER ? pair
                                                           : OA_AGAINST_NONE;
    return v == OA_AGAINST_EQUIVALENT || v == OA_AGAINST_IDENTICAL;
}

static enum oa_saving find_saving(const struct oa_comparison *k, const struct oa_summary *s,
                                  int fixed, struct oa_recommendation *r)
{
    int alike = 0;
    double most = 1;
    if (k->equal == OA_EQUAL_TIME)
        return OA_SAVING_TIMED;
    for (int i = 0; i < s->count; i++) {
        if (i == r->entry || !may_replace(k, s, i, fixed, r->entry))
            continue;
        alike++;
        double ratio = faster(k, s, i, r->entry);
        if (ratio > most) {
            most = ratio;
            r->cheaper = i;
        }
    }
    return r->cheaper >= 0          ? OA_SAVING_SOME
           : alike || k->margin > 0 ? OA_SAVING_NONE
                                    : OA_SAVING_UNASKED;
}

struct oa_recommendation oa_recommend(const struct oa_comparison *k, const struct oa_summary *s)
{
    struct oa_recommendation r = { .entry = -1, .cheaper = -1, .nearest = -1, .speed = NAN };
    int fixed = k->baseline ? k->baseline - 1 : s->reference;
    if (s->reference >= 0 && !s->entries[fixed].failed) {
        count_seeds(k, s, fixed, &r);
        r.entry = choice(k, s, fixed);
        r.saving = find_saving(k, s, fixed, &r);
        r.speed =
            r.cheaper >= 0 ? speed_of(k, s, r.cheaper, r.entry) : speed_of(k, s, r.entry, fixed);
    }
    r.outcome = outcome_of(k, s, fixed, r.seeds);
    if (r.outcome == OA_OUTCOME_FEW_SEEDS) {
        r.seeds = seeds_for_verdicts(k, s, fixed);
        r.open = r.fewest = 0;
        r.nearest = -1;
        r.seconds = 0;
        for (int i = 0; i < s->count; i++)
            if (!s->entries[i].failed)
                add_runs(k, s, i, r.seeds, &r);
    }
    r.action = oa_action_for(r.outcome, r.saving);
    return r;
}
