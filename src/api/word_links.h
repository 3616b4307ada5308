/* SPDX-License-Identifier: Apache-2.0
 * Words as lines have them, parted by blanks, in ids of tokens; and which of two texts belong
 * together. */
#ifndef ORTHANT_API_WORD_LINKS_H
#define ORTHANT_API_WORD_LINKS_H

#include "api/api.h"

/* word [count] of each id the word that its first letter is of, from 0; −1: a special token, or
 * blanks alone. Returns how many words there are. unknown: the id that stands for unknown words,
 * which are words each; −1 without. */
long oa_count_words(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                    int32_t unknown, int32_t *word);

struct oa_link {
    int32_t source, target; /* words */
};
struct oa_links {
    long count;
    struct oa_link *link; /* in the order of the target; oa_free it */
};
/* Of a source, special tokens included, and what was written for it, without. */
enum oa_error oa_links_find(struct oa_trained *t, const struct oa_sequences *source,
                            const int32_t *written, long count, struct oa_links *out);

#endif
