/* SPDX-License-Identifier: Apache-2.0
 * What reports say of a tuning that nobody ran: the charts against the numbers they are drawn from,
 * the words, and results.json damaged. */
#include "results_reader.h"
#include "testing.h"

#include "report/report.h"
#include "synthetic_comparison.h"

enum { THREE = 3 };

/* Rates in an order of their own; clip 0 is worse by 0.5, and the largest rate diverges with it. */
static const char grid_text[] = "train.lr=0.01,0.0001,0.001,1;train.clip=1,0";
static const double rate_losses[THREE][4] = { { 2.5, 3, 2, 90 },
                                              { 2.5, 2.25, 3, 4 },
                                              { 2, 2, 2, 1.5 } };

static void make_tuned(oa_context *c, struct oa_comparison *k)
{
    make_comparison(c, six_attentions, THREE, 3, k);
    assert_int_equal(oa_grid_parse(c, grid_text, &k->tuning.grid), OA_OK);
    k->tuning.seeds = 1;
    k->tuning.fraction = 0.25;
    k->tuning.train_tokens = 3000;
    k->tuning.valid_tokens = 1000;
    for (int i = 0; i < THREE; i++) {
        struct oa_entry *e = &k->entries[i];
        e->tuned = oa_alloc(c, sizeof *e->tuned);
        *e->tuned = (struct oa_tuned){ .grid = k->tuning.grid,
                                       .trials = oa_alloc(c, 8 * sizeof *e->tuned->trials) };
        struct oa_run *trials = e->tuned->trials;
        for (int cell = 0; cell < 8; cell++) {
            bool failed = cell == 7;
            trials[cell] =
                (struct oa_run){ .seed = 1000001, .steps = failed ? 3 : 100, .failed = failed };
            trials[cell].valid_loss =
                failed ? (double)NAN : rate_losses[i][cell / 2] + 0.5 * (cell % 2);
            trials[cell].flops = 1e6;
            snprintf(trials[cell].failure, sizeof trials[cell].failure, failed ? "step 3" : "");
        }
        e->tuned->chosen = oa_trial_best(k, e->tuned);
    }
}

static char *report(oa_context *c, const struct oa_comparison *k,
                    void (*form)(const struct oa_comparison *, const struct oa_summary *,
                                 struct oa_text *))
{
    struct oa_summary s;
    struct oa_text t;
    assert_int_equal(oa_summary_make(c, k, &s), OA_OK);
    oa_text_init(&t, c);
    form(k, &s, &t);
    oa_summary_free(&s);
    assert_int_equal(oa_last_error(c, NULL), OA_OK);
    return t.s;
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("there is no \"%s\" in %s", part, text);
}

static void test_the_choice(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    make_tuned(c, &k);
    assert_int_equal(k.entries[0].tuned->chosen, 4); /* 0.001, 1 */
    assert_int_equal(k.entries[1].tuned->chosen, 2); /* 0.0001, 1 */
    assert_int_equal(k.entries[2].tuned->chosen, 6); /* 1, 1 */
    oa_comparison_free(&k);
    oa_close(c);
}

static void test_words(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    make_tuned(c, &k);
    char *t = report(c, &k, oa_report_markdown);
    expect(t, "Tuned for each attention: train.lr and train.clip, the best of 8 settings on a "
              "held-out part of the training text (24 runs with 24.0M FLOPs, in addition to the ");
    expect(t, "All seeds of an attention share its choice, so the luck of that choice is in no "
              "interval.");
    expect(t, "Tuned for each attention: train.lr of 0.01, 0.0001, 0.001, 1; train.clip of 1, 0; "
              "chosen by the mean loss over 1 seed, other than those of the comparison, on the "
              "last 25 % of the training text (1000 tokens)");
    expect(t, "Cost of tuning: 24 runs, 2109 steps, 24.0M FLOPs, 0 s of processor time.");
    expect(t, "The best train.lr of local(window=64), 0.0001, is the smallest that was tried: try "
              "smaller ones.");
    expect(t,
           "The best train.lr of orthogonal, 1, is the largest that was tried: try larger ones.");
    assert_null(strstr(t, "The best train.lr of softmax"));
    expect(t, "The best train.clip of softmax, 1, is the largest that was tried: try larger ones.");
    expect(t, "Diverged in tuning: softmax with train.lr=1,train.clip=0; ");
    expect(t, "| lr=0.001 clip=1 |");
    oa_free(t);
    oa_comparison_free(&k);
    oa_close(c);
}

