/* SPDX-License-Identifier: Apache-2.0
 * Retained shares in a summary, a table, a page and results.json: values against roots of SciPy's t
 * test, and the cases in which there is no interval. */
#include "results_reader.h"
#include "testing.h"

#include "report/report.h"
#include "report/retained.h"

#include <math.h>

enum { MOST = 5, SEEDS = 5, SOFTMAX = 0, LINEAR, RANDOM, PATTERN, UNIFORM };

static const double losses[MOST][SEEDS] = { { 1.602, 1.611, 1.608, 1.622, 1.605 },
                                            { 1.643, 1.649, 1.637, 1.661, 1.655 },
                                            { 1.851, 1.842, 1.869, 1.861, 1.838 },
                                            { 1.571, 1.583, 1.562, 1.590, 1.577 },
                                            { 1.845, 1.861, 1.842, 1.858, 1.849 } };

struct made {
    struct oa_comparison comparison;
    struct oa_entry entries[MOST];
    struct oa_run runs[MOST][SEEDS];
    struct oa_summary summary;
    oa_context *context;
};

static void make(struct made *m, int seeds)
{
    static const char *const names[] = { "softmax", "linear", "random", "pattern(previous)",
                                         "random(frozen, init=normal, sigma=0)" };
    *m = (struct made){ .context = oa_open(NULL),
                        .comparison = { .count = MOST, .seeds = seeds, .entries = m->entries } };
    for (int i = 0; i < MOST; i++) {
        m->entries[i] = (struct oa_entry){ .attention = (char *)(uintptr_t)names[i],
                                           .runs = m->runs[i],
                                           .uniform = i == UNIFORM };
        for (int r = 0; r < SEEDS; r++)
            m->runs[i][r] = (struct oa_run){ .seed = (uint64_t)r + 1, .valid_loss = losses[i][r] };
    }
}

static void summarize(struct made *m)
{
    assert_int_equal(oa_summary_make(m->context, &m->comparison, &m->summary), OA_OK);
}

static void clear(struct made *m)
{
    oa_summary_free(&m->summary);
    oa_close(m->context);
}

static struct oa_retained share_of(const struct made *m, int entry)
{
    return oa_retained_of(&m->comparison, &m->summary, entry);
}

static char *sentence(const struct made *m)
{
    struct oa_text t;
    oa_text_init(&t, m->context);
    oa_retained_sentence(&m->comparison, &m->summary, &t);
    return t.s;
}

