/* SPDX-License-Identifier: Apache-2.0
 * Tables. TSV: a record per line, cells separated by tabs, no quoting. CSV (RFC 4180): cells
 * separated by commas; quoted cells may contain commas, line ends and doubled quotes. */
#include "data/example_parts.h"
#include "data/turns.h"

#include <string.h>

struct example_table {
    struct oa_rows *rows;
    const char *columns;
    struct oa_text_file file;
    int number; /* of the file */
    struct oa_cells cells;
    struct oa_column_plan plan; /* of count 0 until the first record */
    struct oa_text joined;
};

static enum oa_error add_table_cell(struct oa_cells *cells, char *s, size_t n)
{
    if (!oa_reserve(cells->context, &cells->cell, &cells->capacity, cells->count + 1,
                    sizeof *cells->cell))
        return OA_NO_MEMORY;
    cells->cell[cells->count++] = (struct oa_cell){ s, n };
    return OA_OK;
}

/* ---- records ---- */

enum oa_error oa_cells_check(const struct oa_cells *cells, const struct oa_column_plan *plan,
                             const char *place)
{
    size_t needed = 0, has = cells->count;
    for (int i = 0; i < plan->count; i++)
        for (int k = 0; k < plan->column[i].joined; k++)
            if ((size_t)plan->column[i].at[k] >= needed)
                needed = (size_t)plan->column[i].at[k] + 1;
    bool exact = plan->width > 0;
    if (exact ? has == plan->width : has >= needed)
        return OA_OK;
    return oa_fail(cells->context, OA_FORMAT, "%s: %zu column%s, but %s %zu%s", place, has,
                   oa_plural(has), exact ? "line 1 has" : "column", exact ? plan->width : needed,
                   exact
                       ? "; if trailing columns may be missing, give column numbers in data.columns"
                       : " is read");
}

struct oa_cell oa_cells_join(const struct oa_cells *cells, const struct oa_column *column,
                             struct oa_text *joined)
{
    const struct oa_cell *cell = &cells->cell[column->at[0]];
    if (column->joined == 1)
        return *cell;
    oa_text_cut(joined, 0);
    for (int k = 0; k < column->joined; k++) {
        cell = &cells->cell[column->at[k]];
        oa_text_add(joined, " ", k > 0);
        oa_text_add(joined, cell->s, cell->length);
    }
    return (struct oa_cell){ joined->s ? joined->s : (char *)(uintptr_t) "", joined->length };
}

static enum oa_error add_table_row(struct example_table *t, uint64_t line)
{
    char place[1024];
    if (t->cells.count == 1 && t->cells.cell[0].length == 0) {
        oa_rows_count_left_out(t->rows, line);
        return OA_OK;
    }
    snprintf(place, sizeof place, "%.900s, line %llu", t->file.name, (unsigned long long)line);
    OA_TRY(oa_cells_check(&t->cells, &t->plan, place));
    if (t->rows->answer == OA_ANSWER_TOKENS)
        OA_TRY(oa_rows_add_roles(t->rows, t->plan.aligned));
    for (int i = 0; i < t->plan.count; i++) {
        struct oa_cell cell = oa_cells_join(&t->cells, &t->plan.column[i], &t->joined);
        OA_TRY(oa_rows_add_cell(t->rows, cell.s, cell.length));
    }
    return oa_rows_end(t->rows, t->number, line);
}

static void tell_plan(const struct example_table *t)
{
    struct oa_text list;
    bool pairs = t->rows->answer == OA_ANSWER_TEXT, turns = t->rows->answer == OA_ANSWER_TOKENS;
    oa_text_init(&list, t->rows->context);
    for (int i = 0; i < t->plan.count; i++)
        for (int k = 0; k < t->plan.column[i].joined; k++)
            oa_text_printf(&list, "%s%d", k ? "+" : i ? "," : "", t->plan.column[i].at[k] + 1);
    oa_log(t->rows->context, 2, "%s: columns %s of %zu are %s%s, line 1 %s", t->file.name,
           list.s ? list.s : "", t->cells.count,
           t->plan.aligned ? "tokens,targets"
           : turns         ? "prompt,answer"
           : pairs         ? "source,target"
                           : "label,text",
           t->plan.count < 3 ? ""
           : pairs           ? " and references"
                             : ",text",
           t->plan.header ? "has their names" : "is an example");
    oa_text_free(&list);
}

static enum oa_error take_table_record(struct example_table *t, uint64_t line)
{
    if (t->plan.count == 0) {
        OA_TRY(oa_columns_plan(t->rows->context, t->rows, t->file.name, t->columns, &t->cells,
                               false, &t->plan));
        tell_plan(t);
        if (t->plan.header)
            return OA_OK;
    }
    return add_table_row(t, line);
}

