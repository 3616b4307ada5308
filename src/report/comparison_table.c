/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as a table for the terminal and as Markdown. Rows are sorted by rising cost;
 * the conclusion is first in Markdown and last on the terminal, where readers look first.
 */
#include "report/adjusted.h"
#include "report/columns.h"
#include "report/notes.h"
#include "report/over_items.h"
#include "report/page.h"
#include "report/report.h"
#include "report/retained.h"
#include "report/teacher_share.h"
#include "report/tuning.h"
#include "report/variance.h"

#include <string.h>

static const unsigned char results_columns[] = {
    OA_COLUMN_SCORE,        OA_COLUMN_PERPLEXITY, OA_COLUMN_BITS,          OA_COLUMN_MEASURE,
    OA_COLUMN_ASKED,        OA_COLUMN_ASKED_P,    OA_COLUMN_ASKED_VERDICT, OA_COLUMN_OWN_SCORE,
    OA_COLUMN_UNEVEN_SEEDS, OA_COLUMN_TO_BEST,    OA_COLUMN_BASELINE,      OA_COLUMN_UNIFORM,
    OA_COLUMN_RETAINED,     OA_COLUMN_TUNED
};

/* Means over the seeds. */
static const unsigned char cost_columns[] = { OA_COLUMN_TRAINABLE,
                                              OA_COLUMN_FROZEN,
                                              OA_COLUMN_STEPS,
                                              OA_COLUMN_TOKENS,
                                              OA_COLUMN_FLOPS,
                                              OA_COLUMN_PROCESSOR_SECONDS,
                                              OA_COLUMN_SECONDS,
                                              OA_COLUMN_TOKENS_PER_SECOND,
                                              OA_COLUMN_SECONDS_PER_STEP,
                                              OA_COLUMN_PEAK_MEMORY,
                                              OA_COLUMN_SPEEDUP };
static const char costs_title[] = "Budget and cost, means over the seeds:";

enum { LONGEST_NAME = 32 }; /* longer ones widen the tables of the terminal */

static void add_table_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                               const unsigned char *names, size_t count, struct oa_text *out)
{
    struct oa_shown_column columns[OA_MOST_COLUMNS];
    struct oa_column titles[OA_MOST_COLUMNS + 1];
    struct oa_table t;
    int n = oa_columns_choose(k, s, names, count, columns);
    oa_columns_table(k, s, columns, n, titles, out->context, &t);
    oa_table_markdown(&t, out);
    oa_table_free(&t);
}

/* ---- on the terminal ---- */

static int table_terminal_width(int limit)
{
    return limit > 0 && limit < OA_TERMINAL_WIDTH ? limit : OA_TERMINAL_WIDTH;
}

static bool is_too_wide(const struct oa_table *t, int limit)
{
    int name = oa_table_width(t, 0), total = name < LONGEST_NAME ? name : LONGEST_NAME;
    for (int c = 1; c < t->width; c++)
        total += 2 + oa_table_width(t, c);
    return total > limit;
}

/* Leaves out the least important column. */
static bool leave_out_one(struct oa_shown_column *columns, int *count)
{
    static const unsigned char spared[] = {
        OA_COLUMN_BITS,    OA_COLUMN_ASKED_P,  OA_COLUMN_SECONDS_PER_STEP, OA_COLUMN_STEPS,
        OA_COLUMN_SECONDS, OA_COLUMN_FROZEN,   OA_COLUMN_TOKENS,           OA_COLUMN_FLOPS,
        OA_COLUMN_MEASURE, OA_COLUMN_RETAINED, OA_COLUMN_OWN_SCORE,        OA_COLUMN_TUNED
    };
    for (size_t i = 0; i < sizeof spared; i++)
        for (int c = *count - 1; c >= 0; c--) {
            if (columns[c].name != spared[i])
                continue;
            memmove(&columns[c], &columns[c + 1], (size_t)(--*count - c) * sizeof *columns);
            return true;
        }
    return false;
}

static bool is_shown(const struct oa_shown_column *column, const struct oa_shown_column *shown,
                     int count)
{
    for (int i = 0; i < count; i++)
        if (shown[i].name == column->name && shown[i].measure == column->measure)
            return true;
    return false;
}

