/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html about tuning: the score by the value of each tuned option, for each
 * attention. */
#include "report/metric_words.h"
#include "report/page.h"
#include "report/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- curves of sensitivity ---- */

enum { MOST_POINTS = OA_GRID_VALUES + OA_MOST_ADDED };

/* A line of the chart: the scores of the cells that differ from the chosen one in this option
 * alone, by rising value, each the mean over the tunings that tried it. Dots: what was chosen. */
struct curve {
    double x[MOST_POINTS], y[MOST_POINTS];
    int seeds[MOST_POINTS]; /* of the mean */
    bool chosen[MOST_POINTS];
    int count;
    double dot_x[MOST_POINTS], dot_y[MOST_POINTS];
    int dots;
};

static double number_of(const char *value)
{
    double x = NAN;
    oa_parse_real(value, &x);
    return x;
}

/* y is NaN where a trial diverged. */
static void add_point(struct curve *c, double x, double y, bool chosen)
{
    int at = 0;
    while (at < c->count && c->x[at] < x)
        at++;
    if (at == c->count || c->x[at] != x) {
        if (c->count == MOST_POINTS)
            return;
        size_t later = (size_t)(c->count++ - at);
        memmove(&c->x[at + 1], &c->x[at], later * sizeof *c->x);
        memmove(&c->y[at + 1], &c->y[at], later * sizeof *c->y);
        memmove(&c->seeds[at + 1], &c->seeds[at], later * sizeof *c->seeds);
        memmove(&c->chosen[at + 1], &c->chosen[at], later * sizeof *c->chosen);
        c->x[at] = x;
        c->y[at] = 0;
        c->seeds[at] = 0;
        c->chosen[at] = false;
    }
    c->y[at] += (y - c->y[at]) / ++c->seeds[at];
    c->chosen[at] = c->chosen[at] || chosen;
}

/* Of the measure of the comparison. */
static double mean_of(const struct oa_comparison *k, const struct oa_tuned *u, int cell)
{
    return oa_trial_mean(k, u, cell, k->metric);
}

static void make_curve(const struct oa_comparison *k, int entry, int option, struct curve *out)
{
    *out = (struct curve){ .count = 0 };
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        for (int v = 0; u->chosen >= 0 && v < u->grid.option[option].count; v++)
            add_point(out, number_of(u->grid.option[option].value[v]),
                      mean_of(k, u, oa_grid_with(&u->grid, u->chosen, option, v)),
                      v == oa_grid_at(&u->grid, u->chosen, option));
    }
    for (int i = 0; i < out->count; i++)
        if (out->chosen[i]) {
            out->dot_x[out->dots] = out->x[i];
            out->dot_y[out->dots++] = out->y[i];
        }
}

