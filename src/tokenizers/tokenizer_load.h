/* SPDX-License-Identifier: Apache-2.0
 * Reading a tokenizer.json. Private to its readers, one file for each part of it. The file is not
 * trusted: type and range of every value are checked. */
#ifndef ORTHANT_TOKENIZER_LOAD_H
#define ORTHANT_TOKENIZER_LOAD_H

#include "tokenizers/tokenizer_parts.h"

struct oa_tokenizer_file {
    oa_context *context;
    const char *name; /* of the file, for messages */
    struct oa_tokenizer *tok;
};
enum { OA_MOST_NESTED = 8 }; /* Sequences inside of one another */

/* OA_FORMAT: a place in the file is not as expected. */
enum oa_error oa_tokenizer_malformed(const struct oa_tokenizer_file *l, const char *place,
                                     const char *expected);
enum oa_error oa_tokenizer_unsupported(const struct oa_tokenizer_file *l, const char *place,
                                       const char *found, const char *remedy);
/* A member, NULL when absent or null. */
json_t *oa_part_member(const json_t *object, const char *key);
/* A member that is a string, or NULL. */
const char *oa_text_member(const json_t *object, const char *key);
/* Leaves *value alone where the member is absent. */
enum oa_error oa_read_flag(const struct oa_tokenizer_file *l, const json_t *object, const char *key,
                           bool *value);
/* Appends a member that must be a string. part: for messages. */
enum oa_error oa_read_string(const struct oa_tokenizer_file *l, const json_t *object,
                             const char *part, const char *key, struct oa_text *out);
enum oa_error oa_read_part_type(const struct oa_tokenizer_file *l, const json_t *object,
                                const char *place, const char **type);

enum oa_error oa_read_normaliser(struct oa_tokenizer_file *l, const json_t *normalizer);
/* Pattern and content of a Replace, as normaliser and as decoder. */
enum oa_error oa_read_replace(const struct oa_tokenizer_file *l, const json_t *replace,
                              const char *part, struct oa_text_normaliser *out);
/* *bytes: the last one is ByteLevel. */
enum oa_error oa_read_splits(struct oa_tokenizer_file *l, const json_t *pre, bool *bytes);
/* The replacement of a Metaspace: one character. */
enum oa_error oa_read_space(const struct oa_tokenizer_file *l, const json_t *metaspace,
                            const char *part, const char **space);
enum oa_error oa_read_prepend_scheme(const struct oa_tokenizer_file *l, const json_t *metaspace,
                                     const char *part, enum oa_prepend *scheme);
/* marian_tokenizer.c: a model of the type Marian whose vocabulary is read, and the tokenizer of its
 * targets.
 */
enum oa_error oa_read_marian(struct oa_tokenizer_file *l, const json_t *model);
enum oa_error oa_read_marian_target(struct oa_tokenizer_file *l, const json_t *root);
enum oa_error oa_read_decoder(struct oa_tokenizer_file *l, const json_t *decoder);

#endif
