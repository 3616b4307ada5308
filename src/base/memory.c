/* SPDX-License-Identifier: Apache-2.0
 * Aligned memory. Large blocks use huge pages: a step walks through hundreds of megabytes, and with
 * 4 kB pages TLB misses would dominate. */
#include "base/asan_poison.h"
#include "base/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *oa_alloc_raw(oa_context *c, size_t bytes)
{
    atomic_fetch_add_explicit(&c->allocations, 1, memory_order_relaxed);
    void *memory = NULL;
    if (bytes <= SIZE_MAX / 2) {
        size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : OA_ALIGN;
        size_t whole = ((bytes ? bytes : 1) + unit - 1) / unit * unit;
        memory = aligned_alloc(unit, whole);
        if (memory)
            oa_asan_poison((char *)memory + bytes, whole - bytes);
#ifdef MADV_HUGEPAGE
        if (memory && unit == HUGE_PAGE)
            (void)madvise(memory, whole, MADV_HUGEPAGE); /* best effort */
#endif
    }
    if (!memory)
        oa_fail(c, OA_NO_MEMORY, "out of memory: cannot allocate %zu bytes (%.1f MiB)", bytes,
                (double)bytes / 1048576.0);
    return memory;
}

void *oa_alloc(oa_context *c, size_t bytes)
{
    void *memory = oa_alloc_raw(c, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

void *oa_grow(oa_context *c, void *old, size_t old_bytes, size_t bytes)
{
    char *memory = oa_alloc_raw(c, bytes);
    if (!memory)
        return NULL;
    size_t copied = old_bytes < bytes ? old_bytes : bytes;
    if (copied)
        memcpy(memory, old, copied);
    memset(memory + copied, 0, bytes - copied);
    oa_free(old);
    return memory;
}

void oa_free(void *memory)
{
    free(memory);
}

char *oa_copy_text(oa_context *c, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = oa_alloc_raw(c, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

long oa_allocations(const oa_context *c)
{
    return atomic_load_explicit(&c->allocations, memory_order_relaxed);
}
