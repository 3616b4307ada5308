/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons about another measure than the loss, of which more is better: p-values, intervals and
 * equivalence by scipy 1.17.1 (verdicts/family.py).
 * Everywhere the loss says the opposite of the score, so that whoever reads the wrong one, or reads
 * the right one the wrong way round, calls the worst the best.
 */
#include "testing.h"

#include "compare/run_result.h"
#include "report/page.h"
#include "report/report.h"
#include "report/until.h"
#include "report/variance.h"
#include "results_reader.h"
#include "train/best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 5, SEEDS = 6, ACCURACY = 1, ERRORS = 2 };

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats", 4, false, 0 },
                                              { "accuracy", "accuracy", "%", 2, true, 100 },
                                              { "errors", "errors", "%", 2, false, 0 },
                                              { .name = NULL } };
static enum oa_error shape(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                           struct oa_step_shape *out)
{
    (void)w;
    *out = oa_language_model_step_shape(o);
    return oa_status(c);
}

static const struct oa_task task = {
    .name = "made-up", .measures = measures, .metric = "accuracy", .shape = shape
};
static const char *const names[MOST] = { "softmax", "more", "beside", "less", "open" };
static const double accuracy[MOST][SEEDS] = { { 81.25, 80.50, 82.00, 81.75, 80.75, 81.50 },
                                              { 84.00, 83.50, 84.75, 84.25, 83.75, 84.50 },
                                              { 81.50, 80.50, 81.75, 81.75, 81.00, 81.25 },
                                              { 78.25, 77.00, 79.50, 78.75, 77.25, 78.50 },
                                              { 82.75, 79.25, 83.50, 81.00, 82.25, 80.75 } };

struct made {
    oa_context *c;
    struct oa_comparison comparison;
    struct oa_entry entries[MOST];
    struct oa_run runs[MOST][SEEDS];
    struct oa_summary summary;
};

/* Who is more often right has the higher loss here. */
static struct oa_run run_with(int seed, double right)
{
    struct oa_run r = { .seed = (uint64_t)seed + 1,
                        .valid_loss = right / 50,
                        .valid_tokens = 400,
                        .steps = 10,
                        .tokens = 100,
                        .tokens_per_second = 1000 };
    oa_scores_clear(r.scores);
    r.scores[ACCURACY] = right;
    r.scores[ERRORS] = -right; /* what is less the better it is, and the same otherwise */
    return r;
}

/* Entries first … MOST - 1; not judged yet. */
static void make(struct made *m, int first, int metric)
{
    *m = (struct made){ .c = oa_open(NULL),
                        .comparison = { .count = MOST - first,
                                        .seeds = SEEDS,
                                        .equal = OA_EQUAL_TOKENS,
                                        .valid_tokens = 401 } };
    m->comparison.entries = m->entries;
    for (int i = 0; i < MOST - first; i++) {
        m->entries[i] = (struct oa_entry){ .attention = (char *)(uintptr_t)names[i + first],
                                           .trainable = 100 + i,
                                           .runs = m->runs[i] };
        for (int r = 0; r < SEEDS; r++)
            m->runs[i][r] = run_with(r, accuracy[i + first][r]);
    }
    assert_int_equal(oa_comparison_set_measures(m->c, &m->comparison, measures, metric), OA_OK);
}

static void judge(struct made *m)
{
    assert_int_equal(oa_summary_make(m->c, &m->comparison, &m->summary), OA_OK);
}

static void unmake(struct made *m)
{
    assert_int_equal(oa_last_error(m->c, NULL), OA_OK);
    oa_summary_free(&m->summary);
    oa_free(m->comparison.measures);
    oa_close(m->c);
}

static struct oa_text text_of(struct made *m,
                              void (*report)(const struct oa_comparison *,
                                             const struct oa_summary *, struct oa_text *))
{
    struct oa_text t;
    oa_text_init(&t, m->c);
    report(&m->comparison, &m->summary, &t);
    return t;
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void has(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%.3000s", what, text);
}

static json_t *at(json_t *o, const char *key)
{
    json_t *x = json_object_get(o, key);
    if (!x)
        fail_msg("there is no %s", key);
    return x;
}

/* ---- verdicts ---- */

static void as_scipy(void **state)
{
    static struct made m;
    static const double p[] = { 4.13897173492462e-07, 0, 2.9386714545268603e-06,
                                1.0754062016274306e-06, 0.006032321247076677 };
    static const double adjusted[] = { 4.138971734924619e-06, 0, 2.9386714545268603e-05,
                                       1.0754062016274307e-05, 0.060323212470766774 };
    static const double cost[] = { 2.8333333333333335, 0, 2.8333333333333335, 5.916666666666667,
                                   2.5416666666666665 };
    static const double half[] = { 0.39777838373796115, 0, 0.5900006895353653, 1.006308557273952,
                                   2.6579812340786186 };
    static const int order[] = { 1, 4, 0, 2,
                                 3 }; /* of the two that are equal the first comes first */
    (void)state;
    make(&m, 0, ACCURACY);
    judge(&m);
    assert_int_equal(m.summary.reference, 1);
    assert_int_equal(m.summary.entries[1].verdict, OA_VERDICT_LOWEST);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(m.summary.order[i], order[i]);
        if (i == 1)
            continue;
        const struct oa_standing *e = &m.summary.entries[i];
        const struct oa_against *a = oa_compared_pair(&m.summary, i, 1);
        assert_int_equal(e->verdict, i == 4 ? OA_VERDICT_UNRESOLVED : OA_VERDICT_WORSE);
        near(a->p, p[i]);
        near(a->adjusted, adjusted[i]);
        near(a->difference.mean, cost[i]);
        near(a->half, half[i]);
        near(e->percent, -100 * cost[i] / 84.125);
    }
    near(m.summary.entries[3].scores[ACCURACY].mean, 78.20833333333333);
    near(m.summary.entries[3].scores[ACCURACY].half, 0.9874830631149402);
    near(m.summary.entries[3].loss.mean, 78.20833333333333 / 50);
    unmake(&m);
}

