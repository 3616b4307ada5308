/* SPDX-License-Identifier: Apache-2.0
 * Lines over a common axis: losses against steps or time, times against lengths. The name of a
 * series is at the end of its line; names that would overlap are pushed apart and tied to their
 * lines. */
#include "print/svg.h"

#include <math.h>

enum {
    LABELS_FROM = 560,
    LABEL_HEIGHT = 15,
    MARKED = 80
}; /* a tooltip for each point of at most MARKED */

static bool line_chart_drawable(const struct oa_line_chart *c, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!c->x_log || x > 0) && (!c->y_log || y > 0);
}

/* ---- ranges ---- */

static void line_chart_ranges(const struct oa_line_chart *c, struct oa_axis *x, struct oa_axis *y)
{
    *x = (struct oa_axis){ .log = c->x_log, .low = 1, .high = 0 };
    *y = (struct oa_axis){ .log = c->y_log, .low = 1, .high = 0 };
    for (int s = 0; s < c->count; s++)
        for (int i = 0; i < c->series[s].count; i++)
            if (line_chart_drawable(c, c->series[s].x[i], c->series[s].y[i])) {
                oa_axis_include(x, c->series[s].x[i]);
                oa_axis_include(y, c->series[s].y[i]);
            }
    if (c->y_least < c->y_most) {
        oa_axis_include(y, c->y_least);
        oa_axis_include(y, c->y_most);
    }
    if (c->y_top > 0 && c->y_top > y->low && c->y_top < y->high)
        y->high = c->y_top;
    oa_axis_pad(x, 0);
    oa_axis_pad(y, 0.03);
}

static void line_chart_lay_out(const struct oa_line_chart *c, struct oa_svg *g, struct oa_axis *x,
                               struct oa_axis *y)
{
    double widest = 0;
    for (int s = 0; s < c->count; s++)
        if (c->series[s].name)
            widest = fmax(widest, oa_svg_name_width(c->series[s].name));
    double names = g->width >= LABELS_FROM && c->count ? widest + 16 : 14;
    g->top = 34;
    g->bottom = g->height - 46;
    g->left = fmax(28, oa_axis_label_width(y, 8) + 8);
    g->right = g->width - names;
    x->from = g->left;
    x->to = g->right;
    y->from = g->bottom;
    y->to = g->top;
}

/* ---- lines ---- */

static void draw_marks(struct oa_svg *g, const struct oa_line_chart *c, const struct oa_series *s,
                       const struct oa_axis *x, const struct oa_axis *y)
{
    char number[OA_NUMBER];
    for (int i = 0; i < s->count; i++) {
        if (!line_chart_drawable(c, s->x[i], s->y[i]) || s->y[i] > y->high)
            continue;
        oa_text_printf(
            g->out, "<circle class=\"%s c%d\" data-series=\"%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"",
            s->dots ? "dot" : "hit", s->color % OA_COLORS, s->color, oa_axis_at(x, s->x[i]),
            oa_axis_at(y, s->y[i]), s->dots ? 3 : 7);
        if (s->name) {
            oa_text_printf(g->out, " data-tip=\"");
            oa_html_text(g->out, s->name);
            oa_text_printf(g->out, "\n");
            oa_html_text(g->out, c->x_label);
            oa_text_printf(g->out, ": %s\n", oa_number(number, s->x[i], 4));
            oa_html_text(g->out, c->y_label);
            oa_text_printf(g->out, ": %s\"", oa_number(number, s->y[i], 5));
        }
        oa_text_printf(g->out, "/>");
    }
    oa_text_printf(g->out, "\n");
}

static void draw_line(struct oa_svg *g, const struct oa_line_chart *c, const struct oa_series *s,
                      const struct oa_axis *x, const struct oa_axis *y)
{
    bool first = true;
    oa_text_printf(g->out, "<path class=\"%s c%d%s\" data-series=\"%d\" d=\"",
                   s->faint ? "line faint" : "line", s->color % OA_COLORS, oa_svg_dash(s->color),
                   s->color);
    for (int i = 0; i < s->count; i++)
        if (line_chart_drawable(c, s->x[i], s->y[i])) {
            oa_text_printf(g->out, "%s%.1f %.1f", first ? "M" : " ", oa_axis_at(x, s->x[i]),
                           oa_axis_at(y, s->y[i]));
            first = false;
        }
    oa_text_printf(g->out, "\"/>\n");
}

/* Ends of a band that are not finite are far away: what is beyond the plot is cut off. */
static double edge(const struct oa_svg *g, const struct oa_axis *y, double value)
{
    double at = isfinite(value) ? oa_axis_at(y, value) : value > 0 ? g->top - 9 : g->bottom + 9;
    return fmin(fmax(at, g->top - 9), g->bottom + 9);
}

