/* SPDX-License-Identifier: Apache-2.0
 *
 * The section of report.html with the table of results: seven columns and one verdict a row; below
 * it, folded, what else is known of each attention. A column is a line of a table here.
 */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"
#include "report/tuning.h"

#include <math.h>
#include <string.h>

/* ---- cells ---- */

/* A cell: the value to sort by, then the text. */
static void begin_cell(double value, struct oa_text *out)
{
    oa_text_printf(out, "<td class=\"num\" data-v=\"");
    if (isfinite(value))
        oa_text_real(out, value);
    oa_text_printf(out, "\">");
}

/* A number with another in small type below it. */
static void pair_cell(double value, const char *above, const char *below, const char *unit,
                      struct oa_text *out)
{
    begin_cell(value, out);
    oa_text_printf(out, "%s<small>%s%s</small></td>", above, below, unit);
}

static void score_cell(const struct oa_estimate *e, int decimals, struct oa_text *out)
{
    char number[OA_NUMBER];
    begin_cell(e->mean, out);
    oa_text_printf(out, "%s", oa_number_fixed(number, e->mean, decimals));
    if (isfinite(e->half))
        oa_text_printf(out, "<small>± %s</small>", oa_number_fixed(number, e->half, decimals));
    oa_text_printf(out, "</td>");
}

/* An adjusted mean has the plain one, with its interval, below it. */
static void metric_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                        struct oa_text *out)
{
    char mean[OA_NUMBER], half[OA_NUMBER];
    const struct oa_standing *e = &s->entries[entry];
    const struct oa_estimate *own = oa_standing_score(k, e);
    if (e->plain) {
        score_cell(own, oa_decimals(k), out);
        return;
    }
    begin_cell(e->adjusted, out);
    oa_text_printf(out, "%s", oa_number_fixed(mean, e->adjusted, oa_decimals(k)));
    oa_text_printf(out, "<small>%s", oa_number_fixed(mean, own->mean, oa_decimals(k)));
    if (isfinite(own->half))
        oa_text_printf(out, " ± %s", oa_number_fixed(half, own->half, oa_decimals(k)));
    oa_text_printf(out, "</small><small>over its %d seed%s</small></td>", own->n,
                   oa_plural(own->n));
}

static void add_ends(const struct oa_comparison *k, const struct oa_estimate *d,
                     struct oa_text *out)
{
    char ends[OA_INTERVAL];
    if (isfinite(d->half))
        oa_text_printf(out, "<small>%s</small>",
                       oa_print_ends(ends, d->mean, d->half, oa_decimals(k)));
}

/* What is asked: one difference with the interval of its verdict. */
static void answer_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                        struct oa_text *out)
{
    struct oa_asked a;
    char number[OA_NUMBER];
    oa_asked_of(k, s, entry, &a, out->context);
    begin_cell(a.difference.mean, out);
    oa_text_printf(out, "%s", oa_number_signed(number, a.difference.mean, oa_decimals(k)));
    add_ends(k, &a.difference, out);
    oa_text_printf(out, "</td>");
    oa_text_free(&a.verdict);
}

static void verdict_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                         struct oa_text *out)
{
    struct oa_asked a;
    oa_asked_of(k, s, entry, &a, out->context);
    oa_text_printf(out, "<td><span class=\"verdict v%d\">", a.look);
    oa_html_text(out, a.verdict.s ? a.verdict.s : "");
    oa_text_printf(out, "</span>");
    if (a.p < 0.0001)
        oa_text_printf(out, "<small>p &lt; 0.0001</small>");
    else if (!isnan(a.p))
        oa_text_printf(out, "<small>p = %.4f</small>", a.p);
    oa_text_printf(out, "</td>");
    oa_text_free(&a.verdict);
}

/* Behind a difference in % points percents of a percentage would be read wrongly. */
static void to_the_best_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                             struct oa_text *out)
{
    struct oa_estimate d = oa_shown(k, oa_to_reference(k, s, entry));
    char a[OA_NUMBER], b[OA_NUMBER];
    bool none = entry == s->reference || isnan(d.mean);
    begin_cell(d.mean, out);
    oa_text_printf(out, "%s", none ? "–" : oa_number_signed(a, d.mean, oa_decimals(k)));
    if (!none && strcmp(oa_metric(k)->unit, "%") != 0)
        oa_text_printf(out, " (%s %%)", oa_number_signed(b, oa_percent_to_reference(s, entry), 2));
    if (!none)
        add_ends(k, &d, out);
    if (k->baseline && s->entries[entry].holm < 0.0001)
        oa_text_printf(out, "<small>p &lt; 0.0001</small>");
    else if (k->baseline && !isnan(s->entries[entry].holm))
        oa_text_printf(out, "<small>p = %.4f</small>", s->entries[entry].holm);
    oa_text_printf(out, "</td>");
}

