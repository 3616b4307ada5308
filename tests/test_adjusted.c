/* SPDX-License-Identifier: Apache-2.0
 *
 * Means adjusted for missing seeds: the fit of attention + seed, and what a comparison makes of it.
 * Values from elsewhere: statsmodels 0.15.0 (OLS with indicator columns, its predictions of all
 * cells averaged over the columns) and, equal to 13 digits, numpy 2.4.6 (linalg.lstsq with the norm
 * as another row).
 */
#include "arena.h"
#include "compare/comparison.h"
#include "report/adjusted.h"

#define EMPTY ((double)NAN)

static void near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* ---- the fit ---- */

enum { ROWS = 5, COLUMNS = 6 };

static const struct {
    int rows;
    double y[ROWS][COLUMNS], a[ROWS], b[COLUMNS];
} vectors[] = {
    { 5,
      { { 1.6377, 1.6391, 1.6325, 1.6602, 1.6299, 1.6412 },
        { 1.6011, 1.6102, 1.6087, 1.6220, 1.6055, 1.6101 },
        { 1.6380, 1.6389, 1.6331, 1.6598, EMPTY, EMPTY },
        { 1.7101, 1.7288, 1.7071, EMPTY, EMPTY, EMPTY },
        { 1.6401, 1.6300, 1.6475, 1.6700, 1.6201, EMPTY } },
      { 1.6401000000000019, 1.609600000000001, 1.6396583333333334, 1.7183562500000003,
        1.6417000000000002 },
      { -0.0044829166666664434, -0.00048291666666635006, -0.0041029166666665291,
        0.020235416666666488, -0.011966666666667698, 0.00079999999999967293 } },
    { 4,
      { { 34.1, EMPTY, 35.2, 33.9, EMPTY, 36.0 },
        { 30.2, 31.4, EMPTY, EMPTY, EMPTY, EMPTY },
        { EMPTY, 28.8, 29.9, EMPTY, EMPTY, 31.1 },
        { 33.3, 34.0, EMPTY, 35.1, EMPTY, EMPTY } },
      { 34.655294117647067, 31.676862745098038, 29.467058823529392, 34.792549019607833 },
      { -1.1749019607842897, -0.57882352941181336, 0.48882352941180152, -0.2239215686274374, EMPTY,
        1.4888235294118051 } },
};

static void as_statsmodels(void **state)
{
    oa_context *c = oa_open(NULL);
    double a[ROWS], b[COLUMNS];
    (void)state;
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
        assert_int_equal(oa_fit_two_way(c, vectors[k].y[0], vectors[k].rows, COLUMNS, a, b), OA_OK);
        for (int i = 0; i < vectors[k].rows; i++)
            near(a[i], vectors[k].a[i], 1e-13);
        for (int s = 0; s < COLUMNS; s++)
            if (isnan(vectors[k].b[s]))
                assert_true(isnan(b[s]));
            else
                near(b[s], vectors[k].b[s], 1e-12);
    }
    oa_close(c);
}

/* A table of normal numbers in which three cells of ten are empty, none of the first column. */
static void make_table(int trial, int rows, int columns, double *y)
{
    for (int i = 0; i < rows * columns; i++) {
        uint64_t at = (uint64_t)(trial * 1000 + i);
        bool empty = i % columns > 0 && oa_random_uniform(oa_stream_named(5, "empty"), at) < 0.3;
        y[i] = empty ? NAN : 50 + oa_random_normal(oa_stream_named(5, "cell"), at);
    }
}

/* What is left in row or column `line`: step is the way to the next cell of it. */
static double left_over(const double *y, const double *a, const double *b, int columns, int first,
                        int step, int count)
{
    double sum = 0;
    for (int n = 0, at = first; n < count; n++, at += step)
        sum += isnan(y[at]) ? 0 : y[at] - a[at / columns] - b[at % columns];
    return sum;
}

