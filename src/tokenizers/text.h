/* SPDX-License-Identifier: Apache-2.0
 *
 * Text: files as one stream of bytes, lists of files, UTF-8.
 */
#ifndef ORTHANT_TEXT_H
#define ORTHANT_TEXT_H

#include "base/base.h"

/* ---- files ---- */

/* Reads a list of files in pieces, in bounded memory. */
struct oa_reader;
enum oa_error oa_reader_open(oa_context *c, const char *files, struct oa_reader **out);
/* The same over a text in memory, which is borrowed. */
enum oa_error oa_reader_open_text(oa_context *c, const char *text, size_t length,
                                  struct oa_reader **out);
/* The next piece, valid until the next call; *length is 0 at the end of the last file. */
enum oa_error oa_reader_next(struct oa_reader *r, const char **piece, size_t *length);
void oa_reader_close(struct oa_reader *r);
/* All files of a list in one buffer with a 0 behind it; oa_free it. */
enum oa_error oa_files_read(oa_context *c, const char *files, char **data, size_t *length);

/* Shows all of the text to `feed`, piece after piece. What it does not consume comes again with
 * more text behind it, so a character or a word that a piece cuts is seen whole; when `last` is set
 * nothing follows, and all must be consumed. Feeds of more than OA_MOST_FEED bytes are `last` too,
 * for memory's sake. */
#define OA_MOST_FEED ((size_t)16 << 20)
const char *oa_reader_name(const struct oa_reader *r); /* the list of files, or "the text" */
typedef enum oa_error oa_feed(void *argument, const char *text, size_t length, bool last,
                              size_t *consumed);
enum oa_error oa_reader_feed(struct oa_reader *r, oa_feed *feed, void *argument);

/* ---- lists of files ---- */

/* Where a text is to be read: the name itself, but for the sample text (the default of data.train),
 * which is looked for where it was installed when it is not below the working folder. */
#define OA_SAMPLE_TEXT "data/tinyshakespeare.txt"
enum { OA_SAMPLE_PATH = 8192 };
const char *oa_sample_text(const char *name, char out[OA_SAMPLE_PATH]);
/* The end of the sentence about a text or token ids that cannot be read. */
#define OA_CORPUS_REMEDY "data.train, data.valid, data.test or --data names it"
/* Cuts the first name off a list at its comma, without the spaces around it; returns what follows,
 * NULL at the end. */
char *oa_cut_name(char *list, char **name);
/* A list that the folder of a run names, which another person may have made: what is there has to
 * be plain files. */
enum oa_error oa_plain_files_check(oa_context *c, const char *files);
/* Do the files hold token ids (all of them *.bin)? A list of both sorts is refused. */
enum oa_error oa_id_files_are(oa_context *c, const char *files, bool *are);
/* Every id of the files in turn, with its place in its file. */
typedef enum oa_error oa_id_sink(void *argument, const char *path, uint64_t place, uint32_t id);
enum oa_error oa_id_files_read(oa_context *c, const char *files, oa_id_sink *sink, void *argument);

/* ---- UTF-8 ---- */

/* Characters of a text: bytes that do not continue a UTF-8 sequence (so invalid text has a count as
 * well). */
uint64_t oa_text_characters(const char *text, size_t length);
/* Code point at text[0 … length-1] and its length in bytes, 0 where the bytes are not UTF-8 (RFC
 * 3629). */
int oa_utf8_decode(const char *text, size_t length, uint32_t *code);
int oa_utf8_encode(uint32_t code, char out[4]);
size_t oa_utf8_mark_length(const char *text,
                           size_t length); /* of the byte order mark at its beginning, or 0 */

size_t oa_utf8_valid_length(const char *text, size_t length); /* of the longest valid beginning */
size_t oa_utf8_invalid_length(const char *text,
                              size_t length); /* of the invalid stretch at the beginning */
bool oa_is_space(uint32_t code);              /* Unicode White_Space */
bool oa_is_blank(const char *text, size_t n); /* nothing else */
bool oa_is_word(uint32_t code);               /* \w: Alphabetic, Mark, Decimal_Number, … */
void oa_print_character(struct oa_text *out, const char *text,
                        size_t length); /* "é (U+00E9)", for messages */

#endif
