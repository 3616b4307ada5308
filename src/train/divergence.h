/* SPDX-License-Identifier: Apache-2.0
 * The message for a training step that made a number that is not finite. */
#ifndef ORTHANT_TRAIN_DIVERGENCE_H
#define ORTHANT_TRAIN_DIVERGENCE_H

#include "data/data.h"
#include "model/model.h"

/* All that a step depends on besides the weights; `scale` is that of the loss of a micro-batch. */
struct oa_step {
    struct oa_model *model;
    oa_tape *tape;
    struct oa_batches *batches;
    struct oa_stream stream; /* of the step's dropout */
    long step, accumulate;
    double scale;
};
/* Records OA_DIVERGED with the step, the micro-batch, and the first operation whose result is not
 * finite, in the order of a step: forward, then backward. To be called before the weights move;
 * gradients are spoilt afterwards. */
enum oa_error oa_diverged(const struct oa_step *s, bool loss_is_finite);

#endif
