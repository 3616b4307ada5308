/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html that defines its terms: a table of terms, each with its condition. */
#include "report/metric_words.h"
#include "report/notes.h"
#include "report/page.h"

#include <math.h>

static void explain(const char *term, const char *meaning, struct oa_text *out)
{
    oa_text_printf(out, "<div><dt>%s</dt><dd>%s</dd></div>\n", term, meaning);
}

static void explain_family(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    struct oa_text family;
    oa_text_init(&family, out->context);
    oa_family_sentence(k, s, &family);
    oa_text_printf(out, "<div><dt>judged, described</dt><dd>");
    oa_html_text(out, family.s ? family.s : "");
    oa_text_printf(out,
                   " %s; all verdicts and their intervals belong to it. Every other difference is "
                   "described, without an interval, a p or a verdict.</dd></div>\n",
                   k->imported ? "It has to be chosen without regard to the results"
                               : "It was declared before the runs");
    oa_text_free(&family);
}

/* A term whose meaning is `before`, "lowest", `between`, "loss" (or the other measure of the
 * comparison), `after`. */
static void explain_best(const struct oa_comparison *k, const char *term, const char *before,
                         const char *between, const char *after, struct oa_text *out)
{
    oa_text_printf(out, "<div><dt>%s</dt><dd>%s%s%s", term, before, oa_metric_best(k), between);
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, "%s</dd></div>\n", after);
}

static void explain_budget(const struct oa_comparison *k, struct oa_text *out)
{
    oa_text_printf(out,
                   "<div><dt>budget held equal</dt><dd>Every run had the same %s. All else is "
                   "measured, not matched.</dd></div>\n",
                   oa_budget_name(k->equal));
}

static void explain_direction(const struct oa_comparison *k, struct oa_text *out)
{
    oa_text_printf(out, "<div><dt>");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out,
                   "</dt><dd>The metric of this comparison: %s is better. A difference is one "
                   "score minus that of the other, so %s 0 is better.</dd></div>\n",
                   oa_metric_better(k), oa_compared_measure(k)->higher ? "above" : "below");
}

static void explain_speed(const struct oa_comparison *k, struct oa_text *out)
{
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

static void explain_tuned(const struct oa_comparison *k, struct oa_text *out)
{
    explain_best(
        k, "tuned",
        "Before the comparison the same values were tried for each attention, the baselines "
        "included, on the training text without its last part, with other seeds; chosen was the "
        "value with the ",
        " mean ",
        k->tuning.per_seed
            ? " on that last part. Each seed chose for itself, from trials of its own, so that the "
              "luck of the choice is in the intervals. Validation data and seeds of the comparison "
              "were not used. Where the chosen value is the smallest or largest tried, a better "
              "one may be outside the range."
            : " on that last part, once for all seeds: the luck of that choice is in no interval. "
              "Validation data and seeds of the comparison were not used. Where the chosen value "
              "is the smallest or largest tried, a better one may be outside the range.",
        out);
}

static void explain_verdicts(const struct oa_comparison *k, struct oa_text *out)
{
    explain("better, worse, no significant difference",
            "“Better” and “worse”: the simultaneous interval of the difference excludes 0. "
            "“Equivalent”: it is within the margin, which takes precedence. “No significant "
            "difference”: neither; this does not mean equal. Fewer than 5 seeds give intervals "
            "and no verdict.",
            out);
    if (oa_family_kind_of(k) == OA_FAMILY_PAIRS)
        explain_best(k, "best",
                     "Every other one that finished is worse; otherwise the "
                     "first is only called “",
                     " ", "”, which is a description.", out);
}

static void explain_fronts(const struct oa_comparison *k, struct oa_text *out)
{
    oa_text_printf(out,
                   "<div><dt>Pareto front</dt><dd>An attention is not on the front if another "
                   "one was shown to dominate it: to be better%s and, by the estimate, no "
                   "slower (larger); or to be faster (smaller) and %s. Shown: by simultaneous "
                   "95 %% intervals of the paired differences of ",
                   k->margin > 0 ? " by more than the margin" : "",
                   k->margin > 0 ? "not worse by more than the margin" : "better");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, " over all pairs, and by the interval of the speed ratio; parameters are "
                        "counted. What has no interval shows nothing.</dd></div>\n");
}