/* ---- each seed tuned for itself ---- */

/* The best rate of each attention and seed; those of the second try 0.03 as well, where its third
 * seed is best. */
static const double best_rates[THREE][3] = { { 0.001, 0.001, 0.001 },
                                             { 0.001, 0.01, 0.03 },
                                             { 0.01, 0.001, 0.01 } };

static double nested_loss(int entry, int seed, double rate)
{
    return 2 + 0.125 * seed + 0.25 * fabs(log10(rate / best_rates[entry][seed]));
}

static void make_nested(oa_context *c, struct oa_comparison *k)
{
    make_comparison(c, six_attentions, THREE, 3, k);
    assert_int_equal(oa_grid_parse(c, "train.lr=0.001,0.01", &k->tuning.grid), OA_OK);
    k->tuning.per_seed = true;
    k->tuning.extend = 1;
    k->tuning.seeds = 1;
    k->tuning.fraction = 0.1;
    k->tuning.valid_tokens = 1000;
    for (int i = 0; i < THREE; i++) {
        k->entries[i].tuned = oa_alloc(c, 3 * sizeof *k->entries[i].tuned);
        for (int s = 0; s < 3; s++) {
            struct oa_tuned *u = &k->entries[i].tuned[s];
            u->grid = k->tuning.grid;
            if (i == 1 && s == 2)
                oa_grid_add(&u->grid, 0, "0.03");
            u->trials = oa_alloc(c, (size_t)u->grid.cells * sizeof *u->trials);
            for (int cell = 0; cell < u->grid.cells; cell++) {
                double rate = 0;
                assert_true(oa_parse_real(oa_grid_value(&u->grid, cell, 0), &rate));
                u->trials[cell] = (struct oa_run){ .seed = (uint64_t)(1000001 + s),
                                                   .steps = 100,
                                                   .flops = 1e6,
                                                   .valid_loss = nested_loss(i, s, rate) };
            }
            u->chosen = oa_trial_best(k, u);
        }
    }
}

static void test_nested_words(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    make_nested(c, &k);
    char *t = report(c, &k, oa_report_markdown);
    expect(t, "| lr=0.001 |");
    expect(t, "| lr=0.001 (1), 0.01 (1), 0.03 (1) |");
    expect(t, "| lr=0.01 (2), 0.001 (1) |"); /* the most frequent one first */
    expect(t, "Tuned for each attention and seed: train.lr, the best of 2 to 3 settings on a "
              "held-out part of the training text (19 runs with 19.0M FLOPs, in addition to the ");
    expect(t, "Tuned for each attention and each seed of the comparison: train.lr of 0.001, 0.01; "
              "chosen by the mean loss over 1 seed of its own, other than those of the comparison");
    expect(t, "Where the best value was the smallest or largest, more were tried, at most 1 of an "
              "option: 1 in all.");
    expect(t, "Cost of tuning: 19 runs, 1900 steps, 19.0M FLOPs");
    expect(t, "The best train.lr of softmax is the smallest that was tried with 3 of 3 seeds: try "
              "smaller ones.");
    expect(t, "The best train.lr of local(window=64) is the smallest or the largest that was "
              "tried with 3 of 3 seeds: try smaller and larger ones.");
    assert_null(strstr(t, "luck of that choice is in no interval"));
    oa_free(t);
    oa_comparison_free(&k);
    oa_close(c);
}

