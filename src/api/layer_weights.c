/* SPDX-License-Identifier: Apache-2.0 */
#include "api/layer_weights.h"

#include <string.h>

enum oa_error oa_layer_views_open(struct oa_layer_views *v, struct oa_single_layer *layer,
                                  uint64_t seed)
{
    OA_TRY(oa_store_allocate(&layer->store, seed, true));
    const struct oa_store *s = &layer->store;
    size_t real = layer->device->numbers.real_size;
    oa_view_open(&v->values, layer->device, s->values, (size_t)s->total * real, OA_VIEW_READ);
    oa_view_open(&v->gradients, layer->device, s->gradients, (size_t)s->live * real, OA_VIEW_READ);
    return oa_status(layer->context);
}

void oa_layer_views_close(struct oa_layer_views *v)
{
    oa_view_close(&v->values);
    oa_view_close(&v->gradients);
}

/* An address of the device's as the caller sees what is there. */
static void *address_in_view(const struct oa_view *v, const void *address)
{
    return address ? (char *)v->host + ((const char *)address - (const char *)v->memory) : NULL;
}

int oa_layer_views_weights(const struct oa_layer_views *v, const struct oa_store *s, int i,
                           struct oa_weights *out)
{
    if (i < 0 || i >= s->count)
        return 0;
    const struct oa_parameter *p = s->parameter[i];
    *out = (struct oa_weights){ .name = p->name,
                                .dims = p->dims,
                                .count = p->count,
                                .value = address_in_view(&v->values, p->value),
                                .gradient = address_in_view(&v->gradients, p->gradient) };
    memcpy(out->dim, p->dim, sizeof out->dim);
    return 1;
}

void oa_layer_views_changed(struct oa_layer_views *v, struct oa_store *s)
{
    oa_view_store(&v->values);
    oa_store_refresh(s);
}

void oa_layer_views_zero_gradients(struct oa_layer_views *v, struct oa_store *s)
{
    oa_store_zero_gradients(s);
    oa_view_fetch(&v->gradients);
}
