/* SPDX-License-Identifier: Apache-2.0
 *
 * What is recommended after a comparison: every cell of the table of outcomes; comparisons made up
 * to have each of them, with the words that people read; seeds and time by hand.
 */
#include "testing.h"

#include "report/report.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { SEEDS = 6, MOST = 4 };

/* ---- the table ---- */

static void every_cell(void **state)
{
    static const char *const expected[OA_OUTCOMES][OA_SAVINGS] = {
        [OA_OUTCOME_FAILED] = { "repair", "repair", "repair", "repair" },
        [OA_OUTCOME_BASELINE_FAILED] = { "repair", "repair", "repair", "repair" },
        [OA_OUTCOME_ALONE] = { "none", "none", "none", "none" },
        [OA_OUTCOME_FEW_SEEDS] = { "more seeds", "more seeds", "more seeds", "more seeds" },
        [OA_OUTCOME_UNIFORM] = { "none", "none", "none", "none" },
        [OA_OUTCOME_UNJUDGED] = { "none", "none", "none", "none" },
        [OA_OUTCOME_OPEN] = { "more seeds", "more seeds", "keep", "more seeds" },
        [OA_OUTCOME_FAR] = { "keep", "keep", "keep", "keep" },
        [OA_OUTCOME_NOT_BETTER] = { "keep", "keep", "keep", "keep" },
        [OA_OUTCOME_BETTER] = { "change", "change", "change", "change" },
        [OA_OUTCOME_OPEN_LOWEST] = { "more seeds", "more seeds", "more seeds", "more seeds" },
        [OA_OUTCOME_FAR_LOWEST] = { "take", "take", "take the cheaper", "take" },
        [OA_OUTCOME_ALIKE] = { "take", "take", "take the cheaper", "take" },
        [OA_OUTCOME_BEST] = { "take", "take", "take", "take" },
    };
    (void)state;
    for (int o = 0; o < OA_OUTCOMES; o++)
        for (int s = 0; s < OA_SAVINGS; s++)
            assert_string_equal(
                oa_action_name(oa_action_for((enum oa_outcome)o, (enum oa_saving)s)),
                expected[o][s]);
}

/* ---- comparisons ---- */

/* Losses of `apart` more than the first one's, with a difference to it that goes up and down by
 * `luck`. */
struct attention {
    const char *name;
    double apart, luck, speed; /* tokens a second */
    bool failed, uniform;
};

/* losses: the names end with NULL. */
struct made_up {
    const char *what;
    struct attention of[MOST];
    int baseline, seeds; /* from 1; 0: none. seeds 0: SEEDS */
    double margin;
    enum oa_equal equal;
    bool sequential;
    enum oa_family_kind family;
    struct oa_until until;
    enum oa_outcome outcome;
    enum oa_saving saving;
    const char *text;
};

struct held {
    struct oa_comparison comparison;
    struct oa_entry entries[MOST];
    struct oa_run runs[MOST][SEEDS];
};

static void build(const struct made_up *m, struct held *h)
{
    memset(h, 0, sizeof *h);
    h->comparison = (struct oa_comparison){ .entries = h->entries,
                                            .seeds = m->seeds ? m->seeds : SEEDS,
                                            .baseline = m->baseline,
                                            .margin = m->margin,
                                            .equal = m->equal,
                                            .sequential = m->sequential,
                                            .family = m->family,
                                            .until = m->until };
    for (int i = 0; i < MOST && m->of[i].name; i++) {
        const struct attention *a = &m->of[i];
        h->comparison.count++;
        h->entries[i] =
            (struct oa_entry){ .attention = (char *)(uintptr_t)a->name, .uniform = a->uniform };
        h->entries[i].runs = h->runs[i];
        for (int r = 0; r < h->comparison.seeds; r++) {
            double up = r % 2 ? -1 : 1;
            h->runs[i][r] =
                (struct oa_run){ .seed = (uint64_t)r + 1,
                                 .valid_loss = 2 + 0.125 * r * r + a->apart + up * a->luck,
                                 .seconds = 100.0 * (i + 1),
                                 .processor_seconds = 1e6,
                                 .tokens_per_second = a->speed,
                                 .seconds_per_step = 1 / a->speed,
                                 .failed = a->failed && r == 1 };
        }
    }
}