/* Losses far above all chosen ones would compress the rest of the curves. 0: nothing is cut off. */
static double top_of(const struct oa_comparison *k, const struct curve *curves, int count)
{
    double most = 0;
    if (!oa_about_loss(k))
        return 0;
    for (int i = 0; i < count; i++)
        for (int p = 0; p < curves[i].dots; p++)
            most = fmax(most, curves[i].dot_y[p]);
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

/* Two series for each attention: its line, and its dots. */
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
        series[2 * i + 1] = (struct oa_series){
            .x = c->dot_x, .y = c->dot_y, .count = c->dots, .color = i, .dots = true, .loose = true
        };
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
                                   .x_log = curves->count > 1 && curves->x[0] > 0 &&
                                            curves->x[curves->count - 1] >= 4 * curves->x[0],
                                   .y_top = top_of(k, curves, k->count),
                                   .series = series,
                                   .count = 2 * k->count };
    oa_text_printf(out, "<figure id=\"sensitivity-%d\">\n<figcaption><b>Sensitivity to %s</b>",
                   option + 1, key);
    oa_text_printf(out,
                   "Dots: the values used in the comparison.%s%s Runs that diverged are not "
                   "drawn.%s</figcaption>\n",
                   k->tuning.grid.options > 1 ? " The other options are as chosen." : "",
                   k->tuning.per_seed ? " Means over the seeds that tried a value." : "",
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

/* ---- tables ---- */

/* seeds: of the mean, where those are not all; else 0. */
static void add_mean(const struct oa_comparison *k, double mean, int seeds, struct oa_table *t)
{
    char number[OA_NUMBER];
    if (isnan(mean))
        oa_table_cell(t, "diverged");
    else if (seeds)
        oa_table_cell(t, "%s (%d)", oa_number_fixed(number, mean, oa_decimals(k)), seeds);
    else
        oa_table_cell(t, "%s", oa_number_fixed(number, mean, oa_decimals(k)));
}

/* Mean over the tunings of the score of the chosen cell. */
static double mean_of_chosen(const struct oa_comparison *k, int entry)
{
    double sum = 0;
    int made = 0;
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        if (u->chosen < 0)
            continue;
        sum += mean_of(k, u, u->chosen);
        made++;
    }
    return sum / made;
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

static void add_chosen(const struct oa_comparison *k, int entry, struct oa_table *t)
{
    char number[OA_NUMBER];
    struct oa_text values;
    struct oa_trial_cost cost = { 0 };
    oa_text_init(&values, t->context);
    oa_tuned_values(k, entry, &values);
    oa_trial_cost_sum(k, entry, &cost);
    oa_table_cell(t, "%s", oa_entry_name(&k->entries[entry]));
    oa_table_cell(t, "%s", values.s ? values.s : "");
    oa_text_free(&values);
    add_mean(k, mean_of_chosen(k, entry), 0, t);
    struct oa_text edges;
    oa_text_init(&edges, t->context);
    oa_trial_remarks(k, entry, &edges);
    oa_table_cell(t, "%s", edges.length ? edges.s : "–");
    oa_text_free(&edges);
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

/* Names of all cells that were tried, those of compare.tune first: to be freed with free_names. */
struct cell_names {
    char (*name)[OA_GRID_NAME];
    int count;
};

static int find_cell(const struct oa_tuned *u, const char *wanted)
{
    char name[OA_GRID_NAME];
    for (int cell = 0; u->chosen >= 0 && cell < u->grid.cells; cell++)
        if (strcmp(oa_grid_name(&u->grid, cell, name), wanted) == 0)
            return cell;
    return -1;
}

static void list_cell_names(const struct oa_comparison *k, oa_context *c, struct cell_names *out)
{
    int most = k->tuning.grid.cells;
    for (int i = 0; i < k->count * oa_tunings(k); i++) {
        const struct oa_tuned *u = oa_tuned_of(k, i % k->count, i / k->count);
        most += u->grid.cells - (u->grid.cells ? k->tuning.grid.cells : 0);
    }
    *out = (struct cell_names){ .name = oa_alloc(c, ((size_t)most + 1) * sizeof *out->name) };
    for (int cell = 0; out->name && cell < k->tuning.grid.cells; cell++)
        oa_grid_name(&k->tuning.grid, cell, out->name[out->count++]);
    for (int i = 0; out->name && i < k->count * oa_tunings(k); i++) {
        const struct oa_tuned *u = oa_tuned_of(k, i % k->count, i / k->count);
        for (int cell = 0; u->chosen >= 0 && cell < u->grid.cells; cell++) {
            int n = 0;
            oa_grid_name(&u->grid, cell, out->name[out->count]);
            while (strcmp(out->name[n], out->name[out->count]) != 0)
                n++;
            out->count += n == out->count;
        }
    }
}

/* The mean over the tunings of the attention that tried the cell. */
static void add_tried(const struct oa_comparison *k, int entry, const char *name,
                      struct oa_table *t)
{
    double sum = 0;
    int tried = 0, made = 0;
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        int cell = find_cell(u, name);
        made += u->chosen >= 0;
        if (cell < 0)
            continue;
        sum += mean_of(k, u, cell);
        tried++;
    }
    if (tried)
        add_mean(k, sum / tried, tried < made ? tried : 0, t);
    else
        oa_table_cell(t, "–");
}

static const struct oa_column *attention_columns(const struct oa_comparison *k,
                                                 const struct oa_summary *s, const char *first,
                                                 bool right, struct oa_column *columns)
{
    columns[0] = (struct oa_column){ first, false, false };
    for (int i = 0; i < s->count; i++)
        columns[i + 1] =
            (struct oa_column){ oa_entry_name(&k->entries[s->order[i]]), right, false };
    return columns;
}

/* A row for each value or combination, a column for each attention. */
static void add_every_mean(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_column *columns, struct oa_text *out)
{
    struct oa_table t;
    struct cell_names names;
    const struct oa_measure *m = oa_compared_measure(k);
    char caption[2 * OA_LABEL];
    list_cell_names(k, out->context, &names);
    oa_table_init(&t, out->context, attention_columns(k, s, "tried", true, columns), s->count + 1);
    for (int n = 0; n < names.count; n++) {
        oa_table_cell(&t, "%s", names.name[n]);
        for (int i = 0; i < s->count; i++)
            add_tried(k, s->order[i], names.name[n], &t);
    }
    oa_text_printf(out, "<details><summary>The ");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, " of every value tried</summary>\n");
    snprintf(caption, sizeof caption,
             "%s on held-out training text%s%s, mean over the tuning seeds%s",
             oa_about_loss(k) ? "Loss" : m->title, *m->unit ? " in " : "", m->unit,
             k->tuning.per_seed ? "; in parentheses of how many, where not of all" : "");
    oa_table_html(&t, caption, out);
    oa_text_printf(out, "</details>\n");
    oa_table_free(&t);
    oa_free(names.name);
}

/* The seed of the runs of that number, which some attention has. */
static uint64_t seed_of_runs(const struct oa_comparison *k, int number)
{
    int i = 0;
    while (i + 1 < k->count && k->entries[i].runs[number].absent)
        i++;
    return k->entries[i].runs[number].seed;
}

/* A row for each seed of the comparison, a column for each attention. */
static void add_choice_of_seeds(const struct oa_comparison *k, const struct oa_summary *s,
                                struct oa_column *columns, struct oa_text *out)
{
    struct oa_table t;
    char name[OA_GRID_NAME];
    oa_table_init(&t, out->context, attention_columns(k, s, "seed", false, columns), s->count + 1);
    for (int seed = 0; seed < k->seeds; seed++) {
        oa_table_cell(&t, "%llu", (unsigned long long)seed_of_runs(k, seed));
        for (int i = 0; i < s->count; i++) {
            const struct oa_tuned *u = oa_tuned_of(k, s->order[i], seed);
            oa_table_cell(&t, "%s", u->chosen >= 0 ? oa_grid_name(&u->grid, u->chosen, name) : "–");
        }
    }
    oa_text_printf(out, "<details><summary>The choice of every seed</summary>\n");
    oa_table_html(&t, "Values of the runs by seed of the comparison", out);
    oa_text_printf(out, "</details>\n");
    oa_table_free(&t);
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
    struct oa_column *columns = oa_alloc(out->context, ((size_t)s->count + 1) * sizeof *columns);
    if (columns)
        add_every_mean(k, s, columns, out);
    if (columns && k->tuning.per_seed)
        add_choice_of_seeds(k, s, columns, out);
    oa_free(columns);
    oa_text_printf(out, "</div>\n");
    oa_page_close(out);
}
