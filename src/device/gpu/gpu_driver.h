/* SPDX-License-Identifier: Apache-2.0
 * Interface of a driver of the GPU device: memory, copies, compilation and launches, in the order
 * of one queue. OpenCL and CUDA fill this table; their libraries are loaded when a device is
 * opened, and are not needed to build or run without one.
 *
 * Functions that can fail record a sentence in the context. All addresses are of the device. */
#ifndef ORTHANT_DEVICE_GPU_GPU_DRIVER_H
#define ORTHANT_DEVICE_GPU_GPU_DRIVER_H

#include "base/base.h"
#include "kernels/kernels.h"

/* One argument of a kernel; `value` points to it. */
struct oa_gpu_argument {
    const void *value;
    size_t bytes; /* 0: an address of the device's memory */
};

/* A launch of groups[0] × groups[1] × groups[2] groups of `threads` threads. */
struct oa_gpu_grid {
    long groups[3], threads;
    int arguments;
    const struct oa_gpu_argument *argument;
    bool indirect; /* a struct among the arguments has addresses */
};

struct oa_gpu_facts {
    char name[128];    /* "NVIDIA H100 80GB HBM3" */
    char driver[128];  /* "CUDA 13.0, driver 580.159" */
    size_t memory;     /* bytes */
    bool processor;    /* it is the host's processor */
    bool matrix_units; /* it can run attention_units.cl */
};

struct oa_gpu_driver {
    const char *name; /* "opencl", "cuda" */
    /* Device `index` of those there are, from 0; a state to close, or NULL after a failure. */
    void *(*open)(oa_context *c, int index, struct oa_gpu_facts *facts);
    void (*close)(void *state);
    void *(*allocate)(void *state, oa_context *c, size_t bytes); /* NULL after a failure */
    void (*release)(void *state, void *memory);
    /* All return after the copy. */
    void (*upload)(void *state, oa_context *c, size_t bytes, const void *host, void *x);
    void (*download)(void *state, oa_context *c, size_t bytes, const void *x, void *host);
    /* These are done in the order of the queue. */
    void (*copy)(void *state, oa_context *c, size_t bytes, const void *x, void *y);
    void (*fill)(void *state, oa_context *c, size_t bytes, int byte, void *x);
    /* A program of the driver's language file and `parts` texts after it; NULL after a failure. */
    void *(*compile)(void *state, oa_context *c, const char *name, int parts,
                     const char *const *text);
    void (*forget)(void *program);
    void *(*kernel)(void *program, oa_context *c, const char *name);
    void (*launch)(void *state, oa_context *c, void *kernel, const struct oa_gpu_grid *l);
    void (*wait)(void *state, oa_context *c);
    /* A matrix product by the maker's library, C as kernels.h has it; false: there is none for it.
     * NULL: there is no library. */
    bool (*gemm)(void *state, oa_context *c, const struct oa_gemm *g, enum oa_precision p,
                 const void *a, const void *b, void *product);
};

extern const struct oa_gpu_driver oa_gpu_opencl, oa_gpu_cuda;

#endif
