/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as a table for the terminal and as Markdown. Attentions stand by rising cost; the
 * conclusion comes first in Markdown and last in the terminal, where the eye is.
 */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"
#include "report/tuning.h"
#include "report/variance.h"

#include <math.h>
#include <string.h>

static const struct oa_column attention_column = { "attention", false, true },
                              perplexity = { "\nppl", true, false },
                              bits = { "bits/\nchar", true, false },
                              holm = { "Holm\np", true, false },
                              verdict = { "verdict", false, false };
static const struct oa_column against_baseline = { "against\nthe baseline", false, false },
                              against_floor = { "against uniform\nbaseline", false, false },
                              own_mean = { "over its\nown seeds", true, false },
                              seeds_made = { "\nseeds", true, false },
                              tuned = { "\ntuned", false, false };
enum { MOST_COLUMNS = 11 + OA_MEASURES };

/* The columns of the results and what their titles are printed into. */
struct columns {
    struct oa_column column[MOST_COLUMNS];
    int count;
    char score[OA_LABEL], best[OA_LABEL], beside[OA_MEASURES][OA_LABEL];
};

/* What every run really got and took: means over the seeds. */
static const struct oa_column cost_columns[] = {
    { "attention", false, true },        { "trained\nparams", true, false },
    { "frozen\nparams", true, false },   { "\nsteps", true, false },
    { "training\ntokens", true, false }, { "training\nFLOPs", true, false },
    { "processor\ntime", true, false },  { "wall\ntime", true, false },
    { "tokens\n/s", true, false },       { "ms/\nstep", true, false },
    { "peak\nMiB", true, false },        { "speedup over\nthe first", true, false },
};
enum { COST_COLUMNS = sizeof cost_columns / sizeof *cost_columns };

