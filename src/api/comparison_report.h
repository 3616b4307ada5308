/* SPDX-License-Identifier: Apache-2.0
 * The report of a comparison, printed and written. Private to api/. */
#ifndef ORTHANT_API_COMPARISON_REPORT_H
#define ORTHANT_API_COMPARISON_REPORT_H

#include "compare/comparison.h"

/* folder: of results.json, report.html, report.svg and report.md; NULL: none is written.
 * OA_DIVERGED, after the report, where every entry has a failed run. */
enum oa_error oa_report_comparison(oa_context *c, const char *folder, const struct oa_comparison *k,
                                   const struct oa_output *out);

#endif
