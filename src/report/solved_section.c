/* SPDX-License-Identifier: Apache-2.0
 * Runs that solve the task and runs that do not: a sentence, two tables in text, Markdown and HTML,
 * and a chart with a dot for each run. */
#include "print/dot_chart.h"
#include "report/against.h"
#include "report/metric_words.h"
#include "report/page.h"
#include "report/solved.h"

#include <math.h>
#include <string.h>

enum { NAMED = 3 };       /* so many attentions are named in a sentence */
enum { TESTS_SHOWN = 8 }; /* of more only those that are significant */
static const double level = 0.05;

/* ---- words ---- */

static void add_solved_score(const struct oa_comparison *k, int measure, double score, int digits,
                             struct oa_text *out)
{
    char number[OA_NUMBER];
    const char *unit = oa_comparison_measure(k, measure)->unit;
    oa_text_printf(out, "%s", oa_number(number, score, digits));
    oa_add_unit(unit, out);
}

/* "accuracy of at least 95 %", "validation loss of at most 1.2 nats a token" */
static void add_threshold(const struct oa_comparison *k, const struct oa_solved *s,
                          struct oa_text *out)
{
    const struct oa_measure *m = oa_comparison_measure(k, s->at.measure);
    oa_text_printf(out, "%s of at %s ", k->imported || s->at.measure ? m->title : "validation loss",
                   m->higher ? "least" : "most");
    oa_text_real(out, s->at.value);
    oa_add_unit(m->unit, out);
}

/* "3 of 10 runs of softmax, 1 of 10 runs of linear and runs of 2 other attentions" */
static void add_failing(const struct oa_comparison *k, const struct oa_summary *s, int total,
                        struct oa_text *out)
{
    int named = 0;
    for (int i = 0; i < k->count && named < NAMED; i++) {
        const struct oa_solved_entry *e = &s->solved.entries[i];
        if (!e->mixed || k->entries[i].uniform)
            continue;
        oa_text_printf(out, "%s%d of %d runs of %s",
                       named == 0           ? ""
                       : named + 1 == total ? " and "
                                            : ", ",
                       e->share.n - e->share.k, e->share.n, oa_entry_name(&k->entries[i]));
        named++;
    }
    if (total > named)
        oa_text_printf(out, " and runs of %d other %s%s", total - named, oa_entry_kind(k),
                       oa_plural(total - named));
}

static void add_mixture(const struct oa_comparison *k, const struct oa_summary *s, int total,
                        struct oa_text *out)
{
    oa_text_printf(out, " ");
    add_failing(k, s, total, out);
    if (s->solved.by == OA_SOLVED_THRESHOLD) {
        oa_text_printf(out, " did not solve the task (");
        add_threshold(k, &s->solved, out);
        oa_text_printf(out, ")");
    } else {
        oa_text_printf(out, " did not leave the plateau near ");
        add_solved_score(k, k->metric, s->solved.remaining, 3, out);
    }
    oa_text_printf(out,
                   ": means and intervals describe a mixture, and equivalence to %s %s%s is not "
                   "concluded.",
                   total == 1 ? "this" : "these", oa_entry_kind(k), oa_plural(total));
}

/* Comparisons of attentions that are not mixed, with an interval within the margin. */
static int left_open(const struct oa_comparison *k, const struct oa_summary *s)
{
    int n = 0;
    for (int a = 0; a < s->count; a++)
        for (int b = a + 1; b < s->count; b++) {
            const struct oa_against *p = oa_compared_pair(s, a, b);
            bool mixed = s->solved.entries[a].mixed || s->solved.entries[b].mixed;
            bool within =
                oa_relevance_of(p->difference.mean, p->half, k->margin) == OA_RELEVANCE_EQUIVALENT;
            n += !mixed && within && p->verdict != OA_AGAINST_EQUIVALENT &&
                 p->verdict != OA_AGAINST_FEW_SEEDS && oa_solved_opens(k, &s->solved, a, b);
        }
    return n;
}

void oa_solved_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    if (s->solved.by == OA_SOLVED_NONE)
        return;
    int mixed = 0, open = left_open(k, s);
    for (int i = 0; i < k->count; i++)
        mixed += s->solved.entries[i].mixed && !k->entries[i].uniform;
    if (mixed)
        add_mixture(k, s, mixed, out);
    if (open)
        oa_text_printf(out,
                       " Equivalence is left open in %d comparison%s with an interval within the "
                       "margin: failures that the seeds do not exclude could move a mean by more.",
                       open, oa_plural(open));
}

