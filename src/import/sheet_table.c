/* SPDX-License-Identifier: Apache-2.0
 * CSV and TSV (RFC 4180). */
#include "import/sheet.h"

#include "base/reserve.h"

#include <string.h>

struct table_reader {
    struct oa_sheet *sheet;
    const char *at, *end;
    char separator;
    unsigned long line; /* of `at` */
    struct oa_text cell;
};

/* Outside quotes in the first line. */
static char most_frequent_separator(const char *data, size_t length)
{
    static const char separators[] = "\t,;";
    size_t count[3] = { 0 };
    bool quoted = false;
    for (size_t i = 0; i < length && (quoted || data[i] != '\n'); i++) {
        const char *found = data[i] ? strchr(separators, data[i]) : NULL;
        quoted ^= data[i] == '"';
        if (found && !quoted)
            count[found - separators]++;
    }
    int most = count[0] ? 0 : 1; /* a tab is in no name */
    if (most == 1 && count[2] > count[1])
        most = 2;
    return separators[most];
}

/* The rest of a quoted cell: from after its first quote to after its last. */
static enum oa_error read_quoted(struct table_reader *r)
{
    unsigned long begun = r->line;
    for (; r->at < r->end; r->at++) {
        if (*r->at == '"' && !(r->at + 1 < r->end && r->at[1] == '"')) {
            r->at++;
            return OA_OK;
        }
        r->at += *r->at == '"';
        r->line += *r->at == '\n';
        oa_text_add(&r->cell, r->at, 1);
    }
    return oa_fail(r->sheet->context, OA_FORMAT,
                   "%s:%lu: a quoted cell begins here and does not end; close it with \"",
                   r->sheet->path, begun);
}

/* Into r->cell; `at` is then at what ended it. */
static enum oa_error read_cell(struct table_reader *r)
{
    oa_text_cut(&r->cell, 0);
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    if (r->at < r->end && *r->at == '"') {
        r->at++;
        OA_TRY(read_quoted(r));
    }
    const char *from = r->at;
    while (r->at < r->end && *r->at != r->separator && *r->at != '\n')
        r->at++;
    oa_text_add(&r->cell, from, (size_t)(r->at - from));
    return oa_status(r->sheet->context);
}

/* After a cell: true if another one of the same record follows. */
static bool record_goes_on(struct table_reader *r)
{
    if (r->at >= r->end)
        return false;
    r->line += *r->at == '\n';
    return *r->at++ == r->separator;
}

/* Lines without anything, also at the end. */
static bool skip_blank_lines(struct table_reader *r)
{
    const char *at = r->at;
    unsigned long line = r->line;
    while (at < r->end && strchr(" \r\n", *at)) {
        line += *at == '\n';
        if (*at++ == '\n') {
            r->at = at;
            r->line = line;
        }
    }
    return at < r->end;
}

/* columns: [*count] numbers of the sheet's columns; -1: without a name. */
static enum oa_error read_names(struct table_reader *r, int32_t **columns, size_t *count)
{
    struct oa_sheet *s = r->sheet;
    size_t capacity = 0;
    do {
        OA_TRY(read_cell(r));
        const char *name = r->cell.s ? r->cell.s : "";
        size_t length = r->cell.length;
        name += strspn(name, " \t");
        length -= (size_t)(name - (r->cell.s ? r->cell.s : name));
        while (length && strchr(" \t\r\n", name[length - 1]))
            length--;
        if (!oa_reserve(s->context, columns, &capacity, *count + 1, sizeof **columns))
            return OA_NO_MEMORY;
        if (length && oa_words_find(&s->names, name, length) >= 0)
            return oa_fail(s->context, OA_FORMAT, "%s: two columns are named %.*s; rename one",
                           s->path, (int)length, name);
        (*columns)[*count] = length ? oa_words_add(&s->names, name, length) : -1;
        if (length && (*columns)[*count] < 0)
            return OA_NO_MEMORY;
        ++*count;
    } while (record_goes_on(r));
    return OA_OK;
}

static enum oa_error read_records(struct table_reader *r, const int32_t *columns, size_t count)
{
    struct oa_sheet *s = r->sheet;
    while (skip_blank_lines(r)) {
        unsigned long line = r->line;
        size_t n = 0;
        OA_TRY(oa_sheet_begin_row(s, line));
        do {
            OA_TRY(read_cell(r));
            if (n < count && columns[n] >= 0)
                OA_TRY(oa_sheet_add(s, columns[n], r->cell.s ? r->cell.s : "", r->cell.length));
            n++;
        } while (record_goes_on(r));
        if (n != count)
            return oa_fail(s->context, OA_FORMAT,
                           "%s:%lu: %zu cell%s, but the header has %zu; quote cells that contain "
                           "the separator",
                           s->path, line, n, oa_plural((double)n), count);
    }
    return OA_OK;
}

enum oa_error oa_sheet_read_table(struct oa_sheet *s, const char *data, size_t length)
{
    struct table_reader r = { .sheet = s, .at = data, .end = data + length, .line = 1 };
    int32_t *columns = NULL;
    size_t count = 0;
    r.separator = most_frequent_separator(data, length);
    oa_text_init(&r.cell, s->context);
    if (!skip_blank_lines(&r))
        return oa_fail(s->context, OA_FORMAT,
                       "%s is empty; a table begins with a line of column names", s->path);
    enum oa_error e = read_names(&r, &columns, &count);
    if (e == OA_OK)
        e = read_records(&r, columns, count);
    oa_free(columns);
    oa_text_free(&r.cell);
    return e;
}
