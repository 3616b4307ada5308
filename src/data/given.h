/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that no answer is known to: files of lines or pictures, and the columns of a line. For
 * whoever uses a model.
 */
#ifndef ORTHANT_DATA_GIVEN_H
#define ORTHANT_DATA_GIVEN_H

#include "data/examples.h"

/* Which columns of a line are the texts that a model reads. */
struct oa_given_columns;
/* columns: as data.columns without the label, NULL or empty: the whole line, or of a pair the two
 * columns that it has. texts: 1 or 2. answer: whose names of columns line 1 may have. */
enum oa_error oa_given_columns_open(oa_context *c, const char *columns, int texts,
                                    enum oa_answer answer, struct oa_given_columns **out);
void oa_given_columns_close(struct oa_given_columns *g);
int oa_given_texts(const struct oa_given_columns *g);
bool oa_given_whole(const struct oa_given_columns *g); /* a line is a text */
/* The next line is the first of a file: it may have the names. */
void oa_given_begin(struct oa_given_columns *g);
/* The texts of a line, valid until it and the next call are; *header: it has names. A line without
 * these columns is refused (OA_FORMAT), and names that line 1 has not (OA_ARGUMENT). place: for
 * messages. */
enum oa_error oa_given_cut(struct oa_given_columns *g, const char *place, const char *line,
                           size_t length, struct oa_given_text *out, bool *header);

/* The lines of a list of files, gzip unpacked, or of those that end with .bin the pictures (data.h,
 * examples.h). */
struct oa_given_files;
/* whole: a line is a text, so that a table (*.tsv) is refused; CSV and JSON are refused always. */
enum oa_error oa_given_files_open(oa_context *c, const char *files, bool whole,
                                  struct oa_given_files **out);
void oa_given_files_close(struct oa_given_files *g);
/* A line without its LF, or the pixels of a picture, valid until the next call; false at the end
 * and after a failure.
 */
bool oa_given_next(struct oa_given_files *g, const char **s, size_t *n);
/* Of the newest one: its file, and whether it is the first there. */
const char *oa_given_file(const struct oa_given_files *g, bool *first);
/* Of all of them as they lie there; 0: not known, because some are packed or no plain files. */
double oa_given_bytes(oa_context *c, const char *files);

#endif
