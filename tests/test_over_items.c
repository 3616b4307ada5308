/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences over seeds and items from the runs of a comparison: which items count, in which
 * direction, and what is printed where they are missing. The statistics: test_crossed.c.
 */
#include "compare/comparison.h"
#include "report/over_items.h"
#include "report/report.h"
#include "synthetic_comparison.h"
#include "testing.h"

#include <math.h>

enum { SEEDS = 5, ITEMS = 12, BLOCKS = 250 };

static oa_context *c;
static struct oa_comparison k;
static struct oa_entry entries[2];
static struct oa_run runs[2][SEEDS];
static const struct oa_measure
    loss_alone[] = { { "loss", "valid loss", "nats a token", .decimals = 4 }, { .name = NULL } },
    classes[] = { { "loss", "valid loss", "nats an example", .decimals = 4 },
                  { "accuracy", "accuracy", "%", .decimals = 2, .higher = true },
                  { "f1", "macro F1", "%", .decimals = 2, .higher = true },
                  { .name = NULL } };

static double targets_of(int i)
{
    return 1 + i * 7 % 4;
}

/* The table of test_crossed.c. */
static double difference(int s, int i)
{
    return (s * 37 + i * 11) % 13 / 8.0 + (s * s + 3 * i) % 7 / 16.0 - i * i % 5 / 4.0 +
           s / 16.0 * targets_of(i);
}

/* Two attentions that differ so in the measure, in the direction of costs. */
static void begin(const struct oa_measure *measures, int metric, int count, bool text)
{
    k = (struct oa_comparison){ .entries = entries, .count = 2, .seeds = SEEDS };
    assert_int_equal(oa_comparison_set_measures(c, &k, measures, metric), OA_OK);
    for (int a = 0; a < 2; a++) {
        entries[a] = (struct oa_entry){ .runs = runs[a] };
        for (int s = 0; s < SEEDS; s++) {
            struct oa_run *r = &runs[a][s];
            *r = (struct oa_run){ .seed = (uint64_t)s, .valid_loss = 1 };
            r->scores[1] = r->scores[2] = 50;
            r->items = (struct oa_items){ .count = count, .text = text, .rows_per_item = 1 };
            for (int m = 0; m <= (metric > 0); m++) {
                assert_int_equal(oa_items_begin(c, &r->items, m), OA_OK);
                for (int i = 0; i < count; i++)
                    oa_items_add(&r->items, m, i,
                                 a ? i : i + (m ? -difference(s, i) : difference(s, i)),
                                 targets_of(i));
            }
        }
    }
}

static int end_test(void **state)
{
    (void)state;
    for (int a = 0; a < 2; a++)
        for (int s = 0; s < SEEDS; s++)
            oa_run_free(&runs[a][s]);
    memset(runs, 0, sizeof runs);
    oa_free(k.measures);
    k.measures = NULL;
    oa_close(c);
    return 0;
}

