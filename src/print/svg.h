/* SPDX-License-Identifier: Apache-2.0
 * What the charts share: the frame, axes with ticks, names, colours; for charts of one's own, too.
 * Units are CSS pixels; a chart is as wide as its viewBox and shrinks with the page. */
#ifndef ORTHANT_PRINT_SVG_H
#define ORTHANT_PRINT_SVG_H

#include "print/print.h"

/* Names are set in a fixed-width face, so that their width is known without a browser; other text
 * is estimated. */
#define OA_SVG_NAME_ADVANCE 6.7 /* a column of a name at 11 px */
#define OA_SVG_TEXT_ADVANCE                                                                        \
    7.0 /* a letter of sentences at 12 px, in the widest of the usual faces */
#define OA_SVG_NAME_WIDTH                                                                          \
    24 /* columns; longer names get "…" in their middle, and a tooltip with the whole */

/* ---- the document ---- */

struct oa_svg {
    struct oa_text *out;
    double width, height;
    double left, right, top, bottom; /* edges of the plot area, bottom > top */
};
void oa_svg_begin(struct oa_svg *g, const char *title, const char *description, bool standalone);
void oa_svg_end(struct oa_svg *g);
extern const char oa_chart_css[];         /* chart.css, embedded by the build */
void oa_svg_clip_begin(struct oa_svg *g); /* until clip_end only what is in the plot area is seen */
void oa_svg_clip_end(struct oa_svg *g);
const char *
oa_svg_dash(int color); /* class of the dash that distinguishes repeated colours: "", " d1" … */
/* anchor: "start", "middle" or "end"; y is the middle of the letters. */
void oa_svg_text(struct oa_svg *g, double x, double y, const char *anchor, const char *class,
                 const char *text);
void oa_svg_name(struct oa_svg *g, double x, double y, const char *anchor, const char *name,
                 int color);
double oa_svg_name_width(const char *name); /* as drawn, shortened */
/* The plot area of `rows` pixels below `top`, with names and notes at its sides; narrow: above it.
 */
void oa_svg_rows(struct oa_svg *g, double top, double rows, double names, double notes,
                 bool narrow);

/* ---- axes ---- */

struct oa_axis {
    bool log;
    double low, high; /* values at the ends */
    double from, to;  /* pixels at the ends */
};
enum { OA_TICKS = 24 };
/* Grows [low, high] to hold x; starts from low > high. */
void oa_axis_include(struct oa_axis *a, double x);
void oa_axis_pad(struct oa_axis *a,
                 double share); /* a margin at both ends; a range of width 0 is opened */
double oa_axis_at(const struct oa_axis *a, double x);
int oa_axis_ticks(const struct oa_axis *a, int about, double ticks[OA_TICKS]);
/* "0.5", "12k": with the digits that the distance of the ticks needs. */
void oa_axis_label(const struct oa_axis *a, const double *ticks, int count, int i, char *out);
double oa_axis_label_width(const struct oa_axis *a, int about); /* of the longest label */
/* Grid, ticks and titles: y's title is above the axis, x's below it at the right end. */
void oa_svg_axes(struct oa_svg *g, const struct oa_axis *x, const struct oa_axis *y,
                 const char *x_label, const char *y_label);

#endif
