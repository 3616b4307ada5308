/* SPDX-License-Identifier: Apache-2.0
 * Private to src/device/gpu: the functions of the GPU device, oa_gpu_NAME for each of
 * operations.def. The kernels are in the files *.cl here, written in what OpenCL C and CUDA C++
 * have in common (opencl_language.cl, cuda_language.cl) and compiled when the device first needs
 * them, for its precision. A kernel is a line of gpu_kernels.def.
 *
 * No atomics on numbers: each sum is made by one thread, or by one group in the order of a tree, so
 * that the same device gives the same bits again. */
#ifndef ORTHANT_DEVICE_GPU_GPU_H
#define ORTHANT_DEVICE_GPU_GPU_H

#include "device/device.h"
#include "device/gpu/gpu_driver.h"

enum oa_gpu_program {
#define OA_GPU_PROGRAM(name) OA_GPU_PROGRAM_##name,
#define OA_GPU_KERNEL(program, name)
#include "device/gpu/gpu_kernels.def"
    OA_GPU_PROGRAMS
};

enum oa_gpu_kernel {
#define OA_GPU_PROGRAM(name)
#define OA_GPU_KERNEL(program, name) OA_GPU_KERNEL_##name,
#include "device/gpu/gpu_kernels.def"
    OA_GPU_KERNELS
};

struct oa_gpu_block {
    struct oa_gpu_block *next;
    void *memory;
    size_t bytes, used;
};

struct oa_gpu {
    const struct oa_gpu_driver *driver;
    void *state; /* the driver's */
    struct oa_gpu_facts facts;
    void *program[OA_GPU_PROGRAMS], *kernel[OA_GPU_KERNELS]; /* NULL: not needed yet */
    struct oa_gpu_block *scratch; /* the device's memory for one operation (oa_gpu_take) */
};

/* The `open` of a table of this device, on a driver. */
enum oa_error oa_gpu_open(struct oa_device *d, const struct oa_gpu_driver *driver);

static inline struct oa_gpu *oa_gpu_of(const struct oa_device *d)
{
    return d->own;
}

/* Threads of a group, everywhere: GROUP_SIZE of the kernels. */
enum {
    OA_GPU_GROUP = 128,
    OA_GPU_ROWS_A_SUM = 256 /* sums of columns are sums over so many rows, added in their order */
};

/* ---- launches ---- */

/* Arguments, in the order of the kernel's parameters: an address (act, real or int), a long, a
 * double, a struct. */
#define OA_GPU_AT(x)                                                                               \
    {                                                                                              \
        .value = (const void *const[])                                                             \
        {                                                                                          \
            x                                                                                      \
        }                                                                                          \
    }
#define OA_GPU_LONG(n)                                                                             \
    {                                                                                              \
        .value = (const long[]){ n }, .bytes = sizeof(long)                                        \
    }
#define OA_GPU_DOUBLE(x)                                                                           \
    {                                                                                              \
        .value = (const double[]){ x }, .bytes = sizeof(double)                                    \
    }
#define OA_GPU_STRUCT(s)                                                                           \
    {                                                                                              \
        .value = &(s), .bytes = sizeof(s)                                                          \
    }

void oa_gpu_launch(struct oa_device *d, enum oa_gpu_kernel k, const struct oa_gpu_grid *l);

#define OA_GPU_ARGUMENTS(...)                                                                      \
    .arguments =                                                                                   \
        sizeof((const struct oa_gpu_argument[]){ __VA_ARGS__ }) / sizeof(struct oa_gpu_argument),  \
    .argument = (const struct oa_gpu_argument[])                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* `rows` × `depth` groups: GROUP(0) and GROUP(1) in the kernel. Nothing where one of them is 0. */
#define OA_GPU_GROUPS(d, kernel, rows, depth, ...)                                                 \
    oa_gpu_launch(d, OA_GPU_KERNEL_##kernel,                                                       \
                  &(struct oa_gpu_grid){ .groups = { rows, depth, 1 },                             \
                                         .threads = OA_GPU_GROUP,                                  \
                                         OA_GPU_ARGUMENTS(__VA_ARGS__) })
/* The same, where a struct among the arguments has addresses. */
#define OA_GPU_INDIRECT(d, kernel, rows, depth, ...)                                               \
    oa_gpu_launch(d, OA_GPU_KERNEL_##kernel,                                                       \
                  &(struct oa_gpu_grid){ .groups = { rows, depth, 1 },                             \
                                         .threads = OA_GPU_GROUP,                                  \
                                         .indirect = true,                                         \
                                         OA_GPU_ARGUMENTS(__VA_ARGS__) })
/* At least n threads: ITEM in the kernel, which has to compare it with n. */
#define OA_GPU_EACH(d, kernel, n, ...)                                                             \
    OA_GPU_GROUPS(d, kernel, oa_blocks(n, OA_GPU_GROUP), 1, __VA_ARGS__)

/* ---- scratch ---- memory of the device until the operation ends: what an operation takes it gives
 * back by oa_gpu_give_back with what oa_gpu_mark returned before. NULL after a failure. ---- */

size_t oa_gpu_mark(struct oa_device *d);
void *oa_gpu_take(struct oa_device *d, size_t bytes);
void oa_gpu_give_back(struct oa_device *d, size_t mark);

static inline void *oa_gpu_take_reals(struct oa_device *d, long n)
{
    return oa_gpu_take(d, (size_t)n * d->numbers.real_size);
}

static inline void *oa_gpu_take_acts(struct oa_device *d, long n)
{
    return oa_gpu_take(d, (size_t)n * d->numbers.act_size);
}

/* sums [cols] += Σ partial [chunks, cols], of reals. */
void oa_gpu_add_partial_sums(struct oa_device *d, long chunks, long cols, const void *partial,
                             void *sums);
/* The sum of the device's doubles x [n], in their order. */
double oa_gpu_sum_doubles(struct oa_device *d, long n, const void *x);

/* gpu_attention_units.c: softmax attention on the matrix units, and its gradient. False: it is not
 * for them, and nothing was done. */
bool oa_gpu_attention_units(struct oa_device *d, const struct oa_logits *a);
bool oa_gpu_attention_units_gradient(struct oa_device *d, const struct oa_logits *a);

/* A stream as the kernels read it: two words. */
struct oa_gpu_dropout {
    struct oa_stream stream;
    double limit, grow; /* keep·2³², 1/keep; limit 2³²: nothing is dropped */
};

static inline struct oa_gpu_dropout oa_gpu_dropout_of(struct oa_stream stream, double keep)
{
    return (struct oa_gpu_dropout){ stream, keep * 4294967296.0, 1 / keep };
}

#define OA_DO(name, parameters, arguments) void oa_gpu_##name parameters;
#define OA_ASK(type, name, parameters, arguments) type oa_gpu_##name parameters;
#define OA_REQUIRED_OPERATIONS
#include "device/operations.def"

#endif