static void draw_band(struct oa_svg *g, const struct oa_series *s, const struct oa_axis *x,
                      const struct oa_axis *y)
{
    oa_text_printf(g->out, "<path class=\"band c%d\" data-series=\"%d\" d=\"", s->color % OA_COLORS,
                   s->color);
    for (int i = 0; i < s->count; i++)
        oa_text_printf(g->out, "%s%.1f %.1f", i ? " " : "M", oa_axis_at(x, s->x[i]),
                       edge(g, y, s->high[i]));
    for (int i = s->count - 1; i >= 0; i--)
        oa_text_printf(g->out, " %.1f %.1f", oa_axis_at(x, s->x[i]), edge(g, y, s->low[i]));
    oa_text_printf(g->out, "z\"/>\n");
}

/* ---- names at the ends ---- */

struct label {
    const struct oa_series *series;
    double x, line, y; /* end of the line, and where the name goes */
};

/* The names in the order of their lines' ends, from the top. */
static int collect_labels(const struct oa_line_chart *c, const struct oa_axis *x,
                          const struct oa_axis *y, struct label *labels)
{
    int n = 0;
    for (int s = 0; s < c->count; s++) {
        int last = c->series[s].count - 1;
        while (last >= 0 && !line_chart_drawable(c, c->series[s].x[last], c->series[s].y[last]))
            last--;
        if (!c->series[s].name || last < 0)
            continue;
        struct label new = { &c->series[s], oa_axis_at(x, c->series[s].x[last]),
                             fmax(oa_axis_at(y, c->series[s].y[last]), y->to), 0 };
        int at = n++;
        for (; at > 0 && labels[at - 1].line > new.line; at--)
            labels[at] = labels[at - 1];
        labels[at] = new;
    }
    return n;
}

/* Down from the top so that none overlaps, then up again from the bottom edge; half-way between
 * both is fair. */
static void push_apart(struct label *labels, int n, double bottom)
{
    double height = LABEL_HEIGHT;
    for (int i = 0; i < n; i++)
        labels[i].y = i && labels[i].line < labels[i - 1].y + height ? labels[i - 1].y + height
                                                                     : labels[i].line;
    for (int i = 0; i < n;
         i++) { /* the middle of each run of touching names goes to the middle of their lines */
        int end = i;
        double shift = 0;
        while (end + 1 < n && labels[end + 1].y - labels[end].y <= height + 0.01)
            end++;
        for (int j = i; j <= end; j++)
            shift += (labels[j].y - labels[j].line) / (end - i + 1);
        for (int j = i; j <= end; j++)
            labels[j].y -= shift;
        i = end;
    }
    for (int i = 1; i < n; i++)
        labels[i].y = fmax(labels[i].y, labels[i - 1].y + height);
    double limit = bottom;
    for (int i = n - 1; i >= 0; i--, limit -= height)
        labels[i].y = limit = fmin(labels[i].y, limit);
}

static void draw_labels(struct oa_svg *g, const struct oa_line_chart *c, const struct oa_axis *x,
                        const struct oa_axis *y)
{
    struct label *labels = oa_alloc(g->out->context, ((size_t)c->count + 1) * sizeof *labels);
    if (!labels)
        return;
    int n = collect_labels(c, x, y, labels);
    push_apart(labels, n, g->bottom - 5);
    for (int i = 0; i < n; i++) {
        int color = labels[i].series->color;
        oa_text_printf(
            g->out, "<path class=\"tie c%d\" data-series=\"%d\" d=\"M%.1f %.1fL%.1f %.1f\"/>",
            color % OA_COLORS, color, labels[i].x + 2, labels[i].line, g->right + 8, labels[i].y);
        oa_svg_name(g, g->right + 11, labels[i].y, "start", labels[i].series->name, color);
    }
    oa_free(labels);
}

/* ---- all of it ---- */

void oa_svg_lines(const struct oa_line_chart *c, struct oa_text *out)
{
    struct oa_svg g = { .out = out,
                        .width = c->width ? c->width : 960,
                        .height = c->height ? c->height : 420 };
    struct oa_axis x, y;
    line_chart_ranges(c, &x, &y);
    line_chart_lay_out(c, &g, &x, &y);
    oa_svg_begin(&g, c->title, c->description, c->standalone);
    oa_svg_axes(&g, &x, &y, c->x_label, c->y_label);
    oa_svg_clip_begin(&g);
    for (int s = 0; s < c->count; s++)
        if (c->series[s].low)
            draw_band(&g, &c->series[s], &x, &y);
    for (int i = 0; i < c->level_count; i++)
        oa_text_printf(g.out, "<path class=\"front\" d=\"M%.1f %.1fH%.1f\"/>\n", g.left,
                       oa_axis_at(&y, c->levels[i]), g.right);
    for (int faint = 1; faint >= 0; faint--)
        for (int s = 0; s < c->count; s++)
            if (c->series[s].faint == (faint == 1) && !c->series[s].loose)
                draw_line(&g, c, &c->series[s], &x, &y);
    oa_svg_clip_end(&g);
    for (int s = 0; s < c->count; s++)
        if (!c->series[s].faint && c->series[s].count <= MARKED)
            draw_marks(&g, c, &c->series[s], &x, &y);
    if (g.width >= LABELS_FROM)
        draw_labels(&g, c, &x, &y);
    oa_svg_end(&g);
}
