/* SPDX-License-Identifier: Apache-2.0
 *
 * All pairs of attentions, the range of seeds needed, comparisons whose attentions have different
 * numbers of seeds, and the rule that says which runs to make next. Values from elsewhere: pairs
 * from scipy 1.17.1 (verdicts/family.py), noncentralities from scipy.stats.nct by brentq, the seeds
 * for them by scipy.integrate.quad over the density of the deviation. The rule is held to hand-made
 * cases, its error rates to simulations:
 *
 *     test_until table [TRIALS]     prints the table of docs/sequential.md
 */
#include "compare/comparison.h"
#include "report/notes.h"
#include "results_reader.h"
#include "until_simulation.h"

#include <stdlib.h>

static void near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fmax(1e-300, fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* ---- how many seeds it would take ---- */

static void seeds_ranges(void **state)
{
    static const struct {
        int n;
        double mean, sd, level, least, most; /* ends of the 80 % interval of the noncentrality */
        int low, high;
    } cases[] = {
        { 4, 0.5, 1, 0.05, -0.4508708370768057, 2.298929190593793, 9, 1001 },
        { 3, -1, 1, 0.05, -0.08291147116636242, 3.1995755105214183, 5, 1001 },
        { 5, 0.9, 1, 0.05, 0.3472058374953851, 3.4561064553695, 6, 328 },
        { 10, 0.6, 1, 0.05 / 6, 0.4469950496581072, 3.247887280568197, 16, 610 },
        { 3, 3, 1, 0.05 / 11, 1.4320885483633836, 8.107947503473762, 5, 24 },
        { 8, 0.01, 1, 0.05, -1.2542915945424757, 1.3088819862727312, 39, 1001 },
        { 30, -0.02, 1, 0.05, -1.1730785224670404, 1.3902874194840302, 124, 1001 },
        { 3, 8, 2, 0.05 / 5, 2.0622717260743824, 10.682167607124493, 4, 12 },
        { 5, 1.1, 1, 0.025, 0.6549602242934219, 4.000958602235847, 6, 114 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_estimate e = { .n = cases[i].n, .mean = cases[i].mean, .sd = cases[i].sd };
        double t = fabs(e.mean) / e.sd * sqrt(e.n);
        near(oa_t_noncentrality(t, e.n - 1, 0.1), cases[i].least, 1e-8);
        near(oa_t_noncentrality(t, e.n - 1, 0.9), cases[i].most, 1e-8);
        struct oa_seeds_range r = oa_seeds_range_of(&e, cases[i].level);
        assert_int_equal(r.low, cases[i].low);
        assert_int_equal(r.high, cases[i].high);
    }
}

static void seeds_texts(void **state)
{
    static const struct {
        struct oa_seeds_range range;
        const char *text;
    } cases[] = { { { 12, 60 }, "12–60" },
                  { { 12, 1001 }, "12 or more" },
                  { { 1001, 1001 }, "more than 1000" },
                  { { 5, 5 }, "5" } };
    oa_context *c = oa_open(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_text text;
        oa_text_init(&text, c);
        oa_seeds_text(cases[i].range, &text);
        assert_string_equal(text.s, cases[i].text);
        oa_text_free(&text);
    }
    oa_close(c);
}

/* The range holds the number that the truth asks for in 80 % of samples; among those in which a
 * test at 5 % found nothing, of which it is printed, the figures of docs/sequential.md. */
static void ranges_hold_the_truth(void **state)
{
    int times = tries(400);
    double least = 0.74 - (times < 400 ? 3 * sqrt(0.74 * 0.26 / times) : 0);
    static const double effects[] = { 0.4, 1, 2 };
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        int held = 0, open = 0, held_open = 0, needed = oa_seeds_needed(effects[k], 1, 0.05);
        for (int trial = 0; trial < times; trial++) {
            double x[4];
            for (int i = 0; i < 4; i++)
                x[i] = effects[k] +
                       oa_random_normal(oa_stream_named(3, "range"), (uint64_t)(4 * trial + i));
            struct oa_estimate e = oa_estimate_of(x, 4);
            struct oa_seeds_range r = oa_seeds_range_of(&e, 0.05);
            bool holds = r.low <= needed && needed <= r.high;
            held += holds;
            bool unresolved = fabs(e.mean) <= e.half;
            open += unresolved;
            held_open += holds && unresolved;
        }
        printf("effect %.1f, %d seeds needed: held in %.3f; of the unresolved in %.3f\n",
               effects[k], needed, (double)held / times, (double)held_open / open);
        assert_true(held >= least * times); /* discrete numbers of seeds can only hold more often */
    }
}

/* ---- every two of them ---- */

static const double five[5][6] = { { 1.6377, 1.6391, 1.6325, 1.6602, 1.6299, 1.6412 },
                                   { 1.6011, 1.6102, 1.6087, 1.6220, 1.6055, 1.6101 },
                                   { 1.6380, 1.6389, 1.6331, 1.6598, 1.6310, 1.6405 },
                                   { 1.7101, 1.7288, 1.7071, 1.7294, 1.7033, 1.7150 },
                                   { 1.6401, 1.6300, 1.6475, 1.6700, 1.6201, 1.6512 } };

/* A comparison of these losses, of which entry i made made[i] runs (NULL: all six). */
static void set_five(struct arena *a, const int *made)
{
    struct simulated none = { .count = 5, .baseline = true, .margin = 0.01 };
    arena_open(a, &none, 0, 6);
    a->comparison.sequential = false;
    for (int i = 0; i < 5; i++)
        for (int r = 0; r < 6; r++) {
            a->runs[i][r].valid_loss = five[i][r];
            a->runs[i][r].absent = made && r >= made[i];
        }
}

static const struct {
    int a, b;
    double mean, half, p, adjusted, equivalence;
    enum oa_against_verdict verdict;
} scipy_pairs[] = {
    { 0, 1, 0.030499999999999933, 0.011741512341259856, 6.046632566867817e-05,
      0.0006046632566867817, 1, OA_AGAINST_WORSE },
    { 0, 2, -0.00011666666666669083, 0.0013125481218961973, 0.6889967307755358, 1,
      3.1380190339936613e-06, OA_AGAINST_EQUIVALENT },
    { 0, 3, -0.07551666666666672, 0.014026593102214165, 1.6661677032722502e-06,
      1.6661677032722503e-05, 1, OA_AGAINST_BETTER },
    { 0, 4, -0.003049999999999997, 0.02043515745204156, 0.5080519755363394, 1, 1,
      OA_AGAINST_UNRESOLVED },
    { 1, 2, -0.030616666666666625, 0.011010747085406503, 4.339395873568701e-05,
      0.00043393958735687006, 1, OA_AGAINST_BETTER },
    { 1, 3, -0.10601666666666665, 0.01499184459141864, 4.290631527808173e-07, 4.290631527808173e-06,
      1, OA_AGAINST_BETTER },
    { 1, 4, -0.033549999999999934, 0.025723464168615755, 0.0015640094570064573,
      0.015640094570064572, 1, OA_AGAINST_BETTER },
    { 2, 3, -0.07540000000000002, 0.014244510014253066, 1.8126388963455764e-06,
      1.8126388963455763e-05, 1, OA_AGAINST_BETTER },
    { 2, 4, -0.0029333333333333065, 0.020928314976838225, 0.5331170755570904, 1, 1,
      OA_AGAINST_UNRESOLVED },
    { 3, 4, 0.07246666666666672, 0.03051621366884129, 9.345529935628949e-05, 0.0009345529935628949,
      1, OA_AGAINST_WORSE },
};

static void pairs_as_scipy(void **state)
{
    static struct arena a;
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    (void)state;
    set_five(&a, NULL);
    a.comparison.family = OA_FAMILY_PAIRS;
    assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
    assert_int_equal(oa_family_size(&a.comparison), 10);
    for (int i = 0; i < 10; i++) {
        const struct oa_against *one = oa_compared_pair(&s, scipy_pairs[i].a, scipy_pairs[i].b);
        const struct oa_against *other = oa_compared_pair(&s, scipy_pairs[i].b, scipy_pairs[i].a);
        near(one->difference.mean, scipy_pairs[i].mean, 1e-11);
        near(one->half, scipy_pairs[i].half, 1e-10);
        near(one->p, scipy_pairs[i].p, 1e-9);
        near(one->adjusted, scipy_pairs[i].adjusted, 1e-9);
        near(one->equivalence, scipy_pairs[i].equivalence, 1e-8);
        assert_int_equal(one->verdict, scipy_pairs[i].verdict);
        assert_true(other->difference.mean == -one->difference.mean &&
                    other->adjusted == one->adjusted && other->half == one->half);
        assert_int_equal(other->verdict, one->verdict == OA_AGAINST_BETTER  ? OA_AGAINST_WORSE
                                         : one->verdict == OA_AGAINST_WORSE ? OA_AGAINST_BETTER
                                                                            : one->verdict);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(s.pairs[6 * i].verdict, OA_AGAINST_NONE);
    oa_summary_free(&s);
    oa_close(c);
}

static int occurrences(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

/* Every pair is judged, also with the uniform baseline; equal models are said to be identical. */
static void pairs_on_the_page(void **state)
{
    static struct arena a;
    struct oa_summary s;
    struct oa_text page;
    oa_context *c = oa_open(NULL);
    (void)state;
    set_five(&a, NULL);
    memcpy(a.runs[2], a.runs[1], sizeof a.runs[1]);
    a.entries[3].uniform = true;
    a.comparison.family = OA_FAMILY_PAIRS;
    assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
    assert_int_equal(s.pairs[1 * 5 + 2].verdict, OA_AGAINST_IDENTICAL);
    assert_int_equal(s.pairs[1 * 5 + 3].verdict, OA_AGAINST_BETTER);
    oa_text_init(&page, c);
    oa_report_html(&a.comparison, &s, &page);
    const char *section = strstr(page.s, "<section id=\"pairs\">");
    assert_non_null(section);
    assert_int_equal(occurrences(section, "<b>identical</b>"), 2);
    assert_int_equal(occurrences(section, "<td class=\"self\">"), 5);
    assert_int_equal(occurrences(section, "<td class=\"better\"><b>better</b>"), 8);
    assert_int_equal(occurrences(section, "<td class=\"worse\"><b>worse</b>"), 8);
    assert_non_null(strstr(
        section, "<small>+0.0188 … +0.0422</small>")); /* verdicts/family.py: 0.0305 ± 0.0117 */
    oa_text_free(&page);
    oa_summary_free(&s);
    oa_close(c);
}

/* ---- different numbers of seeds ---- */

/* Means over the seeds made, differences over those in common, the order by adjusted means
 * (test_adjusted.c). */
static void absent_runs(void **state)
{
    static const int made[] = { 6, 6, 4, 3, 5 };
    static struct arena a;
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    (void)state;
    set_five(&a, made);
    a.comparison.sequential = true;
    assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
    assert_int_equal(s.reference, 1);
    for (int i = 0; i < 5; i++) {
        double sum = 0, apart = 0;
        for (int r = 0; r < made[i]; r++) {
            sum += five[i][r] / made[i];
            apart += (five[i][r] - five[1][r]) / made[i];
        }
        assert_int_equal(s.entries[i].made, made[i]);
        assert_int_equal(s.entries[i].failed, 0);
        assert_int_equal(s.entries[i].loss.n, made[i]);
        near(s.entries[i].loss.mean, sum, 1e-13);
        if (i != 1)
            near(oa_compared_pair(&s, i, 1)->difference.mean, apart, 1e-9);
        for (int j = 0; j < 5; j++)
            if (i != j)
                assert_int_equal(s.pairs[5 * i + j].difference.n,
                                 made[i] < made[j] ? made[i] : made[j]);
    }
    assert_int_equal(oa_fewest_seeds(&s, true), 3);
    for (int i = 1; i < 5; i++)
        assert_true(s.order[0] == 1 &&
                    s.entries[s.order[i - 1]].adjusted <= s.entries[s.order[i]].adjusted);
    struct oa_text table;
    oa_text_init(&table, c);
    oa_report_table(&a.comparison, &s, 0, &table);
    join_lines(table.s);
    assert_non_null(strstr(table.s, "least-squares mean of the model attention + seed"));
    assert_non_null(strstr(table.s, "seeds"));
    assert_null(strstr(table.s, "failed"));
    oa_text_free(&table);
    oa_summary_free(&s);
    oa_close(c);
}

static void results_and_back(void **state)
{
    static const int made[] = { 6, 6, 4, 3, 5 };
    static struct arena a;
    struct oa_summary s, t;
    struct oa_comparison back;
    struct oa_text one, two;
    oa_context *c = oa_open(NULL);
    (void)state;
    set_five(&a, made);
    a.comparison.sequential = true;
    a.comparison.until.ending = OA_ENDING_BUDGET;
    a.comparison.until.budget = 7200;
    a.comparison.until.spent = 7100.5;
    a.comparison.until.rounds = 6;
    assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
    oa_text_init(&one, c);
    oa_text_init(&two, c);
    oa_report_json(&a.comparison, &s, &one);
    assert_int_equal(oa_comparison_from_json(c, one.s, &back), OA_OK);
    assert_int_equal(oa_summary_make(c, &back, &t), OA_OK);
    oa_report_json(&back, &t, &two);
    assert_string_equal(one.s, two.s);
    assert_non_null(strstr(one.s, "\"ending\": \"budget used up\""));
    assert_non_null(strstr(s.conclusion, "another round would exceed the budget of 2 h"));
    for (int i = 0; i < 5; i++)
        assert_int_equal(oa_runs_made(&back.entries[i], back.seeds), made[i]);
    /* Where the comparison did not decide by itself, a missing run is damage. */
    char *until = strstr(one.s, "\"until_resolved\"");
    memcpy(until, "\"until_rezolved\"", 16);
    oa_comparison_free(&back);
    assert_int_equal(oa_comparison_from_json(c, one.s, &back), OA_FORMAT);
    oa_summary_free(&s);
    oa_summary_free(&t);
    oa_text_free(&one);
    oa_text_free(&two);
    oa_close(c);
}

/* ---- the trajectory ---- */

/* Each look again, straight from the losses: the interval ends where the likelihood ratio is
 * 1/level. */
static void trajectories(void **state)
{
    static const int made[] = { 6, 4, 6, 6, 6 };
    static struct arena a;
    struct oa_summary s;
    struct oa_estimate looks[7];
    double scratch[7];
    oa_context *c = oa_open(NULL);
    (void)state;
    set_five(&a, made);
    a.comparison.sequential = true;
    assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
    assert_int_equal(oa_family_size(&a.comparison), 4);
    for (int i = 1; i < 5; i++) {
        assert_int_equal(oa_trajectory(&a.comparison, &s, i, scratch, looks), made[i] - 1);
        for (int n = 2; n <= made[i]; n++) {
            double sum = 0, squares = 0;
            for (int r = 0; r < n; r++)
                sum += five[i][r] - five[0][r];
            for (int r = 0; r < n; r++)
                squares += pow(five[i][r] - five[0][r] - sum / n, 2);
            const struct oa_estimate *e = &looks[n - 2];
            near(e->mean, sum / n, 1e-9);
            if (isinf(e->half))
                continue;
            double t2 = n * e->half * e->half / (squares / (n - 1)), spread = 1 + 3.0 * n;
            double ratio =
                pow((1 + t2 / (n - 1)) / (1 + t2 / (n - 1) / spread), n / 2.0) / sqrt(spread);
            near(ratio, 4 / 0.05, 1e-8);
        }
        assert_true(isinf(looks[0].half) && isfinite(looks[made[i] - 2].half) == (made[i] > 4));
        assert_true(looks[made[i] - 2].half == oa_compared_pair(&s, i, 0)->half);
    }
    assert_int_equal(oa_trajectory(&a.comparison, &s, 0, scratch, looks), 0);
    a.comparison.sequential = false;
    assert_int_equal(oa_trajectory(&a.comparison, &s, 1, scratch, looks), 0);
    oa_summary_free(&s);
    oa_close(c);
}

/* ---- which runs next ---- */

/* made[i] runs of entry i; its verdict against the baseline (0) or the lowest loss (`reference`):
 * 'o' open, '.' closed; 'x' its last run failed. wanted: "a3 b3", entries by letter with the seed,
 * from 0. */
static const struct {
    const char *why;
    bool baseline;
    int reference, made[5];
    const char *verdicts, *wanted;
    enum oa_ending ending;
} rounds[] = {
    { "everything gets the first seed, the floor too",
      true,
      0,
      { 0 },
      ".....",
      "a0 b0 c0 d0 e0",
      0 },
    { "and the third", true, 0, { 2, 2, 2, 2, 2 }, "ooooo", "a2 b2 c2 d2 e2", 0 },
    { "after a stop only what lacks", true, 0, { 3, 3, 2, 2, 2 }, ".oo..", "c2 d2 e2", 0 },
    { "what diverged gets no more", true, 0, { 2, 2, 1, 2, 2 }, "..x..", "a2 b2 d2 e2", 0 },
    { "open questions and the baseline", true, 1, { 3, 3, 3, 3, 3 }, ".o.o.", "a3 b3 d3", 0 },
    { "one is behind: the baseline has that seed", true, 1, { 5, 4, 5, 5, 3 }, ".o...", "b4", 0 },
    { "one is behind, one is not", true, 1, { 5, 4, 5, 5, 3 }, ".o.o.", "b4 a5 d5", 0 },
    { "all are answered", true, 1, { 5, 4, 5, 5, 3 }, ".....", "", OA_ENDING_RESOLVED },
    { "seeds used up for one", true, 1, { 8, 8, 8, 5, 3 }, ".o.o.", "d5", 0 },
    { "seeds used up", true, 1, { 8, 8, 8, 8, 3 }, ".o.o.", "", OA_ENDING_SEEDS },
    { "without a baseline: against the lowest",
      false,
      2,
      { 3, 3, 3, 3, 3 },
      "o..o.",
      "a3 c3 d3",
      0 },
    { "a new leader catches up", false, 1, { 6, 4, 6, 6, 3 }, "..o..", "b4", 0 },
    { "the baseline failed: nothing can be asked",
      true,
      1,
      { 3, 3, 3, 3, 3 },
      "x....",
      "",
      OA_ENDING_RESOLVED },
};

static void set_verdicts(const char *verdicts, struct arena *a, struct oa_standing *standings)
{
    for (int i = 0; i < 5; i++) {
        int made = oa_runs_made(&a->entries[i], 8);
        if (verdicts[i] == 'x')
            a->runs[i][made - 1].failed = true;
        standings[i].verdict = verdicts[i] == 'o' ? OA_VERDICT_UNRESOLVED : OA_VERDICT_WORSE;
    }
}

static void the_rule(void **state)
{
    static struct arena a;
    oa_context *c = oa_open(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        struct simulated set = { .count = 5, .baseline = rounds[i].baseline };
        struct oa_standing standings[5] = { { 0 } };
        struct oa_summary s = {
            .entries = standings, .count = 5, .seeds = 8, .reference = rounds[i].reference
        };
        struct oa_cell cells[5];
        char wanted[64] = "";
        int n;
        arena_open(&a, &set, 0, 8);
        a.entries[4].uniform = true;
        for (int e = 0; e < 5; e++)
            for (int r = 0; r < rounds[i].made[e]; r++)
                a.runs[e][r].absent = false;
        set_verdicts(rounds[i].verdicts, &a, standings);
        assert_int_equal(oa_until_wanted(c, &a.comparison, &s, cells, &n), OA_OK);
        for (int k = 0; k < n; k++)
            snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s%c%d",
                     k ? " " : "", 'a' + cells[k].entry, cells[k].seed);
        if (strcmp(wanted, rounds[i].wanted) != 0)
            fail_msg("%s: wants \"%s\" instead of \"%s\"", rounds[i].why, wanted, rounds[i].wanted);
        if (n == 0)
            assert_int_equal(oa_until_ending(&a.comparison, &s), rounds[i].ending);
    }
    oa_close(c);
}

/* With the same runs the same decisions: a comparison that is held again from any round on ends the
 * same. */
static void decisions_repeat(void **state)
{
    static struct arena a, b;
    struct simulated set = { .count = 4, .margin = 0.5, .truth = { 0, 0.2, 1.5, 3 } };
    struct oa_summary s, t;
    oa_context *c = oa_open(NULL);
    (void)state;
    for (int trial = 0; trial < 5; trial++) {
        arena_open(&a, &set, trial, SIM_SEEDS);
        arena_open(&b, &set, trial, SIM_SEEDS);
        arena_hold(c, &a, &s);
        for (int i = 0; i < 4; i++)
            for (int r = 0; r < oa_runs_made(&a.entries[i], SIM_SEEDS) / 2; r++)
                b.runs[i][r].absent = false;
        arena_hold(c, &b, &t);
        for (int i = 0; i < 4; i++)
            assert_int_equal(s.entries[i].made, t.entries[i].made);
        assert_string_equal(s.conclusion, t.conclusion);
        oa_summary_free(&s);
        oa_summary_free(&t);
    }
    oa_close(c);
}

/* ---- error rates ---- */

/* Truths in deviations of a difference, the margin 1: all the same; all one margin above the first,
 * where every verdict is false; all four margins above it. */
static const struct {
    const char *name;
    double apart;
} truths[] = { { "equal", 0 }, { "edge", 1 }, { "far", 4 } };

static struct simulated scenario(int truth, int count, enum noise noise, bool baseline)
{
    struct simulated s = { .count = count, .noise = noise, .baseline = baseline, .margin = 1 };
    for (int i = 1; i < count; i++)
        s.truth[i] = truths[truth].apart;
    return s;
}

static const int counts[] = { 2, 6, 12 };

/* "1.0 / 2.0 / 3.0": by the noise of the differences. */
static void print_cell(const double *x, int decimals, double factor)
{
    printf(" %.*f / %.*f / %.*f |", decimals, factor * x[NORMAL], decimals, factor * x[HEAVY],
           decimals, factor * x[SKEWED]);
}

static void table_row(oa_context *c, int truth, int count, bool baseline, int trials)
{
    double wrong[3], resolved[3], seeds[3], five_seeds[3], ten[3];
    for (int noise = NORMAL; noise <= SKEWED; noise++) {
        struct simulated s = scenario(truth, count, (enum noise)noise, baseline);
        struct outcome o = simulate_until(c, &s, trials);
        wrong[noise] = o.wrong;
        resolved[noise] = o.resolved;
        seeds[noise] = o.seeds;
        five_seeds[noise] = simulate_tests(c, &s, 5, 5, trials);
        ten[noise] = simulate_tests(c, &s, 10, 10, trials);
    }
    printf("| the %s | %s | %d |", baseline ? "baseline" : "lowest", truths[truth].name, count);
    print_cell(wrong, 1, 100);
    print_cell(resolved, 0, 100);
    print_cell(seeds, 1, 1);
    print_cell(five_seeds, 1, 100);
    print_cell(ten, 1, 100);
    printf("\n");
    fflush(stdout);
}

static void print_table(int trials)
{
    oa_context *c = oa_open(NULL);
    for (int k = 0; k < 3; k++) {
        struct simulated s = scenario(0, counts[k], NORMAL, true);
        s.margin = 0;
        printf("reports after each of 5 to 30 seeds, %d equal attentions: wrong in %.1f %%\n",
               counts[k], 100 * simulate_tests(c, &s, 5, SIM_SEEDS, trials));
        fflush(stdout);
    }
    for (int baseline = 1; baseline >= 0; baseline--)
        for (int t = 0; t < 3; t++)
            for (int k = 0; k < 3; k++)
                table_row(c, t, counts[k], baseline, trials);
    oa_close(c);
}

/* A part of the table, with three deviations of a share of 0.05 in so many trials. */
static void wrong_verdicts_are_rare(void **state)
{
    static const struct {
        int truth, count, trials;
        bool baseline;
    } cases[] = { { 0, 2, 300, true },
                  { 1, 2, 600, true },
                  { 1, 6, 60, true },
                  { 1, 2, 300, false },
                  { 2, 6, 60, false } };
    oa_context *c = oa_open(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct simulated s = scenario(cases[i].truth, cases[i].count, NORMAL, cases[i].baseline);
        int times = tries(cases[i].trials);
        struct outcome o = simulate_until(c, &s, times);
        printf("%s, %d: wrong %.4f, resolved %.3f, %.1f seeds\n", truths[cases[i].truth].name,
               cases[i].count, o.wrong, o.resolved, o.seeds);
        assert_true(o.wrong <= 0.05 + 3 * sqrt(0.05 * 0.95 / times));
    }
    oa_close(c);
}

/* Seeds are spent where they are needed: large differences are settled early, and what is settled
 * gets no more. */
static void seeds_go_to_open_questions(void **state)
{
    static struct arena a;
    struct simulated s = { .count = 3, .baseline = true, .margin = 1, .truth = { 0, 8, 1 } };
    struct oa_summary sum;
    oa_context *c = oa_open(NULL);
    (void)state;
    for (int trial = 0; trial < tries(20); trial++) {
        arena_open(&a, &s, trial, SIM_SEEDS);
        arena_hold(c, &a, &sum);
        assert_int_equal(sum.entries[1].verdict, OA_VERDICT_WORSE);
        assert_in_range(sum.entries[1].made, 3, 8);
        assert_int_equal(sum.entries[0].made, sum.entries[2].made);
        oa_summary_free(&sum);
    }
    oa_close(c);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        print_table(argc > 2 ? atoi(argv[2]) : 1000);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_ranges),
        cmocka_unit_test(seeds_texts),
        cmocka_unit_test(ranges_hold_the_truth),
        cmocka_unit_test(pairs_as_scipy),
        cmocka_unit_test(pairs_on_the_page),
        cmocka_unit_test(absent_runs),
        cmocka_unit_test(results_and_back),
        cmocka_unit_test(trajectories),
        cmocka_unit_test(the_rule),
        cmocka_unit_test(decisions_repeat),
        cmocka_unit_test(wrong_verdicts_are_rare),
        cmocka_unit_test(seeds_go_to_open_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
