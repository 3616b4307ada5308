/* SPDX-License-Identifier: Apache-2.0
 * Scores by part of the validation data (classes, lengths), a table for each kind, with means over
 * the seeds and their 95 % intervals. Parts are described, not tested: a verdict is about the
 * whole. */
#include "report/metric_words.h"
#include "report/page.h"

#include <math.h>
#include <string.h>

/* The first finished run with results by part; all runs have the same parts. */
static const struct oa_run *first_with_parts(const struct oa_comparison *k)
{
    for (int e = 0; e < k->count; e++)
        for (int r = 0; r < k->seeds; r++)
            if (oa_run_finished(k, &k->entries[e].runs[r]) &&
                k->entries[e].runs[r].details.part_count)
                return &k->entries[e].runs[r];
    return NULL;
}

static bool same_kind(const struct oa_breakdown *a, const struct oa_breakdown *b)
{
    return strcmp(a->by, b->by) == 0 && strcmp(a->measure, b->measure) == 0;
}

static double value_of(const struct oa_run *r, const struct oa_breakdown *part)
{
    for (int i = 0; i < r->details.part_count; i++)
        if (same_kind(&r->details.parts[i], part) &&
            strcmp(r->details.parts[i].name, part->name) == 0)
            return r->details.parts[i].value;
    return NAN;
}

struct oa_estimate oa_part_estimate(const struct oa_comparison *k, int entry,
                                    const struct oa_breakdown *part, double *scratch)
{
    int n = 0;
    for (int r = 0; r < k->seeds; r++) {
        const struct oa_run *run = &k->entries[entry].runs[r];
        double value = oa_run_finished(k, run) ? value_of(run, part) : (double)NAN;
        if (isfinite(value))
            scratch[n++] = value;
    }
    return oa_estimate_of(scratch, n);
}

static const struct oa_measure *measure_of(const struct oa_comparison *k, const char *name)
{
    const struct oa_measure *m = NULL;
    for (int i = 0; (m = oa_comparison_measure(k, i)); i++)
        if (strcmp(m->name, name) == 0)
            return m;
    return oa_compared_measure(k);
}

/* ---- a table ---- */

static void parts_add_row(const struct oa_comparison *k, const struct oa_summary *s,
                          const struct oa_breakdown *part, int decimals, double *scratch,
                          struct oa_table *t)
{
    char number[OA_NUMBER], half[OA_NUMBER];
    oa_table_cell(t, "%s", part->name);
    oa_table_cell(t, "%s", oa_number_si(number, part->n));
    for (int o = 0; o < s->count; o++) {
        struct oa_estimate e = oa_part_estimate(k, s->order[o], part, scratch);
        oa_number_fixed(number, e.mean, decimals);
        if (isfinite(e.half))
            oa_table_cell(t, "%s ±%s", number, oa_number_fixed(half, e.half, decimals));
        else
            oa_table_cell(t, "%s", number);
    }
}

/* parts [count]: of one kind. */
static void print_kind(const struct oa_comparison *k, const struct oa_summary *s,
                       const struct oa_breakdown *parts, int count, oa_table_print *print,
                       struct oa_text *out)
{
    struct oa_table t;
    char title[2 * OA_LABEL], unit[OA_LABEL];
    const struct oa_measure *m = measure_of(k, parts->measure);
    struct oa_column *columns = oa_alloc(out->context, ((size_t)s->count + 2) * sizeof *columns);
    double *scratch = oa_alloc(out->context, ((size_t)s->seeds + 1) * sizeof *scratch);
    if (columns && scratch) {
        columns[0] = (struct oa_column){ parts->by, false, true };
        columns[1] = (struct oa_column){ "examples", true, false };
        for (int i = 0; i < s->count; i++)
            columns[i + 2] =
                (struct oa_column){ oa_entry_name(&k->entries[s->order[i]]), true, false };
        oa_table_init(&t, out->context, columns, s->count + 2);
        for (int i = 0; i < count; i++)
            parts_add_row(k, s, &parts[i], m->decimals, scratch, &t);
        oa_unit(m, unit);
        snprintf(title, sizeof title, "%s by %s%s%s, mean over the seeds%s", m->title, parts->by,
                 *unit ? ", " : "", unit, print == oa_table_html ? "" : ":");
        print(&t, title, out);
        oa_table_free(&t);
    }
    oa_free(columns);
    oa_free(scratch);
}

static void print_all(const struct oa_comparison *k, const struct oa_summary *s,
                      oa_table_print *print, struct oa_text *out)
{
    const struct oa_run *r = first_with_parts(k);
    for (int i = 0, n; r && i < r->details.part_count; i += n) {
        for (n = 1; i + n < r->details.part_count &&
                    same_kind(&r->details.parts[i], &r->details.parts[i + n]);)
            n++;
        print_kind(k, s, &r->details.parts[i], n, print, out);
    }
}

/* ---- the page and Markdown ---- */

void oa_page_parts(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (!first_with_parts(k))
        return;
    oa_page_open("parts", "Scores by part of the data", out);
    oa_text_printf(out,
                   "<p>±: half-width of the 95 %% interval of the mean. Parts are described, not "
                   "tested: among many, some differ by chance.</p>\n<div class=\"panel\">\n");
    print_all(k, s, oa_table_html, out);
    oa_text_printf(out, "</div>\n");
    oa_page_close(out);
}

void oa_parts_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    if (!first_with_parts(k))
        return;
    print_all(k, s, oa_table_titled_markdown, out);
    oa_text_printf(out, "\n");
}