static void against_a_baseline(void **state)
{
    static struct made m;
    static const double adjusted[] = { 0, 1.655588693969848e-06, 1, 2.2728199154046342e-05, 1 };
    static const double equivalence[] = { 0, 1, 0.00044095659452533857, 1, 1 };
    static const enum oa_against_verdict verdicts[] = { OA_AGAINST_NONE, OA_AGAINST_BETTER,
                                                        OA_AGAINST_EQUIVALENT, OA_AGAINST_WORSE,
                                                        OA_AGAINST_UNRESOLVED };
    (void)state;
    make(&m, 0, ACCURACY);
    m.comparison.baseline = 1;
    m.comparison.margin = 1;
    judge(&m);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(oa_compared_pair(&m.summary, i, 0)->verdict, verdicts[i]);
        if (i == 0)
            continue;
        near(oa_compared_pair(&m.summary, i, 0)->adjusted, adjusted[i]);
        near(oa_compared_pair(&m.summary, i, 0)->equivalence, equivalence[i]);
    }
    has(m.summary.conclusion,
        "more has the highest accuracy. more is better than the baseline, softmax, by 2.8 % "
        "points. beside is equivalent to the baseline, softmax: within 1 % points. open shows no "
        "significant difference to the baseline, softmax, at the level of 5 % with 6 seeds");
    has(m.summary.conclusion, " less is worse than the baseline, softmax, by 3.1 % points.");
    struct oa_text t = text_of(&m, oa_report_markdown);
    has(t.s, "| accuracy % | valid loss nats | errors % | difference to the baseline |");
    has(t.s, "+2.83 ±0.32 | \\<1e-4 | better");
    has(t.s, "−3.08 ±0.59 | \\<1e-4 | worse");
    has(t.s, "0.00 ±0.35 | 0.0004 | equivalent");
    has(t.s, "84.12 ±0.49");
    has(t.s, "| −5.92 |"); /* described */
    has(t.s, "Equivalent: within 1 % points.");
    assert_null(strstr(t.s, "nats a token"));
    assert_null(strstr(t.s, "ppl"));
    oa_text_free(&t);
    t = text_of(&m, oa_report_html);
    has(t.s, "−3.08 [−3.67 … −2.50]"); /* to the baseline, next to its bar */
    has(t.s, "<b>worse</b>−2.83<small>−3.15 … −2.52</small>");  /* softmax against more */
    has(t.s, "<b>better</b>+2.83<small>+2.52 … +3.15</small>"); /* and more against softmax */
    has(t.s, "<td class=\"open\"><b></b>−5.92</td>");           /* less against more is described */
    has(t.s, ">84.12<small>± 0.49</small>");
    oa_text_free(&t);
    t = text_of(&m, oa_report_svg);
    has(t.s, ">-4<"); /* a tick of the axis */
    assert_null(strstr(t.s, ">4<"));
    oa_text_free(&t);
    unmake(&m);
}

static void every_pair(void **state)
{
    static struct made m;
    static const double adjusted[MOST][MOST] = {
        { 0, 4.138971734924619e-06, 1, 5.6820497885115854e-05, 1 },
        { 0, 0, 2.9386714545268603e-05, 1.0754062016274307e-05, 0.060323212470766774 },
        { 0, 0, 0, 0.0003361532818162544, 1 },
        { 0, 0, 0, 0, 0.012887261832331433 }
    };
    (void)state;
    make(&m, 0, ACCURACY);
    judge(&m);
    for (int i = 0; i < MOST; i++)
        for (int j = i + 1; j < MOST; j++) {
            const struct oa_against *a = &m.summary.pairs[i * MOST + j],
                                    *b = &m.summary.pairs[j * MOST + i];
            double d = m.summary.entries[i].scores[ACCURACY].mean -
                       m.summary.entries[j].scores[ACCURACY].mean;
            bool found = adjusted[i][j] < 0.05;
            near(a->adjusted, adjusted[i][j]);
            assert_int_equal(a->verdict, !found  ? OA_AGAINST_UNRESOLVED
                                         : d > 0 ? OA_AGAINST_BETTER
                                                 : OA_AGAINST_WORSE);
            assert_int_equal(b->verdict, !found  ? OA_AGAINST_UNRESOLVED
                                         : d > 0 ? OA_AGAINST_WORSE
                                                 : OA_AGAINST_BETTER);
        }
    unmake(&m);
}

