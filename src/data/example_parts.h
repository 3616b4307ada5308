/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to src/data: what the readers of examples are made of. In this order: rows, files,
 * columns, readers.
 */
#ifndef ORTHANT_DATA_EXAMPLE_PARTS_H
#define ORTHANT_DATA_EXAMPLE_PARTS_H

#include "data/data.h"
#include "data/examples.h"
#include "tokenizers/word_table.h"

/* ---- rows ---- */

void oa_rows_init(struct oa_rows *rows, oa_context *c, const char *name, enum oa_answer answer);
void oa_rows_free(struct oa_rows *rows);
int oa_rows_add_file(struct oa_rows *rows, const char *name); /* its number; -1 after a failure */
/* A row is its cells, then its end. One whose texts are not all there is left out unless
 * rows->whole. */
enum oa_error oa_rows_add_cell(struct oa_rows *rows, const char *s, size_t n);
enum oa_error oa_rows_end(struct oa_rows *rows, int file, uint64_t line);
void oa_rows_respell(struct oa_rows *rows, const char *from, size_t n,
                     const char *to);                        /* notes that a label was */
void oa_rows_leave_out(struct oa_rows *rows, uint64_t line); /* notes an empty line */
void oa_rows_set_digest(struct oa_rows *rows); /* sets the digest: nothing is added any more */
/* Takes a part of the rows out, drawn with the seed; the others and those keep their order.
 * by_class: of rows of one label the same share, and never all of them. */
enum oa_error oa_rows_divide(const struct oa_rows *rows, double fraction, uint64_t seed,
                             bool by_class, struct oa_rows *rest,
                             struct oa_rows *held); /* the same; the rows stay */
enum oa_error oa_rows_hold_out(struct oa_rows *rows, double fraction, uint64_t seed, bool by_class,
                               struct oa_rows *held);
/* Of the rows of a side those that are among the training rows. */
enum oa_error oa_rows_overlap(const struct oa_rows *train, const struct oa_rows *side,
                              struct oa_overlap *out);

/* ---- files ---- */

/* A text file in memory: UTF-8 without 0, the mark at its beginning taken off. */
struct oa_text_file {
    const char *name; /* borrowed */
    char *data;       /* what was read, to be freed */
    char *at, *end;   /* what is left of it */
    uint64_t line;    /* the line that begins at `at`, from 1 */
    uint64_t carriage_returns;
};
enum oa_error oa_text_file_open(oa_context *c, const char *name, struct oa_text_file *out);
void oa_text_file_close(struct oa_text_file *f);
/* The next line without LF or CR LF; false at the end. */
bool oa_text_file_line(struct oa_text_file *f, char **line, size_t *length);
uint64_t oa_text_file_count(const struct oa_text_file *f); /* lines that are left */

/* ---- what files look like ---- */

/* Of the first lines that are not blank. */
struct oa_appearance {
    long lines;
    bool objects; /* each is a JSON object */
    bool commas,
        semicolons; /* of two lines or more: each has one and all have as many, quoted ones apart */
    bool any_tab;
    size_t columns; /* between tabs, where none of the cells is blank; 0: they are no columns */
};
struct oa_appearance oa_appearance_of(oa_context *c, const char *text, size_t length);
enum oa_read_as { OA_READ_AS_TSV, OA_READ_AS_CSV, OA_READ_AS_LINES };
/* Refuses what is plainly another format than the one it is to be read as. */
enum oa_error oa_check_appearance(oa_context *c, const struct oa_text_file *f,
                                  enum oa_read_as expected);
enum oa_error oa_check_appearances(oa_context *c, const struct oa_text_file *a,
                                   const struct oa_text_file *b);
enum oa_error oa_refuse_appearance(oa_context *c, const char *file, const char *what,
                                   const char *remedy);

/* ---- columns ---- */

enum { OA_MOST_COLUMNS = 16, OA_MOST_JOINED = 8 };

/* A record of a table: cells in the memory of its file. */
struct oa_cells {
    oa_context *context;
    struct oa_cell {
        char *s;
        size_t length;
    } * cell;
    size_t count, capacity;
};

/* Which columns of a table the cells of a row are. */
struct oa_column_plan {
    int count;
    struct oa_column {
        int joined; /* columns that are joined by a blank */
        int at[OA_MOST_JOINED];
    } column[OA_MOST_COLUMNS];
    bool header;   /* the first record has the names */
    size_t width;  /* columns that each record must have; 0: those that are read */
    bool guessed;  /* the user did not say */
    bool numbered; /* the user gave numbers of columns, not names alone */
};
/* first: the first record of the file. keys: the records are objects, whose cells have
 * names and no order. */
enum oa_error oa_columns_plan(oa_context *c, const struct oa_rows *rows, const char *file,
                              const char *columns, const struct oa_cells *first, bool keys,
                              struct oa_column_plan *out);

/* The same for lines of texts alone: `texts` columns, names of them or numbers, in the order of the
 * model's texts. place: of the first line, for messages. */
enum oa_error oa_columns_plan_texts(oa_context *c, const char *place, const char *columns,
                                    enum oa_answer answer, int texts, const struct oa_cells *first,
                                    struct oa_column_plan *out);
/* The cells of a line, between tabs. */
enum oa_error oa_cells_cut(struct oa_cells *cells, char *line, size_t length);
/* Has the record what the plan reads? place: for the message. */
enum oa_error oa_cells_check(const struct oa_cells *cells, const struct oa_column_plan *plan,
                             const char *place);
/* The cell of a column; of one that is joined, made in `joined`. */
struct oa_cell oa_cells_join(const struct oa_cells *cells, const struct oa_column *column,
                             struct oa_text *joined);

/* ---- readers ---- */

typedef enum oa_error oa_rows_reader(struct oa_rows *rows, const char *file, const char *columns);
/* By the end of its name, .gz apart; NULL: the name says nothing of what the file is. */
oa_rows_reader *oa_rows_reader_of(const char *file);
oa_rows_reader oa_read_tsv, oa_read_csv, oa_read_jsonl, oa_read_pictures, oa_read_dialogues;
enum oa_error oa_read_parallel(struct oa_rows *rows, const char *source, const char *target);
/* All files of a list, by the names and what is asked for. */
enum oa_error oa_rows_read(struct oa_rows *rows, const char *files, const char *columns);

/* ---- labels ---- */

enum oa_error oa_labels_make(oa_context *c, const struct oa_rows *train, struct oa_labels *out);
int32_t oa_row_class(const struct oa_labels *classes, const struct oa_rows *rows,
                     size_t row); /* OA_IGNORED: none */
/* Labels of a side that are none of the classes are counted in a notice or refused; all of them are
 * refused. */
enum oa_error oa_labels_check(const struct oa_labels *classes, const struct oa_rows *rows,
                              bool refuse);
enum oa_error oa_row_value(const struct oa_rows *rows, size_t row, double *out);

#endif
