/* SPDX-License-Identifier: Apache-2.0
 * Opening and closing devices. */
#include "device/device.h"
#include "device/device_list.h"

#define KIND(id, name) #name,
const char *const oa_unary_names[] = { OA_UNARY_KINDS(KIND) };
const char *const oa_binary_names[] = { OA_BINARY_KINDS(KIND) };
#undef KIND
#define KIND(id, name) #name "_gradient",
const char *const oa_unary_gradient_names[] = { OA_UNARY_KINDS(KIND) };
#undef KIND
#define KIND(id, name) #name "_gated",
const char *const oa_gated_names[] = { OA_UNARY_KINDS(KIND) };
#undef KIND
#define KIND(id, name) #name "_gated_gradient",
const char *const oa_gated_gradient_names[] = { OA_UNARY_KINDS(KIND) };
#undef KIND

/* NULL: complete. */
static const char *missing_operation(const struct oa_device_ops *ops)
{
    if (!ops->open || !ops->close || !ops->allocate || !ops->release)
        return "open, close, allocate or release";
#define OA_REQUIRED_OPERATIONS
#define OA_DO(operation, parameters, arguments)                                                    \
    if (!ops->operation)                                                                           \
        return #operation;
#define OA_ASK(type, operation, parameters, arguments) OA_DO(operation, parameters, arguments)
#include "device/operations.def"
    return NULL;
}

/* Sets the number of the device where it is one of several of its kind. */
static const struct oa_device_ops *device_of(oa_context *c, int *number)
{
    static const struct oa_device_ops *const tables[] = { [OA_DEVICE_CPU] = &oa_device_cpu,
                                                          [OA_DEVICE_OPENCL] = &oa_device_opencl,
                                                          [OA_DEVICE_CUDA] = &oa_device_cuda };
    enum oa_device_kind kind = oa_context_device_kind(c);
    *number = oa_context_device_number(c);
    if (oa_context_device(c))
        return oa_context_device(c);
    if (kind == OA_DEVICE_AUTO)
        oa_device_auto(c, &kind, number);
    return tables[kind];
}

enum oa_error oa_device_open(oa_context *c, enum oa_precision p, bool dry, struct oa_device **out)
{
    struct oa_device *d = oa_alloc(c, sizeof *d);
    *out = d;
    if (!d)
        return oa_status(c);
    d->context = c;
    d->ops = dry ? &oa_device_plan : device_of(c, &d->number);
    d->dry = d->ops->dry;
    d->numbers = oa_numbers_of(p);
    oa_arena_init(&d->scratch, c, d->dry);
    const char *missing = missing_operation(d->ops);
    if (missing)
        return oa_fail(c, OA_UNSUPPORTED, "device %s lacks operation %s", d->ops->name, missing);
    return d->ops->open(d);
}

void oa_device_close(struct oa_device *d)
{
    if (!d)
        return;
    if (d->ops->close)
        d->ops->close(d);
    oa_arena_free(&d->scratch);
    oa_free(d);
}

void oa_device_settle(struct oa_device *d)
{
    if (d->ops->settle)
        d->ops->settle(d);
}

void oa_device_sync(struct oa_device *d)
{
    if (d->ops->sync)
        d->ops->sync(d);
}