/* "errors" is minus the accuracy and lower is better: whatever is decided, or left open, must be
 * the same. */
static void same_standing(const struct oa_standing *a, const struct oa_standing *b)
{
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->seeds_needed, b->seeds_needed);
    assert_int_equal(a->front_speed, b->front_speed);
    assert_int_equal(a->front_parameters, b->front_parameters);
}

static void mirrored(int first, bool sequential, int baseline)
{
    static struct made up, down;
    struct oa_estimate looks[2][SEEDS];
    double scratch[SEEDS];
    make(&up, first, ACCURACY);
    make(&down, first, ERRORS);
    up.comparison.sequential = down.comparison.sequential = sequential;
    up.comparison.baseline = down.comparison.baseline = baseline;
    up.comparison.margin = down.comparison.margin = sequential || baseline ? 0.5 : 0;
    judge(&up);
    judge(&down);
    assert_int_equal(up.summary.reference, down.summary.reference);
    for (int i = 0; i < up.comparison.count; i++) {
        assert_int_equal(up.summary.order[i], down.summary.order[i]);
        same_standing(&up.summary.entries[i], &down.summary.entries[i]);
        assert_int_equal(oa_question_open(&up.summary, i), oa_question_open(&down.summary, i));
        int n = oa_trajectory(&up.comparison, &up.summary, i, scratch, looks[0]);
        assert_int_equal(n, oa_trajectory(&down.comparison, &down.summary, i, scratch, looks[1]));
        for (int s = 0; s < n; s++)
            assert_true(looks[0][s].mean == looks[1][s].mean &&
                        looks[0][s].half == looks[1][s].half);
    }
    for (int i = 0; i < up.comparison.count * up.comparison.count; i++) {
        const struct oa_against *a = &up.summary.pairs[i], *b = &down.summary.pairs[i];
        assert_int_equal(a->verdict, b->verdict);
        assert_true(a->difference.mean == b->difference.mean);
        assert_true(a->half == b->half || isnan(a->half));
        assert_true(a->adjusted == b->adjusted || isnan(a->adjusted));
    }
    unmake(&up);
    unmake(&down);
}

static void both_directions_say_the_same(void **state)
{
    (void)state;
    for (int baseline = 0; baseline < 2; baseline++)
        for (int looks = 0; looks < 2; looks++) {
            mirrored(0, looks, baseline);
            mirrored(2, looks, baseline);
        }
}

/* The fastest and the smallest is the one that is most often right: nothing else is on a front but
 * the last, which is not shown to be right less often. */
static void fronts(void **state)
{
    static struct made m;
    (void)state;
    make(&m, 0, ACCURACY);
    for (int i = 0; i < MOST; i++) {
        m.entries[i].trainable = i == 1 ? 1 : 100;
        for (int r = 0; r < SEEDS; r++)
            m.runs[i][r].tokens_per_second = i == 1 ? 2000 : 1000;
    }
    judge(&m);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(m.summary.entries[i].front_speed, i == 1 || i == 4);
        assert_int_equal(m.summary.entries[i].front_parameters, i == 1 || i == 4);
    }
    struct oa_text t = text_of(&m, oa_report_html);
    assert_null(strstr(t.s, "<path class=\"front\"")); /* of one corner there is no line */
    oa_text_free(&t);
    oa_summary_free(&m.summary);
    for (int r = 0; r < SEEDS; r++)
        m.runs[0][r].tokens_per_second = 3000; /* faster, and less often right */
    judge(&m);
    t = text_of(&m, oa_report_html);
    has(t.s, "<path class=\"front\"");
    oa_text_free(&t);
    unmake(&m);
}

/* As often right with every seed, and not the same models: there is no luck to test by, and none is
 * first. */
static void nobody_alone_is_first(void **state)
{
    static struct made m;
    (void)state;
    make(&m, 3, ACCURACY);
    for (int r = 0; r < SEEDS; r++) {
        m.runs[0][r] = run_with(r, 87.5);
        m.runs[1][r] = run_with(r, 87.5);
        m.runs[1][r].valid_loss += 0.01;
    }
    m.comparison.until.ending = OA_ENDING_RESOLVED;
    judge(&m);
    assert_int_equal(m.summary.entries[0].verdict,
                     OA_VERDICT_UNJUDGED); /* the same score, the same verdict */
    assert_int_equal(m.summary.entries[1].verdict, OA_VERDICT_UNJUDGED);
    has(m.summary.conclusion, "less and open share the highest accuracy. open cannot be tested");
    has(m.summary.conclusion, "All other comparisons are resolved after 6 seeds.");
    unmake(&m);
}

