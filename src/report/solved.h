/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that fail to learn: shares of seeds that solve the task, steps to it, and for which
 * comparisons a mean describes too little to conclude equivalence from (docs/solved.md).
 */
#ifndef ORTHANT_REPORT_SOLVED_H
#define ORTHANT_REPORT_SOLVED_H

#include "compare/comparison.h"
#include "print/print.h"
#include "statistics/shares.h"
#include "statistics/survival.h"

struct oa_summary;

struct oa_solved_entry {
    struct oa_share share;
    bool mixed;                /* some of its runs solve the task, some do not */
    int reached;               /* runs with a validation at the threshold or better */
    struct oa_range steps;     /* median of the steps to the first of these */
    double solving, remaining; /* mean score, in what the comparison is about, of the runs that
                                  solve the task and of those that do not; NaN: none */
};

struct oa_solved_test {
    int a, b;                 /* entries */
    double p, corrected;      /* of shares; corrected: times the number of tests */
    struct oa_log_rank steps; /* of a and b, up to the steps that runs of both had */
    double steps_corrected;
};

struct oa_solved {
    enum oa_solved_by {
        OA_SOLVED_NONE,     /* scores are in one cluster, and no threshold is declared */
        OA_SOLVED_CLUSTERS, /* by the gap between two clusters of what the comparison is about */
        OA_SOLVED_THRESHOLD /* compare.threshold, judge --threshold */
    } by;
    struct oa_threshold at;          /* the threshold, or the middle of the gap */
    bool stepped;                    /* steps to a declared threshold are known */
    double solving, remaining;       /* as of an entry, of all but the uniform baseline */
    struct oa_solved_entry *entries; /* [entries of the comparison] */
    struct oa_solved_test *tests;    /* of a declared threshold, without interim analyses */
    int test_count;
};

/* Needs `made` and `failed` of the summary's entries. */
enum oa_error oa_solved_make(oa_context *c, const struct oa_comparison *k,
                             const struct oa_summary *s, struct oa_solved *out);
void oa_solved_free(struct oa_solved *s);
/* A run that failed solved nothing. */
bool oa_run_solved(const struct oa_comparison *k, const struct oa_solved *s,
                   const struct oa_run *r);
/* Whether failures to learn leave open if a and b are equivalent: one of them is mixed, or, with a
 * declared threshold, its seeds do not exclude enough failures (or, where none solves the task,
 * successes) to move its mean by more than the margin. */
bool oa_solved_opens(const struct oa_comparison *k, const struct oa_solved *s, int a, int b);

/* ---- as text (solved_section.c) ---- */

/* " 3 of 10 runs of softmax did not leave the plateau near 43 %: …", and how many comparisons are
 * left open by failures that were not seen; nothing where neither is. */
void oa_solved_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out);
/* Nothing where `by` is OA_SOLVED_NONE. */
void oa_solved_table(const struct oa_comparison *k, const struct oa_summary *s,
                     struct oa_text *out);
void oa_solved_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out);
void oa_page_solved(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
/* "solved" of results.json; null where `by` is OA_SOLVED_NONE. */
json_t *oa_solved_json(const struct oa_comparison *k, const struct oa_summary *s);

#endif
