/* SPDX-License-Identifier: Apache-2.0
 *
 * Which runs solved the task: those whose last score is at the declared threshold or better, or,
 * where two clusters are found without one, those in the better cluster. Shares and steps of
 * attentions are tested only where the threshold was declared: a threshold between clusters depends
 * on the scores.
 */
#include "report/solved.h"

#include "report/notes.h"
#include "report/summary.h"
#include "statistics/clusters.h"

#include <math.h>

static const struct oa_measure *solved_measure(const struct oa_comparison *k,
                                               const struct oa_solved *s)
{
    return oa_comparison_measure(k, s->at.measure);
}

bool oa_run_solved(const struct oa_comparison *k, const struct oa_solved *s, const struct oa_run *r)
{
    return !r->absent && !r->failed &&
           oa_threshold_met(&s->at, solved_measure(k, s), oa_run_measured(r, s->at.measure));
}

/* ---- clusters ---- */

/* A deviation that means nothing: of a percentage the largest standard error that the number of
 * examples allows, of losses 0.2 % of them. */
static double resolution_of(const struct oa_comparison *k, const struct oa_grouped_value *v, int n)
{
    double used = oa_validation_used(k), sum = 0;
    if (oa_compared_measure(k)->higher)
        return used > 0 ? 50 / sqrt(used) : 0;
    for (int i = 0; i < n; i++)
        sum += fabs(v[i].x);
    return 0.002 * sum / n;
}

/* With fewer seeds than a verdict takes one odd run is half or a third of them, and no plateau. */
static void find_clusters(const struct oa_comparison *k, struct oa_grouped_value *values,
                          struct oa_solved *out)
{
    int n = 0;
    for (int i = 0; i < k->count; i++)
        for (int r = 0; r < k->seeds && !k->entries[i].uniform; r++)
            if (oa_run_finished(k, &k->entries[i].runs[r]))
                values[n++] =
                    (struct oa_grouped_value){ .x = oa_run_score(k, &k->entries[i].runs[r]),
                                               .group = i };
    struct oa_clusters found = oa_find_clusters(values, n, n ? resolution_of(k, values, n) : 0);
    if (found.below == 0)
        return;
    out->by = OA_SOLVED_CLUSTERS;
    out->at = (struct oa_threshold){ .measure = k->metric, .value = found.cut };
}

/* ---- shares ---- */

struct mean_score {
    double sum;
    int n;
};

static double mean_score_of(struct mean_score m)
{
    return m.n ? m.sum / m.n : NAN;
}

/* all: [not solved, solved], of the whole comparison. */
static void set_shares(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                       struct mean_score all[2], struct oa_solved *out)
{
    const struct oa_entry *e = &k->entries[entry];
    struct oa_solved_entry *o = &out->entries[entry];
    struct mean_score own[2] = { { 0 } };
    int solved = 0, made = s->entries[entry].made;
    for (int r = 0; r < made; r++) {
        bool it = oa_run_solved(k, out, &e->runs[r]);
        solved += it;
        if (oa_run_finished(k, &e->runs[r])) {
            own[it].sum += oa_run_score(k, &e->runs[r]);
            own[it].n++;
        }
    }
    for (int i = 0; i < 2 && !e->uniform; i++) {
        all[i].sum += own[i].sum;
        all[i].n += own[i].n;
    }
    o->share = oa_share_of(solved, made);
    o->mixed = solved > 0 && solved < made;
    o->solving = mean_score_of(own[1]);
    o->remaining = mean_score_of(own[0]);
}

/* ---- steps ---- */

static long last_step(const struct oa_comparison *k, int entry)
{
    long last = 0;
    for (int r = 0; r < k->seeds; r++)
        if (oa_run_finished(k, &k->entries[entry].runs[r]))
            last = k->entries[entry].runs[r].steps > last ? k->entries[entry].runs[r].steps : last;
    return last;
}

/* To the first validation at the threshold or better, censored at the end of the run. A run that
 * failed would not have reached it either: it is censored at the last step of all. */
static struct oa_time steps_to(const struct oa_comparison *k, const struct oa_solved *s,
                               const struct oa_run *r, double last)
{
    for (int i = 0; i < r->points; i++)
        if (oa_threshold_met(&s->at, solved_measure(k, s),
                             oa_point_measured(&r->curve[i], s->at.measure)))
            return (struct oa_time){ .time = fmin((double)r->curve[i].step, last),
                                     .event = (double)r->curve[i].step <= last };
    bool at_end = oa_run_solved(k, s, r) && (double)r->steps <= last;
    return (struct oa_time){ .time = r->failed ? last : fmin((double)r->steps, last),
                             .event = at_end };
}

static int collect_times(const struct oa_comparison *k, const struct oa_solved *s, int entry,
                         double last, int group, struct oa_time *times)
{
    int n = 0;
    for (int r = 0; r < k->seeds; r++)
        if (!k->entries[entry].runs[r].absent) {
            times[n] = steps_to(k, s, &k->entries[entry].runs[r], last);
            times[n++].group = group;
        }
    return n;
}

/* ---- tests ---- */