/* The squares are least where nothing is left in any row or column: the normal equations. */
static void nothing_is_left(void **state)
{
    oa_context *c = oa_open(NULL);
    double y[12 * 20], a[12], b[20];
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        int rows = 1 + trial % 12, columns = 1 + trial % 19;
        double sum = 0;
        make_table(trial, rows, columns, y);
        assert_int_equal(oa_fit_two_way(c, y, rows, columns, a, b), OA_OK);
        for (int i = 0; i < rows; i++)
            near(left_over(y, a, b, columns, i * columns, 1, columns), 0, 1e-11);
        for (int s = 0; s < columns; s++) {
            near(left_over(y, a, b, columns, s, columns, rows), 0, 1e-11);
            sum += isnan(b[s]) ? 0 : b[s];
        }
        near(sum, 0, 1e-11);
    }
    oa_close(c);
}

static void what_does_not_hang_together(void **state)
{
    static const double y[3][4] = { { 1, 2, EMPTY, EMPTY },
                                    { 2, 2, EMPTY, EMPTY },
                                    { EMPTY, EMPTY, 3, 4 } };
    oa_context *c = oa_open(NULL);
    double a[3], b[4];
    (void)state;
    assert_int_equal(oa_fit_two_way(c, y[0], 3, 4, a, b), OA_OK);
    assert_true(isnan(a[0]) && isnan(a[1]) && isnan(a[2]));
    oa_close(c);
}

/* ---- comparisons ---- */

struct held {
    oa_context *c;
    struct arena a;
    struct oa_summary s;
};

/* Losses [rows][columns] as a comparison of any number of looks; empty ones are runs that were not
 * made. */
static void hold(struct held *h, const double *y, int rows, int columns)
{
    struct simulated none = { .count = rows };
    h->c = oa_open(NULL);
    arena_open(&h->a, &none, 0, columns);
    for (int i = 0; i < rows; i++)
        for (int r = 0; r < columns; r++) {
            h->a.runs[i][r].absent = isnan(y[i * columns + r]);
            h->a.runs[i][r].valid_loss = y[i * columns + r];
            h->a.runs[i][r].bits_per_character = 2 * y[i * columns + r];
        }
}

static void judge(struct held *h)
{
    assert_int_equal(oa_summary_make(h->c, &h->a.comparison, &h->s), OA_OK);
}

static void end(struct held *h)
{
    assert_int_equal(oa_last_error(h->c, NULL), OA_OK);
    oa_summary_free(&h->s);
    oa_close(h->c);
}

static struct oa_text text_of(struct held *h,
                              void (*report)(const struct oa_comparison *,
                                             const struct oa_summary *, struct oa_text *))
{
    struct oa_text t;
    oa_text_init(&t, h->c);
    report(&h->a.comparison, &h->s, &t);
    return t;
}

static void has(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%.4000s", what, text);
}

/* The order is that of the numbers shown, the first has the lowest, and differences are those of
 * two numbers shown. */
static void is_one_order(const struct held *h)
{
    const struct oa_comparison *k = &h->a.comparison;
    assert_int_equal(h->s.order[0], h->s.reference);
    assert_int_equal(h->s.entries[h->s.reference].verdict, OA_VERDICT_LOWEST);
    for (int o = 0; o < h->s.count; o++) {
        const struct oa_standing *e = &h->s.entries[h->s.order[o]];
        struct oa_estimate d = oa_to_reference(k, &h->s, h->s.order[o]);
        double cost = oa_adjusted_cost(k, &h->s, h->s.order[o]);
        assert_true(d.mean >= 0);
        assert_true(d.mean == cost - oa_adjusted_cost(k, &h->s, h->s.reference));
        assert_true(isnan(d.half) && isnan(oa_shown_score(k, e).half));
        assert_true(oa_shown_score(k, e).mean == e->adjusted);
        near(oa_percent_to_reference(&h->s, h->s.order[o]),
             100 * oa_cost(oa_compared_measure(k), d.mean) /
                 fabs(h->s.entries[h->s.reference].adjusted),
             1e-12);
        if (o)
            assert_true(cost >= oa_adjusted_cost(k, &h->s, h->s.order[o - 1]));
    }
}

/* The same values as above in a comparison; of the floor, which is not in the fit, by hand: 2.05
 * minus the mean of b[0 … 2].
 */
