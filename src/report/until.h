/* SPDX-License-Identifier: Apache-2.0
 * Adding seeds until comparisons are resolved. */
#ifndef ORTHANT_REPORT_UNTIL_H
#define ORTHANT_REPORT_UNTIL_H

#include "report/summary.h"

/* Whether the comparison of the entry with what the family compares it with is unresolved. */
bool oa_question_open(const struct oa_summary *s, int entry);
/* The runs to make next, at most one of each entry (cells has room for them); none: all comparisons
 * are resolved, or the seeds are used up. s may be NULL while an entry has fewer seeds than the
 * minimum. */
enum oa_error oa_until_wanted(oa_context *c, const struct oa_comparison *k,
                              const struct oa_summary *s, struct oa_cell *cells, int *count);
enum oa_ending oa_until_ending(const struct oa_comparison *k,
                               const struct oa_summary *s); /* when no run is wanted */
const char *
oa_ending_name(enum oa_ending ending); /* "resolved", "seeds used up", "budget used up" */

/* Writes the intervals of differences of costs after 2, 3, … seeds and returns their number: 0 in a
 * comparison that is not sequential and for an entry that is not compared. out and scratch have
 * room for one each per seed. */
int oa_trajectory(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                  double *scratch, struct oa_estimate *out);

#endif
