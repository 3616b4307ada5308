/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines that a trained model reads, one after the other: taken in blocks, encoded, counted. One that cannot be read is
 * said, and nothing is encoded for it.
 */
#ifndef ORTHANT_API_INPUT_LINES_H
#define ORTHANT_API_INPUT_LINES_H

#include "api/api.h"
#include "data/given.h"

struct oa_coded_line {
    struct oa_examples coded; /* count 0: the line is empty, or cannot be read */
    uint64_t line;            /* from 1, headers among them */
};

struct oa_input_lines {
    oa_context *context;
    struct oa_tokenizer *tokenizer;
    struct oa_example_layout layout;
    int (*next)(void *argument, const char **line, size_t *length); /* 0 at the end */
    void *argument;
    struct oa_given_columns *columns; /* NULL: a line is a text */
    bool pictures;                    /* what is read are pixels */
    const char *file;                 /* of the lines at hand; NULL: the standard input */
    uint64_t before;                  /* lines of other files before it */
    double all;                       /* bytes there are, for progress; 0: not known */
    const char *title;                /* of the progress */
    struct oa_bar bar;
    double bytes;             /* read */
    uint64_t lines, cut, bad; /* read; longer than the model reads; without an answer because of what they are */
};

/* At most `most` lines; *more is false at the end. OA_INTERRUPTED when a stop is asked for. */
enum oa_error oa_input_lines_read(struct oa_input_lines *l, int most, struct oa_coded_line *to, int *count, bool *more);
void oa_input_lines_release(struct oa_coded_line *lines, int count);
/* What was cut and what could not be read, in notices. */
void oa_input_lines_account(const struct oa_input_lines *l);
/* Line ends and zeros behind `from` become blanks: a line stays a line, and a tab in a table is one of its own. */
void oa_input_lines_flatten(struct oa_text *text, size_t from, bool tabs);

#endif
