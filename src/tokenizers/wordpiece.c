/* SPDX-License-Identifier: Apache-2.0
 * WordPiece (Schuster and Nakajima, ICASSP 2012; as BERT has it): a word is its longest piece, then
 * the longest piece of the rest, which begins with "##" in the vocabulary, and so on. A word that
 * cannot be cut so is unknown as a whole. */
#include "tokenizers/tokenizer_parts.h"

/* The longest piece at the beginning of the text, from a node on: its length, 0 for none. */
static size_t longest_piece(const struct oa_trie *pieces, int32_t node, const char *text, size_t n,
                            int32_t *id)
{
    size_t longest = 0;
    for (size_t i = 0; i < n && node >= 0; i++) {
        node = oa_trie_step(pieces, node, (uint8_t)text[i]);
        if (node >= 0 && pieces->value[node] >= 0) {
            longest = i + 1;
            *id = pieces->value[node];
        }
    }
    return longest;
}

enum oa_error oa_wordpiece_encode(const struct oa_wordpiece *w, const char *word, size_t n,
                                  int32_t unknown, struct oa_ids *ids)
{
    size_t before = ids->count, at = 0, length = 1;
    if (oa_text_characters(word, n) > (uint64_t)w->most_characters)
        length = 0;
    while (at < n && length) {
        int32_t id = -1;
        length = longest_piece(&w->pieces, at ? w->inner : 0, word + at, n - at, &id);
        if (length)
            OA_TRY(oa_ids_add(ids, id));
        at += length;
    }
    if (at == n)
        return OA_OK;
    ids->count = before;
    return unknown < 0 ? OA_FORMAT : oa_ids_add(ids, unknown);
}
