/* SPDX-License-Identifier: Apache-2.0
 * The share of the run that all start from (train.init) that an attention retains after its
 * training: (uniform - x) / (uniform - teacher), of costs. Private to report/, but for its tests.
 */
#ifndef ORTHANT_REPORT_TEACHER_SHARE_H
#define ORTHANT_REPORT_TEACHER_SHARE_H

#include "report/summary.h"
#include "statistics/fieller.h"

#include <jansson.h>

/* With its 95 % interval (Fieller) over the seeds that the entry and the uniform baseline have in
 * common; the teacher is the same in all of them. n = 0: there is no teacher or no uniform
 * baseline, or it is that. */
struct oa_fieller oa_teacher_share_of(const struct oa_comparison *k, const struct oa_summary *s,
                                      int entry);
/* A line below the table; nothing without a teacher. */
void oa_teacher_note(const struct oa_comparison *k, const struct oa_summary *s,
                     struct oa_text *out);
json_t *oa_teacher_json(oa_context *c, const struct oa_comparison *k);
json_t *oa_teacher_share_json(oa_context *c, const struct oa_comparison *k,
                              const struct oa_summary *s, int entry); /* null: does not apply */

#endif
