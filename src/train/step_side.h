/* SPDX-License-Identifier: Apache-2.0
 * A model that makes training steps by itself under a meter, on the real device or on the plan
 * device. */
#ifndef ORTHANT_TRAIN_STEP_SIDE_H
#define ORTHANT_TRAIN_STEP_SIDE_H

#include "device/wrappers/meter.h"
#include "train/train.h"

struct oa_step_side {
    struct oa_device *device;
    struct oa_model *model;
    oa_tape tape;
    struct oa_tree_sum sum;
    struct oa_shards shards;
    struct oa_meter meter;
};
/* dry: on the plan device. clock: of the meter, seconds. To be closed after a failure, too; `s` is
 * zero before. */
enum oa_error oa_step_side_open(oa_context *c, const struct oa_options *o,
                                const struct oa_model_form *form, bool dry, double (*clock)(void),
                                struct oa_step_side *s);
void oa_step_side_close(struct oa_step_side *s);

/* A step, and how long it took by three clocks. */
struct oa_step_clocks {
    double wall, processor; /* seconds; processor time of all threads of the context */
    double caller;          /* processor time of the calling thread, which takes part in all work */
};
void oa_step_side_run(struct oa_step_side *s, const struct oa_options *o,
                      const struct oa_batch *batch, double scale, struct oa_step_clocks *out);

/* The share of the time that something else had the processor while a step ran: the caller of a
 * step waits for nothing but its helpers, which work as long as it does. */
double oa_step_held_up(const struct oa_step_clocks *sum);
#define OA_BUSY                                                                                    \
    0.15 /* of that share: from here on times by the wall say more of other programs than of this  \
            one */

#endif
