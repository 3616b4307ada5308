/* SPDX-License-Identifier: Apache-2.0
 *
 * The section of report.html with the table of results: seven columns and one verdict per row;
 * below it, folded, a table with more columns.
 */
#include "report/adjusted.h"
#include "report/columns.h"
#include "report/notes.h"
#include "report/page.h"

#include <math.h>

/* ---- cells ---- */

/* A column, and others whose values are in small type below it. */
struct page_cell {
    unsigned char main, small[2];
};

static const struct page_cell answers[] = {
    { OA_COLUMN_SCORE, { OA_COLUMN_OWN_SCORE_BELOW, OA_COLUMN_OWN_SEEDS } },
    { OA_COLUMN_ASKED, { OA_COLUMN_NONE } },
    { OA_COLUMN_ASKED_VERDICT, { OA_COLUMN_ASKED_P } },
    { OA_COLUMN_RETAINED, { OA_COLUMN_NONE } },
    { OA_COLUMN_TOKENS_PER_SECOND, { OA_COLUMN_SECONDS_PER_STEP, OA_COLUMN_SPEEDUP } },
    { OA_COLUMN_TRAINABLE, { OA_COLUMN_FROZEN } },
    { OA_COLUMN_PEAK_MEMORY, { OA_COLUMN_FLOPS_PER_STEP } },
};

static const struct page_cell more[] = {
    { OA_COLUMN_TO_BEST, { OA_COLUMN_NONE } }, { OA_COLUMN_BASELINE, { OA_COLUMN_NONE } },
    { OA_COLUMN_UNIFORM, { OA_COLUMN_NONE } }, { OA_COLUMN_PERPLEXITY, { OA_COLUMN_BITS } },
    { OA_COLUMN_MEASURE, { OA_COLUMN_NONE } }, { OA_COLUMN_SEEDS, { OA_COLUMN_SEEDS_NEEDED } },
    { OA_COLUMN_TUNED, { OA_COLUMN_NONE } },
};

static void add_main(const struct oa_shown_column *column, const struct oa_column_value *v,
                     struct oa_text *out)
{
    char number[OA_NUMBER], ends[OA_INTERVAL];
    int decimals = column->decimals;
    const struct oa_estimate *e = &v->number;
    const char *words = v->words.s ? v->words.s : "";
    if (oa_column_is_text(column)) {
        bool verdict = column->column->kind == OA_KIND_VERDICT;
        oa_text_printf(out, "<td>");
        if (verdict)
            oa_text_printf(out, "<span class=\"verdict v%d\">", v->style);
        oa_html_text(out, words);
        oa_text_printf(out, verdict ? "</span>" : "");
        return;
    }
    oa_text_printf(out, "<td class=\"num\" data-v=\""); /* page.js sorts by it */
    if (isfinite(e->mean))
        oa_text_real(out, e->mean);
    oa_text_printf(out, "\">");
    if (column->column->kind == OA_KIND_NUMBER) {
        oa_text_printf(out, "%s", column->column->print(number, e->mean));
    } else if (column->column->kind == OA_KIND_SCORE) {
        oa_text_printf(out, "%s", oa_number_fixed(number, e->mean, decimals));
        if (isfinite(e->half))
            oa_text_printf(out, "<small>± %s</small>", oa_number_fixed(number, e->half, decimals));
    } else if (column->column->kind == OA_KIND_SHARE) {
        oa_text_printf(out, "%s", oa_number_fixed(number, e->mean, 2));
        if (*words)
            oa_text_printf(out, "<small>%s</small>", words);
    } else if (v->itself || isnan(e->mean)) {
        oa_text_printf(out, "–");
    } else {
        oa_text_printf(out, "%s", oa_number_signed(number, e->mean, decimals));
        if (!isnan(v->percent))
            oa_text_printf(out, " (%s %%)", oa_number_signed(number, v->percent, 2));
        if (*words)
            oa_text_printf(out, "<small>%s</small>", words);
        if (isfinite(e->half))
            oa_text_printf(out, "<small>%s</small>",
                           oa_print_ends(ends, e->mean, e->half, decimals));
    }
}

static void add_small(const struct oa_shown_column *column, const struct oa_column_value *v,
                      struct oa_text *out)
{
    char a[OA_NUMBER], b[OA_NUMBER];
    int decimals = column->decimals;
    enum oa_column_kind kind = column->column->kind;
    bool empty = kind == OA_KIND_WORDS   ? !v->words.length
                 : kind == OA_KIND_RATIO ? !(v->ratio.low < v->ratio.high)
                                         : kind != OA_KIND_NUMBER && isnan(v->number.mean);
    if (empty)
        return;
    oa_text_printf(out, "<small>");
    if (kind == OA_KIND_WORDS) {
        oa_html_text(out, v->words.s);
    } else if (kind == OA_KIND_P) {
        double p = v->number.mean;
        oa_text_printf(out, p < 0.0001 ? "p &lt; 0.0001" : "p = %.4f", p);
    } else if (kind == OA_KIND_RATIO) {
        oa_text_printf(out, "× %s … %s", oa_number(a, v->ratio.low, 3),
                       oa_number(b, v->ratio.high, 3));
    } else if (kind == OA_KIND_SCORE) {
        oa_text_printf(out, "%s", oa_number_fixed(a, v->number.mean, decimals));
        if (isfinite(v->number.half))
            oa_text_printf(out, " ± %s", oa_number_fixed(b, v->number.half, decimals));
    } else {
        oa_text_printf(out, "%s %s", column->column->print(a, v->number.mean),
                       column->column->unit);
    }
    oa_text_printf(out, "</small>");
}

