/* SPDX-License-Identifier: Apache-2.0
 * Scores on the test data, where there are any. Nothing is chosen or judged by them: attentions
 * are in the order of validation, and there are no tests of significance. */
#include "report/metric_words.h"
#include "report/page.h"

#include <math.h>
#include <string.h>

static double test_score_of(const struct oa_run *r, int measure)
{
    return measure ? r->test.scores[measure] : r->test.loss;
}

struct oa_estimate oa_test_estimate(const struct oa_comparison *k, int entry, int measure,
                                    double *scratch)
{
    int n = 0;
    for (int r = 0; r < k->seeds; r++) {
        const struct oa_run *run = &k->entries[entry].runs[r];
        if (oa_run_finished(k, run) && run->test.made && isfinite(test_score_of(run, measure)))
            scratch[n++] = test_score_of(run, measure);
    }
    return oa_estimate_of(scratch, n);
}

static void add_test_row(const struct oa_comparison *k, int entry, double *scratch,
                         struct oa_table *t)
{
    const struct oa_measure *m;
    oa_table_cell(t, "%s", oa_entry_name(&k->entries[entry]));
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++) {
        char mean[OA_NUMBER], half[OA_NUMBER];
        struct oa_estimate e = oa_test_estimate(k, entry, i, scratch);
        oa_number_fixed(mean, e.mean, m->decimals);
        if (isfinite(e.half))
            oa_table_cell(t, "%s ±%s", mean, oa_number_fixed(half, e.half, m->decimals));
        else
            oa_table_cell(t, "%s", mean);
    }
}

static void write_test(const struct oa_comparison *k, const struct oa_summary *s,
                       oa_table_print *print, struct oa_text *out)
{
    struct oa_table t;
    struct oa_column columns[OA_MEASURES + 1] = { { "attention", false, true } };
    char titles[OA_MEASURES][OA_LABEL], sentence[256];
    const struct oa_measure *m;
    int count = 1;
    double *scratch = oa_alloc(out->context, ((size_t)k->seeds + 1) * sizeof *scratch);
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++, count++)
        columns[count] =
            (struct oa_column){ oa_heading(m, i ? m->title : "test loss", titles[i]), true, false };
    oa_table_init(&t, out->context, columns, count);
    for (int i = 0; scratch && i < s->count; i++)
        add_test_row(k, s->order[i], scratch, &t);
    snprintf(sentence, sizeof sentence,
             "On the test data, %.0f %s, used for no choice: each model was evaluated on them "
             "once, after training. Verdicts are about the validation data. Means over the seeds, "
             "±: half-width of the 95 %% interval.",
             k->test_targets, k->examples ? "targets" : "tokens");
    print(&t, sentence, out);
    oa_table_free(&t);
    oa_free(scratch);
}

/* ---- the terminal, Markdown and the page ---- */

static void print_test_plain(const struct oa_table *t, const char *title, struct oa_text *out)
{
    oa_text_printf(out, "\n");
    oa_text_wrap(out, title, OA_TERMINAL_WIDTH);
    oa_text_printf(out, "\n\n");
    oa_table_text(t, 0, out);
}

void oa_test_table(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (k->test_targets > 0)
        write_test(k, s, print_test_plain, out);
}

void oa_test_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out)
{
    if (k->test_targets <= 0)
        return;
    write_test(k, s, oa_table_titled_markdown, out);
    oa_text_printf(out, "\n");
}

void oa_page_test(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (k->test_targets <= 0)
        return;
    oa_text_printf(out, "<section id=\"test\">\n<h2>Test data</h2>\n<div class=\"panel\">\n");
    write_test(k, s, oa_table_html, out);
    oa_text_printf(out, "</div>\n</section>\n");
}