static int begin_test(void **state)
{
    (void)state;
    c = oa_open(&(struct oa_settings){ .threads = 1 });
    return c == NULL;
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-10 * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static struct oa_over_items over_items(enum oa_items_state expected)
{
    struct oa_over_items x;
    assert_int_equal(oa_over_items_of(c, &k, 0, 1, &x), OA_OK);
    assert_int_equal(x.state, expected);
    return x;
}

/* NumPy 2.4.6: the first row of test_crossed.c. */
static void costs_of_examples(void **state)
{
    (void)state;
    for (int metric = 0; metric < 2; metric++) {
        begin(metric ? classes : loss_alone, metric, ITEMS, false);
        struct oa_over_items x = over_items(OA_ITEMS_KNOWN);
        assert_int_equal(x.of.items, ITEMS);
        assert_int_equal(x.of.seeds, SEEDS);
        near(x.of.mean, 0.32333333333333336);
        near(x.of.seed, 0.0014159722222222223);
        near(x.of.item, 0.002679671717171717);
        near(x.of.df, 9.873893430601091);
        if (!metric)
            for (int a = 0; a < 2; a++)
                for (int s = 0; s < SEEDS; s++)
                    oa_run_free(&runs[a][s]);
        if (!metric)
            oa_free(k.measures);
    }
}

/* 250 blocks become 32 of 8, the last of 2: the statistics of these. */
static void blocks_of_a_text_are_merged(void **state)
{
    double sums[SEEDS * 32] = { 0 }, targets[32] = { 0 };
    struct oa_crossed expected;
    (void)state;
    begin(loss_alone, 0, BLOCKS, true);
    for (int i = 0; i < BLOCKS; i++) {
        targets[i / 8] += targets_of(i);
        for (int s = 0; s < SEEDS; s++)
            sums[s * 32 + i / 8] += difference(s, i);
    }
    assert_int_equal(oa_crossed_of(c, sums, targets, SEEDS, 32, &expected), OA_OK);
    struct oa_over_items x = over_items(OA_ITEMS_KNOWN);
    assert_true(x.text);
    assert_int_equal(x.of.items, 32);
    near(x.of.mean, expected.mean);
    near(x.of.variance, expected.variance);
    near(x.of.df, expected.df);
}

/* Seeds that one of the two has not finished are left out. */
static void seeds_of_both(void **state)
{
    (void)state;
    begin(loss_alone, 0, ITEMS, false);
    runs[1][2].failed = true;
    runs[0][4].absent = true;
    oa_items_free(&runs[0][4].items);
    assert_int_equal(over_items(OA_ITEMS_KNOWN).of.seeds, 3);
    runs[1][0].failed = runs[1][1].failed = true;
    over_items(OA_ITEMS_ONE);
}

static void what_is_missing(void **state)
{
    (void)state;
    begin(classes, 2, ITEMS, false);
    over_items(OA_ITEMS_NO_MEAN);
    k.metric = 1;
    over_items(OA_ITEMS_KNOWN);
    runs[1][3].items.measured[1][5].targets += 1;
    over_items(OA_ITEMS_UNLIKE);
    runs[1][3].items.measured[1][5].targets -= 1;
    oa_items_free(&runs[0][1].items);
    over_items(OA_ITEMS_MISSING);
}

/* At the level of the verdict; without a verdict, and with interim analyses, there is none. */
static void intervals_of_results(void **state)
{
    (void)state;
    begin(classes, 1, ITEMS, false);
    struct oa_over_items x = over_items(OA_ITEMS_KNOWN);
    struct oa_against a = {
        .b = 1,
        .se = sqrt(x.of.seed),
        .df = SEEDS - 1,
        .difference = { .n = SEEDS, .mean = x.of.mean, .sd = sqrt(x.of.seed * SEEDS) },
        .half = 0.1,
        .level = 0.05
    };
    struct oa_item_halves h = oa_item_halves_of(&k, &a, &x);
    near(h.seeds, 0.1044759810708053); /* SciPy 1.17.1: t.ppf(0.975, 4) sqrt(0.00141597222) */
    near(h.both, 0.1299943392972872);
    json_t *object = json_object(), *both;
    oa_set_item_intervals(c, &k, &a, object);
    both = json_object_get(object, "over_items");
    near(json_number_value(json_object_get(both, "high")), -x.of.mean + h.both);
    near(json_number_value(json_object_get(json_object_get(object, "over_seeds"), "low")),
         -x.of.mean - h.seeds);
    assert_int_equal(json_integer_value(json_object_get(both, "items")), ITEMS);
    assert_string_equal(json_string_value(json_object_get(both, "item")), "example");
    assert_string_equal(json_string_value(json_object_get(object, "items_state")), "known");
    json_decref(object);
    a.level = NAN;
    assert_true(isnan(oa_item_halves_of(&k, &a, &x).seeds));
    a.level = 0.05;
    k.sequential = true;
    assert_true(isnan(oa_item_halves_of(&k, &a, &x).both));
}

/* ---- reports ---- */

enum { EXAMPLES = 40 };

/* Of the first two attentions each run has its loss as the mean over 40 examples; those of the
 * second vary by `spread` more than those of the first. */
static void give_items(struct oa_comparison *made, double spread)
{
    for (int a = 0; a < 2; a++)
        for (int s = 0; s < made->seeds; s++) {
            struct oa_run *r = &made->entries[a].runs[s];
            r->items = (struct oa_items){ .count = EXAMPLES, .rows_per_item = 1 };
            assert_int_equal(oa_items_begin(c, &r->items, 0), OA_OK);
            for (int i = 0; i < EXAMPLES; i++)
                oa_items_add(&r->items, 0, i, r->valid_loss + a * spread * (i % 2 ? 1 : -1), 1);
        }
}

static char *report_of(struct oa_comparison *made,
                       void (*report)(const struct oa_comparison *, const struct oa_summary *,
                                      struct oa_text *))
{
    struct oa_summary s;
    struct oa_text t;
    assert_int_equal(oa_summary_make(c, made, &s), OA_OK);
    oa_text_init(&t, c);
    report(made, &s, &t);
    oa_summary_free(&s);
    assert_int_equal(oa_status(c), OA_OK);
    return t.s;
}

static void report_has(struct oa_comparison *made,
                       void (*report)(const struct oa_comparison *, const struct oa_summary *,
                                      struct oa_text *),
                       const char *words, bool expected)
{
    char *text = report_of(made, report);
    for (char *at = text; *at; at++)
        if (*at == '\n')
            *at = ' ';
    if ((strstr(text, words) != NULL) != expected)
        fail_msg("\"%s\" is %s: %s", words, expected ? "missing" : "there", text);
    oa_free(text);
}

static void plain_table(const struct oa_comparison *made, const struct oa_summary *s,
                        struct oa_text *out)
{
    oa_report_table(made, s, 132, out);
}

/* The difference is about 0.05 with a spread over seeds of 0.004: clear over seeds. */
static void disagreement_is_reported(void **state)
{
    static const struct synthetic two[] = { { "softmax", 1.632, 0.004, 41000, 812032, 0, 0 },
                                            { "linear", 1.682, 0.004, 52500, 812032, 0, 0 } };
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct oa_comparison made;
        make_comparison(c, two, 2, 6, &made);
        made.baseline = 1;
        if (kind)
            give_items(&made, kind == 1 ? 0.01 : 1);
        report_has(&made, plain_table, "an older version made runs of this comparison", !kind);
        report_has(&made, plain_table,
                   "Over seeds and items (40 validation examples), as over seeds alone, the same "
                   "differences to softmax exclude 0.",
                   kind == 1);
        report_has(&made, plain_table, "other validation data of the same kind may not show it",
                   kind == 2);
        report_has(&made, oa_report_markdown, "| yes |", kind == 1);
        report_has(&made, oa_report_markdown, "| over seeds alone |", kind == 2);
        report_has(&made, oa_report_html, "<h2>Other validation data</h2>", kind > 0);
        oa_comparison_free(&made);
    }
}