/* "Also in report.md: ppl, difference to the lowest" */
static void name_other_columns(const struct oa_comparison *k, const struct oa_shown_column *all,
                               int count, const struct oa_shown_column *shown, int n,
                               struct oa_text *out)
{
    const char *before = k->imported ? "Also in report.md (--out): " : "Also in report.md: ";
    for (int i = 0; i < count; i++) {
        if (is_shown(&all[i], shown, n) || all[i].name == OA_COLUMN_TUNED) /* which has a line */
            continue;
        oa_text_printf(out, "%s", before);
        for (const char *at = all[i].title; *at; at++)
            if (*at != '\n')
                oa_text_add(out, at, 1);
            else if (at[-1] != '/')
                oa_text_add(out, " ", 1);
        before = ", ";
    }
    if (*before == ',')
        oa_text_printf(out, ".\n");
}

/* Whether the comparison has the column, but the table no room for it. */
static bool is_left_out(enum oa_column_name name, const struct oa_shown_column *all, int count,
                        const struct oa_shown_column *shown, int n)
{
    for (int i = 0; i < count; i++)
        if (all[i].name == name && !is_shown(&all[i], shown, n))
            return true;
    return false;
}

/* Leaves out columns (report.md has all) until the table fits the terminal; cuts long names only to
 * fit `limit`. Returns whether the column of retained shares was left out. */
static bool add_table_text(const struct oa_comparison *k, const struct oa_summary *s,
                           const unsigned char *names, size_t count, int limit, struct oa_text *out,
                           struct oa_text *notes)
{
    struct oa_shown_column all[OA_MOST_COLUMNS], shown[OA_MOST_COLUMNS];
    struct oa_column titles[OA_MOST_COLUMNS + 1];
    struct oa_table t;
    int most = oa_columns_choose(k, s, names, count, all), n = 0;
    bool open = false;
    for (int i = 0; i < most; i++) {
        enum oa_column_name name = all[i].name;
        if (name == OA_COLUMN_PERPLEXITY || name == OA_COLUMN_TO_BEST ||
            name == OA_COLUMN_BASELINE || name == OA_COLUMN_UNIFORM)
            continue; /* another form of the loss; differences outside the family */
        shown[n] = all[i];
        oa_column_make_brief(&shown[n++]);
    }
    oa_columns_table(k, s, shown, n, titles, out->context, &t);
    while (is_too_wide(&t, table_terminal_width(limit)) && leave_out_one(shown, &n)) {
        oa_table_free(&t);
        oa_columns_table(k, s, shown, n, titles, out->context, &t);
    }
    for (long i = 0; i < t.count; i++)
        open |= strstr(t.cells[i], oa_not_significant) != NULL;
    oa_table_text(&t, limit, out);
    if (open)
        oa_text_printf(notes, "%s: no significant difference at the level of %s\n",
                       oa_not_significant, oa_percent_text(oa_family_level(k)).s);
    name_other_columns(k, all, most, shown, n, notes);
    if (is_left_out(OA_COLUMN_TUNED, all, most, shown, n)) {
        for (int i = 0; i < s->count; i++) {
            oa_text_printf(notes,
                           "%s%s: ", i ? "; " : "Tuned: ", oa_entry_name(&k->entries[s->order[i]]));
            oa_tuned_values(k, s->order[i], notes);
        }
        oa_text_printf(notes, ".\n");
    }
    oa_table_free(&t);
    return is_left_out(OA_COLUMN_RETAINED, all, most, shown, n);
}

/* ---- notes ---- */

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
static void table_add_failures(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out)
{
    for (int i = 0; i < s->count; i++)
        for (int r = 0; r < s->seeds && s->entries[i].failed; r++) {
            const struct oa_run *run = &k->entries[i].runs[r];
            if (!run->failed)
                continue;
            oa_text_printf(out, "%s, %s %llu: %s\n", oa_entry_name(&k->entries[i]), oa_run_kind(k),
                           (unsigned long long)run->seed, run->failure);
            break;
        }
}

static void table_add_seeds_needed(const struct oa_comparison *k, const struct oa_summary *s,
                                   struct oa_text *out)
{
    const char *before = "Seeds needed for these differences to be significant (80 % range):";
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o];
        if (s->entries[i].seeds_range.low == 0)
            continue;
        oa_text_printf(out, "%s %s ", before, oa_entry_name(&k->entries[i]));
        oa_seeds_text(s->entries[i].seeds_range, out);
        before = ",";
    }
    if (*before == ',')
        oa_text_printf(out, ".\n");
}

