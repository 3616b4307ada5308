/* SPDX-License-Identifier: Apache-2.0
 *
 * A contest as a table for the terminal and as Markdown. Attentions stand by rising loss; the conclusion comes first in
 * Markdown and last in the terminal, where the eye is.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

static const struct oa_column columns[] = {
    { "attention", false, true },
    { "valid loss\nnats/token", true, false },
    { "\nppl", true, false },
    { "bits/\nchar", true, false },
    { "trained\nparams", true, false },
    { "frozen\nparams", true, false },
    { "tokens\n/s", true, false },
    { "ms/\nstep", true, false },
    { "peak\nMiB", true, false },
    { "FLOPs\n/step", true, false },
    { "difference\nto the lowest", true, false },
    { "Holm\np", true, false },
    { "verdict", false, false },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void add_estimate(struct oa_table *t, const struct oa_estimate *e, const char *sign)
{
    if (isnan(e->mean))
        oa_table_cell(t, "–");
    else if (isnan(e->half))
        oa_table_cell(t, *sign ? "%+.4f" : "%.4f", e->mean);
    else
        oa_table_cell(t, *sign ? "%+.4f ±%.4f" : "%.4f ±%.4f", e->mean, e->half);
}

static void add_p(struct oa_table *t, double p)
{
    if (isnan(p))
        oa_table_cell(t, "–");
    else if (p < 0.0001)
        oa_table_cell(t, "<1e-4");
    else
        oa_table_cell(t, "%.4f", p);
}

static void add_verdict(struct oa_table *t, const struct oa_standing *e, int seeds)
{
    if (e->verdict == OA_VERDICT_FAILED)
        oa_table_cell(t, "failed %d of %d", e->failed, seeds);
    else if (e->verdict == OA_VERDICT_ONE_SEED)
        oa_table_cell(t, "one seed");
    else
        oa_table_cell(t, "%s", oa_verdict_name(e->verdict));
}

static void add_row(const struct oa_entry *entry, const struct oa_standing *e, bool reference, int seeds,
                    struct oa_table *t)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%s", entry->attention);
    add_estimate(t, &e->loss, "");
    oa_table_cell(t, "%s", oa_number(number, e->perplexity, 4));
    oa_table_cell(t, "%s", oa_number(number, e->bits_per_character, 4));
    oa_table_cell(t, "%s", oa_number_si(number, entry->trainable));
    oa_table_cell(t, "%s", oa_number_si(number, entry->frozen));
    oa_table_cell(t, "%s", oa_number_si(number, e->tokens_per_second));
    oa_table_cell(t, "%s", oa_number(number, 1e3 * e->seconds_per_step, 3));
    oa_table_cell(t, "%s", oa_number(number, e->peak_memory / (1 << 20), 3));
    oa_table_cell(t, "%s", oa_number_si(number, e->flops_per_step));
    if (reference)
        oa_table_cell(t, "–");
    else
        add_estimate(t, &e->difference, "+");
    add_p(t, e->holm);
    add_verdict(t, e, seeds);
}

static void fill(const struct oa_contest *k, const struct oa_summary *s, struct oa_table *t)
{
    for (int i = 0; i < s->count; i++) {
        int e = s->order[i];
        add_row(&k->entries[e], &s->entries[e], e == s->reference, s->seeds, t);
    }
}

/* Why runs failed: the first sentence of each attention that did. */
static void add_failures(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    for (int i = 0; i < s->count; i++)
        for (int r = 0; r < s->seeds && s->entries[i].failed; r++) {
            const struct oa_run *run = &k->entries[i].runs[r];
            if (!run->failed)
                continue;
            oa_text_printf(out, "%s, seed %llu: %s\n", k->entries[i].attention, (unsigned long long)run->seed,
                           run->failure);
            break;
        }
}

static void add_seeds_needed(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    const char *before = "Seeds it would take to resolve them:";
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o], seeds = s->entries[i].seeds_needed;
        if (seeds == 0)
            continue;
        bool more = seeds > OA_SEEDS_CAP;
        oa_text_printf(out, "%s %s %s%d", before, k->entries[i].attention, more ? "> " : "about ",
                       more ? OA_SEEDS_CAP : seeds);
        before = ",";
    }
    if (*before == ',')
        oa_text_printf(out, ".\n");
}

static void add_notes(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    if (s->seeds > 1)
        oa_text_printf(out, "±: half of the 95 %% interval of the mean over %d seeds. ", s->seeds);
    else
        oa_text_printf(out, "One seed: no interval. ");
    oa_text_printf(out, "Every run got the same %s.\n", oa_budget_name(k->equal));
    add_seeds_needed(k, s, out);
}

void oa_report_table(const struct oa_contest *k, const struct oa_summary *s, int limit, struct oa_text *out)
{
    struct oa_table t;
    oa_table_init(&t, out->context, columns, COLUMNS);
    fill(k, s, &t);
    oa_table_text(&t, limit, out);
    oa_table_free(&t);
    add_notes(k, s, out);
    add_failures(k, s, out);
    oa_text_printf(out, "\n%s\n", s->conclusion);
}

/* Everything but the table is plain text with specs in it, which hold characters that mean something in Markdown. */
static void add_escaped(struct oa_text *plain, struct oa_text *out)
{
    for (char *line = plain->s; line && *line; line += strcspn(line, "\n") + 1) {
        struct oa_text one;
        oa_text_init(&one, out->context);
        oa_text_add(&one, line, strcspn(line, "\n"));
        if (one.s)
            oa_markdown_text(out, one.s);
        oa_text_printf(out, "\n\n");
        oa_text_free(&one);
    }
    oa_text_free(plain);
}

void oa_report_markdown(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    struct oa_table t;
    struct oa_text notes;
    oa_table_init(&t, out->context, columns, COLUMNS);
    oa_text_init(&notes, out->context);
    fill(k, s, &t);
    oa_markdown_text(out, s->conclusion);
    oa_text_printf(out, "\n\n");
    oa_table_markdown(&t, out);
    oa_text_printf(out, "\n");
    add_notes(k, s, &notes);
    add_failures(k, s, &notes);
    add_escaped(&notes, out);
    oa_table_free(&t);
}