#define SOFTMAX                                                                                    \
    {                                                                                              \
        "softmax", 0, 0, 100, false, false                                                         \
    }
#define WORSE                                                                                      \
    {                                                                                              \
        "dense", 0.5, 0.01, 100, false, false                                                      \
    }
#define BETTER                                                                                     \
    {                                                                                              \
        "dense", -0.5, 0.01, 80, false, false                                                      \
    }
#define OPEN                                                                                       \
    {                                                                                              \
        "dense", 0.0625, 0.0625, 100, false, false                                                 \
    }
#define ALIKE_FAST                                                                                 \
    {                                                                                              \
        "linear", 0.001, 0.002, 140, false, false                                                  \
    }
#define ALIKE_SLOW                                                                                 \
    {                                                                                              \
        "linear", 0.001, 0.002, 70, false, false                                                   \
    }
#define SAME_FAST                                                                                  \
    {                                                                                              \
        "local", 0, 0, 200, false, false                                                           \
    }
#define FAILED(name)                                                                               \
    {                                                                                              \
        name, 0.5, 0.01, 100, true, false                                                          \
    }

static const struct made_up cases[] = {
    /* a baseline */
    { "nothing better",
      { SOFTMAX, WORSE },
      .baseline = 1,
      .outcome = OA_OUTCOME_NOT_BETTER,
      .text = "Keep softmax: no attention was shown to be better." },
    { "nothing better, something cheaper",
      { SOFTMAX, WORSE, ALIKE_FAST },
      .baseline = 1,
      .margin = 0.05,
      .outcome = OA_OUTCOME_NOT_BETTER,
      .saving = OA_SAVING_SOME,
      .text = "Keep softmax: no attention was shown to be better. Fastest that is equivalent "
              "within 0.05 nats a token: linear, which is 1.4 times as fast." },
    { "nothing better, nothing cheaper",
      { SOFTMAX, WORSE, ALIKE_SLOW },
      .baseline = 1,
      .margin = 0.05,
      .outcome = OA_OUTCOME_NOT_BETTER,
      .saving = OA_SAVING_NONE,
      .text = "Keep softmax: no attention was shown to be better. No equivalent attention was "
              "shown to be faster." },
    { "the same time",
      { SOFTMAX, WORSE, ALIKE_FAST },
      .baseline = 1,
      .margin = 0.05,
      .equal = OA_EQUAL_TIME,
      .outcome = OA_OUTCOME_NOT_BETTER,
      .saving = OA_SAVING_TIMED,
      .text = "Keep softmax: no attention was shown to be better. Every run had the same training "
              "time, so speed is part of the loss." },
    { "identical and faster",
      { SOFTMAX, WORSE, SAME_FAST },
      .baseline = 1,
      .outcome = OA_OUTCOME_NOT_BETTER,
      .saving = OA_SAVING_SOME,
      .text =
          "Keep softmax: no attention was shown to be better. Fastest that is identical: local, "
          "which is 2.0 times as fast." },
    { "better",
      { SOFTMAX, BETTER },
      .baseline = 1,
      .outcome = OA_OUTCOME_BETTER,
      .text = "Change to dense: it was shown to be better than softmax, by 0.50 nats a token, and "
              "takes 1.2 times as long." },
    { "better, at the same time",
      { SOFTMAX, BETTER },
      .baseline = 1,
      .equal = OA_EQUAL_TIME,
      .outcome = OA_OUTCOME_BETTER,
      .saving = OA_SAVING_TIMED,
      .text = "Change to dense: it was shown to be better than softmax, by 0.50 nats a token. "
              "Every run had the same training time, so speed is part of the loss." },
    { "two are better, one of them cheaper",
      { SOFTMAX, BETTER, { "fast", -0.4975, 0.011, 160, false, false } },
      .baseline = 1,
      .margin = 0.05,
      .family = OA_FAMILY_PAIRS,
      .outcome = OA_OUTCOME_BETTER,
      .saving = OA_SAVING_SOME,
      .text = "Change to dense: it was shown to be better than softmax, by 0.50 nats a token. "
              "Fastest that is equivalent within 0.05 nats a token: fast, which is 2.0 times as "
              "fast." },
    { "two are better, and not compared with each other",
      { SOFTMAX, BETTER, { "fast", -0.4975, 0.011, 160, false, false } },
      .baseline = 1,
      .margin = 0.05,
      .outcome = OA_OUTCOME_BETTER,
      .saving = OA_SAVING_NONE,
      .text = "Change to dense: it was shown to be better than softmax, by 0.50 nats a token, and "
              "takes 1.2 times as long. No equivalent attention was shown to be faster." },
    { "what is equivalent to the baseline replaces nothing better",
      { SOFTMAX, BETTER, ALIKE_FAST },
      .baseline = 1,
      .margin = 0.05,
      .outcome = OA_OUTCOME_BETTER,
      .saving = OA_SAVING_NONE,
      .text = "Change to dense: it was shown to be better than softmax, by 0.50 nats a token, and "
              "takes 1.2 times as long. No equivalent attention was shown to be faster." },
    { "the baseline failed",
      { FAILED("softmax"), WORSE },
      .baseline = 1,
      .outcome = OA_OUTCOME_BASELINE_FAILED,
      .text = "No recommendation: the baseline, softmax, did not finish all its runs. A lower "
              "train.lr may help." },
    { "all but the baseline failed",
      { SOFTMAX, FAILED("dense") },
      .baseline = 1,
      .outcome = OA_OUTCOME_NOT_BETTER,
      .text = "Keep softmax: no attention was shown to be better." },
    { "one seed",
      { SOFTMAX, WORSE },
      .baseline = 1,
      .seeds = 1,
      .outcome = OA_OUTCOME_FEW_SEEDS,
      .text = "More seeds are needed: 2 attentions with 5 seeds, about 20 minutes (--seeds 5). "
              "Until then keep softmax: no attention was shown to be better." },
    { "four seeds, however clear",
      { SOFTMAX, BETTER },
      .baseline = 1,
      .seeds = 4,
      .outcome = OA_OUTCOME_FEW_SEEDS,
      .text = "More seeds are needed: 2 attentions with 5 seeds, about 5 minutes (--seeds 5). "
              "Until then keep softmax: no attention was shown to be better." },
    /* 1/16 with a deviation of 1/16·√(4/3), a ratio of 0.866, at 0.05 and with a power of 0.8:
     * t(0.975) + t(0.8) is 2.179 + 0.873 < 0.866·√13 with 13 seeds, 2.201 + 0.876 > 0.866·√12 with
     * 12 (tables of t). */
    { "four seeds, and five would not do",
      { SOFTMAX, OPEN },
      .baseline = 1,
      .seeds = 4,
      .outcome = OA_OUTCOME_FEW_SEEDS,
      .text = "More seeds are needed: 2 attentions with 13 seeds, about 45 minutes (--seeds 13). "
              "Until then keep softmax: no attention was shown to be better." },
    { "only against the uniform baseline",
      { SOFTMAX, BETTER, { "uniform", 0.5, 0.01, 300, false, true } },
      .family = OA_FAMILY_UNIFORM,
      .outcome = OA_OUTCOME_UNIFORM,
      .text = "No recommendation: only differences to the uniform baseline were judged; "
              "--compare.family pairs judges those between attentions." },
    /* 1/32 with a deviation of 1/16·√(6/5) and a margin of 0.08: two one-sided tests at 0.025 show
     * it with a power of 0.8 from 18 seeds on (scipy's quantiles of t), a difference takes more. */
    { "open, equivalence is the cheaper question",
      { SOFTMAX, { "dense", 0.03125, 0.0625, 100, false, false } },
      .baseline = 1,
      .margin = 0.08,
      .outcome = OA_OUTCOME_OPEN,
      .saving = OA_SAVING_NONE,
      .text = "More seeds are needed: 2 attentions with 18 seeds, about 60 minutes (--seeds 18). "
              "Until then keep softmax: no attention was shown to be better." },
    { "one without luck next to one that was judged",
      { SOFTMAX, WORSE, { "stuck", 0.5, 0, 100, false, false } },
      .baseline = 1,
      .outcome = OA_OUTCOME_NOT_BETTER,
      .text = "Keep softmax: no attention was shown to be better." },
    { "no luck",
      { SOFTMAX, { "stuck", 0.5, 0, 100, false, false } },
      .baseline = 1,
      .outcome = OA_OUTCOME_UNJUDGED,
      .text = "No recommendation: the differences are the same with every seed, so there is no "
              "variance to test against." },
    /* 1/16 with a deviation of 1/16·√(6/5): by scipy (stats.nct) 12 seeds have a power of 0.8 at
     * 0.05. Six more runs of 100 s and of 200 s: 30 minutes. */
    { "open",
      { SOFTMAX, OPEN },
      .baseline = 1,
      .outcome = OA_OUTCOME_OPEN,
      .text = "More seeds are needed: 2 attentions with 12 seeds, about 30 minutes (--seeds 12). "
              "Until then keep softmax: no attention was shown to be better." },
    /* At 0.025 each: of the noncentral t, integrated, 14 and 185 seeds have a power of 0.799 and
     * 0.79996, 15 and 186 one of 0.834 and 0.802. 180 more runs of 100 s and of 200 s, 9 of 300 s.
     */
    { "open, one much more than the other",
      { SOFTMAX, { "far", 0.015625, 0.0625, 100, false, false }, OPEN },
      .baseline = 1,
      .outcome = OA_OUTCOME_OPEN,
      .text = "More seeds are needed: 15 seeds for dense, 186 for all 3 attentions, about 16 hours "
              "(--seeds 186). Until then keep softmax: no attention was shown to be better." },
    { "open, at the same time",
      { SOFTMAX, OPEN },
      .baseline = 1,
      .equal = OA_EQUAL_TIME,
      .outcome = OA_OUTCOME_OPEN,
      .saving = OA_SAVING_TIMED,
      .text = "More seeds are needed: 2 attentions with 12 seeds, about 30 minutes (--seeds 12). "
              "Until then keep softmax: no attention was shown to be better." },
    { "open forever",
      { SOFTMAX, { "dense", 0, 0.0625, 100, false, false } },
      .baseline = 1,
      .outcome = OA_OUTCOME_FAR,
      .text =
          "Keep softmax: no attention was shown to be better, and more than 1000 seeds would be "
          "needed to resolve the other differences if they are as observed." },
    /* none */
    { "best",
      { SOFTMAX, WORSE },
      .outcome = OA_OUTCOME_BEST,
      .text = "Take softmax: every other attention was shown to be worse." },
    { "best, and a margin",
      { SOFTMAX, WORSE },
      .margin = 0.05,
      .outcome = OA_OUTCOME_BEST,
      .saving = OA_SAVING_NONE,
      .text = "Take softmax: every other attention was shown to be worse. No equivalent attention "
              "was shown to be faster." },
    { "best, and uniform baseline",
      { SOFTMAX, WORSE, { "uniform", 0.0625, 0.0625, 300, false, true } },
      .outcome = OA_OUTCOME_BEST,
      .text = "Take softmax: every other attention was shown to be worse. But softmax was not "
              "shown to be better than the uniform baseline." },
    { "equivalent to the uniform baseline",
      { SOFTMAX, WORSE, { "uniform", 0.001, 0.002, 300, false, true } },
      .margin = 0.05,
      .outcome = OA_OUTCOME_BEST,
      .saving = OA_SAVING_NONE,
      .text = "Take softmax: every other attention was shown to be worse. No equivalent attention "
              "was shown to be faster. But softmax is equivalent to the uniform baseline." },
    { "alike",
      { SOFTMAX, WORSE, ALIKE_FAST },
      .margin = 0.05,
      .outcome = OA_OUTCOME_ALIKE,
      .saving = OA_SAVING_SOME,
      .text = "Take linear: it is equivalent to softmax within 0.05 nats a token, and is 1.4 times "
              "as fast." },
    { "alike and slow",
      { SOFTMAX, WORSE, ALIKE_SLOW },
      .margin = 0.05,
      .outcome = OA_OUTCOME_ALIKE,
      .saving = OA_SAVING_NONE,
      .text = "Take softmax: no attention was shown to be better. No equivalent attention was "
              "shown to be faster." },
    { "identical",
      { SOFTMAX, WORSE, SAME_FAST },
      .outcome = OA_OUTCOME_ALIKE,
      .saving = OA_SAVING_SOME,
      .text = "Take local: it is identical to softmax, and is 2.0 times as fast." },
    { "alone",
      { SOFTMAX },
      .outcome = OA_OUTCOME_ALONE,
      .text = "No recommendation: there is nothing to compare softmax with." },
    { "only the uniform baseline",
      { SOFTMAX, { "uniform", 0.5, 0.01, 300, false, true } },
      .outcome = OA_OUTCOME_ALONE,
      .text = "No recommendation: there is nothing to compare softmax with." },
    { "all but one failed",
      { SOFTMAX, FAILED("dense") },
      .outcome = OA_OUTCOME_ALONE,
      .text = "No recommendation: there is nothing to compare softmax with." },
    { "all failed",
      { FAILED("softmax"), FAILED("dense") },
      .outcome = OA_OUTCOME_FAILED,
      .text = "No recommendation: no attention finished all its runs. A lower train.lr may help." },
    { "open, no baseline",
      { SOFTMAX, OPEN },
      .outcome = OA_OUTCOME_OPEN_LOWEST,
      .text = "More seeds are needed: 2 attentions with 12 seeds, about 30 minutes (--seeds 12)." },
    { "open forever, no baseline",
      { SOFTMAX, { "dense", 0, 0.0625, 100, false, false } },
      .outcome = OA_OUTCOME_FAR_LOWEST,
      .text = "Take softmax: it has the lowest loss, and more than 1000 seeds would be needed to "
              "resolve the other differences if they are as observed." },
    { "one seed, no baseline",
      { SOFTMAX, WORSE, ALIKE_FAST },
      .seeds = 1,
      .outcome = OA_OUTCOME_FEW_SEEDS,
      .text = "More seeds are needed: 3 attentions with 5 seeds, about 40 minutes (--seeds 5)." },
    { "no luck, no baseline",
      { SOFTMAX, { "stuck", 0.5, 0, 100, false, false } },
      .outcome = OA_OUTCOME_UNJUDGED,
      .text = "No recommendation: the differences are the same with every seed, so there is no "
              "variance to test against." },
};

