/* SPDX-License-Identifier: Apache-2.0
 * Vocabularies of SentencePiece, of spiece.model and of GGUF files, as a tokenizer.json. */
#ifndef ORTHANT_SENTENCEPIECE_H
#define ORTHANT_SENTENCEPIECE_H

#include "base/base.h"

#include <jansson.h>

/* As numbered in sentencepiece_model.proto. */
enum oa_piece_type {
    OA_PIECE_NORMAL = 1,
    OA_PIECE_UNKNOWN,
    OA_PIECE_CONTROL,
    OA_PIECE_USER_DEFINED,
    OA_PIECE_UNUSED,
    OA_PIECE_BYTE
};
struct oa_scored_piece {
    const char *text; /* borrowed, not terminated */
    size_t length;
    double score;
    enum oa_piece_type type;
};
struct oa_sentencepiece {
    const char *name; /* of the file, for messages */
    struct oa_scored_piece *piece;
    size_t count, capacity;
    bool bpe;             /* otherwise Unigram */
    bool byte_fallback;   /* unknown characters are pieces of type byte */
    bool dummy_prefix;    /* texts begin with a blank */
    bool single_blanks;   /* runs of blanks become one, and are removed at both ends */
    const char *charsmap; /* NULL: texts are not normalised */
    size_t charsmap_length;
};
/* Reads a spiece.model, which must outlive *out. The caller frees out->piece by oa_free, also after
 * an error. */
enum oa_error oa_sentencepiece_read(oa_context *c, const char *name, const char *data,
                                    size_t length, struct oa_sentencepiece *out);
/* An entry of added_tokens in a tokenizer.json. */
json_t *oa_added_token_json(json_int_t id, const char *content, size_t length, bool normalized,
                            bool special);
/* Whether piece i can be read. */
enum oa_error oa_sentencepiece_check(oa_context *c, const struct oa_sentencepiece *s, size_t i);
/* The tokenizer.json of the vocabulary, freed by oa_free. */
enum oa_error oa_sentencepiece_json(oa_context *c, const struct oa_sentencepiece *s, char **json);

#endif