static void adjusted_means(void **state)
{
    static struct held h;
    double y[ROWS + 1][COLUMNS];
    (void)state;
    memcpy(y, vectors[0].y, sizeof vectors[0].y);
    for (int r = 0; r < COLUMNS; r++)
        y[ROWS][r] = r < 3 ? (const double[]){ 2.0, 2.1, 2.05 }[r] : NAN;
    hold(&h, y[0], ROWS + 1, COLUMNS);
    h.a.entries[ROWS].uniform = true;
    judge(&h);
    assert_true(h.s.uneven);
    for (int i = 0; i < ROWS; i++) {
        assert_false(h.s.entries[i].plain);
        near(h.s.entries[i].adjusted, vectors[0].a[i], 1e-13);
        near(oa_shown_perplexity(&h.s.entries[i]), exp(vectors[0].a[i]), 1e-12);
        near(oa_shown_bits(&h.s.entries[i]), 2 * vectors[0].a[i], 1e-12);
    }
    near(h.s.entries[ROWS].adjusted, 2.0530229166666667, 1e-13);
    is_one_order(&h);
    end(&h);
}

/* Where all have the same seeds nothing is adjusted: the plain mean to the bit, and the paired
 * difference with its interval. What survived of an attention with failures stays as it is. */
static void the_same_seeds(void **state)
{
    static struct held h;
    (void)state;
    for (int looks = 0; looks < 2; looks++)
        for (int trial = 0; trial < 20; trial++) {
            double y[6 * 7];
            for (int i = 0; i < 6 * 7; i++)
                y[i] =
                    2 + oa_random_uniform(oa_stream_named(6, "even"), (uint64_t)(100 * trial + i));
            hold(&h, y, 6, 7);
            h.a.comparison.sequential = looks;
            h.a.runs[5][3].failed = h.a.runs[5][6].absent = true;
            judge(&h);
            assert_false(h.s.uneven);
            for (int i = 0; i < 6; i++) {
                const struct oa_standing *e = &h.s.entries[i];
                struct oa_estimate d = oa_to_reference(&h.a.comparison, &h.s, i),
                                   own = oa_shown_score(&h.a.comparison, e);
                assert_true(e->plain && e->adjusted == e->loss.mean);
                assert_memory_equal(&own, &e->loss, sizeof own);
                const struct oa_against *a = oa_compared_pair(&h.s, i, h.s.reference);
                assert_true(d.n == a->difference.n && d.mean == a->difference.mean &&
                            d.sd == a->difference.sd);
                assert_true(e->failed ? isnan(d.half) : i == h.s.reference || d.half == a->half);
                assert_true(oa_percent_to_reference(&h.s, i) == e->percent);
                assert_true(i == h.s.reference || e->failed || d.half > 0);
            }
            end(&h);
        }
}

static bool explained(const char *page, const char *term)
{
    char text[64];
    snprintf(text, sizeof text, "<dt>%s</dt>", term);
    return strstr(page, text) != NULL;
}

/* Only the floor has fewer: the others are shown as they are, and the floor as if it had the seeds
 * that it lacks. */