static void every_outcome(void **state)
{
    static struct held h;
    (void)state;
    oa_context *c = oa_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_summary s;
        build(&cases[i], &h);
        assert_int_equal(oa_summary_make(c, &h.comparison, &s), OA_OK);
        if (s.advice.outcome != cases[i].outcome || s.advice.saving != cases[i].saving)
            fail_msg("%s: outcome %d, saving %d: %s", cases[i].what, (int)s.advice.outcome,
                     (int)s.advice.saving, s.recommendation);
        if (strcmp(s.recommendation, cases[i].text) != 0)
            fail_msg("%s: \"%s\"\n instead of \"%s\"", cases[i].what, s.recommendation,
                     cases[i].text);
        oa_summary_free(&s);
    }
    oa_close(c);
}

/* ---- seeds that are added ---- */

/* The option that asks for more is the one that ended it; the number is that of the anytime-valid
 * interval. */
static void budgets(void **state)
{
    static const struct {
        struct oa_until until;
        const char *option;
    } endings[] = {
        { { .ending = OA_ENDING_SEEDS, .least = 3, .most = 4 }, "(--compare.max_seeds " },
        { { .ending = OA_ENDING_BUDGET, .least = 3, .most = 40, .budget = 600, .spent = 540 },
          "(--budget " }
    };
    static struct held h;
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int i = 0; i < 2; i++) {
        struct made_up m = {
            "", { SOFTMAX, OPEN }, .baseline = 1, .sequential = true, .until = endings[i].until
        };
        struct oa_summary s;
        build(&m, &h);
        assert_int_equal(oa_summary_make(c, &h.comparison, &s), OA_OK);
        assert_int_equal(s.advice.action, OA_ACTION_SEEDS);
        assert_non_null(strstr(s.recommendation, endings[i].option));
        struct oa_estimate d = oa_compared_pair(&s, 1, 0)->difference;
        d.n = s.advice.seeds; /* settles it, and one fewer does not */
        assert_true(oa_anytime_half(&d, 0.05) < d.mean);
        d.n--;
        assert_true(oa_anytime_half(&d, 0.05) >= d.mean);
        assert_true(s.advice.seconds == (s.advice.seeds - SEEDS) * 300.0);
        if (i == 1) {
            char option[64];
            snprintf(option, sizeof option, "(--budget %.0fmin)",
                     ceil((540 + s.advice.seconds) / 60));
            assert_non_null(strstr(s.recommendation, option));
        }
        oa_summary_free(&s);
    }
    oa_close(c);
}

