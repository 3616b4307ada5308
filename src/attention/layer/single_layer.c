/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/layer/single_layer.h"

enum oa_error oa_single_layer_open(oa_context *c, const char *attention, enum oa_precision p,
                                   bool dry, struct oa_single_layer *r)
{
    *r = (struct oa_single_layer){ .context = c };
    OA_TRY(oa_spec_parse(c, attention, &r->spec));
    OA_TRY(oa_device_open(c, p, dry, &r->device));
    oa_store_init(&r->store, r->device);
    oa_tape_init(&r->tape, r->device);
    return OA_OK;
}

enum oa_error oa_single_layer_layer(struct oa_single_layer *r, int number,
                                    const struct oa_layer_shape *shape)
{
    oa_layer_close(&r->layer);
    oa_store_free(&r->store);
    oa_store_init(&r->store, r->device);
    oa_tape_free(&r->tape);
    oa_tape_init(&r->tape, r->device);
    return oa_layer_open(r->context, &r->spec, number, shape, &r->store, "", &r->layer);
}

enum oa_error oa_single_layer_dry(oa_context *c, const char *attention,
                                  const struct oa_layer_shape *shape, struct oa_single_layer *r)
{
    OA_TRY(oa_single_layer_open(c, attention, OA_PRECISION_F32, true, r));
    OA_TRY(oa_single_layer_layer(r, 0, shape));
    return oa_store_allocate(&r->store, 1, false);
}

void oa_single_layer_close(struct oa_single_layer *r)
{
    oa_layer_close(&r->layer);
    if (r->device) {
        oa_tape_free(&r->tape);
        oa_store_free(&r->store);
    }
    oa_device_close(r->device);
    oa_spec_free(&r->spec);
    *r = (struct oa_single_layer){ 0 };
}