static void what_is_open(void **state)
{
    static struct made m;
    (void)state;
    make(&m, 2, ACCURACY); /* beside, less, open */
    judge(&m);
    assert_string_equal(names[m.summary.reference + 2], "open");
    assert_int_equal(m.summary.entries[2].verdict, OA_VERDICT_LOWEST);
    has(m.summary.conclusion, "open has the highest accuracy. beside shows no significant "
                              "difference to open, at the level of 5 % with 6 seeds");
    has(m.summary.conclusion, "less is worse, by 3.4 % points");
    struct oa_text t = text_of(&m, oa_report_html);
    has(t.s, ">highest accuracy</span>");
    has(t.s, "worse  ← difference in % points");
    has(t.s, "Differences of accuracy to the highest");
    has(t.s, "The row’s accuracy minus the column’s, seed by seed: above 0 the row is better.");
    has(t.s, "higher is better. A difference is one score minus that of the other, so above 0 is "
             "better.");
    has(t.s, "↗ better");
    has(t.s, "↖ better");
    has(t.s, ">accuracy, %<");
    assert_null(strstr(t.s, "lowest"));
    assert_null(strstr(t.s, "nats/token"));
    oa_text_free(&t);
    unmake(&m);
    make(&m, 2, 0); /* by the loss the others lead */
    judge(&m);
    assert_string_equal(names[m.summary.reference + 2], "less");
    has(m.summary.conclusion, "less is best: beside and open are worse");
    unmake(&m);
}

/* A floor that is right more often than all is named; one that has the higher loss is not. */
static void the_floor(void **state)
{
    static struct made m;
    (void)state;
    make(&m, 0, ACCURACY);
    m.entries[1].uniform = true;
    judge(&m);
    assert_int_equal(m.summary.reference, 4);
    has(m.summary.conclusion, "The uniform baseline has a higher accuracy than all of them.");
    for (int i = 0; i < MOST; i++)
        if (i != 1)
            assert_int_equal(oa_compared_pair(&m.summary, i, 1)->verdict,
                             i == 4 ? OA_AGAINST_UNRESOLVED : OA_AGAINST_WORSE);
    unmake(&m);
    make(&m, 0, ACCURACY);
    m.entries[3].uniform = true;
    judge(&m);
    assert_null(strstr(m.summary.conclusion, "The floor"));
    assert_int_equal(oa_compared_pair(&m.summary, 1, 3)->verdict, OA_AGAINST_BETTER);
    unmake(&m);
}

/* As many right answers with every seed are not the same model, unless the losses are the same as
 * well. */
static void as_many_right_answers(void **state)
{
    static struct made m;
    (void)state;
    for (int same = 0; same < 2; same++) {
        make(&m, 0, ACCURACY);
        m.comparison.baseline = 1;
        for (int r = 0; r < SEEDS; r++) {
            m.runs[2][r].scores[ACCURACY] = m.runs[0][r].scores[ACCURACY];
            m.runs[2][r].valid_loss = m.runs[0][r].valid_loss + (same ? 0 : 1e-9);
        }
        judge(&m);
        enum oa_against_verdict expected = same ? OA_AGAINST_IDENTICAL : OA_AGAINST_UNJUDGED;
        assert_int_equal(oa_compared_pair(&m.summary, 2, 0)->verdict, expected);
        assert_int_equal(oa_compared_pair(&m.summary, 0, 2)->verdict, expected);
        assert_int_equal(m.summary.entries[2].twin, same ? 0 : -1);
        unmake(&m);
    }
}

/* A run whose score is no number has no place among means. */
static void no_score(void **state)
{
    static struct made m;
    (void)state;
    make(&m, 0, ACCURACY);
    m.runs[1][2].scores[ACCURACY] = NAN;
    judge(&m);
    assert_int_equal(m.summary.entries[1].verdict, OA_VERDICT_FAILED);
    assert_int_equal(m.summary.reference, 4);
    unmake(&m);
    make(&m, 0, ACCURACY);
    for (int i = 0; i < MOST; i++)
        m.runs[i][5].failed = true;
    judge(&m); /* nothing can be compared, and who was right more often still is first */
    assert_int_equal(m.summary.reference, -1);
    for (int i = 1; i < MOST; i++)
        assert_true(m.summary.entries[m.summary.order[i - 1]].scores[ACCURACY].mean >=
                    m.summary.entries[m.summary.order[i]].scores[ACCURACY].mean);
    unmake(&m);
}

/* Sources of variance is asked of the score, too. */
static void spread(void **state)
{
    static struct made m;
    struct oa_variances x;
    (void)state;
    make(&m, 3, ACCURACY); /* less, open */
    struct oa_vary *v = &m.comparison.vary;
    v->values = 3;
    v->varied[OA_CHANCE_ORDER] = true;
    v->runs = oa_alloc(m.c, sizeof(struct oa_varied) * 2 * OA_CHANCES * 3);
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < 3; s++)
            oa_varied_of(v, i, OA_CHANCE_ORDER)[s] =
                (struct oa_varied){ (uint64_t)s, accuracy[3][s] };
    judge(&m);
    assert_true(oa_variances_of(&m.comparison, 1, &x));
    near(x.source[OA_CHANCE_ORDER].sd, oa_deviation(accuracy[3], 3));
    near(x.together.sd, oa_deviation(accuracy[4], SEEDS));
    struct oa_text t = text_of(&m, oa_report_json);
    struct oa_comparison again;
    json_t *root = json_loads(t.s, 0, NULL),
           *entry = json_array_get(at(at(root, "vary"), "entries"), 0);
    assert_true(json_number_value(json_array_get(at(at(entry, "scores"), "order"), 1)) ==
                accuracy[3][1]);
    json_decref(root);
    assert_int_equal(oa_comparison_from_json(m.c, t.s, &again), OA_OK);
    assert_true(oa_varied_of(&again.vary, 1, OA_CHANCE_ORDER)[2].score == accuracy[3][2]);
    oa_comparison_free(&again);
    oa_text_free(&t);
    t = text_of(&m, oa_report_html);
    has(t.s, "standard deviation of the accuracy, %");
    oa_text_free(&t);
    oa_free(v->runs);
    unmake(&m);
}