static void add_estimate(struct oa_table *t, const struct oa_estimate *e, int decimals)
{
    char mean[OA_NUMBER], half[OA_NUMBER];
    oa_number_fixed(mean, e->mean, decimals);
    if (isfinite(e->mean) && isfinite(e->half))
        oa_table_cell(t, "%s ±%s", mean, oa_number_fixed(half, e->half, decimals));
    else
        oa_table_cell(t, "%s", mean);
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

static void add_against(const struct oa_comparison *k, const struct oa_against *a, bool practical,
                        struct oa_table *t)
{
    char cell[OA_INTERVAL];
    struct oa_estimate d = oa_shown(k, oa_against_interval(a));
    if (a->verdict == OA_AGAINST_NONE)
        oa_table_cell(t, "–");
    else
        oa_table_cell(t, "%s %s", oa_print_plus_minus(cell, d.mean, d.half, oa_decimals(k)),
                      oa_against_words(a->verdict, practical));
}

/* Are there different numbers of runs, those of the floor and failed ones too? */
static bool seeds_differ(const struct oa_summary *s)
{
    return oa_fewest_seeds(s, true) < s->seeds;
}

/* What the loss is in other words, or, where the comparison is about another measure, the loss; and
 * the rest. */
static void add_beside(const struct oa_comparison *k, const struct oa_standing *e,
                       struct oa_table *t)
{
    char number[OA_NUMBER];
    if (oa_about_loss(k)) {
        oa_table_cell(t, "%s", oa_number(number, oa_shown_perplexity(e), 4));
        oa_table_cell(t, "%s", oa_number(number, oa_shown_bits(e), 4));
    }
    for (int i = 0; oa_comparison_measure(k, i); i++)
        if (i != k->metric)
            add_estimate(t, oa_standing_measured(e, i), oa_comparison_measure(k, i)->decimals);
}

static void add_row(const struct oa_comparison *k, const struct oa_summary *s, int i,
                    struct oa_table *t)
{
    char values[OA_GRID_NAME], cell[OA_INTERVAL];
    struct oa_text verdict_text;
    const struct oa_standing *e = &s->entries[i];
    struct oa_estimate score = oa_shown_score(k, e),
                       difference = oa_shown(k, oa_to_reference(k, s, i));
    oa_table_cell(t, "%s", oa_entry_name(&k->entries[i]));
    add_estimate(t, &score, oa_decimals(k));
    add_beside(k, e, t);
    if (i == s->reference)
        oa_table_cell(t, "–");
    else
        oa_table_cell(t, "%s",
                      oa_print_plus_minus(cell, difference.mean, difference.half, oa_decimals(k)));
    add_p(t, e->holm);
    oa_text_init(&verdict_text, t->context);
    oa_add_verdict(k, s, i, &verdict_text);
    oa_table_cell(t, "%s", verdict_text.s ? verdict_text.s : "");
    oa_text_free(&verdict_text);
    if (s->uneven)
        add_estimate(t, oa_standing_score(k, e), oa_decimals(k));
    if (seeds_differ(s))
        oa_table_cell(t, "%d", e->made);
    if (k->baseline)
        add_against(k, &e->baseline, oa_is_practical(k), t);
    if (s->floor >= 0)
        add_against(k, &e->floor, false, t);
    if (k->tuning.grid.options)
        oa_table_cell(t, "%s", oa_tuned_values(k, i, values));
}

static void add_number_column(struct columns *to, const char *title)
{
    to->column[to->count++] = (struct oa_column){ title, true, false };
}

static void add_beside_columns(const struct oa_comparison *k, struct columns *to)
{
    if (oa_about_loss(k)) {
        to->column[to->count++] = perplexity;
        to->column[to->count++] = bits;
    }
    for (int i = 0; oa_comparison_measure(k, i); i++) {
        const struct oa_measure *m = oa_comparison_measure(k, i);
        if (i != k->metric)
            add_number_column(to, oa_heading(m, m->title, to->beside[i]));
    }
}

/* Which columns there are; the table borrows them. */
static void choose_columns(const struct oa_comparison *k, const struct oa_summary *s,
                           struct columns *to)
{
    const struct oa_measure *m = oa_metric(k);
    to->count = 0;
    to->column[to->count++] = attention_column;
    add_number_column(to, oa_heading(m, m->title, to->score));
    add_beside_columns(k, to);
    add_number_column(to, oa_to_the_best(k, s, to->best));
    to->column[to->count++] = holm;
    to->column[to->count++] = verdict;
    if (s->uneven)
        to->column[to->count++] = own_mean;
    if (seeds_differ(s))
        to->column[to->count++] = seeds_made;
    if (k->baseline)
        to->column[to->count++] = against_baseline;
    if (s->floor >= 0)
        to->column[to->count++] = against_floor;
    if (k->tuning.grid.options)
        to->column[to->count++] = tuned;
}

static void make_results(const struct oa_comparison *k, const struct oa_summary *s, oa_context *c,
                         struct columns *room, struct oa_table *t)
{
    choose_columns(k, s, room);
    oa_table_init(t, c, room->column, room->count);
    for (int i = 0; i < s->count; i++)
        add_row(k, s, s->order[i], t);
}

/* "1.42 [1.40, 1.44]"; without an interval, and to itself, the number alone. */
static void add_range(struct oa_table *t, const struct oa_range *x)
{
    char value[OA_NUMBER], low[OA_NUMBER], high[OA_NUMBER];
    oa_number(value, x->value, 3);
    if (x->low < x->high)
        oa_table_cell(t, "%s [%s, %s]", value, oa_number(low, x->low, 3),
                      oa_number(high, x->high, 3));
    else
        oa_table_cell(t, "%s", value);
}

static void add_cost_row(const struct oa_entry *entry, const struct oa_standing *e,
                         struct oa_table *t)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%s", oa_entry_name(entry));
    oa_table_cell(t, "%s", oa_number_si(number, entry->trainable));
    oa_table_cell(t, "%s", oa_number_si(number, entry->frozen));
    oa_table_cell(t, "%s", oa_number_si(number, e->steps));
    oa_table_cell(t, "%s", oa_number_si(number, e->tokens));
    oa_table_cell(t, "%s", oa_number_si(number, e->flops));
    oa_table_cell(t, "%s", oa_number_seconds(number, e->processor_seconds));
    oa_table_cell(t, "%s", oa_number_seconds(number, e->seconds));
    oa_table_cell(t, "%s", oa_number_si(number, e->tokens_per_second));
    oa_table_cell(t, "%s", oa_number(number, 1e3 * e->seconds_per_step, 3));
    oa_table_cell(t, "%s", oa_number(number, e->peak_memory / (1 << 20), 3));
    if (t->width == COST_COLUMNS)
        add_range(t, &e->speed);
}

static void make_costs(const struct oa_comparison *k, const struct oa_summary *s, oa_context *c,
                       struct oa_table *t)
{
    oa_table_init(t, c, cost_columns, k->rounds ? COST_COLUMNS : COST_COLUMNS - 1);
    for (int i = 0; i < s->count; i++)
        add_cost_row(&k->entries[s->order[i]], &s->entries[s->order[i]], t);
}

static const char costs_title[] = "Budget and cost, means over the seeds:";

static void add_speed_note(const struct oa_comparison *k, struct oa_text *out)
{
    if (k->rounds)
        oa_text_printf(out,
                       "tokens/s and ms/step: medians of %d timing rounds, apart from training, on "
                       "%s, in which the attentions took turns; last column: ratios within rounds "
                       "with 95 %% intervals.\n",
                       k->rounds, k->speed_machine);
}

