/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of the OpenCL device against those of the CPU. The device's memory must be the host's,
 * as with an OpenCL driver for the processor: before an operation all of it is copied; then the
 * device computes; then the memory is put back and the CPU computes. In f64 all numbers are
 * doubles, or integers that both leave as they are, so that every word of the memory can be
 * compared as a double without knowing what is where. What nobody wrote is NaN for both. */
#include "compared.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANGES = 1024, MAX_DEVICES = 64 };

struct compared {
    const struct oa_device *device; /* NULL: free */
    struct {
        char *memory, *before, *device;
        size_t bytes;
    } range[MAX_RANGES];
    int ranges;
};

static struct compared *of(struct oa_device *d)
{
    static struct compared all[MAX_DEVICES]; /* tests open devices in one thread */
    int i = 0;
    while (i < MAX_DEVICES && all[i].device != d)
        i++;
    for (int j = 0; i == MAX_DEVICES && j < MAX_DEVICES; j++)
        if (!all[j].device)
            all[i = j].device = d;
    if (i == MAX_DEVICES)
        abort();
    return all + i;
}

static void *allocate(struct oa_device *d, size_t bytes)
{
    struct compared *m = of(d);
    char *memory = oa_device_opencl.allocate(d, (bytes + 7) / 8 * 8);
    if (!memory || m->ranges == MAX_RANGES)
        return memory;
    memset(memory, 0xff, (bytes + 7) / 8 * 8);
    m->range[m->ranges].memory = memory;
    m->range[m->ranges].bytes = (bytes + 7) / 8 * 8;
    m->range[m->ranges].before = malloc(bytes + 8);
    m->range[m->ranges++].device = malloc(bytes + 8);
    return memory;
}

static void release(struct oa_device *d, void *memory)
{
    struct compared *m = of(d);
    for (int i = 0; i < m->ranges; i++)
        if (m->range[i].memory == memory) {
            free(m->range[i].before);
            free(m->range[i].device);
            m->range[i] = m->range[--m->ranges];
            break;
        }
    oa_device_opencl.release(d, memory);
}

static enum oa_error open_compared(struct oa_device *d)
{
    enum oa_error e = oa_device_opencl.open(d);
    return e ? e : oa_device_cpu.open(d);
}

static void close_compared(struct oa_device *d)
{
    of(d)->device = NULL;
    oa_device_opencl.close(d);
    oa_device_cpu.close(d);
}

static bool begin(struct oa_device *d)
{
    struct compared *m = of(d);
    oa_device_opencl.sync(d);
    for (int i = 0; i < m->ranges; i++)
        memcpy(m->range[i].before, m->range[i].memory, m->range[i].bytes);
    return d->numbers.precision == OA_PRECISION_F64;
}

static void change(struct oa_device *d)
{
    struct compared *m = of(d);
    oa_device_opencl.sync(d);
    for (int i = 0; i < m->ranges; i++) {
        memcpy(m->range[i].device, m->range[i].memory, m->range[i].bytes);
        memcpy(m->range[i].memory, m->range[i].before, m->range[i].bytes);
    }
}

static bool alike(double x, double y)
{
    if (memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)) || x == y)
        return true;
    return fabs(x - y) <= 1e-9 * (fabs(x) + fabs(y)) + 1e-12;
}

static void compare(struct oa_device *d, const char *name)
{
    struct compared *m = of(d);
    const char *sentence;
    if (oa_last_error(d->context, &sentence)) {
        fprintf(stderr, "%s: %s\n", name, sentence);
        return;
    }
    for (int i = 0; i < m->ranges; i++)
        for (size_t at = 0; at < m->range[i].bytes; at += 8) {
            double x, y;
            memcpy(&x, m->range[i].memory + at, 8);
            memcpy(&y, m->range[i].device + at, 8);
            if (alike(x, y))
                continue;
            fprintf(stderr,
                    "operation %s differs at byte %zu of range %d (%p): the CPU has %.17g, the "
                    "device %.17g, before it was %.17g\n",
                    name, at, i, (void *)(m->range[i].memory + at), x, y,
                    *(double *)(void *)(m->range[i].before + at));
            abort();
        }
}

/* ---- the table ---- */

#define OA_DO(name, parameters, arguments)                                                         \
    static void compared_##name parameters                                                         \
    {                                                                                              \
        bool f64 = begin(d);                                                                       \
        oa_device_opencl.name arguments;                                                           \
        if (!f64)                                                                                  \
            return;                                                                                \
        change(d);                                                                                 \
        oa_device_cpu.name arguments;                                                              \
        compare(d, #name);                                                                         \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type compared_##name parameters                                                         \
    {                                                                                              \
        bool f64 = begin(d);                                                                       \
        type from_device = oa_device_opencl.name arguments;                                        \
        if (!f64)                                                                                  \
            return from_device;                                                                    \
        change(d);                                                                                 \
        type from_cpu = oa_device_cpu.name arguments;                                              \
        compare(d, #name);                                                                         \
        if (!alike((double)from_cpu, (double)from_device)) {                                       \
            fprintf(stderr, "operation %s returns %.17g, the CPU %.17g\n", #name,                  \
                    (double)from_device, (double)from_cpu);                                        \
            abort();                                                                               \
        }                                                                                          \
        return from_cpu;                                                                           \
    }
#define AT(x) ((void *)(uintptr_t)(x))
#define OF(type, a) (a)
#define OA_REQUIRED_OPERATIONS
#include "device/operations.def"

static const struct oa_device_ops compared_device = {
    .name = "compared",
    .open = open_compared,
    .close = close_compared,
    .allocate = allocate,
    .release = release,
#define OA_REQUIRED_OPERATIONS
#define OA_DO(name, parameters, arguments) .name = compared_##name,
#define OA_ASK(type, name, parameters, arguments) .name = compared_##name,
#include "device/operations.def"
};

oa_context *oa_compared_open(const struct oa_settings *settings)
{
    oa_context *c = oa_open(settings);
    if (c)
        oa_context_set_device(c, &compared_device);
    return c;
}
