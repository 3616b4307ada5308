/* SPDX-License-Identifier: Apache-2.0
 * Variances by source of chance: a table in text, Markdown and HTML, and a bar chart. */
#include "print/svg.h"
#include "report/metric_words.h"
#include "report/page.h"
#include "report/variance.h"

#include <math.h>

/* ---- the table ---- */

static const struct oa_column columns[] = {
    { "attention", false, true },
    { "source", false, false },
    { "standard\ndeviation", true, false },
    { "95 %\ninterval", true, false },
    { "share of\nthe sum", true, false },
    { "sum /\nall sources", true, false },
    { "\nvalues", true, false },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void add_part(struct oa_table *t, double x, double factor, int decimals, const char *unit)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%s%s", oa_number_fixed(number, factor * x, decimals),
                  isfinite(x) ? unit : "");
}

static void variance_add_row(struct oa_table *t, const char *name, const char *what,
                             const struct oa_spread *s, double ratio, int decimals)
{
    char low[OA_NUMBER], high[OA_NUMBER];
    oa_table_cell(t, "%s", name);
    oa_table_cell(t, "%s", what);
    add_part(t, s->sd, 1, decimals, "");
    if (s->variance > 0)
        oa_table_cell(t, "%s … %s", oa_number_fixed(low, s->low, decimals),
                      oa_number_fixed(high, s->high, decimals));
    else
        oa_table_cell(t, "–");
    add_part(t, s->share, 100, 0, " %");
    add_part(t, ratio, 1, 2, "");
    oa_table_cell(t, "%d", s->n);
}

static const char *variance_row_name(const struct oa_comparison *k, int number)
{
    return number < 0 ? "pooled" : oa_entry_name(&k->entries[number]);
}

/* The pooled ones come first: number -1. */
static bool variances_at(const struct oa_comparison *k, int number, struct oa_variances *x)
{
    return number < 0 ? oa_variances_pooled(k, x) : oa_variances_of(k, number, x);
}

static void variance_make_table(const struct oa_comparison *k, oa_context *c, struct oa_table *t)
{
    struct oa_variances x;
    oa_table_init(t, c, columns, COLUMNS);
    for (int i = -1; i < k->count; i++) {
        const char *name = variance_row_name(k, i);
        if (!variances_at(k, i, &x))
            continue;
        for (int s = 0; s < OA_CHANCES; s++)
            if (oa_variance_known(&k->vary, s))
                variance_add_row(t, name, oa_chance_title(s), &x.source[s], NAN, oa_decimals(k));
        variance_add_row(t, name, "all sources", &x.together, x.ratio, oa_decimals(k));
    }
}

static void variance_add_notes(const struct oa_comparison *k, struct oa_text *out)
{
    oa_text_printf(out,
                   "Standard deviations of the %s (95 %% intervals by chi-square) and shares of "
                   "the sum of the variances. One source: %d runs that vary it alone, all else as "
                   "in the run of the first seed. All sources: the seeds of the comparison, over "
                   "which the split of the text does not vary. ",
                   oa_metric_long(k), k->vary.values);
    if (k->vary.idle[OA_CHANCE_DROPOUT])
        oa_text_printf(out, "Dropout is 0 and adds no variance. ");
    oa_text_printf(out,
                   "Pooled: mean variances; attentions share seeds, so the interval is as wide as "
                   "that of one attention. Sum / all sources: the sum of the variances of initial "
                   "values, batch order and dropout over the variance of all together; a ratio "
                   "that differs from 1 by more than chance shows interactions. The variances of "
                   "single sources are those around the first seed's run.\n");
}

static const char heading[] = "Sources of variance";

void oa_variances_table(const struct oa_comparison *k, int limit, struct oa_text *out)
{
    struct oa_table t;
    struct oa_text notes;
    if (!k->vary.values)
        return;
    oa_text_init(&notes, out->context);
    variance_make_table(k, out->context, &t);
    oa_text_printf(out, "\n%s:\n\n", heading);
    oa_table_text(&t, limit, out);
    variance_add_notes(k, &notes);
    oa_text_wrap(out, notes.s ? notes.s : "", OA_TERMINAL_WIDTH);
    oa_text_free(&notes);
    oa_table_free(&t);
}

void oa_variances_markdown(const struct oa_comparison *k, struct oa_text *out)
{
    struct oa_table t;
    if (!k->vary.values)
        return;
    variance_make_table(k, out->context, &t);
    oa_text_printf(out, "\n%s:\n\n", heading);
    oa_table_markdown(&t, out);
    oa_text_printf(out, "\n");
    variance_add_notes(k, out);
    oa_table_free(&t);
}

/* ---- the bar chart ---- */

enum { WIDTH = 960, LABELS = 150, BAR = 14, GAP = 4, GROUP = 30 };

