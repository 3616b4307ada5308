/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html that defines its terms: a table of terms, each with its condition. */
#include "report/metric_words.h"
#include "report/notes.h"
#include "report/page.h"

#include <math.h>

static int count_tests(const struct oa_summary *s)
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
    int n = count_tests(s);
    oa_text_printf(out,
                   "<div><dt>p</dt><dd>Two-sided paired t test against the attention with the %s ",
                   oa_metric_best(k));
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(
        out,
        ", with Holm’s correction over %d comparison%s. The probability that an attention called "
        "worse is in truth better is below 5 %%. Of exactly equal attentions one is called worse "
        "somewhat more often, because the %s is chosen from the same data.</dd></div>\n",
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
                   "</dt><dd>The metric of this comparison: %s is better. A difference is an "
                   "attention’s score minus that of the other, so %s 0 is better.</dd></div>\n",
                   oa_metric_better(k), oa_compared_measure(k)->higher ? "above" : "below");
}

static void explain_speed(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    (void)s;
    if (!k->rounds) {
        explain("speed",
                "ms/step is the median over the steps of the runs; tokens/s is derived from it.",
                out);
        return;
    }
    oa_text_printf(
        out,
        "<div><dt>speed</dt><dd>Measured apart from the training runs, which may share the "
        "machine: in each of %d rounds a few training steps of every attention are timed in turn, "
        "with all threads. ms/step is the median over the rounds; tokens/s is derived from it. ×: "
        "speedup over the attention given first, from ratios within rounds, which cancel what "
        "slows a whole round, with the exact 95 %% interval of signed ranks. Measured on: ",
        k->rounds);
    oa_html_text(out, k->speed_machine);
    oa_text_printf(out,
                   ". Times in the table of runs are those of the runs themselves.</dd></div>\n");
}

static void explain_budget(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    (void)s;
    oa_text_printf(out,
                   "<div><dt>budget held equal</dt><dd>Every run had the same %s. All else is "
                   "measured, not matched.</dd></div>\n",
                   oa_budget_name(k->equal));
}

static void explain_tuned(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    (void)s;
    explain_best(
        k, "tuned",
        "Before the comparison the same values were tried for each attention, the baselines "
        "included, on the training text without its last part, with other seeds; chosen was the "
        "value with the ",
        " mean ",
        " on that last part. Validation data and seeds of the comparison were not used. Where the "
        "chosen value is the smallest or largest tried, a better one may be outside the range.",
        out);
}

static void explain_verdicts(const struct oa_comparison *k, const struct oa_summary *s,
                             struct oa_text *out)
{
    (void)s;
    explain_best(k, "best, worse, no significant difference",
                 "“Worse”: the corrected p is below 0.05, and the interval of the difference "
                 "excludes 0. “Best”: every other attention that finished is worse. “No "
                 "significant difference”: the data do not show one; this does not mean equal. "
                 "While any comparison is unresolved, the first attention is only called “",
                 " ", "”.", out);
}

static void explain_fronts(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    (void)s;
    oa_text_printf(out, "<div><dt>Pareto front</dt><dd>An attention is not on the front if another "
                        "one is better in one of the two and not shown to be worse in the other: "
                        "better by the interval of the paired differences of ");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, ", or of the speed ratios; parameters are counted. Without intervals the "
                        "point estimates are compared.</dd></div>\n");
}

/* ---- when ---- */

static bool tested(const struct oa_comparison *k, const struct oa_summary *s)
{
    return s->seeds > 1 && !k->sequential;
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

static bool is_sequential(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)s;
    return k->sequential;
}

static bool with_missing_seeds(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)k;
    return s->uneven;
}

