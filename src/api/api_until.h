/* SPDX-License-Identifier: Apache-2.0
 * A comparison that adds seeds until it is resolved (compare.until_resolved). Private to api/. */
#ifndef ORTHANT_API_UNTIL_H
#define ORTHANT_API_UNTIL_H

#include "compare/comparison.h"
#include "report/report.h"
#include "report/until.h"

/* As oa_comparison_run, but round by round. began: when the command began, by oa_clock; time is
 * counted from there. */
enum oa_error oa_comparison_until(oa_context *c, const struct oa_comparison_request *r,
                                  double began, struct oa_comparison *k);

#endif
