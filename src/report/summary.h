/* SPDX-License-Identifier: Apache-2.0
 * The summary of a comparison: means, differences, verdicts, conclusion, recommendation. */
#ifndef ORTHANT_REPORT_SUMMARY_H
#define ORTHANT_REPORT_SUMMARY_H

#include "report/recommendation.h"
#include "report/solved.h"
#include "report/standing.h"

struct oa_summary {
    struct oa_standing *entries; /* in the order of the comparison's entries */
    int *order; /* entry numbers by rising adjusted cost; entries with failures come last */
    struct oa_against *pairs; /* [entries][entries]: the row against the column (against.h) */
    struct oa_solved solved;
    int count, seeds;
    bool uneven;   /* ranked attentions have different numbers of seeds */
    int reference; /* the ranked attention with the lowest adjusted cost of those without failures;
                    * -1: all failed. In a family of all pairs, of those not shown to be worse
                    * than another, if there are any */
    int uniform;   /* the entry of the uniform baseline, or -1 */
    char *conclusion; /* one or two sentences of plain text */
    struct oa_recommendation advice;
    char *recommendation; /* the same in words: what to do, and why */
};
enum oa_error oa_summary_make(oa_context *c, const struct oa_comparison *comparison,
                              struct oa_summary *out);
void oa_summary_free(struct oa_summary *s);
/* The words of an entry's verdict: "failed 1 of 3", "worse than a", … (verdicts.c) */
void oa_add_verdict(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                    struct oa_text *out);
int oa_fewest_seeds(const struct oa_summary *s, bool with_uniform); /* that an attention has */
/* Whether the two have the same loss and score with every seed that both have, as only equal models
 * do. Always false for independent runs, whose order means nothing. */
bool oa_same_runs(const struct oa_comparison *k, int a, int b);
/* The uniform baseline and attentions with failures are not ranked. */
bool oa_is_ranked(const struct oa_summary *s, int entry);
/* What scores are traded off against: tokens per second, or trainable parameters. */
double oa_trade_off_cost(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                         bool speed);
void oa_pareto_fronts(const struct oa_comparison *k, struct oa_summary *s,
                      double *scratch); /* front_speed, front_parameters of the entries */
char *oa_conclusion(oa_context *c, const struct oa_comparison *k,
                    const struct oa_summary *s); /* from the verdicts */

#endif
