/* SPDX-License-Identifier: Apache-2.0
 * The parameters of a single layer as a program sees them: of oa_attention and oa_core. */
#ifndef ORTHANT_LAYER_WEIGHTS_H
#define ORTHANT_LAYER_WEIGHTS_H

#include "api/api.h"
#include "attention/layer/single_layer.h"

struct oa_layer_views {
    struct oa_view values, gradients; /* of the store, in memory of the host */
};
/* Allocates the store of the layer, with initial values of the seed. */
enum oa_error oa_layer_views_open(struct oa_layer_views *v, struct oa_single_layer *layer,
                                  uint64_t seed);
void oa_layer_views_close(struct oa_layer_views *v);
/* As oa_attention_weights, oa_attention_changed, oa_attention_zero_gradients. */
int oa_layer_views_weights(const struct oa_layer_views *v, const struct oa_store *s, int i,
                           struct oa_weights *out);
void oa_layer_views_changed(struct oa_layer_views *v, struct oa_store *s);
void oa_layer_views_zero_gradients(struct oa_layer_views *v, struct oa_store *s);

#endif
