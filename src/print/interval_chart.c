/* SPDX-License-Identifier: Apache-2.0
 * A forest plot: one row for each value, its interval as a bar, a line at 0. The range
 * follows the middle of the field; a bar that leaves it ends in an arrow, and its numbers are in
 * the note. */
#include "print/svg.h"

#include <math.h>

enum { NARROW = 560, ROW = 34, TALL_ROW = 50 };

/* ---- range ---- */

static double reach(const struct oa_span *s)
{
    return fmax(fabs(s->mean), isfinite(s->low) ? fmax(fabs(s->low), fabs(s->high)) : 0);
}

/* The middle value of all reaches. */
static double median_reach(const struct oa_interval_chart *c)
{
    for (int i = 0; i < c->count; i++) {
        int below = 0, equal = 0;
        for (int j = 0; j < c->count; j++) {
            below += reach(&c->spans[j]) < reach(&c->spans[i]);
            equal += reach(&c->spans[j]) == reach(&c->spans[i]);
        }
        if (below <= c->count / 2 && below + equal > c->count / 2)
            return reach(&c->spans[i]);
    }
    return 0;
}

static struct oa_axis find_range(const struct oa_interval_chart *c)
{
    struct oa_axis x = { .low = 0, .high = 0 };
    double limit = 4 * median_reach(c);
    for (int i = 0; i < c->count; i++) {
        const struct oa_span *s = &c->spans[i];
        oa_axis_include(&x, fmax(isfinite(s->low) ? s->low : s->mean, -limit));
        oa_axis_include(&x, fmin(isfinite(s->high) ? s->high : s->mean, limit));
    }
    oa_axis_include(&x, c->also);
    oa_axis_include(&x, -c->margin);
    oa_axis_include(&x, c->margin);
    oa_axis_pad(&x, 0.06);
    return x;
}

/* ---- rows ---- */

static void draw_arrow(struct oa_svg *g, double x, double y, int toward, int color)
{
    oa_text_printf(g->out,
                   "<path class=\"arrow c%d\" data-series=\"%d\" d=\"M%.1f %.1fl%d -5v10z\"/>",
                   color % OA_COLORS, color, x, y, -9 * toward);
}

static void interval_chart_draw_bar(struct oa_svg *g, const struct oa_span *s,
                                    const struct oa_axis *x, double y)
{
    double at = oa_axis_at(x, s->mean), left = isfinite(s->low) ? oa_axis_at(x, s->low) : at,
           right = isfinite(s->high) ? oa_axis_at(x, s->high) : at;
    double from = fmin(fmax(left, g->left), g->right), to = fmax(fmin(right, g->right), g->left);
    oa_text_printf(g->out, "<path class=\"span c%d\" data-series=\"%d\" d=\"M%.1f %.1fH%.1f\"/>",
                   s->color % OA_COLORS, s->color, from, y, to);
    if (left < g->left - 0.5)
        draw_arrow(g, g->left, y, -1, s->color);
    if (right > g->right + 0.5)
        draw_arrow(g, g->right, y, 1, s->color);
    if (at >= g->left - 0.5 && at <= g->right + 0.5)
        oa_text_printf(
            g->out,
            "<circle class=\"point c%d\" data-series=\"%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>",
            s->color % OA_COLORS, s->color, at, y);
    oa_text_printf(g->out, "\n");
}

/* A band below the intervals; its edges are dashed where they do not run through names. */
static void draw_margin(struct oa_svg *g, const struct oa_axis *x, double margin, bool edges)
{
    double left = oa_axis_at(x, -margin), right = oa_axis_at(x, margin);
    oa_text_printf(
        g->out, "<rect class=\"margin\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
        left, g->top, right - left, g->bottom - g->top);
    if (edges)
        oa_text_printf(g->out, "<path class=\"edge\" d=\"M%.1f %.1fV%.1fM%.1f %.1fV%.1f\"/>\n",
                       left, g->top, g->bottom, right, g->top, g->bottom);
}

/* A piece in each row: in a narrow chart it would otherwise run through the names. */
static void draw_zero_and_also(struct oa_svg *g, const struct oa_axis *x, double also, double top,
                               double bottom)
{
    oa_text_printf(g->out, "<path class=\"zero\" d=\"M%.1f %.1fV%.1f", oa_axis_at(x, 0), top,
                   bottom);
    if (also > 0 || also < 0)
        oa_text_printf(g->out, "M%.1f %.1fV%.1f", oa_axis_at(x, also), top, bottom);
    oa_text_printf(g->out, "\"/>");
}

static void draw_wide_row(struct oa_svg *g, const struct oa_span *s, const struct oa_axis *x,
                          double also, double y)
{
    oa_svg_name(g, 2, y, "start", s->name, s->color);
    draw_zero_and_also(g, x, also, y - ROW / 2.0, y + ROW / 2.0);
    interval_chart_draw_bar(g, s, x, y);
    if (s->note)
        oa_svg_text(g, g->right + 22, y, "start", "note", s->note);
    if (s->verdict)
        oa_svg_text(g, g->width - 2, y, "end", "note", s->verdict);
}

static void draw_narrow_row(struct oa_svg *g, const struct oa_span *s, const struct oa_axis *x,
                            double also, double y)
{
    oa_svg_name(g, 2, y - 22, "start", s->name, s->color);
    draw_zero_and_also(g, x, also, y - 14, y + 6);
    interval_chart_draw_bar(g, s, x, y - 4);
    if (s->verdict)
        oa_svg_text(g, g->width - 2, y - 22, "end", "note", s->verdict);
}

static double text_width(const char *text)
{
    return text ? OA_SVG_TEXT_ADVANCE * oa_text_width(text) : 0;
}

static void find_widths(const struct oa_interval_chart *c, double *names, double *notes)
{
    double verdicts = 0;
    *names = 60;
    *notes = 0;
    for (int i = 0; i < c->count; i++) {
        *names = fmax(*names, oa_svg_name_width(c->spans[i].name));
        *notes = fmax(*notes, text_width(c->spans[i].note));
        verdicts = fmax(verdicts, text_width(c->spans[i].verdict));
    }
    *notes += verdicts + (verdicts > 0 ? 18 : 0);
}

void oa_svg_intervals(const struct oa_interval_chart *c, struct oa_text *out)
{
    struct oa_svg g = { .out = out, .width = c->width ? c->width : 960 };
    bool narrow = g.width < NARROW;
    int row = narrow ? TALL_ROW : ROW;
    struct oa_axis x = find_range(c);
    double names, notes;
    find_widths(c, &names, &notes);
    oa_svg_rows(&g, 8, c->count * row, names, notes, narrow);
    x.from = g.left;
    x.to = g.right;
    oa_svg_begin(&g, c->title, c->description, c->standalone);
    oa_svg_axes(&g, &x, NULL, c->x_label, NULL);
    if (c->margin > 0)
        draw_margin(&g, &x, c->margin, !narrow);
    for (int i = 0; i < c->count; i++) {
        double y = g.top + row * i + (narrow ? row - 10 : row / 2.0);
        if (narrow)
            draw_narrow_row(&g, &c->spans[i], &x, c->also, y);
        else
            draw_wide_row(&g, &c->spans[i], &x, c->also, y);
    }
    oa_svg_end(&g);
}
