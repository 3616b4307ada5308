/* SPDX-License-Identifier: Apache-2.0
 * Times until something happened, some of them right-censored: it had not happened when the
 * observation ended. */
#ifndef ORTHANT_STATISTICS_SURVIVAL_H
#define ORTHANT_STATISTICS_SURVIVAL_H

#include "statistics/statistics.h"

struct oa_time {
    double time; /* of the event, or of the end of the observation */
    bool event;
    int group; /* of the log-rank test: 0 or 1 */
};

/* The median of Kaplan and Meier (1958): the first time at which the estimated share without the
 * event is 1/2 or less, INFINITY where it never is. Its interval is between order statistics, and
 * exact where every observation without an event lasted at least until the last event; where that
 * is not so, and below six observations, low and high are NaN. high may be INFINITY. Sorts `times`;
 * n is at most OA_SEEDS_CAP. */
struct oa_range oa_median_time(struct oa_time *times, int n);

/* The log-rank test (Mantel 1966) of two groups. */
struct oa_log_rank {
    int events[2];      /* observed */
    double expected[2]; /* under one hazard for both, at the numbers still observed at each time */
    double chi_square;  /* (observed - expected)² / hypergeometric variance */
    double p;     /* two-sided, by permutation of the groups: see survival.c. NaN: no event at all,
                     or an empty group */
    bool counted; /* p is from all permutations, else from their normal approximation */
};
/* Sorts `times`. The permutations are those of groups whose observations end alike, as those of
 * runs of one length do. */
enum oa_error oa_log_rank_test(oa_context *c, struct oa_time *times, int n,
                               struct oa_log_rank *out);

#endif