/* ---- results.json ---- */

static void give_more(oa_context *c, struct made *m)
{
    static struct oa_breakdown parts[MOST][SEEDS][2];
    for (int i = 0; i < m->comparison.count; i++)
        for (int r = 0; r < SEEDS; r++) {
            for (int p = 0; p < 2; p++)
                parts[i][r][p] = (struct oa_breakdown){
                    .by = "class", .measure = "accuracy", .value = accuracy[i][r] + p, .n = 200
                };
            strcpy(parts[i][r][0].name, "up");
            strcpy(parts[i][r][1].name, "down & out");
            m->runs[i][r].details.parts = parts[i][r];
            m->runs[i][r].details.part_count = 2;
            m->runs[i][r].curve = oa_alloc(c, 2 * sizeof(struct oa_curve_point));
            m->runs[i][r].points = 2;
            for (int p = 0; p < 2; p++) {
                m->runs[i][r].curve[p] =
                    (struct oa_curve_point){ .step = 5 * p + 5, .train_loss = 1, .valid_loss = 1 };
                oa_scores_clear(m->runs[i][r].curve[p].scores);
                m->runs[i][r].curve[p].scores[ACCURACY] = accuracy[i][r] - 10 * (1 - p);
            }
        }
}

static void take_more(struct made *m)
{
    for (int i = 0; i < m->comparison.count; i++)
        for (int r = 0; r < SEEDS; r++)
            oa_free(m->runs[i][r].curve);
}

static void results(void **state)
{
    static struct made m, again;
    (void)state;
    make(&m, 0, ACCURACY);
    m.comparison.baseline = 1;
    m.comparison.sequential = true;
    m.comparison.margin = 1;
    give_more(m.c, &m);
    judge(&m);
    struct oa_text first = text_of(&m, oa_report_json);
    json_t *root = json_loads(first.s, 0, NULL), *entries = at(root, "entries"),
           *less = json_array_get(entries, 3);
    assert_string_equal(json_string_value(at(root, "metric")), "accuracy");
    assert_int_equal(json_array_size(at(root, "measures")), 3);
    json_t *statistics = at(less, "statistics"), *difference = at(statistics, "difference");
    near(json_number_value(at(difference, "mean")), -5.916666666666667);
    assert_true(json_number_value(at(difference, "low")) <
                json_number_value(at(difference, "high")));
    near(json_number_value(at(at(at(statistics, "baseline"), "difference"), "mean")),
         -3.0833333333333335);
    assert_string_equal(json_string_value(at(at(statistics, "baseline"), "verdict")), "worse");
    near(json_number_value(at(at(at(statistics, "scores"), "accuracy"), "mean")),
         78.20833333333333);
    json_t *means = at(at(less, "trajectory"), "mean");
    near(json_number_value(json_array_get(means, json_array_size(means) - 1)), -3.0833333333333335);
    json_t *pair = json_array_get(at(root, "pairs"), 0); /* softmax against more */
    near(json_number_value(at(at(pair, "difference"), "mean")), -2.8333333333333335);
    assert_string_equal(json_string_value(at(pair, "verdict")), "worse");
    json_t *run = json_array_get(at(less, "runs"), 0);
    assert_true(json_number_value(at(at(run, "scores"), "accuracy")) == 78.25);
    assert_true(json_number_value(at(run, "valid_loss")) == 78.25 / 50);
    json_decref(root);
    again = (struct made){ .c = m.c };
    if (oa_comparison_from_json(m.c, first.s, &again.comparison) != OA_OK) {
        const char *why;
        oa_last_error(m.c, &why);
        fail_msg("%s", why);
    }
    judge(&again);
    struct oa_text second = text_of(&again, oa_report_json);
    assert_string_equal(first.s, second.s);
    struct oa_text page = text_of(&m, oa_report_html), other = text_of(&again, oa_report_html);
    assert_string_equal(page.s, other.s);
    has(page.s, "accuracy during training");
    has(page.s, "accuracy by class, %, mean over the seeds");
    has(page.s, "difference, % points");
    has(page.s, "<b>less</b>after 6 seeds: −"); /* and not above 0 */
    has(page.s, "<b>more</b>after 6 seeds: +");
    oa_text_free(&page);
    oa_text_free(&other);
    oa_text_free(&first);
    oa_text_free(&second);
    oa_summary_free(&again.summary);
    oa_comparison_free(&again.comparison);
    take_more(&m);
    unmake(&m);
}