static void explain_intervals(const struct oa_comparison *k, struct oa_text *out)
{
    oa_text_printf(out,
                   "<div><dt>interval of a difference</dt><dd>Half its width is Student’s t at 1 − "
                   "%s/(2m) × standard error, with m the number of comparisons of the family, also "
                   "of those that failed (Bonferroni, single step). So all intervals contain their "
                   "true differences together with a probability of %s, and p, that of a t test "
                   "times m, is below %s exactly where an interval excludes 0. Of what is "
                   "equivalent p is that of two one-sided t tests, times 2m: below that level "
                   "exactly where the interval is within the margin.</dd></div>\n",
                   oa_real_text(oa_family_level(k)).s, oa_percent_text(1 - oa_family_level(k)).s,
                   oa_real_text(oa_family_level(k)).s);
}

/* ---- the table ---- */

/* Properties of a comparison. */
enum {
    TRAINED = 1, /* its runs were trained here */
    TESTED = 2,
    COMPARED = 4,
    TWO_WAY = 8,
    JUDGED_ONCE = 16,
    WITH_BASELINE = 32,
    TUNED = 64,
    UNPAIRED = 128,
    SEQUENTIAL = 256,
    UNEVEN = 512,
    WITH_UNIFORM = 1024,
    OF_SCORES = 2048 /* of a loss readers know which direction is better */
};

static unsigned properties_of(const struct oa_comparison *k, const struct oa_summary *s)
{
    bool tested = s->seeds > 1 && !k->sequential, compared = s->seeds > 1 && oa_family_size(k) > 0;
    bool two_way = tested && k->test == OA_TWO_WAY_ERRORS && !k->unpaired;
    return (k->imported ? 0 : TRAINED) | (tested ? TESTED : 0) | (compared ? COMPARED : 0) |
           (two_way ? TWO_WAY : 0) | (compared && !k->sequential ? JUDGED_ONCE : 0) |
           (k->baseline > 0 ? WITH_BASELINE : 0) | (k->tuning.grid.options > 0 ? TUNED : 0) |
           (k->unpaired ? UNPAIRED : 0) | (k->sequential ? SEQUENTIAL : 0) |
           (s->uneven ? UNEVEN : 0) | (s->uniform >= 0 ? WITH_UNIFORM : 0) |
           (oa_about_loss(k) ? 0 : OF_SCORES);
}

/* A term with its meaning, or a function that writes both. */
struct term {
    const char *term, *meaning;
    unsigned when; /* properties that the comparison must have */
    void (*write)(const struct oa_comparison *k, struct oa_text *out);
    void (*write_with)(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out);
};

