/* SPDX-License-Identifier: Apache-2.0 */
#include "device/observers/witness.h"

#include <string.h>

static void look(const struct oa_device *d, const void *x)
{
    const struct oa_witness *w = d->witness;
    uintptr_t at = (uintptr_t)x, first = (uintptr_t)w->memory;
    if (at >= first && at - first < w->bytes)
        w->saw(w->argument, at - first);
}

/* Whatever in a struct has the value of such an address is taken for one: a number that looks like
 * an address is a mistake on the safe side, a field that a list forgot would not be. */
static void look_into(const struct oa_device *d, const void *fields, size_t bytes)
{
    for (size_t i = 0; i + sizeof(void *) <= bytes; i += sizeof(void *)) {
        const void *x;
        memcpy(&x, (const char *)fields + i, sizeof x);
        look(d, x);
    }
}

/* ---- the table: every operation, after a look at what it is given. Arguments are named twice:
 * once to be looked at, once to be passed on. ---- */

static const void *seen(const struct oa_device *d, const void *x)
{
    look(d, x);
    return x;
}

static const void *seen_into(const struct oa_device *d, const void *fields, size_t bytes)
{
    if (fields)
        look_into(d, fields, bytes);
    return fields;
}

#define AT(x) (void *)(uintptr_t)seen(d, x)
#define OF(type, a) (struct oa_##type *)(uintptr_t)seen_into(d, a, sizeof *(a))
#define OA_DO(name, parameters, arguments)                                                         \
    static void witnessed_##name parameters                                                        \
    {                                                                                              \
        d->witness->base->name arguments;                                                          \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type witnessed_##name parameters                                                        \
    {                                                                                              \
        return d->witness->base->name arguments;                                                   \
    }
#include "device/operations.def"
#undef OA_DO
#undef OA_ASK

static struct oa_device_ops witnessed(const struct oa_device_ops *base)
{
    struct oa_device_ops ops = *base;
#define OA_DO(name, parameters, arguments) ops.name = witnessed_##name;
#define OA_ASK(type, name, parameters, arguments) ops.name = witnessed_##name;
#include "device/operations.def"
#undef OA_DO
#undef OA_ASK
    return ops;
}

void oa_witness_init(struct oa_witness *w, struct oa_device *d, const void *memory, size_t bytes,
                     void (*saw)(void *argument, size_t offset), void *argument)
{
    *w = (struct oa_witness){ d, d->ops, witnessed(d->ops), memory, bytes, saw, argument };
}

void oa_witness_begin(struct oa_witness *w)
{
    w->device->witness = w;
    w->device->ops = &w->ops;
}

void oa_witness_end(struct oa_witness *w)
{
    w->device->ops = w->base;
    w->device->witness = NULL;
}
