/* SPDX-License-Identifier: Apache-2.0
 *
 * A family of comparisons with simultaneous intervals: all of them contain their true differences
 * together with a probability of 95 % (Bonferroni, single step), and every verdict follows from
 * them.
 *
 *     differences  ──>  standard errors, degrees of freedom  ──>  oa_family_judge
 *
 * Compared are costs: lower is better.
 */
#ifndef ORTHANT_FAMILY_H
#define ORTHANT_FAMILY_H

#include "statistics/statistics.h"

#define OA_FAMILY_LEVEL 0.05   /* default probability that any interval of a family misses */
enum { OA_VERDICT_SEEDS = 5 }; /* fewer give an interval and no verdict */

/* Position of an interval relative to the margin, declared beforehand, within which a difference
 * does not matter. */
enum oa_relevance {
    OA_RELEVANCE_OPEN,
    OA_RELEVANCE_BETTER,
    OA_RELEVANCE_WORSE,
    OA_RELEVANCE_EQUIVALENT
};
enum oa_relevance oa_relevance_of(double mean, double half, double margin);

enum oa_against_verdict {
    OA_AGAINST_NONE, /* not judged: outside the family, or a run of either failed */
    OA_AGAINST_BETTER,
    OA_AGAINST_WORSE,
    OA_AGAINST_EQUIVALENT, /* the interval is within the margin */
    OA_AGAINST_IDENTICAL,  /* no difference with any seed */
    OA_AGAINST_UNRESOLVED,
    OA_AGAINST_UNJUDGED, /* the same difference with every seed: no variance to test against */
    OA_AGAINST_ONE_SEED,
    OA_AGAINST_FEW_SEEDS /* too few for a verdict; there is an interval */
};

/* A comparison of two numbered items: a's cost minus b's. */
struct oa_against {
    int a, b;
    struct oa_estimate difference; /* paired; its own 95 % interval is that of one comparison */
    double se, df; /* standard error of its mean, and its degrees of freedom; NaN: none */
    double seeds_se, seeds_df; /* the same over seeds alone, where these are over seeds and items */
    double constant; /* the part of se² that more seeds do not reduce: of items (crossed.c) */
    enum oa_against_verdict verdict;
    /* The simultaneous interval, difference.mean ± half, which alone misses with the probability
     * `level`. NaN: nothing was judged. */
    double half, level;
    double p, adjusted; /* two-sided t test; times the number of comparisons, at most 1 */
    double equivalence; /* two one-sided tests, adjusted likewise; NaN: there is no margin */
};
struct oa_against oa_against_nothing(void);
/* The same from the other's side: sign and verdict reversed. */
struct oa_against oa_against_reversed(struct oa_against a);
/* The difference with the simultaneous interval. */
struct oa_estimate oa_against_interval(const struct oa_against *a);

/* Standard errors and degrees of freedom of each difference by itself: paired t tests. */
void oa_paired_errors(struct oa_against *a, int n);

struct oa_family {
    int comparisons;   /* that share the level: as many as were declared, also those not made */
    double level;      /* that any of the intervals misses; 0: OA_FAMILY_LEVEL */
    double margin;     /* of equivalence; 0: none */
    bool sequential;   /* intervals hold at all numbers of seeds together */
    int verdict_seeds; /* fewer give no verdict, unless sequential */
};
/* Judges n comparisons with differences, standard errors and degrees of freedom. Better, worse: the
 * interval excludes 0 (in a sequential family with a margin: is beyond the margin). Equivalent
 * takes precedence. */
void oa_family_judge(const struct oa_family *f, struct oa_against *a, int n);

/* The true difference, in standard errors, that a family of so many comparisons finds with a
 * probability of 80 %. */
double oa_detectable(double level, int comparisons, double df);

#endif