/* What is equivalent and faster is used while seeds would settle another one. */
static void keeps_with_a_cheaper_one(void **state)
{
    static struct held h;
    struct made_up m = { "", { SOFTMAX, OPEN, ALIKE_FAST }, .baseline = 1, .margin = 0.05 };
    struct oa_summary s;
    (void)state;
    oa_context *c = oa_open(NULL);
    build(&m, &h);
    assert_int_equal(oa_summary_make(c, &h.comparison, &s), OA_OK);
    assert_int_equal(s.advice.outcome, OA_OUTCOME_OPEN);
    assert_int_equal(s.advice.action, OA_ACTION_KEEP);
    assert_int_equal(s.advice.cheaper, 2);
    assert_non_null(strstr(s.recommendation, "linear, which is 1.4 times as fast. To resolve the "
                                             "other comparisons: 2 attentions with "));
    oa_summary_free(&s);
    oa_close(c);
}

/* Of several that need equally few seeds, the first is named. */
static void names_the_first_of_the_nearest(void **state)
{
    static struct held h;
    struct made_up m = { "",
                         { SOFTMAX,
                           { "far", 0.015625, 0.0625, 100, false, false },
                           OPEN,
                           { "like dense", 0.0625, 0.0625, 100, false, false } },
                         .baseline = 1 };
    struct oa_summary s;
    (void)state;
    oa_context *c = oa_open(NULL);
    build(&m, &h);
    assert_int_equal(oa_summary_make(c, &h.comparison, &s), OA_OK);
    assert_int_equal(s.advice.nearest, 2);
    assert_non_null(strstr(s.recommendation, " seeds for dense, "));
    assert_non_null(strstr(s.recommendation, " for all 4 attentions, "));
    oa_summary_free(&s);
    oa_close(c);
}

