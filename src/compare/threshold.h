/* SPDX-License-Identifier: Apache-2.0
 * The score at which a run has solved its task (compare.threshold). */
#ifndef ORTHANT_THRESHOLD_H
#define ORTHANT_THRESHOLD_H

#include "base/base.h"
#include "tasks/tasks.h"

struct oa_threshold {
    bool given;
    int measure; /* number among those of the task */
    double value;
};
/* Reads compare.threshold. OA_ARGUMENT: it is no METRIC=VALUE, the task has no such metric, which
 * has no such value, or no validation is made before the end of a run. */
enum oa_error oa_threshold_read(oa_context *c, const struct oa_options *o,
                                const struct oa_task *task, struct oa_threshold *out);
/* At the threshold or better. NaN: no. */
bool oa_threshold_met(const struct oa_threshold *t, const struct oa_measure *m, double score);

#endif
