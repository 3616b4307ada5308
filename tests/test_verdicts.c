/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts and the intervals next to them: of simulated comparisons nothing that is written or
 * printed may contradict itself; of outcomes of the two tests every one has its verdict; the
 * numbers are those of verdicts/family.py.
 */
#include "arena.h"

#include <jansson.h>
#include <stdlib.h>

/* ---- what an interval says, and what a word says ---- */

/* margin 0: words are about 0; `practical`: about the margin. */
static void agree(const char *where, const char *word, double low, double high, double margin,
                  bool practical)
{
    double beyond = practical ? margin : 0;
    bool above = low > beyond, below = high < -beyond, within = low >= -margin && high <= margin;
    bool right = true;
    if (strstr(word, "worse than "))
        return; /* another one than the interval is about */
    if (strcmp(word, "better") == 0 || strcmp(word, "worse") == 0 ||
        strncmp(word, "practically", 11) == 0)
        right = above || below;
    else if (strcmp(word, "no significant difference") == 0)
        right = low <= 0 && high >= 0;
    else if (strcmp(word, "undecided") == 0)
        right = !above && !below && !(low > -margin && high < margin);
    else if (strcmp(word, "equivalent") == 0)
        right = within;
    else if (strcmp(word, "uniform baseline") != 0)
        right = false; /* nothing else has an interval */
    if (!right)
        fail_msg("%s: \"%s\" next to %.9g … %.9g (margin %g)", where, word, low, high, margin);
}

/* "−0.0123", "+0.5", "0.00"; *end: behind it. */
static double signed_number(const char *text, const char **end)
{
    bool minus = strncmp(text, "−", strlen("−")) == 0;
    char *after;
    double x = strtod(text + (minus ? strlen("−") : 0), &after);
    *end = after;
    return minus ? -x : x;
}

/* "a … b" */
static bool ends_at(const char *text, double *low, double *high)
{
    const char *after;
    *low = signed_number(text, &after);
    if (strncmp(after, " … ", strlen(" … ")) != 0)
        return false;
    *high = signed_number(after + strlen(" … "), &after);
    return true;
}

/* "a ±b" */
static bool plus_minus_at(const char *text, double *low, double *high, const char **after)
{
    double mean = signed_number(text, after);
    if (strncmp(*after, " ±", strlen(" ±")) != 0)
        return false;
    double half = signed_number(*after + strlen(" ±"), after);
    *low = mean - half;
    *high = mean + half;
    if (fabs(mean) == half) /* touches 0 */
        *low = *high = 0;
    return true;
}

static void copy_until(const char *text, const char *stop, char out[64])
{
    snprintf(out, 64, "%.*s", (int)strcspn(text, stop), text);
    for (size_t n = strlen(out); n && out[n - 1] == ' '; n--)
        out[n - 1] = 0;
}

/* ---- a simulated comparison ---- */

static double drawn(const char *what, int trial, int i)
{
    return oa_random_uniform(oa_stream_named(26, what), (uint64_t)(1000 * trial + i));
}

/* Differences around what is just significant or not, of a few seeds; sometimes a margin, a
 * baseline, a uniform baseline, more interim analyses, a failed run. */
static void draw(struct arena *a, int trial)
{
    struct simulated s = { .count = 2 + (int)(5 * drawn("count", trial, 0)) };
    int seeds = 2 + (int)(7 * drawn("seeds", trial, 0));
    for (int i = 0; i < s.count; i++)
        s.truth[i] = 3 * drawn("effect", trial, i) * (drawn("large", trial, i) < 0.3 ? 3 : 1);
    s.margin = drawn("margin", trial, 0) < 0.5 ? 0 : 2 * drawn("margin", trial, 1);
    s.baseline = drawn("baseline", trial, 0) < 0.5;
    arena_open(a, &s, trial, seeds);
    a->comparison.sequential = drawn("looks", trial, 0) < 0.4;
    for (int i = 0; i < s.count; i++)
        for (int r = 0; r < seeds; r++)
            a->runs[i][r].absent = false;
    if (s.count > 2 && drawn("floor", trial, 0) < 0.6)
        a->entries[s.count - 1].uniform = true;
    if (s.count > 3 && drawn("failed", trial, 0) < 0.3)
        a->runs[s.count - 2][seeds - 1].failed = true;
}