static void refuse_results(const char *json, const char *sentence)
{
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    const char *why;
    char text[600];
    snprintf(text, sizeof text,
             "{\"schema\": \"orthant.results/1\", \"equal\": \"tokens\", \"seeds\": 1, "
             "\"validation\": {\"characters\": 1, \"bytes\": 1, \"tokens\": 1, "
             "\"used_during_training\": 1}, \"entries\": [], %s}",
             json);
    assert_int_equal(oa_comparison_from_json(c, text, &k), OA_FORMAT);
    oa_last_error(c, &why);
    has(why, sentence);
    oa_close(c);
}

static void bad_results(void **state)
{
    static const char loss[] = "{\"name\": \"loss\", \"title\": \"valid loss\", \"unit\": \"\", "
                               "\"decimals\": 4, \"higher_is_better\": false}";
    char text[400];
    (void)state;
    refuse_results("\"measures\": []", "measures: expected 1 to 8, found 0");
    refuse_results("\"measures\": [{\"name\": \"loss\"}]",
                   "measures[0] is not what a comparison writes there");
    snprintf(text, sizeof text, "\"metric\": \"f1\", \"measures\": [%s]", loss);
    refuse_results(text, "metric: expected the name of one of \"measures\", found f1");
}

/* ---- tuning ---- */

static void the_highest_is_chosen(void **state)
{
    struct oa_run trials[8];
    struct oa_tuned tuned = { .grid.cells = 4, .trials = trials };
    struct oa_entry entry = { .attention = (char *)(uintptr_t) "softmax", .tuned = &tuned };
    struct oa_comparison k = { .entries = &entry, .count = 1 };
    oa_context *c = oa_open(NULL);
    static const double right[] = {
        50, 60, 70, 72, 90, NAN, 71, 71
    }; /* two seeds a cell: 55, 71, none, 71 */
    (void)state;
    k.tuning.seeds = 2;
    for (int i = 0; i < 8; i++)
        trials[i] = run_with(i, right[i]);
    trials[5].valid_loss = 0; /* of no help */
    assert_int_equal(oa_comparison_set_measures(c, &k, measures, ACCURACY), OA_OK);
    assert_true(oa_trial_mean(&k, &tuned, 0, ACCURACY) == 55);
    assert_true(isnan(oa_trial_mean(&k, &tuned, 2, ACCURACY)));
    assert_int_equal(oa_trial_best(&k, &tuned), 1);
    k.metric = 0;
    assert_int_equal(oa_trial_best(&k, &tuned), 2); /* (90/50 + 0)/2 */
    oa_free(k.measures);
    oa_close(c);
}

/* ---- the best model ---- */

static void the_best_is_kept(void **state)
{
    static const double right[] = { NAN, 50, 50, 60, 40, 59.9, 60, 61 };
    static const bool best[] = { false, true, false, true, false, false, false, true };
    static const int stale[] = { 1, 0, 1, 0, 1, 2, 3, 0 };
    struct oa_best up = { 0 }, down = { 0 };
    struct oa_options o;
    (void)state;
    oa_options_default(&o);
    o.train_patience = 3;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(oa_best_note(&up, i + 1, right[i], &measures[ACCURACY]), best[i]);
        assert_int_equal(oa_best_note(&down, i + 1, -right[i], &measures[ERRORS]), best[i]);
        assert_true(up.stale == stale[i] && down.stale == stale[i] && up.step == down.step);
        assert_int_equal(oa_best_over(&up, &o), stale[i] >= 3);
    }
    assert_true(up.step == 8 && up.score == 61);
}

static void another_metric_is_refused(void **state)
{
    struct oa_options before, now;
    oa_context *c = oa_open(NULL);
    const char *why;
    struct oa_best none = { 0 };
    (void)state;
    oa_options_default(&before);
    before.train_patience = 3;
    now = before;
    assert_int_equal(oa_best_accept(c, &now, &before, &none, "here"), OA_OK);
    snprintf(now.compare_metric, sizeof now.compare_metric, "loss");
    assert_int_equal(oa_best_accept(c, &now, &before, &none, "here"), OA_ARGUMENT);
    oa_last_error(c, &why);
    has(why, "here was begun with compare.metric = \"\", but it is \"loss\" now");
    oa_close(c);
}

static void choosing(void **state)
{
    oa_context *c = oa_open(NULL);
    int metric;
    const char *why;
    (void)state;
    assert_int_equal(oa_metric_choose(c, &task, "", &metric), OA_OK);
    assert_int_equal(metric, ACCURACY);
    assert_int_equal(oa_metric_choose(c, &task, "errors", &metric), OA_OK);
    assert_int_equal(metric, ERRORS);
    assert_int_equal(oa_metric_choose(c, oa_task_find("lm"), "", &metric), OA_OK);
    assert_int_equal(metric, 0);
    assert_int_equal(oa_metric_choose(c, &task, "f1", &metric), OA_ARGUMENT);
    oa_last_error(c, &why);
    has(why,
        "compare.metric: the task made-up has no measure \"f1\"; it has: loss, accuracy, errors");
    oa_close(c);
}

/* ---- files of a run ---- */

static const char folder[] = "test_measures_folder";

