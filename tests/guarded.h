/* SPDX-License-Identifier: Apache-2.0
 * A device whose memory cannot be touched but through the device (guarded.c). tests/CMakeLists.txt
 * builds a second form of some tests, NAME_guarded, in which every context that the test opens
 * computes on it. */
#ifndef ORTHANT_GUARDED_H
#define ORTHANT_GUARDED_H

#include "device/device.h"

extern const struct oa_device_ops oa_device_guarded;
/* As oa_open; the context's device is the guarded one. */
oa_context *oa_guarded_open(const struct oa_settings *settings);

#endif