/* ---- results.json ---- */

static double margin_of(const struct oa_comparison *k, bool uniform)
{
    return uniform ? 0 : k->margin;
}

static void check_member(const struct oa_comparison *k, const char *where, const json_t *o,
                         bool uniform, int *seen)
{
    const json_t *interval = json_object_get(o, "interval");
    const char *word = json_string_value(json_object_get(o, "verdict_text"));
    if (!json_is_object(interval))
        return;
    const json_t *low = json_object_get(interval, "low"), *high = json_object_get(interval, "high");
    double margin = margin_of(k, uniform);
    agree(where, word, json_is_null(low) ? -INFINITY : json_number_value(low),
          json_is_null(high) ? INFINITY : json_number_value(high), margin,
          k->sequential && margin > 0);
    seen[strcmp(word, "no significant difference") == 0 || strcmp(word, "undecided") == 0 ? 0
         : strcmp(word, "equivalent") == 0                                                ? 1
                                                                                          : 2]++;
}

static void check_json(const struct oa_comparison *k, const char *text, int *seen)
{
    json_t *root = json_loads(text, 0, NULL), *entry, *pair;
    size_t i;
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "entries"), i, entry)
    {
        const json_t *s = json_object_get(entry, "statistics");
        check_member(k, "JSON, entry", s, false, seen);
        check_member(k, "JSON, baseline", json_object_get(s, "baseline"), false, seen);
        check_member(k, "JSON, uniform", json_object_get(s, "floor"), true, seen);
    }
    json_array_foreach(json_object_get(root, "pairs"), i, pair)
    {
        check_member(k, "JSON, pair", pair, false, seen);
    }
    json_decref(root);
}

/* ---- what is printed ---- */

/* Every cell "a ±b WORD" of the Markdown table, and the difference before "| p | WORD". */
static int check_markdown(const struct oa_comparison *k, const char *text)
{
    int n = 0;
    double low, high;
    const char *after;
    char word[64];
    for (const char *at = strstr(text, "| "); at; at = strstr(at + 1, "| ")) {
        if (!plus_minus_at(at + 2, &low, &high, &after))
            continue;
        copy_until(after + 1, "|\n", word);
        if (!*word && at[2] != '+' && strncmp(at + 2, "−", strlen("−")) != 0 && at[2] != '0')
            continue; /* a score */
        if (!*word) { /* | p | WORD | */
            const char *p = strchr(after, '|'), *verdict = p ? strchr(p + 1, '|') : NULL;
            assert_non_null(verdict);
            copy_until(verdict + 2, "|\n", word);
        }
        bool uniform = strstr(word, "practically") == NULL && strcmp(word, "undecided") != 0 &&
                       strcmp(word, "equivalent") != 0;
        agree("Markdown", word, low, high, margin_of(k, uniform),
              k->sequential && k->margin > 0 && !uniform);
        n++;
    }
    return n;
}

static int check_after(const struct oa_comparison *k, const char *page, const char *where,
                       const char *before, const char *stop)
{
    int n = 0;
    double low, high;
    char word[64];
    for (const char *at = strstr(page, " … "); at; at = strstr(at + 1, " … ")) {
        const char *begin = at;
        while (begin > page && begin[-1] != '>' && begin[-1] != '[')
            begin--;
        const char *end = at + strcspn(at, "<]");
        if (strncmp(end, before, strlen(before)) != 0 || !ends_at(begin, &low, &high))
            continue;
        const char *verdict = end + strlen(before);
        verdict += strcspn(verdict, ">") + 1; /* the rest of the tag that `before` begins */
        copy_until(verdict, stop, word);
        bool uniform = strstr(word, "practically") == NULL && strcmp(word, "undecided") != 0 &&
                       strcmp(word, "equivalent") != 0;
        agree(where, word, low, high, margin_of(k, uniform),
              k->sequential && k->margin > 0 && !uniform);
        n++;
    }
    return n;
}

static struct oa_text
written(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s,
        void (*form)(const struct oa_comparison *, const struct oa_summary *, struct oa_text *))
{
    struct oa_text t;
    oa_text_init(&t, c);
    form(k, s, &t);
    assert_int_equal(oa_last_error(c, NULL), OA_OK);
    return t;
}