static void rank_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                      struct oa_text *out)
{
    struct oa_text words;
    oa_text_init(&words, out->context);
    oa_add_verdict(k, s, entry, &words);
    oa_text_printf(out, "<td>");
    oa_html_text(out, words.s ? words.s : "");
    oa_text_printf(out, "</td>");
    oa_text_free(&words);
}

static void uniform_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                         struct oa_text *out)
{
    const struct oa_against *a = &s->entries[entry].floor;
    struct oa_estimate d = oa_shown(k, oa_against_interval(a));
    char number[OA_NUMBER];
    begin_cell(d.mean, out);
    if (a->verdict == OA_AGAINST_NONE)
        oa_text_printf(out, "–");
    else
        oa_text_printf(out, "%s<small>%s</small>", oa_number_signed(number, d.mean, oa_decimals(k)),
                       oa_against_words(a->verdict, false));
    add_ends(k, &d, out);
    oa_text_printf(out, "</td>");
}

static void seeds_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                       struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    (void)k;
    begin_cell(e->made, out);
    oa_text_printf(out, "%d", e->made);
    if (e->seeds_range.low) {
        oa_text_printf(out, "<small>");
        oa_seeds_text(e->seeds_range, out);
        oa_text_printf(out, " needed</small>");
    }
    oa_text_printf(out, "</td>");
}

static void tuned_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                       struct oa_text *out)
{
    char tuned[OA_GRID_NAME];
    (void)s;
    oa_text_printf(out, "<td>");
    oa_html_text(out, oa_tuned_values(k, entry, tuned));
    oa_text_printf(out, "</td>");
}

static void perplexity_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                            struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    char above[OA_NUMBER], below[OA_NUMBER];
    (void)k;
    pair_cell(oa_shown_perplexity(e), oa_number(above, oa_shown_perplexity(e), 4),
              oa_number(below, oa_shown_bits(e), 4), " bits/char", out);
}

/* All measures but what the comparison is about. */
static void measure_cells(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                          struct oa_text *out)
{
    for (int i = 0; oa_comparison_measure(k, i); i++)
        if (i != k->metric)
            score_cell(oa_standing_measured(&s->entries[entry], i),
                       oa_comparison_measure(k, i)->decimals, out);
}

/* Tokens a second, and below how many times that is the first contender's, with the interval. */
static void speed_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                       struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    char a[OA_NUMBER], b[OA_NUMBER];
    (void)k;
    begin_cell(e->tokens_per_second, out);
    oa_text_printf(out, "%s<small>%s ms/step</small>", oa_number_si(a, e->tokens_per_second),
                   oa_number(b, 1e3 * e->seconds_per_step, 3));
    if (e->speed.low < e->speed.high)
        oa_text_printf(out, "<small>× %s … %s</small>", oa_number(a, e->speed.low, 3),
                       oa_number(b, e->speed.high, 3));
    oa_text_printf(out, "</td>");
}

static void parameters_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                            struct oa_text *out)
{
    const struct oa_entry *e = &k->entries[entry];
    char above[OA_NUMBER], below[OA_NUMBER];
    (void)s;
    pair_cell(e->trainable, oa_number_si(above, e->trainable), oa_number_si(below, e->frozen),
              " frozen", out);
}

static void memory_cell(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                        struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    char above[OA_NUMBER], below[OA_NUMBER];
    (void)k;
    pair_cell(e->peak_memory, oa_number_bytes(above, e->peak_memory),
              oa_number_si(below, e->flops_per_step), " FLOPs/step", out);
}

/* ---- headings ---- */

static void add_results_heading(const char *title, bool number, struct oa_text *out)
{
    oa_text_printf(out, "<th scope=\"col\"%s>", number ? " class=\"num\"" : "");
    oa_html_text(out, title);
    oa_text_printf(out, "</th>");
}

static void metric_head(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    char label[OA_LABEL];
    (void)s;
    add_results_heading(oa_heading(oa_metric(k), oa_metric_word(k), label), true, out);
}

static void answer_head(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    char label[OA_LABEL];
    add_results_heading(k->baseline ? "difference\nto the baseline" : oa_to_the_best(k, s, label),
                        true, out);
}

static void to_the_best_head(const struct oa_comparison *k, const struct oa_summary *s,
                             struct oa_text *out)
{
    char label[OA_LABEL];
    add_results_heading(oa_to_the_best(k, s, label), true, out);
}

static void measure_heads(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    char label[OA_LABEL];
    (void)s;
    for (int i = 0; oa_comparison_measure(k, i); i++)
        if (i != k->metric)
            add_results_heading(
                oa_heading(oa_comparison_measure(k, i), oa_comparison_measure(k, i)->title, label),
                true, out);
}

/* ---- when ---- */

static bool has_floor(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)k;
    return s->floor >= 0;
}

static bool has_baseline(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return k->baseline > 0;
}

static bool is_tuned(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return k->tuning.grid.options > 0;
}

