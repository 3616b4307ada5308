/* SPDX-License-Identifier: Apache-2.0
 *
 * A layer by itself, with all that it stands on: the attention parsed, a device, a store, a tape.
 * Models build their own, whatever looks at one layer (attend, explain, bench, verify, the public
 * oa_attention) has one of these.
 */
#ifndef ORTHANT_ATTENTION_RIG_H
#define ORTHANT_ATTENTION_RIG_H

#include "attention/attention.h"

struct oa_rig {
    oa_context *context;
    struct oa_spec spec;
    struct oa_device *device;
    struct oa_store store; /* of the layer alone */
    oa_tape tape;
    struct oa_layer layer;
};

/* The attention parsed and the device opened, the store empty, no layer yet. Close in any case. */
enum oa_error oa_rig_open(oa_context *c, const char *attention, enum oa_precision p, bool dry,
                          struct oa_rig *r);
/* Layer `number` of the attention, with a store (not allocated) and a tape of its own, in place of
 * the one before. */
enum oa_error oa_rig_layer(struct oa_rig *r, int number, const struct oa_layer_shape *shape);
/* A rig of which only sizes are wanted: layer 0 on the counting device in f32, allocated without
 * gradients. */
enum oa_error oa_rig_dry(oa_context *c, const char *attention, const struct oa_layer_shape *shape,
                         struct oa_rig *r);
/* Also of one that is all zeros. */
void oa_rig_close(struct oa_rig *r);

#endif
