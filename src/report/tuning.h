/* SPDX-License-Identifier: Apache-2.0
 * What the forms of a report say about tuning (comparison.h: struct oa_tuning). Private to report/.
 * Without tuning, each adds nothing. */
#ifndef ORTHANT_REPORT_TUNING_H
#define ORTHANT_REPORT_TUNING_H

#include "report/summary.h"

const char *oa_tuned_values(const struct oa_comparison *k, int entry,
                            char out[OA_GRID_NAME]); /* "lr=0.003 clip=1" */
void oa_tuning_sentence(const struct oa_comparison *k,
                        struct oa_text *out); /* of the conclusion, after a blank */
/* Lines: what was tried and how it was judged, what that took, values at an edge, what diverged. */
void oa_tuning_notes(const struct oa_comparison *k, const struct oa_summary *s,
                     struct oa_text *out);

#endif
