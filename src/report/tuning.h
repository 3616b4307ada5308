/* SPDX-License-Identifier: Apache-2.0
 * The texts about tuning in the forms of a report (comparison.h: struct oa_tuning). Private to
 * report/. Without tuning, each adds nothing. */
#ifndef ORTHANT_REPORT_TUNING_H
#define ORTHANT_REPORT_TUNING_H

#include "report/summary.h"

/* "lr=0.003 clip=1"; where the seeds of an attention chose differently, each value with the number
 * of seeds: "lr=0.003 (4), 0.001 (1); clip=1". */
void oa_tuned_values(const struct oa_comparison *k, int entry, struct oa_text *out);
void oa_tuning_sentence(const struct oa_comparison *k,
                        struct oa_text *out); /* of the conclusion, after a blank */
/* Lines: what was tried and how it was judged, what that took, values at an edge, what diverged. */
void oa_tuning_notes(const struct oa_comparison *k, const struct oa_summary *s,
                     struct oa_text *out);

#endif