static const struct term terms[] = {
    { .write = explain_budget, .when = TRAINED },
    { .term = "same batches, same initial values",
      .when = TRAINED,
      .meaning =
          "Runs with the same seed read the same batches in the same order, and every tensor that "
          "two models share has the same initial values. Only the attention differs (and, where "
          "the budget requires it, the number of steps or the width of the feed-forward layers), "
          "so attentions are compared by seed: the variance that both runs share cancels." },
    { .term = "95 % interval",
      .meaning = "Mean over the seeds ± Student’s t × standard error. It covers what differs "
                 "between seeds, such as initial values and batch order, only: another text, size "
                 "or budget may give another order. The ± of a mean includes the variance that "
                 "runs of one seed share; the interval of a difference does not, so compare by "
                 "differences." },
    { .term = "over seeds, over seeds and items",
      .meaning = "The interval over seeds answers whether other seeds, on these validation data, "
                 "would agree; that over seeds and items, whether they would on other validation "
                 "data of the same kind. Items are the examples, or 30 to 60 blocks of a text. "
                 "Seeds and items are crossed random effects: the variance of the mean is that of "
                 "the seeds’ means plus that of the items’ means less that of their interaction, "
                 "with Satterthwaite’s degrees of freedom, and never below that over seeds.",
      .when = JUDGED_ONCE },
    { .term = "independent samples",
      .meaning = "Runs are not paired: half the width of an interval of a difference has the "
                 "standard error √(v/n + w/m) of two means, and the degrees of freedom of Welch "
                 "and Satterthwaite. Variances are not taken to be equal.",
      .when = UNPAIRED },
    { .write_with = explain_family, .when = COMPARED },
    { .write = explain_intervals, .when = TESTED },
    { .term = "standard error",
      .meaning = "From the variance of each row’s own, estimated from the scores of all rows and "
                 "seeds (Grubbs 1948; at least half of the mean variance), with the degrees of "
                 "freedom of Welch and Satterthwaite. With fewer than three rows, or seeds that "
                 "one of two lacks, from the differences of the two alone.",
      .when = TWO_WAY },
    { .term = "baseline",
      .meaning = "What is currently in use; every other one is compared with it.",
      .when = WITH_BASELINE },
    { .write = explain_tuned, .when = TUNED },
    { .term = "any number of interim analyses",
      .meaning =
          "The intervals of the family are anytime-valid: together, at all numbers of seeds, they "
          "contain all true differences with the probability of the family, so seeds may be added "
          "after an analysis. They are wider than intervals for a number of seeds fixed in "
          "advance. Practically better or "
          "worse: beyond the margin; undecided: neither beyond nor within it.",
      .when = SEQUENTIAL },
    { .term = "adjusted for missing seeds",
      .meaning = "Scores vary by seed, and not all have every seed. A model with an effect of each "
                 "row and of each seed, fitted by least squares to all finished runs, estimates "
                 "the mean that each row would have over all seeds (least-squares means; Searle, "
                 "Speed and Milliken 1980). Order, leader and differences to it are those of these "
                 "means. Verdicts are from the intervals of pairs, over the seeds that both have; "
                 "what is worse than another by them does not lead.",
      .when = UNEVEN },
    { .term = "uniform baseline",
      .meaning =
          "The same model with a plain average of the visible tokens as attention; values and "
          "outputs are learned as in the others. It shows what the rest of the model achieves "
          "alone. It is compared like all others and not ranked. An attention without a "
          "significant difference to it has not been shown to attend to anything useful.",
      .when = WITH_UNIFORM },
    { .write = explain_verdicts },
    { .write = explain_direction, .when = OF_SCORES },
    { .term = "seeds needed",
      .meaning = "Number of seeds at which the test has a power of 80 % at its adjusted level: an "
                 "80 % confidence range, estimated from the differences so far. “12 or more”: the "
                 "data do not exclude a difference too small for 1000 seeds." },
    { .term = "identical, not testable",
      .meaning = "“Identical”: every run has exactly the values of another’s, so both "
                 "compute the same and there is nothing to test. “Not testable”: the difference is "
                 "the same with every seed, so its variance is 0 and there is no t test; where "
                 "both have the best possible score with every seed, they are equivalent." },
    { .term = "failed",
      .meaning = "What has a run that diverged or stopped is excluded from the tests: its "
                 "remaining seeds are not a fair sample." },
    { .term = "perplexity, bits",
      .when = TRAINED,
      .meaning = "Perplexity is exp(loss) and depends on the tokenizer; bits per character and per "
                 "byte do not." },
    { .write = explain_speed, .when = TRAINED },
    { .write = explain_fronts, .when = TRAINED },
    { .term = "memory, FLOPs",
      .when = TRAINED,
      .meaning = "Memory is the peak of parameters and arenas; FLOPs include the forward and the "
                 "backward pass." },
};

void oa_page_method(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    unsigned properties = properties_of(k, s);
    oa_page_open("method", "Method and terms", out);
    oa_text_printf(out, "<dl class=\"method\">\n");
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        const struct term *t = &terms[i];
        if (t->when & ~properties)
            continue;
        if (t->write)
            t->write(k, out);
        else if (t->write_with)
            t->write_with(k, s, out);
        else
            explain(t->term, t->meaning, out);
    }
    oa_text_printf(out, "</dl>\n");
    oa_page_close(out);
}