static void expect_sentence(const struct made *m, const char *expected)
{
    char *found = sentence(m);
    if (expected)
        assert_string_equal(found, expected);
    else
        assert_null(found);
    oa_free(found);
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* SciPy 1.17.1: the ends are the r at which scipy.stats.ttest_1samp((uniform - x) - r (uniform -
 * softmax), 0) has p = 0.05, by brentq. */
static const double known[MOST][3] = {
    [LINEAR] = { 0.8367854183927094, 0.8010437857585825, 0.8734528714159989 },
    [RANDOM] = { -0.004971002485501247, -0.0987305232154719, 0.0835015266755723 },
    [PATTERN] = { 1.1367025683512844, 1.0956955110991038, 1.1799987549717443 },
};

static void shares_are_those_of_t_tests(void **state)
{
    (void)state;
    static struct made m;
    make(&m, SEEDS);
    summarize(&m);
    assert_int_equal(oa_retained_whole(&m.comparison, &m.summary), SOFTMAX);
    for (int i = LINEAR; i <= PATTERN; i++) {
        struct oa_retained r = share_of(&m, i);
        assert_int_equal(r.state, OA_RETAINED_BOUNDED);
        near(r.share.value, known[i][0]);
        near(r.share.low, known[i][1]);
        near(r.share.high, known[i][2]);
    }
    near(share_of(&m, SOFTMAX).share.value, 1);
    assert_int_equal(share_of(&m, UNIFORM).state, OA_RETAINED_NONE);
    expect_sentence(&m, "pattern(previous) keeps 114 % (95 % interval 110 to 118 %), linear keeps "
                        "84 % (95 % interval 80 to 87 %), random keeps 0 % (95 % interval -10 to "
                        "8 %) of what softmax gains over the uniform baseline.");
    clear(&m);
}

/* A measure of which more is better, with a baseline that is not softmax. */
static void shares_of_scores_are_those_of_losses(void **state)
{
    (void)state;
    static const struct oa_measure measures[] = {
        { .name = "loss", .title = "loss", .unit = "nats", .decimals = 4 },
        { .name = "accuracy", .title = "accuracy", .unit = "%", .decimals = 2, .higher = true },
        { .name = NULL },
    };
    static struct made m;
    make(&m, SEEDS);
    assert_int_equal(oa_comparison_set_measures(m.context, &m.comparison, measures, 1), OA_OK);
    m.comparison.baseline = 1 + PATTERN;
    for (int i = 0; i < MOST; i++)
        for (int r = 0; r < SEEDS; r++)
            m.runs[i][r].scores[1] = 100 - losses[i][r];
    summarize(&m);
    assert_int_equal(oa_retained_whole(&m.comparison, &m.summary), PATTERN);
    near(share_of(&m, SOFTMAX).share.value, 1 / known[PATTERN][0]);
    near(share_of(&m, SOFTMAX).share.low, 1 / known[PATTERN][2]);
    near(share_of(&m, SOFTMAX).share.high, 1 / known[PATTERN][1]);
    oa_free(m.comparison.measures);
    clear(&m);
}

static void a_gain_that_is_not_shown_bounds_nothing(void **state)
{
    (void)state;
    static struct made m;
    make(&m, SEEDS);
    for (int r = 0; r < SEEDS; r++)
        m.runs[SOFTMAX][r].valid_loss = losses[RANDOM][r];
    summarize(&m);
    assert_int_equal(share_of(&m, LINEAR).state, OA_RETAINED_UNBOUNDED);
    expect_sentence(&m, "Retained share: not bounded: softmax is not shown to differ from the "
                        "uniform baseline.");
    oa_summary_free(&m.summary);
    for (int r = 0; r < SEEDS; r++) /* the same model: differences of 0 without any spread */
        m.runs[SOFTMAX][r].valid_loss = losses[UNIFORM][r];
    summarize(&m);
    assert_int_equal(share_of(&m, LINEAR).state, OA_RETAINED_UNBOUNDED);
    oa_summary_free(&m.summary);
    for (int r = 0; r < SEEDS; r++)
        m.runs[SOFTMAX][r].valid_loss = losses[UNIFORM][r] + 0.1 + 0.001 * r;
    summarize(&m);
    assert_int_equal(share_of(&m, LINEAR).state, OA_RETAINED_LOSS);
    expect_sentence(&m, "Retained share: softmax is worse than the uniform baseline: nothing to "
                        "retain.");
    clear(&m);
}

/* Alone the gain of 0.0168 has p = 0.04, and Fieller's interval is bounded; in the family of four
 * it is not significant. */
static void an_insignificant_gain_has_no_shares(void **state)
{
    (void)state;
    static const double gain[SEEDS] = { 0.0020, 0.0270, 0.0310, 0.0060, 0.0180 };
    static struct made m;
    struct oa_text table, json;
    make(&m, SEEDS);
    m.comparison.baseline = 1 + SOFTMAX;
    for (int r = 0; r < SEEDS; r++)
        m.runs[SOFTMAX][r].valid_loss = losses[UNIFORM][r] - gain[r];
    summarize(&m);
    assert_int_equal(oa_compared_pair(&m.summary, SOFTMAX, UNIFORM)->verdict,
                     OA_AGAINST_UNRESOLVED);
    assert_int_equal(share_of(&m, LINEAR).share.form, OA_FIELLER_BOUNDED);
    assert_int_equal(share_of(&m, LINEAR).state, OA_RETAINED_INSIGNIFICANT);
    assert_false(oa_retained_any(&m.comparison, &m.summary));
    static const char note[] = "not given: the gain of softmax over the uniform baseline is not "
                               "significant";
    expect_sentence(&m, "Retained share: not given: the gain of softmax over the uniform baseline "
                        "is not significant.");
    oa_text_init(&table, m.context);
    oa_text_init(&json, m.context);
    oa_report_markdown(&m.comparison, &m.summary, &table);
    oa_report_json(&m.comparison, &m.summary, &json);
    assert_null(strstr(table.s, "| retained share"));
    assert_non_null(strstr(table.s, note));
    json_t *root = json_loads(json.s, 0, NULL), *entries = json_object_get(root, "entries");
    const json_t *share = json_object_get(json_array_get(entries, LINEAR), "retained");
    assert_true(json_is_null(json_object_get(share, "value")));
    assert_true(json_is_null(json_object_get(share, "low")));
    assert_string_equal(json_string_value(json_object_get(share, "reason")), note);
    json_decref(root);
    oa_text_free(&table);
    oa_text_free(&json);
    clear(&m);
}

static void failed_runs_have_no_share(void **state)
{
    (void)state;
    static struct made m;
    make(&m, SEEDS);
    m.runs[LINEAR][2].failed = true;
    summarize(&m);
    assert_int_equal(share_of(&m, LINEAR).state, OA_RETAINED_NONE);
    assert_int_equal(share_of(&m, PATTERN).state, OA_RETAINED_BOUNDED);
    oa_summary_free(&m.summary);
    m.runs[UNIFORM][0].failed = true;
    summarize(&m);
    assert_int_equal(share_of(&m, PATTERN).state, OA_RETAINED_NONE);
    expect_sentence(&m, "Retained share: a run failed.");
    clear(&m);
}

static void one_seed_has_a_value_alone(void **state)
{
    (void)state;
    static struct made m;
    make(&m, 1);
    summarize(&m);
    struct oa_retained r = share_of(&m, LINEAR);
    assert_int_equal(r.state, OA_RETAINED_ONE_SEED);
    near(r.share.value, (1.845 - 1.643) / (1.845 - 1.602));
    clear(&m);
}

static void without_softmax_or_uniform_baseline(void **state)
{
    (void)state;
    static struct made m;
    make(&m, SEEDS);
    m.entries[UNIFORM].uniform = false;
    summarize(&m);
    assert_int_equal(oa_retained_whole(&m.comparison, &m.summary), -1);
    expect_sentence(&m, NULL);
    oa_summary_free(&m.summary);
    m.entries[UNIFORM].uniform = true;
    m.entries[SOFTMAX].attention = (char *)(uintptr_t) "sparsemax";
    summarize(&m);
    assert_int_equal(oa_retained_whole(&m.comparison, &m.summary), -1);
    expect_sentence(&m, NULL);
    clear(&m);
}

/* ---- what is printed ---- */

static void all_reports_show_shares(void **state)
{
    (void)state;
    static struct made m;
    struct oa_text table, page, markdown, json;
    make(&m, SEEDS);
    summarize(&m);
    oa_text_init(&table, m.context);
    oa_text_init(&page, m.context);
    oa_text_init(&markdown, m.context);
    oa_text_init(&json, m.context);
    oa_report_table(&m.comparison, &m.summary, 0, &table);
    oa_report_html(&m.comparison, &m.summary, &page);
    oa_report_markdown(&m.comparison, &m.summary, &markdown);
    oa_report_json(&m.comparison, &m.summary, &json);
    bool column = strstr(table.s, "0.84 [0.80, 0.87]") != NULL;
    bool words = strstr(table.s, "linear keeps 84 %") != NULL;
    assert_true(column != words);
    assert_non_null(strstr(markdown.s, "| 0.84 \\[0.80, 0.87\\] |"));
    assert_non_null(strstr(markdown.s, "| 1.00 |"));
    assert_non_null(strstr(page.s, "<figure id=\"retained\">"));
    assert_non_null(strstr(page.s, "0: uniform baseline,  1: softmax"));
    assert_non_null(strstr(page.s, ">1.14 [1.10, 1.18]</text>"));
    json_t *root = json_loads(json.s, 0, NULL), *entries = json_object_get(root, "entries");
    const json_t *share = json_object_get(json_array_get(entries, LINEAR), "retained");
    near(json_real_value(json_object_get(share, "value")), known[LINEAR][0]);
    near(json_real_value(json_object_get(share, "low")), known[LINEAR][1]);
    near(json_real_value(json_object_get(share, "high")), known[LINEAR][2]);
    assert_int_equal(json_integer_value(json_object_get(share, "of")), SOFTMAX);
    assert_int_equal(json_integer_value(json_object_get(share, "n")), SEEDS);
    assert_true(json_is_null(json_object_get(share, "reason")));
    assert_true(json_is_null(json_object_get(json_array_get(entries, UNIFORM), "retained")));
    json_decref(root);
    oa_text_free(&table);
    oa_text_free(&page);
    oa_text_free(&markdown);
    oa_text_free(&json);
    clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_t_tests),
        cmocka_unit_test(shares_of_scores_are_those_of_losses),
        cmocka_unit_test(a_gain_that_is_not_shown_bounds_nothing),
        cmocka_unit_test(an_insignificant_gain_has_no_shares),
        cmocka_unit_test(failed_runs_have_no_share),
        cmocka_unit_test(one_seed_has_a_value_alone),
        cmocka_unit_test(without_softmax_or_uniform_baseline),
        cmocka_unit_test(all_reports_show_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