static void expect_same_again(oa_context *c, const char *json, const char *page)
{
    struct oa_comparison back;
    assert_int_equal(oa_comparison_from_json(c, json, &back), OA_OK);
    char *again = report(c, &back, oa_report_json);
    assert_string_equal(again, json);
    oa_free(again);
    again = report(c, &back, oa_report_html);
    assert_string_equal(again, page);
    oa_free(again);
    oa_comparison_free(&back);
}

/* Two trials that take half as long as a run: a seed more costs twice as much as without tuning. */
static void test_more_seeds_are_tuned_too(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    struct oa_summary s;
    make_nested(c, &k);
    k.entries[1].runs[0].valid_loss = k.entries[0].runs[0].valid_loss + 0.1; /* an open question */
    for (int i = 0; i < THREE; i++) {
        double mean = 0;
        for (int seed = 0; seed < 3; seed++)
            mean += k.entries[i].runs[seed].seconds / 3;
        for (int seed = 0; seed < 3; seed++)
            for (int cell = 0; cell < 2; cell++)
                k.entries[i].tuned[seed].trials[cell].seconds = mean / 2;
    }
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    double tuned = s.advice.seconds;
    oa_summary_free(&s);
    k.tuning.grid.options = 0;
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    assert_true(s.advice.seconds > 0 && fabs(tuned / s.advice.seconds - 2) < 1e-9);
    oa_summary_free(&s);
    oa_comparison_free(&k);
    oa_close(c);
}

/* Means over the seeds that tried a value, by hand: the second attention has 2 and 2.375 and 2.25 +
 * 0.25 · 1.4771 at 0.001. */
static void test_nested_page(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    make_nested(c, &k);
    char *page = report(c, &k, oa_report_html), *json = report(c, &k, oa_report_json);
    expect(page, "<td>train.lr=0.001</td>");
    expect(page, ">2.3314<");     /* (2 + 2.375 + 2.6193) / 3 */
    expect(page, ">2.2500 (1)<"); /* 0.03, of one seed */
    expect(page, "The choice of every seed");
    expect(page, "<td>train.lr=0.03</td>");
    expect(page, "Means over the seeds that tried a value.");
    expect(page, "Each seed chose for itself");
    expect(json, "\"per\": \"seed\"");
    expect_same_again(c, json, page);
    oa_free(page);
    oa_free(json);
    oa_comparison_free(&k);
    oa_close(c);
}

/* Points of the line of an entry in the chart of that name: x0 y0 x1 y1 … */
static void line_of(const char *page, const char *figure, int entry, double *points, int count)
{
    char start[64];
    const char *at = strstr(page, figure);
    assert_non_null(at);
    snprintf(start, sizeof start, "<path class=\"line c%d\" data-series=\"%d\" d=\"M", entry,
             entry);
    at = strstr(at, start);
    assert_non_null(at);
    at += strlen(start);
    for (int i = 0; i < count; i++) {
        char *end;
        points[i] = strtod(at, &end);
        assert_true(end > at);
        at = end;
    }
    assert_int_equal(*at, '"');
}

/* On an axis the ratio of two distances is that of the numbers (of their logarithms); pixels have
 * one decimal. */
static void same_ratio(double a, double b, double expected)
{
    if (fabs(a / b - expected) > 0.01)
        fail_msg("%g to %g is not %g", a, b, expected);
}