/* With compare.items random the verdict is that of the interval over seeds and items. */
static void verdicts_over_items(void **state)
{
    static const struct synthetic two[] = { { "softmax", 1.632, 0.004, 41000, 812032, 0, 0 },
                                            { "linear", 1.682, 0.004, 52500, 812032, 0, 0 } };
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct oa_comparison made;
        struct oa_summary s;
        struct oa_over_items x;
        double se, df;
        make_comparison(c, two, 2, 6, &made);
        made.baseline = 1;
        made.random_items = kind / 2;
        give_items(&made, kind % 2 ? 1 : 0.01);
        assert_int_equal(oa_summary_make(c, &made, &s), OA_OK);
        const struct oa_against *a = oa_compared_pair(&s, 1, 0);
        assert_int_equal(a->verdict, kind == 3 ? OA_AGAINST_UNRESOLVED : OA_AGAINST_WORSE);
        assert_int_equal(oa_over_items_of(c, &made, 1, 0, &x), OA_OK);
        oa_crossed_error(&x.of, 0.05, &se, &df);
        if (made.random_items)
            near(a->half, oa_t_quantile(0.975, df) * se);
        else
            near(a->half, a->difference.half);
        /* what the items vary no number of seeds removes */
        assert_int_equal(s.entries[1].seeds_needed, kind == 3 ? OA_SEEDS_CAP + 1 : 0);
        report_has(&made, oa_report_html, "Verdicts use the interval over seeds and items.",
                   made.random_items);
        oa_summary_free(&s);
        oa_comparison_free(&made);
    }
}

/* SciPy 1.17.1: stats.nct.sf and cdf at the noncentrality mean/sqrt(sd²/n + constant), the smallest
 * n with a power of 80 %; without a constant part, those of one t test. */
static void seeds_beyond_items(void **state)
{
    static const struct {
        double mean, sd, constant, level;
        int seeds;
    } cases[] = {
        { 0.5, 1, 0, 0.05, 34 },       { 0.5, 1, 0.01, 0.05, 49 },
        { 0.5, 1, 0.02, 0.05, 90 },    { 0.5, 1, 0.03, 0.05, 574 },
        { 0.5, 1, 0.031, 0.01, 1001 }, { -0.02, 0.03, 2e-05, 0.0125, 64 },
        { 2, 1, 0.1, 0.05, 6 },        { 0.5, 1, 0.04, 0.05, 1001 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            oa_seeds_needed_beyond(cases[i].mean, cases[i].sd, cases[i].constant, cases[i].level),
            cases[i].seeds);
    assert_int_equal(oa_seeds_needed_beyond(0.5, 0, 0.1, 0.05), OA_SEEDS_CAP + 1);
    assert_int_equal(oa_equivalence_seeds_needed_beyond(0.1, 1, 0, 0.5, 0.05),
                     oa_equivalence_seeds_needed(0.1, 1, 0.5, 0.05));
    assert_int_equal(oa_equivalence_seeds_needed_beyond(0.1, 1, 0.1, 0.5, 0.05), OA_SEEDS_CAP + 1);
    assert_true(oa_equivalence_seeds_needed_beyond(0.1, 1, 0.001, 0.5, 0.05) >
                oa_equivalence_seeds_needed(0.1, 1, 0.5, 0.05));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)
    const struct CMUnitTest tests[] = {
        TEST(costs_of_examples),    TEST(blocks_of_a_text_are_merged),
        TEST(seeds_of_both),        TEST(what_is_missing),
        TEST(intervals_of_results), TEST(disagreement_is_reported),
        TEST(verdicts_over_items),  TEST(seeds_beyond_items)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
