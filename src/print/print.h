/* SPDX-License-Identifier: Apache-2.0
 * print: how things look to people and machines: numbers, tables, JSON, charts, pages. Plain
 * structs go in, text comes out; nothing here knows what it is about. Functions that add to a
 * struct oa_text record a failure (out of memory) in its context and otherwise cannot fail. */
#ifndef ORTHANT_PRINT_H
#define ORTHANT_PRINT_H

#include "base/base.h"

#include <jansson.h>

/* ---- numbers as people read them (numbers.c) ---- */

/* Each writes into `out`, which holds OA_NUMBER bytes, and returns it. What is not finite becomes
 * "–". */
#define OA_NUMBER 48
char *oa_number(char *out, double x,
                int digits); /* significant digits, no exponent where avoidable */
char *oa_number_fixed(char *out, double x, int decimals); /* 1.6321; from 1e9 on with an exponent */
char *oa_number_signed(char *out, double x,
                       int decimals); /* +0.0123, −0.0123 with a true minus, 0.0000 */
/* A difference with its interval, "−0.0123 ±0.0045", or both of its ends, "−0.0168 … −0.0078": with
 * as many more decimals as it takes for what is printed to exclude 0, or not to, as the numbers do.
 * OA_INTERVAL bytes; without an interval (half not finite) the mean, or "–". */
enum { OA_INTERVAL = 2 * OA_NUMBER + 8 };
char *oa_print_plus_minus(char *out, double mean, double half, int decimals);
char *oa_print_ends(char *out, double mean, double half, int decimals);
char *oa_number_si(char *out, double x);      /* 950, 2048, 12.3k, 4.56M, 7.89G */
char *oa_number_bytes(char *out, double x);   /* 950 B, 12.3 KiB, 4.56 GiB */
char *oa_number_seconds(char *out, double x); /* 12 µs, 3.4 ms, 5.6 s, 2 min 5 s, 3 h 4 min */

/* ---- tables of text cells (cells.c) ---- */

struct oa_column {
    const char *title; /* "\n" begins a second line */
    bool right;        /* numbers: aligned to the right */
    bool shorten;      /* may be cut with "…" when the table is too wide */
};
struct oa_table {
    oa_context *context;
    const struct oa_column *columns; /* borrowed */
    int width;                       /* columns */
    long count, capacity;            /* cells */
    char **cells;                    /* row after row */
};
void oa_table_init(struct oa_table *t, oa_context *c, const struct oa_column *columns, int width);
void oa_table_free(struct oa_table *t);
/* The next cell: rows fill from left to right. */
void oa_table_cell(struct oa_table *t, const char *format, ...) OA_PRINTF(2, 3);
/* Aligned plain text, two blanks between columns, no trailing blanks; at most `limit` columns wide
 * as far as the columns that may be shortened allow (0 = no limit). Width is counted as a terminal
 * shows UTF-8. */
void oa_table_text(const struct oa_table *t, int limit, struct oa_text *out);
int oa_table_width(const struct oa_table *t, int column); /* of a column as plain text */
void oa_table_markdown(const struct oa_table *t, struct oa_text *out);
void oa_table_html(const struct oa_table *t, const char *caption, struct oa_text *out);
/* The title as a paragraph before it, after an empty line. */
void oa_table_titled_markdown(const struct oa_table *t, const char *title, struct oa_text *out);
typedef void oa_table_print(const struct oa_table *t, const char *title, struct oa_text *out);
void oa_markdown_text(struct oa_text *out, const char *text); /* escaped */
/* The character at text as readers may be shown it, in `shown`: control characters, whose names
 * come from other people's folders, as \x1b, those that turn the direction of writing as \u202e,
 * what is not UTF-8 as "?"; line ends and tabs as they are. Returns the bytes that it has. */
int oa_text_visible(const char *text, char shown[8]);
int oa_text_width(const char *utf8); /* terminal columns */
/* Of prose, and of tables as far as they can be narrow. */
enum { OA_TERMINAL_WIDTH = 100 };
/* Adds the text in lines of at most `width` columns as far as its words allow. */
void oa_text_wrap(struct oa_text *out, const char *text, int width);
/* The same from column `at` on; further lines begin at column `indent`. Bytes go to `add`. */
void oa_wrap(void (*add)(void *argument, const char *text, size_t length), void *argument,
             const char *text, int at, int indent, int width);
/* Adds the text, with "…" in the place of its middle when it is wider: two specs often differ only
 * at their end. */
