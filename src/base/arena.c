/* SPDX-License-Identifier: Apache-2.0
 * Arenas. Positions (`used`, marks) count the bytes taken, each rounded up to OA_ALIGN, across all
 * chunks; the unused tail of a full chunk does not count. So a dry arena, which has no chunks,
 * counts the same, and one chunk of `peak` bytes fits exactly the second use. */
#include "base/asan_poison.h"
#include "base/context.h"

#include <string.h>

#define SMALLEST_CHUNK ((size_t)64 << 10)

struct oa_chunk {
    struct oa_chunk *older;
    char *memory; /* of the source: possibly not host memory */
    size_t start; /* arena position of the chunk's first byte */
    size_t used, size;
};

void oa_arena_init_from(struct oa_arena *a, oa_context *c, const struct oa_memory_source *source,
                        void *owner)
{
    *a = (struct oa_arena){ .context = c, .source = source, .owner = owner };
#ifdef ORTHANT_POISON
    a->poison = true;
#endif
}

void oa_arena_init(struct oa_arena *a, oa_context *c, bool dry)
{
    oa_arena_init_from(a, c, NULL, NULL);
    a->dry = dry;
}

static void arena_free_chunk(struct oa_arena *a, struct oa_chunk *k)
{
    if (a->source)
        a->source->release(a->owner, k->memory);
    else
        oa_free(k->memory);
    oa_free(k);
}

static void arena_free_chunks(struct oa_arena *a)
{
    while (a->chunks) {
        struct oa_chunk *k = a->chunks;
        a->chunks = k->older;
        arena_free_chunk(a, k);
    }
}

void oa_arena_free(struct oa_arena *a)
{
    arena_free_chunks(a);
    a->used = 0;
}

static bool arena_add_chunk(struct oa_arena *a, size_t size)
{
    struct oa_chunk *k = oa_alloc(a->context, sizeof *k);
    char *memory = !k          ? NULL
                   : a->source ? a->source->allocate(a->owner, size)
                               : oa_alloc_raw(a->context, size);
    if (!memory) {
        oa_free(k);
        return false;
    }
    *k = (struct oa_chunk){ .older = a->chunks, .memory = memory, .start = a->used, .size = size };
    a->chunks = k;
    oa_asan_poison(memory, size);
    return true;
}

/* Releases what was taken of a chunk from `used` on. */
static void chunk_truncate(struct oa_chunk *k, size_t used)
{
    oa_asan_poison(k->memory + used, k->used - used);
    k->used = used;
}

void oa_arena_reset(struct oa_arena *a)
{
    a->used = 0;
    if (a->chunks && a->chunks->older) {
        arena_free_chunks(a);
        arena_add_chunk(a, a->peak);
    }
    if (a->chunks) {
        a->chunks->start = 0;
        chunk_truncate(a->chunks, 0);
    }
}

/* `bytes` for the caller, `room` with padding. */
static void *arena_take_memory(struct oa_arena *a, size_t bytes, size_t room)
{
    struct oa_chunk *k = a->chunks;
    if (!k || k->size - k->used < room) {
        /* At least doubles the arena, so that chunks stay few. */
        size_t size = a->used > SMALLEST_CHUNK ? a->used : SMALLEST_CHUNK;
        if (!arena_add_chunk(a, room > size ? room : size))
            return NULL;
        k = a->chunks;
    }
    char *memory = k->memory + k->used;
    k->used += room;
    oa_asan_unpoison(memory, bytes);
    if (a->poison && a->source)
        a->source->spoil(a->owner, memory, bytes);
    else if (a->poison)
        memset(memory, 0xff, bytes);
    return memory;
}

void *oa_arena_take(struct oa_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2 || a->used > SIZE_MAX / 2) {
        oa_fail(a->context, OA_NO_MEMORY, "out of memory: %zu bytes in use, %zu more requested",
                a->used, bytes);
        return NULL;
    }
    /* Never empty, and with ASan always followed by a poisoned byte. */
    size_t least = OA_ASAN || bytes == 0 ? bytes + 1 : bytes;
    size_t room = (least + OA_ALIGN - 1) / OA_ALIGN * OA_ALIGN;
    /* Addresses of a dry arena are never dereferenced: aligned and not NULL. */
    void *memory =
        a->dry ? (void *)(uintptr_t)(OA_ALIGN + a->used) : arena_take_memory(a, bytes, room);
    if (memory) {
        a->used += room;
        a->peak = a->used > a->peak ? a->used : a->peak;
    }
    return memory;
}

void oa_arena_reserve(struct oa_arena *a, size_t bytes)
{
    size_t peak = a->peak;
    if (oa_arena_take(a, bytes))
        oa_arena_reset(a);
    a->peak = peak;
}

size_t oa_arena_mark(const struct oa_arena *a)
{
    return a->used;
}

/* Frees the chunks that become empty, except the newest, which is the largest. */
static void arena_free_empty(struct oa_arena *a, size_t mark)
{
    struct oa_chunk *newest = a->chunks;
    if (newest->start < mark)
        return;
    while (newest->older && newest->older->start >= mark) {
        struct oa_chunk *k = newest->older;
        newest->older = k->older;
        arena_free_chunk(a, k);
    }
    newest->start = mark;
}

void oa_arena_release(struct oa_arena *a, size_t mark)
{
    if (mark == 0) {
        oa_arena_reset(a);
        return;
    }
    a->used = mark;
    if (!a->chunks)
        return;
    arena_free_empty(a, mark);
    struct oa_chunk *k = a->chunks;
    chunk_truncate(k, mark - k->start);
    if (k->older && k->used == 0)
        chunk_truncate(k->older, mark - k->older->start);
}
