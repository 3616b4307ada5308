/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of report.html, in the order of the page. Private to report/. Each adds one section; an attention keeps its
 * colour, its number in the contest, through the whole page.
 */
#ifndef ORTHANT_REPORT_PAGE_H
#define ORTHANT_REPORT_PAGE_H

#include "report/report.h"

/* A coloured disc and the spec. */
void oa_page_name(const struct oa_contest *k, int entry, struct oa_text *out);

void oa_page_tuning(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_differences(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_trajectories(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_pairs(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_variances(const struct oa_contest *k, struct oa_text *out); /* nothing where nothing varied alone */
void oa_page_curves(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_trade_offs(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_runs(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_method(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
void oa_page_settings(const struct oa_contest *k, struct oa_text *out);

#endif
