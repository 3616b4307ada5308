/* SPDX-License-Identifier: Apache-2.0
 *
 * Dots that would cover each other are moved up and down in turn: a cluster is seen as a bunch. */
#include "print/dot_chart.h"

#include "print/svg.h"

#include <math.h>

enum { NARROW = 560, ROW = 40, TALL_ROW = 54, RADIUS = 5 };

static struct oa_axis dot_chart_range(const struct oa_dot_chart *c)
{
    struct oa_axis x = { .low = 1, .high = 0 };
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < c->rows[i].count; j++)
            if (isfinite(c->rows[i].values[j]))
                oa_axis_include(&x, c->rows[i].values[j]);
    if (isfinite(c->line))
        oa_axis_include(&x, c->line);
    if (x.low > x.high)
        oa_axis_include(&x, 0);
    oa_axis_pad(&x, 0.06);
    return x;
}

/* How far from the middle of its row the j-th dot is: by the number of dots before it that it would
 * cover. */
static double offset_of(const struct oa_dot_row *r, const struct oa_axis *x, int j)
{
    int covered = 0;
    for (int i = 0; i < j; i++)
        covered += fabs(oa_axis_at(x, r->values[i]) - oa_axis_at(x, r->values[j])) < 2 * RADIUS;
    return (covered % 2 ? -1 : 1) * (double)((covered + 1) / 2 % 3) * 7;
}

static void draw_dots(struct oa_svg *g, const struct oa_dot_row *r, const struct oa_axis *x,
                      double y)
{
    char number[OA_NUMBER];
    for (int j = 0; j < r->count; j++)
        if (isfinite(r->values[j]))
            oa_text_printf(g->out,
                           "<circle class=\"point c%d\" data-series=\"%d\" cx=\"%.1f\" "
                           "cy=\"%.1f\" r=\"%d\"><title>%s</title></circle>",
                           r->color % OA_COLORS, r->color, oa_axis_at(x, r->values[j]),
                           y + offset_of(r, x, j), RADIUS, oa_number(number, r->values[j], 4));
    oa_text_printf(g->out, "\n");
}

static void dot_chart_lay_out(const struct oa_dot_chart *c, bool narrow, struct oa_svg *g)
{
    double names = 60, notes = 0;
    for (int i = 0; i < c->count; i++) {
        names = fmax(names, oa_svg_name_width(c->rows[i].name));
        if (c->rows[i].note)
            notes = fmax(notes, OA_SVG_TEXT_ADVANCE * oa_text_width(c->rows[i].note));
    }
    oa_svg_rows(g, 26, c->count * (narrow ? TALL_ROW : ROW), names, notes, narrow);
}

void oa_svg_dots(const struct oa_dot_chart *c, struct oa_text *out)
{
    struct oa_svg g = { .out = out, .width = c->width ? c->width : 960 };
    bool narrow = g.width < NARROW;
    struct oa_axis x = dot_chart_range(c);
    dot_chart_lay_out(c, narrow, &g);
    x.from = g.left;
    x.to = g.right;
    oa_svg_begin(&g, c->title, c->description, false);
    oa_svg_axes(&g, &x, NULL, c->x_label, NULL);
    if (isfinite(c->line)) {
        double at = oa_axis_at(&x, c->line);
        const char *anchor = at > (g.left + g.right) / 2 ? "end" : "start";
        oa_text_printf(g.out, "<path class=\"edge\" d=\"M%.1f %.1fV%.1f\"/>\n", at, g.top,
                       g.bottom);
        if (c->line_name)
            oa_svg_text(&g, at, g.top - 12, anchor, "note", c->line_name);
    }
    for (int i = 0; i < c->count; i++) {
        const struct oa_dot_row *r = &c->rows[i];
        double top = g.top + i * (narrow ? TALL_ROW : ROW);
        oa_svg_name(&g, 2, top + (narrow ? 10 : ROW / 2.0), "start", r->name, r->color);
        if (r->note)
            oa_svg_text(&g, g.width - 2, top + (narrow ? 10 : ROW / 2.0), "end", "note", r->note);
        draw_dots(&g, r, &x, top + (narrow ? 34 : ROW / 2.0));
    }
    oa_svg_end(&g);
}
