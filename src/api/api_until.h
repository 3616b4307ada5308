/* SPDX-License-Identifier: Apache-2.0
 * A contest that goes on until its questions are answered (compare.until_resolved). Private to api/. */
#ifndef ORTHANT_API_UNTIL_H
#define ORTHANT_API_UNTIL_H

#include "contest/contest.h"
#include "report/report.h"

/* As oa_contest_run, but round by round. began: when the command began, by oa_clock; time is counted from there. */
enum oa_error oa_contest_until(oa_context *c, const struct oa_contest_request *r, double began, struct oa_contest *k);

#endif
