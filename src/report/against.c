/* SPDX-License-Identifier: Apache-2.0
 *
 * Every attention against one that was named beforehand, the uniform baseline or a baseline: paired
 * differences over the seeds, t tests, and Holm's correction over these tests alone. The one is not
 * chosen from the data, so nothing of what summary.c says about the choice of its reference applies
 * here. With a margin, within which a difference does not matter, equivalence is tested too, and
 * comes first: what is worse by less than the margin is equivalent.
 */
#include "report/against.h"
#include "report/summary.h"

#include <math.h>

static const double level = 0.05;

struct oa_against oa_against_nothing(void)
{
    return (struct oa_against){ .difference = oa_estimate_of(NULL, 0),
                                .half = NAN,
                                .level = NAN,
                                .p = NAN,
                                .holm = NAN,
                                .equivalence = NAN,
                                .equivalence_level = NAN };
}

struct oa_estimate oa_against_interval(const struct oa_against *a)
{
    struct oa_estimate e = a->difference;
    e.half = a->half;
    return e;
}

static enum oa_against_verdict against_verdict(const struct oa_against *a)
{
    if (a->difference.n < 1)
        return OA_AGAINST_NONE;
    if (a->difference.n < 2)
        return OA_AGAINST_ONE_SEED;
    if (a->difference.sd == 0)
        return a->difference.mean == 0 ? OA_AGAINST_IDENTICAL : OA_AGAINST_UNJUDGED;
    if (a->equivalence < level)
        return OA_AGAINST_EQUIVALENT;
    if (!(a->holm < level))
        return OA_AGAINST_UNRESOLVED;
    return a->difference.mean < 0 ? OA_AGAINST_BETTER : OA_AGAINST_WORSE;
}

/* ---- a family of comparisons ---- */

/* Each interval is at the level at which its comparison was judged, so that it says what the
 * verdict says: that of the test of a difference; of what is equivalent, that of the two one-sided
 * tests, which is the interval within the margin; of what is neither, the wider of the two.
 * Rounding at an end of it has no say. */
static void set_verdict_interval(struct oa_against *a, double test, double equivalence,
                                 double margin)
{
    double mean = fabs(a->difference.mean);
    a->equivalence_level = equivalence;
    a->level = a->verdict == OA_AGAINST_EQUIVALENT ? 2 * equivalence
               : a->verdict == OA_AGAINST_UNRESOLVED
                   ? fmin(test, 2 * equivalence) /* NaN: no margin */
                   : test;
    a->half = oa_half_at(&a->difference, a->level);
    if (a->verdict == OA_AGAINST_EQUIVALENT)
        a->half = fmin(a->half, margin - mean);
    if (a->verdict == OA_AGAINST_UNRESOLVED)
        a->half = fmax(a->half, mean);
}

/* `room`: four numbers for each. */
static void judge_once(struct oa_against *a, int n, double margin, double *room)
{
    double *p = room, *adjusted = room + n, *test = room + 2 * n, *equivalence = room + 3 * n;
    for (int i = 0; i < n; i++)
        p[i] = a[i].p = oa_t_test(&a[i].difference);
    oa_holm(p, n, adjusted, NULL);
    oa_holm_levels(p, n, level, test);
    for (int i = 0; i < n; i++) {
        a[i].holm = adjusted[i];
        p[i] = margin > 0 ? oa_equivalence_test(&a[i].difference, margin) : NAN;
    }
    oa_holm(p, n, adjusted, NULL);
    oa_holm_levels(p, n, level, equivalence);
    for (int i = 0; i < n; i++) {
        a[i].equivalence = adjusted[i];
        a[i].verdict = against_verdict(&a[i]);
        set_verdict_interval(&a[i], test[i], equivalence[i], margin);
    }
}

enum oa_relevance oa_relevance_of(double mean, double half, double margin)
{
    if (!(half < INFINITY)) /* also NaN */
        return OA_RELEVANCE_OPEN;
    if (mean - half > margin)
        return OA_RELEVANCE_WORSE;
    if (mean + half < -margin)
        return OA_RELEVANCE_BETTER;
    if (mean - half > -margin && mean + half < margin)
        return OA_RELEVANCE_EQUIVALENT;
    return OA_RELEVANCE_OPEN;
}

/* Intervals that cover at all numbers of seeds together, each at its share of the level
 * (Bonferroni), instead of tests at one: what they say stays true however often seeds are
 * added and tested. */
static void judge_sequentially(struct oa_against *a, int comparisons, double margin)
{
    static const enum oa_against_verdict verdicts[] = { [OA_RELEVANCE_OPEN] = OA_AGAINST_UNRESOLVED,
                                                        [OA_RELEVANCE_BETTER] = OA_AGAINST_BETTER,
                                                        [OA_RELEVANCE_WORSE] = OA_AGAINST_WORSE,
                                                        [OA_RELEVANCE_EQUIVALENT] =
                                                            OA_AGAINST_EQUIVALENT };
    a->p = a->holm = a->equivalence = NAN;
    a->half = a->level = NAN;
    a->verdict = against_verdict(a);
    if (a->difference.n < 2 || a->difference.sd == 0)
        return;
    a->level = level / comparisons;
    a->half = a->difference.half = oa_anytime_half(&a->difference, a->level);
    a->verdict = verdicts[oa_relevance_of(a->difference.mean, a->difference.half, margin)];
}

enum oa_error oa_judge_family(oa_context *c, struct oa_against *a, int n, double margin,
                              int sequential)
{
    for (int i = 0; i < n && sequential; i++)
        judge_sequentially(&a[i], sequential, margin);
    if (sequential)
        return OA_OK;
    double *room = oa_alloc(c, (4 * (size_t)n + 1) * sizeof *room);
    if (room)
        judge_once(a, n, margin, room);
    oa_free(room);
    return oa_status(c);
}

void oa_check_identical(const struct oa_comparison *k, int i, int j, struct oa_against *a)
{
    if (k->metric && a->verdict == OA_AGAINST_IDENTICAL && !oa_same_runs(k, i, j))
        a->verdict = OA_AGAINST_UNJUDGED;
}

/* ---- against one that is fixed ---- */

enum oa_error oa_compare_against(oa_context *c, const struct oa_comparison *k,
                                 const struct oa_summary *s, int fixed, double margin,
                                 bool sequential, struct oa_against *out)
{
    double *scratch = oa_alloc(c, ((size_t)s->seeds + 1) * sizeof *scratch);
    int others = 0; /* also those that failed: the level must not depend on what was measured */
    for (int i = 0; i < s->count && scratch; i++) {
        out[i] = oa_against_nothing();
        others += i != fixed && i != s->uniform;
        if (fixed >= 0 && i != fixed && oa_is_ranked(s, i) && !s->entries[fixed].failed)
            out[i].difference = oa_paired(k, i, fixed, s->seeds, scratch);
    }
    oa_free(scratch);
    OA_TRY(oa_status(c));
    OA_TRY(oa_judge_family(c, out, s->count, margin, sequential ? others : 0));
    for (int i = 0; i < s->count; i++)
        oa_check_identical(k, i, fixed, &out[i]);
    return OA_OK;
}
