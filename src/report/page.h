/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of report.html, in the order of the page. Private to report/, but for its tests. Each
 * adds one section; an attention keeps its colour, its number in the comparison, through the whole
 * page.
 */
#ifndef ORTHANT_REPORT_PAGE_H
#define ORTHANT_REPORT_PAGE_H

#include "print/print.h"
#include "report/summary.h"

/* A coloured disc and the spec. */
void oa_page_name(const struct oa_comparison *k, int entry, struct oa_text *out);

/* A section that is folded until it is opened: its heading is its summary. */
void oa_page_open(const char *id, const char *heading, struct oa_text *out);
void oa_page_close(struct oa_text *out);

/* The comparison of an attention in the declared family: with the baseline, the uniform baseline or
 * the reference. Free the verdict. */
struct oa_asked {
    struct oa_estimate
        difference; /* in the direction of the score, with the interval of the verdict; n 0: none */
    struct oa_text verdict;
    int style; /* of the verdict, enum oa_verdict: how it is drawn */
    double p;  /* corrected; with the verdict "equivalent" that of equivalence; NaN: not tested */
    double level; /* 1 - level is the confidence of the interval; NaN: no interval */
    bool itself;  /* it is what the others are compared with */
};
void oa_asked_of(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                 struct oa_asked *a, oa_context *c);
void oa_page_results(const struct oa_comparison *k, const struct oa_summary *s,
                     struct oa_text *out);
void oa_page_tuning(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_differences(const struct oa_comparison *k, const struct oa_summary *s,
                         struct oa_text *out);
void oa_page_trajectories(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out);
void oa_page_pairs(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_variances(const struct oa_comparison *k,
                       struct oa_text *out); /* nothing where nothing varied alone */
/* Of what the comparison is about where that is not the loss and was measured along the way; else
 * nothing. */
void oa_page_metric_curves(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out);
void oa_page_curves(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_trade_offs(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out);
/* parts_section.c: nothing where runs have no parts. The estimate: over the finished runs of the
 * entry. */
void oa_page_parts(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_parts_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out);
struct oa_estimate oa_part_estimate(const struct oa_comparison *k, int entry,
                                    const struct oa_breakdown *part, double *scratch);
/* examples_section.c: nothing where first runs have no examples. Chosen: rows that all have, the
 * most different outputs first, of equal ones those that some have right, then the first. */
void oa_page_examples(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out);
enum { OA_EXAMPLES_SHOWN = 10 };
int oa_examples_choose(const struct oa_comparison *k, long rows[OA_EXAMPLES_SHOWN]);
/* test_section.c: nothing where there are no test data. The estimate: of that measure, over the
 * finished runs. */
void oa_page_test(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_test_table(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_test_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out);
struct oa_estimate oa_test_estimate(const struct oa_comparison *k, int entry, int measure,
                                    double *scratch);
void oa_page_runs(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_method(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_settings(const struct oa_comparison *k, struct oa_text *out);

#endif
