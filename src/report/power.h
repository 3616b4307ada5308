/* SPDX-License-Identifier: Apache-2.0
 * What the seeds of a comparison can show. */
#ifndef ORTHANT_REPORT_POWER_H
#define ORTHANT_REPORT_POWER_H

#include "print/print.h"
#include "report/summary.h"

/* Of a paired difference, in units of the metric: root mean square over the family. NaN: unknown.
 */
double oa_family_deviation(const struct oa_comparison *k, const struct oa_summary *s);
/* The true difference, in units of the metric, that a report on these runs finds with a probability
 * of 80 %; with fewer seeds than a verdict takes, that a report with so many would find. NaN:
 * unknown. */
double oa_detectable_difference(const struct oa_comparison *k, const struct oa_summary *s);
/* " Judged by these runs, true differences above 0.06 nats a token are found with a probability of
 * 80 %."; nothing where it is unknown. */
void oa_power_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out);
/* The same before there are runs, in deviations; with the deviation of a paired difference in an
 * earlier report (NaN: none) also in the unit of the metric. Adds nothing for a sequential
 * comparison. declared: by an experiment, whose number of seeds must not change. */
void oa_power_announcement(const struct oa_comparison *k, double deviation, bool declared,
                           struct oa_text *out);

#endif
