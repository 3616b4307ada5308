/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU's operations on memory that nobody else can reach. An address that is handed out lies in
 * pages without any right of access; behind it, elsewhere, is the memory. The table's functions
 * turn the one into the other and call the CPU's. So the program ends where an element is touched
 * without the device, and where the device is given an address that is not its own: a host's, one
 * that was released, one out of bounds by a page. What is not written holds NaN.
 */
#include "guarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct range {
    struct range *next;
    char *handed_out, *memory;
    size_t bytes, mapped;
};

static _Noreturn void stop(const char *what, const void *address)
{
    fprintf(stderr, "guarded device: %s: %p\n", what, address);
    abort();
}

static bool is_in(const struct range *r, const void *x)
{
    return (const char *)x >= r->handed_out && (const char *)x <= r->handed_out + r->bytes;
}

static void *at(const struct oa_device *d, const void *x)
{
    if (!x)
        return NULL;
    for (const struct range *r = d->own; r; r = r->next)
        if (is_in(r, x))
            return r->memory + ((const char *)x - r->handed_out);
    stop("an operation is given an address that is not of the device's memory", x);
}

/* ---- memory ---- */

static void *map(size_t bytes, int rights)
{
    void *memory = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        stop("no memory", NULL);
    return memory;
}

/* A page more than is asked for, so that the end of one range is not the beginning of another. */
static void *allocate(struct oa_device *d, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct range *r = malloc(sizeof *r);
    if (!r)
        stop("no memory", NULL);
    *r = (struct range){ .next = d->own, .bytes = bytes, .mapped = (bytes / page + 2) * page };
    r->handed_out = map(r->mapped, PROT_NONE);
    r->memory = map(r->mapped, PROT_READ | PROT_WRITE);
    memset(r->memory, 0xff, bytes);
    d->own = r;
    return r->handed_out;
}

static void release(struct oa_device *d, void *memory)
{
    struct range **link = (struct range **)(void *)&d->own, *r;
    while (*link && (*link)->handed_out != (char *)memory)
        link = &(*link)->next;
    if (!(r = *link))
        stop("what was never handed out is released", memory);
    *link = r->next;
    munmap(r->handed_out, r->mapped);
    munmap(r->memory, r->mapped);
    free(r);
}

static void close_guarded(struct oa_device *d)
{
    if (d->own)
        stop("the device is closed before its memory is released",
             ((struct range *)d->own)->handed_out);
    oa_device_cpu.close(d);
}

static enum oa_error open_guarded(struct oa_device *d)
{
    return oa_device_cpu.open(d);
}

static void settle(struct oa_device *d)
{
    oa_device_cpu.settle(d);
}

#include "translated.h"

/* ---- the table ---- */

#define OA_DO(name, parameters, arguments)                                                         \
    static void guarded_##name parameters                                                          \
    {                                                                                              \
        oa_device_cpu.name arguments;                                                              \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type guarded_##name parameters                                                          \
    {                                                                                              \
        return oa_device_cpu.name arguments;                                                       \
    }
#include "device/operations.def"

const struct oa_device_ops oa_device_guarded = {
    .name = "guarded",
    .open = open_guarded,
    .close = close_guarded,
    .settle = settle,
    .allocate = allocate,
    .release = release,
#define OA_DO(name, parameters, arguments) .name = guarded_##name,
#define OA_ASK(type, name, parameters, arguments) .name = guarded_##name,
#include "device/operations.def"
};

oa_context *oa_guarded_open(const struct oa_settings *settings)
{
    oa_context *c = oa_open(settings);
    if (c)
        oa_context_set_device(c, &oa_device_guarded);
    return c;
}
