/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons of which the truth is known, their runs not made yet: losses are numbers of a named
 * random stream. Unit: the deviation of a difference between two attentions.
 */
#ifndef ARENA_H
#define ARENA_H

#include "testing.h"

#include "report/report.h"

#include <math.h>
#include <string.h>

enum { SIM_ENTRIES = 12, SIM_SEEDS = 30 };

enum noise {
    NORMAL,
    HEAVY,
    SKEWED
}; /* of a difference: normal; Student's t with 3 degrees; shifted exponential */

struct simulated {
    int count;
    enum noise noise;
    bool baseline;
    double margin;
    double truth[SIM_ENTRIES]; /* true losses */
};

struct arena {
    struct oa_comparison comparison;
    struct oa_entry entries[SIM_ENTRIES];
    struct oa_run runs[SIM_ENTRIES][SIM_SEEDS];
    char names[SIM_ENTRIES][2];
};

static double normal_at(const char *what, uint64_t at)
{
    return oa_random_normal(oa_stream_named(11, what), at);
}

/* t with 3 degrees of freedom has variance 3. Where differences are skewed the first attention has
 * no luck. */
static double luck(enum noise noise, int entry, uint64_t at)
{
    uint64_t place = at * SIM_ENTRIES + (uint64_t)entry;
    if (noise == NORMAL)
        return normal_at("losses", place) / sqrt(2);
    if (noise == SKEWED)
        return entry == 0 ? 0
                          : -log(1 - oa_random_uniform(oa_stream_named(11, "losses"), place)) - 1;
    double a = normal_at("a", place), b = normal_at("b", place), c = normal_at("c", place);
    return normal_at("losses", place) / sqrt((a * a + b * b + c * c) / 3) / sqrt(6);
}

static void arena_open(struct arena *a, const struct simulated *s, int trial, int most)
{
    memset(a, 0, sizeof *a);
    a->comparison =
        (struct oa_comparison){ .entries = a->entries, .count = s->count, .seeds = most };
    a->comparison.baseline = s->baseline;
    a->comparison.margin = s->margin;
    a->comparison.sequential = true;
    a->comparison.until.least = 3;
    a->comparison.until.most = most;
    for (int i = 0; i < s->count; i++) {
        a->names[i][0] = (char)('a' + i);
        a->entries[i] =
            (struct oa_entry){ .attention = a->names[i], .trainable = 1, .runs = a->runs[i] };
        for (int r = 0; r < most; r++) {
            uint64_t at = (uint64_t)trial * SIM_SEEDS + (uint64_t)r;
            double shared = 5 * normal_at("shared", at);
            a->runs[i][r] = (struct oa_run){ .seed = (uint64_t)r + 1, .absent = true };
            a->runs[i][r].valid_loss = 100 + s->truth[i] + shared + luck(s->noise, i, at);
        }
    }
}

#endif
