/* SPDX-License-Identifier: Apache-2.0
 *
 * Arenas. Positions (`used`, marks) count the bytes taken, rounded up to OA_ALIGN each, whatever
 * chunk they lie in; the free tail that a full chunk leaves behind is not counted. So a dry arena,
 * which has no chunks, counts the same, and one chunk of `peak` bytes is exactly enough for a
 * second use.
 */
#include "base/context.h"
#include "base/forbidden.h"

#include <string.h>

#define SMALLEST_CHUNK ((size_t)64 << 10)

struct oa_chunk {
    struct oa_chunk *older;
    char *memory; /* of the source, which need not be the host */
    size_t start; /* position of the arena at which this chunk begins */
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

static void free_chunk(struct oa_arena *a, struct oa_chunk *k)
{
    if (a->source)
        a->source->release(a->owner, k->memory);
    else
        oa_free(k->memory);
    oa_free(k);
}

static void free_chunks(struct oa_arena *a)
{
    while (a->chunks) {
        struct oa_chunk *k = a->chunks;
        a->chunks = k->older;
        free_chunk(a, k);
    }
}

void oa_arena_free(struct oa_arena *a)
{
    free_chunks(a);
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
    oa_forbid(memory, size);
    return true;
}

/* At least doubles the arena, so that the number of chunks stays small. */
static bool grow_for(struct oa_arena *a, size_t bytes)
{
    size_t size = a->used > SMALLEST_CHUNK ? a->used : SMALLEST_CHUNK;
    return arena_add_chunk(a, bytes > size ? bytes : size);
}

/* What was taken of a chunk from `used` on. */
static void give_back(struct oa_chunk *k, size_t used)
{
    oa_forbid(k->memory + used, k->used - used);
    k->used = used;
}

void oa_arena_reset(struct oa_arena *a)
{
    a->used = 0;
    if (a->chunks && a->chunks->older) {
        free_chunks(a);
        arena_add_chunk(a, a->peak);
    }
    if (a->chunks) {
        a->chunks->start = 0;
        give_back(a->chunks, 0);
    }
}

/* Addresses of a dry arena are never touched; they only have to differ from NULL and be aligned. */
static void *take_dry(const struct oa_arena *a)
{
    return (void *)(uintptr_t)(OA_ALIGN + a->used);
}

static void arena_poison(const struct oa_arena *a, void *memory, size_t bytes)
{
    if (!a->poison)
        return;
    if (a->source)
        a->source->spoil(a->owner, memory, bytes);
    else
        memset(memory, 0xff, bytes);
}

/* `bytes` to be used of `room`. */
static void *take_real(struct oa_arena *a, size_t bytes, size_t room)
{
    struct oa_chunk *k = a->chunks;
    if (!k || k->size - k->used < room) {
        if (!grow_for(a, room))
            return NULL;
        k = a->chunks;
    }
    char *memory = k->memory + k->used;
    k->used += room;
    oa_permit(memory, bytes);
    arena_poison(a, memory, bytes);
    return memory;
}

/* What a take of so many bytes makes an arena longer by: never nothing, and where it can be watched
 * there is always something behind the bytes that is forbidden. */
static size_t arena_padded(size_t bytes)
{
    size_t least = OA_FORBIDS || bytes == 0 ? bytes + 1 : bytes;
    return (least + OA_ALIGN - 1) / OA_ALIGN * OA_ALIGN;
}

void *oa_arena_take(struct oa_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2 || a->used > SIZE_MAX / 2) {
        oa_fail(a->context, OA_NO_MEMORY, "out of memory: %zu bytes in use and %zu more wanted",
                a->used, bytes);
        return NULL;
    }
    size_t room = arena_padded(bytes);
    void *memory = a->dry ? take_dry(a) : take_real(a, bytes, room);
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

/* Of the chunks that become empty only the newest, which is the largest, is kept for what comes
 * next. */
static void drop_empty_chunks(struct oa_arena *a, size_t mark)
{
    struct oa_chunk *newest = a->chunks;
    if (newest->start < mark)
        return;
    while (newest->older && newest->older->start >= mark) {
        struct oa_chunk *k = newest->older;
        newest->older = k->older;
        free_chunk(a, k);
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
    drop_empty_chunks(a, mark);
    struct oa_chunk *k = a->chunks;
    give_back(k, mark - k->start);
    if (k->older && k->used == 0)
        give_back(k->older, mark - k->older->start);
}
