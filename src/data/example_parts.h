/* SPDX-License-Identifier: Apache-2.0
 * Private to src/data: parts of the readers of examples. */
#ifndef ORTHANT_DATA_EXAMPLE_PARTS_H
#define ORTHANT_DATA_EXAMPLE_PARTS_H

#include "base/reserve.h"
#include "data/data.h"
#include "data/examples.h"

/* ---- rows ---- */

void oa_rows_init(struct oa_rows *rows, oa_context *c, const char *name, enum oa_answer answer);
void oa_rows_free(struct oa_rows *rows);
int oa_rows_add_file(struct oa_rows *rows, const char *name); /* its index; -1: no memory */
/* A row is added cell by cell and then ended. A row with a blank text is left out unless
 * rows->whole. */
enum oa_error oa_rows_add_cell(struct oa_rows *rows, const char *s, size_t n);
enum oa_error oa_rows_end(struct oa_rows *rows, int file, uint64_t line);
/* Counts a normalised label; the first one is kept for a notice. */
void oa_rows_count_respelled(struct oa_rows *rows, const char *from, size_t n, const char *to);
void oa_rows_count_left_out(struct oa_rows *rows, uint64_t line);
void oa_rows_set_digest(struct oa_rows *rows); /* after the last row was added */
/* Splits rows at random; both parts keep their order. by_class: the same share of each label, never
 * all of its rows. oa_rows_divide copies; oa_rows_hold_out removes the held-out rows from `rows`.
 */
enum oa_error oa_rows_divide(const struct oa_rows *rows, double fraction, uint64_t seed,
                             bool by_class, struct oa_rows *rest, struct oa_rows *held);
enum oa_error oa_rows_hold_out(struct oa_rows *rows, double fraction, uint64_t seed, bool by_class,
                               struct oa_rows *held);
/* Counts the rows of `side` that are among the training rows. */
enum oa_error oa_rows_overlap(const struct oa_rows *train, const struct oa_rows *side,
                              struct oa_overlap *out);

/* ---- files ---- */

/* A text file in memory: UTF-8 without zero bytes, a byte order mark removed. */
struct oa_text_file {
    const char *name; /* borrowed */
    char *data;       /* owned */
    char *at, *end;   /* unread part */
    uint64_t line;    /* the line that begins at `at`, from 1 */
    uint64_t carriage_returns;
};
enum oa_error oa_text_file_open(oa_context *c, const char *name, struct oa_text_file *out);
void oa_text_file_close(struct oa_text_file *f);
/* The next line, without LF or CR LF; false at the end. */
bool oa_text_file_line(struct oa_text_file *f, char **line, size_t *length);
uint64_t oa_text_file_count(const struct oa_text_file *f); /* unread lines */

/* ---- detection of formats ---- */

/* Properties of the first lines that are not blank. */
struct oa_detected_format {
    long lines;
    bool objects;            /* each is a JSON object */
    bool commas, semicolons; /* two lines or more, all with the same number outside quotes, not 0 */
    bool any_tab;
    size_t columns; /* separated by tabs, none of them blank; 0: no table */
};
struct oa_detected_format oa_detect_format(oa_context *c, const char *text, size_t length);
enum oa_expected_format { OA_EXPECT_TSV, OA_EXPECT_CSV, OA_EXPECT_LINES };
/* OA_FORMAT where the file is clearly of another format than expected. */
enum oa_error oa_check_format(oa_context *c, const struct oa_text_file *f,
                              enum oa_expected_format expected);
enum oa_error oa_check_parallel_formats(oa_context *c, const struct oa_text_file *a,
                                        const struct oa_text_file *b);
enum oa_error oa_refuse_format(oa_context *c, const char *file, const char *what,
                               const char *remedy);

/* ---- columns ---- */

enum { OA_MOST_COLUMNS = 16, OA_MOST_JOINED = 8 };

/* A record of a table; the cells point into the file. */
struct oa_cells {
    oa_context *context;
    struct oa_cell {
        char *s;
        size_t length;
    } * cell;
    size_t count, capacity;
};

/* Which columns of a table make the cells of a row. */
struct oa_column_plan {
    int count;
    struct oa_column {
        int joined; /* columns, joined by blanks */
        int at[OA_MOST_JOINED];
    } column[OA_MOST_COLUMNS];
    bool aligned;  /* tokens and their targets, by name */
    bool header;   /* the first record is a header */
    size_t width;  /* columns of every record; 0: at least those that are read */
    bool guessed;  /* without data.columns */
    bool numbered; /* data.columns has numbers */
};
/* first: the first record of the file. keys: the records are JSON objects: named, unordered. */
enum oa_error oa_columns_plan(oa_context *c, const struct oa_rows *rows, const char *file,
                              const char *columns, const struct oa_cells *first, bool keys,
                              struct oa_column_plan *out);

/* The same for unlabelled lines: names or numbers of `texts` columns, in the order of the model's
 * texts. place: of the first line, for messages. */
enum oa_error oa_columns_plan_texts(oa_context *c, const char *place, const char *columns,
                                    enum oa_answer answer, int texts, const struct oa_cells *first,
                                    struct oa_column_plan *out);
/* Splits a line at its tabs. */
enum oa_error oa_cells_cut(struct oa_cells *cells, char *line, size_t length);
/* OA_FORMAT where the record lacks columns of the plan. place: for messages. */
enum oa_error oa_cells_check(const struct oa_cells *cells, const struct oa_column_plan *plan,
                             const char *place);
/* The text of a column of the plan; joined columns are written to `joined`. */
struct oa_cell oa_cells_join(const struct oa_cells *cells, const struct oa_column *column,
                             struct oa_text *joined);

/* ---- readers ---- */

typedef enum oa_error oa_rows_reader(struct oa_rows *rows, const char *file, const char *columns);
/* By the suffix of its name before .gz; NULL: unknown suffix. */
oa_rows_reader *oa_rows_reader_of(const char *file);
oa_rows_reader oa_read_tsv, oa_read_csv, oa_read_jsonl, oa_read_pictures, oa_read_dialogues;
enum oa_error oa_read_parallel(struct oa_rows *rows, const char *source, const char *target);
/* All files of a list. */
enum oa_error oa_rows_read(struct oa_rows *rows, const char *files, const char *columns);

/* ---- labels ---- */

enum oa_error oa_labels_make(oa_context *c, const struct oa_rows *train, struct oa_labels *out);
/* OA_IGNORED: the label is not one of the classes. */
int32_t oa_row_class(const struct oa_labels *classes, const struct oa_rows *rows, size_t row);
/* Labels that are not among the classes are logged or, with `refuse` or where all are unknown,
 * rejected. */
enum oa_error oa_labels_check(const struct oa_labels *classes, const struct oa_rows *rows,
                              bool refuse);
enum oa_error oa_row_value(const struct oa_rows *rows, size_t row, double *out);

#endif
