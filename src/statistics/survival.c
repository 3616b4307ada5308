/* SPDX-License-Identifier: Apache-2.0
 *
 * Kaplan-Meier median and log-rank test.
 *
 * The chi-squared approximation of the log-rank test rejects too often in small groups (5 a group:
 * 6 to 7 % at a level of 5 %; docs/solved.md), so p comes from permutations. What is tested,
 * observed minus expected events of the first group, is the sum of the scores of its members,
 *
 *     score(i) = event(i) - Λ(time(i)),   Λ(t) = Σ over event times u <= t of d(u) / Y(u),
 *
 * d events among Y observed at u in both groups together. Under the hypothesis every choice of the
 * members of the first group is equally probable, the scores given. The choices are counted by
 * meeting in the middle: equal scores are grouped, the groups divided into two halves, and the
 * choices of each half listed with number of members, sum and number of ways. Where a half has more
 * choices than MOST_CHOICES, p is from the normal distribution with the variance over permutations.
 */
#include "statistics/survival.h"

#include "base/compare_doubles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Events before censorings at the same time: what is censored at t was observed at t. */
static int by_time(const void *a, const void *b)
{
    const struct oa_time *p = a, *q = b;
    return p->time != q->time ? (p->time > q->time) - (p->time < q->time) : q->event - p->event;
}

/* ---- median ---- */

static bool ends_after_events(const struct oa_time *sorted, int n)
{
    bool censored = false;
    for (int i = 0; i < n; i++) {
        if (sorted[i].event && censored && sorted[i].time > sorted[i - 1].time)
            return false;
        censored |= !sorted[i].event;
    }
    return true;
}

static double event_time(const struct oa_time *t)
{
    return t->event ? t->time : INFINITY;
}

struct oa_range oa_median_time(struct oa_time *times, int n)
{
    struct oa_range r = { .n = n, .value = n ? INFINITY : NAN, .low = NAN, .high = NAN };
    double left = 1; /* the share without the event */
    qsort(times, (size_t)n, sizeof *times, by_time);
    for (int i = 0; i < n && left > 0.5 + 1e-12; i++)
        if (times[i].event) {
            left *= 1 - 1.0 / (n - i);
            r.value = left > 0.5 + 1e-12 ? INFINITY : times[i].time;
        }
    int k = oa_median_rank(n);
    if (k > 0 && ends_after_events(times, n)) {
        r.low = event_time(&times[k - 1]);
        r.high = event_time(&times[n - k]);
    }
    return r;
}

/* ---- log-rank ---- */

/* Sets the scores and, of `out`, all but p. `times` are sorted. */
static void set_scores(const struct oa_time *times, int n, double *scores, struct oa_log_rank *out)
{
    int at_risk[2] = { 0, 0 };
    double hazard = 0, variance = 0, excess = 0;
    for (int i = 0; i < n; i++)
        at_risk[times[i].group]++;
    for (int i = 0, next; i < n; i = next) {
        int left = n - i, deaths = 0;
        for (next = i; next < n && times[next].time == times[i].time; next++)
            deaths += times[next].event;
        hazard += (double)deaths / left;
        if (left > 1)
            variance += (double)at_risk[0] * at_risk[1] / left / left * deaths * (left - deaths) /
                        (left - 1);
        for (int j = i; j < next; j++) {
            int g = times[j].group;
            scores[j] = times[j].event - hazard;
            out->events[g] += times[j].event;
            out->expected[g] += hazard;
            excess += g == 0 ? scores[j] : 0;
            at_risk[g]--;
        }
    }
    out->chi_square = variance > 0 ? excess * excess / variance : NAN;
}

enum { MOST_CHOICES = 1 << 18 };
struct partial_sum { /* members of the first group among some of the scores */
    int members;
    double sum, ways;
};
static int by_members_and_sum(const void *a, const void *b)
{
    const struct partial_sum *p = a, *q = b;
    return p->members != q->members ? p->members - q->members
                                    : (p->sum > q->sum) - (p->sum < q->sum);
}

/* Adds `m` equal scores to the choices; how many there are then. */
static int add_equal(struct partial_sum *choices, int count, double score, int m)
{
    double ways = 1;
    for (int k = 1; k <= m; k++) {
        ways *= (double)(m - k + 1) / k;
        for (int i = 0; i < count; i++)
            choices[k * count + i] = (struct partial_sum){ .members = choices[i].members + k,
                                                           .sum = choices[i].sum + k * score,
                                                           .ways = choices[i].ways * ways };
    }
    return count * (m + 1);
}

