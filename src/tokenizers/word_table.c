/* SPDX-License-Identifier: Apache-2.0
 * The two hash tables of tokenizers. Open addressing with linear probing, at most half full;
 * nothing is ever removed. */
#include "tokenizers/tokenizer_parts.h"

static uint64_t mix_hash(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

uint64_t oa_hash_bytes(const char *s, size_t n)
{
    uint64_t hash = n, word = 0;
    for (; n >= 8; s += 8, n -= 8) {
        memcpy(&word, s, 8);
        hash = mix_hash(hash ^ word);
    }
    word = 0;
    if (n)
        memcpy(&word, s, n);
    return mix_hash(mix_hash(hash ^ word));
}

/* ---- words ---- */

void oa_words_init(struct oa_words *w, oa_context *c)
{
    *w = (struct oa_words){ .context = c };
}

void oa_words_free(struct oa_words *w)
{
    oa_free(w->pool);
    oa_free(w->start);
    oa_free(w->slot);
    oa_words_init(w, w->context);
}

const char *oa_words_at(const struct oa_words *w, int32_t i, size_t *length)
{
    if (length)
        *length = w->start[i + 1] - w->start[i] - 1;
    return w->pool + w->start[i];
}

/* The slot that holds the string, or the free one where it belongs. */
static size_t words_slot(const struct oa_words *w, const char *s, size_t n)
{
    size_t at = oa_hash_bytes(s, n) & (w->slots - 1);
    for (; w->slot[at]; at = (at + 1) & (w->slots - 1)) {
        size_t length;
        const char *there = oa_words_at(w, (int32_t)(w->slot[at] - 1), &length);
        if (length == n && memcmp(there, s, n) == 0)
            break;
    }
    return at;
}

int32_t oa_words_find(const struct oa_words *w, const char *s, size_t n)
{
    return w->slots ? (int32_t)w->slot[words_slot(w, s, n)] - 1 : -1;
}

static bool words_rehash(struct oa_words *w)
{
    size_t slots = w->slots ? w->slots * 2 : 64;
    uint32_t *slot = oa_alloc(w->context, slots * sizeof *slot);
    if (!slot)
        return false;
    oa_free(w->slot);
    w->slot = slot;
    w->slots = slots;
    for (int32_t i = 0; i < w->count; i++) {
        size_t n;
        const char *s = oa_words_at(w, i, &n);
        w->slot[words_slot(w, s, n)] = (uint32_t)i + 1;
    }
    return true;
}

int32_t oa_words_add(struct oa_words *w, const char *s, size_t n)
{
    if ((size_t)w->count * 2 >= w->slots && !words_rehash(w))
        return -1;
    size_t at = words_slot(w, s, n);
    if (w->slot[at])
        return (int32_t)w->slot[at] - 1;
    if (!oa_reserve(w->context, &w->pool, &w->pool_capacity, w->pool_length + n + 1, 1) ||
        !oa_reserve(w->context, &w->start, &w->start_capacity, (size_t)w->count + 2,
                    sizeof *w->start))
        return -1;
    if (n)
        memcpy(w->pool + w->pool_length, s, n);
    w->pool[w->pool_length + n] = 0;
    w->pool_length += n + 1;
    w->start[w->count + 1] = w->pool_length;
    w->slot[at] = (uint32_t)++w->count;
    return w->count - 1;
}

/* ---- pairs ---- */

#define FREE_PAIR UINT64_MAX /* (-1, -1) */

void oa_pairs_init(struct oa_pairs *p, oa_context *c)
{
    *p = (struct oa_pairs){ .context = c };
}

void oa_pairs_free(struct oa_pairs *p)
{
    oa_free(p->slot);
    oa_pairs_init(p, p->context);
}

static struct oa_pair *pairs_slot(const struct oa_pairs *p, uint64_t key)
{
    size_t at = mix_hash(key) & (p->slots - 1);
    while (p->slot[at].key != key && p->slot[at].key != FREE_PAIR)
        at = (at + 1) & (p->slots - 1);
    return &p->slot[at];
}

const struct oa_pair *oa_pairs_find(const struct oa_pairs *p, uint64_t key)
{
    const struct oa_pair *found = p->slots ? pairs_slot(p, key) : NULL;
    return found && found->key == key ? found : NULL;
}

static bool pairs_rehash(struct oa_pairs *p)
{
    struct oa_pairs grown = { .context = p->context,
                              .slots = p->slots ? p->slots * 2 : 64,
                              .count = p->count };
    grown.slot = oa_alloc(p->context, grown.slots * sizeof *grown.slot);
    if (!grown.slot)
        return false;
    for (size_t i = 0; i < grown.slots; i++)
        grown.slot[i].key = FREE_PAIR;
    for (size_t i = 0; i < p->slots; i++)
        if (p->slot[i].key != FREE_PAIR)
            *pairs_slot(&grown, p->slot[i].key) = p->slot[i];
    oa_free(p->slot);
    *p = grown;
    return true;
}

struct oa_pair *oa_pairs_add(struct oa_pairs *p, uint64_t key)
{
    if (p->count * 2 >= p->slots && !pairs_rehash(p))
        return NULL;
    struct oa_pair *pair = pairs_slot(p, key);
    if (pair->key != key) {
        *pair = (struct oa_pair){ .key = key, .rank = -1, .id = -1 };
        p->count++;
    }
    return pair;
}
