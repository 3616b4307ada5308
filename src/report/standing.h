/* SPDX-License-Identifier: Apache-2.0
 * The runs of one attention, and their differences to those of another. */
#ifndef ORTHANT_REPORT_STANDING_H
#define ORTHANT_REPORT_STANDING_H

#include "report/verdicts.h"
#include "statistics/two_samples.h"

/* The results of one attention. Means are over its runs that did not fail, NaN when there are none.
 * For comparisons across attentions see adjusted.h. */
struct oa_standing {
    enum oa_verdict verdict;
    int twin;         /* the first entry with exactly the same losses; -1: none */
    int made, failed; /* runs */
    double adjusted;  /* its mean of the compared metric, as if it had every seed (adjusted.c) */
    bool plain; /* it has all of them: adjusted is the mean, and its difference is the adjusted one
                 */
    struct oa_estimate loss;                /* validation loss */
    struct oa_estimate scores[OA_MEASURES]; /* the task's other measures, in their own direction;
                                               [0] is not used */
    int worse_than; /* sequential, of all pairs: the first that it was shown to be worse than; -1:
                       none */
    double
        percent; /* the difference of scores in percent of the reference's score on those seeds */
    int seeds_needed; /* of an unresolved entry, to have it resolved; 0: does not apply */
    struct oa_seeds_range seeds_range; /* of seeds_needed; low 0: does not apply */
    double perplexity;                 /* exp(loss.mean) */
    double bits_per_character, bits_per_byte;
    double seconds, processor_seconds, seconds_per_step, tokens_per_second, tokens, steps;
    double flops, flops_per_step, peak_memory;
    /* Where speeds were measured apart from the runs, seconds_per_step and tokens_per_second are
     * from there. */
    struct oa_range step; /* seconds per step, over the rounds */
    struct oa_range
        speed; /* how many times as fast as the first ranked attention, round by round */
    bool front_speed, front_parameters; /* no other beats it in cost and tokens/s (trainable
                                           parameters): pareto.c */
};
/* What is true of an attention alone: means over the runs that finished, how many failed; not
 * compared with any yet. `scratch` has room for one number a seed. */
void oa_standing_of(const struct oa_comparison *k, const struct oa_entry *e, double *scratch,
                    struct oa_standing *s);
/* What a comparison compares, its measures as costs (compare/comparison.h): a's minus b's over the
 * first `seeds` seeds that both finished; scratch has room for one number a seed. a and b: numbers
 * of entries. */
/* Of unpaired runs: of the means of two samples (two_samples.h). */
struct oa_estimate oa_paired(const struct oa_comparison *k, int a, int b, int seeds,
                             double *scratch);
struct oa_standard_error oa_unpaired_error(const struct oa_comparison *k, int a, int b,
                                           double *scratch);
/* Estimates of the measure with that number, in its own direction; the second: of what the
 * comparison is about. */
const struct oa_estimate *oa_standing_measured(const struct oa_standing *e, int measure);
const struct oa_estimate *oa_standing_score(const struct oa_comparison *k,
                                            const struct oa_standing *e);

#endif
