/* SPDX-License-Identifier: Apache-2.0
 * The GPU device: its tables, one for OpenCL and one for CUDA, its memory, and its programs, which
 * are compiled when the first of their kernels is launched. */
#include "device/gpu/gpu.h"

#include <string.h>

/* ---- opening ---- */

enum oa_error oa_gpu_open(struct oa_device *d, const struct oa_gpu_driver *driver)
{
    struct oa_gpu *g = oa_alloc(d->context, sizeof *g);
    d->own = g;
    if (!g)
        return oa_status(d->context);
    g->driver = driver;
    g->state = driver->open(d->context, d->number, &g->facts);
    d->host_processor = g->facts.processor;
    return oa_status(d->context);
}

static enum oa_error open_opencl_device(struct oa_device *d)
{
    return oa_gpu_open(d, &oa_gpu_opencl);
}

static enum oa_error open_cuda_device(struct oa_device *d)
{
    return oa_gpu_open(d, &oa_gpu_cuda);
}

static void gpu_close(struct oa_device *d)
{
    struct oa_gpu *g = oa_gpu_of(d);
    if (!g)
        return;
    for (struct oa_gpu_block *b = g->scratch, *next; b; b = next) {
        next = b->next;
        g->driver->release(g->state, b->memory);
        oa_free(b);
    }
    for (int i = 0; i < OA_GPU_PROGRAMS; i++)
        if (g->program[i])
            g->driver->forget(g->program[i]);
    if (g->state)
        g->driver->close(g->state);
    oa_free(g);
}

static void gpu_sync(struct oa_device *d)
{
    oa_gpu_of(d)->driver->wait(oa_gpu_of(d)->state, d->context);
}

/* ---- memory ---- */

static void *gpu_allocate(struct oa_device *d, size_t bytes)
{
    return oa_gpu_of(d)->driver->allocate(oa_gpu_of(d)->state, d->context, bytes);
}

static void gpu_release(struct oa_device *d, void *memory)
{
    if (memory)
        oa_gpu_of(d)->driver->release(oa_gpu_of(d)->state, memory);
}

void oa_gpu_upload(struct oa_device *d, size_t bytes, const void *host, void *x)
{
    oa_gpu_of(d)->driver->upload(oa_gpu_of(d)->state, d->context, bytes, host, x);
}

void oa_gpu_download(struct oa_device *d, size_t bytes, const void *x, void *host)
{
    oa_gpu_of(d)->driver->download(oa_gpu_of(d)->state, d->context, bytes, x, host);
}

void oa_gpu_copy(struct oa_device *d, size_t bytes, const void *x, void *y)
{
    oa_gpu_of(d)->driver->copy(oa_gpu_of(d)->state, d->context, bytes, x, y);
}

void oa_gpu_fill(struct oa_device *d, size_t bytes, int byte, void *x)
{
    oa_gpu_of(d)->driver->fill(oa_gpu_of(d)->state, d->context, bytes, byte, x);
}

void oa_gpu_zero(struct oa_device *d, size_t bytes, void *x)
{
    oa_gpu_fill(d, bytes, 0, x);
}

/* Scratch memory is a list of blocks, filled one after the other and freed when the device is
 * closed. A mark is the number of bytes in use. */
size_t oa_gpu_mark(struct oa_device *d)
{
    size_t used = 0;
    for (const struct oa_gpu_block *b = oa_gpu_of(d)->scratch; b; b = b->next)
        used += b->used;
    return used;
}

void oa_gpu_give_back(struct oa_device *d, size_t mark)
{
    for (struct oa_gpu_block *b = oa_gpu_of(d)->scratch; b; b = b->next) {
        b->used = b->used < mark ? b->used : mark;
        mark -= b->used;
    }
}

static struct oa_gpu_block *add_scratch_block(struct oa_device *d, struct oa_gpu_block **link,
                                              size_t bytes)
{
    struct oa_gpu_block *b = oa_alloc(d->context, sizeof *b);
    if (!b)
        return NULL;
    b->bytes = bytes > ((size_t)1 << 20) ? bytes : (size_t)1 << 20;
    b->memory = gpu_allocate(d, b->bytes);
    if (!b->memory) {
        oa_free(b);
        return NULL;
    }
    return *link = b;
}