static bool with_uniform_baseline(const struct oa_comparison *k, const struct oa_summary *s)
{
    (void)k;
    return s->uniform >= 0;
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
    { .term = "same batches, same initial values",
      .meaning =
          "Runs with the same seed read the same batches in the same order, and every tensor that "
          "two models share has the same initial values. Only the attention differs (and, where "
          "the budget requires it, the number of steps or the width of the feed-forward layers), "
          "so attentions are compared by seed: the variance that both runs share cancels." },
    { .term = "95 % interval",
      .meaning = "Mean over the seeds ± Student’s t × standard error. It covers the variance from "
                 "initial values and batch order only: another text, size or budget may give "
                 "another order. The ± of a loss includes the variance that all attentions share; "
                 "the interval of a difference does not, so compare by differences." },
    { .write = explain_tests, .when = tested },
    { .term = "interval of a difference",
      .meaning = "Each interval is at the level at which Holm’s procedure tested that comparison: "
                 "for a rejected hypothesis, 0.05 divided by the number of comparisons left at "
                 "that step; for the others, by the number left when it stopped. So an interval "
                 "excludes 0 exactly if the verdict is better or worse, and the probability of any "
                 "wrong verdict is at most 5 %. For equivalent attentions it is the interval of "
                 "the two one-sided tests, which is within the margin.",
      .when = tested },
    { .term = "baseline",
      .meaning =
          "The attention currently in use: every other one is tested against it, paired by seed, "
          "with Holm’s correction over these tests. “Equivalent”: by two one-sided t tests (TOST) "
          "the difference is within the margin, which was fixed before the runs.",
      .when = with_baseline },
    { .write = explain_tuned, .when = was_tuned },
    { .term = "any number of interim analyses",
      .meaning =
          "The intervals of differences to the baseline, and those of all pairs, are "
          "anytime-valid: each of the two families covers all true differences, at all numbers of "
          "seeds, with a probability of 95 %, so seeds may be added after an analysis. They are "
          "wider than intervals for a number of seeds fixed in advance. Practically better or "
          "worse: beyond the margin; undecided: neither beyond nor within it.",
      .when = is_sequential },
    { .term = "adjusted for missing seeds",
      .meaning = "Scores vary by seed, and not every attention has all seeds. The model attention "
                 "+ seed, fitted by least squares to all finished runs, estimates the mean that "
                 "each attention would have over all seeds (least-squares means; Searle, Speed and "
                 "Milliken 1980). Order, leader and differences to it are those of these means. "
                 "Verdicts are from the intervals of pairs, over the seeds that both have; an "
                 "attention that is worse than another by them does not lead.",
      .when = with_missing_seeds },
    { .term = "uniform baseline",
      .meaning =
          "The same model with a plain average of the visible tokens as attention; values and "
          "outputs are learned as in the others. It shows what the rest of the model achieves "
          "alone. It is compared, not ranked: every attention is tested against it by a paired t "
          "test, with Holm’s correction over these tests. An attention without a significant "
          "difference to it has not been shown to attend to anything useful.",
      .when = with_uniform_baseline },
    { .write = explain_verdicts },
    { .write = explain_direction, .when = about_a_score },
    { .term = "seeds needed",
      .meaning = "Number of seeds at which the test has a power of 80 % at its corrected level: an "
                 "80 % confidence range, estimated from the differences so far. “12 or more”: the "
                 "data do not exclude a difference too small for 1000 seeds." },
    { .term = "identical, not testable",
      .meaning = "“Identical”: every run has exactly the loss of another attention’s, so both "
                 "compute the same and there is nothing to test. “Not testable”: the difference is "
                 "the same with every seed, so its variance is 0 and there is no t test." },
    { .term = "failed",
      .meaning = "An attention with a run that diverged or stopped is excluded from the tests: its "
                 "remaining seeds are not a fair sample." },
    { .term = "perplexity, bits",
      .meaning = "Perplexity is exp(loss) and depends on the tokenizer; bits per character and per "
                 "byte do not." },
    { .write = explain_speed },
    { .write = explain_fronts },
    { .term = "memory, FLOPs",
      .meaning = "Memory is the peak of parameters and arenas; FLOPs include the forward and the "
                 "backward pass." },
};

void oa_page_method(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_page_open("method", "Method and terms", out);
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
