/* SPDX-License-Identifier: Apache-2.0
 * A device for tests: each operation is done by the OpenCL device, and in f64 by the CPU as well,
 * on the same memory; where a number differs the program ends and names the operation. */
#ifndef ORTHANT_TESTS_COMPARED_H
#define ORTHANT_TESTS_COMPARED_H

#include "device/device.h"

/* In f32 and bf16 too, memory that the CPU's operation leaves is checked to be left. */
extern bool oa_compared_guards;

/* oa_open on this device; tests are built with this in place of oa_open. */
oa_context *oa_compared_open(const struct oa_settings *settings);
/* The same, of the OpenCL device alone, which each operation waits for. */
oa_context *oa_waiting_open(const struct oa_settings *settings);

#endif
