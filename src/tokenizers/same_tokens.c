/* SPDX-License-Identifier: Apache-2.0
 * Whether two tokenizers encode every text the same. */
#include "tokenizers/tokenizer_parts.h"

static bool same_pieces(const struct oa_vocabulary *a, const struct oa_vocabulary *b)
{
    if (a->model_size != b->model_size)
        return false;
    for (int32_t i = 0; i < a->model_size; i++) {
        size_t n, m;
        const char *s = oa_words_at(&a->pieces, i, &n), *t = oa_words_at(&b->pieces, i, &m);
        if (n != m || memcmp(s, t, n) != 0 || a->id_of[i] != b->id_of[i])
            return false;
    }
    return true;
}

static bool same_merges(const struct oa_bpe *a, const struct oa_bpe *b)
{
    return a->merge_count == b->merge_count &&
           (a->merge_count == 0 ||
            memcmp(a->merge, b->merge, a->merge_count * sizeof *a->merge) == 0);
}

bool oa_tokenizers_agree(const struct oa_tokenizer *a, const struct oa_tokenizer *b)
{
    return a->kind == b->kind && json_equal(a->frame, b->frame) &&
           same_pieces(&a->vocabulary, &b->vocabulary) && same_merges(&a->bpe, &b->bpe);
}
