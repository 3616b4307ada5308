/* SPDX-License-Identifier: Apache-2.0
 * How long a training step takes on this machine, with the context's threads and instruction set:
 * steps are made, with made-up tokens. Where the step would take too long, or too much memory,
 * fewer micro-batches, rows and layers of it are made, and each operation's time grows with what
 * the plan device counts of it. */
#ifndef ORTHANT_TRAIN_STEP_TIME_H
#define ORTHANT_TRAIN_STEP_TIME_H

#include "train/train.h"

/* What the machine does in a second at most, for choosing what to make and for what was not made.
 */
struct oa_machine_rates {
    double flops, bytes;
};
double oa_plan_lower_bound(const struct oa_plan *plan,
                           const struct oa_machine_rates *r); /* seconds of a step at the rates */

enum oa_time_source {
    OA_TIME_MEASURED,  /* the step itself was made */
    OA_TIME_SCALED,    /* a smaller one was */
    OA_TIME_PREDICTED, /* not even a small one could be: from the rates alone */
};
const char *oa_time_source_name(enum oa_time_source source); /* "measured", "scaled", "predicted" */

struct oa_step_time {
    enum oa_time_source source;
    double seconds;     /* of a step, by the wall; what was measured is the mean */
    double least, most; /* between which it is expected: of what was measured the fastest and the
                           slowest step */
    double processor;   /* the same as `seconds` in processor time of all threads; 0: predicted */
    double held_up;     /* step_side.h: oa_step_held_up */
    int steps;          /* that were made and timed */
    long accumulate, rows, layers; /* of each of them */
};

/* plan: of the step, by oa_plan_make. OA_INTERRUPTED where a stop was asked for. */
enum oa_error oa_step_time_find(oa_context *c, const struct oa_options *o,
                                const struct oa_model_form *form, const struct oa_step_shape *shape,
                                const struct oa_plan *plan, const struct oa_machine_rates *rates,
                                struct oa_step_time *out);

#endif