/* A block without enough room counts as full, so that a mark determines the bytes of each block. */
void *oa_gpu_take(struct oa_device *d, size_t bytes)
{
    struct oa_gpu_block **link = &oa_gpu_of(d)->scratch;
    bytes = (bytes + 255) / 256 * 256;
    while (*link && (*link)->bytes - (*link)->used < bytes) {
        (*link)->used = (*link)->bytes;
        link = &(*link)->next;
    }
    struct oa_gpu_block *b = *link ? *link : add_scratch_block(d, link, bytes);
    if (!b)
        return NULL;
    b->used += bytes;
    return (char *)b->memory + b->used - bytes;
}

/* ---- programs ---- */

static const char *precision_text(const struct oa_device *d)
{
    switch (d->numbers.precision) {
    case OA_PRECISION_BF16:
        return "#define ACT_BF16\n";
    case OA_PRECISION_F64:
        return "#define REAL_F64\n";
    default:
        return "\n";
    }
}

/* NULL after a failure. */
static void *program_of(struct oa_device *d, enum oa_gpu_program p)
{
    extern const char oa_numbers_cl[];
#define OA_GPU_PROGRAM(name) extern const char oa_##name##_cl[];
#define OA_GPU_KERNEL(program, name)
#include "device/gpu/gpu_kernels.def"
    static const struct {
        const char *name, *text;
    } programs[] = {
#define OA_GPU_PROGRAM(name) { #name, oa_##name##_cl },
#define OA_GPU_KERNEL(program, name)
#include "device/gpu/gpu_kernels.def"
    };
    struct oa_gpu *g = oa_gpu_of(d);
    if (!g->program[p])
        g->program[p] = g->driver->compile(
            g->state, d->context, programs[p].name, 3,
            (const char *const[]){ precision_text(d), oa_numbers_cl, programs[p].text });
    return oa_status(d->context) ? NULL : g->program[p];
}

static void *kernel_of(struct oa_device *d, enum oa_gpu_kernel k)
{
    static const struct {
        enum oa_gpu_program program;
        const char *name;
    } kernels[] = {
#define OA_GPU_PROGRAM(name)
#define OA_GPU_KERNEL(program, name) { OA_GPU_PROGRAM_##program, #name },
#include "device/gpu/gpu_kernels.def"
    };
    struct oa_gpu *g = oa_gpu_of(d);
    if (!g->kernel[k]) {
        void *program = program_of(d, kernels[k].program);
        g->kernel[k] = program ? g->driver->kernel(program, d->context, kernels[k].name) : NULL;
    }
    return g->kernel[k];
}

void oa_gpu_launch(struct oa_device *d, enum oa_gpu_kernel k, const struct oa_gpu_grid *l)
{
    if (l->groups[0] <= 0 || l->groups[1] <= 0 || l->groups[2] <= 0 || oa_status(d->context))
        return;
    void *kernel = kernel_of(d, k);
    if (kernel)
        oa_gpu_of(d)->driver->launch(oa_gpu_of(d)->state, d->context, kernel, l);
}

/* ---- tables ---- */

#define GPU_TABLE(table_name, open_device)                                                         \
    .name = table_name, .open = open_device, .close = gpu_close, .sync = gpu_sync,                 \
    .allocate = gpu_allocate, .release = gpu_release

const struct oa_device_ops oa_device_opencl = {
    GPU_TABLE("opencl", open_opencl_device),
#define OA_REQUIRED_OPERATIONS
#define OA_DO(name, parameters, arguments) .name = oa_gpu_##name,
#define OA_ASK(type, name, parameters, arguments) .name = oa_gpu_##name,
#include "device/operations.def"
};

const struct oa_device_ops oa_device_cuda = {
    GPU_TABLE("cuda", open_cuda_device),
#define OA_REQUIRED_OPERATIONS
#define OA_DO(name, parameters, arguments) .name = oa_gpu_##name,
#define OA_ASK(type, name, parameters, arguments) .name = oa_gpu_##name,
#include "device/operations.def"
};
