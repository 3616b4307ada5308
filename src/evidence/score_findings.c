/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions about scores, judged by the runs in records. All such predictions of an experiment
 * are one family, whether they are about one comparison or two: each is judged by the simultaneous
 * interval of its paired differences (statistics/family.h), which all contain the truth together
 * with a probability of 95 %. Verdicts that a comparison found by itself are of another family, and
 * are not used.
 *
 *     score              costs of the left one minus those of the right one, seed by seed
 *     retained share     Fieller's interval at the level of one member of the family
 *     ranking            all pairs of both comparisons share the level of one member
 *
 * Where seeds are added until comparisons are resolved the intervals are anytime-valid.
 */
#include "evidence/score_findings.h"

#include <math.h>
#include <string.h>

/* ---- runs ---- */

/* INFINITY: it has no run of that seed. */
static double with_seed(const json_t *record, int entry, json_int_t seed)
{
    json_int_t found;
    for (int r = 0; r < oa_record_runs(record, entry); r++) {
        double score = oa_record_run(record, entry, r, &found);
        if (found == seed)
            return score;
    }
    return INFINITY;
}

/* Costs of both with each seed that both have; how many. A run that failed leaves none: the seeds
 * that survive are no fair sample. */
static int common_costs(const struct oa_recorded *left, const struct oa_recorded *right, double *a,
                        double *b)
{
    int n = 0;
    double sign = oa_record_measure_of(left->record).higher ? -1 : 1;
    for (int r = 0; r < oa_record_runs(left->record, left->entry) && n < OA_SEEDS_CAP; r++) {
        json_int_t seed;
        double mine = oa_record_run(left->record, left->entry, r, &seed),
               theirs = with_seed(right->record, right->entry, seed);
        if (isnan(mine) || isnan(theirs))
            return 0;
        if (!isfinite(theirs))
            continue;
        a[n] = sign * mine;
        b[n++] = sign * theirs;
    }
    return n;
}

/* A spread that rounding explains counts as none. */
static struct oa_estimate difference_of(const double *a, const double *b, int n)
{
    double d[OA_SEEDS_CAP] = { 0 };
    for (int i = 0; i < n; i++)
        d[i] = a[i] - b[i];
    struct oa_estimate e = oa_estimate_of(d, n);
    if (n >= 2 && e.sd <= 1e-13 * fabs(oa_mean(a, n))) {
        e.sd = e.half = 0;
        e.mean = fabs(e.mean) <= 1e-13 * fabs(oa_mean(a, n)) ? 0 : e.mean;
    }
    return e;
}

struct oa_estimate oa_recorded_difference(const struct oa_recorded *left,
                                          const struct oa_recorded *right)
{
    double a[OA_SEEDS_CAP] = { 0 }, b[OA_SEEDS_CAP] = { 0 };
    return difference_of(a, b, common_costs(left, right, a, b));
}

/* ---- differences ---- */

static bool same_losses(const struct oa_recorded *left, const struct oa_recorded *right)
{
    for (int r = 0; r < oa_record_runs(left->record, left->entry); r++) {
        json_int_t seed, other;
        double mine = oa_record_loss(left->record, left->entry, r, &seed);
        for (int o = 0; o < oa_record_runs(right->record, right->entry); o++) {
            double theirs = oa_record_loss(right->record, right->entry, o, &other);
            if (seed == other && !(mine <= theirs && mine >= theirs))
                return false;
        }
    }
    return true;
}

struct oa_against oa_recorded_against(const struct oa_recorded *left,
                                      const struct oa_recorded *right, const struct oa_family *f)
{
    double a[OA_SEEDS_CAP] = { 0 }, b[OA_SEEDS_CAP] = { 0 };
    struct oa_against out = oa_against_nothing();
    if (strcmp(oa_record_measure_of(left->record).name, oa_record_measure_of(right->record).name))
        return out;
    int n = common_costs(left, right, a, b);
    out.difference = difference_of(a, b, n);
    oa_paired_errors(&out, 1);
    oa_family_judge(f, &out, 1);
    /* Different models may have the same score with every seed: they are equivalent if it is the
     * best possible score, and otherwise cannot be judged. */
    if (out.verdict == OA_AGAINST_IDENTICAL && !same_losses(left, right)) {
        struct oa_record_measure m = oa_record_measure_of(left->record);
        double cost = oa_mean(a, n);
        bool at_best = fabs((m.higher ? -cost : cost) - m.best) <= 1e-13 * fabs(m.best);
        out.verdict = at_best ? OA_AGAINST_EQUIVALENT : OA_AGAINST_UNJUDGED;
    }
    return out;
}

/* ---- retained shares ---- */

struct oa_fieller oa_recorded_share(const json_t *record, int entry, int whole, int uniform,
                                    const struct oa_family *f)
{
    double gain[OA_SEEDS_CAP] = { 0 }, whole_gain[OA_SEEDS_CAP] = { 0 };
    int n = 0;
    double sign = oa_record_measure_of(record).higher ? -1 : 1;
    for (int r = 0; r < oa_record_runs(record, entry) && n < OA_SEEDS_CAP; r++) {
        json_int_t seed;
        double x = oa_record_run(record, entry, r, &seed), w = with_seed(record, whole, seed),
               u = with_seed(record, uniform, seed);
        if (isnan(x) || isnan(w) || isnan(u))
            return oa_fieller_within(gain, whole_gain, 0, NAN);
        if (!isfinite(w) || !isfinite(u))
            continue;
        gain[n] = sign * (u - x);
        whole_gain[n++] = sign * (u - w);
    }
    struct oa_estimate one = { .n = n, .mean = 0, .sd = 1 };
    double level = OA_FAMILY_LEVEL / f->comparisons;
    double half = f->sequential ? oa_anytime_half(&one, level) : oa_half_at(&one, level);
    return oa_fieller_within(gain, whole_gain, n, half);
}

/* ---- rankings ---- */

/* 1: the first is better, -1: worse, 0: equivalent; OPEN: inconclusive. */
enum { OPEN = 2 };

static int order_of(const json_t *record, const char *a, const char *b, const struct oa_family *f)
{
    struct oa_recorded first = { record, oa_record_entry(record, a) },
                       second = { record, oa_record_entry(record, b) };
    enum oa_against_verdict v = oa_recorded_against(&first, &second, f).verdict;
    if (v == OA_AGAINST_BETTER || v == OA_AGAINST_WORSE)
        return v == OA_AGAINST_BETTER ? 1 : -1;
    return v == OA_AGAINST_EQUIVALENT || v == OA_AGAINST_IDENTICAL ? 0 : OPEN;
}

/* Means always have an order, so verdicts are counted. Kendall (1938, doi:10.2307/2332226) counts
 * pairs in the same way, alike and opposed; a pair that is inconclusive in either comparison is
 * neither. */
struct oa_ranking oa_recorded_rankings(const json_t *left, const json_t *right,
                                       char *const *attention, int count, struct oa_family f)
{
    struct oa_ranking sum = { 0 };
    f.comparisons *= count * (count - 1); /* both comparisons have count (count - 1) / 2 pairs */
    for (int b = 1; b < count; b++)
        for (int a = 0; a < b; a++) {
            int here = order_of(left, attention[a], attention[b], &f),
                there = order_of(right, attention[a], attention[b], &f);
            if (here == there && here != OPEN)
                sum.alike++;
            else if (here * there == -1)
                sum.opposed++;
            else
                sum.open++;
        }
    return sum;
}
