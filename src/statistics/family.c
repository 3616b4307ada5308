/* SPDX-License-Identifier: Apache-2.0
 *
 * Simultaneous intervals and the verdicts that follow from them. Half the width of each is
 *
 *     t(1 - level/(2 m), df) · se,      m comparisons of the family,
 *
 * so that by Bonferroni's inequality all m contain their true differences with a probability of
 * 1 - level or more. In a sequential family the half width is that of anytime.c at the same
 * level/m.
 */
#include "statistics/family.h"

#include <math.h>

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

struct oa_against oa_against_nothing(void)
{
    return (struct oa_against){ .a = -1,
                                .b = -1,
                                .difference = oa_estimate_of(NULL, 0),
                                .se = NAN,
                                .df = NAN,
                                .half = NAN,
                                .level = NAN,
                                .p = NAN,
                                .adjusted = NAN,
                                .equivalence = NAN };
}

struct oa_against oa_against_reversed(struct oa_against a)
{
    int first = a.a;
    a.a = a.b;
    a.b = first;
    a.difference.mean = -a.difference.mean;
    if (a.verdict == OA_AGAINST_BETTER || a.verdict == OA_AGAINST_WORSE)
        a.verdict = a.verdict == OA_AGAINST_BETTER ? OA_AGAINST_WORSE : OA_AGAINST_BETTER;
    return a;
}

struct oa_estimate oa_against_interval(const struct oa_against *a)
{
    struct oa_estimate e = a->difference;
    e.half = a->half;
    return e;
}

void oa_paired_errors(struct oa_against *a, int n)
{
    for (int i = 0; i < n; i++) {
        const struct oa_estimate *d = &a[i].difference;
        a[i].se = d->n < 2 ? NAN : d->sd / sqrt(d->n);
        a[i].df = d->n < 2 ? NAN : d->n - 1;
    }
}

static enum oa_against_verdict verdict_by_interval(const struct oa_family *f,
                                                   const struct oa_against *a)
{
    static const enum oa_against_verdict verdicts[] = { [OA_RELEVANCE_OPEN] = OA_AGAINST_UNRESOLVED,
                                                        [OA_RELEVANCE_BETTER] = OA_AGAINST_BETTER,
                                                        [OA_RELEVANCE_WORSE] = OA_AGAINST_WORSE,
                                                        [OA_RELEVANCE_EQUIVALENT] =
                                                            OA_AGAINST_EQUIVALENT };
    enum oa_relevance r = oa_relevance_of(a->difference.mean, a->half, f->margin);
    if (r == OA_RELEVANCE_OPEN && !f->sequential)
        r = oa_relevance_of(a->difference.mean, a->half, 0);
    return verdicts[r];
}

static void judge_one(const struct oa_family *f, struct oa_against *a)
{
    const struct oa_estimate *d = &a->difference;
    a->half = a->level = a->p = a->adjusted = a->equivalence = NAN;
    a->verdict = d->n < 1 ? OA_AGAINST_NONE : OA_AGAINST_ONE_SEED;
    if (d->n < 2)
        return;
    if (d->sd == 0) {
        a->verdict = d->mean == 0 ? OA_AGAINST_IDENTICAL : OA_AGAINST_UNJUDGED;
        return;
    }
    a->level = (f->level > 0 ? f->level : OA_FAMILY_LEVEL) / f->comparisons;
    a->half = f->sequential ? oa_anytime_half(d, a->level)
                            : oa_t_quantile(1 - a->level / 2, a->df) * a->se;
    a->verdict = OA_AGAINST_FEW_SEEDS;
    if (!f->sequential && d->n < f->verdict_seeds)
        return;
    if (!f->sequential) {
        double mean = fabs(a->difference.mean);
        a->p = 2 * oa_t_cdf(-mean / a->se, a->df);
        a->adjusted = fmin(1, f->comparisons * a->p);
        if (f->margin > 0)
            a->equivalence =
                fmin(1, 2 * f->comparisons * oa_t_cdf((mean - f->margin) / a->se, a->df));
    }
    a->verdict = verdict_by_interval(f, a);
}

void oa_family_judge(const struct oa_family *f, struct oa_against *a, int n)
{
    for (int i = 0; i < n; i++)
        judge_one(f, &a[i]);
}

/* By bisection: power increases with the noncentrality. */
double oa_detectable(double level, int comparisons, double df)
{
    static const double power = 0.8;
    double critical = oa_t_quantile(1 - level / comparisons / 2, df);
    double low = 0, high = 2 * critical + 10;
    if (isnan(critical))
        return NAN;
    while (oa_t_power(high, df, critical) < power)
        high *= 2;
    for (int i = 0; i < 100 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (oa_t_power(middle, df, critical) < power)
            low = middle;
        else
            high = middle;
    }
    return high;
}
