/* SPDX-License-Identifier: Apache-2.0
 * Unigram language model (Kudo, ACL 2018): of all ways to write a word in pieces the one with the
 * highest sum of scores, by Viterbi's algorithm. A character that is no piece is unknown, at 10
 * below the least score; unknown ones in a row are one, or their bytes. Linear in the word, times
 * the longest piece. */
#include "tokenizers/tokenizer_parts.h"

#define UNKNOWN_PENALTY 10.0

enum { NO_PIECE = INT32_MAX }; /* in place of a piece's number */

/* The best path to a place: its score, and its last piece. */
struct oa_best_path {
    double score;
    int32_t from, id; /* from -1: none yet */
};

/* SentencePiece itself keeps sums in single precision, the reference of tokenizer.json in double.
 */
static void improve(const struct oa_unigram *u, size_t at, double score, size_t from, int32_t id)
{
    struct oa_best_path *to = &u->best[at];
    double kept = u->by_spelling ? (double)(float)score : score;
    if (to->from < 0 || score > to->score)
        *to = (struct oa_best_path){ kept, (int32_t)from, id };
}

/* Fills u->best. Returns the place of a character that no piece has where `unknown` is -1, or n. */
static size_t find_paths(struct oa_unigram *u, const char *word, size_t n, int32_t unknown)
{
    for (size_t i = 0; i <= n; i++)
        u->best[i] = (struct oa_best_path){ .from = -1 };
    for (size_t at = 0, length; at < n; at += length) {
        uint32_t code;
        int known = oa_utf8_decode(word + at, n - at, &code), node = 0;
        double score = u->best[at].score;
        bool single = false;
        length = known ? (size_t)known : 1;
        for (size_t i = at; i < n; i++) {
            node = oa_trie_step(&u->pieces, node, (uint8_t)word[i]);
            if (node < 0)
                break;
            int32_t id = u->pieces.value[node];
            if (id < 0)
                continue;
            improve(u, i + 1, u->score[id] + score, at, id);
            single = single || i + 1 == at + length;
        }
        if (!single && unknown < 0)
            return at;
        if (!single)
            improve(u, at + length, u->least - UNKNOWN_PENALTY + score, at, unknown);
    }
    return n;
}

/* A run of unknown characters: as in the reference, the piece with that text if there is one, else
 * its bytes if all have tokens, else the unknown token. */
static enum oa_error add_unknown(const struct oa_unigram *u, const char *text, size_t n,
                                 int32_t unknown, struct oa_ids *ids)
{
    int32_t node = oa_trie_walk(&u->pieces, text, n);
    bool bytes = u->byte_fallback;
    if (node >= 0 && u->pieces.value[node] >= 0)
        return oa_ids_add(ids, u->pieces.value[node]);
    for (size_t i = 0; i < n && bytes; i++)
        bytes = u->byte_id[(uint8_t)text[i]] >= 0;
    if (!bytes)
        return oa_ids_add(ids, unknown);
    for (size_t i = 0; i < n; i++)
        OA_TRY(oa_ids_add(ids, u->byte_id[(uint8_t)text[i]]));
    return OA_OK;
}

enum oa_error oa_unigram_encode(struct oa_unigram *u, const char *word, size_t n, int32_t unknown,
                                struct oa_ids *ids, size_t *bad)
{
    oa_context *c = ids->context;
    size_t count = 0;
    if (u->by_spelling)
        unknown = NO_PIECE;
    if (n > INT32_MAX / 4)
        return oa_fail(c, OA_UNSUPPORTED, "a word of %zu bytes is too long for Unigram", n);
    if (!oa_reserve(c, &u->best, &u->best_capacity, n + 1, sizeof *u->best))
        return OA_NO_MEMORY;
    *bad = find_paths(u, word, n, unknown);
    if (*bad < n)
        return OA_FORMAT;
    for (size_t at = n; at > 0; count++) {
        size_t from = (size_t)u->best[at].from;
        if (!oa_reserve(c, &u->chosen, &u->chosen_capacity, count + 1, sizeof *u->chosen))
            return OA_NO_MEMORY;
        u->chosen[count] = (struct oa_best_path){ .from = (int32_t)from, .id = u->best[at].id };
        at = from;
    }
    while (count) {
        struct oa_best_path first = u->chosen[--count];
        while (first.id == unknown && count && u->chosen[count - 1].id == unknown)
            count--;
        size_t end = count ? (size_t)u->chosen[count - 1].from : n,
               length = end - (size_t)first.from;
        if (u->by_spelling) { /* the piece, or a stretch that no piece has */
            int32_t id = oa_vocabulary_find(u->by_spelling, word + first.from, length);
            OA_TRY(oa_ids_add(ids, id < 0 ? u->spelling_unknown : id));
        } else if (first.id != unknown)
            OA_TRY(oa_ids_add(ids, first.id));
        else
            OA_TRY(add_unknown(u, word + first.from, length, unknown, ids));
    }
    return OA_OK;
}