/* While one attention has too few seeds for a verdict, the seeds are those of all. */
static void names_none_before_all_have_verdicts(void **state)
{
    static struct held h;
    struct made_up m = { "",
                         { SOFTMAX, OPEN, { "late", 0.5, 0.01, 100, false, false } },
                         .baseline = 1 };
    struct oa_summary s;
    (void)state;
    oa_context *c = oa_open(NULL);
    build(&m, &h);
    h.runs[2][SEEDS - 1].absent = h.runs[2][SEEDS - 2].absent = true;
    assert_int_equal(oa_summary_make(c, &h.comparison, &s), OA_OK);
    assert_int_equal(oa_compared_pair(&s, 1, 0)->verdict, OA_AGAINST_UNRESOLVED);
    assert_int_equal(s.advice.outcome, OA_OUTCOME_FEW_SEEDS);
    assert_int_equal(s.advice.nearest, -1);
    assert_int_equal(s.advice.fewest, 0);
    assert_non_null(strstr(s.recommendation, "More seeds are needed: 1 attention with 5 seeds, "));
    oa_summary_free(&s);
    oa_close(c);
}

/* ---- speeds ---- */

/* Measured in rounds, an attention is faster only where the interval of the ratio says so; the
 * ratio is that of the rounds, not of the runs' own times. */
