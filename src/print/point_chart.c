/* SPDX-License-Identifier: Apache-2.0
 * Points with names: quality against cost, with the Pareto front. A name takes the free place
 * nearest to its point; one that finds none is left out and remains in the tooltip and in the
 * table. */
#include "print/svg.h"

#include <math.h>

enum { RADIUS = 6, NAME_HEIGHT = 14 };

struct box {
    double left, top, right, bottom;
};

struct placed {
    struct box mark, bar, wide, name; /* the point, its intervals, its name */
    struct box across, upwards; /* the two lines of the front that end in it; empty elsewhere */
    double x, y;                /* of the point */
    bool named;
};

static double overlap(const struct box *a, const struct box *b)
{
    double w = fmin(a->right, b->right) - fmax(a->left, b->left);
    double h = fmin(a->bottom, b->bottom) - fmax(a->top, b->top);
    return w > 0 && h > 0 ? w * h : 0;
}

/* ---- ranges ---- */

static bool has_range(const struct oa_point *p)
{
    return isfinite(p->x_low) && isfinite(p->x_high) && p->x_low < p->x_high;
}

static void point_chart_ranges(const struct oa_point_chart *c, struct oa_axis *x, struct oa_axis *y)
{
    *x = (struct oa_axis){ .log = c->x_log, .low = 1, .high = 0 };
    *y = (struct oa_axis){ .low = 1, .high = 0 };
    for (int i = 0; i < c->count; i++) {
        double half = isfinite(c->points[i].half) ? c->points[i].half : 0;
        oa_axis_include(x, c->points[i].x);
        if (has_range(&c->points[i])) {
            oa_axis_include(x, c->points[i].x_low);
            oa_axis_include(x, c->points[i].x_high);
        }
        oa_axis_include(y, c->points[i].y - half);
        oa_axis_include(y, c->points[i].y + half);
    }
    oa_axis_pad(x, 0.12);
    oa_axis_pad(y, 0.1);
}

static void point_chart_lay_out(struct oa_svg *g, struct oa_axis *x, struct oa_axis *y)
{
    g->top = 34;
    g->bottom = g->height - 46;
    g->left = fmax(28, oa_axis_label_width(y, 8) + 8);
    g->right = g->width - 12;
    x->from = g->left;
    x->to = g->right;
    y->from = g->bottom;
    y->to = g->top;
}

static bool point_chart_drawable(const struct oa_point_chart *c, int i)
{
    const struct oa_point *p = &c->points[i];
    return isfinite(p->x) && isfinite(p->y) && (!c->x_log || p->x > 0);
}

/* ---- front ---- */

/* A point on the front may be beyond another one by as little as intervals leave open: no corner
 * of the line. */
static bool is_corner(const struct oa_point_chart *c, int i)
{
    const struct oa_point *p = &c->points[i];
    for (int j = 0; j < c->count; j++) {
        const struct oa_point *q = &c->points[j];
        double ahead = c->x_low_is_better ? p->x - q->x : q->x - p->x;
        double better = c->y_high_is_better ? q->y - p->y : p->y - q->y;
        if (q->front && point_chart_drawable(c, j) && better >= 0 && ahead >= 0 &&
            (better > 0 || ahead > 0))
            return false;
    }
    return p->front && point_chart_drawable(c, i);
}

/* The corner of the front that follows x = after to the right; -1: none. */
static int next_on_front(const struct oa_point_chart *c, double after)
{
    int next = -1;
    for (int i = 0; i < c->count; i++)
        if (c->points[i].x > after && is_corner(c, i) &&
            (next < 0 || c->points[i].x < c->points[next].x))
            next = i;
    return next;
}

/* A staircase: everything on its far side is beaten in both by some point of the front. */
static void place_front(const struct oa_point_chart *c, struct placed *all)
{
    int i = next_on_front(c, -INFINITY);
    for (int n; i >= 0 && (n = next_on_front(c, c->points[i].x)) >= 0; i = n) {
        double y = c->x_low_is_better ? all[i].y : all[n].y,
               x = c->x_low_is_better ? all[n].x : all[i].x;
        all[n].across = (struct box){ all[i].x, y - 1, all[n].x, y + 1 };
        all[n].upwards =
            (struct box){ x - 1, fmin(all[i].y, all[n].y), x + 1, fmax(all[i].y, all[n].y) };
    }
}

