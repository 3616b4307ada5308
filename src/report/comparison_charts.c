/* SPDX-License-Identifier: Apache-2.0
 * The charts of a comparison that have one mark for each attention: differences with their
 * intervals, quality against cost. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"
#include "report/report.h"

#include <math.h>

/* ---- differences ---- */

/* notes: two texts for each span. */
static int collect_spans(const struct oa_comparison *k, const struct oa_summary *s,
                         struct oa_span *spans, struct oa_text *notes)
{
    int n = 0;
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o];
        struct oa_asked a;
        oa_asked_of(k, s, i, &a, notes->context);
        if (a.itself || a.difference.n == 0) {
            oa_text_free(&a.verdict);
            continue;
        }
        char number[OA_NUMBER], ends[OA_INTERVAL];
        const struct oa_estimate *d = &a.difference;
        oa_text_printf(&notes[2 * n], "%s", oa_number_signed(number, d->mean, oa_decimals(k)));
        if (isfinite(d->half))
            oa_text_printf(&notes[2 * n], " [%s]",
                           oa_print_ends(ends, d->mean, d->half, oa_decimals(k)));
        notes[2 * n + 1] = a.verdict;
        spans[n] = (struct oa_span){ oa_entry_name(&k->entries[i]),
                                     notes[2 * n].s,
                                     a.verdict.s,
                                     a.difference.mean,
                                     a.difference.mean - a.difference.half,
                                     a.difference.mean + a.difference.half,
                                     i };
        n++;
    }
    return n;
}

static void add_caption(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    oa_text_printf(out, "<figcaption><b>Difference to ");
    oa_html_text(out, oa_entry_name(&k->entries[oa_compared_to(k, s)]));
    oa_text_printf(out, "</b>Difference of ");
    oa_html_text(out, oa_metric_long(k));
    if (s->uneven && oa_family_kind_of(k) == OA_FAMILY_PAIRS)
        oa_text_printf(
            out, ", of the means adjusted for missing seeds. The intervals of pairs are below.");
    else if (s->seeds > 1)
        oa_text_printf(out,
                       "%s, with simultaneous %s intervals: where a bar "
                       "reaches 0, there is no significant difference.",
                       k->unpaired ? "" : ", paired by seed",
                       oa_percent_text(1 - oa_family_level(k)).s);
    else
        oa_text_printf(out, ". One seed gives no interval.");
    if (k->margin > 0) {
        oa_text_printf(out, " Band: the margin, ±");
        oa_add_margin(k, out);
        oa_text_printf(out, "; a bar within it is equivalent.");
    }
    oa_text_printf(out, "</figcaption>\n");
}