/* Lists the choices of two halves of the scores, the next equal ones always to the shorter list.
 * False: one is too long. */
static bool list_choices(const double *sorted, int n, struct partial_sum *half[2], int count[2])
{
    for (int h = 0; h < 2; h++) {
        half[h][0] = (struct partial_sum){ .ways = 1 };
        count[h] = 1;
    }
    for (int i = 0, m; i < n; i += m) {
        int h = count[1] < count[0];
        for (m = 1; i + m < n && sorted[i + m] - sorted[i] < 1e-9; m++)
            ; /* equal but for rounding */
        if ((long)count[h] * (m + 1) > MOST_CHOICES)
            return false;
        count[h] = add_equal(half[h], count[h], sorted[i], m);
    }
    return true;
}

/* How many of the sorted choices have fewer members, or as many and a sum below `sum`. */
static int choices_before(const struct partial_sum *sorted, int count, int members, double sum)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        const struct partial_sum *it = &sorted[middle];
        if (it->members < members || (it->members == members && it->sum < sum))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The share of choices of `members` whose sum is as far from 0 as `sum`, or farther. */
static double share_as_extreme(struct partial_sum *const half[2], const int count[2], int members,
                               double sum, double *ways_before)
{
    const struct partial_sum *right = half[1];
    double extreme = 0, all = 0;
    qsort(half[1], (size_t)count[1], sizeof *right, by_members_and_sum);
    ways_before[0] = 0;
    for (int i = 0; i < count[1]; i++)
        ways_before[i + 1] = ways_before[i] + right[i].ways;
    for (int i = 0; i < count[0]; i++) {
        const struct partial_sum *l = &half[0][i];
        int rest = members - l->members;
        int first = choices_before(right, count[1], rest, -INFINITY);
        int below = choices_before(right, count[1], rest, -sum - l->sum);
        int above = choices_before(right, count[1], rest, sum - l->sum);
        int end = choices_before(right, count[1], rest, INFINITY);
        all += l->ways * (ways_before[end] - ways_before[first]);
        extreme += l->ways * (ways_before[below] - ways_before[first] + ways_before[end] -
                              ways_before[above]);
    }
    return extreme / all;
}

static double permutation_p(double *scores, int n, int members, double sum,
                            struct partial_sum *half[2], double *ways_before, bool *counted)
{
    int count[2];
    qsort(scores, (size_t)n, sizeof *scores, oa_compare_doubles);
    *counted = list_choices(scores, n, half, count);
    if (!*counted) { /* a sum of `members` scores drawn without replacement, of mean 0 */
        double squares = 0;
        for (int i = 0; i < n; i++)
            squares += scores[i] * scores[i];
        double variance = squares / (n - 1) * members * (n - members) / n;
        return erfc(fabs(sum) / sqrt(2 * variance));
    }
    return share_as_extreme(half, count, members, fabs(sum) - 1e-7, ways_before);
}

enum oa_error oa_log_rank_test(oa_context *c, struct oa_time *times, int n, struct oa_log_rank *out)
{
    *out = (struct oa_log_rank){ .p = NAN, .chi_square = NAN };
    int members = 0;
    for (int i = 0; i < n; i++)
        members += times[i].group == 0;
    double *scores = oa_alloc(c, ((size_t)n + 1) * sizeof *scores);
    double *ways = oa_alloc_raw(c, ((size_t)MOST_CHOICES + 1) * sizeof *ways);
    struct partial_sum *half[2] = { oa_alloc_raw(c, MOST_CHOICES * sizeof **half),
                                    oa_alloc_raw(c, MOST_CHOICES * sizeof **half) };
    if (oa_status(c) == OA_OK) {
        qsort(times, (size_t)n, sizeof *times, by_time);
        set_scores(times, n, scores, out);
        double sum = out->events[0] - out->expected[0];
        if (members > 0 && members < n && out->events[0] + out->events[1] > 0)
            out->p = permutation_p(scores, n, members, sum, half, ways, &out->counted);
    }
    oa_free(scores);
    oa_free(ways);
    oa_free(half[0]);
    oa_free(half[1]);
    return oa_status(c);
}
