/* SPDX-License-Identifier: Apache-2.0
 * Attentions compared with another one: the uniform baseline, the baseline, or each other. */
#ifndef ORTHANT_REPORT_AGAINST_H
#define ORTHANT_REPORT_AGAINST_H

#include "report/verdicts.h"
#include "statistics/statistics.h"

/* Position of an interval relative to the margin, declared beforehand, within which a difference
 * does not matter. */
enum oa_relevance {
    OA_RELEVANCE_OPEN,
    OA_RELEVANCE_BETTER,
    OA_RELEVANCE_WORSE,
    OA_RELEVANCE_EQUIVALENT
};
enum oa_relevance oa_relevance_of(double mean, double half,
                                  double margin); /* costs: below 0 is better */

struct oa_summary;
struct oa_against {
    enum oa_against_verdict verdict;
    struct oa_estimate difference; /* its cost minus the other's, paired: below 0 is better */
    /* The interval that belongs to the verdict, difference.mean ± half, which misses with the
     * probability `level`: better and worse exactly if it excludes 0 (in a sequential
     * comparison with a margin: if it is beyond the margin), equivalent exactly if it is within the
     * margin. NaN: nothing was tested. */
    double half, level;
    double p, holm; /* two-sided paired t test; Holm-corrected over all that were compared with the
                       same one */
    double equivalence; /* two one-sided tests, Holm-corrected likewise; NaN: there is no margin */
    double equivalence_level; /* of each of the two: the level of the step at which Holm's procedure
                                 judged them */
};
struct oa_against oa_against_nothing(void); /* of what was not compared */
struct oa_estimate
oa_against_interval(const struct oa_against *a); /* the difference with the verdict's interval */
/* Judges n comparisons, of which `difference` is set, as one family. sequential 0: t tests,
 * Holm-corrected over those that have one. Otherwise anytime-valid intervals (anytime.c) at
 * 0.05/sequential each: `half` of the differences changes, there are no p-values, and better and
 * worse mean beyond the margin. margin: of equivalence, of costs; 0: none. */
enum oa_error oa_judge_family(oa_context *c, struct oa_against *a, int n, double margin,
                              int sequential);
/* Different models may have equal scores with every seed, such as the same number of right answers:
 * where entries i and j were called identical by such a score, they are untestable. */
void oa_check_identical(const struct oa_comparison *k, int i, int j, struct oa_against *a);
/* out [entries]: every ranked attention against the entry `fixed` (-1, or one that failed:
 * OA_AGAINST_NONE throughout). */
enum oa_error oa_compare_against(oa_context *c, const struct oa_comparison *k,
                                 const struct oa_summary *s, int fixed, double margin,
                                 bool sequential, struct oa_against *out);
/* out [entries][entries]: the row's cost minus the column's, for every two ranked attentions, by
 * the margin of the comparison, sequentially if it is so. */
enum oa_error oa_compare_pairs(oa_context *c, const struct oa_comparison *k,
                               const struct oa_summary *s, struct oa_against *out);
/* The same comparison from the other's side: sign and verdict reversed. */
struct oa_against oa_against_reversed(struct oa_against a);
int oa_pairs_of(const struct oa_summary *s); /* pairs of attentions, without the uniform baseline */

#endif