/* Why runs failed: the first sentence of each attention that did. */
static void add_failures(const struct oa_comparison *k, const struct oa_summary *s,
                         struct oa_text *out)
{
    for (int i = 0; i < s->count; i++)
        for (int r = 0; r < s->seeds && s->entries[i].failed; r++) {
            const struct oa_run *run = &k->entries[i].runs[r];
            if (!run->failed)
                continue;
            oa_text_printf(out, "%s, seed %llu: %s\n", oa_entry_name(&k->entries[i]),
                           (unsigned long long)run->seed, run->failure);
            break;
        }
}

static void add_seeds_needed(const struct oa_comparison *k, const struct oa_summary *s,
                             struct oa_text *out)
{
    const char *before =
        "Seeds needed for these differences to be significant at the corrected level (80 % range):";
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o];
        if (s->entries[i].seeds_range.low == 0)
            continue;
        oa_text_printf(out, "%s %s ", before, k->entries[i].attention);
        oa_seeds_text(s->entries[i].seeds_range, out);
        before = ",";
    }
    if (*before == ',')
        oa_text_printf(out, ".\n");
}

static void add_notes(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out)
{
    if (s->uneven)
        oa_text_printf(out, "±: half-width of the 95 %% interval of the plain mean over the "
                            "attention's own seeds.");
    else if (s->seeds > 1)
        oa_text_printf(out,
                       "±: half-width of the 95 %% interval of the mean over %d seeds; for "
                       "differences, of the interval at the Holm-corrected level of the verdict.",
                       s->seeds);
    else
        oa_text_printf(out, "One seed: no interval.");
    oa_adjusted_sentences(k, s, out);
    oa_text_printf(out, " Every run had the same %s.", oa_budget_name(k->equal));
    oa_validation_sentence(k, out);
    oa_text_printf(out, "\n");
    if (k->baseline)
        oa_text_printf(out, "Baseline: %s.", oa_entry_name(&k->entries[k->baseline - 1]));
    if (k->margin > 0) {
        oa_text_printf(out, "%sEquivalent: within ", k->baseline ? " " : "");
        oa_add_margin(k, out);
        oa_text_printf(out, ".");
    }
    if (k->any_looks)
        oa_text_printf(out, "%sVerdicts are valid at any number of interim analyses%s.",
                       k->baseline || k->margin > 0 ? " " : "",
                       k->margin > 0 ? "; practically better or worse: beyond the margin" : "");
    if (k->baseline || k->any_looks)
        oa_text_printf(out, "\n");
    if (s->floor >= 0)
        oa_text_printf(out, "Uniform baseline: a plain average of the visible tokens, with values "
                            "and outputs learned as in the others; it is compared, not ranked.\n");
    add_seeds_needed(k, s, out);
    oa_tuning_notes(k, s, out);
    oa_report_dropout(k, s, out);
}

void oa_report_table(const struct oa_comparison *k, const struct oa_summary *s, int limit,
                     struct oa_text *out)
{
    struct oa_table results, costs;
    struct columns room;
    make_results(k, s, out->context, &room, &results);
    make_costs(k, s, out->context, &costs);
    oa_table_text(&results, limit, out);
    add_notes(k, s, out);
    oa_test_table(k, s, out);
    oa_text_printf(out, "\n%s\n\n", costs_title);
    oa_table_text(&costs, limit, out);
    add_speed_note(k, out);
    oa_variances_table(k, limit, out);
    add_failures(k, s, out);
    oa_text_printf(out, "\n%s\n\n%s\n", s->conclusion, s->recommendation);
    oa_table_free(&results);
    oa_table_free(&costs);
}

/* Everything but the table is plain text with specs in it, which hold characters that mean
 * something in Markdown. */
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

void oa_report_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    struct oa_table results, costs;
    struct columns room;
    struct oa_text notes;
    oa_text_init(&notes, out->context);
    make_results(k, s, out->context, &room, &results);
    make_costs(k, s, out->context, &costs);
    oa_text_printf(out, "**");
    oa_markdown_text(out, s->recommendation);
    oa_text_printf(out, "**\n\n");
    oa_markdown_text(out, s->conclusion);
    oa_text_printf(out, "\n\n");
    oa_table_markdown(&results, out);
    oa_text_printf(out, "\n");
    add_notes(k, s, &notes);
    add_failures(k, s, &notes);
    add_speed_note(k, &notes);
    add_escaped(&notes, out);
    oa_text_printf(out, "%s\n\n", costs_title);
    oa_table_markdown(&costs, out);
    oa_test_markdown(k, s, out);
    oa_variances_markdown(k, out);
    oa_parts_markdown(k, s, out);
    oa_table_free(&results);
    oa_table_free(&costs);
}