void oa_text_add_short(struct oa_text *out, const char *utf8, int width);

/* ---- JSON (json_text.c) ---- */

/* Keys in the order they were added, two blanks a level, arrays of numbers on one line, the
 * shortest decimal of each number that reads back as the same double; a line end after it. NULL is
 * memory that was not there. */
void oa_json_text(const json_t *value, struct oa_text *out);
void oa_json_line_text(const json_t *value, struct oa_text *out); /* the same on one line */
/* Text as a value, null for NULL. jansson refuses what is not UTF-8, e.g. a sentence that was cut
 * in the middle of a letter: such bytes become "?". */
json_t *oa_json_string(const char *text);

/* ---- charts (svg.c, axes.c, line_chart.c, point_chart.c, interval_chart.c) ---- */

#define OA_COLORS                                                                                  \
    8 /* a colour-blind safe palette; series beyond it repeat the colours with another dash */

struct oa_series {
    const char *name; /* NULL: no label (e.g. the single seeds of a mean) */
    const double *x, *y;
    const double *low, *high; /* a band around the line; NULL: none */
    int count;                /* points; those that are not finite are left out */
    int color;                /* 0, 1, … */
    bool faint, dots;         /* faint: thin and pale; dots: the points are marked */
    bool loose;               /* no line joins the points */
};
struct oa_line_chart {
    const char *title, *description; /* for screen readers; the title is not drawn */
    const char *x_label, *y_label;   /* with units */
    bool x_log, y_log;
    double y_top; /* larger values are cut off; 0: nothing is */
    double y_least,
        y_most; /* the axis shows these at least, and of bands no more than lines and these need */
    const double *levels; /* lines across */
    int level_count;
    const struct oa_series *series;
    int count;
    int width, height; /* pixels; 0: 960 x 420. Below 560 the lines have no labels at their ends */
    bool standalone;   /* a whole .svg file instead of a piece of HTML: carries its own style */
};
void oa_svg_lines(const struct oa_line_chart *chart, struct oa_text *out);

struct oa_point {
    const char *name;
    double x, x_low, x_high; /* not finite: without an interval around x */
    double y, half;          /* half NaN: without an interval around y */
    int color;
    bool front; /* on the Pareto front: ringed, joined by a line */
};
struct oa_point_chart {
    const char *title, *description, *x_label, *y_label;
    bool x_log, x_low_is_better, y_high_is_better;
    const struct oa_point *points;
    int count;
    int width, height; /* 0: 470 x 400 */
    bool standalone;
};
void oa_svg_points(const struct oa_point_chart *chart, struct oa_text *out);

struct oa_span {
    const char *name, *note,
        *verdict;           /* note and verdict are at the right; a narrow chart has no notes */
    double mean, low, high; /* the ends NaN: only the mean is drawn */
    int color;
};
struct oa_interval_chart {
    const char *title, *description, *x_label;
    double margin; /* within which differences do not matter: a band around 0; 0: none */
    double also;   /* a line there too; 0: none */
    const struct oa_span *spans;
    int count;
    int width; /* 0: 960; below 560 the name is above its interval */
    bool standalone;
};
void oa_svg_intervals(const struct oa_interval_chart *chart,
                      struct oa_text *out); /* with a line at 0 */

/* ---- heat maps (heat_image.c) ---- */

struct oa_heat {
    long rows, columns; /* at least 1 */
    /* The colour of a place: 0 the least to 1 the most; below 0: nothing is there, and the page is
     * seen. */
    double (*share)(void *argument, long i, long j);
    void *argument;
};
void oa_heat_color(double share,
                   unsigned char rgb[3]); /* sRGB; lightness rises evenly with the share */
void oa_heat_png(const struct oa_heat *h,
                 struct oa_text *out); /* the bytes of a PNG, a pixel a place */
void oa_heat_data(const struct oa_heat *h, struct oa_text *out); /* the same as a data: URL */
void oa_base64_text(struct oa_text *out, const void *data, size_t length);

/* ---- pages (page.c) ---- */

void oa_html_text(struct oa_text *out,
                  const char *text); /* escaped for content, attributes and SVG */
/* A self-contained page with the style of all Orthant reports; what comes between is the content of
 * <main>. Headings: <p class="above">, <h1>, <h2>; panels: <figure><figcaption>…</figcaption> chart
 * </figure>, <div class="panel">. */
void oa_html_begin(struct oa_text *out, const char *title);
void oa_html_end(struct oa_text *out);

#endif
