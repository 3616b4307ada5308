/* SPDX-License-Identifier: Apache-2.0
 * The last words of report.html: how to read it. A table of terms, each with when it is explained.
 */
#include "report/metric_words.h"
#include "report/page.h"

#include <math.h>

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

static void explain_tests(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    int n = comparisons(s);
    oa_text_printf(out,
                   "<div><dt>p</dt><dd>Two-sided paired t test against the attention with the %s ",
                   oa_metric_best(k));
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out,
                   ", then Holm’s "
                   "correction over the %d comparison%s. The chance that something called worse is "
                   "in truth better is "
                   "below 5 %%. Of attentions that are exactly equal, one is called worse somewhat "
                   "more often, because "
                   "the %s is chosen from the same numbers.</dd></div>\n",
                   n, oa_plural(n), oa_metric_best(k));
}

/* A term whose meaning is `before`, "lowest loss" (in other words where the comparison is about
 * another measure), `after`.
 */
static void explain_best(const struct oa_comparison *k, const char *term, const char *before,
                         const char *between, const char *after, struct oa_text *out)
{
    oa_text_printf(out, "<div><dt>%s</dt><dd>%s%s%s", term, before, oa_metric_best(k), between);
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, "%s</dd></div>\n", after);
}

static void explain_direction(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    (void)s;
    oa_text_printf(out, "<div><dt>");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out,
                   "</dt><dd>What this comparison is about: %s is better. A difference is what an "
                   "attention got minus what "
                   "the other got, so %s 0 is better.</dd></div>\n",
                   oa_metric_better(k), oa_metric(k)->higher ? "above" : "below");
}

static void explain_speed(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    (void)s;
    if (!k->rounds) {
        explain("speed",
                "ms/step is the median over the steps of the runs, tokens/s follows from it.", out);
        return;
    }
    oa_text_printf(out,
                   "<div><dt>speed</dt><dd>Measured apart from the runs, which may have shared the "
                   "machine: in each of "
                   "%d rounds a few training steps of every attention are timed in turn, alone on "
                   "all threads. ms/step "
                   "is the median over the rounds, tokens/s follows from it. ×: how many times as "
                   "fast as the first "
                   "attention, from ratios within rounds, which what slows a whole round does not "
                   "touch, with the exact "
                   "95 %% interval of signed ranks. Measured on: ",
                   k->rounds);
    oa_html_text(out, k->speed_machine);
    oa_text_printf(out, ". Times of single runs are their own.</dd></div>\n");
}

static void explain_budget(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    (void)s;
    oa_text_printf(
        out,
        "<div><dt>One budget</dt><dd>Every run had the same %s. The rest is measured, not "
        "matched.</dd></div>\n",
        oa_budget_name(k->equal));
}

static void explain_tuned(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    (void)s;
    explain_best(k, "tuned",
                 "Before the comparison each attention, baseline and uniform baseline too, tried "
                 "the same values on "
                 "the training text "
                 "without its end, with seeds of their own, and kept what had the ",
                 " mean ",
                 " on that end. The text "
                 "and the seeds of the comparison were not touched. At an edge of what was tried a "
                 "better value may lie "
                 "beyond.",
                 out);
}

static void explain_verdicts(const struct oa_comparison *k, const struct oa_summary *s,
                             struct oa_text *out)
{
    (void)s;
    explain_best(k, "best, worse, no significant difference",
                 "“Worse”: the corrected p is below 0.05, and the interval of the difference "
                 "excludes 0. “Best”: everything "
                 "else that finished is worse. “No significant difference”: these runs do not "
                 "decide; it does not mean "
                 "equal. When anything is undecided the first is only called “",
                 " ", "”.", out);
}

static void explain_fronts(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    (void)s;
    oa_text_printf(
        out,
        "<div><dt>Pareto front</dt><dd>An attention is off it when another one is better in one of "
        "the two and not "
        "shown to be worse in the other: better by the interval of the paired differences of ");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out,
                   ", or of the ratios of speed; parameters "
                   "are counted. Without intervals the numbers themselves decide.</dd></div>\n");
}

/* ---- when ---- */

static bool tested(const struct oa_comparison *k, const struct oa_summary *s)
{
    return s->seeds > 1 && !k->any_looks;
}

static bool with_baseline(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return k->baseline > 0;
}

static bool was_tuned(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return k->tuning.grid.options > 0;
}

static bool at_any_look(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return k->any_looks;
}

static bool with_missing_seeds(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)k;
    return s->uneven;
}

static bool with_floor(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)k;
    return s->floor >= 0;
}

/* Readers of losses know which way is better. */
static bool about_a_score(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return !oa_about_loss(k);
}

/* ---- the table ---- */