/* A figure of the page, in two widths, or a file of its own. */
static void draw_differences(const struct oa_comparison *k, const struct oa_summary *s,
                             const struct oa_span *spans, int n, bool page, struct oa_text *out)
{
    enum oa_family_kind kind = oa_family_kind_of(k);
    bool worse_left = oa_compared_measure(k)->higher;
    const char *unit = oa_difference_unit(k);
    char title[OA_LABEL], axis[OA_LABEL];
    snprintf(title, sizeof title, "Differences of %s to the %s", oa_metric_long(k),
             kind == OA_FAMILY_BASELINE  ? "baseline"
             : kind == OA_FAMILY_UNIFORM ? "uniform baseline"
                                         : oa_best_word(k, s));
    snprintf(axis, sizeof axis, "%sdifference%s%s%s", worse_left ? "worse  ← " : "",
             *unit ? " in " : "", unit, worse_left ? "" : " →  worse");
    struct oa_interval_chart chart = { .title = title,
                                       .description = s->recommendation,
                                       .margin = k->margin,
                                       .x_label = axis,
                                       .spans = spans,
                                       .count = n,
                                       .width = 980,
                                       .standalone = !page };
    if (!page) {
        oa_svg_intervals(&chart, out);
        return;
    }
    oa_text_printf(out, "<figure id=\"differences\">\n");
    add_caption(k, s, out);
    oa_text_printf(out, "<div class=\"wide\">");
    oa_svg_intervals(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    chart.width = 380;
    oa_svg_intervals(&chart, out);
    oa_text_printf(out, "</div>\n</figure>\n");
}

static void add_differences(const struct oa_comparison *k, const struct oa_summary *s, bool page,
                            struct oa_text *out)
{
    size_t count = (size_t)s->count + 1;
    struct oa_span *spans = oa_alloc(out->context, count * sizeof *spans);
    struct oa_text *notes = oa_alloc(out->context, 2 * count * sizeof *notes);
    for (size_t i = 0; notes && i < 2 * count; i++)
        oa_text_init(&notes[i], out->context);
    int n = spans && notes ? collect_spans(k, s, spans, notes) : 0;
    if (n > 0 || (spans && notes && !page))
        draw_differences(k, s, spans, n, page, out);
    for (size_t i = 0; notes && i < 2 * count; i++)
        oa_text_free(&notes[i]);
    oa_free(spans);
    oa_free(notes);
}

void oa_page_differences(const struct oa_comparison *k, const struct oa_summary *s,
                         struct oa_text *out)
{
    add_differences(k, s, true, out);
}

void oa_report_svg(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    add_differences(k, s, false, out);
}

/* ---- quality against cost ---- */

struct trade_off {
    const char *id, *heading, *caption, *x_label;
    bool speed;
};

/* Attentions with failures are left out: the scores of their other runs would stretch the axes. */
static int collect_points(const struct oa_comparison *k, const struct oa_summary *s, bool speed,
                          struct oa_point *points)
{
    int n = 0;
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o];
        const struct oa_standing *e = &s->entries[i];
        struct oa_estimate score = oa_shown_score(k, e);
        if (e->failed == 0)
            points[n++] =
                (struct oa_point){ .name = oa_entry_name(&k->entries[i]),
                                   .x = oa_trade_off_cost(k, s, i, speed),
                                   .x_low = speed ? e->tokens / e->steps / e->step.high : NAN,
                                   .x_high = speed ? e->tokens / e->steps / e->step.low : NAN,
                                   .y = score.mean,
                                   .half = score.half,
                                   .color = i,
                                   .front = speed ? e->front_speed : e->front_parameters };
    }
    return n;
}

static void draw_trade_off(const struct oa_comparison *k, const struct trade_off *t,
                           const struct oa_point *points, int n, struct oa_text *out)
{
    char label[OA_LABEL];
    double least = INFINITY, most = 0;
    for (int i = 0; i < n; i++)
        if (isfinite(points[i].x)) {
            least = fmin(least, points[i].x);
            most = fmax(most, points[i].x);
        }
    struct oa_point_chart chart = {
        .title = t->heading,
        .description = t->caption,
        .x_label = t->x_label,
        .y_label = oa_axis_of(oa_compared_measure(k), oa_metric_long(k), label),
        .points = points,
        .x_log = least > 0 && most > 8 * least, /* easier to read for such a range */
        .count = n,
        .x_low_is_better = !t->speed,
        .y_high_is_better = oa_compared_measure(k)->higher,
    };
    oa_text_printf(
        out, "<figure id=\"%s\">\n<figcaption><b>%s</b>%s</figcaption>\n<div class=\"wide half\">",
        t->id, t->heading, t->caption);
    oa_svg_points(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    chart.width = 380;
    chart.height = 360;
    oa_svg_points(&chart, out);
    oa_text_printf(out, "</div>\n</figure>\n");
}

void oa_page_trade_offs(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    static const struct trade_off both[] = {
        { "speed", "Quality against speed",
          "Ringed: on the Pareto front: no other attention was shown to be better in one and not "
          "worse in the other. Bars: 95 % intervals.",
          "tokens/s in training", true },
        { "size", "Quality against size",
          "Ringed: on the Pareto front: no other attention was shown to be better in one and not "
          "worse in the other.",
          "trainable parameters", false },
    };
    struct oa_point *points = oa_alloc(out->context, ((size_t)s->count + 1) * sizeof *points);
    if (points && collect_points(k, s, true, points) > 1) {
        oa_page_open("trade-offs", "Quality against cost", out);
        oa_text_printf(out, "<div class=\"pair\">\n");
        for (int i = 0; i < 2; i++)
            draw_trade_off(k, &both[i], points, collect_points(k, s, both[i].speed, points), out);
        oa_text_printf(out, "</div>\n");
        oa_page_close(out);
    }
    oa_free(points);
}
