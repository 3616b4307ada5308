/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a comparison has come: all its runs together, trials of the tuning and varied runs among
 * them, and the time that is left, by the steps that this call has made and the time these took.
 */
#ifndef ORTHANT_OVERALL_H
#define ORTHANT_OVERALL_H

#include "base/base.h"

struct oa_overall {
    bool by_time;     /* times are budgets: every run counts the same */
    long runs, ended; /* that are expected; that ended, in this call or before */
    double work, had,
        made;     /* steps: of all runs; of those that were there; of those that this call made */
    double began; /* clock: of this call's first training; 0: there was none yet */
};
/* What a run with these options counts. */
double oa_overall_weight(const struct oa_overall *o, const struct oa_options *options);
void oa_overall_expect(struct oa_overall *o, long runs, double weight); /* of each of them */
void oa_overall_ended(struct oa_overall *o, double weight, bool was_there);
/* "3 of 24 runs, 1:42 left", "0 of 24 runs, 5:01:42 left"; under_way: what is done of runs that
 * have not ended. No time in the first second. */
enum { OA_OVERALL = 96 };
void oa_overall_text(const struct oa_overall *o, double under_way, double now,
                     char out[OA_OVERALL]);

#endif
