/* SPDX-License-Identifier: Apache-2.0
 * Text: files as one stream of bytes, lists of files, UTF-8. */
#ifndef ORTHANT_TEXT_H
#define ORTHANT_TEXT_H

#include "base/base.h"

/* ---- files ---- */

/* Reads a list of files in pieces, in bounded memory. */
struct oa_reader;
enum oa_error oa_reader_open(oa_context *c, const char *files, struct oa_reader **out);
/* The same for one file, whose name may have commas. */
enum oa_error oa_reader_open_file(oa_context *c, const char *path, struct oa_reader **out);
/* The same over a text in memory, which is borrowed. */
enum oa_error oa_reader_open_text(oa_context *c, const char *text, size_t length,
                                  struct oa_reader **out);
/* The next piece, valid until the next call; *length is 0 at the end of the last file. */
enum oa_error oa_reader_next(struct oa_reader *r, const char **piece, size_t *length);
void oa_reader_close(struct oa_reader *r);
/* Bytes of the open file that were read, before unpacking; 0: none is open. */
uint64_t oa_reader_offset(const struct oa_reader *r);
/* All files of a list in one 0-terminated buffer, freed by oa_free. */
enum oa_error oa_files_read(oa_context *c, const char *files, char **data, size_t *length);

/* Passes the text to `feed` piece by piece. Unconsumed bytes are passed again with the next piece,
 * so that characters and words are seen whole. With `last` all must be consumed: at the end, and,
 * to bound memory, for more than OA_MOST_FEED bytes. */
#define OA_MOST_FEED ((size_t)16 << 20)
const char *oa_reader_name(const struct oa_reader *r); /* the list of files, or "the text" */
typedef enum oa_error oa_feed(void *argument, const char *text, size_t length, bool last,
                              size_t *consumed);
enum oa_error oa_reader_feed(struct oa_reader *r, oa_feed *feed, void *argument);

/* ---- lists of files ---- */

/* The path of a text: the name itself, except for the sample text (the default of data.train),
 * which may be installed elsewhere. */
#define OA_SAMPLE_TEXT "data/tinyshakespeare.txt"
enum { OA_SAMPLE_PATH = 8192 };
const char *oa_sample_text(const char *name, char out[OA_SAMPLE_PATH]);
/* Ends the error message about a text or token ids that cannot be read. */
#define OA_CORPUS_REMEDY "check data.train, data.valid, data.test or --data"
/* Splits the first name, trimmed, off a comma-separated list. Returns the rest, NULL at the end. */
char *oa_cut_name(char *list, char **name);
/* For a list from the config of a run, which another person may have made: OA_IO where an existing
 * file is not a regular one, nor a folder (a packed corpus). */
enum oa_error oa_plain_files_check(oa_context *c, const char *files);
/* Whether all files contain token ids (*.bin). OA_ARGUMENT: only some do. */
enum oa_error oa_id_files_are(oa_context *c, const char *files, bool *are);
/* Files with more bytes of ids are not read into memory. */
#define OA_IDS_IN_MEMORY ((uint64_t)32 << 20)
/* A file of token ids. */
struct oa_id_file {
    char *path;
    uint64_t offset; /* bytes before the first id */
    uint64_t count;  /* ids */
    int width;       /* bytes of an id, little-endian: 2 or 4 */
};
/* The regular files of the list, from their headers alone; oa_id_files_free it. */
enum oa_error oa_id_files_list(oa_context *c, const char *files, struct oa_id_file **list,
                               int *count);
void oa_id_files_free(struct oa_id_file *list, int count);
uint64_t oa_id_files_bytes(oa_context *c, const char *files); /* 0: not all are regular files */
/* Calls `sink` for every id of the files, with its index in its file. */
typedef enum oa_error oa_id_sink(void *argument, const char *path, uint64_t place, uint32_t id);
enum oa_error oa_id_files_read(oa_context *c, const char *files, oa_id_sink *sink, void *argument);

/* ---- UTF-8 ---- */

/* The number of characters: bytes that are not UTF-8 continuation bytes, also in invalid text. */
uint64_t oa_text_characters(const char *text, size_t length);
/* The bytes of the first `count` characters; `length` if there are fewer. */
size_t oa_character_offset(const char *text, size_t length, uint64_t count);
/* Decodes a code point. Returns its length in bytes, 0 if the bytes are not UTF-8 (RFC 3629). */
int oa_utf8_decode(const char *text, size_t length, uint32_t *code);
int oa_utf8_encode(uint32_t code, char out[4]);
size_t oa_utf8_mark_length(const char *text, size_t length); /* of a leading byte order mark */

size_t oa_utf8_valid_length(const char *text, size_t length);   /* of the longest valid prefix */
size_t oa_utf8_invalid_length(const char *text, size_t length); /* of the invalid prefix */
/* Whether the code point is in one of the ranges [first, last]. */
bool oa_code_in(uint32_t code, const uint32_t (*range)[2], size_t count);
#define OA_CODE_IN(code, ranges) oa_code_in(code, ranges, sizeof(ranges) / sizeof *(ranges))
bool oa_is_space(uint32_t code);              /* Unicode White_Space */
bool oa_is_given(const char *option);         /* neither NULL nor only blanks */
bool oa_is_blank(const char *text, size_t n); /* only White_Space */
bool oa_is_word(uint32_t code);               /* \w: Alphabetic, Mark, Decimal_Number, … */
void oa_print_character(struct oa_text *out, const char *text,
                        size_t length); /* "é (U+00E9)", for messages */

#endif
