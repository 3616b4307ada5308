/* SPDX-License-Identifier: Apache-2.0
 * A single attention layer with device, store and tape: for attend, explain, bench, verify and the
 * public oa_attention. Models own their layers. */
#ifndef ORTHANT_ATTENTION_SINGLE_LAYER_H
#define ORTHANT_ATTENTION_SINGLE_LAYER_H

#include "attention/attention.h"

struct oa_single_layer {
    oa_context *context;
    struct oa_spec spec;
    struct oa_device *device;
    struct oa_store store; /* of the layer alone */
    oa_tape tape;
    struct oa_layer layer;
};

/* Parses the attention and opens the device; no layer yet. Close also after an error. */
enum oa_error oa_single_layer_open(oa_context *c, const char *attention, enum oa_precision p,
                                   bool dry, struct oa_single_layer *r);
/* Replaces the layer by layer `number` of the attention, with a new store (not allocated) and tape.
 */
enum oa_error oa_single_layer_layer(struct oa_single_layer *r, int number,
                                    const struct oa_layer_shape *shape);
/* For sizes only: layer 0 on the plan device in f32, allocated without gradients. */
enum oa_error oa_single_layer_dry(oa_context *c, const char *attention,
                                  const struct oa_layer_shape *shape, struct oa_single_layer *r);
/* A zeroed struct is allowed. */
void oa_single_layer_close(struct oa_single_layer *r);

#endif