static void speeds_of_rounds(void **state)
{
    static double one[8], clearly[8], perhaps[8];
    static struct held h;
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int r = 0; r < 8; r++) {
        one[r] = 0.3 + 0.01 * r;
        clearly[r] = one[r] / 3;
        perhaps[r] = one[r] * (r % 2 ? 1.2 : 0.8);
    }
    for (int i = 0; i < 2; i++) {
        struct made_up m = { "", { SOFTMAX, ALIKE_FAST }, .baseline = 1, .margin = 0.05 };
        struct oa_summary s;
        build(&m, &h);
        h.comparison.rounds = 8;
        h.entries[0].step_seconds = one;
        h.entries[1].step_seconds = i ? clearly : perhaps;
        assert_int_equal(oa_summary_make(c, &h.comparison, &s), OA_OK);
        assert_int_equal(s.advice.cheaper, i ? 1 : -1);
        assert_true(i == 0 || fabs(s.advice.speed - 3) < 1e-9);
        oa_summary_free(&s);
    }
    oa_close(c);
}

/* ---- where it is ---- */

static void is_in_every_report(void **state)
{
    static struct held h;
    struct oa_summary s;
    struct oa_text t;
    (void)state;
    oa_context *c = oa_open(NULL);
    build(&cases[1], &h);
    assert_int_equal(oa_summary_make(c, &h.comparison, &s), OA_OK);
    oa_text_init(&t, c);
    oa_report_table(&h.comparison, &s, 0, &t);
    assert_true(t.length > strlen(s.recommendation) + 1);
    join_lines(t.s);
    assert_string_equal(
        strstr(t.s, "Keep softmax"),
        "Keep softmax: no attention was shown to be better. Fastest that is "
        "equivalent within 0.05 nats a token: linear, which is 1.4 times as fast. ");
    oa_text_free(&t);
    oa_report_markdown(&h.comparison, &s, &t);
    assert_int_equal(strncmp(t.s, "**Keep softmax: no attention was shown to be better. ", 42), 0);
    oa_text_free(&t);
    oa_report_html(&h.comparison, &s, &t);
    assert_non_null(strstr(t.s, "<h1 id=\"recommendation\">Keep <code>softmax</code>: no attention "
                                "was shown to be better. </h1>"));
    oa_text_free(&t);
    oa_report_json(&h.comparison, &s, &t);
    json_t *root = json_loads(t.s, 0, NULL), *r = json_object_get(root, "recommendation");
    assert_string_equal(json_string_value(json_object_get(r, "text")), s.recommendation);
    assert_string_equal(json_string_value(json_object_get(r, "action")), "keep");
    assert_int_equal(json_integer_value(json_object_get(r, "entry")), 0);
    assert_int_equal(json_integer_value(json_object_get(r, "cheaper")), 2);
    assert_true(fabs(json_number_value(json_object_get(r, "speed")) - 1.4) < 1e-12);
    assert_true(json_is_null(json_object_get(r, "seeds")) &&
                json_is_null(json_object_get(r, "seconds")));
    json_decref(root);
    oa_text_free(&t);
    oa_summary_free(&s);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell),
        cmocka_unit_test(every_outcome),
        cmocka_unit_test(budgets),
        cmocka_unit_test(keeps_with_a_cheaper_one),
        cmocka_unit_test(names_the_first_of_the_nearest),
        cmocka_unit_test(names_none_before_all_have_verdicts),
        cmocka_unit_test(speeds_of_rounds),
        cmocka_unit_test(is_in_every_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
