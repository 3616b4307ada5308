/* SPDX-License-Identifier: Apache-2.0
 *
 * The curves of a comparison: validation and training loss against steps and time, for each
 * attention a bold line of the mean over thin ones of the seeds; and the same numbers as a table.
 * Where the comparison ranks by another measure that was validated during training, a chart of it
 * against steps comes first.
 */
#include "report/metric_words.h"
#include "report/notes.h"
#include "report/page.h"

#include <math.h>

extern const char oa_curve_switches_html[]; /* embedded by the build */

enum { LONGEST = 150 }; /* points of a drawn curve; longer ones are averaged in blocks */

struct view {
    const char *title, *x_label, *y_label;
    int measure; /* number of the measure of the validations */
    bool training, time;
    bool cut;    /* the initial fall */
    double unit; /* seconds of one unit of time */
};

/* ---- the points of one run ---- */

static double value_at(const struct oa_curve_point *p, const struct view *v)
{
    return v->training ? p->train_loss : oa_point_measured(p, v->measure);
}

/* The points, or means of blocks of them, so that there are at most LONGEST. */
static int collect_run(const struct oa_run *r, const struct view *v, double *x, double *y)
{
    int usable = 0, n = 0, held = 0;
    for (int i = 0; i < r->points; i++)
        usable += isfinite(value_at(&r->curve[i], v));
    int block = (usable + LONGEST - 1) / LONGEST;
    for (int i = 0; i < r->points; i++) {
        double value = value_at(&r->curve[i], v);
        if (!isfinite(value))
            continue;
        if (held == 0)
            x[n] = y[n] = 0;
        x[n] += v->time ? r->curve[i].seconds / v->unit : (double)r->curve[i].step;
        y[n] += value;
        if (++held == block) {
            x[n] /= held;
            y[n++] /= held;
            held = 0;
        }
    }
    if (held) {
        x[n] /= held;
        y[n++] /= held;
    }
    return n;
}

/* ---- the series of one view ---- */

/* The runs of an entry share their steps, so point i of the mean is the mean of their points i. */
static int average(const struct oa_comparison *k, const struct oa_series *runs,
                   const struct oa_run *source, double *x, double *y)
{
    int n = -1, used = 0;
    for (int r = 0; r < k->seeds; r++)
        if (oa_run_finished(k, &source[r])) {
            n = n < 0 || runs[r].count < n ? runs[r].count : n;
            used++;
        }
    for (int i = 0; i < n; i++)
        for (int r = 0; r < k->seeds; r++)
            if (oa_run_finished(k, &source[r])) {
                x[i] += runs[r].x[i] / used;
                y[i] += runs[r].y[i] / used;
            }
    return n < 0 ? 0 : n;
}

/* A thin series for each seed and the bold one after them; with one seed only the bold one. */
static void fill_entry(const struct oa_comparison *k, int entry, const struct view *v, double *room,
                       struct oa_series *out)
{
    for (int r = 0; r <= k->seeds; r++) {
        double *x = room + 2 * LONGEST * r, *y = x + LONGEST;
        out[r] = (struct oa_series){ .x = x, .y = y, .color = entry, .faint = r < k->seeds };
        if (r < k->seeds)
            out[r].count = collect_run(&k->entries[entry].runs[r], v, x, y);
        else
            out[r].count = average(k, out, k->entries[entry].runs, x, y);
    }
    struct oa_series *mean = &out[k->seeds];
    mean->name = oa_entry_name(&k->entries[entry]);
    mean->dots = mean->count <= 12;
    if (k->seeds == 1 && !k->entries[entry].runs[0].failed)
        out[0].count = 0;
}

/* The initial fall would leave no room for the rest of the curves: the top of the axis is that of
 * the losses after a quarter of the training, if this cuts off much; 0: nothing is cut off. */
static double top_of_interest(const struct oa_series *series, int count)
{
    double top = -INFINITY, most = -INFINITY, least = INFINITY;
    for (int s = 0; s < count; s++)
        for (int i = 0; i < series[s].count && series[s].name; i++) {
            most = fmax(most, series[s].y[i]);
            least = fmin(least, series[s].y[i]);
            if (series[s].count < 4 || i >= fmax(1, series[s].count / 4))
                top = fmax(top, series[s].y[i]);
        }
    top += 0.15 * (top - least);
    return most - least > 1.5 * (top - least) ? top : 0;
}

