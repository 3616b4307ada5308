/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html about tuning: how the score depends on what was tuned, attention by
 * attention. */
#include "report/metric_words.h"
#include "report/page.h"
#include "report/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- curves of sensitivity
 * ----------------------------------------------------------------------------------- */

/* A line of the chart: the scores of the cells that differ from the chosen one in this option
 * alone, by rising value.
 */
struct curve {
    double x[OA_GRID_VALUES], y[OA_GRID_VALUES];
    int count, chosen; /* place of the chosen value */
};

static double number_of(const char *value)
{
    double x = NAN;
    oa_parse_real(value, &x);
    return x;
}

/* The cell that has value v of the option, and of the others what `cell` has. */
static int with_value(const struct oa_grid *g, int cell, int option, int v)
{
    int step = 1;
    for (int i = g->options - 1; i > option; i--)
        step *= g->option[i].count;
    return cell + (v - oa_grid_at(g, cell, option)) * step;
}

static void add_point(struct curve *c, double x, double y, bool chosen)
{
    int at = c->count++;
    for (; at > 0 && c->x[at - 1] > x; at--) {
        c->x[at] = c->x[at - 1];
        c->y[at] = c->y[at - 1];
    }
    c->chosen = chosen ? at : c->chosen + (at <= c->chosen);
    c->x[at] = x;
    c->y[at] = y;
}

/* In what the comparison is about. */
static double mean_of(const struct oa_comparison *k, int entry, int cell)
{
    return oa_trial_mean(k, entry, cell, k->metric);
}

static void make_curve(const struct oa_comparison *k, int entry, int option, struct curve *out)
{
    const struct oa_grid *g = &k->tuning.grid;
    int chosen = k->entries[entry].chosen;
    *out = (struct curve){ .chosen = -1 };
    for (int v = 0; v < g->option[option].count; v++)
        add_point(out, number_of(g->option[option].value[v]),
                  mean_of(k, entry, with_value(g, chosen, option, v)),
                  v == oa_grid_at(g, chosen, option));
}

/* Rates that are tried as 1e-3, 3e-3, 1e-2 belong on a logarithmic axis. */
static bool curve_needs_log(const struct curve *c)
{
    return c->count > 1 && c->x[0] > 0 && c->x[c->count - 1] >= 4 * c->x[0];
}

/* Whoever is far above what anything settled for would press the rest flat: losses have no other
 * end. 0: nothing is cut off. */
static double top_of(const struct oa_comparison *k, const struct curve *curves, int count)
{
    double most = 0;
    if (!oa_about_loss(k))
        return 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, curves[i].y[curves[i].chosen]);
    return 1.5 * most;
}

static bool is_cut(const struct curve *curves, int count, double top)
{
    for (int i = 0; i < count; i++)
        for (int p = 0; p < curves[i].count; p++)
            if (top > 0 && isfinite(curves[i].y[p]) && curves[i].y[p] > top)
                return true;
    return false;
}

/* Two series for each attention: its line, and a mark where it settled. */
static void collect_series(const struct oa_comparison *k, const struct curve *curves,
                           struct oa_series *series)
{
    for (int i = 0; i < k->count; i++) {
        const struct curve *c = &curves[i];
        series[2 * i] = (struct oa_series){ .name = oa_entry_name(&k->entries[i]),
                                            .x = c->x,
                                            .y = c->y,
                                            .count = c->count,
                                            .color = i };
        series[2 * i + 1] = (struct oa_series){ .x = &c->x[c->chosen],
                                                .y = &c->y[c->chosen],
                                                .count = 1,
                                                .color = i,
                                                .dots = true,
                                                .loose = true };
    }
}

static void tuning_draw(const struct oa_comparison *k, int option, const struct curve *curves,
                        const struct oa_series *series, struct oa_text *out)
{
    const char *key = k->tuning.grid.option[option].key;
    char title[OA_LABEL], what[OA_LABEL], label[OA_LABEL];
    snprintf(title, sizeof title, "%s of the tuning runs by the value of the tuned option",
             oa_about_loss(k) ? "Loss" : oa_compared_measure(k)->title);
    snprintf(what, sizeof what, "%s on held-out training text", oa_metric_word(k));
    struct oa_line_chart chart = { .title = title,
                                   .description = key,
                                   .x_label = key,
                                   .y_label = oa_axis_of(oa_compared_measure(k), what, label),
                                   .x_log = curve_needs_log(curves),
                                   .y_top = top_of(k, curves, k->count),
                                   .series = series,
                                   .count = 2 * k->count };
    oa_text_printf(out, "<figure id=\"sensitivity-%d\">\n<figcaption><b>Sensitivity to %s</b>",
                   option + 1, key);
    oa_text_printf(out,
                   "Dots: the values used in the comparison.%s Runs that diverged are not "
                   "drawn.%s</figcaption>\n",
                   k->tuning.grid.options > 1 ? " The other options are as chosen." : "",
                   is_cut(curves, k->count, chart.y_top) ? " Much larger losses are cut off." : "");
    oa_text_printf(out, "<div class=\"wide\">");
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    chart.width = 380;
    chart.height = 360;
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>\n</figure>\n");
}

