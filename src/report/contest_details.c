/* SPDX-License-Identifier: Apache-2.0
 * The rest of report.html: every run of every attention, and how to read the page. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"

#include <math.h>

/* ---- runs ---- */

static const struct oa_column run_columns[] = {
    { "perplexity", true, false },   { "bits/\ncharacter", true, false }, { "bits/\nbyte", true, false },
    { "steps", true, false },        { "tokens", true, false },           { "processor\ntime", true, false },
    { "wall\ntime", true, false },   { "ms/\nstep", true, false },        { "tokens/s", true, false },
    { "peak\nmemory", true, false }, { "training\nFLOPs", true, false },
};
enum { RUN_COLUMNS = sizeof run_columns / sizeof *run_columns };

/* The seed, every measure, and the rest. */
struct run_columns {
    struct oa_column column[1 + OA_MEASURES + RUN_COLUMNS];
    int count;
    char title[OA_MEASURES][OA_LABEL];
};

static void choose_columns(const struct oa_contest *k, struct run_columns *to)
{
    const struct oa_measure *m;
    to->count = 0;
    to->column[to->count++] = (struct oa_column){ "seed", true, false };
    for (int i = 0; (m = oa_contest_measure(k, i)); i++)
        to->column[to->count++] =
            (struct oa_column){ oa_heading(m, i ? m->title : "validation loss", to->title[i]), true, false };
    for (int i = 0; i < RUN_COLUMNS; i++)
        to->column[to->count++] = run_columns[i];
}

static void add_scores(const struct oa_contest *k, const struct oa_run *r, struct oa_table *t)
{
    char number[OA_NUMBER];
    const struct oa_measure *m;
    for (int i = 0; (m = oa_contest_measure(k, i)); i++)
        if (i == 0 && (r->failed || !isfinite(r->valid_loss)))
            oa_table_cell(t, "failed");
        else
            oa_table_cell(t, "%s", oa_number_fixed(number, r->failed ? NAN : oa_run_measured(r, i), m->decimals));
}

static void add_run(const struct oa_contest *k, const struct oa_run *r, struct oa_table *t)
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

static void add_attention(const struct oa_contest *k, const struct oa_summary *s, int i, struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[i];
    char number[OA_NUMBER], says[OA_VERDICT], unit[OA_LABEL];
    struct run_columns columns;
    struct oa_table t;
    oa_text_printf(out, "<details><summary>");
    oa_page_name(k, i, out);
    oa_text_printf(out, "<span class=\"aside\">");
    if (isfinite(oa_shown_score(k, e).mean)) {
        oa_text_printf(out, "%s", oa_number_fixed(number, oa_shown_score(k, e).mean, oa_decimals(k)));
        oa_add_unit(oa_unit(oa_metric(k), unit), out);
        oa_text_printf(out, ", ");
    }
    oa_html_text(out, oa_verdict_says(k, e->verdict, says));
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

void oa_page_runs(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_text_printf(out, "<section id=\"runs\">\n<h2>Every attention, every run</h2>\n");
    for (int i = 0; i < s->count; i++)
        add_attention(k, s, s->order[i], out);
    oa_text_printf(out, "</section>\n");
}

/* ---- method ---- */

static int comparisons(const struct oa_summary *s)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += !isnan(s->entries[i].p);
    return n;
}

static void explain(const char *term, const char *meaning, struct oa_text *out)
{
    oa_text_printf(out, "<div><dt>%s</dt><dd>%s</dd></div>\n", term, meaning);
}

static void explain_tests(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    int n = comparisons(s);
    oa_text_printf(out, "<div><dt>p</dt><dd>Two-sided paired t test against the attention with the %s ",
                   oa_metric_best(k));
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out,
                   ", then Holm’s "
                   "correction over the %d comparison%s. The chance that something called worse is in truth better is "
                   "below 5 %%. Of attentions that are exactly equal, one is called worse somewhat more often, because "
                   "the %s is chosen from the same numbers.</dd></div>\n",
                   n, n == 1 ? "" : "s", oa_metric_best(k));
}

/* A term whose meaning is `before`, "lowest loss" (in other words where the contest is about another measure), `after`.
 */
static void explain_best(const struct oa_contest *k, const char *term, const char *before, const char *between,
                         const char *after, struct oa_text *out)
{
    oa_text_printf(out, "<div><dt>%s</dt><dd>%s%s%s", term, before, oa_metric_best(k), between);
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, "%s</dd></div>\n", after);
}

/* Readers of losses know which way is better. */
static void explain_direction(const struct oa_contest *k, struct oa_text *out)
{
    if (oa_about_loss(k))
        return;
    oa_text_printf(out, "<div><dt>");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(
        out,
        "</dt><dd>What this contest is about: %s is better. A difference is what an attention got minus what "
        "the other got, so %s 0 is better.</dd></div>\n",
        oa_metric_better(k), oa_metric(k)->higher ? "above" : "below");
}