static void no_interval_contradicts_its_verdict(void **state)
{
    static struct arena a;
    int seen[3] = { 0 }, printed[3] = { 0 }, trials = tries(400);
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int trial = 0; trial < trials; trial++) {
        struct oa_summary s;
        draw(&a, trial);
        assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
        struct oa_text t = written(c, &a.comparison, &s, oa_report_json);
        check_json(&a.comparison, t.s, seen);
        oa_text_free(&t);
        t = written(c, &a.comparison, &s, oa_report_markdown);
        printed[0] += check_markdown(&a.comparison, t.s);
        oa_text_free(&t);
        t = written(c, &a.comparison, &s, oa_report_svg);
        printed[1] += check_after(&a.comparison, t.s, "chart", "]</text>\n<text ", "<");
        oa_text_free(&t);
        if (trial % 4 == 0) {
            t = written(c, &a.comparison, &s, oa_report_html);
            printed[2] += check_after(&a.comparison, t.s, "page", "</small></td><td><span ", "<");
            oa_text_free(&t);
        }
        oa_summary_free(&s);
    }
    oa_close(c);
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0); /* all kinds were met */
    assert_true(printed[0] > 2 * trials && printed[1] > trials / 2 && printed[2] > trials / 8);
}

/* Of equal attentions hardly any family excludes 0 anywhere: the level is kept over all its
 * intervals together. */
static void intervals_keep_the_level(void **state)
{
    static struct arena a;
    int wrong = 0, trials = tries(2000);
    (void)state;
    oa_context *c = oa_open(NULL);
    struct simulated equal = { .count = 5, .baseline = true };
    struct oa_standing standings[SIM_ENTRIES] = { { 0 } };
    struct oa_summary s = { .entries = standings, .count = 5, .seeds = 4, .uniform = -1 };
    for (int trial = 0; trial < trials; trial++) {
        struct oa_against out[SIM_ENTRIES];
        bool excludes = false;
        arena_open(&a, &equal, trial, 4);
        for (int i = 0; i < 5; i++)
            for (int r = 0; r < 4; r++)
                a.runs[i][r].absent = false;
        assert_int_equal(oa_compare_against(c, &a.comparison, &s, 0, 0, false, out), OA_OK);
        for (int i = 1; i < 5; i++)
            excludes = excludes || fabs(out[i].difference.mean) > out[i].half;
        wrong += excludes;
    }
    assert_true(wrong < trials * (0.05 + 3 * sqrt(0.05 * 0.95 / trials)));
    assert_true(wrong > 0);
    oa_close(c);
}

/* ---- outcome × outcome → verdict ---- */

/* A difference of n seeds with this mean and deviation. */
static struct oa_against compared(int n, double mean, double sd)
{
    struct oa_against a = oa_against_nothing();
    a.difference = (struct oa_estimate){ n, mean, sd,
                                         n > 1 ? oa_t_quantile(0.975, n - 1) * sd / sqrt(n) : NAN };
    return a;
}

/* Alone in its family, 4 seeds, sd 1: t(0.975, 3)/2 = 1.5912, t(0.95, 3)/2 = 1.1767 (tables of
 * Student's t). */