static void draw_front(struct oa_svg *g, const struct oa_point_chart *c, const struct placed *all)
{
    int i = next_on_front(c, -INFINITY);
    if (i < 0 || next_on_front(c, c->points[i].x) < 0)
        return;
    oa_text_printf(g->out, "<path class=\"front\" d=\"M%.1f %.1f", all[i].x, all[i].y);
    while ((i = next_on_front(c, c->points[i].x)) >= 0)
        oa_text_printf(g->out, c->x_low_is_better ? "H%.1fV%.1f" : "V%.1fH%.1f",
                       c->x_low_is_better ? all[i].x : all[i].y,
                       c->x_low_is_better ? all[i].y : all[i].x);
    oa_text_printf(g->out, "\"/>\n");
}

/* ---- names ---- */

/* Candidate places around a point: eight directions at growing distance. */
static struct box candidate(const struct placed *p, int i, double width)
{
    static const int across[] = { 1, -1, 0, 0, 1, 1, -1, -1 },
                     down[] = { 0, 0, -1, 1, -1, 1, -1, 1 };
    double gap = (p->mark.right - p->mark.left) / 2 + 3 + 16 * (i / 8), w = width + 2;
    double x = p->x + across[i % 8] * (down[i % 8] ? gap * 0.8 : gap),
           y = p->y + down[i % 8] * (gap + 4);
    double left = across[i % 8] > 0 ? x : across[i % 8] < 0 ? x - w : x - w / 2;
    return (struct box){ left, y - NAME_HEIGHT / 2.0, left + w, y + NAME_HEIGHT / 2.0 };
}

static bool inside(const struct oa_svg *g, const struct box *b)
{
    return b->left >= g->left + 1 && b->right <= g->right && b->top >= g->top &&
           b->bottom <= g->bottom - 1;
}

/* What a place costs: other names and points must not be covered, intervals should not, near is
 * better. */
static double cost(const struct oa_point_chart *c, const struct placed *all, const struct box *b,
                   int number)
{
    double sum = number / 8 * 30 + number % 8;
    for (int i = 0; i < c->count; i++) {
        if (!point_chart_drawable(c, i))
            continue;
        sum += 4 * overlap(b, &all[i].bar) + 4 * overlap(b, &all[i].wide) +
               1000 * overlap(b, &all[i].mark);
        sum += 2 * overlap(b, &all[i].across) + 2 * overlap(b, &all[i].upwards);
        if (all[i].named)
            sum += 1000 * overlap(b, &all[i].name);
    }
    return sum;
}

static void place_name(const struct oa_svg *g, const struct oa_point_chart *c, struct placed *all,
                       int i)
{
    double width = oa_svg_name_width(c->points[i].name), least = 1000;
    for (int n = 0; n < 40; n++) {
        struct box b = candidate(&all[i], n, width);
        double now = inside(g, &b) ? cost(c, all, &b, n) : INFINITY;
        if (now < least) {
            least = now;
            all[i].name = b;
        }
    }
    all[i].named = least < 1000;
}

static void place_all(const struct oa_svg *g, const struct oa_point_chart *c,
                      const struct oa_axis *x, const struct oa_axis *y, struct placed *all)
{
    for (int i = 0; i < c->count; i++) {
        const struct oa_point *p = &c->points[i];
        double px = oa_axis_at(x, p->x), py = oa_axis_at(y, p->y),
               half = isfinite(p->half) ? p->half : 0;
        all[i] = (struct placed){ .x = px, .y = py };
        double r = RADIUS + (p->front ? 5 : 2);
        all[i].mark = (struct box){ px - r, py - r, px + r, py + r };
        all[i].bar =
            (struct box){ px - 2, oa_axis_at(y, p->y + half), px + 2, oa_axis_at(y, p->y - half) };
        if (has_range(p))
            all[i].wide =
                (struct box){ oa_axis_at(x, p->x_low), py - 2, oa_axis_at(x, p->x_high), py + 2 };
    }
    place_front(c, all);
    for (int front = 1; front >= 0; front--) /* points on the front choose first */
        for (int i = 0; i < c->count; i++)
            if (point_chart_drawable(c, i) && c->points[i].front == (front == 1))
                place_name(g, c, all, i);
}

/* ---- drawing ---- */

