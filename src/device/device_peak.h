/* SPDX-License-Identifier: Apache-2.0
 * What a device other than the processor can do at most. */
#ifndef ORTHANT_DEVICE_DEVICE_PEAK_H
#define ORTHANT_DEVICE_DEVICE_PEAK_H

#include "base/base.h"

struct oa_device_peak {
    double flops;  /* a second, of a large matrix product in this precision on random numbers */
    double bytes;  /* a second, read and written by a large copy */
    char name[64]; /* "cuda:0" */
};

/* Measures the context's device: the median of some runs each. False, with nothing measured, where
 * it is the processor (kernels/kernel_bench.h measures that) or after a failure. */
bool oa_device_peak_measure(oa_context *c, enum oa_precision p, struct oa_device_peak *out);

#endif