/* What is above the table. */
static void add_explanation(const struct oa_comparison *k, const struct oa_summary *s,
                            struct oa_text *out)
{
    const struct oa_solved *x = &s->solved;
    if (x->by == OA_SOLVED_CLUSTERS) {
        oa_text_printf(out, "Scores are in two clusters, near ");
        add_solved_score(k, k->metric, x->solving, 3, out);
        oa_text_printf(out, " and near ");
        add_solved_score(k, k->metric, x->remaining, 3, out);
        oa_text_printf(out,
                       ", and %s has runs in both. Runs that left the plateau, with the exact "
                       "95 %% interval of their share; %s declares what is to be reached, and "
                       "adds tests.",
                       oa_an_entry(k), k->imported ? "--threshold" : "compare.threshold");
        return;
    }
    oa_text_printf(out, "Runs that solve the task: ");
    add_threshold(k, x, out);
    oa_text_printf(out, k->imported ? ", in the value that counts." : " at the end.");
    if (x->stepped)
        oa_text_printf(out,
                       " Steps: to the first %s that reaches it; median by Kaplan and Meier, "
                       "runs that never do are censored at their end.",
                       k->imported ? "value" : "validation");
    if (k->sequential)
        oa_text_printf(out, " %s not tested, since interim analyses were.",
                       x->stepped ? "Shares and steps are" : "Shares are");
    if (k->margin > 0)
        oa_text_printf(out, " Equivalence is concluded only where the failures that the seeds do "
                            "not exclude could not exceed the margin.");
}

/* ---- tables ---- */

static void add_steps(double steps, struct oa_text *out)
{
    char number[OA_NUMBER];
    oa_text_printf(out, "%s", steps < INFINITY ? oa_number_fixed(number, steps, 0) : "never");
}

static void add_steps_cells(const struct oa_solved_entry *e, struct oa_table *t)
{
    struct oa_text median, interval;
    oa_text_init(&median, t->context);
    oa_text_init(&interval, t->context);
    add_steps(e->steps.value, &median);
    if (isnan(e->steps.low)) {
        oa_text_printf(&interval, "–");
    } else {
        add_steps(e->steps.low, &interval);
        oa_text_printf(&interval, " … ");
        add_steps(e->steps.high, &interval);
    }
    oa_table_cell(t, "%d of %d", e->reached, e->share.n);
    oa_table_cell(t, "%s", median.s ? median.s : "");
    oa_table_cell(t, "%s", interval.s ? interval.s : "");
    oa_text_free(&median);
    oa_text_free(&interval);
}

/* The columns of the two tables, the first called as the entries are; a table borrows them. */
struct solved_columns {
    struct oa_column shares[6], tests[4];
};

static struct solved_columns solved_columns_of(const struct oa_comparison *k)
{
    return (struct solved_columns){ { { oa_entry_kind(k), false, true },
                                      { "runs that\nsolve it", true, false },
                                      { "95 %\ninterval", true, false },
                                      { "reached\nonce", true, false },
                                      { "median\nsteps", true, false },
                                      { "95 %\ninterval", true, false } },
                                    { { oa_entry_kind(k), false, true },
                                      { "against", false, true },
                                      { "p of\nshares", true, false },
                                      { "p of\nsteps", true, false } } };
}

static void fill_shares_table(const struct oa_comparison *k, const struct oa_summary *s,
                              oa_context *c, const struct oa_column *columns, struct oa_table *t)
{
    bool steps = s->solved.stepped;
    oa_table_init(t, c, columns, steps ? 6 : 3);
    for (int o = 0; o < s->count; o++) {
        const struct oa_solved_entry *e = &s->solved.entries[s->order[o]];
        oa_table_cell(t, "%s", oa_entry_name(&k->entries[s->order[o]]));
        oa_table_cell(t, "%d of %d", e->share.k, e->share.n);
        oa_table_cell(t, "%.0f–%.0f %%", 100 * e->share.low, 100 * e->share.high);
        if (steps)
            add_steps_cells(e, t);
    }
}

static void add_p(double p, struct oa_table *t)
{
    char number[OA_NUMBER];
    if (p < 0.0001)
        oa_table_cell(t, "< 0.0001");
    else
        oa_table_cell(t, "%s", oa_number(number, p, 2));
}

/* How many tests are not in the table. */
static int fill_tests_table(const struct oa_comparison *k, const struct oa_solved *x, oa_context *c,
                            const struct oa_column *columns, struct oa_table *t)
{
    int left_out = 0;
    oa_table_init(t, c, columns, x->stepped ? 4 : 3);
    for (int i = 0; i < x->test_count; i++) {
        const struct oa_solved_test *test = &x->tests[i];
        if (x->test_count > TESTS_SHOWN && !(test->corrected < level) &&
            !(test->steps_corrected < level)) {
            left_out++;
            continue;
        }
        oa_table_cell(t, "%s", oa_entry_name(&k->entries[test->a]));
        oa_table_cell(t, "%s", oa_entry_name(&k->entries[test->b]));
        add_p(test->corrected, t);
        if (x->stepped)
            add_p(test->steps_corrected, t);
    }
    return left_out;
}

/* ---- the terminal, Markdown and the page ---- */

