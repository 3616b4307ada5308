/* SPDX-License-Identifier: Apache-2.0
 *
 * Unlabelled inputs for inference: files of lines or pictures, and the columns of a line.
 */
#ifndef ORTHANT_DATA_GIVEN_H
#define ORTHANT_DATA_GIVEN_H

#include "data/examples.h"

/* Which columns of a line are the texts that a model reads. */
struct oa_given_columns;
/* columns: as data.columns without the label; NULL or empty: the whole line, or its two columns for
 * pairs. texts: 1 or 2. answer: which header names to expect in line 1. */
enum oa_error oa_given_columns_open(oa_context *c, const char *columns, int texts,
                                    enum oa_answer answer, struct oa_given_columns **out);
void oa_given_columns_close(struct oa_given_columns *g);
int oa_given_texts(const struct oa_given_columns *g);
bool oa_given_whole(const struct oa_given_columns *g); /* a whole line is a text */
/* The next line is the first of a file and may be a header. */
void oa_given_begin(struct oa_given_columns *g);
/* The texts of a line, valid as long as the line and until the next call; *header: the line is a
 * header. OA_FORMAT: the line lacks a column. OA_ARGUMENT: line 1 lacks a name. place: for
 * messages. */
enum oa_error oa_given_cut(struct oa_given_columns *g, const char *place, const char *line,
                           size_t length, struct oa_given_text *out, bool *header);

/* The lines of a list of files (data.h), gzip unpacked, or the pictures of files named *.bin. */
struct oa_given_files;
/* whole: a whole line is a text, so tables (*.tsv) are rejected. CSV and JSON always are. */
enum oa_error oa_given_files_open(oa_context *c, const char *files, bool whole,
                                  struct oa_given_files **out);
void oa_given_files_close(struct oa_given_files *g);
/* A line without its LF, or the pixels of a picture, valid until the next call; false at the end
 * and after a failure.
 */
bool oa_given_next(struct oa_given_files *g, const char **s, size_t *n);
/* The file of the newest line, and whether it is the first of the file. */
const char *oa_given_file(const struct oa_given_files *g, bool *first);
/* Size of all files; 0: unknown, because some are compressed or not regular files. */
double oa_given_bytes(oa_context *c, const char *files);

#endif
