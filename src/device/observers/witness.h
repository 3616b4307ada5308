/* SPDX-License-Identifier: Apache-2.0
 *
 * A witness between a device and whoever uses it: says of every operation which addresses of a
 * stretch of memory it was given. Nothing can be read or written there by an operation that was not
 * given an address of it, so a witness knows when the last operation of a kind was there, whatever
 * that operation is. The numbers that are made are the same.
 */
#ifndef ORTHANT_DEVICE_OBSERVERS_WITNESS_H
#define ORTHANT_DEVICE_OBSERVERS_WITNESS_H

#include "device/device.h"

struct oa_witness {
    struct oa_device *device;
    const struct oa_device_ops *base; /* what it stands before */
    struct oa_device_ops ops;
    const char *memory; /* the stretch */
    size_t bytes;
    void (*saw)(void *argument,
                size_t offset); /* in the stretch, of an address; before the operation runs */
    void *argument;
};

/* Looks at `bytes` from `memory` on. One witness a device. */
void oa_witness_init(struct oa_witness *w, struct oa_device *d, const void *memory, size_t bytes,
                     void (*saw)(void *argument, size_t offset), void *argument);
/* The device's operations go through the witness from begin to end. Others may run outside of that.
 */
void oa_witness_begin(struct oa_witness *w);
void oa_witness_end(struct oa_witness *w);

#endif