static bool is_about_loss(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return oa_about_loss(k);
}

/* ---- the tables ---- */

/* A title or what writes the heading; always there where there is no `when`. */
struct page_column {
    const char *title;
    bool number;
    void (*cell)(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                 struct oa_text *out);
    void (*head)(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
    bool (*when)(const struct oa_comparison *k, const struct oa_summary *s);
};

static const struct page_column answers[] = {
    { .head = metric_head, .cell = metric_cell },
    { .head = answer_head, .cell = answer_cell },
    { .title = "verdict", .cell = verdict_cell },
    { .title = "speed\ntokens/s", .number = true, .cell = speed_cell },
    { .title = "trained\nparameters", .number = true, .cell = parameters_cell },
    { .title = "peak\nmemory", .number = true, .cell = memory_cell },
};

static const struct page_column rest[] = {
    { .head = to_the_best_head, .cell = to_the_best_cell },
    { .title = "among all", .cell = rank_cell, .when = has_baseline },
    { .title = "to the uniform\nbaseline",
      .number = true,
      .cell = uniform_cell,
      .when = has_floor },
    { .title = "perplexity", .number = true, .cell = perplexity_cell, .when = is_about_loss },
    { .head = measure_heads, .cell = measure_cells },
    { .title = "seeds", .number = true, .cell = seeds_cell },
    { .title = "tuned", .cell = tuned_cell, .when = is_tuned },
};

static bool is_there(const struct page_column *column, const struct oa_comparison *k,
                     const struct oa_summary *s)
{
    return !column->when || column->when(k, s);
}

static void add_results_row(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                            const struct page_column *columns, size_t count, struct oa_text *out)
{
    oa_text_printf(out, "<tr data-series=\"%d\"%s><th scope=\"row\"><span class=\"named\">", entry,
                   entry == oa_compared_to(k, s) ? " class=\"reference\"" : "");
    oa_page_name(k, entry, out);
    oa_text_printf(out, "</span></th>");
    for (size_t i = 0; i < count; i++)
        if (is_there(&columns[i], k, s))
            columns[i].cell(k, s, entry, out);
    oa_text_printf(out, "</tr>\n");
}

static void add_results_table(const struct oa_comparison *k, const struct oa_summary *s,
                              const char *label, const struct page_column *columns, size_t count,
                              struct oa_text *out)
{
    oa_text_printf(out,
                   "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table "
                   "class=\"sortable\">\n"
                   "<thead><tr>",
                   label);
    add_results_heading("attention", false, out);
    for (size_t i = 0; i < count; i++)
        if (is_there(&columns[i], k, s) && columns[i].head)
            columns[i].head(k, s, out);
        else if (is_there(&columns[i], k, s))
            add_results_heading(columns[i].title, columns[i].number, out);
    oa_text_printf(out, "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < s->count; i++)
        add_results_row(k, s, s->order[i], columns, count, out);
    oa_text_printf(out, "</tbody></table></div>\n");
}

/* ---- the section ---- */

static void add_dropout(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    struct oa_text notes;
    oa_text_init(&notes, out->context);
    oa_report_dropout(k, s, &notes);
    if (notes.length) {
        oa_text_printf(out, "<p>");
        oa_html_text(out, notes.s);
        oa_text_printf(out, "</p>\n");
    }
    oa_text_free(&notes);
}

static void add_lead(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_html_text(out, oa_about_loss(k) ? "Validation loss" : oa_metric(k)->title);
    oa_text_printf(out, " after the same %s, %s first.", oa_budget_name(k->equal),
                   oa_metric_best(k));
    if (s->uneven)
        oa_text_printf(
            out,
            " Small print: the plain mean over an attention’s own seeds with its 95 %% interval.");
    else if (s->seeds > 1)
        oa_text_printf(out, " Small print: ± half-width of the 95 %% interval over %d seeds.",
                       s->seeds);
    if (k->any_looks)
        oa_text_printf(out,
                       " Intervals of differences are valid at any number of interim analyses.");
    else if (s->seeds > 1)
        oa_text_printf(out, " Intervals and p-values of differences are Holm-corrected: an "
                            "interval excludes 0 exactly where p &lt; 0.05.");
    oa_adjusted_sentences(k, s, out);
    oa_validation_sentence(k, out);
}

void oa_page_results(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_text_printf(out, "<section id=\"results\">\n<h2>Results</h2>\n<p>");
    add_lead(k, s, out);
    oa_text_printf(out, "</p>\n<div class=\"panel results\">");
    add_results_table(k, s, "Results", answers, sizeof answers / sizeof *answers, out);
    oa_text_printf(out, "<details id=\"more\"><summary>More columns</summary>\n");
    add_results_table(k, s, "More columns", rest, sizeof rest / sizeof *rest, out);
    oa_text_printf(out, "</details></div>\n");
    add_dropout(k, s, out);
    oa_text_printf(out, "</section>\n");
}
