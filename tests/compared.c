/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of a GPU device against those of the CPU. Each allocation on the device has a mirror
 * in the host's memory. An operation is done on the device and by the CPU on the mirrors; then the
 * device's memory is fetched and compared, and gets what the mirrors have. In f64 all numbers are
 * doubles, or integers that are the same in both, so that every word can be compared as a double
 * without knowing what is where. In f32 and bf16 the device computes alone, or, with
 * oa_compared_guards, the CPU after it: 64 bytes in a row that it leaves as they were (a tensor
 * begins at a multiple of 64) the device must leave too. So must all leave the zones around an
 * allocation. What nobody wrote is NaN. */
#include "compared.h"

#ifdef COMPARED_EMULATED
#include "emulated.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANGES = 4096, MAX_DEVICES = 64, ZONE = 1024, ZONE_BYTE = 0xa5, LINE = 64 };

bool oa_compared_guards;

struct range {
    char *memory, *mirror, *fetched, *before; /* before: with guards, what the device had */
    size_t bytes;
};

struct compared {
    const struct oa_device *device; /* NULL: free */
    const struct oa_device_ops *ops;
    struct range range[MAX_RANGES];
    int ranges;
};

static struct compared *compared_of(const struct oa_device *d)
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

/* ORTHANT_COMPARED=cuda: there; else on OpenCL. */
static const struct oa_device_ops *device_under_test(void)
{
#ifdef COMPARED_EMULATED
    return oa_emulated_device();
#endif
    const char *name = getenv("ORTHANT_COMPARED");
    return name && strcmp(name, "cuda") == 0 ? &oa_device_cuda : &oa_device_opencl;
}

static void *at(const struct oa_device *d, const void *x)
{
    const struct compared *m = compared_of(d);
    if (!x)
        return NULL;
    for (int i = 0; i < m->ranges; i++) {
        const struct range *r = m->range + i;
        if ((const char *)x >= r->memory && (const char *)x < r->memory + r->bytes)
            return r->mirror + ((const char *)x - r->memory);
    }
    fprintf(stderr, "an operation is given %p, which is not of the device's memory\n", x);
    abort();
}

static void *allocate(struct oa_device *d, size_t bytes)
{
    struct compared *m = compared_of(d);
    size_t whole = (bytes + 8) / 8 * 8; /* one byte more, so that the end is inside */
    char *memory = m->ops->allocate(d, whole + 2 * ZONE);
    if (!memory || m->ranges == MAX_RANGES)
        return NULL;
    m->ops->fill(d, whole + 2 * ZONE, ZONE_BYTE, memory);
    struct range r = { memory + ZONE, malloc(whole), malloc(whole), malloc(whole), whole };
    memset(r.mirror, 0xff, whole);
    m->ops->upload(d, whole, r.mirror, r.memory);
    m->range[m->ranges++] = r;
    return r.memory;
}

static void release(struct oa_device *d, void *memory)
{
    struct compared *m = compared_of(d);
    for (int i = 0; i < m->ranges; i++)
        if (m->range[i].memory == memory) {
            free(m->range[i].mirror);
            free(m->range[i].fetched);
            free(m->range[i].before);
            m->range[i] = m->range[--m->ranges];
            break;
        }
    m->ops->release(d, memory ? (char *)memory - ZONE : NULL);
}

static enum oa_error open_compared(struct oa_device *d)
{
    struct compared *m = compared_of(d);
    m->ops = device_under_test();
    m->ranges = 0;
    enum oa_error e = m->ops->open(d);
    return e ? e : oa_device_cpu.open(d);
}

static void close_compared(struct oa_device *d)
{
    compared_of(d)->ops->close(d);
    oa_device_cpu.close(d);
    compared_of(d)->device = NULL;
}

static void sync_compared(struct oa_device *d)
{
    compared_of(d)->ops->sync(d);
}

static bool alike(double x, double y)
{
    if (memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)) || x == y)
        return true;
    return fabs(x - y) <= 1e-9 * (fabs(x) + fabs(y)) + 1e-9;
}

/* Denominators of linear attention can nearly cancel: sums of 1e12 then end in gradients of order
 * 1, whose last digits are rounding on either side. What the layer returns is held elsewhere. */
