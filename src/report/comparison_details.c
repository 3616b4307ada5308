/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html with every run of every attention. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"

#include <math.h>

/* ---- runs ---- */

static const struct oa_column run_columns[] = {
    { "perplexity", true, false },      { "bits/\ncharacter", true, false },
    { "bits/\nbyte", true, false },     { "steps", true, false },
    { "tokens", true, false },          { "processor\ntime", true, false },
    { "wall\ntime", true, false },      { "ms/\nstep", true, false },
    { "tokens/s", true, false },        { "peak\nmemory", true, false },
    { "training\nFLOPs", true, false },
};
enum { RUN_COLUMNS = sizeof run_columns / sizeof *run_columns };

/* The seed, every measure, and the rest. */
struct run_columns {
    struct oa_column column[1 + OA_MEASURES + RUN_COLUMNS];
    int count;
    char title[OA_MEASURES][OA_LABEL];
};

static void choose_columns(const struct oa_comparison *k, struct run_columns *to)
{
    const struct oa_measure *m;
    to->count = 0;
    to->column[to->count++] = (struct oa_column){ "seed", true, false };
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++)
        to->column[to->count++] =
            (struct oa_column){ oa_heading(m, i ? m->title : "validation loss", to->title[i]), true,
                                false };
    for (int i = 0; i < RUN_COLUMNS; i++)
        to->column[to->count++] = run_columns[i];
}

static void add_scores(const struct oa_comparison *k, const struct oa_run *r, struct oa_table *t)
{
    char number[OA_NUMBER];
    const struct oa_measure *m;
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++)
        if (i == 0 && (r->failed || !isfinite(r->valid_loss)))
            oa_table_cell(t, "failed");
        else
            oa_table_cell(
                t, "%s",
                oa_number_fixed(number, r->failed ? NAN : oa_run_measured(r, i), m->decimals));
}

static void add_run(const struct oa_comparison *k, const struct oa_run *r, struct oa_table *t)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%llu", (unsigned long long)r->seed);
    add_scores(k, r, t);
    oa_table_cell(t, "%s", oa_number(number, r->perplexity, 4));
    oa_table_cell(t, "%s", oa_number(number, r->bits_per_character, 4));
    oa_table_cell(t, "%s", oa_number(number, r->bits_per_byte, 4));
    oa_table_cell(t, "%ld", r->steps);
    oa_table_cell(t, "%s", oa_number_si(number, r->tokens));
    oa_table_cell(t, "%s", oa_number_seconds(number, r->processor_seconds));
    oa_table_cell(t, "%s", oa_number_seconds(number, r->seconds));
    oa_table_cell(t, "%s", oa_number(number, 1e3 * r->seconds_per_step, 3));
    oa_table_cell(t, "%s", oa_number_si(number, r->tokens_per_second));
    oa_table_cell(t, "%s", oa_number_bytes(number, r->peak_memory));
    oa_table_cell(t, "%s", oa_number_si(number, r->flops));
}

static void add_failures(const struct oa_entry *e, int seeds, struct oa_text *out)
{
    for (int r = 0; r < seeds; r++)
        if (e->runs[r].failed) {
            oa_text_printf(out, "<p>Seed %llu failed: ", (unsigned long long)e->runs[r].seed);
            oa_html_text(out, e->runs[r].failure);
            oa_text_printf(out, "</p>\n");
        }
}

static void add_attention(const struct oa_comparison *k, const struct oa_summary *s, int i,
                          struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[i];
    char number[OA_NUMBER], unit[OA_LABEL];
    struct oa_text verdict;
    struct run_columns columns;
    struct oa_table t;
    oa_text_printf(out, "<details><summary>");
    oa_page_name(k, i, out);
    oa_text_printf(out, "<span class=\"aside\">");
    if (isfinite(oa_shown_score(k, e).mean)) {
        oa_text_printf(out, "%s",
                       oa_number_fixed(number, oa_shown_score(k, e).mean, oa_decimals(k)));
        oa_add_unit(oa_unit(oa_metric(k), unit), out);
        oa_text_printf(out, ", ");
    }
    oa_text_init(&verdict, out->context);
    oa_add_verdict(k, s, i, &verdict);
    oa_html_text(out, verdict.s ? verdict.s : "");
    oa_text_free(&verdict);
    oa_text_printf(out, "</span></summary>\n");
    add_failures(&k->entries[i], s->seeds, out);
    choose_columns(k, &columns);
    oa_table_init(&t, out->context, columns.column, columns.count);
    for (int r = 0; r < e->made; r++)
        add_run(k, &k->entries[i].runs[r], &t);
    oa_table_html(&t, "Every run", out);
    oa_table_free(&t);
    oa_text_printf(out, "</details>\n");
}

void oa_page_runs(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_page_open("runs", "All runs", out);
    for (int i = 0; i < s->count; i++)
        add_attention(k, s, s->order[i], out);
    oa_page_close(out);
}
