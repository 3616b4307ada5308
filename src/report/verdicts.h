/* SPDX-License-Identifier: Apache-2.0
 * Verdicts, as codes of results.json and as words for people. */
#ifndef ORTHANT_REPORT_VERDICTS_H
#define ORTHANT_REPORT_VERDICTS_H

#include "report/against.h"

/* Of an attention in the declared family; page.css has a style for each number. */
enum oa_verdict {
    OA_VERDICT_BEST,   /* of all pairs: every other one is worse */
    OA_VERDICT_LOWEST, /* of all pairs: lowest cost, which is a description */
    OA_VERDICT_WORSE,
    OA_VERDICT_UNRESOLVED, /* no significant difference, or undecided */
    OA_VERDICT_ONE_SEED,   /* no interval can be given */
    OA_VERDICT_FAILED,     /* a run of this attention failed */
    OA_VERDICT_IDENTICAL,  /* every run has exactly the loss of what it is compared with */
    OA_VERDICT_UNJUDGED,   /* the difference is the same with every seed */
    OA_VERDICT_UNIFORM,    /* the uniform baseline, which the others are compared with */
    OA_VERDICT_EQUIVALENT,
    OA_VERDICT_LEADS, /* of all pairs, in the place of the first two where one that was shown to be
                       * worse than another on the seeds of both has a lower adjusted cost */
    OA_VERDICT_BETTER,
    OA_VERDICT_FEW_SEEDS, /* an interval, and too few seeds for a verdict */
    OA_VERDICT_BASELINE,  /* what the others are compared with */
    OA_VERDICT_NONE       /* what it is to be compared with failed */
};
enum { OA_VERDICT = 64 };
/* The word of results.json: "best", "lowest loss" ("highest accuracy" and the like about another
 * measure), "worse", "not resolved", … And the words that people read: "no significant difference",
 * … (verdicts.c) */
const char *oa_verdict_code(const struct oa_comparison *k, enum oa_verdict v, char out[OA_VERDICT]);
const char *oa_verdict_words(const struct oa_comparison *k, enum oa_verdict v,
                             char out[OA_VERDICT]);

const char *oa_against_code(
    enum oa_against_verdict v); /* of results.json: "better", "as good", "not resolved", … */
/* "equivalent", "no significant difference", …; practical: better and worse mean beyond the margin.
 */
const char *oa_against_words(enum oa_against_verdict v, bool practical);
bool oa_is_practical(const struct oa_comparison *k); /* sequential, and with a margin */

#endif