static double rounding_of(const char *operation)
{
    return strcmp(operation, "linear_attention_gradient") == 0 ? 1e-2 : 0;
}

static _Noreturn void differs(const char *name, const struct range *r, size_t at_byte)
{
    double x, y;
    memcpy(&x, r->mirror + at_byte, 8);
    memcpy(&y, r->fetched + at_byte, 8);
    fprintf(stderr,
            "operation %s differs at byte %zu of %zu: the CPU has %.17g, the device %.17g\n", name,
            at_byte, r->bytes, x, y);
    abort();
}

static void compare(struct oa_device *d, const char *name)
{
    struct compared *m = compared_of(d);
    if (oa_status(d->context))
        return;
    for (int i = 0; i < m->ranges; i++) {
        struct range *r = m->range + i;
        m->ops->download(d, r->bytes, r->memory, r->fetched);
        if (memcmp(r->fetched, r->mirror, r->bytes) == 0)
            continue;
        for (size_t byte = 0; byte < r->bytes; byte += 8) {
            double x, y;
            memcpy(&x, r->mirror + byte, 8);
            memcpy(&y, r->fetched + byte, 8);
            if (!alike(x, y) && !(fabs(x - y) <= rounding_of(name)))
                differs(name, r, byte);
        }
        m->ops->upload(d, r->bytes, r->mirror, r->memory);
    }
}

/* ---- guards ---- */

static void check_zones(struct oa_device *d, const char *name)
{
    struct compared *m = compared_of(d);
    char zone[ZONE], right[ZONE];
    memset(right, ZONE_BYTE, ZONE);
    for (int i = 0; i < 2 * m->ranges; i++) {
        const struct range *r = m->range + i / 2;
        m->ops->download(d, ZONE, i % 2 ? r->memory + r->bytes : r->memory - ZONE, zone);
        if (memcmp(zone, right, ZONE) == 0)
            continue;
        fprintf(stderr, "operation %s wrote %s an allocation of %zu bytes\n", name,
                i % 2 ? "after" : "before", r->bytes);
        abort();
    }
}

/* The mirrors get what the device has. */
static void begin_guarded(struct oa_device *d)
{
    struct compared *m = compared_of(d);
    for (int i = 0; i < m->ranges; i++) {
        m->ops->download(d, m->range[i].bytes, m->range[i].memory, m->range[i].before);
        memcpy(m->range[i].mirror, m->range[i].before, m->range[i].bytes);
    }
}

/* After both: the device changed no line that the CPU left. */
static void end_guarded(struct oa_device *d, const char *name)
{
    struct compared *m = compared_of(d);
    for (int i = 0; i < m->ranges && !oa_status(d->context); i++) {
        struct range *r = m->range + i;
        m->ops->download(d, r->bytes, r->memory, r->fetched);
        for (size_t at_byte = 0; at_byte < r->bytes; at_byte += LINE) {
            size_t n = r->bytes - at_byte < LINE ? r->bytes - at_byte : LINE;
            if (memcmp(r->mirror + at_byte, r->before + at_byte, n) ||
                memcmp(r->fetched + at_byte, r->before + at_byte, n) == 0)
                continue;
            fprintf(stderr,
                    "operation %s changed bytes %zu to %zu of %zu, which the CPU's leaves\n", name,
                    at_byte, at_byte + n - 1, r->bytes);
            abort();
        }
    }
    check_zones(d, name);
}

static bool is_f64(const struct oa_device *d)
{
    return d->numbers.precision == OA_PRECISION_F64;
}

/* ---- the table ---- */

#include "translated.h"

