/* SPDX-License-Identifier: Apache-2.0
 * Unlabelled inputs for inference: files of lines or pictures, and the columns of a line. */
#ifndef ORTHANT_DATA_INPUTS_H
#define ORTHANT_DATA_INPUTS_H

#include "data/examples.h"

/* Which columns of a line are the texts that a model reads. */
struct oa_input_columns;
/* columns: as data.columns without the label; NULL or empty: the whole line, or its two columns for
 * pairs. texts: 1 or 2. answer: which header names to expect in line 1. */
enum oa_error oa_input_columns_open(oa_context *c, const char *columns, int texts,
                                    enum oa_answer answer, struct oa_input_columns **out);
void oa_input_columns_close(struct oa_input_columns *g);
int oa_input_columns_texts(const struct oa_input_columns *g);
bool oa_input_columns_whole(const struct oa_input_columns *g); /* a whole line is a text */
/* The next line is the first of a file and may be a header. */
void oa_input_columns_begin(struct oa_input_columns *g);
/* The texts of a line, valid as long as the line and until the next call; *header: the line is a
 * header. OA_FORMAT: the line lacks a column. OA_ARGUMENT: line 1 lacks a name. place: for
 * messages. */
enum oa_error oa_input_columns_cut(struct oa_input_columns *g, const char *place, const char *line,
                                   size_t length, struct oa_input_text *out, bool *header);

/* The lines of a list of files (data.h), gzip unpacked, or the pictures of files named *.bin. */
struct oa_input_files;
bool oa_input_files_tables(oa_context *c, const char *files); /* whether one of them is a *.tsv */
/* whole: a whole line is a text, so tables (*.tsv) are rejected. CSV and JSON always are. */
enum oa_error oa_input_files_open(oa_context *c, const char *files, bool whole,
                                  struct oa_input_files **out);
void oa_input_files_close(struct oa_input_files *g);
/* A line without its LF, or the pixels of a picture, valid until the next call; false at the end
 * and after a failure. */
bool oa_input_files_next(struct oa_input_files *g, const char **s, size_t *n);
/* The file of the newest line, and whether it is the first of the file. */
const char *oa_input_files_name(const struct oa_input_files *g, bool *first);
/* Size of all files; 0: unknown, because some are compressed or not regular files. */
double oa_input_files_bytes(oa_context *c, const char *files);

#endif
