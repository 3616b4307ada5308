/* SPDX-License-Identifier: Apache-2.0
 *
 * report: what was measured, made readable. Numbers go in as plain structs, text comes out: a
 * terminal table, Markdown, JSON, SVG, HTML. Nothing here measures, trains or touches a file; the
 * caller writes the text where it belongs.
 *
 *     struct oa_summary s;
 *     OA_TRY(oa_summary_make(c, &comparison, &s));
 *     oa_report_table(&comparison, &s, 132, &text);
 *     oa_report_json(&comparison, &s, &text);
 *     oa_report_html(&comparison, &s, &text);
 *     oa_summary_free(&s);
 *
 * Functions that add to a struct oa_text record a failure (out of memory) in its context and
 * otherwise cannot fail.
 */
#ifndef ORTHANT_REPORT_H
#define ORTHANT_REPORT_H

#include "print/print.h"
#include "report/summary.h"

void oa_report_table(const struct oa_comparison *k, const struct oa_summary *s, int limit,
                     struct oa_text *out);
void oa_report_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out);
/* docs/results.md describes the file. The same comparison gives the same bytes. */
void oa_report_json(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_report_html(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
/* The differences to the reference with their intervals, as a file of its own. */
void oa_report_svg(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);

#endif
