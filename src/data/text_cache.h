/* SPDX-License-Identifier: Apache-2.0
 * Texts that are too large for memory: tokenized once, with the same ids, into files of a cache
 * folder. A later run finds them by the names, sizes and modification times of the text files, or
 * else by their content. */
#ifndef ORTHANT_DATA_TEXT_CACHE_H
#define ORTHANT_DATA_TEXT_CACHE_H

#include "data/data.h"

#define OA_CACHE_FOLDER "orthant-cache" /* in the current folder; ORTHANT_CACHE names another */
#define OA_CACHE_RECORD "text.json"     /* checksummed; the entry is complete if it is there */
#define OA_CACHE_FORMAT "orthant.text/1"

/* Whether the text of the files is larger than ORTHANT_TEXT_IN_MEMORY MiB (256), and the tokenizer
 * can encode it piece by piece. Of compressed files the size is estimated as four times theirs. */
bool oa_text_cache_wanted(const struct oa_tokenizer *tok, const char *files);

struct oa_text_block { /* from … to - 1 */
    uint64_t from, to;
};
/* corpus.c: the part of `count` characters or ids that is held out for validation. seed: of its
 * position; 0: at the end. */
struct oa_text_block oa_held_block(uint64_t count, double fraction, uint64_t seed);

/* Opens the entry of the text, which is made if necessary. valid NULL: nothing is held out.
 * Digests, characters and bytes are those of the text, as for a text in memory. */
enum oa_error oa_text_cache_open(struct oa_tokenizer *tok, const char *files, double fraction,
                                 uint64_t seed, const char *name, struct oa_tokens *first,
                                 struct oa_tokens *valid);

#endif
