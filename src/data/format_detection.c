/* SPDX-License-Identifier: Apache-2.0
 * Detects the format of a file from its first lines, whatever its name. Only what is clearly
 * another format is rejected: ordinary text may have tabs, commas and braces. */
#include "data/example_parts.h"
#include "data/json_line.h"

#include <string.h>

enum { LINES_LOOKED_AT = 20 };

/* Separators per line, blank lines left out. */
struct separators {
    size_t least, most;
    bool bare; /* no cell is blank */
};

static void count_separators(const char *line, size_t length, char mark, bool first,
                             struct separators *s)
{
    size_t count = 0, cell = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        quoted ^= mark != '\t' && line[i] == '"';
        bool is = line[i] == mark && !quoted;
        s->bare = s->bare && !(is && oa_is_blank(line + cell, i - cell));
        cell = is ? i + 1 : cell;
        count += is;
    }
    s->bare = s->bare && !oa_is_blank(line + cell, length - cell);
    s->least = first || count < s->least ? count : s->least;
    s->most = first || count > s->most ? count : s->most;
}

static bool are_cells(const struct oa_detected_format *l, const struct separators *s)
{
    return l->lines > 1 && s->least > 0 && s->least == s->most;
}

static bool is_object(oa_context *c, const char *line, size_t length)
{
    struct oa_json_object object;
    struct oa_json_fault fault;
    oa_json_object_init(&object, c);
    bool is = oa_json_object_cut(&object, line, length, &fault) && object.count > 0;
    oa_json_object_free(&object);
    return is;
}

struct oa_detected_format oa_detect_format(oa_context *c, const char *text, size_t length)
{
    struct oa_detected_format l = { .objects = true };
    struct separators tab = { .bare = true }, comma = { .bare = true },
                      semicolon = { .bare = true };
    const char *end = text + length, *next;
    for (const char *s = text; s < end && l.lines < LINES_LOOKED_AT; s = next) {
        const char *feed = memchr(s, '\n', (size_t)(end - s)), *stop = feed ? feed : end;
        next = feed ? feed + 1 : end;
        size_t n = (size_t)(stop - s) - (stop > s && stop[-1] == '\r');
        if (oa_is_blank(s, n))
            continue;
        l.objects = l.objects && is_object(c, s, n);
        count_separators(s, n, '\t', l.lines == 0, &tab);
        count_separators(s, n, ',', l.lines == 0, &comma);
        count_separators(s, n, ';', l.lines == 0, &semicolon);
        l.lines++;
    }
    l.objects = l.objects && l.lines > 0;
    l.columns = are_cells(&l, &tab) && tab.bare ? tab.least + 1 : 0;
    l.any_tab = tab.most > 0;
    l.commas = are_cells(&l, &comma);
    l.semicolons = are_cells(&l, &semicolon);
    return l;
}

enum oa_error oa_refuse_format(oa_context *c, const char *file, const char *what,
                               const char *remedy)
{
    return oa_fail(c, OA_FORMAT, "%s: %s; %s", file, what, remedy);
}

#define OBJECTS "the lines are JSON objects"

enum oa_error oa_check_format(oa_context *c, const struct oa_text_file *f,
                              enum oa_expected_format expected)
{
    const struct oa_detected_format l = oa_detect_format(c, f->at, (size_t)(f->end - f->at));
    if (l.objects)
        return oa_refuse_format(c, f->name, OBJECTS, "name the file *.jsonl");
    if (expected == OA_EXPECT_TSV && !l.any_tab && (l.commas || l.semicolons))
        return oa_refuse_format(c, f->name,
                                l.commas ? "no tabs, and every line has as many commas"
                                         : "no tabs, and every line has as many semicolons",
                                l.commas ? "name a table with commas *.csv"
                                         : "write it with tabs (*.tsv) or commas (*.csv)");
    if (expected == OA_EXPECT_CSV && !l.commas && l.columns)
        return oa_refuse_format(c, f->name, "cells are separated by tabs, not commas",
                                "name a table with tabs *.tsv");
    if (expected == OA_EXPECT_CSV && !l.commas && l.semicolons)
        return oa_refuse_format(c, f->name, "cells are separated by semicolons, not commas",
                                "convert it to commas (csvformat -d ';'), or to tabs as *.tsv");
    return OA_OK;
}

enum oa_error oa_check_lines(oa_context *c, const char *name, const char *text, size_t length)
{
    oa_rows_reader *form = oa_rows_reader_of(name);
    const char *format = oa_binary_format(text, length);
    const struct oa_detected_format l = oa_detect_format(c, text, length);
    if (format)
        return oa_fail(c, OA_FORMAT, "%s is not a text file: it is %s", name, format);
    if (form == oa_read_jsonl && l.objects)
        return oa_refuse_format(c, name, OBJECTS,
                                "extract the field into a file, one value per line (jq -r .KEY)");
    if ((form == oa_read_tsv && l.columns) || (form == oa_read_csv && l.commas))
        return oa_refuse_format(c, name, "the file is a table, but whole lines are read",
                                "extract the column into a file (cut -f N)");
    return OA_OK;
}

/* One file of a pair may have tabs or an object in every line; if both do, they are tables. */
enum oa_error oa_check_parallel_formats(oa_context *c, const struct oa_text_file *a,
                                        const struct oa_text_file *b)
{
    const struct oa_detected_format x = oa_detect_format(c, a->at, (size_t)(a->end - a->at)),
                                    y = oa_detect_format(c, b->at, (size_t)(b->end - b->at));
    char what[64];
    if (x.objects && y.objects)
        return oa_refuse_format(
            c, a->name, OBJECTS ", also in the parallel file",
            "name files of pairs *.jsonl; if the objects are the texts, put them into one *.tsv");
    snprintf(what, sizeof what, "every line here and in the parallel file has %zu columns",
             x.columns);
    if (x.columns && x.columns == y.columns)
        return oa_refuse_format(
            c, a->name, what,
            "name tables *.tsv; in parallel texts replace tabs by blanks (tr '\\t' ' ')");
    return OA_OK;
}