static void test_charts(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    double p[8];
    make_tuned(c, &k);
    char *page = report(c, &k, oa_report_html);
    line_of(page, "id=\"sensitivity-1\"", 1, p, 8); /* by rising rate: 2.25, 3, 2.5, 4 */
    same_ratio(p[2] - p[0], p[4] - p[2], 1);
    same_ratio(p[6] - p[4], p[4] - p[2], 2);
    same_ratio(p[3] - p[1], p[5] - p[1], (3 - 2.25) / (2.5 - 2.25));
    same_ratio(p[7] - p[1], p[5] - p[1], (4 - 2.25) / (2.5 - 2.25));
    assert_true(p[3] < p[1]);                       /* more loss is higher up */
    line_of(page, "id=\"sensitivity-1\"", 2, p, 8); /* 2, 2, 2, 1.5 */
    assert_true(p[1] == p[3] && p[3] == p[5] && p[7] > p[5]);
    expect(strstr(page, "id=\"sensitivity-1\""), "Much larger losses are cut off.");
    line_of(page, "id=\"sensitivity-2\"", 0, p, 4); /* clip 0: 2.5, clip 1: 2 */
    assert_true(p[0] < p[2] && p[1] < p[3]);
    line_of(page, "id=\"sensitivity-2\"", 2, p, 2); /* clip 0 diverged: one point is left */
    expect(page, "<td>lr=0.001 clip=1</td>");
    expect(page, ">diverged<");
    expect(page, "<td>lr=0.0001 clip=1</td>");
    assert_null(strstr(page, "sensitivity-3"));
    oa_free(page);
    oa_comparison_free(&k);
    oa_close(c);
}

/* Choices have no order that a line could follow. */
static void test_choices_have_no_chart(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    make_tuned(c, &k);
    assert_int_equal(
        oa_grid_parse(c, "train.schedule=cosine,linear,constant,inverse-sqrt;train.clip=1,0",
                      &k.tuning.grid),
        OA_OK);
    for (int i = 0; i < THREE; i++)
        k.entries[i].tuned->grid = k.tuning.grid;
    char *page = report(c, &k, oa_report_html);
    assert_null(strstr(page, "sensitivity-1"));
    expect(page, "sensitivity-2");
    expect(page, "train.schedule=constant,train.clip=1");
    oa_free(page);
    oa_comparison_free(&k);
    oa_close(c);
}

static void test_without_tuning_nothing_is_said(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    make_comparison(c, six_attentions, THREE, 3, &k);
    char *page = report(c, &k, oa_report_html), *json = report(c, &k, oa_report_json);
    assert_null(strstr(page, "id=\"tuning\""));
    assert_null(strstr(page, "held out"));
    expect(json, "\"tuning\": null");
    oa_free(page);
    oa_free(json);
    oa_comparison_free(&k);
    oa_close(c);
}

/* Changes single bytes of the file so many times: how often it was read, and how often refused. */
static void damage(oa_context *c, char *json, uint64_t times, int *read, int *refused)
{
    struct oa_comparison back;
    struct oa_stream stream = oa_stream_named(1, "damage");
    for (uint64_t i = 0; i < times; i++) {
        size_t at = oa_random_below(stream, 2 * i, strlen(json));
        char kept = json[at];
        json[at] = "0\"{}[],:x9"[oa_random_below(stream, 2 * i + 1, 10)];
        if (oa_comparison_from_json(c, json, &back) == OA_OK) {
            oa_free(report(c, &back, oa_report_html));
            oa_comparison_free(&back);
            ++*read;
        } else {
            assert_int_equal(oa_last_error(c, NULL), OA_FORMAT);
            oa_clear_error(c);
            ++*refused;
        }
        json[at] = kept;
    }
}

/* Files with single bytes changed are read or refused, but do no harm: half of the changes are in
 * what was tuned. */
static void test_damaged_results(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int nested = 0; nested < 2; nested++) {
        struct oa_comparison k;
        int read = 0, refused = 0;
        if (nested)
            make_nested(c, &k);
        else
            make_tuned(c, &k);
        for (int i = 0; i < THREE; i++)
            for (int s = 0; s < 3; s++)
                k.entries[i].runs[s].points = 2;
        char *json = report(c, &k, oa_report_json);
        oa_comparison_free(&k);
        damage(c, json, 800, &read, &refused);
        assert_true(read > 50 && refused > 50);
        oa_free(json);
    }
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_choice),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_nested_words),
        cmocka_unit_test(test_nested_page),
        cmocka_unit_test(test_more_seeds_are_tuned_too),
        cmocka_unit_test(test_charts),
        cmocka_unit_test(test_choices_have_no_chart),
        cmocka_unit_test(test_without_tuning_nothing_is_said),
        cmocka_unit_test(test_damaged_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