/* A term with its meaning, or what writes both; always explained where there is no `when`. */
struct term {
    const char *term, *meaning;
    bool (*when)(const struct oa_comparison *k, const struct oa_summary *s);
    void (*write)(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
};

static const struct term terms[] = {
    { .write = explain_budget },
    { .term = "Same batches, same start",
      .meaning = "Runs with the same seed read the same batches in the same order, and every "
                 "tensor that two models share "
                 "starts from the same values. Only the attention differs (and, where the budget "
                 "asks for it, the number of "
                 "steps or the width of the feed-forward layers), so attentions are compared seed "
                 "by seed: the luck that "
                 "both runs share cancels out." },
    { .term = "95 % interval",
      .meaning =
          "Mean over the seeds ± Student’s t × standard error. It covers the luck of initial "
          "values and batch order, "
          "and nothing else: another text, size or budget may give another order. The ± of a loss "
          "holds the luck that "
          "all attentions share; the interval of a difference does not, so judge by differences." },
    { .write = explain_tests, .when = tested },
    { .term = "interval of a difference",
      .meaning = "Each is at the level at which Holm’s procedure judged that comparison: of what "
                 "it finds different, "
                 "0.05 divided by the number of comparisons that were left at that step; of the "
                 "others, by the number "
                 "that it left undecided. So an interval excludes 0 exactly where the verdict says "
                 "better or worse, and "
                 "all verdicts together are wrong with 5 % at most. Of what is equivalent it is "
                 "the interval of the "
                 "two one-sided tests, which is within the margin.",
      .when = tested },
    { .term = "baseline",
      .meaning = "The attention that is in use today: every other one is tested against it, seed "
                 "by seed, with Holm’s "
                 "correction over these tests. “Equivalent”: two one-sided t tests say that the "
                 "difference is within "
                 "the margin that was given beforehand.",
      .when = with_baseline },
    { .write = explain_tuned, .when = was_tuned },
    { .term = "any number of interim analyses",
      .meaning = "The intervals of differences to the baseline, and those of all pairs, are "
                 "anytime-valid: each of the two "
                 "families, at all numbers of seeds together, covers the true differences with a "
                 "probability of 95 %, so "
                 "seeds may be added after looking. They are wider than those of a number of seeds "
                 "that was decided "
                 "beforehand. Practically better and worse: by more than the margin; undecided: "
                 "neither that nor within it.",
      .when = at_any_look },
    { .term = "adjusted for missing seeds",
      .meaning = "Some seeds are luckier than others, and not every attention has all of them. "
                 "With the model attention "
                 "+ seed, fitted by least squares to all finished runs of the contenders, each has "
                 "the mean that it "
                 "would have with every seed (the least-squares mean; Searle, Speed and Milliken "
                 "1980). Order, leader "
                 "and differences to it come from these means. Verdicts come from the intervals of "
                 "pairs, over the "
                 "seeds that both have; what they call worse than another does not lead.",
      .when = with_missing_seeds },
    { .term = "uniform baseline",
      .meaning = "The same model whose attention is the plain average of the visible tokens, with "
                 "values and outputs "
                 "learned like all others: what the rest of the model does alone. It is compared "
                 "and not ranked: every "
                 "attention is tested against it by a paired t test, with Holm’s correction over "
                 "these tests. What shows no "
                 "significant difference to it has not been shown to attend to anything of use.",
      .when = with_floor },
    { .write = explain_verdicts },
    { .write = explain_direction, .when = about_a_score },
    { .term = "seeds to decide",
      .meaning = "How many seeds give the test a power of 80 % at its corrected level: the range "
                 "that holds the number with "
                 "80 % confidence, by what the seeds so far say of the difference and its spread. "
                 "“12 or more”: they do not "
                 "exclude a difference too small for 1000 seeds." },
    { .term = "identical, cannot be judged",
      .meaning = "“Identical”: every run has exactly the loss of another attention’s, so both "
                 "compute the same, and there is "
                 "nothing to test. “Cannot be judged”: the difference is the same with every seed, "
                 "so no luck shows and no p "
                 "can be given." },
    { .term = "failed",
      .meaning = "A run that diverged or stopped takes its attention out of the tests: the seeds "
                 "that survive are "
                 "not a fair sample." },
    { .term = "perplexity, bits",
      .meaning = "Perplexity is e to the loss and depends on the tokeniser; bits a character and a "
                 "byte do not." },
    { .write = explain_speed },
    { .write = explain_fronts },
    { .term = "memory, FLOPs",
      .meaning = "Memory is the peak of parameters and arenas; FLOPs count forward and backward." },
};

void oa_page_method(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_page_open("method", "How to read this", out);
    oa_text_printf(out, "<dl class=\"method\">\n");
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        const struct term *t = &terms[i];
        if (t->when && !t->when(k, s))
            continue;
        if (t->write)
            t->write(k, s, out);
        else
            explain(t->term, t->meaning, out);
    }
    oa_text_printf(out, "</dl>\n");
    oa_page_close(out);
}