static void draw_view(const struct view *v, const struct oa_series *series, int count,
                      struct oa_text *out)
{
    struct oa_line_chart chart = {
        .title = v->title,
        .description = "One line for each row of the table below, which has the same numbers",
        .x_label = v->x_label,
        .y_label = v->y_label,
        .y_top = v->cut ? top_of_interest(series, count) : 0,
        .series = series,
        .count = count,
        .width = 980,
        .height = 430,
    };
    oa_text_printf(out, "<div class=\"wide\">");
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    chart.width = 380;
    chart.height = 330;
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>");
}

static void add_view(const struct oa_comparison *k, const struct view *v, struct oa_text *out)
{
    size_t each = (size_t)k->seeds + 1, count = each * (size_t)k->count;
    double *room = oa_alloc(out->context, count * 2 * LONGEST * sizeof *room);
    struct oa_series *series = oa_alloc(out->context, (count + 1) * sizeof *series);
    if (room && series) {
        for (int i = 0; i < k->count; i++)
            fill_entry(k, i, v, room + each * 2 * LONGEST * (size_t)i, series + each * (size_t)i);
        draw_view(v, series, (int)count, out);
    }
    oa_free(room);
    oa_free(series);
}

/* ---- the table ---- */

/* Mean of the measure over the runs that did not fail at a step; NaN: no validation was made there.
 */
static double mean_at(const struct oa_entry *e, int seeds, long step, int measure)
{
    double sum = 0;
    int n = 0;
    for (int r = 0; r < seeds; r++)
        for (int i = 0; i < e->runs[r].points && !e->runs[r].failed; i++)
            if (e->runs[r].curve[i].step == step &&
                isfinite(oa_point_measured(&e->runs[r].curve[i], measure))) {
                sum += oa_point_measured(&e->runs[r].curve[i], measure);
                n++;
            }
    return n ? sum / n : NAN;
}

/* The first step after `step` at which some run has the measure, or -1. */
static long next_step(const struct oa_comparison *k, long step, int measure)
{
    long next = -1;
    for (int e = 0; e < k->count; e++)
        for (int r = 0; r < k->seeds; r++) {
            const struct oa_run *run = &k->entries[e].runs[r];
            for (int i = 0; i < run->points && !run->failed; i++)
                if (isfinite(oa_point_measured(&run->curve[i], measure)) &&
                    run->curve[i].step > step && (next < 0 || run->curve[i].step < next))
                    next = run->curve[i].step;
        }
    return next;
}

/* A row for each validation; of very many only every second, third … one. */
static void fill_table(const struct oa_comparison *k, const struct oa_summary *s, int measure,
                       struct oa_table *t)
{
    char number[OA_NUMBER];
    long total = 0, row = 0;
    for (long step = next_step(k, -1, measure); step >= 0; step = next_step(k, step, measure))
        total++;
    for (long step = next_step(k, -1, measure); step >= 0;
         step = next_step(k, step, measure), row++) {
        if ((total - 1 - row) % (1 + total / 60) != 0)
            continue;
        oa_table_cell(t, "%ld", step);
        for (int i = 0; i < s->count; i++)
            oa_table_cell(
                t, "%s",
                oa_number(number, mean_at(&k->entries[s->order[i]], k->seeds, step, measure), 5));
    }
}

static void curves_add_table(const struct oa_comparison *k, const struct oa_summary *s, int measure,
                             struct oa_text *out)
{
    const struct oa_measure *m = oa_comparison_measure(k, measure);
    struct oa_table t;
    char caption[2 * OA_LABEL];
    struct oa_column *columns = oa_alloc(out->context, ((size_t)s->count + 1) * sizeof *columns);
    if (!columns)
        return;
    columns[0] = (struct oa_column){ "step", true, false };
    for (int i = 0; i < s->count; i++)
        columns[i + 1] = (struct oa_column){ oa_entry_name(&k->entries[s->order[i]]), true, false };
    oa_table_init(&t, out->context, columns, s->count + 1);
    fill_table(k, s, measure, &t);
    snprintf(caption, sizeof caption, "%s%s%s, mean over the seeds",
             measure || k->imported ? m->title : "Validation loss", *m->unit ? " in " : "",
             m->unit);
    oa_text_printf(out, "<details><summary>The %s as a table</summary>\n",
                   measure || k->imported ? "scores" : "validation losses");
    oa_table_html(&t, caption, out);
    oa_text_printf(out, "</details>\n");
    oa_table_free(&t);
    oa_free(columns);
}