/* ---- TSV ---- */

enum oa_error oa_cells_cut(struct oa_cells *cells, char *line, size_t length)
{
    char *end = line + length;
    cells->count = 0;
    for (char *s = line;;) {
        char *tab = memchr(s, '\t', (size_t)(end - s));
        OA_TRY(add_table_cell(cells, s, (size_t)((tab ? tab : end) - s)));
        if (!tab)
            return OA_OK;
        s = tab + 1;
    }
}

static enum oa_error read_tsv_lines(struct example_table *t)
{
    char *line;
    size_t length;
    while (oa_text_file_line(&t->file, &line, &length)) {
        OA_TRY(oa_cells_cut(&t->cells, line, length));
        OA_TRY(take_table_record(t, t->file.line - 1));
    }
    return OA_OK;
}

/* ---- CSV ---- */

static void skip_return(struct oa_text_file *f)
{
    bool is = f->end - f->at >= 2 && f->at[0] == '\r' && f->at[1] == '\n';
    f->carriage_returns += is;
    f->at += is;
}

/* A quoted cell, unquoted in place. */
static enum oa_error cut_quoted_cell(struct example_table *t)
{
    struct oa_text_file *f = &t->file;
    uint64_t began = f->line;
    char *s = ++f->at, *to = s;
    for (; f->at < f->end; *to++ = *f->at++) {
        skip_return(f);
        f->line += *f->at == '\n';
        if (*f->at == '"' && (++f->at == f->end || *f->at != '"'))
            return add_table_cell(&t->cells, s, (size_t)(to - s));
    }
    return oa_fail(t->rows->context, OA_FORMAT, "%s, line %llu: unterminated quote", f->name,
                   (unsigned long long)began);
}

static enum oa_error cut_bare_cell(struct example_table *t)
{
    struct oa_text_file *f = &t->file;
    char *s = f->at;
    while (f->at < f->end && *f->at != ',' && *f->at != '\n')
        f->at++;
    size_t n = (size_t)(f->at - s);
    bool feed = f->at < f->end && *f->at == '\n' && n > 0 && s[n - 1] == '\r';
    f->carriage_returns += feed;
    return add_table_cell(&t->cells, s, n - feed);
}

/* After a cell: a comma (*more) or the end of the record. */
static enum oa_error end_csv_cell(struct example_table *t, bool *more)
{
    struct oa_text_file *f = &t->file;
    skip_return(f);
    *more = f->at < f->end && *f->at == ',';
    if (f->at < f->end && *f->at != ',' && *f->at != '\n')
        return oa_fail(
            t->rows->context, OA_FORMAT,
            "%s, line %llu: text after a closing quote; double the quotes inside quoted cells",
            f->name, (unsigned long long)f->line);
    if (f->at < f->end)
        f->line += *f->at++ == '\n';
    return OA_OK;
}

static enum oa_error read_csv_record(struct example_table *t)
{
    bool more = true;
    t->cells.count = 0;
    while (more) {
        bool quoted = t->file.at < t->file.end && *t->file.at == '"';
        OA_TRY(quoted ? cut_quoted_cell(t) : cut_bare_cell(t));
        OA_TRY(end_csv_cell(t, &more));
    }
    return OA_OK;
}

static enum oa_error read_csv_records(struct example_table *t)
{
    while (t->file.at < t->file.end) {
        uint64_t line = t->file.line;
        OA_TRY(read_csv_record(t));
        OA_TRY(take_table_record(t, line));
    }
    return OA_OK;
}

/* ---- both ---- */

static enum oa_error read_table(struct oa_rows *rows, const char *file, const char *columns,
                                enum oa_expected_format form,
                                enum oa_error (*records)(struct example_table *))
{
    struct example_table t = { .rows = rows, .columns = columns, .cells.context = rows->context };
    oa_text_init(&t.joined, rows->context);
    enum oa_error error = oa_text_file_open(rows->context, file, &t.file);
    if (error == OA_OK)
        error = oa_check_format(rows->context, &t.file, form);
    if (error == OA_OK)
        error = (t.number = oa_rows_add_file(rows, file)) < 0 ? OA_NO_MEMORY : records(&t);
    rows->carriage_returns += t.file.carriage_returns;
    oa_text_file_close(&t.file);
    oa_text_free(&t.joined);
    oa_free(t.cells.cell);
    return error;
}

enum oa_error oa_read_tsv(struct oa_rows *rows, const char *file, const char *columns)
{
    return read_table(rows, file, columns, OA_EXPECT_TSV, read_tsv_lines);
}

enum oa_error oa_read_csv(struct oa_rows *rows, const char *file, const char *columns)
{
    return read_table(rows, file, columns, OA_EXPECT_CSV, read_csv_records);
}
