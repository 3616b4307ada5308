/* SPDX-License-Identifier: Apache-2.0
 * A table of text cells, as plain text, Markdown or HTML. */
#include "print/print.h"

#include <stdarg.h>
#include <string.h>
#include <utf8proc.h>

enum { GAP = 2, NARROWEST = 16 }; /* blanks between columns; a column is not shortened below this */

/* ---- width ---- */

/* Columns of the character at s, whose length goes to *bytes. What is not UTF-8 counts as one
 * column a byte. */
static int character_width(const char *s, int *bytes)
{
    utf8proc_int32_t code;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, -1, &code);
    *bytes = n > 0 ? (int)n : 1;
    return n > 0 ? utf8proc_charwidth(code) : 1;
}

int oa_text_width(const char *utf8)
{
    int width = 0;
    for (int n; *utf8; utf8 += n)
        width += character_width(utf8, &n);
    return width;
}

/* Bytes of the longest beginning of s that is at most `width` columns wide. */
static size_t bytes_within(const char *s, int width)
{
    size_t used = 0;
    for (int n; s[used]; used += (size_t)n) {
        width -= character_width(s + used, &n);
        if (width < 0)
            break;
    }
    return used;
}

void oa_text_add_short(struct oa_text *out, const char *utf8, int width)
{
    int whole = oa_text_width(utf8), tail = width / 3;
    if (whole <= width) {
        oa_text_add(out, utf8, strlen(utf8));
        return;
    }
    const char *end = utf8 + bytes_within(utf8, whole - tail);
    oa_text_add(out, utf8, bytes_within(utf8, width - 1 - tail));
    oa_text_printf(out, "…%s", end);
}

void oa_wrap(void (*add)(void *argument, const char *text, size_t length), void *argument,
             const char *text, int at, int indent, int width)
{
    while (*text) {
        size_t blanks = strspn(text, " "), n = strcspn(text + blanks, " \n");
        int wide = 0;
        for (int i = 0, bytes; i < (int)n; i += bytes)
            wide += character_width(text + blanks + i, &bytes);
        bool end = *text == '\n';
        if (end || (at > indent && n > 0 && at + (int)blanks + wide > width)) {
            add(argument, "\n", 1);
            text += end ? 1 : blanks;
            for (at = 0; at < indent && *text; at++)
                add(argument, " ", 1);
            continue;
        }
        add(argument, text, blanks + n);
        at += (int)blanks + wide;
        text += blanks + n;
    }
}

static void wrapped_add(void *argument, const char *text, size_t length)
{
    oa_text_add(argument, text, length);
}

void oa_text_wrap(struct oa_text *out, const char *text, int width)
{
    oa_wrap(wrapped_add, out, text, 0, 0, width);
}

/* ---- cells ---- */

void oa_table_init(struct oa_table *t, oa_context *c, const struct oa_column *columns, int width)
{
    *t = (struct oa_table){ .context = c, .columns = columns, .width = width };
}

void oa_table_free(struct oa_table *t)
{
    for (long i = 0; i < t->count; i++)
        oa_free(t->cells[i]);
    oa_free(t->cells);
    *t = (struct oa_table){ 0 };
}

static bool room_for_one(struct oa_table *t)
{
    if (t->count < t->capacity)
        return true;
    long more = t->capacity ? 2 * t->capacity : 16 * t->width;
    char **cells = oa_grow(t->context, t->cells, (size_t)t->capacity * sizeof *cells,
                           (size_t)more * sizeof *cells);
    if (!cells)
        return false;
    t->cells = cells;
    t->capacity = more;
    return true;
}

void oa_table_cell(struct oa_table *t, const char *format, ...)
{
    char small[256];
    va_list arguments;
    va_start(arguments, format);
    int length = oa_format(small, sizeof small, format, arguments);
    va_end(arguments);
    if (length < 0 || !room_for_one(t))
        return;
    char *cell = oa_alloc(t->context, (size_t)length + 1);
    if (!cell)
        return;
    va_start(arguments, format);
    oa_format(cell, (size_t)length + 1, format, arguments);
    va_end(arguments);
    t->cells[t->count++] = cell;
}

static long rows_of(const struct oa_table *t)
{
    return t->width ? t->count / t->width : 0;
}

static const char *cell_at(const struct oa_table *t, long row, int column)
{
    return t->cells[row * t->width + column];
}

/* ---- plain text ---- */

/* The title's line 0 or 1, in `line`. A title of one line is on the lower one. */
static const char *title_line(const char *title, int number, char line[64])
{
    const char *cut = strchr(title, '\n');
    size_t first = cut ? (size_t)(cut - title) : 0;
    if (number == 1)
        return cut ? cut + 1 : title;
    snprintf(line, 64, "%.*s", (int)first, title);
    return line;
}

int oa_table_width(const struct oa_table *t, int column)
{
    char line[64];
    int width = 0;
    for (int i = 0; i < 2; i++) {
        int w = oa_text_width(title_line(t->columns[column].title, i, line));
        width = w > width ? w : width;
    }
    for (long r = 0; r < rows_of(t); r++) {
        int w = oa_text_width(cell_at(t, r, column));
        width = w > width ? w : width;
    }
    return width;
}