static void table_add_notes(const struct oa_comparison *k, const struct oa_summary *s,
                            bool shares_left_out, struct oa_text *out)
{
    if (s->uneven)
        oa_text_printf(out,
                       "±: half-width of the 95 %% interval of the plain mean over the "
                       "%s's own seeds.",
                       oa_entry_kind(k));
    else if (s->seeds > 1) {
        oa_text_printf(out, "±: half-width of the 95 %% interval of the mean over ");
        oa_add_seeds(k, s, true, out);
        oa_text_printf(out, "; for differences, of simultaneous %s intervals.",
                       oa_percent_text(1 - oa_family_level(k)).s);
    } else
        oa_text_printf(out, "One %s: no interval.", oa_run_kind(k));
    oa_adjusted_sentences(k, s, out);
    if (!k->imported)
        oa_text_printf(out, " Every run had the same %s.", oa_budget_name(k->equal));
    oa_text_printf(out, "%s", k->remarks ? k->remarks : "");
    oa_validation_sentence(k, out);
    oa_text_printf(out, "\n");
    oa_family_sentence(k, s, out);
    if (k->margin > 0) {
        oa_text_printf(out, " Equivalent: within ");
        oa_add_margin(k, out);
        oa_text_printf(out, ".");
    }
    if (k->sequential)
        oa_text_printf(out, " Verdicts are valid at any number of interim analyses%s.",
                       k->margin > 0 ? "; practically better or worse: beyond the margin" : "");
    oa_text_printf(out, "\n");
    if (s->uniform >= 0)
        oa_text_printf(out, "Uniform baseline: a plain average of the visible tokens, with values "
                            "and outputs learned as in the others; it is compared, not ranked.\n");
    oa_retained_note(k, s, !shares_left_out, out);
    oa_teacher_note(k, s, out);
    table_add_seeds_needed(k, s, out);
    oa_report_widths(k, out);
    oa_tuning_notes(k, s, out);
    oa_report_dropout(k, s, out);
}

static void wrap_notes(struct oa_text *notes, int limit, struct oa_text *out)
{
    oa_text_wrap(out, notes->s ? notes->s : "", table_terminal_width(limit));
    oa_text_free(notes);
}

void oa_report_table(const struct oa_comparison *k, const struct oa_summary *s, int limit,
                     struct oa_text *out)
{
    struct oa_text notes;
    oa_text_init(&notes, out->context);
    bool left_out =
        add_table_text(k, s, results_columns, sizeof results_columns, limit, out, &notes);
    table_add_notes(k, s, left_out, &notes);
    oa_items_sentence(k, s, &notes);
    wrap_notes(&notes, limit, out);
    oa_solved_table(k, s, out);
    oa_test_table(k, s, out);
    if (!k->imported) {
        oa_text_printf(out, "\n%s\n\n", costs_title);
        add_table_text(k, s, cost_columns, sizeof cost_columns, limit, out, &notes);
    }
    add_speed_note(k, &notes);
    wrap_notes(&notes, limit, out);
    oa_variances_table(k, limit, out);
    table_add_failures(k, s, &notes);
    oa_text_printf(&notes, "\n%s\n\n%s\n", s->conclusion, s->recommendation);
    wrap_notes(&notes, limit, out);
}

/* Plain text may have specs with characters that are markup in Markdown. */
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
    struct oa_text notes;
    oa_text_init(&notes, out->context);
    oa_text_printf(out, "**");
    oa_markdown_text(out, s->recommendation);
    oa_text_printf(out, "**\n\n");
    oa_markdown_text(out, s->conclusion);
    oa_text_printf(out, "\n\n");
    add_table_markdown(k, s, results_columns, sizeof results_columns, out);
    oa_text_printf(out, "\n");
    table_add_notes(k, s, false, &notes);
    table_add_failures(k, s, &notes);
    add_speed_note(k, &notes);
    add_escaped(&notes, out);
    if (!k->imported) {
        oa_text_printf(out, "%s\n\n", costs_title);
        add_table_markdown(k, s, cost_columns, sizeof cost_columns, out);
    }
    oa_solved_markdown(k, s, out);
    oa_items_markdown(k, s, out);
    oa_test_markdown(k, s, out);
    oa_variances_markdown(k, out);
    oa_parts_markdown(k, s, out);
}