static void the_floor_alone(void **state)
{
    static const double y[3][4] = { { 1, 3, 2, 2 }, { 2, 4, 3, 3.5 }, { 5, 6, EMPTY, EMPTY } };
    static struct held h;
    (void)state;
    hold(&h, y[0], 3, 4);
    h.a.entries[2].uniform = true;
    judge(&h);
    assert_false(h.s.uneven);
    assert_true(h.s.entries[0].plain && h.s.entries[1].plain && !h.s.entries[2].plain);
    assert_true(h.s.entries[0].adjusted == 2 && h.s.entries[1].adjusted == 3.125);
    /* means of the seeds: 1.5, 3.5, …; of all: 2.5625 */
    near(h.s.entries[2].adjusted, (5 - 1.5 + 6 - 3.5) / 2 + 2.5625, 1e-13);
    assert_true(oa_compared_pair(&h.s, 1, 0)->half > 0);
    assert_true(oa_to_reference(&h.a.comparison, &h.s, 1).half ==
                oa_compared_pair(&h.s, 1, 0)->half);
    near(oa_to_reference(&h.a.comparison, &h.s, 2).mean, h.s.entries[2].adjusted - 2, 1e-13);
    struct oa_text table = text_of(&h, oa_report_markdown);
    has(table.s, "Where an attention has fewer seeds, its validation loss is adjusted");
    assert_null(strstr(table.s, "own seeds"));
    has(table.s, "+1.1250");
    oa_text_free(&table);
    struct oa_text page =
        text_of(&h, oa_report_html); /* which explains what there is, and nothing else */
    static const char *const terms[] = { "any number of interim analyses", "uniform baseline",
                                         "budget held equal", "Pareto front" };
    static const char *const others[] = { "interval of a difference", "baseline", "tuned",
                                          "adjusted for missing seeds", "loss" };
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        assert_true(explained(page.s, terms[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(explained(page.s, others[i]));
    oa_text_free(&page);
    end(&h);
}

/* ---- a cycle ---- */

enum { IN_CYCLE = 3, CYCLE_SEEDS = 6 };

/* On the seeds that two have in common c is lower than b, b than a, and a than c. */
static const double cycle[IN_CYCLE][CYCLE_SEEDS] = { { 1.011, 1.019, 1.005, 1.012, 1.003, 0.70 },
                                                     { 1.003, 1.008, 0.996, 1.001, 0.992, EMPTY },
                                                     { 0.981, 0.990, 0.974, 0.983, 0.972, 1.00 } };

/* Who leads when each that is lower than the one before takes its place. */
static int winner_of_pairs(const struct oa_summary *s)
{
    int best = 0;
    for (int i = 1; i < s->count; i++)
        if (s->pairs[i * s->count + best].difference.mean < 0)
            best = i;
    return best;
}

/* The number in the column of a line of a Markdown table, "1.8147 ±0.0114"; 0 where there is none.
 */
static double number_in(const char *line, int column)
{
    char text[32] = "", *to = text;
    for (; column >= 0; line++)
        column -= *line == '|';
    for (; *line != '|' && to < text + sizeof text - 1; line++) {
        if (strncmp(line, "−", 3) == 0)
            *to++ = '-';
        if ((unsigned char)*line < 0x80)
            *to++ = *line;
    }
    return strtod(text, NULL);
}

/* What a reader sees: losses that rise, the first called lowest, and differences that subtraction
 * gives. */
static void reads_well(const char *markdown)
{
    const char *line = strstr(markdown, "\n| :--") + 1;
    double first = 0, last = 0, unit = 1e-4;
    for (int row = 0; (line = strchr(line, '\n') + 1) && *line == '|'; row++) {
        double loss = number_in(line, 1), difference = number_in(line, 4);
        first = row ? first : loss;
        assert_true(loss >= last);
        assert_true(row == 0 || difference >= 0);
        assert_true(fabs(difference - (loss - first)) < 1.01 * unit);
        if (row == 0)
            assert_non_null(strstr(line, "lowest loss"));
        last = loss;
    }
    assert_true(last > first);
}

static void no_cycle(void **state)
{
    static struct held h;
    (void)state;
    hold(&h, cycle[0], IN_CYCLE, CYCLE_SEEDS);
    h.a.comparison.margin = 0.05; /* nothing is shown to be worse than another by more */
    judge(&h);
    assert_true(h.s.pairs[2 * IN_CYCLE + 1].difference.mean < 0 &&
                h.s.pairs[1 * IN_CYCLE].difference.mean < 0 && h.s.pairs[2].difference.mean < 0);
    assert_int_equal(winner_of_pairs(&h.s), 2);
    assert_int_equal(h.s.reference, 0);
    is_one_order(&h);
    struct oa_text markdown = text_of(&h, oa_report_markdown), json = text_of(&h, oa_report_json),
                   page = text_of(&h, oa_report_html);
    reads_well(markdown.s);
    has(markdown.s, "a has the lowest adjusted loss");
    has(markdown.s, "own seeds");
    has(markdown.s, "least-squares mean of the model attention + seed");
    has(page.s, "Searle, Speed and Milliken 1980");
    has(page.s, "<small>1.0000 ± ");
    has(page.s, "<small>over its 5 seeds</small>");
    has(json.s, "\"adjusted\": ");
    has(json.s, "\"adjusted_difference\": ");
    oa_text_free(&markdown);
    oa_text_free(&json);
    oa_text_free(&page);
    end(&h);
}

/* Where more is better the same is decided, and the adjusted mean is that of the score. */
static void of_scores(void **state)
{
    static const struct oa_measure measures[] = { { "loss", "valid loss", "nats", 4, false, 0 },
                                                  { "bleu", "BLEU", "BLEU", 2, true, 100 },
                                                  { .name = NULL } };
    static struct held h, up;
    (void)state;
    hold(&h, cycle[0], IN_CYCLE, CYCLE_SEEDS);
    hold(&up, cycle[0], IN_CYCLE, CYCLE_SEEDS);
    h.a.comparison.margin = up.a.comparison.margin = 0.05;
    for (int i = 0; i < IN_CYCLE; i++)
        for (int r = 0; r < CYCLE_SEEDS; r++) {
            up.a.runs[i][r].scores[1] = -cycle[i][r];
            up.a.runs[i][r].valid_loss = 3;
        }
    assert_int_equal(oa_comparison_set_measures(up.c, &up.a.comparison, measures, 1), OA_OK);
    judge(&h);
    judge(&up);
    assert_int_equal(up.s.reference, h.s.reference);
    for (int i = 0; i < IN_CYCLE; i++) {
        assert_int_equal(up.s.order[i], h.s.order[i]);
        assert_true(up.s.entries[i].adjusted == -h.s.entries[i].adjusted);
    }
    is_one_order(&up);
    struct oa_text table = text_of(&up, oa_report_markdown);
    has(table.s, "a has the highest adjusted BLEU");
    oa_text_free(&table);
    oa_free(up.a.comparison.measures);
    end(&h);
    end(&up);
}

/* ---- who may lead ---- */

enum { LONG = 20 };

/* c was worse than a on the five seeds that both have, and b worse than c; a has the highest
 * adjusted mean because it was unlucky later, and is not worse than b on twenty seeds. */
static void what_was_beaten_does_not_lead(void **state)
{
    static struct held h;
    double y[3][LONG];
    (void)state;
    for (int r = 0; r < LONG; r++) {
        double luck = 1e-4 * (r % 5);
        y[0][r] = (r < 5 ? 1 : 2) + luck;
        y[1][r] = 1.5 + 1e-4 * (r % 3);
        y[2][r] = r < 5 ? 1.1 + 2 * luck : NAN;
    }
    hold(&h, y[0], 3, LONG);
    judge(&h);
    assert_int_equal(h.s.pairs[2 * 3 + 0].verdict, OA_AGAINST_WORSE);
    assert_int_equal(h.s.pairs[1 * 3 + 2].verdict, OA_AGAINST_WORSE);
    assert_int_equal(h.s.pairs[1 * 3 + 0].verdict, OA_AGAINST_UNRESOLVED);
    assert_true(h.s.entries[2].adjusted < h.s.entries[0].adjusted);
    assert_int_equal(h.s.reference, 0);
    assert_int_equal(h.s.entries[0].verdict, OA_VERDICT_LEADS);
    has(h.s.conclusion,
        "a leads. c and b are worse. c has a lower adjusted loss, but was shown to be worse "
        "than another attention on the seeds that both have.");
    struct oa_text table = text_of(&h, oa_report_markdown);
    has(table.s, "difference to the leader");
    has(table.s, "| leads |");
    oa_text_free(&table);
    end(&h);
}

/* Identical attentions are one: the one with fewer seeds has the adjusted mean of the other, and no
 * second voice. */
static void identical_ones(void **state)
{
    static const double y[4][5] = { { 1.2, 1.1, 1.3, EMPTY, EMPTY },
                                    { 1.0, 1.2, 1.1, 1.4, 1.3 },
                                    { 1.2, 1.1, 1.3, 1.5, 1.35 },
                                    { 1.9, 1.8, 2.0, 2.0, EMPTY } };
    static struct held h, without;
    (void)state;
    hold(&h, y[0], 4, 5);
    hold(&without, y[1], 3, 5);
    judge(&h);
    judge(&without);
    assert_int_equal(h.s.entries[2].twin, 0);
    assert_true(h.s.uneven && h.s.entries[0].adjusted == h.s.entries[2].adjusted);
    for (int i = 0; i < 3; i++)
        assert_true(h.s.entries[i + 1].adjusted == without.s.entries[i].adjusted);
    end(&h);
    end(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_statsmodels),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(what_does_not_hang_together),
        cmocka_unit_test(adjusted_means),
        cmocka_unit_test(the_same_seeds),
        cmocka_unit_test(the_floor_alone),
        cmocka_unit_test(no_cycle),
        cmocka_unit_test(of_scores),
        cmocka_unit_test(what_was_beaten_does_not_lead),
        cmocka_unit_test(identical_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