/* All columns of the cell, which are several where it shows the measures of a task. */
static void add_cells(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                      const struct page_cell *cell, struct oa_text *out)
{
    struct oa_shown_column mains[OA_MOST_COLUMNS], smalls[OA_MOST_COLUMNS];
    struct oa_column_value v;
    int n = oa_columns_choose(k, s, &cell->main, 1, mains);
    int below = oa_columns_choose(k, s, cell->small, sizeof cell->small, smalls);
    for (int i = 0; i < n; i++) {
        oa_column_value_of(k, s, entry, &mains[i], out->context, &v);
        add_main(&mains[i], &v, out);
        oa_text_free(&v.words);
        for (int b = 0; b < below; b++) {
            oa_column_value_of(k, s, entry, &smalls[b], out->context, &v);
            add_small(&smalls[b], &v, out);
            oa_text_free(&v.words);
        }
        oa_text_printf(out, "</td>");
    }
}

/* ---- the tables ---- */

static void add_heading(const char *title, const char *explanation, bool number,
                        struct oa_text *out)
{
    oa_text_printf(out, "<th scope=\"col\"%s", number ? " class=\"num\"" : "");
    if (*explanation) {
        oa_text_printf(out, " data-tip=\"");
        oa_html_text(out, explanation);
        oa_text_printf(out, "\"");
    }
    oa_text_printf(out, ">");
    oa_html_text(out, title);
    oa_text_printf(out, "</th>");
}

static void add_results_table(const struct oa_comparison *k, const struct oa_summary *s,
                              const char *label, const struct page_cell *cells, size_t count,
                              struct oa_text *out)
{
    struct oa_shown_column columns[OA_MOST_COLUMNS];
    oa_text_printf(out,
                   "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table "
                   "class=\"sortable\">\n"
                   "<thead><tr>",
                   label);
    add_heading(oa_entry_kind(k), "", false, out);
    for (size_t i = 0; i < count; i++)
        for (int c = 0, n = oa_columns_choose(k, s, &cells[i].main, 1, columns); c < n; c++)
            add_heading(columns[c].title, columns[c].column->explanation,
                        !oa_column_is_text(&columns[c]), out);
    oa_text_printf(out, "</tr></thead>\n<tbody>\n");
    for (int o = 0; o < s->count; o++) {
        int entry = s->order[o];
        oa_text_printf(out, "<tr data-series=\"%d\"%s><th scope=\"row\"><span class=\"named\">",
                       entry, entry == oa_compared_to(k, s) ? " class=\"reference\"" : "");
        oa_page_name(k, entry, out);
        oa_text_printf(out, "</span></th>");
        for (size_t i = 0; i < count; i++)
            add_cells(k, s, entry, &cells[i], out);
        oa_text_printf(out, "</tr>\n");
    }
    oa_text_printf(out, "</tbody></table></div>\n");
}

/* ---- the section ---- */

static void add_dropout(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    struct oa_text notes;
    oa_text_init(&notes, out->context);
    oa_report_widths(k, &notes);
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
    oa_html_text(out, oa_about_loss(k) ? "Validation loss" : oa_compared_measure(k)->title);
    if (!k->imported)
        oa_text_printf(out, " after the same %s", oa_budget_name(k->equal));
    oa_text_printf(out, ", %s first.", oa_metric_best(k));
    oa_html_text(out, k->remarks ? k->remarks : "");
    if (s->uneven)
        oa_text_printf(out,
                       " Small print: the plain mean over its own seeds with its 95 %% interval.");
    else if (s->seeds > 1) {
        oa_text_printf(out, " Small print: ± half-width of the 95 %% interval over ");
        oa_add_seeds(k, s, true, out);
        oa_text_printf(out, ".");
    }
    if (k->sequential)
        oa_text_printf(out,
                       " Intervals of differences are valid at any number of interim analyses.");
    else if (s->seeds > 1)
        oa_text_printf(out,
                       " Intervals of differences are simultaneous: an interval excludes 0 "
                       "exactly where the adjusted p is below %s.",
                       oa_real_text(oa_family_level(k)).s);
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
    add_results_table(k, s, "More columns", more, sizeof more / sizeof *more, out);
    oa_text_printf(out, "</details></div>\n");
    add_dropout(k, s, out);
    oa_text_printf(out, "</section>\n");
}