static void print_solved_text(const struct oa_table *t, const char *title, struct oa_text *out)
{
    oa_text_printf(out, "\n");
    oa_text_wrap(out, title, OA_TERMINAL_WIDTH);
    oa_text_printf(out, "\n\n");
    oa_table_text(t, OA_TERMINAL_WIDTH, out);
}

static void write_solved(const struct oa_comparison *k, const struct oa_summary *s,
                         oa_table_print *print, struct oa_text *out)
{
    struct oa_table t;
    struct oa_text title;
    oa_text_init(&title, out->context);
    add_explanation(k, s, &title);
    struct solved_columns columns = solved_columns_of(k);
    fill_shares_table(k, s, out->context, columns.shares, &t);
    print(&t, title.s ? title.s : "", out);
    oa_table_free(&t);
    oa_text_free(&title);
    if (s->solved.test_count == 0)
        return;
    oa_text_printf(&title, "Tests of shares (Boschloo)%s, p times the number of tests, %d:",
                   s->solved.stepped ? " and of steps (log-rank, by permutation)" : "",
                   s->solved.test_count);
    int left_out = fill_tests_table(k, &s->solved, out->context, columns.tests, &t);
    if (left_out)
        oa_text_printf(&title, " %d of them show no significant difference and are left out.",
                       left_out);
    print(&t, title.s ? title.s : "", out);
    oa_table_free(&t);
    oa_text_free(&title);
}

void oa_solved_table(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (s->solved.by != OA_SOLVED_NONE)
        write_solved(k, s, print_solved_text, out);
}

void oa_solved_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    if (s->solved.by != OA_SOLVED_NONE)
        write_solved(k, s, oa_table_titled_markdown, out);
}

/* ---- chart ---- */

/* values: room for the runs of all; notes: for one text each. */
static void fill_dot_rows(const struct oa_comparison *k, const struct oa_summary *s, double *values,
                          struct oa_text *notes, struct oa_dot_row *rows)
{
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o], made = s->entries[i].made;
        for (int r = 0; r < made; r++) {
            const struct oa_run *run = &k->entries[i].runs[r];
            values[r] = run->failed ? NAN : oa_run_measured(run, s->solved.at.measure);
        }
        oa_text_printf(&notes[o], "%d of %d", s->solved.entries[i].share.k, made);
        rows[o] = (struct oa_dot_row){ .name = oa_entry_name(&k->entries[i]),
                                       .note = notes[o].s,
                                       .values = values,
                                       .count = made,
                                       .color = i };
        values += made;
    }
}

static void draw_solved(const struct oa_comparison *k, const struct oa_summary *s,
                        const struct oa_dot_row *rows, struct oa_text *out)
{
    const struct oa_measure *m = oa_comparison_measure(k, s->solved.at.measure);
    const char *what = k->imported || s->solved.at.measure ? m->title : "validation loss";
    char label[OA_LABEL], description[80];
    snprintf(description, sizeof description,
             "A dot for each run, in a row for each %s, and the threshold", oa_entry_kind(k));
    struct oa_dot_chart chart = { .title = "Score of every run",
                                  .description = description,
                                  .x_label = oa_axis_of(m, what, label),
                                  .line = s->solved.at.value,
                                  .line_name = s->solved.by == OA_SOLVED_THRESHOLD
                                                   ? "threshold"
                                                   : "middle of the gap",
                                  .rows = rows,
                                  .count = s->count,
                                  .width = 980 };
    oa_text_printf(out, "<figure id=\"solved-runs\">\n<figcaption><b>Score of every run</b>One "
                        "dot per run; at the right how many solve the task.</figcaption>\n"
                        "<div class=\"wide\">");
    oa_svg_dots(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    chart.width = 380;
    oa_svg_dots(&chart, out);
    oa_text_printf(out, "</div>\n</figure>\n");
}

static void add_solved_chart(const struct oa_comparison *k, const struct oa_summary *s,
                             struct oa_text *out)
{
    size_t count = (size_t)s->count + 1;
    double *values = oa_alloc(out->context, count * ((size_t)s->seeds + 1) * sizeof *values);
    struct oa_text *notes = oa_alloc(out->context, count * sizeof *notes);
    struct oa_dot_row *rows = oa_alloc(out->context, count * sizeof *rows);
    for (size_t i = 0; notes && i < count; i++)
        oa_text_init(&notes[i], out->context);
    if (values && notes && rows) {
        fill_dot_rows(k, s, values, notes, rows);
        draw_solved(k, s, rows, out);
    }
    for (size_t i = 0; notes && i < count; i++)
        oa_text_free(&notes[i]);
    oa_free(values);
    oa_free(notes);
    oa_free(rows);
}

void oa_page_solved(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (s->solved.by == OA_SOLVED_NONE)
        return;
    oa_text_printf(out, "<section id=\"solved\">\n<h2>Runs that learn</h2>\n");
    add_solved_chart(k, s, out);
    oa_text_printf(out, "<div class=\"panel\">\n");
    write_solved(k, s, oa_table_html, out);
    oa_text_printf(out, "</div>\n</section>\n");
}
