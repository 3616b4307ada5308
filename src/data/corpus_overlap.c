/* SPDX-License-Identifier: Apache-2.0
 * How many pieces of the validation text occur in the training text: a rolling polynomial hash of
 * the training tokens (Karp and Rabin 1987) finds candidates, whose tokens are then compared. */
#include "data/data.h"

#include <string.h>

enum { BLOCK = 1 << 16 };                        /* tokens of a sample that follow each other */
static const uint64_t base = 0x9e3779b97f4a7c15; /* odd: no power of it is 0 modulo 2^64 */

/* Hash table of the distinct pieces, with open addressing. */
struct overlap_pieces {
    const int32_t *ids; /* of the validation side */
    size_t mask;        /* slots - 1 */
    struct overlap_piece {
        uint64_t hash;
        size_t first, count; /* offset of its first token; pieces with these tokens, 0: empty */
        bool found;
    } * slot;
};

static uint64_t hash_tokens(const int32_t *ids)
{
    uint64_t hash = 0;
    for (int i = 0; i < OA_OVERLAP_TOKENS; i++)
        hash = hash * base + (uint32_t)ids[i] + 1;
    return hash;
}

static struct overlap_piece *overlap_slot(const struct overlap_pieces *p, uint64_t hash,
                                          const int32_t *ids)
{
    size_t at = (size_t)(hash >> 20) & p->mask;
    while (p->slot[at].count &&
           (p->slot[at].hash != hash ||
            memcmp(p->ids + p->slot[at].first, ids, OA_OVERLAP_TOKENS * sizeof *ids) != 0))
        at = (at + 1) & p->mask;
    return &p->slot[at];
}

/* Counts the pieces that occur in n ids and were not found before. */
static uint64_t find_pieces(const struct overlap_pieces *p, const int32_t *ids, uint64_t n)
{
    uint64_t found = 0, leaving = 1;
    if (n < OA_OVERLAP_TOKENS)
        return 0;
    for (int i = 0; i < OA_OVERLAP_TOKENS; i++)
        leaving *= base;
    for (uint64_t at = 0, hash = hash_tokens(ids);; at++) {
        struct overlap_piece *slot = overlap_slot(p, hash, ids + at);
        if (slot->count && !slot->found) {
            slot->found = true;
            found += slot->count;
        }
        if (at + OA_OVERLAP_TOKENS == n)
            return found;
        hash = hash * base + (uint32_t)ids[at + OA_OVERLAP_TOKENS] + 1 -
               leaving * ((uint32_t)ids[at] + (uint64_t)1);
    }
}

/* The start of block i of a side: blocks are adjacent if they cover the side, else evenly spaced.
 */
static uint64_t block_start(uint64_t count, uint64_t blocks, uint64_t i)
{
    return blocks * BLOCK >= count ? i * BLOCK : (count - BLOCK) / blocks * i;
}

/* Searches at most OA_OVERLAP_TRAINING tokens of the training side, block by block. A block is read
 * with the tokens after it that a piece may need. */
static enum oa_error search_training(oa_context *c, const struct overlap_pieces *p,
                                     const struct oa_tokens *train, struct oa_text_overlap *out)
{
    uint64_t most = train->count < OA_OVERLAP_TRAINING ? train->count : OA_OVERLAP_TRAINING,
             blocks = (most + BLOCK - 1) / BLOCK, searched = 0;
    int32_t *ids = oa_alloc(c, (BLOCK + OA_OVERLAP_TOKENS) * sizeof *ids);
    enum oa_error e = ids ? OA_OK : OA_NO_MEMORY;
    for (uint64_t i = 0; i < blocks && e == OA_OK; i++) {
        uint64_t at = block_start(train->count, blocks, i), left = train->count - at,
                 n = left < BLOCK + OA_OVERLAP_TOKENS - 1 ? left : BLOCK + OA_OVERLAP_TOKENS - 1;
        e = oa_tokens_read(c, train, at, (size_t)n, ids);
        if (e == OA_OK)
            out->found += find_pieces(p, ids, n);
        searched += n < BLOCK ? n : BLOCK;
    }
    out->searched = (double)searched / (double)train->count;
    oa_free(ids);
    return e;
}

/* The side itself if it is in memory and not too long, else evenly spaced blocks of it in *sample,
 * which is to be freed. */
static enum oa_error load_validation(oa_context *c, const struct oa_tokens *side, int32_t **sample,
                                     struct oa_tokens *out)
{
    uint64_t count = side->count < OA_OVERLAP_VALIDATION ? side->count : OA_OVERLAP_VALIDATION,
             blocks = (count + BLOCK - 1) / BLOCK;
    *out = *side;
    if (side->ids && side->count == count)
        return OA_OK;
    *sample = oa_alloc(c, (count + 1) * sizeof **sample);
    if (!*sample)
        return OA_NO_MEMORY;
    for (uint64_t i = 0, done = 0; i < blocks; i++) {
        uint64_t some = count - done < BLOCK ? count - done : BLOCK;
        OA_TRY(oa_tokens_read(c, side, block_start(side->count, blocks, i), (size_t)some,
                              *sample + done));
        done += some;
    }
    *out = (struct oa_tokens){ .ids = *sample, .count = count };
    return OA_OK;
}

static enum oa_error count_overlap(oa_context *c, const struct oa_tokens *train,
                                   const struct oa_tokens *valid, struct oa_text_overlap *out)
{
    size_t slots = 2;
    struct overlap_pieces p = { .ids = valid->ids };
    out->pieces = valid->count / OA_OVERLAP_TOKENS;
    if (!out->pieces || train->count < OA_OVERLAP_TOKENS)
        return OA_OK;
    while (slots < 2 * out->pieces)
        slots *= 2;
    p.mask = slots - 1;
    p.slot = oa_alloc(c, slots * sizeof *p.slot);
    if (!p.slot)
        return OA_NO_MEMORY;
    for (uint64_t i = 0; i < out->pieces; i++) {
        size_t first = (size_t)i * OA_OVERLAP_TOKENS;
        uint64_t hash = hash_tokens(p.ids + first);
        struct overlap_piece *slot = overlap_slot(&p, hash, p.ids + first);
        *slot = (struct overlap_piece){ hash, first, slot->count + 1, false };
    }
    enum oa_error e = search_training(c, &p, train, out);
    oa_free(p.slot);
    return e;
}

enum oa_error oa_corpus_overlap(oa_context *c, const struct oa_corpus *corpus,
                                struct oa_text_overlap *out)
{
    struct oa_tokens valid;
    int32_t *sample = NULL;
    *out = (struct oa_text_overlap){ .searched = 1 };
    enum oa_error e = load_validation(c, &corpus->valid, &sample, &valid);
    if (e == OA_OK)
        e = count_overlap(c, &corpus->train, &valid, out);
    out->sampled = out->searched < 1 || valid.count < corpus->valid.count;
    oa_free(sample);
    return e;
}
