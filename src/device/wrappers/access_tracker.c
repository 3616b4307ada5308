/* SPDX-License-Identifier: Apache-2.0 */
#include "device/wrappers/access_tracker.h"

#include <string.h>

static const void *track_address(const struct oa_device *d, const void *x)
{
    const struct oa_access_tracker *t = d->tracker;
    uintptr_t at = (uintptr_t)x, first = (uintptr_t)t->memory;
    if (at >= first && at - first < t->bytes)
        t->report(t->argument, at - first);
    return x;
}

/* Every field that has the value of an address in the range counts as one: a number that happens to
 * look like an address is a false alarm, which is harmless; a list of fields could miss one. */
static const void *track_fields(const struct oa_device *d, const void *fields, size_t bytes)
{
    for (size_t i = 0; fields && i + sizeof(void *) <= bytes; i += sizeof(void *)) {
        const void *x;
        memcpy(&x, (const char *)fields + i, sizeof x);
        track_address(d, x);
    }
    return fields;
}

/* pointers: n of them, each to so many bytes. */
static void track_all(const struct oa_device *d, long n, const void *pointers, size_t bytes)
{
    for (long i = 0; i < n; i++) {
        const void *x;
        memcpy(&x, oa_at(pointers, sizeof x, i), sizeof x);
        track_fields(d, x, bytes);
    }
}

/* ---- the table: each operation reports what it is given, then runs ---- */

#define AT(x) (void *)(uintptr_t)track_address(d, x)
#define OF(type, a) (struct oa_##type *)(uintptr_t)track_fields(d, a, sizeof *(a))
#define ALL(type, n, a) (track_all(d, n, a, sizeof **(a)), a)
#define OA_DO(name, parameters, arguments)                                                         \
    static void tracked_##name parameters                                                          \
    {                                                                                              \
        d->tracker->base->name arguments;                                                          \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type tracked_##name parameters                                                          \
    {                                                                                              \
        return d->tracker->base->name arguments;                                                   \
    }
#include "device/operations.def"

void oa_access_tracker_init(struct oa_access_tracker *t, struct oa_device *d, const void *memory,
                            size_t bytes, void (*report)(void *argument, size_t offset),
                            void *argument)
{
    *t = (struct oa_access_tracker){ d, d->ops, *d->ops, memory, bytes, report, argument };
#define OA_DO(name, parameters, arguments) t->ops.name = t->base->name ? tracked_##name : NULL;
#define OA_ASK(type, name, parameters, arguments) OA_DO(name, parameters, arguments)
#include "device/operations.def"
}

void oa_access_tracker_start(struct oa_access_tracker *t)
{
    t->device->tracker = t;
    t->device->ops = &t->ops;
}

void oa_access_tracker_stop(struct oa_access_tracker *t)
{
    t->device->ops = t->base;
    t->device->tracker = NULL;
}
