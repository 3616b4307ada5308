/* SPDX-License-Identifier: Apache-2.0
 * Lines that a trained model reads, one after the other: taken in blocks, encoded, counted. One
 * that cannot be read is reported and not encoded. */
#ifndef ORTHANT_API_INPUT_LINES_H
#define ORTHANT_API_INPUT_LINES_H

#include "api/api.h"
#include "data/inputs.h"

struct oa_coded_line {
    struct oa_examples coded; /* count 0: the line is blank, or cannot be read */
    uint64_t line;            /* from 1, headers among them */
};

struct oa_input_lines {
    oa_context *context;
    struct oa_tokenizer *tokenizer;
    struct oa_example_layout layout;
    int (*next)(void *argument, const char **line,
                size_t *length); /* 0 at the end, -1 after an error */
    void *argument;
    struct oa_input_columns *columns; /* NULL: a line is a text */
    bool pictures;                    /* the input is pixels */
    bool blanks;                      /* blank lines are encoded like others */
    const char *file;                 /* the current one; NULL: standard input */
    uint64_t before;                  /* lines of the files before it */
    double all;                       /* bytes of the whole input, for progress; 0: unknown */
    const char *title;                /* of the progress */
    struct oa_bar bar;
    bool failed;              /* `next` gave -1: lines before it are answered first */
    double bytes;             /* read */
    uint64_t lines, cut, bad; /* read; longer than the model's context; unreadable */
};

/* At most `most` lines; *more is false at the end. OA_INTERRUPTED when a stop is asked for. */
enum oa_error oa_input_lines_read(struct oa_input_lines *l, int most, struct oa_coded_line *to,
                                  int *count, bool *more);
/* The error of a `next` that gave -1. */
enum oa_error oa_input_failed(oa_context *c, uint64_t line);
/* Removes a byte order mark before the first line of a file, and CR after any line. */
void oa_input_line_trim(bool first, const char **line, size_t *length);
void oa_input_lines_release(struct oa_coded_line *lines, int count);
/* Logs how many lines were cut, and how many could not be read. */
void oa_input_lines_account(const struct oa_input_lines *l);

#endif