static struct oa_log_line line_of(long step, double right)
{
    struct oa_log_line line = {
        .step = step, .loss = 2, .valid_loss = 1.5, .seconds = 1, .tokens = 9, .measures = measures
    };
    oa_scores_clear(line.scores);
    line.scores[ACCURACY] = right;
    return line;
}

static void logged(void **state)
{
    oa_context *c = oa_open(NULL);
    struct oa_run run = { 0 }, read = { 0 };
    uint8_t record[OA_EVENT];
    char *text;
    size_t length;
    (void)state;
    assert_int_equal(system("rm -rf test_measures_folder && mkdir test_measures_folder"), 0);
    struct oa_log_line line = line_of(5, 81.25);
    assert_int_equal(oa_log_add(c, folder, &line, &run), OA_OK);
    size_t bytes = oa_event_print(0, &line, record);
    line = line_of(10, NAN);
    line.valid_loss = NAN;
    assert_int_equal(oa_log_add(c, folder, &line, &run), OA_OK);
    assert_int_equal(oa_file_read(c, "test_measures_folder/log.jsonl", &text, &length), OA_OK);
    has(text, "\"valid_loss\": 1.5, \"accuracy\": 81.25, \"lr\"");
    has(text, "{\"step\": 10, \"loss\": 2, \"lr\"");
    oa_free(text);
    line = line_of(10, 82);
    assert_int_equal(oa_log_complete(c, folder, &line, &run), OA_OK);
    assert_int_equal(oa_log_read(c, folder, measures, &read), OA_OK);
    assert_int_equal(read.points, 2);
    assert_true(read.curve[0].scores[ACCURACY] == 81.25 && isnan(read.curve[0].scores[ERRORS]));
    assert_true(read.curve[1].scores[ACCURACY] == 82 && run.curve[1].scores[ACCURACY] == 82);
    /* the tag, field 2 of the value: a float, 81.25, little-endian */
    static const uint8_t value[] = { '/', 'v', 'a', 'l', 'i', 'd', 0x15, 0x00, 0x80, 0xa2, 0x42 };
    const uint8_t *tag = memmem(record, bytes, "accuracy", 8);
    assert_non_null(tag);
    assert_memory_equal(tag + 8, value, sizeof value);
    assert_null(memmem(record, bytes, "errors", 6));
    oa_run_free(&run);
    oa_run_free(&read);
    oa_close(c);
    assert_int_equal(system("rm -rf test_measures_folder"), 0);
}

static void fill_result(oa_context *c, const struct oa_options *o, struct oa_run *r)
{
    double a_step = (double)(o->train_batch * o->train_accumulate * o->model_context);
    *r = run_with((int)o->train_seed - 1, 75);
    r->steps = o->train_steps;
    r->tokens = a_step * (double)r->steps;
    r->perplexity = exp(r->valid_loss);
    r->bits_per_byte = r->bits_per_character = NAN;
    r->seconds_per_step = 0.5;
    r->tokens_per_second = a_step / 0.5;
    r->flops_per_step = 1000;
    r->flops = 1000 * (double)r->steps;
    r->curve = oa_alloc(c, sizeof *r->curve);
    r->points = 1;
    r->curve[0] =
        (struct oa_curve_point){ .step = r->steps, .train_loss = 1, .valid_loss = r->valid_loss };
    memcpy(r->curve[0].scores, r->scores, sizeof r->scores);
    r->details.parts = oa_alloc(c, sizeof *r->details.parts);
    r->details.parts[r->details.part_count++] =
        (struct oa_breakdown){ "length", "1 to 8", "accuracy", 70, 120 };
    r->details.examples = oa_alloc(c, sizeof *r->details.examples);
    r->details.examples[r->details.example_count++] =
        (struct oa_specimen){ 7, NULL, oa_copy_text(c, "ref"), oa_copy_text(c, "o\xff\"") };
}

static void load(oa_context *c, const struct oa_options *o, const struct oa_task *t,
                 const char *refusal)
{
    json_t *fingerprint = json_object();
    struct oa_run read = { 0 };
    bool found;
    const char *why;
    enum oa_error e = oa_run_load(c, folder, fingerprint, o, t, &read, &found);
    oa_last_error(c, &why);
    if (refusal) {
        assert_int_equal(e, OA_FORMAT);
        has(why, refusal);
        oa_clear_error(c);
    } else {
        if (e != OA_OK)
            fail_msg("%s", why);
        assert_true(read.scores[ACCURACY] == 75 && read.scores[ERRORS] == -75 &&
                    read.valid_loss == 1.5);
        assert_true(read.details.part_count == 1 && read.details.parts[0].value == 70 &&
                    read.details.parts[0].n == 120);
        assert_string_equal(read.details.parts[0].by, "length");
        assert_string_equal(read.details.parts[0].name, "1 to 8");
        assert_true(read.details.example_count == 1 && read.details.examples[0].row == 7 &&
                    !read.details.examples[0].source);
        assert_string_equal(read.details.examples[0].output, "o?\"");
    }
    oa_run_free(&read);
    json_decref(fingerprint);
}

/* A result of before the task had more measures than the loss, and of today; changed ones are
 * refused. */