#define OA_DO(name, parameters, arguments)                                                         \
    static void on_cpu_##name parameters                                                           \
    {                                                                                              \
        oa_device_cpu.name arguments;                                                              \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type on_cpu_##name parameters                                                           \
    {                                                                                              \
        return oa_device_cpu.name arguments;                                                       \
    }
#define OA_REQUIRED_OPERATIONS
#include "device/operations.def"

#undef AT
#undef OF
#define AT(x) ((void *)(uintptr_t)(x))
#define OF(type, a) (a)
#define OA_DO(name, parameters, arguments)                                                         \
    static void compared_##name parameters                                                         \
    {                                                                                              \
        void(*on_cpu) parameters = on_cpu_##name;                                                  \
        bool guarded = oa_compared_guards && !is_f64(d);                                           \
        if (guarded)                                                                               \
            begin_guarded(d);                                                                      \
        compared_of(d)->ops->name arguments;                                                       \
        if (!guarded && !is_f64(d))                                                                \
            return;                                                                                \
        on_cpu arguments;                                                                          \
        (guarded ? end_guarded : compare)(d, #name);                                               \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type compared_##name parameters                                                         \
    {                                                                                              \
        type(*on_cpu) parameters = on_cpu_##name;                                                  \
        bool guarded = oa_compared_guards && !is_f64(d);                                           \
        if (guarded)                                                                               \
            begin_guarded(d);                                                                      \
        type from_device = compared_of(d)->ops->name arguments;                                    \
        if (!guarded && !is_f64(d))                                                                \
            return from_device;                                                                    \
        type from_cpu = on_cpu arguments;                                                          \
        (guarded ? end_guarded : compare)(d, #name);                                               \
        if (!guarded && !alike((double)from_cpu, (double)from_device)) {                           \
            fprintf(stderr, "operation %s returns %.17g, the CPU's %.17g\n", #name,                \
                    (double)from_device, (double)from_cpu);                                        \
            abort();                                                                               \
        }                                                                                          \
        return guarded ? from_device : from_cpu;                                                   \
    }
#define OA_REQUIRED_OPERATIONS
#include "device/operations.def"

static const struct oa_device_ops compared_device = {
    .name = "compared",
    .open = open_compared,
    .close = close_compared,
    .sync = sync_compared,
    .allocate = allocate,
    .release = release,
#define OA_REQUIRED_OPERATIONS
#define OA_DO(name, parameters, arguments) .name = compared_##name,
#define OA_ASK(type, name, parameters, arguments) .name = compared_##name,
#include "device/operations.def"
};

/* Status 77 is a test that was left out. */
static void need_device(oa_context *c)
{
    static bool there;
    const char *sentence;
    struct oa_device *d;
    oa_context_set_device(c, device_under_test());
    if (!there && oa_device_open(c, OA_PRECISION_F64, false, &d)) {
        oa_last_error(c, &sentence);
        fprintf(stderr, "%s\n", sentence);
        exit(77);
    }
    if (!there)
        oa_device_close(d);
    there = true;
}

oa_context *oa_compared_open(const struct oa_settings *settings)
{
    oa_context *c = oa_open(settings);
    if (c) {
        need_device(c);
        oa_context_set_device(c, &compared_device);
    }
    return c;
}

/* ---- without the CPU: tests that have their own results, in memory of the host ---- */

#define OA_DO(name, parameters, arguments)                                                         \
    static void waiting_##name parameters                                                          \
    {                                                                                              \
        oa_device_opencl.name arguments;                                                           \
        oa_device_opencl.sync(d);                                                                  \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type waiting_##name parameters                                                          \
    {                                                                                              \
        return oa_device_opencl.name arguments;                                                    \
    }
#define OA_REQUIRED_OPERATIONS
#include "device/operations.def"

static enum oa_error open_waiting(struct oa_device *d)
{
    enum oa_error e = oa_device_opencl.open(d);
    return e ? e : oa_device_cpu.open(d);
}

static void close_waiting(struct oa_device *d)
{
    oa_device_opencl.close(d);
    oa_device_cpu.close(d);
}

static void *allocate_waiting(struct oa_device *d, size_t bytes)
{
    return oa_device_opencl.allocate(d, bytes);
}

static void release_waiting(struct oa_device *d, void *memory)
{
    oa_device_opencl.release(d, memory);
}

static const struct oa_device_ops waiting_device = {
    .name = "waiting",
    .open = open_waiting,
    .close = close_waiting,
    .allocate = allocate_waiting,
    .release = release_waiting,
#define OA_REQUIRED_OPERATIONS
#define OA_DO(name, parameters, arguments) .name = waiting_##name,
#define OA_ASK(type, name, parameters, arguments) .name = waiting_##name,
#include "device/operations.def"
};

oa_context *oa_waiting_open(const struct oa_settings *settings)
{
    oa_context *c = oa_open(settings);
    if (c)
        oa_context_set_device(c, &waiting_device);
    return c;
}
