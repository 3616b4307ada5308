/* SPDX-License-Identifier: Apache-2.0
 *
 * Contests of which the truth is known, held by the rule that adds seeds until questions are answered. Losses are
 * numbers of a named random stream; everything else is the code that real contests run: the summary after each round,
 * and the runs that it asks for. Unit: the deviation of a difference between two attentions.
 */
#ifndef UNTIL_SIMULATION_H
#define UNTIL_SIMULATION_H

#include "testing.h"

#include "report/report.h"

#include <math.h>
#include <string.h>

enum { SIM_ENTRIES = 12, SIM_SEEDS = 30 };

enum noise { NORMAL, HEAVY, SKEWED }; /* of a difference: normal; Student's t with 3 degrees; shifted exponential */

struct simulated {
    int count;
    enum noise noise;
    bool baseline;
    double margin;
    double truth[SIM_ENTRIES]; /* true losses */
};

struct arena {
    struct oa_contest contest;
    struct oa_entry entries[SIM_ENTRIES];
    struct oa_run runs[SIM_ENTRIES][SIM_SEEDS];
    char names[SIM_ENTRIES][2];
};

static double normal_at(const char *what, uint64_t at)
{
    return oa_random_normal(oa_stream_named(11, what), at);
}

/* t with 3 degrees of freedom has variance 3. Where differences are skewed the first attention has no luck. */
static double luck(enum noise noise, int entry, uint64_t at)
{
    uint64_t place = at * SIM_ENTRIES + (uint64_t)entry;
    if (noise == NORMAL)
        return normal_at("losses", place) / sqrt(2);
    if (noise == SKEWED)
        return entry == 0 ? 0 : -log(1 - oa_random_uniform(oa_stream_named(11, "losses"), place)) - 1;
    double a = normal_at("a", place), b = normal_at("b", place), c = normal_at("c", place);
    return normal_at("losses", place) / sqrt((a * a + b * b + c * c) / 3) / sqrt(6);
}

static void arena_open(struct arena *a, const struct simulated *s, int trial, int most)
{
    memset(a, 0, sizeof *a);
    a->contest = (struct oa_contest){ .entries = a->entries, .count = s->count, .seeds = most };
    a->contest.baseline = s->baseline;
    a->contest.margin = s->margin;
    a->contest.any_looks = true;
    a->contest.until.least = 3;
    a->contest.until.most = most;
    for (int i = 0; i < s->count; i++) {
        a->names[i][0] = (char)('a' + i);
        a->entries[i] = (struct oa_entry){ .attention = a->names[i], .trainable = 1, .runs = a->runs[i] };
        for (int r = 0; r < most; r++) {
            uint64_t at = (uint64_t)trial * SIM_SEEDS + (uint64_t)r;
            double shared = 5 * normal_at("shared", at);
            a->runs[i][r] = (struct oa_run){ .seed = (uint64_t)r + 1, .absent = true };
            a->runs[i][r].valid_loss = 100 + s->truth[i] + shared + luck(s->noise, i, at);
        }
    }
}

/* Rounds until no run is wanted; the summary of the last one is the caller's. */
static int arena_hold(oa_context *c, struct arena *a, struct oa_summary *last)
{
    struct oa_cell cells[SIM_ENTRIES];
    for (int rounds = 0, n;; rounds++) {
        assert_int_equal(oa_summary_make(c, &a->contest, last), OA_OK);
        assert_int_equal(oa_until_wanted(c, &a->contest, last, cells, &n), OA_OK);
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
    return (v == OA_AGAINST_BETTER && truth >= -margin - hair) || (v == OA_AGAINST_WORSE && truth <= margin + hair) ||
           (v == OA_AGAINST_EQUIVALENT && fabs(truth) >= margin - hair);
}

static bool false_of_entry(const struct simulated *s, const struct oa_summary *sum, int i)
{
    if (s->baseline)
        return i > 0 && false_verdict(sum->entries[i].baseline.verdict, s->truth[i] - s->truth[0], s->margin);
    for (int j = 0; j < s->count; j++)
        if (false_verdict(sum->pairs[i * s->count + j].verdict, s->truth[i] - s->truth[j], s->margin))
            return true;
    return false;
}

struct outcome {
    double wrong, resolved, seeds; /* shares of contests; mean number of seeds of an attention */
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
        o.resolved += (oa_until_ending(&a.contest, &sum) == OA_ENDING_RESOLVED) / (double)trials;
        oa_summary_free(&sum);
    }
    return o;
}

/* What tests at that number of seeds say of this trial: is anything of it false? */
static bool tests_wrong(oa_context *c, const struct simulated *s, int seeds, int trial)
{
    static struct arena a;
    static struct oa_against out[SIM_ENTRIES * SIM_ENTRIES];
    struct oa_standing standings[SIM_ENTRIES] = { { 0 } };
    struct oa_summary sum = { .entries = standings, .count = s->count, .seeds = seeds, .floor = -1 };
    bool wrong = false;
    arena_open(&a, s, trial, seeds);
    a.contest.any_looks = false;
    for (int i = 0; i < s->count; i++)
        for (int r = 0; r < seeds; r++)
            a.runs[i][r].absent = false;
    if (s->baseline)
        assert_int_equal(oa_compare_against(c, &a.contest, &sum, 0, s->margin, false, out), OA_OK);
    else
        assert_int_equal(oa_compare_pairs(c, &a.contest, &sum, out), OA_OK);
    for (int i = 0; i < (s->baseline ? s->count : s->count * s->count); i++) {
        double truth = s->baseline ? s->truth[i] - s->truth[0] : s->truth[i / s->count] - s->truth[i % s->count];
        wrong = wrong || false_verdict(out[i].verdict, truth, out[i].verdict == OA_AGAINST_EQUIVALENT ? s->margin : 0);
    }
    return wrong;
}

/* At a number of seeds that was decided beforehand; at each from `least` to `most`, until one is wrong. */
static double simulate_tests(oa_context *c, const struct simulated *s, int least, int most, int trials)
{
    int wrong = 0;
    for (int trial = 0; trial < trials; trial++) {
        bool any = false;
        for (int seeds = least; seeds <= most && !any; seeds++)
            any = tests_wrong(c, s, seeds, trial);
        wrong += any;
    }
    return (double)wrong / trials;
}

#endif