static void tuning_add_chart(const struct oa_comparison *k, int option, struct oa_text *out)
{
    struct curve *curves = oa_alloc(out->context, ((size_t)k->count + 1) * sizeof *curves);
    struct oa_series *series = oa_alloc(out->context, (2 * (size_t)k->count + 1) * sizeof *series);
    for (int i = 0; curves && i < k->count; i++)
        make_curve(k, i, option, &curves[i]);
    if (curves && series) {
        collect_series(k, curves, series);
        tuning_draw(k, option, curves, series, out);
    }
    oa_free(curves);
    oa_free(series);
}

/* ---- tables
 * --------------------------------------------------------------------------------------------------
 */

static void add_mean(const struct oa_comparison *k, double mean, struct oa_table *t)
{
    char number[OA_NUMBER];
    if (isnan(mean))
        oa_table_cell(t, "diverged");
    else
        oa_table_cell(t, "%s", oa_number_fixed(number, mean, oa_decimals(k)));
}

enum { CHOSEN_COLUMNS = 8, HELD_OUT = 2 };
static const struct oa_column chosen_columns[CHOSEN_COLUMNS] = {
    { "attention", false, false },
    { "chosen", false, false },
    [HELD_OUT] = { NULL, true, false },
    { "remark", false, false },
    { "runs", true, false },
    { "steps", true, false },
    { "training\nFLOPs", true, false },
    { "processor\ntime", true, false },
};

static void add_edges(const struct oa_comparison *k, int entry, struct oa_table *t)
{
    struct oa_text edges;
    oa_text_init(&edges, t->context);
    oa_trial_remarks(k, entry, &edges);
    oa_table_cell(t, "%s", edges.length ? edges.s : "–");
    oa_text_free(&edges);
}

static void add_chosen(const struct oa_comparison *k, int entry, struct oa_table *t)
{
    char name[OA_GRID_NAME], number[OA_NUMBER];
    struct oa_trial_cost cost = { 0 };
    oa_trial_cost_sum(k, entry, &cost);
    oa_table_cell(t, "%s", oa_entry_name(&k->entries[entry]));
    oa_table_cell(t, "%s", oa_tuned_values(k, entry, name));
    add_mean(k, mean_of(k, entry, k->entries[entry].chosen), t);
    add_edges(k, entry, t);
    oa_table_cell(t, "%d", cost.runs);
    oa_table_cell(t, "%s", oa_number_si(number, cost.steps));
    oa_table_cell(t, "%s", oa_number_si(number, cost.flops));
    oa_table_cell(t, "%s", oa_number_seconds(number, cost.processor_seconds));
}

static void add_choices(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    struct oa_table t;
    struct oa_column columns[CHOSEN_COLUMNS];
    char what[OA_LABEL], heading[OA_LABEL];
    memcpy(columns, chosen_columns, sizeof columns);
    snprintf(what, sizeof what, "%s, held-out text", oa_metric_word(k));
    columns[HELD_OUT].title = oa_heading(oa_compared_measure(k), what, heading);
    oa_table_init(&t, out->context, columns, CHOSEN_COLUMNS);
    for (int i = 0; i < s->count; i++)
        add_chosen(k, s->order[i], &t);
    oa_table_html(&t, "Chosen values and the cost of tuning", out);
    oa_table_free(&t);
}

/* A row for each value or combination, a column for each attention. */
static void add_every_mean(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    struct oa_table t;
    char name[OA_GRID_NAME];
    struct oa_column *columns = oa_alloc(out->context, ((size_t)s->count + 1) * sizeof *columns);
    if (!columns)
        return;
    columns[0] = (struct oa_column){ "tried", false, false };
    for (int i = 0; i < s->count; i++)
        columns[i + 1] = (struct oa_column){ oa_entry_name(&k->entries[s->order[i]]), true, false };
    oa_table_init(&t, out->context, columns, s->count + 1);
    for (int cell = 0; cell < k->tuning.grid.cells; cell++) {
        oa_table_cell(&t, "%s", oa_grid_name(&k->tuning.grid, cell, name));
        for (int i = 0; i < s->count; i++)
            add_mean(k, mean_of(k, s->order[i], cell), &t);
    }
    const struct oa_measure *m = oa_compared_measure(k);
    char caption[2 * OA_LABEL];
    oa_text_printf(out, "<details><summary>The ");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, " of every value tried</summary>\n");
    snprintf(caption, sizeof caption,
             "%s on held-out training text%s%s, mean over the tuning seeds",
             oa_about_loss(k) ? "Loss" : m->title, *m->unit ? " in " : "", m->unit);
    oa_table_html(&t, caption, out);
    oa_text_printf(out, "</details>\n");
    oa_table_free(&t);
    oa_free(columns);
}

/* ---- the section
 * --------------------------------------------------------------------------------------------- */

void oa_page_tuning(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    struct oa_text notes;
    if (!k->tuning.grid.options)
        return;
    oa_text_init(&notes, out->context);
    oa_tuning_notes(k, s, &notes);
    oa_page_open("tuning", "Tuning", out);
    oa_text_printf(out, "<p>");
    oa_html_text(out, notes.s ? notes.s : "");
    oa_text_printf(out, "</p>\n");
    oa_text_free(&notes);
    for (int i = 0; i < k->tuning.grid.options; i++)
        if (k->tuning.grid.option[i].number)
            tuning_add_chart(k, i, out);
    oa_text_printf(out, "<div class=\"panel\">\n");
    add_choices(k, s, out);
    add_every_mean(k, s, out);
    oa_text_printf(out, "</div>\n");
    oa_page_close(out);
}
