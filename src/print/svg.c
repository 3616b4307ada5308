/* SPDX-License-Identifier: Apache-2.0
 * The document around every chart, and text in it. */
#include "print/svg.h"

#include <string.h>

void oa_svg_begin(struct oa_svg *g, const char *title, const char *description, bool standalone)
{
    oa_text_printf(g->out,
                   "<svg class=\"oa\" role=\"img\"%s viewBox=\"0 0 %.0f %.0f\" aria-label=\"",
                   standalone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", g->width, g->height);
    oa_html_text(g->out, title);
    oa_html_text(g->out, description ? ". " : "");
    oa_html_text(g->out, description ? description : "");
    oa_text_printf(g->out, "\">\n");
    if (!standalone)
        return;
    oa_text_printf(
        g->out, "<style>\n%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
        oa_chart_css);
}

void oa_svg_end(struct oa_svg *g)
{
    oa_text_printf(g->out, "</svg>\n");
}

/* An inner svg element clips what leaves it, and needs no id that would have to be unique in the
 * page. */
void oa_svg_clip_begin(struct oa_svg *g)
{
    double w = g->right - g->left, h = g->bottom - g->top;
    oa_text_printf(g->out,
                   "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" viewBox=\"%.1f %.1f "
                   "%.1f %.1f\">\n",
                   g->left, g->top, w, h, g->left, g->top, w, h);
}

void oa_svg_clip_end(struct oa_svg *g)
{
    oa_text_printf(g->out, "</svg>\n");
}

const char *oa_svg_dash(int color)
{
    static const char *const classes[] = { "", " d1", " d2", " d3" };
    return classes[color / OA_COLORS % 4];
}

void oa_svg_text(struct oa_svg *g, double x, double y, const char *anchor, const char *class,
                 const char *text)
{
    oa_text_printf(g->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class, x,
                   y + 4, anchor);
    oa_html_text(g->out, text);
    oa_text_printf(g->out, "</text>\n");
}

double oa_svg_name_width(const char *name)
{
    int columns = oa_text_width(name);
    return OA_SVG_NAME_ADVANCE * (columns < OA_SVG_NAME_WIDTH ? columns : OA_SVG_NAME_WIDTH);
}

void oa_svg_rows(struct oa_svg *g, double top, double rows, double names, double notes, bool narrow)
{
    g->top = top;
    g->bottom = top + rows + 6;
    g->height = g->bottom + 46;
    g->left = narrow ? 10 : names + 24;
    g->right = narrow ? g->width - 10 : g->width - notes - 24;
}

void oa_svg_name(struct oa_svg *g, double x, double y, const char *anchor, const char *name,
                 int color)
{
    struct oa_text shown;
    oa_text_init(&shown, g->out->context);
    oa_text_add_short(&shown, name, OA_SVG_NAME_WIDTH);
    oa_text_printf(
        g->out,
        "<text class=\"name c%d\" data-series=\"%d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
        color % OA_COLORS, color, x, y + 4, anchor);
    if (shown.s)
        oa_html_text(g->out, shown.s);
    if (oa_text_width(name) > OA_SVG_NAME_WIDTH) {
        oa_text_printf(g->out, "<title>");
        oa_html_text(g->out, name);
        oa_text_printf(g->out, "</title>");
    }
    oa_text_printf(g->out, "</text>\n");
    oa_text_free(&shown);
}
