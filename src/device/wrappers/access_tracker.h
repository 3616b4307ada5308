/* SPDX-License-Identifier: Apache-2.0
 * An access tracker wraps the operations of a device and reports every address of a range of memory
 * that an operation is given. An operation reaches no memory whose address it was not given, so
 * the tracker knows when the last operation of a kind touched a part of the range. Results are the
 * same bits. */
#ifndef ORTHANT_DEVICE_WRAPPERS_ACCESS_TRACKER_H
#define ORTHANT_DEVICE_WRAPPERS_ACCESS_TRACKER_H

#include "device/device.h"

struct oa_access_tracker {
    struct oa_device *device;
    const struct oa_device_ops *base; /* the wrapped table */
    struct oa_device_ops ops;
    const char *memory; /* the range */
    size_t bytes;
    /* Called for each address in the range, before the operation runs. */
    void (*report)(void *argument, size_t offset);
    void *argument;
};

/* Tracks `bytes` from `memory` on. One tracker per device. */
void oa_access_tracker_init(struct oa_access_tracker *t, struct oa_device *d, const void *memory,
                            size_t bytes, void (*report)(void *argument, size_t offset),
                            void *argument);
/* The device's operations go through the tracker from start to stop; before and after they do not.
 */
void oa_access_tracker_start(struct oa_access_tracker *t);
void oa_access_tracker_stop(struct oa_access_tracker *t);

#endif
