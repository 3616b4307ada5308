/* SPDX-License-Identifier: Apache-2.0
 * A meter wraps the operations of a device: calls, seconds and, on the plan device, FLOPs and bytes
 * of each operation, by the place in the model where it ran. Results are the same bits. */
#ifndef ORTHANT_DEVICE_WRAPPERS_METER_H
#define ORTHANT_DEVICE_WRAPPERS_METER_H

#include "device/device.h"

/* One operation at one place. op, stack and place are literals; stack and place are those of
 * oa_meter_at. */
struct oa_metered {
    const char *op, *stack, *place;
    bool backward;
    long calls;
    double seconds;                /* by the meter's clock; 0 on the plan device */
    double flops, computed, bytes; /* as struct oa_device has them; 0 on others */
};
enum { OA_METERED = 512 }; /* operations at places */
struct oa_meter {
    struct oa_device *device;
    const struct oa_device_ops *base; /* the wrapped table */
    struct oa_device_ops ops;
    double (*clock)(void);
    const char *stack, *place;
    bool backward;
    struct oa_metered row[OA_METERED]; /* in the order of their first call; the last one also has
                                          what found no row */
    int rows;
};

/* The device's operations go through the meter until it is closed; close it before the device.
 * clock: seconds. */
void oa_meter_open(struct oa_meter *m, struct oa_device *d, double (*clock)(void));
void oa_meter_close(struct oa_meter *m);
void oa_meter_clear(struct oa_meter *m); /* zeros in all rows */
/* Where the operations that follow belong: literals, or NULL. No effect without a meter. */
void oa_meter_at(struct oa_device *d, const char *stack, const char *place, bool backward);

#endif
