/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of text from CSV, TSV or JSON: named columns, and rows with the line that they are from.
 * Private to import/ and its tests.
 */
#ifndef ORTHANT_IMPORT_SHEET_H
#define ORTHANT_IMPORT_SHEET_H

#include "tokenizers/word_table.h"

struct oa_sheet {
    oa_context *context;
    const char *path;      /* for messages */
    struct oa_words names; /* of the columns */
    struct oa_text text;   /* of all cells, each ended by 0 */
    struct oa_sheet_cell {
        int32_t column;
        size_t at; /* in text */
    } * cell;      /* of all rows; a row has its cells in any order, and may lack some */
    size_t cells, cell_capacity;
    struct oa_sheet_row {
        size_t first; /* cell */
        unsigned long line;
    } * row;
    size_t rows, row_capacity;
};
void oa_sheet_init(struct oa_sheet *s, oa_context *c, const char *path);
void oa_sheet_free(struct oa_sheet *s);
enum oa_error oa_sheet_begin_row(struct oa_sheet *s, unsigned long line);
/* Of the newest row. Blanks around the text are removed. */
enum oa_error oa_sheet_add(struct oa_sheet *s, int32_t column, const char *text, size_t length);
/* The cell of a row, "" where it has none. */
const char *oa_sheet_text(const struct oa_sheet *s, size_t row, int32_t column);
const char *oa_sheet_name(const struct oa_sheet *s, int32_t column);

/* RFC 4180: cells separated by tabs, commas or semicolons, whichever the first line has most of;
 * quoted cells may have separators, line ends and doubled quotes. The first record has the names;
 * columns without one are ignored. */
enum oa_error oa_sheet_read_table(struct oa_sheet *s, const char *data, size_t length);
/* One object a line, or a list of objects. Members of objects in them are columns "outer.inner";
 * lists are ignored. */
enum oa_error oa_sheet_read_json(struct oa_sheet *s, const char *data, size_t length);

/* What a cell holds. */
enum oa_cell_kind {
    OA_CELL_NUMBER,
    OA_CELL_EMPTY,      /* also null, None, NA */
    OA_CELL_NOT_FINITE, /* NaN, Infinity */
    OA_CELL_TEXT
};
enum oa_cell_kind oa_cell_number(const char *text, double *value);
/* Whether a name is in a list that NULL ends, without regard to case. */
bool oa_is_listed(const char *name, const char *const *list);

#endif