static int fit_widths(const struct oa_table *t, int limit, int *widths)
{
    int total = GAP * (t->width - 1);
    for (int c = 0; c < t->width; c++)
        total += widths[c] = oa_table_width(t, c);
    for (int c = 0; c < t->width && limit > 0 && total > limit; c++) {
        int spare = t->columns[c].shorten && widths[c] > NARROWEST ? widths[c] - NARROWEST : 0;
        int cut = spare < total - limit ? spare : total - limit;
        widths[c] -= cut;
        total -= cut;
    }
    return total;
}

static void table_add_cell(const struct oa_table *t, int column, int width, const char *text,
                           struct oa_text *out)
{
    int padding = width - oa_text_width(text);
    padding = padding > 0 ? padding : 0;
    if (t->columns[column].right)
        oa_text_printf(out, "%*s", padding, "");
    oa_text_add_short(out, text, width);
    if (!t->columns[column].right && column + 1 < t->width)
        oa_text_printf(out, "%*s", padding, "");
    if (column + 1 < t->width)
        oa_text_printf(out, "%*s", GAP, "");
}

static void end_line(struct oa_text *out)
{
    while (out->length && out->s[out->length - 1] == ' ')
        out->s[--out->length] = 0;
    oa_text_add(out, "\n", 1);
}

static void add_titles(const struct oa_table *t, const int *widths, int total, struct oa_text *out)
{
    char line[64];
    bool two = false;
    for (int c = 0; c < t->width; c++)
        two |= strchr(t->columns[c].title, '\n') != NULL;
    for (int i = two ? 0 : 1; i < 2; i++) {
        for (int c = 0; c < t->width; c++)
            table_add_cell(t, c, widths[c], title_line(t->columns[c].title, i, line), out);
        end_line(out);
    }
    for (int i = 0; i < total; i++)
        oa_text_printf(out, "─");
    end_line(out);
}

void oa_table_text(const struct oa_table *t, int limit, struct oa_text *out)
{
    int *widths = oa_alloc(t->context, (size_t)t->width * sizeof *widths);
    if (!widths)
        return;
    int total = fit_widths(t, limit, widths);
    add_titles(t, widths, total, out);
    for (long r = 0; r < rows_of(t); r++) {
        for (int c = 0; c < t->width; c++)
            table_add_cell(t, c, widths[c], cell_at(t, r, c), out);
        end_line(out);
    }
    oa_free(widths);
}

/* ---- Markdown ---- */

/* The lines of a title are joined: "bits/" and "char" without a blank. */
void oa_markdown_text(struct oa_text *out, const char *text)
{
    char shown[8];
    for (const char *at = text; *at; at += oa_text_visible(at, shown)) {
        oa_text_visible(at, shown);
        if (strchr("\\`*_|<>[]", *shown))
            oa_text_add(out, "\\", 1);
        if (*at != '\n')
            oa_text_add(out, shown, strlen(shown));
        else if (at != text && at[-1] != '/' && at[1] != '/')
            oa_text_add(out, " ", 1);
    }
}

void oa_table_markdown(const struct oa_table *t, struct oa_text *out)
{
    for (long r = -2; r < rows_of(t); r++) { /* -2: the titles, -1: the line below them */
        for (int c = 0; c < t->width; c++) {
            oa_text_printf(out, c ? " | " : "| ");
            if (r == -1)
                oa_text_printf(out, t->columns[c].right ? "--:" : ":--");
            else
                oa_markdown_text(out, r == -2 ? t->columns[c].title : cell_at(t, r, c));
        }
        oa_text_printf(out, " |\n");
    }
}

/* ---- HTML ---- */

static void html_cell(const struct oa_table *t, int column, const char *tag, const char *text,
                      struct oa_text *out)
{
    oa_text_printf(out, "<%s%s%s>", tag, *tag == 't' && tag[1] == 'h' ? " scope=\"col\"" : "",
                   t->columns[column].right ? " class=\"num\"" : "");
    oa_html_text(out, text);
    oa_text_printf(out, "</%s>", tag);
}

void oa_table_titled_markdown(const struct oa_table *t, const char *title, struct oa_text *out)
{
    oa_text_printf(out, "\n");
    oa_markdown_text(out, title);
    oa_text_printf(out, "\n\n");
    oa_table_markdown(t, out);
}

void oa_table_html(const struct oa_table *t, const char *caption, struct oa_text *out)
{
    oa_text_printf(out, "<div class=\"scroll\"><table><caption>");
    oa_html_text(out, caption);
    oa_text_printf(out, "</caption>\n<thead><tr>");
    for (int c = 0; c < t->width; c++)
        html_cell(t, c, "th", t->columns[c].title, out);
    oa_text_printf(out, "</tr></thead>\n<tbody>\n");
    for (long r = 0; r < rows_of(t); r++) {
        oa_text_printf(out, "<tr>");
        for (int c = 0; c < t->width; c++)
            html_cell(t, c, "td", cell_at(t, r, c), out);
        oa_text_printf(out, "</tr>\n");
    }
    oa_text_printf(out, "</tbody></table></div>\n");
}
