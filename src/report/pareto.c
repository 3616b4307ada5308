/* SPDX-License-Identifier: Apache-2.0
 *
 * Pareto fronts. An attention i leaves a front only if another one, j, was shown to dominate it:
 *
 *     i costs more than j by more than the margin, and is not faster (smaller) by the estimate; or
 *     i is slower (larger) than j, and j does not cost more than i by more than the margin
 *
 * Costs are compared by simultaneous 95 % intervals of the paired differences over all pairs of
 * ranked attentions (Bonferroni), and speeds by the 95 % interval of the ratio of step times, round
 * by round (rounds.c). Parameters are counted. Nothing is shown without an interval (one seed,
 * fewer than six rounds, speeds that were not measured apart). Attentions with the same runs cost
 * the same.
 */
#include "report/summary.h"

#include <math.h>

static const double level = 0.05;

/* By how much i is shown to cost more than j: the lower end of the difference. */
static double shown_excess(const struct oa_comparison *k, const struct oa_summary *s, int i, int j,
                           double *scratch)
{
    if (oa_same_runs(k, i, j))
        return 0;
    struct oa_estimate d = oa_paired(k, i, j, k->seeds, scratch);
    int ranked = 0;
    for (int e = 0; e < s->count; e++)
        ranked += oa_is_ranked(s, e);
    double share = level / (ranked * (ranked - 1) / 2);
    double half = k->sequential ? oa_anytime_half(&d, share) : oa_half_at(&d, share);
    return isfinite(half) && d.sd > 0 ? d.mean - half : -INFINITY;
}

/* The step time of i as a multiple of that of j; without an interval where speeds were not measured
 * apart. */
static struct oa_range times_of(const struct oa_comparison *k, const struct oa_summary *s, int i,
                                int j)
{
    struct oa_range r =
        oa_ratio_of(k->entries[i].step_seconds, k->entries[j].step_seconds, k->rounds);
    if (r.n == 0)
        r.value = s->entries[j].tokens_per_second / s->entries[i].tokens_per_second;
    return r;
}

double oa_trade_off_cost(const struct oa_comparison *k, const struct oa_summary *s, int i,
                         bool speed)
{
    return speed ? s->entries[i].tokens_per_second : k->entries[i].trainable;
}

static bool on_trade_off(const struct oa_comparison *k, const struct oa_summary *s, int i,
                         bool speed)
{
    return oa_is_ranked(s, i) && isfinite(oa_trade_off_cost(k, s, i, speed));
}

static bool dominates(const struct oa_comparison *k, const struct oa_summary *s, int j, int i,
                      bool speed, double *scratch)
{
    double excess = shown_excess(k, s, i, j, scratch);
    double size = k->entries[i].trainable / k->entries[j].trainable;
    struct oa_range ratio =
        speed ? times_of(k, s, i, j)
              : (struct oa_range){ .n = 1, .value = size, .low = size, .high = size };
    bool shown_worse = excess > k->margin && !(ratio.value < 1);
    bool shown_slower = ratio.low > 1 && excess >= -k->margin; /* NaN: not shown */
    return shown_worse || shown_slower;
}

static bool on_front(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                     bool speed, double *scratch)
{
    if (!on_trade_off(k, s, entry, speed))
        return false;
    for (int j = 0; j < s->count; j++)
        if (j != entry && on_trade_off(k, s, j, speed) && dominates(k, s, j, entry, speed, scratch))
            return false;
    return true;
}

void oa_pareto_fronts(const struct oa_comparison *k, struct oa_summary *s, double *scratch)
{
    for (int i = 0; i < s->count; i++) {
        s->entries[i].front_speed = on_front(k, s, i, true, scratch);
        s->entries[i].front_parameters = on_front(k, s, i, false, scratch);
    }
}
