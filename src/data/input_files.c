/* SPDX-License-Identifier: Apache-2.0
 * Unlabelled lines, read in pieces, and pictures. */
#include "data/example_parts.h"
#include "data/inputs.h"

#include <string.h>
#include <sys/stat.h>

struct oa_input_files {
    oa_context *context;
    char *list;       /* cut at its commas */
    char *left;       /* rest of the list; NULL: no more files */
    const char *file; /* the open one */
    bool first;       /* at the first line of the file */
    bool whole;       /* a line is a text */
    struct oa_reader *reader;
    struct oa_text text; /* the line so far */
    const char *piece;
    size_t length;
    bool ended;          /* the reader is at the end */
    struct oa_rows rows; /* of pictures */
    size_t row;
};

/* Quoted cells and JSON objects cannot be read as lines, nor a table as whole lines. */
static enum oa_error check_input_form(oa_context *c, const char *file, bool whole)
{
    oa_rows_reader *form = oa_rows_reader_of(file);
    if (form == oa_read_csv || form == oa_read_jsonl)
        return oa_fail(c, OA_ARGUMENT,
                       "--data %s: CSV and JSON are not supported here; write the texts into a "
                       "file, one per line, or a table with tabs (*.tsv)",
                       file);
    if (form == oa_read_tsv && whole)
        return oa_fail(c, OA_ARGUMENT,
                       "--data %s is a table, but the model reads one text per line: give the "
                       "text's column, by number or name, with --columns",
                       file);
    return OA_OK;
}

static enum oa_error check_forms(oa_context *c, const char *files, bool whole)
{
    char *list = oa_copy_text(c, files);
    enum oa_error e = list ? OA_OK : OA_NO_MEMORY;
    for (char *name, *left = list; left && e == OA_OK;) {
        left = oa_cut_name(left, &name);
        e = check_input_form(c, name, whole);
    }
    oa_free(list);
    return e;
}

bool oa_input_files_tables(oa_context *c, const char *files)
{
    bool found = false;
    char *list = oa_copy_text(c, files);
    for (char *name, *left = list; left;) {
        left = oa_cut_name(left, &name);
        found = found || oa_rows_reader_of(name) == oa_read_tsv;
    }
    oa_free(list);
    return found;
}

enum oa_error oa_input_files_open(oa_context *c, const char *files, bool whole,
                                  struct oa_input_files **out)
{
    OA_TRY(check_forms(c, files, whole));
    struct oa_input_files *g = *out = oa_alloc(c, sizeof *g);
    if (!g)
        return OA_NO_MEMORY;
    g->context = c;
    g->whole = whole;
    oa_text_init(&g->text, c);
    oa_rows_init(&g->rows, c, "given", OA_ANSWER_CLASS);
    g->left = g->list = oa_copy_text(c, files);
    return oa_status(c);
}

static void close_file(struct oa_input_files *g)
{
    oa_reader_close(g->reader);
    oa_rows_free(&g->rows);
    g->reader = NULL;
    g->file = NULL;
    g->row = 0;
}

void oa_input_files_close(struct oa_input_files *g)
{
    if (!g)
        return;
    close_file(g);
    oa_text_free(&g->text);
    oa_free(g->list);
    oa_free(g);
}

/* ---- a file ---- */

/* Checks the format of the first piece, up to its last line end. */
static enum oa_error check_first_lines(struct oa_input_files *g)
{
    OA_TRY(oa_reader_next(g->reader, &g->piece, &g->length));
    size_t n = g->length;
    while (n && g->piece[n - 1] != '\n')
        n--;
    const struct oa_detected_format l = oa_detect_format(g->context, g->piece, n ? n : g->length);
    if (l.objects)
        return oa_refuse_format(g->context, g->file, "the lines are JSON objects",
                                "write the texts into a file, one per line; if the objects are "
                                "the texts, pipe them to standard input");
    if (g->whole && l.columns)
        return oa_refuse_format(g->context, g->file,
                                "the file is a table: every line has as many tabs",
                                "give the text's column with --columns; if the tabs are part "
                                "of the texts, pipe them to standard input");
    return OA_OK;
}

static enum oa_error open_input_file(struct oa_input_files *g)
{
    char *name;
    g->left = oa_cut_name(g->left, &name);
    g->file = name;
    g->first = true;
    g->ended = false;
    g->length = 0;
    if (!*name)
        return oa_fail(g->context, OA_ARGUMENT,
                       "the list of files has an empty name (a comma too many)");
    if (oa_holds_pictures(name))
        return oa_read_pictures(&g->rows, name, NULL);
    OA_TRY(oa_reader_open(g->context, name, &g->reader));
    return check_first_lines(g);
}

/* Appends the piece up to its first LF to the line. Returns whether the line is complete. */
static bool append_piece(struct oa_input_files *g)
{
    const char *feed = memchr(g->piece, '\n', g->length);
    size_t n = feed ? (size_t)(feed - g->piece) : g->length;
    oa_text_add(&g->text, g->piece, n);
    g->piece += n + (feed != NULL);
    g->length -= n + (feed != NULL);
    return feed != NULL;
}

/* The last line may have no LF. */
static bool next_input_line(struct oa_input_files *g, const char **s, size_t *n)
{
    bool whole = false;
    oa_text_cut(&g->text, 0);
    while (!whole && !g->ended && oa_status(g->context) == OA_OK) {
        if (!g->length && oa_reader_next(g->reader, &g->piece, &g->length) != OA_OK)
            return false;
        g->ended = !g->length;
        whole = g->length && append_piece(g);
    }
    *s = g->text.s ? g->text.s : "";
    *n = g->text.length;
    return oa_status(g->context) == OA_OK && (whole || *n);
}

/* ---- all files ---- */

bool oa_input_files_next(struct oa_input_files *g, const char **s, size_t *n)
{
    bool there = false;
    g->first = false;
    while (!there && oa_status(g->context) == OA_OK) {
        if (!g->file && (!g->left || open_input_file(g) != OA_OK))
            return false;
        if (g->reader)
            there = next_input_line(g, s, n);
        else if ((there = g->row < g->rows.count))
            *s = oa_rows_cell(&g->rows, g->row++, 1, n);
        if (!there)
            close_file(g);
    }
    return there;
}

const char *oa_input_files_name(const struct oa_input_files *g, bool *first)
{
    *first = g->first;
    return g->file;
}

double oa_input_files_bytes(oa_context *c, const char *files)
{
    struct stat about;
    double all = 0;
    char *list = oa_copy_text(c, files);
    for (char *name, *left = list; left && all >= 0;) {
        left = oa_cut_name(left, &name);
        bool plain =
            stat(name, &about) == 0 && S_ISREG(about.st_mode) && !oa_name_ends(name, ".gz");
        all = plain ? all + (double)about.st_size : -1;
    }
    oa_free(list);
    return all > 0 ? all : 0;
}
