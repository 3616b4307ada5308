/* SPDX-License-Identifier: Apache-2.0
 *
 * Pareto fronts that respect intervals. An attention is off a front when another one is better in
 * one of the two and not worse in the other, where
 *
 *     lower cost        the 95 % interval of the paired difference is below 0
 *     faster            the 95 % interval of the ratio of step times, round by round, is below 1
 * (rounds.c) fewer parameters  they are counted
 *
 * and "not worse" is: not shown to be. Where no interval can be given (one seed, fewer than six
 * rounds, speeds that were not measured apart), the numbers themselves are compared: means that are
 * adjusted for missing seeds (adjusted.c). Intervals are those of single comparisons.
 */
#include "report/adjusted.h"

#include <math.h>

enum order { WORSE = -1, OPEN = 0, BETTER = 1 };

static enum order compare_costs(double a, double b) /* low is better */
{
    return a < b ? BETTER : a > b ? WORSE : OPEN;
}

/* Position of the interval of "a compared with b" relative to its value for equal ones. */
static enum order compare_interval(double low, double high, double alike)
{
    return high < alike ? BETTER : low > alike ? WORSE : OPEN;
}

static enum order by_cost(const struct oa_comparison *k, const struct oa_summary *s, int a, int b,
                          double *scratch)
{
    struct oa_estimate d = oa_paired(k, a, b, k->seeds, scratch);
    if (!isfinite(d.half))
        return compare_costs(oa_adjusted_cost(k, s, a), oa_adjusted_cost(k, s, b));
    return compare_interval(d.mean - d.half, d.mean + d.half, 0);
}

static enum order by_speed(const struct oa_comparison *k, const struct oa_summary *s, int a, int b)
{
    struct oa_range r =
        oa_ratio_of(k->entries[a].step_seconds, k->entries[b].step_seconds, k->rounds);
    if (!isfinite(r.low))
        return compare_costs(-s->entries[a].tokens_per_second, -s->entries[b].tokens_per_second);
    return compare_interval(r.low, r.high, 1);
}

static bool beats(enum order in_one, enum order in_other)
{
    return in_one >= OPEN && in_other >= OPEN && (in_one == BETTER || in_other == BETTER);
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

static bool on_front(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                     bool speed, double *scratch)
{
    if (!on_trade_off(k, s, entry, speed))
        return false;
    for (int i = 0; i < s->count; i++) {
        if (i == entry || !on_trade_off(k, s, i, speed))
            continue;
        enum order cost = speed
                              ? by_speed(k, s, i, entry)
                              : compare_costs(k->entries[i].trainable, k->entries[entry].trainable);
        if (beats(by_cost(k, s, i, entry, scratch), cost))
            return false;
    }
    return true;
}

void oa_pareto_fronts(const struct oa_comparison *k, struct oa_summary *s, double *scratch)
{
    for (int i = 0; i < s->count; i++) {
        s->entries[i].front_speed = on_front(k, s, i, true, scratch);
        s->entries[i].front_parameters = on_front(k, s, i, false, scratch);
    }
}