/* ---- the section ---- */

static void add_legend(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    oa_text_printf(out, "<ul class=\"legend\">\n");
    for (int i = 0; i < s->count; i++) {
        oa_text_printf(out, "<li data-series=\"%d\">", s->order[i]);
        oa_page_name(k, s->order[i], out);
        oa_text_printf(out, "</li>\n");
    }
    oa_text_printf(out, "</ul>\n");
}

static void add_views(const struct oa_comparison *k, struct oa_text *out)
{
    double most = 0;
    for (int e = 0; e < k->count; e++)
        for (int r = 0; r < k->seeds; r++)
            for (int i = 0; i < k->entries[e].runs[r].points; i++)
                most = fmax(most, k->entries[e].runs[r].curve[i].seconds);
    double unit = most > 3 * 3600 ? 3600 : most > 600 ? 60 : 1;
    const char *time = unit == 3600 ? "training time, hours"
                       : unit == 60 ? "training time, minutes"
                                    : "training time, s";
    char valid[OA_LABEL], train[OA_LABEL];
    oa_axis_of(oa_comparison_measure(k, 0), "validation loss", valid);
    oa_axis_of(oa_comparison_measure(k, 0), "training loss", train);
    for (int i = 0; i < 4; i++) {
        struct view v = {
            .title = i < 2 ? "Validation loss during training" : "Training loss",
            .x_label = i % 2 ? time : "training steps",
            .y_label = i < 2 ? valid : train,
            .training = i >= 2,
            .time = i % 2 == 1,
            .cut = true,
            .unit = unit,
        };
        oa_text_printf(out, "<div class=\"plot p%d\">", 2 * v.training + v.time);
        add_view(k, &v, out);
        oa_text_printf(out, "</div>\n");
    }
}

static const char *what_lines_are(const struct oa_summary *s)
{
    return s->uneven      ? "Bold: the plain mean over its own seeds. Thin: each seed."
           : s->seeds > 1 ? "Bold: the mean over the seeds. Thin: each seed."
                          : "One seed.";
}

void oa_page_metric_curves(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    char label[OA_LABEL], title[OA_LABEL];
    int first = next_step(k, -1, k->metric); /* a line has at least two points */
    if (oa_about_loss(k) || first < 0 || next_step(k, first, k->metric) < 0)
        return;
    snprintf(title, sizeof title, "%s during training", oa_compared_measure(k)->title);
    struct view v = { .title = title,
                      .x_label = "training steps",
                      .y_label = oa_axis_of(oa_compared_measure(k), oa_metric_word(k), label),
                      .measure = k->metric,
                      .cut = k->metric == 0 && !oa_compared_measure(k)->higher };
    oa_page_open("metric-curves", title, out);
    oa_text_printf(out, "<figure>\n<figcaption>%s%s</figcaption>\n", what_lines_are(s),
                   v.cut ? " The initial steep fall may be cut off." : "");
    add_legend(k, s, out);
    add_view(k, &v, out);
    curves_add_table(k, s, k->metric, out);
    oa_text_printf(out, "</figure>\n");
    oa_page_close(out);
}

void oa_page_curves(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (k->imported) /* of whose runs there is the metric alone */
        return;
    oa_page_open("curves", "Learning curves", out);
    oa_text_printf(out, "<figure class=\"curves\">\n<figcaption>");
    oa_text_printf(out, "%s The initial steep fall may be cut off.", what_lines_are(s));
    if (k->eval_tokens < oa_validation_used(k)) {
        oa_text_printf(out, " Validation during training is on ");
        oa_validation_text(k, k->eval_tokens, out);
        oa_text_printf(out, ".");
    }
    oa_text_printf(out, "</figcaption>\n");
    oa_text_printf(out, "%s", oa_curve_switches_html);
    add_legend(k, s, out);
    add_views(k, out);
    curves_add_table(k, s, 0, out);
    oa_text_printf(out, "</figure>\n");
    oa_page_close(out);
}
