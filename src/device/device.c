/* SPDX-License-Identifier: Apache-2.0
 * The table of devices; opening and closing one. */
#include "device/device.h"

#include <string.h>

static const struct oa_device_ops *const devices[] = { &oa_device_cpu, &oa_device_plan };

static const struct oa_device_ops *find(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (strcmp(devices[i]->name, name) == 0)
            return devices[i];
    return NULL;
}

static const struct oa_device_ops *choose(const oa_context *c, bool dry)
{
    const struct oa_device_ops *chosen = dry ? NULL : oa_context_device(c);
    return chosen ? chosen : find(dry ? "plan" : "cpu");
}

enum oa_error oa_device_open(oa_context *c, enum oa_precision p, bool dry, struct oa_device **out)
{
    struct oa_device *d = oa_alloc(c, sizeof *d);
    *out = d;
    if (!d)
        return oa_status(c);
    d->context = c;
    d->ops = choose(c, dry);
    d->dry = d->ops->dry;
    d->numbers = oa_numbers_of(p);
    oa_arena_init(&d->scratch, c, d->dry);
    return d->ops->open(d);
}

void oa_device_close(struct oa_device *d)
{
    if (!d)
        return;
    d->ops->close(d);
    oa_arena_free(&d->scratch);
    oa_free(d);
}

void oa_device_settle(struct oa_device *d)
{
    d->ops->settle(d);
}
