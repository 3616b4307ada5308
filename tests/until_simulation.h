/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons of which the truth is known (arena.h), held by the rule that adds seeds until
 * questions are answered. Everything but the losses is the code that real comparisons run: the
 * summary after each round, and the runs that it asks for.
 */
#ifndef UNTIL_SIMULATION_H
#define UNTIL_SIMULATION_H

#include "arena.h"
#include "report/until.h"

/* Rounds until no run is wanted; the summary of the last one is the caller's. */
static int arena_hold(oa_context *c, struct arena *a, struct oa_summary *last)
{
    struct oa_cell cells[SIM_ENTRIES];
    for (int rounds = 0, n;; rounds++) {
        assert_int_equal(oa_summary_make(c, &a->comparison, last), OA_OK);
        assert_int_equal(oa_until_wanted(c, &a->comparison, last, cells, &n), OA_OK);
        if (n == 0)
            return rounds;
        for (int i = 0; i < n; i++)
            a->runs[cells[i].entry][cells[i].seed].absent = false;
        oa_summary_free(last);
    }
}

/* Is what is said of a difference false? On the edge of the margin every verdict is. */
static bool false_verdict(enum oa_against_verdict v, double truth, double margin)
{
    const double hair = 1e-9;
    return (v == OA_AGAINST_BETTER && truth >= -margin - hair) ||
           (v == OA_AGAINST_WORSE && truth <= margin + hair) ||
           (v == OA_AGAINST_EQUIVALENT && fabs(truth) >= margin - hair);
}

static bool false_of_entry(const struct simulated *s, const struct oa_summary *sum, int i)
{
    for (int j = 0; j < s->count; j++)
        if (false_verdict(oa_compared_pair(sum, i, j)->verdict, s->truth[i] - s->truth[j],
                          s->margin))
            return true;
    return false;
}

struct outcome {
    double wrong, resolved, seeds; /* shares of comparisons; mean number of seeds of an attention */
};

static struct outcome simulate_until(oa_context *c, const struct simulated *s, int trials)
{
    static struct arena a;
    struct outcome o = { 0, 0, 0 };
    for (int trial = 0; trial < trials; trial++) {
        struct oa_summary sum;
        bool wrong = false;
        arena_open(&a, s, trial, SIM_SEEDS);
        arena_hold(c, &a, &sum);
        for (int i = 0; i < s->count; i++) {
            wrong = wrong || false_of_entry(s, &sum, i);
            o.seeds += (double)sum.entries[i].made / s->count / trials;
        }
        o.wrong += (double)wrong / trials;
        o.resolved += (oa_until_ending(&a.comparison, &sum) == OA_ENDING_RESOLVED) / (double)trials;
        oa_summary_free(&sum);
    }
    return o;
}

/* What a report at that number of seeds says of this trial: is anything of it false? */
static bool report_wrong(oa_context *c, const struct simulated *s, int seeds, int trial)
{
    static struct arena a;
    static struct oa_against pairs[SIM_ENTRIES * SIM_ENTRIES];
    struct oa_standing standings[SIM_ENTRIES] = { { 0 } };
    struct oa_summary sum = { .entries = standings, .pairs = pairs, .uniform = -1 };
    bool wrong = false;
    sum.count = s->count;
    sum.seeds = seeds;
    arena_open(&a, s, trial, seeds);
    a.comparison.sequential = false;
    for (int i = 0; i < s->count; i++)
        for (int r = 0; r < seeds; r++)
            a.runs[i][r].absent = false;
    assert_int_equal(oa_compare_all(c, &a.comparison, &sum, pairs), OA_OK);
    for (int i = 0; i < s->count * s->count; i++) {
        enum oa_against_verdict v = pairs[i].verdict;
        wrong = wrong || false_verdict(v, s->truth[i / s->count] - s->truth[i % s->count],
                                       v == OA_AGAINST_EQUIVALENT ? s->margin : 0);
    }
    return wrong;
}

/* At a number of seeds that was decided beforehand; at each from `least` to `most`, until one is
 * wrong. */
static double simulate_tests(oa_context *c, const struct simulated *s, int least, int most,
                             int trials)
{
    int wrong = 0;
    for (int trial = 0; trial < trials; trial++) {
        bool any = false;
        for (int seeds = least; seeds <= most && !any; seeds++)
            any = report_wrong(c, s, seeds, trial);
        wrong += any;
    }
    return (double)wrong / trials;
}

#endif
