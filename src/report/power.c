/* SPDX-License-Identifier: Apache-2.0
 *
 * What the seeds of a comparison can show: the true difference that its family finds with a
 * probability of 80 %. Before there are runs it is given in standard deviations of a paired
 * difference, after them in the unit of the metric. A sequential comparison has no such number:
 * seeds are added until the intervals are narrow enough. */
#include "report/power.h"
#include "report/metric_words.h"
#include "report/notes.h"

#include <math.h>

/* In deviations of a paired difference. freedom: degrees of freedom divided by seeds - 1. */
static double detectable_deviations(const struct oa_comparison *k, int seeds, double freedom)
{
    return oa_detectable(oa_family_level(k), oa_family_size(k), freedom * (seeds - 1)) /
           sqrt(seeds);
}

/* Over the comparisons of the family that have a standard error. */
struct errors {
    double se, deviation; /* root mean squares */
    double df, freedom;   /* least; the same divided by seeds - 1 */
};

static struct errors errors_of(const struct oa_comparison *k, const struct oa_summary *s)
{
    struct errors e = { 0, 0, INFINITY, INFINITY };
    int n = 0;
    for (int i = 0; i < s->count; i++)
        for (int j = i + 1; j < s->count; j++) {
            const struct oa_against *a = oa_compared_pair(s, i, j);
            if (!oa_in_family(k, i, j) || !(a->se > 0) || isnan(a->half))
                continue;
            e.se += a->se * a->se;
            e.deviation += a->se * a->se * a->difference.n;
            e.df = fmin(e.df, a->df);
            e.freedom = fmin(e.freedom, a->df / (a->difference.n - 1));
            n++;
        }
    e.se = sqrt(e.se / n); /* NaN: none */
    e.deviation = sqrt(e.deviation / n);
    return e;
}

double oa_family_deviation(const struct oa_comparison *k, const struct oa_summary *s)
{
    return errors_of(k, s).deviation;
}

double oa_detectable_difference(const struct oa_comparison *k, const struct oa_summary *s)
{
    struct errors e = errors_of(k, s);
    if (k->sequential || isnan(e.se))
        return NAN;
    if (s->seeds < OA_VERDICT_SEEDS)
        return detectable_deviations(k, OA_VERDICT_SEEDS, e.freedom) * e.deviation;
    return oa_detectable(oa_family_level(k), oa_family_size(k), e.df) * e.se;
}

void oa_power_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    double least = oa_detectable_difference(k, s);
    char number[OA_NUMBER];
    if (isnan(least))
        return;
    oa_text_printf(out, " Judged by these runs, ");
    if (s->seeds < OA_VERDICT_SEEDS)
        oa_text_printf(out, "%d seeds would find ", OA_VERDICT_SEEDS);
    oa_text_printf(out, "true differences above %s", oa_number(number, least, 2));
    oa_add_unit(oa_difference_unit(k), out);
    oa_text_printf(out, "%s with a probability of 80 %%.",
                   s->seeds < OA_VERDICT_SEEDS ? "" : " are found");
}

static void announce_few_seeds(const struct oa_comparison *k, bool declared, struct oa_text *out)
{
    oa_text_printf(out, "%d seed%s", k->seeds, oa_plural(k->seeds));
    if (declared)
        oa_text_printf(out, ", as declared: the report of the comparison has no verdicts, and %s",
                       k->seeds == 1 ? "predictions about scores are not testable"
                                     : "predictions are judged by their intervals");
    else
        oa_text_printf(out, "%s no verdicts: use at least %d (--seeds %d)",
                       k->seeds == 1 ? " gives" : " give estimates and", OA_VERDICT_SEEDS,
                       OA_VERDICT_SEEDS);
}

void oa_power_announcement(const struct oa_comparison *k, double deviation, bool declared,
                           struct oa_text *out)
{
    char number[OA_NUMBER];
    int n = oa_family_size(k);
    if (k->sequential || n == 0)
        return;
    if (k->seeds < OA_VERDICT_SEEDS) {
        announce_few_seeds(k, declared, out);
        return;
    }
    /* assumes equal variances, estimated separately for each attention (row_variances.h) */
    double freedom = k->test == OA_TWO_WAY_ERRORS && k->count >= 3 ? 2 : 1;
    double least = detectable_deviations(k, k->seeds, freedom);
    oa_text_printf(out,
                   "%d seeds and %d comparison%s: true differences above %s standard deviations of "
                   "a paired difference are found with a probability of 80 %%",
                   k->seeds, n, oa_plural(n), oa_number(number, least, 2));
    if (!isfinite(deviation))
        return;
    oa_text_printf(out, ", judged by the last report above %s",
                   oa_number(number, least * deviation, 2));
    oa_add_unit(oa_difference_unit(k), out);
}
