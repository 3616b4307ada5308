/* SPDX-License-Identifier: Apache-2.0 */
#include "data/repeats.h"

#include "tokenizers/text.h"

#include <string.h>

enum { SLOTS = 1 << 17, MOST_USED = SLOTS / 4 * 3 };

struct repeated_document {
    uint64_t hash, count; /* count 0: an empty slot */
    uint64_t bytes;       /* of all, with their white space */
};

struct oa_repeats {
    struct repeated_document *slot, *spare; /* [SLOTS] linear probing */
    size_t used;
    int level; /* the sample has the hashes whose lowest `level` bits are 0 */
};

enum oa_error oa_repeats_open(oa_context *c, struct oa_repeats **out)
{
    struct oa_repeats *r = oa_alloc(c, sizeof *r);
    *out = NULL;
    if (!r)
        return OA_NO_MEMORY;
    r->slot = oa_alloc(c, SLOTS * sizeof *r->slot);
    r->spare = oa_alloc(c, SLOTS * sizeof *r->spare);
    if (r->slot && r->spare) {
        *out = r;
        return OA_OK;
    }
    oa_repeats_close(r);
    return OA_NO_MEMORY;
}

void oa_repeats_close(struct oa_repeats *r)
{
    if (r) {
        oa_free(r->slot);
        oa_free(r->spare);
    }
    oa_free(r);
}

/* FNV-1a of the text with white space as one space, mixed. */
static uint64_t hash_document(const char *text, size_t length)
{
    const uint64_t prime = 0x100000001b3;
    uint64_t hash = 0xcbf29ce484222325;
    bool begun = false, space = false;
    for (size_t at = 0; at < length;) {
        uint32_t code = (uint8_t)text[at];
        int n = code < 0x80 ? 1 : oa_utf8_decode(text + at, length - at, &code);
        if (n && oa_is_space(code)) {
            space = begun;
            at += (size_t)n;
            continue;
        }
        if (space)
            hash = (hash ^ ' ') * prime;
        begun = true;
        space = false;
        for (size_t end = at + (n ? (size_t)n : 1); at < end; at++)
            hash = (hash ^ (uint8_t)text[at]) * prime;
    }
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
    return hash ^ hash >> 31;
}

static struct repeated_document *slot_of_document(struct repeated_document *slot, uint64_t hash)
{
    size_t at = (size_t)(hash >> 40) % SLOTS;
    while (slot[at].count && slot[at].hash != hash)
        at = (at + 1) % SLOTS;
    return &slot[at];
}

static bool in_sample(const struct oa_repeats *r, uint64_t hash)
{
    return (hash & (((uint64_t)1 << r->level) - 1)) == 0;
}

static void halve_sample(struct oa_repeats *r)
{
    struct repeated_document *old = r->slot;
    r->slot = r->spare;
    r->spare = old;
    r->level++;
    r->used = 0;
    memset(r->slot, 0, SLOTS * sizeof *r->slot);
    for (size_t i = 0; i < SLOTS; i++)
        if (old[i].count && in_sample(r, old[i].hash)) {
            *slot_of_document(r->slot, old[i].hash) = old[i];
            r->used++;
        }
}

void oa_repeats_add(struct oa_repeats *r, const char *text, size_t length)
{
    uint64_t hash = hash_document(text, length);
    if (!in_sample(r, hash))
        return;
    struct repeated_document *slot = slot_of_document(r->slot, hash);
    r->used += slot->count == 0;
    slot->hash = hash;
    slot->count++;
    slot->bytes += length;
    if (r->used > MOST_USED)
        halve_sample(r);
}

struct oa_repeats_sum oa_repeats_count(const struct oa_repeats *r)
{
    struct oa_repeats_sum sum = { .sampled = r->level > 0 };
    for (size_t i = 0; i < SLOTS; i++) {
        const struct repeated_document *d = &r->slot[i];
        sum.documents += d->count;
        sum.bytes += d->bytes;
        if (d->count > 1) {
            sum.repeated += d->count - 1;
            sum.repeated_bytes += d->bytes / d->count * (d->count - 1);
        }
    }
    return sum;
}
