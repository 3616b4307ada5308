/* SPDX-License-Identifier: Apache-2.0
 * Private to report/. */
#ifndef ORTHANT_REPORT_STANDING_H
#define ORTHANT_REPORT_STANDING_H

#include "report/report.h"

/* What is true of an attention alone: means over the runs that finished, how many failed; not
 * compared with any yet. `scratch` has room for one number a seed. */
void oa_standing_of(const struct oa_comparison *k, const struct oa_entry *e, double *scratch,
                    struct oa_standing *s);

#endif