static void every_outcome_has_its_verdict(void **state)
{
    static const struct {
        const char *what;
        int n;
        double mean, sd, margin;
        enum oa_against_verdict verdict;
        double half;
    } cases[] = {
        { "different, no margin", 4, -1.60, 1, 0, OA_AGAINST_BETTER, 1.5912 },
        { "different, no margin", 4, 1.60, 1, 0, OA_AGAINST_WORSE, 1.5912 },
        { "not different, no margin", 4, 1.58, 1, 0, OA_AGAINST_UNRESOLVED, 1.5912 },
        { "different, not within the margin", 4, 1.60, 1, 2.7, OA_AGAINST_WORSE, 1.5912 },
        { "different, and within the margin", 4, 1.60, 1, 2.8, OA_AGAINST_EQUIVALENT, 1.1767 },
        { "better, and within the margin", 4, -1.60, 1, 2.8, OA_AGAINST_EQUIVALENT, 1.1767 },
        { "better, not within the margin", 4, -1.60, 1, 2.7, OA_AGAINST_BETTER, 1.5912 },
        { "not different, within the margin", 4, 0.30, 1, 1.5, OA_AGAINST_EQUIVALENT, 1.1767 },
        { "neither", 4, 0.30, 1, 1.4, OA_AGAINST_UNRESOLVED, 1.5912 },
        { "one seed", 1, 5, NAN, 0, OA_AGAINST_ONE_SEED, NAN },
        { "one seed, a margin", 1, 0.1, NAN, 1, OA_AGAINST_ONE_SEED, NAN },
        { "no seed", 0, NAN, NAN, 1, OA_AGAINST_NONE, NAN },
        { "the same with every seed", 4, 0, 0, 1, OA_AGAINST_IDENTICAL, NAN },
        { "the same difference with every seed", 4, 0.5, 0, 1, OA_AGAINST_UNJUDGED, NAN },
    };
    (void)state;
    oa_context *c = oa_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_against a = compared(cases[i].n, cases[i].mean, cases[i].sd);
        assert_int_equal(oa_judge_family(c, &a, 1, cases[i].margin, 0), OA_OK);
        if (a.verdict != cases[i].verdict)
            fail_msg("%s: verdict %d", cases[i].what, (int)a.verdict);
        if (isnan(cases[i].half) ? !isnan(a.half) : fabs(a.half - cases[i].half) > 1e-4)
            fail_msg("%s: half of the interval is %g", cases[i].what, a.half);
    }
    oa_close(c);
}

/* At any look: judged by the anytime-valid interval and by no other. 4 seeds, sd 1, one comparison.
 */
static void every_outcome_at_any_look(void **state)
{
    static const struct {
        double of_half, margin; /* mean and margin in units of the interval's half */
        enum oa_against_verdict verdict;
    } cases[] = { { 0.9, 0, OA_AGAINST_UNRESOLVED },
                  { 1.1, 0, OA_AGAINST_WORSE },
                  { -1.1, 0, OA_AGAINST_BETTER },
                  { 1.1, 0.5, OA_AGAINST_UNRESOLVED }, /* excludes 0, not the margin */
                  { 1.6, 0.5, OA_AGAINST_WORSE },
                  { -1.6, 0.5, OA_AGAINST_BETTER },
                  { 0.2, 1.1, OA_AGAINST_UNRESOLVED },
                  { 0.05, 1.1, OA_AGAINST_EQUIVALENT },
                  { -0.05, 1.1, OA_AGAINST_EQUIVALENT } };
    (void)state;
    oa_context *c = oa_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_against a = compared(4, 0, 1);
        double half = oa_anytime_half(&a.difference, 0.05), t_half = a.difference.half;
        assert_true(half > 1.2 * t_half);
        a.difference.mean = cases[i].of_half * half;
        assert_int_equal(oa_judge_family(c, &a, 1, cases[i].margin * half, 1), OA_OK);
        assert_int_equal(a.verdict, cases[i].verdict);
        assert_true(a.half == half && a.level == 0.05);
    }
    oa_close(c);
}

/* ---- the numbers ---- */

/* verdicts/family.py: the losses of test_baseline.c against the first, margin 0.01. */
static void as_family_py(void **state)
{
    static const double five[5][6] = { { 1.6377, 1.6391, 1.6325, 1.6602, 1.6299, 1.6412 },
                                       { 1.6011, 1.6102, 1.6087, 1.6220, 1.6055, 1.6101 },
                                       { 1.6380, 1.6389, 1.6331, 1.6598, 1.6310, 1.6405 },
                                       { 1.7101, 1.7288, 1.7071, 1.7294, 1.7033, 1.7150 },
                                       { 1.6401, 1.6300, 1.6475, 1.6700, 1.6201, 1.6512 } };
    static const struct {
        enum oa_against_verdict verdict;
        double level, half;
    } expected[] = { { OA_AGAINST_NONE, 0, 0 },
                     { OA_AGAINST_BETTER, 0.05 / 3, 0.00869324187862679 },
                     { OA_AGAINST_EQUIVALENT, 0.025, 0.0008698500116428352 },
                     { OA_AGAINST_WORSE, 0.0125, 0.011195803959156578 },
                     { OA_AGAINST_UNRESOLVED, 0.025, 0.013542758281427255 } };
    static struct arena a;
    struct oa_summary s;
    (void)state;
    oa_context *c = oa_open(NULL);
    arena_open(&a, &(struct simulated){ .count = 5, .baseline = true, .margin = 0.01 }, 0, 6);
    a.comparison.sequential = false;
    for (int i = 0; i < 5; i++)
        for (int r = 0; r < 6; r++) {
            a.runs[i][r].valid_loss = five[i][r];
            a.runs[i][r].absent = false;
        }
    assert_int_equal(oa_summary_make(c, &a.comparison, &s), OA_OK);
    for (int i = 1; i < 5; i++) {
        assert_int_equal(s.entries[i].baseline.verdict, expected[i].verdict);
        assert_true(fabs(s.entries[i].baseline.level - expected[i].level) < 1e-15);
        assert_true(fabs(s.entries[i].baseline.half / expected[i].half - 1) < 1e-9);
    }
    oa_summary_free(&s);
    oa_close(c);
}