static enum oa_error test_two(oa_context *c, const struct oa_comparison *k,
                              const struct oa_solved *s, struct oa_time *times,
                              struct oa_solved_test *t)
{
    const struct oa_share *a = &s->entries[t->a].share, *b = &s->entries[t->b].share;
    t->p = oa_boschloo_test(a->k, a->n, b->k, b->n);
    t->steps.p = NAN;
    if (!s->stepped)
        return OA_OK;
    long last_a = last_step(k, t->a), last_b = last_step(k, t->b);
    double last = last_a > 0 && last_b > 0 ? fmin((double)last_a, (double)last_b)
                                           : fmax((double)last_a, (double)last_b);
    int n = collect_times(k, s, t->a, last, 0, times);
    return oa_log_rank_test(c, times, n + collect_times(k, s, t->b, last, 1, times + n), &t->steps);
}

/* Of the declared family: the number of tests that each p is multiplied by depends on no result. */
static enum oa_error test_shares(oa_context *c, const struct oa_comparison *k,
                                 const struct oa_summary *summary, struct oa_time *times,
                                 struct oa_solved *s)
{
    int n = 0, fixed = oa_family_kind_of(k) == OA_FAMILY_PAIRS ? -1 : oa_compared_to(k, summary);
    for (int a = 0; a < k->count; a++)
        for (int b = a + 1; b < k->count; b++)
            if (oa_in_family(k, a, b))
                s->tests[n++] =
                    (struct oa_solved_test){ .a = a == fixed ? b : a, .b = a == fixed ? a : b };
    s->test_count = n;
    for (int i = 0; i < n; i++) {
        struct oa_solved_test *t = &s->tests[i];
        OA_TRY(test_two(c, k, s, times, t));
        t->corrected = fmin(1, n * t->p);
        t->steps_corrected = isnan(t->steps.p) ? NAN : fmin(1, n * t->steps.p);
    }
    return OA_OK;
}

/* ---- all of it ---- */

/* Of runs that another program made only the values at their end may be known. */
static bool has_steps(const struct oa_comparison *k)
{
    for (int i = 0; k->imported && i < k->count; i++)
        for (int r = 0; r < k->seeds; r++)
            if (k->entries[i].runs[r].points)
                return true;
    return !k->imported;
}

static enum oa_error fill_solved(oa_context *c, const struct oa_comparison *k,
                                 const struct oa_summary *s, struct oa_time *times,
                                 struct oa_solved *out)
{
    struct mean_score all[2] = { { 0 } };
    for (int i = 0; i < k->count; i++) {
        double last = (double)last_step(k, i);
        struct oa_solved_entry *e = &out->entries[i];
        set_shares(k, s, i, all, out);
        if (!out->stepped)
            continue;
        int n = collect_times(k, out, i, last, 0, times);
        for (int j = 0; j < n; j++)
            e->reached += times[j].event;
        e->steps = oa_median_time(times, n);
    }
    out->remaining = mean_score_of(all[0]);
    out->solving = mean_score_of(all[1]);
    bool tested = out->by == OA_SOLVED_THRESHOLD && !k->sequential;
    return tested ? test_shares(c, k, s, times, out) : OA_OK;
}

enum oa_error oa_solved_make(oa_context *c, const struct oa_comparison *k,
                             const struct oa_summary *s, struct oa_solved *out)
{
    size_t count = (size_t)k->count + 1, runs = count * ((size_t)k->seeds + 1);
    struct oa_grouped_value *values = oa_alloc(c, runs * sizeof *values);
    struct oa_time *times = oa_alloc(c, (2 * (size_t)k->seeds + 1) * sizeof *times);
    *out = (struct oa_solved){ .by = k->threshold.given ? OA_SOLVED_THRESHOLD : OA_SOLVED_NONE,
                               .at = k->threshold,
                               .stepped = k->threshold.given && has_steps(k) };
    out->entries = oa_alloc(c, count * sizeof *out->entries);
    out->tests = oa_alloc(c, count * count * sizeof *out->tests);
    if (oa_status(c) == OA_OK) {
        if (out->by == OA_SOLVED_NONE && k->seeds >= OA_VERDICT_SEEDS)
            find_clusters(k, values, out);
        if (out->by != OA_SOLVED_NONE)
            fill_solved(c, k, s, times, out);
    }
    oa_free(values);
    oa_free(times);
    if (oa_status(c) != OA_OK)
        oa_solved_free(out);
    return oa_status(c);
}

void oa_solved_free(struct oa_solved *s)
{
    oa_free(s->entries);
    oa_free(s->tests);
    *s = (struct oa_solved){ .by = OA_SOLVED_NONE };
}

/* ---- equivalence ---- */

/* By how much runs on the other side of the threshold, which the seeds do not exclude, could move
 * the mean: their share is at most that at the other end of the interval, and their score that of
 * such runs of other attentions, or, of runs that do not learn, of the uniform baseline. NaN: no
 * run shows it. */
static double unseen_shift(const struct oa_comparison *k, const struct oa_solved *s, int entry)
{
    const struct oa_solved_entry *e = &s->entries[entry];
    bool all = e->share.k == e->share.n;
    double unseen = all ? 1 - e->share.low : e->share.high;
    double other = all ? s->remaining : s->solving, own = all ? e->solving : e->remaining;
    for (int i = 0; i < k->count && all && isnan(other); i++)
        other = k->entries[i].uniform ? s->entries[i].remaining : NAN;
    return unseen * fabs(own - other);
}

bool oa_solved_opens(const struct oa_comparison *k, const struct oa_solved *s, int a, int b)
{
    if (s->by == OA_SOLVED_NONE)
        return false;
    if (s->entries[a].mixed || s->entries[b].mixed)
        return true;
    if (s->by != OA_SOLVED_THRESHOLD)
        return false;
    return !(unseen_shift(k, s, a) <= k->margin && unseen_shift(k, s, b) <= k->margin);
}
