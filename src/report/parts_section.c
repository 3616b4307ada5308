/* SPDX-License-Identifier: Apache-2.0
 * Where scores come from: the parts of what was validated (classes, lengths), a table for each
 * kind, with means over the seeds and their 95 % intervals. Parts are described, not tested: a
 * verdict is about the whole. */
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

static void parts_add_cell(const struct oa_estimate *e, int decimals, struct oa_table *t)
{
    char mean[OA_NUMBER], half[OA_NUMBER];
    oa_number_fixed(mean, e->mean, decimals);
    if (isfinite(e->half))
        oa_table_cell(t, "%s ±%s", mean, oa_number_fixed(half, e->half, decimals));
    else
        oa_table_cell(t, "%s", mean);
}

static void parts_add_rows(const struct oa_comparison *k, const struct oa_summary *s,
                           const struct oa_breakdown *parts, int count, double *scratch,
                           struct oa_table *t)
{
    char number[OA_NUMBER];
    int decimals = measure_of(k, parts->measure)->decimals;
    for (int i = 0; i < count; i++) {
        oa_table_cell(t, "%s", parts[i].name);
        oa_table_cell(t, "%s", oa_number_si(number, parts[i].n));
        for (int o = 0; o < s->count; o++) {
            struct oa_estimate e = oa_part_estimate(k, s->order[o], &parts[i], scratch);
            parts_add_cell(&e, decimals, t);
        }
    }
}

/* One kind of parts; the caller gives room for two more columns than there are attentions, and for
 * a number a seed. */
static void parts_make_table(const struct oa_comparison *k, const struct oa_summary *s,
                             const struct oa_breakdown *parts, int count, struct oa_column *columns,
                             double *scratch, oa_context *c, struct oa_table *t)
{
    columns[0] = (struct oa_column){ parts->by, false, true };
    columns[1] = (struct oa_column){ "examples", true, false };
    for (int i = 0; i < s->count; i++)
        columns[i + 2] = (struct oa_column){ oa_entry_name(&k->entries[s->order[i]]), true, false };
    oa_table_init(t, c, columns, s->count + 2);
    parts_add_rows(k, s, parts, count, scratch, t);
}

typedef void print_table(const struct oa_table *t, const char *title, struct oa_text *out);

static void print_kind(const struct oa_comparison *k, const struct oa_summary *s,
                       const struct oa_breakdown *parts, int count, print_table *print,
                       struct oa_text *out)
{
    struct oa_table t;
    char title[2 * OA_LABEL], unit[OA_LABEL];
    const struct oa_measure *m = measure_of(k, parts->measure);
    struct oa_column *columns = oa_alloc(out->context, ((size_t)s->count + 2) * sizeof *columns);
    double *scratch = oa_alloc(out->context, ((size_t)s->seeds + 1) * sizeof *scratch);
    if (columns && scratch) {
        parts_make_table(k, s, parts, count, columns, scratch, out->context, &t);
        oa_unit(m, unit);
        snprintf(title, sizeof title, "%s by %s%s%s, mean over the seeds", m->title, parts->by,
                 *unit ? ", " : "", unit);
        print(&t, title, out);
        oa_table_free(&t);
    }
    oa_free(columns);
    oa_free(scratch);
}

static void print_all(const struct oa_comparison *k, const struct oa_summary *s, print_table *print,
                      struct oa_text *out)
{
    const struct oa_run *r = first_with_parts(k);
    for (int i = 0, n; r && i < r->details.part_count; i += n) {
        for (n = 1; i + n < r->details.part_count &&
                    same_kind(&r->details.parts[i], &r->details.parts[i + n]);)
            n++;
        print_kind(k, s, &r->details.parts[i], n, print, out);
    }
}

/* ---- where they stand ---- */

static const char heading[] = "Scores by part of the data";

static void print_html(const struct oa_table *t, const char *title, struct oa_text *out)
{
    oa_table_html(t, title, out);
}

static void parts_print_markdown(const struct oa_table *t, const char *title, struct oa_text *out)
{
    oa_markdown_text(out, title);
    oa_text_printf(out, ":\n\n");
    oa_table_markdown(t, out);
    oa_text_printf(out, "\n");
}

void oa_page_parts(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (!first_with_parts(k))
        return;
    oa_page_open("parts", heading, out);
    oa_text_printf(out,
                   "<p>±: half-width of the 95 %% interval of the mean. Parts are described, not "
                   "tested: among many, some differ by chance.</p>\n<div class=\"panel\">\n");
    print_all(k, s, print_html, out);
    oa_text_printf(out, "</div>\n");
    oa_page_close(out);
}

void oa_parts_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    if (!first_with_parts(k))
        return;
    oa_text_printf(out, "\n");
    print_all(k, s, parts_print_markdown, out);
}