/* By hand: 0.01, 0.02, 0.03 of four with 0.5: 0.01·4 and 0.02·3 > 0.05: all but the first are
 * judged at 0.05/3. */
static void levels_of_steps(void **state)
{
    static const double p[] = { 0.03, NAN, 0.01, 0.5, 0.02 };
    double levels[5];
    (void)state;
    oa_holm_levels(p, 5, 0.05, levels);
    assert_true(levels[2] == 0.05 / 4 && isnan(levels[1]));
    assert_true(levels[0] == 0.05 / 3 && levels[3] == 0.05 / 3 && levels[4] == 0.05 / 3);
    static const double all[] = { 0.001, 0.002, 0.003 };
    oa_holm_levels(all, 3, 0.05, levels);
    assert_true(levels[0] == 0.05 / 3 && levels[1] == 0.05 / 2 && levels[2] == 0.05);
}

/* Simulated with numpy, 200,000 samples each: at 0.2 of a margin of 1, deviation 1, the tests at
 * 0.05 have a power of 0.776 with 11 seeds, 0.818 with 12; at 0 of it 0.794 with 10, 0.849 with 11.
 */
static void seeds_for_equivalence(void **state)
{
    (void)state;
    assert_int_equal(oa_equivalence_seeds_needed(1, 1, 1, 0.05), OA_SEEDS_CAP + 1);
    assert_int_equal(oa_equivalence_seeds_needed(-2, 1, 1, 0.05), OA_SEEDS_CAP + 1);
    assert_int_equal(oa_equivalence_seeds_needed(0, 0, 1, 0.05), 2);
    assert_int_equal(oa_equivalence_seeds_needed(0, 1, 1, 0.05), 11);
    int few = oa_equivalence_seeds_needed(0.2, 1, 1, 0.05),
        more = oa_equivalence_seeds_needed(0.2, 1, 1, 0.0125);
    assert_int_equal(few, 12);
    assert_true(more > few);
    assert_true(oa_equivalence_seeds_needed(-0.2, 1, 1, 0.05) == few);
}

/* What is printed excludes 0 exactly where the numbers do, with more decimals where it takes them.
 */
static void printed_intervals(void **state)
{
    char out[OA_INTERVAL];
    (void)state;
    assert_string_equal(oa_print_plus_minus(out, -1.936, 1.14, 2), "−1.94 ±1.14");
    assert_string_equal(oa_print_plus_minus(out, 0.01236, 0.01234, 4), "+0.01236 ±0.01234");
    assert_string_equal(oa_print_plus_minus(out, 0.01234, 0.01236, 3), "+0.012 ±0.012");
    assert_string_equal(oa_print_ends(out, 1, 0.99996, 2), "+0.00004 … +1.99996");
    assert_string_equal(oa_print_ends(out, -0.5, 0.25, 2), "−0.75 … −0.25");
    assert_string_equal(oa_print_ends(out, 1, NAN, 2), "–");
    assert_string_equal(oa_print_plus_minus(out, 1, INFINITY, 2), "+1.00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_interval_contradicts_its_verdict),
        cmocka_unit_test(intervals_keep_the_level),
        cmocka_unit_test(every_outcome_has_its_verdict),
        cmocka_unit_test(every_outcome_at_any_look),
        cmocka_unit_test(as_family_py),
        cmocka_unit_test(levels_of_steps),
        cmocka_unit_test(seeds_for_equivalence),
        cmocka_unit_test(printed_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