static void explain_speed(const struct oa_contest *k, struct oa_text *out)
{
    if (!k->rounds) {
        explain("speed", "ms/step is the median over the steps of the runs, tokens/s follows from it.", out);
        return;
    }
    oa_text_printf(
        out,
        "<div><dt>speed</dt><dd>Measured apart from the runs, which may have shared the machine: in each of "
        "%d rounds a few training steps of every attention are timed in turn, alone on all threads. ms/step "
        "is the median over the rounds, tokens/s follows from it. ×: how many times as fast as the first "
        "attention, from ratios within rounds, which what slows a whole round does not touch, with the exact "
        "95 %% interval of signed ranks. Measured on: ",
        k->rounds);
    oa_html_text(out, k->speed_machine);
    oa_text_printf(out, ". Times of single runs are their own.</dd></div>\n");
}

void oa_page_method(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_text_printf(out,
                   "<section id=\"method\">\n<h2>How to read this</h2>\n<dl class=\"method\">\n"
                   "<div><dt>One budget</dt><dd>Every run had the same %s. The rest is measured, not "
                   "matched.</dd></div>\n",
                   oa_budget_name(k->equal));
    explain("Same batches, same start",
            "Runs with the same seed read the same batches in the same order, and every tensor that two models share "
            "starts from the same values. Only the attention differs (and, where the budget asks for it, the number of "
            "steps or the width of the feed-forward layers), so attentions are compared seed by seed: the luck that "
            "both runs share cancels out.",
            out);
    explain(
        "95 % interval",
        "Mean over the seeds ± Student’s t × standard error. It covers the luck of initial values and batch order, "
        "and nothing else: another text, size or budget may give another order. The ± of a loss holds the luck that "
        "all attentions share; the interval of a difference does not, so judge by differences.",
        out);
    if (s->seeds > 1 && !k->any_looks)
        explain_tests(k, s, out);
    if (k->baseline)
        explain("baseline",
                "The attention that is in use today: every other one is tested against it, seed by seed, with Holm’s "
                "correction over these tests. “As good”: two one-sided t tests say that the difference is within the "
                "margin that was given beforehand.",
                out);
    if (k->tuning.grid.options)
        explain_best(
            k, "tuned",
            "Before the contest each attention, baseline and floor too, tried the same values on the training text "
            "without its end, with seeds of their own, and kept what had the ",
            " mean ",
            " on that end. The text "
            "and the seeds of the contest were not touched. At an edge of what was tried a better value may lie "
            "beyond.",
            out);
    if (k->any_looks)
        explain(
            "any number of looks",
            "The intervals of differences to the baseline, and those of all pairs, are anytime-valid: each of the two "
            "families, at all numbers of seeds together, covers the true differences with a probability of 95 %, so "
            "seeds may be added after looking. They are wider than those of a number of seeds that was decided "
            "beforehand. Better and worse mean by more than the margin.",
            out);
    if (s->uneven)
        explain("adjusted for missing seeds",
                "Some seeds are luckier than others, and not every attention has all of them. With the model attention "
                "+ seed, fitted by least squares to all finished runs of the contestants, each has the mean that it "
                "would have with every seed (the least-squares mean; Searle, Speed and Milliken 1980). Order, leader "
                "and differences to it come from these means. Verdicts come from the intervals of pairs, over the "
                "seeds that both have; what they call worse than another does not lead.",
                out);
    if (s->floor >= 0)
        explain("floor (uniform)",
                "The same model whose attention is the plain average of what a token may see, with values and outputs "
                "learned like all others: what the rest of the model does alone. It is no contestant. “floor: better” "
                "is a paired t test against it, with Holm’s correction over these tests; what is not resolved from the "
                "floor has not been shown to attend to anything of use.",
                out);
    explain_best(
        k, "best, worse, not resolved",
        "“Worse”: the corrected p is below 0.05 and the interval of the difference excludes 0. “Best”: everything "
        "else that finished is worse. “Not resolved”: these runs do not say; it does not mean equal. When anything "
        "is unresolved the front runner is only called “",
        " ", "”.", out);
    explain_direction(k, out);
    explain("seeds to resolve",
            "How many seeds give the test a power of 80 % at its corrected level: the range that holds the number with "
            "80 % confidence, by what the seeds so far say of the difference and its spread. “12 or more”: they do not "
            "exclude a difference too small for 1000 seeds.",
            out);
    explain(
        "identical, cannot be judged",
        "“Identical”: every run has exactly the loss of another attention’s, so both compute the same, and there is "
        "nothing to test. “Cannot be judged”: the difference is the same with every seed, so no luck shows and no p "
        "can be given.",
        out);
    explain("failed",
            "A run that diverged or stopped takes its attention out of the tests: the seeds that survive are "
            "not a fair sample.",
            out);
    explain("perplexity, bits",
            "Perplexity is e to the loss and depends on the tokeniser; bits a character and a byte do not.", out);
    explain_speed(k, out);
    oa_text_printf(
        out,
        "<div><dt>Pareto front</dt><dd>An attention is off it when another one is better in one of the two and not "
        "shown to be worse in the other: better by the interval of the paired differences of ");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, ", or of the ratios of speed; parameters "
                        "are counted. Without intervals the numbers themselves decide.</dd></div>\n");
    explain("memory, FLOPs", "Memory is the peak of parameters and arenas; FLOPs count forward and backward.", out);
    oa_text_printf(out, "</dl>\n</section>\n");
}