static void draw_point(struct oa_svg *g, const struct oa_point_chart *c, const struct oa_point *p,
                       const struct placed *at)
{
    char x[OA_NUMBER], y[OA_NUMBER], half[OA_NUMBER];
    int color = p->color % OA_COLORS;
    if (isfinite(p->half))
        oa_text_printf(g->out, "<path class=\"bar c%d\" data-series=\"%d\" d=\"M%.1f %.1fV%.1f\"/>",
                       color, p->color, at->x, at->bar.top, at->bar.bottom);
    if (has_range(p))
        oa_text_printf(g->out, "<path class=\"bar c%d\" data-series=\"%d\" d=\"M%.1f %.1fH%.1f\"/>",
                       color, p->color, at->wide.left, at->y, at->wide.right);
    if (p->front)
        oa_text_printf(
            g->out, "<circle class=\"ring\" data-series=\"%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>",
            p->color, at->x, at->y, RADIUS + 3);
    oa_text_printf(g->out,
                   "<circle class=\"point c%d\" data-series=\"%d\" cx=\"%.1f\" cy=\"%.1f\" "
                   "r=\"%d\" data-tip=\"",
                   color, p->color, at->x, at->y, RADIUS);
    oa_html_text(g->out, p->name);
    oa_text_printf(g->out, "\n");
    oa_html_text(g->out, c->x_label);
    oa_text_printf(g->out, ": %s", oa_number_si(x, p->x));
    if (has_range(p))
        oa_text_printf(g->out, " (%s … %s)", oa_number_si(x, p->x_low),
                       oa_number_si(half, p->x_high));
    oa_text_printf(g->out, "\n");
    oa_html_text(g->out, c->y_label);
    oa_text_printf(g->out, ": %s", oa_number(y, p->y, 5));
    if (isfinite(p->half))
        oa_text_printf(g->out, " ± %s", oa_number(half, p->half, 2));
    oa_text_printf(g->out, "%s\"/>\n", p->front ? "\non the Pareto front" : "");
}

static void draw_all(struct oa_svg *g, const struct oa_point_chart *c, const struct placed *all)
{
    draw_front(g, c, all);
    for (int i = 0; i < c->count; i++)
        if (point_chart_drawable(c, i) && all[i].named) {
            double x = fmin(fmax(all[i].x, all[i].name.left), all[i].name.right);
            double y = fmin(fmax(all[i].y, all[i].name.top + 2), all[i].name.bottom - 2);
            if (hypot(x - all[i].x, y - all[i].y) > RADIUS + 12)
                oa_text_printf(
                    g->out,
                    "<path class=\"tie c%d\" data-series=\"%d\" d=\"M%.1f %.1fL%.1f %.1f\"/>",
                    c->points[i].color % OA_COLORS, c->points[i].color, all[i].x, all[i].y, x, y);
        }
    for (int i = 0; i < c->count; i++)
        if (point_chart_drawable(c, i))
            draw_point(g, c, &c->points[i], &all[i]);
    for (int i = 0; i < c->count; i++)
        if (point_chart_drawable(c, i) && all[i].named)
            oa_svg_name(g, (all[i].name.left + all[i].name.right) / 2,
                        (all[i].name.top + all[i].name.bottom) / 2, "middle", c->points[i].name,
                        c->points[i].color);
}

static const char *better_corner(const struct oa_point_chart *c)
{
    if (c->y_high_is_better)
        return c->x_low_is_better ? "↖ better" : "↗ better";
    return c->x_low_is_better ? "↙ better" : "↘ better";
}

void oa_svg_points(const struct oa_point_chart *c, struct oa_text *out)
{
    struct oa_svg g = { .out = out,
                        .width = c->width ? c->width : 470,
                        .height = c->height ? c->height : 400 };
    struct oa_axis x, y;
    struct placed *all = oa_alloc(out->context, ((size_t)c->count + 1) * sizeof *all);
    if (!all)
        return;
    point_chart_ranges(c, &x, &y);
    point_chart_lay_out(&g, &x, &y);
    place_all(&g, c, &x, &y, all);
    oa_svg_begin(&g, c->title, c->description, c->standalone);
    oa_svg_axes(&g, &x, &y, c->x_label, c->y_label);
    oa_svg_text(&g, g.right, g.top - 18, "end", "hint", better_corner(c));
    draw_all(&g, c, all);
    oa_svg_end(&g);
    oa_free(all);
}
