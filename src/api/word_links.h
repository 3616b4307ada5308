/* SPDX-License-Identifier: Apache-2.0
 * Words of a line, separated by blanks, as token ids; and links between words of two texts. */
#ifndef ORTHANT_API_WORD_LINKS_H
#define ORTHANT_API_WORD_LINKS_H

#include "api/api.h"

/* word [count]: the number of the word of the first letter of each id, from 0; −1: a special token,
 * or blanks alone. Returns the number of words. unknown: the id of unknown words, each a word; −1:
 * there is none. */
long oa_count_words(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                    int32_t unknown, int32_t *word);

struct oa_link {
    int32_t source, target; /* words */
};
struct oa_links {
    long count;
    struct oa_link *link; /* in the order of the target; oa_free it */
};
/* source: with special tokens; written: the ids of the output, without. */
enum oa_error oa_links_find(struct oa_trained *t, const struct oa_sequences *source,
                            const int32_t *written, long count, struct oa_links *out);

#endif
