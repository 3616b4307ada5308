/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html with every run of every attention. */
#include "report/adjusted.h"
#include "report/columns.h"
#include "report/page.h"

#include <math.h>

/* ---- runs ---- */

static const unsigned char run_quantities[] = { OA_COLUMN_RUN_PERPLEXITY,
                                                OA_COLUMN_BITS_PER_CHARACTER,
                                                OA_COLUMN_BITS_PER_BYTE,
                                                OA_COLUMN_STEPS,
                                                OA_COLUMN_TOKENS,
                                                OA_COLUMN_PROCESSOR_SECONDS,
                                                OA_COLUMN_SECONDS,
                                                OA_COLUMN_SECONDS_PER_STEP,
                                                OA_COLUMN_TOKENS_PER_SECOND,
                                                OA_COLUMN_PEAK_MEMORY,
                                                OA_COLUMN_FLOPS };

/* The seed, every measure, and the rest. */
struct run_table_columns {
    struct oa_column column[1 + OA_MEASURES + sizeof run_quantities];
    int count;
    char title[OA_MEASURES][OA_LABEL];
};

/* Nothing else is known of imported runs. */
static size_t count_quantities(const struct oa_comparison *k)
{
    return k->imported ? 0 : sizeof run_quantities;
}

static void choose_columns(const struct oa_comparison *k, struct run_table_columns *to)
{
    const struct oa_measure *m;
    to->count = 0;
    to->column[to->count++] = (struct oa_column){ oa_run_kind(k), true, false };
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++)
        to->column[to->count++] =
            (struct oa_column){ oa_heading(m, i || k->imported ? m->title : "validation loss",
                                           to->title[i]),
                                true, false };
    for (size_t i = 0; i < count_quantities(k); i++)
        to->column[to->count++] =
            (struct oa_column){ oa_report_columns[run_quantities[i]].title, true, false };
}

static void add_run(const struct oa_comparison *k, const struct oa_run *r, struct oa_table *t)
{
    char number[OA_NUMBER];
    const struct oa_measure *m;
    oa_table_cell(t, "%llu", (unsigned long long)r->seed);
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++)
        if (i == 0 && (r->failed || !isfinite(r->valid_loss)))
            oa_table_cell(t, "failed");
        else
            oa_table_cell(
                t, "%s",
                oa_number_fixed(number, r->failed ? NAN : oa_run_measured(r, i), m->decimals));
    for (size_t i = 0; i < count_quantities(k); i++)
        oa_table_cell(t, "%s",
                      oa_report_columns[run_quantities[i]].print(
                          number, oa_quantity_of_run(run_quantities[i], r)));
}

static void add_attention(const struct oa_comparison *k, const struct oa_summary *s, int i,
                          struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[i];
    char number[OA_NUMBER], unit[OA_LABEL];
    struct oa_text verdict;
    struct run_table_columns columns;
    struct oa_table t;
    oa_text_printf(out, "<details><summary>");
    oa_page_name(k, i, out);
    oa_text_printf(out, "<span class=\"aside\">");
    if (isfinite(oa_shown_score(k, e).mean)) {
        oa_text_printf(out, "%s",
                       oa_number_fixed(number, oa_shown_score(k, e).mean, oa_decimals(k)));
        oa_add_unit(oa_unit(oa_compared_measure(k), unit), out);
        oa_text_printf(out, ", ");
    }
    oa_text_init(&verdict, out->context);
    oa_add_verdict(k, s, i, &verdict);
    oa_html_text(out, verdict.s ? verdict.s : "");
    oa_text_free(&verdict);
    oa_text_printf(out, "</span></summary>\n");
    for (int r = 0; r < s->seeds; r++) {
        const struct oa_run *run = &k->entries[i].runs[r];
        if (!run->failed)
            continue;
        oa_text_printf(out, "<p>%s %llu failed: ", k->unpaired ? "Run" : "Seed",
                       (unsigned long long)run->seed);
        oa_html_text(out, run->failure);
        oa_text_printf(out, "</p>\n");
    }
    choose_columns(k, &columns);
    oa_table_init(&t, out->context, columns.column, columns.count);
    for (int r = 0; r < s->seeds; r++)
        if (!k->entries[i].runs[r].absent)
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
