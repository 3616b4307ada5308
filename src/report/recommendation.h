/* SPDX-License-Identifier: Apache-2.0
 *
 * What to do after a comparison. Two outcomes decide: how the attentions compare (with the
 * baseline, or, where there is none, with the one with the lowest cost), and whether something
 * equivalent to what would be used is cheaper.
 */
#ifndef ORTHANT_REPORT_RECOMMENDATION_H
#define ORTHANT_REPORT_RECOMMENDATION_H

#include "base/base.h"

struct oa_comparison;
struct oa_summary;

enum oa_outcome {
    OA_OUTCOME_FAILED,          /* no attention finished all its runs */
    OA_OUTCOME_BASELINE_FAILED, /* the baseline did not */
    OA_OUTCOME_ALONE,           /* there is nothing to compare with */
    OA_OUTCOME_FEW_SEEDS,       /* too few for a verdict */
    OA_OUTCOME_UNIFORM,         /* only differences to the uniform baseline are judged */
    OA_OUTCOME_UNJUDGED,        /* all differences are the same with every seed */
    /* with a baseline */
    OA_OUTCOME_OPEN, /* none is better; some are unresolved, and more seeds would resolve them */
    OA_OUTCOME_FAR,  /* none is better; some are unresolved, and OA_SEEDS_CAP seeds would resolve
                        none */
    OA_OUTCOME_NOT_BETTER, /* none is better, none is unresolved */
    OA_OUTCOME_BETTER,     /* some are better */
    /* without */
    OA_OUTCOME_OPEN_LOWEST, /* some are not resolved from the one with the lowest cost; more seeds
                               would resolve them */
    OA_OUTCOME_FAR_LOWEST,  /* the same; OA_SEEDS_CAP seeds would not */
    OA_OUTCOME_ALIKE, /* none is unresolved, and some are equivalent to the one with the lowest
                         cost, or identical */
    OA_OUTCOME_BEST,  /* none is unresolved, and none is equivalent */
    OA_OUTCOMES
};

enum oa_saving {
    OA_SAVING_UNASKED, /* no margin was given, and nothing is identical */
    OA_SAVING_NONE,    /* nothing that is equivalent is faster */
    OA_SAVING_SOME,
    OA_SAVING_TIMED, /* every run had the same time: speed is part of the score */
    OA_SAVINGS
};

enum oa_action {
    OA_ACTION_REPAIR, /* runs diverged */
    OA_ACTION_NONE,   /* there is nothing to recommend */
    OA_ACTION_SEEDS,
    OA_ACTION_KEEP, /* the baseline */
    OA_ACTION_CHANGE,
    OA_ACTION_TAKE,
    OA_ACTION_TAKE_CHEAPER
};
/* "repair", "none", "more seeds", "keep", "change", "take", "take the cheaper": the words of
 * results.json. */
const char *oa_action_name(enum oa_action a);
enum oa_action oa_action_for(enum oa_outcome outcome, enum oa_saving saving);

struct oa_recommendation {
    enum oa_outcome outcome;
    enum oa_saving saving;
    enum oa_action action;
    int entry;       /* the recommended attention; -1: none */
    int cheaper;     /* the fastest that is equivalent to it and faster; -1: none */
    double speed;    /* of `cheaper` relative to `entry`, or without one of `entry` relative to the
                        baseline; NaN */
    int open, seeds; /* number of attentions with too few seeds, including what they are compared
                        with, and the seeds they need; 0: none */
    int nearest, fewest; /* the attention whose comparison needs the fewest seeds, and their number;
                            −1, 0: unknown for all */
    double seconds;      /* of training these seeds, estimated from the runs made */
};
/* From the verdicts. Everything else in the summary is set. */
struct oa_recommendation oa_recommend(const struct oa_comparison *k, const struct oa_summary *s);
/* One sentence to act on, and why. */
char *oa_recommendation_text(oa_context *c, const struct oa_comparison *k,
                             const struct oa_summary *s, const struct oa_recommendation *r);

#endif
