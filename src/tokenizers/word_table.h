/* SPDX-License-Identifier: Apache-2.0
 * Hash tables: byte string → number, pair of ids → two values. */
#ifndef ORTHANT_WORD_TABLE_H
#define ORTHANT_WORD_TABLE_H

#include "base/base.h"

/* Distinct byte strings, numbered 0, 1, 2 … in order of adding. */
struct oa_words {
    oa_context *context;
    char *pool; /* the strings, 0-terminated */
    size_t pool_length, pool_capacity;
    size_t *start; /* start[i] … start[i + 1] - 1: string i and its 0 */
    size_t start_capacity;
    uint32_t *slot; /* open addressing: number + 1, 0 = free */
    size_t slots;
    int32_t count;
};
void oa_words_init(struct oa_words *w, oa_context *c);
void oa_words_free(struct oa_words *w);
int32_t oa_words_find(const struct oa_words *w, const char *s, size_t n); /* -1 when absent */
int32_t oa_words_add(struct oa_words *w, const char *s,
                     size_t n); /* finds or adds; -1: no memory */
const char *oa_words_at(const struct oa_words *w, int32_t i, size_t *length);
uint64_t oa_hash_bytes(const char *s, size_t n);

/* Pairs of ids with two values each. */
struct oa_pair {
    uint64_t key;
    int32_t rank, id;
};
struct oa_pairs {
    oa_context *context;
    struct oa_pair *slot;
    size_t slots, count;
};
static inline uint64_t oa_pair_key(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}
void oa_pairs_init(struct oa_pairs *p, oa_context *c);
void oa_pairs_free(struct oa_pairs *p);
const struct oa_pair *oa_pairs_find(const struct oa_pairs *p, uint64_t key); /* NULL when absent */
/* Finds, or adds with rank = id = -1; NULL: no memory. Valid until the next addition. */
struct oa_pair *oa_pairs_add(struct oa_pairs *p, uint64_t key);

#endif
