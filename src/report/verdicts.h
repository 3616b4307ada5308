/* SPDX-License-Identifier: Apache-2.0
 * Verdicts, as codes of results.json and as words for people. */
#ifndef ORTHANT_REPORT_VERDICTS_H
#define ORTHANT_REPORT_VERDICTS_H

#include "compare/comparison.h"

enum oa_verdict {
    OA_VERDICT_BEST,   /* lowest cost, and every other attention without failures is worse */
    OA_VERDICT_LOWEST, /* lowest cost, but some others are not significantly worse, or there are
                          none */
    OA_VERDICT_WORSE,  /* Holm-corrected p < 0.05, and the interval of the difference excludes 0 */
    OA_VERDICT_UNRESOLVED, /* no significant difference, or undecided */
    OA_VERDICT_ONE_SEED,   /* no interval can be given */
    OA_VERDICT_FAILED,     /* a run of this attention failed; it takes no part in the tests */
    OA_VERDICT_IDENTICAL,  /* every run has exactly the loss of another attention's: the same model;
                              not tested */
    OA_VERDICT_UNJUDGED,   /* the difference is the same with every seed: no variance to test
                              against */
    OA_VERDICT_UNIFORM,    /* the uniform baseline: compared, not ranked */
    OA_VERDICT_EQUIVALENT, /* within the margin of the lowest cost (only in a sequential comparison)
                            */
    OA_VERDICT_LEADS /* in the place of the two above where one that was shown to be worse than
                      * another on the seeds of both has a lower adjusted cost */
};
enum { OA_VERDICT = 64 };
/* The word of results.json: "best", "lowest loss" ("highest accuracy" and the like about another
 * measure), "worse", "not resolved", … And the words that people read: "no significant difference",
 * … (verdicts.c) */
const char *oa_verdict_code(const struct oa_comparison *k, enum oa_verdict v, char out[OA_VERDICT]);
const char *oa_verdict_words(const struct oa_comparison *k, enum oa_verdict v,
                             char out[OA_VERDICT]);

/* An attention against one that was fixed before the runs: the uniform baseline (is attending to
 * anything better than a plain average?) or the baseline (is a change worth it?). */
enum oa_against_verdict {
    OA_AGAINST_NONE,   /* there is none, or a run of either failed, or this is it */
    OA_AGAINST_BETTER, /* Holm-corrected p < 0.05, and the interval of the difference excludes 0 */
    OA_AGAINST_WORSE,
    OA_AGAINST_EQUIVALENT, /* the difference is within the margin: Holm-corrected p of equivalence <
                              0.05 */
    OA_AGAINST_IDENTICAL,  /* the same model with every seed */
    OA_AGAINST_UNRESOLVED,
    OA_AGAINST_UNJUDGED, /* the same difference with every seed: no variance to test against */
    OA_AGAINST_ONE_SEED
};
const char *oa_against_code(
    enum oa_against_verdict v); /* of results.json: "better", "as good", "not resolved", … */
/* "equivalent", "no significant difference", …; practical: better and worse mean beyond the margin,
 * which never holds against the uniform baseline. */
const char *oa_against_words(enum oa_against_verdict v, bool practical);
bool oa_is_practical(const struct oa_comparison *k); /* sequential, and with a margin */

#endif
