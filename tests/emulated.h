/* SPDX-License-Identifier: Apache-2.0
 * The GPU device's kernels compiled for the host (emulated_kernels.cpp), run thread by thread with
 * every access checked: a filling of the driver table that finds races and accesses outside of an
 * allocation. What it finds ends the process with a sentence. */
#ifndef ORTHANT_TESTS_EMULATED_H
#define ORTHANT_TESTS_EMULATED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct emulated_kernel {
    const char *program, *name;
    int parameters;
    const size_t *bytes; /* of each parameter; an address: 0 */
    void (*call)(const void *const *argument);
    size_t smallest; /* bytes of a number that it may write */
};

/* All kernels of a precision, up to one without a name. */
extern const struct emulated_kernel emulated_f32[], emulated_bf16[], emulated_f64[];

/* The thread that runs, its group, and how many groups there are. */
extern struct emulated_place {
    long group[3], groups[3];
    int thread;
} emulated_at;

void emulated_barrier(int line);

#ifdef __cplusplus
}
#else
#include "device/gpu/gpu.h"

extern const struct oa_gpu_driver emulated_driver;
extern size_t emulated_bytes, emulated_most_bytes; /* allocated now; at most so far */
extern bool emulated_bounds_only; /* races are not looked for: several times as fast */

/* The table of the GPU device on that driver. */
const struct oa_device_ops *oa_emulated_device(void);
#endif

#endif