static void kept(void **state)
{
    static const struct oa_task before = {
        .name = "made-up", .measures = measures, .metric = "loss", .shape = shape
    };
    static const struct oa_measure alone[] = { { "loss", "valid loss", "nats", 4, false, 0 },
                                               { .name = NULL } };
    oa_context *c = oa_open(NULL);
    struct oa_options o;
    struct oa_run run;
    json_t *fingerprint = json_object();
    (void)state;
    oa_options_default(&o);
    assert_int_equal(system("rm -rf test_measures_folder && mkdir test_measures_folder"), 0);
    fill_result(c, &o, &run);
    assert_int_equal(oa_run_save(c, folder, fingerprint, measures, &run), OA_OK);
    load(c, &o, &task, NULL);
    run.curve[0].scores[ACCURACY] = 76;
    assert_int_equal(oa_run_save(c, folder, fingerprint, measures, &run), OA_OK);
    load(c, &o, &task, "the last accuracy of the curve is 76, but must be 75");
    assert_int_equal(oa_run_save(c, folder, fingerprint, alone, &run), OA_OK);
    load(c, &o, &task, "result lacks metric accuracy");
    struct oa_run old = { 0 };
    bool found;
    assert_int_equal(oa_run_load(c, folder, fingerprint, &o, &before, &old, &found), OA_OK);
    assert_true(isnan(old.scores[ACCURACY]) && isnan(old.curve[0].scores[ACCURACY]) &&
                old.valid_loss == 1.5);
    oa_run_free(&old);
    oa_run_free(&run);
    json_decref(fingerprint);
    oa_close(c);
    assert_int_equal(system("rm -rf test_measures_folder"), 0);
}

/* ---- parts and examples ---- */

static void parts(void **state)
{
    static struct made m;
    double scratch[SEEDS];
    (void)state;
    make(&m, 0, ACCURACY);
    give_more(m.c, &m);
    judge(&m);
    struct oa_estimate e =
        oa_part_estimate(&m.comparison, 3, &m.runs[0][0].details.parts[1], scratch);
    assert_int_equal(e.n, SEEDS);
    near(e.mean, 78.20833333333333 + 1);
    near(e.half, 0.9874830631149402);
    struct oa_text t = text_of(&m, oa_report_markdown);
    has(t.s, "accuracy by class, %, mean over the seeds:");
    has(t.s, "| class | examples | more | open | softmax | beside | less |");
    has(t.s, "| down & out | 200 | 85.12 ±0.49 |");
    oa_text_free(&t);
    t = text_of(&m, oa_report_html);
    has(t.s, "down &amp; out");
    oa_text_free(&t);
    take_more(&m);
    unmake(&m);
}

static void examples(void **state)
{
    static struct made m;
    /* rows 2 … 6 of three attentions; the reference is always "b" */
    static const char *const outputs[3][5] = { { "a", "a", "b", "x", "b" },
                                               { "a", "c", "b", "y", "a" },
                                               { "c", "d", "b", "z", "c" } };
    static const long expected[] = { 6, 3, 5,
                                     2 }; /* three outputs with a right one, three, three, two */
    struct oa_specimen answers[3][5];
    long rows[OA_EXAMPLES_SHOWN];
    (void)state;
    make(&m, 2, ACCURACY);
    for (int i = 0; i < 3; i++) {
        for (int e = 0; e < 5; e++)
            answers[i][e] =
                (struct oa_specimen){ e + 2, (char *)(uintptr_t) "s<1>", (char *)(uintptr_t) "b",
                                      (char *)(uintptr_t)outputs[i][e] };
        m.runs[i][0].details.examples = answers[i];
        m.runs[i][0].details.example_count = 5;
    }
    judge(&m);
    assert_int_equal(oa_examples_choose(&m.comparison, rows), 4); /* all agree in row 4 */
    for (int i = 0; i < 4; i++)
        assert_true(rows[i] == expected[i]);
    m.runs[1][0].details.example_count = 4; /* row 6 is not there in all */
    assert_int_equal(oa_examples_choose(&m.comparison, rows), 3);
    assert_true(rows[0] == 3);
    struct oa_text t = text_of(&m, oa_report_html);
    has(t.s, "<caption>Example 4</caption>");
    has(t.s, "s&lt;1&gt;");
    assert_null(strstr(t.s, "<caption>Example 5</caption>"));
    oa_text_free(&t);
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_scipy),
        cmocka_unit_test(against_a_baseline),
        cmocka_unit_test(every_pair),
        cmocka_unit_test(both_directions_say_the_same),
        cmocka_unit_test(fronts),
        cmocka_unit_test(nobody_alone_is_first),
        cmocka_unit_test(what_is_open),
        cmocka_unit_test(the_floor),
        cmocka_unit_test(as_many_right_answers),
        cmocka_unit_test(no_score),
        cmocka_unit_test(spread),
        cmocka_unit_test(results),
        cmocka_unit_test(bad_results),
        cmocka_unit_test(the_highest_is_chosen),
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(another_metric_is_refused),
        cmocka_unit_test(choosing),
        cmocka_unit_test(logged),
        cmocka_unit_test(kept),
        cmocka_unit_test(parts),
        cmocka_unit_test(examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