struct bars {
    struct oa_svg svg;
    struct oa_axis x;
    double y; /* top of the next bar */
};

static void variance_draw_bar(struct bars *b, const char *label, const struct oa_spread *s,
                              int color)
{
    double zero = oa_axis_at(&b->x, 0), middle = b->y + BAR / 2.0;
    if (isnan(s->sd))
        return;
    oa_svg_text(&b->svg, b->svg.left - 10, middle, "end", "note", label);
    oa_text_printf(b->svg.out,
                   "<rect class=\"share c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                   color % OA_COLORS, zero, b->y, oa_axis_at(&b->x, s->sd) - zero, BAR);
    if (s->variance > 0) {
        double low = oa_axis_at(&b->x, s->low), high = oa_axis_at(&b->x, s->high),
               right = b->svg.right;
        oa_text_printf(b->svg.out, "<path class=\"whisker\" d=\"M%.1f %.1fH%.1f\"/>", low, middle,
                       fmin(high, right));
        if (high > right)
            oa_text_printf(b->svg.out, "<path class=\"arrow c%d\" d=\"M%.1f %.1fl-9 -5v10z\"/>",
                           color % OA_COLORS, right, middle);
    }
    oa_text_printf(b->svg.out, "\n");
    b->y += BAR + GAP;
}

static int count_bars(const struct oa_comparison *k, const struct oa_variances *x)
{
    int bars = !isnan(x->together.sd);
    for (int s = 0; s < OA_CHANCES; s++)
        bars += oa_variance_known(&k->vary, s) && !isnan(x->source[s].sd);
    return bars;
}

/* Intervals of few values are long: they may leave the picture, deviations may not. */
static void measure(const struct oa_comparison *k, struct bars *b)
{
    struct oa_variances x;
    double longest = 0, height = 8;
    for (int i = -1; i < k->count; i++) {
        if (!variances_at(k, i, &x))
            continue;
        for (int s = 0; s < OA_CHANCES; s++)
            longest = fmax(longest, x.source[s].sd);
        longest = fmax(longest, x.together.sd);
        height += GROUP + count_bars(k, &x) * (BAR + GAP);
    }
    b->x = (struct oa_axis){ .low = 0, .high = longest > 0 ? 2 * longest : 1 };
    b->svg.top = 8;
    b->svg.bottom = height + 6;
    b->svg.height = b->svg.bottom + 46;
    b->svg.left = LABELS;
    b->svg.right = WIDTH - 24;
    b->x.from = b->svg.left;
    b->x.to = b->svg.right;
    b->y = b->svg.top;
}

static void draw_chart(const struct oa_comparison *k, struct oa_text *out)
{
    struct bars b = { .svg = { .out = out, .width = WIDTH } };
    struct oa_variances x;
    char title[2 * OA_LABEL], what[OA_LABEL], label[OA_LABEL];
    measure(k, &b);
    snprintf(title, sizeof title,
             "Bars: standard deviations of the %s by source of chance, with 95 %% intervals",
             oa_metric_long(k));
    oa_svg_begin(&b.svg, heading, title, false);
    snprintf(what, sizeof what, "standard deviation of the %s", oa_metric_long(k));
    oa_svg_axes(&b.svg, &b.x, NULL, oa_axis_of(oa_compared_measure(k), what, label), NULL);
    for (int i = -1; i < k->count; i++)
        if (variances_at(k, i, &x)) {
            oa_svg_text(&b.svg, 2, b.y + GROUP / 2.0, "start", "label", variance_row_name(k, i));
            b.y += GROUP;
            for (int s = 0; s < OA_CHANCES; s++)
                if (oa_variance_known(&k->vary, s))
                    variance_draw_bar(&b, oa_chance_title(s), &x.source[s], s);
            variance_draw_bar(&b, "all sources", &x.together, OA_CHANCES);
        }
    oa_svg_end(&b.svg);
}

/* ---- the page ---- */

void oa_page_variances(const struct oa_comparison *k, struct oa_text *out)
{
    struct oa_table t;
    struct oa_text notes;
    if (!k->vary.values)
        return;
    oa_text_init(&notes, out->context);
    variance_add_notes(k, &notes);
    variance_make_table(k, out->context, &t);
    oa_page_open("spread", heading, out);
    oa_text_printf(out, "<p>");
    oa_html_text(out, notes.s ? notes.s : "");
    oa_text_printf(out, "</p>\n<figure class=\"panel\"><div class=\"scroll\">\n");
    draw_chart(k, out);
    oa_text_printf(out, "</div></figure>\n<div class=\"panel\">\n");
    oa_table_html(&t, heading, out);
    oa_text_printf(out, "</div>\n");
    oa_page_close(out);
    oa_table_free(&t);
    oa_text_free(&notes);
}
