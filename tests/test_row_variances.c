/* SPDX-License-Identifier: Apache-2.0
 *
 * Variances of the rows of a two-way table: against the closed form of three rows and the one by
 * variances of differences, and the error rates of the tests that are made from them. The table of
 * docs/statistics-errors.md: test_row_variances table COMPARISONS.
 */
#include "testing.h"

#include "report/against.h"
#include "report/summary.h"
#include "statistics/row_variances.h"

#include <math.h>

enum { ROWS = 12, COLUMNS = 20 };

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* Of the differences of two rows. */
static double variance_between(const double *y, int columns, int a, int b)
{
    double d[COLUMNS];
    for (int s = 0; s < columns; s++)
        d[s] = y[a * columns + s] - y[b * columns + s];
    return oa_deviation(d, columns) * oa_deviation(d, columns);
}

/* var(i, j) = v[i] + v[j] solved for v by least squares over all pairs. For three rows it is
 * (var(1, 2) + var(1, 3) - var(2, 3)) / 2. */
static void equal_to_the_variances_of_differences(void **state)
{
    double y[ROWS * COLUMNS], found[ROWS];
    struct oa_stream stream = oa_stream_named(1, "row variances");
    (void)state;
    for (int rows = 3; rows <= ROWS; rows++) {
        int columns = 2 + rows % 5 * 3;
        for (int i = 0; i < rows * columns; i++)
            y[i] = 100 + i % columns + oa_random_normal(stream, (uint64_t)(1000 * rows + i));
        oa_row_variances(y, rows, columns, found);
        double all = 0, total = 0;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < i; j++)
                all += variance_between(y, columns, i, j);
        for (int i = 0; i < rows; i++) {
            double own = -all / (rows - 1);
            for (int j = 0; j < rows; j++)
                own += j == i ? 0 : variance_between(y, columns, i, j);
            own /= rows - 2;
            total += own;
            double least = all / (rows - 1) / rows / 2; /* half of the mean variance */
            if (own < least)
                own = least;
            if (fabs(found[i] - own) > 1e-9 * own)
                fail_msg("%d rows: found %.17g, expected %.17g", rows, found[i], own);
        }
        assert_true(fabs(total * (rows - 1) - all) < 1e-9 * all);
    }
}

/* By hand: var(1, 2) = 4, var(1, 3) = 9, var(2, 3) = 25 give -6, 10 and 15, whose mean is 19/3. */
static void none_is_below_half_of_the_mean(void **state)
{
    /* Rows 0, 2z and -3z with z of variance 1. */
    static const double y[] = { 5, 6, 7, 5 - 2, 6, 7 + 2, 5 + 3, 6, 7 - 3 };
    double found[3];
    (void)state;
    near(variance_between(y, 3, 0, 1), 4);
    near(variance_between(y, 3, 0, 2), 9);
    near(variance_between(y, 3, 1, 2), 25);
    oa_row_variances(y, 3, 3, found);
    near(found[0], 19.0 / 6);
    near(found[1], 10);
    near(found[2], 15);
}

/* scipy 1.17.1: ttest_ind_from_stats(0.3, sqrt(2), 5, 0, sqrt(0.5), 5, equal_var=False) has
 * p = 0.6864504200282874. */
static void welch_and_satterthwaite(void **state)
{
    struct oa_standard_error e = oa_standard_error_of(2, 0.5, 5);
    (void)state;
    near(e.se, sqrt(0.5));
    near(e.df, 4 * 6.25 / 4.25);
    assert_true(fabs(2 * oa_t_cdf(-0.3 / e.se, e.df) - 0.6864504200282874) < 1e-12);
    near(oa_standard_error_of(3, 3, 7).df, 12);
}

/* ---- in a comparison ---- */

enum { SEEDS = 5 };

static const double losses[][SEEDS] = { { 1.50, 1.52, 1.47, 1.55, 1.51 },
                                        { 1.56, 1.585, 1.525, 1.612, 1.57 },
                                        { 1.512, 1.519, 1.493, 1.551, 1.530 },
                                        { 1.70, 1.71, 1.66, 1.76, 1.64 },
                                        { 1.56, 1.585, 1.525, 1.612, 1.57 } };

/* The first `count` attentions against one of them, which is counted from 1. */
static struct oa_summary summarise(oa_context *c, int count, int baseline,
                                   struct oa_run runs[][SEEDS])
{
    static char *const name[] = { "a", "b", "c", "d", "e" };
    struct oa_entry entry[5] = { { .attention = NULL } };
    struct oa_comparison k = { .entries = entry,
                               .count = count,
                               .seeds = SEEDS,
                               .baseline = baseline,
                               .test = OA_TWO_WAY_ERRORS };
    struct oa_summary s;
    for (int i = 0; i < count; i++) {
        entry[i] = (struct oa_entry){ .attention = name[i], .trainable = 100, .runs = runs[i] };
        for (int seed = 0; seed < SEEDS; seed++)
            runs[i][seed].valid_loss = losses[i][seed];
    }
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    return s;
}

/* Found with numpy 2.4.6 and scipy 1.17.1 from the variances of differences: the difference, its
 * standard error, degrees of freedom, half of the interval at 1 - 0.05/6, p times 3. */
static void a_comparison_is_judged_by_them(void **state)
{
    static const double expected[][5] = { { 0.0604, 0.007896623751114582, 8, 0.023814336548868154,
                                            0.00018070768472475734 },
                                          { 0.011, 0.009194835506957192, 7.4844915275106985,
                                            0.028217329148780196, 0.8042683181933495 },
                                          { 0.184, 0.015730384610682623, 5.129846626875147,
                                            0.05497501181111591, 0.00020416774152956757 } };
    struct oa_run runs[5][SEEDS] = { 0 };
    oa_context *c = oa_open(NULL);
    (void)state;
    struct oa_summary s = summarise(c, 4, 1, runs);
    for (int i = 0; i < 3; i++) {
        const struct oa_against *a = oa_compared_pair(&s, i + 1, 0);
        const double found[] = { a->difference.mean, a->se, a->df, a->half, a->adjusted };
        for (int j = 0; j < 5; j++)
            if (fabs(found[j] - expected[i][j]) > 1e-9 * expected[i][j])
                fail_msg("%d, %d: %.17g, expected %.17g", i, j, found[j], expected[i][j]);
    }
    oa_summary_free(&s);
    oa_close(c);
}

/* An attention that is another one under a second name counts once, and is judged like it. */
static void the_same_model_is_one_row(void **state)
{
    struct oa_run runs[5][SEEDS] = { 0 };
    oa_context *c = oa_open(NULL);
    (void)state;
    struct oa_summary s = summarise(c, 5, 1, runs);
    const struct oa_against *b = oa_compared_pair(&s, 1, 0), *e = oa_compared_pair(&s, 4, 0);
    near(b->se, 0.007896623751114582);
    assert_true(b->se == e->se && b->df == e->df && b->half == e->half);
    oa_summary_free(&s);
    s = summarise(c, 5, 5, runs); /* also where all others are compared with it */
    near(oa_compared_pair(&s, 0, 4)->se, 0.007896623751114582);
    near(oa_compared_pair(&s, 0, 4)->df, 8);
    oa_summary_free(&s);
    oa_close(c);
}

/* With two attentions, or where the others failed: a paired test (scipy.stats.ttest_rel). */
static void two_attentions_are_paired(void **state)
{
    oa_context *c = oa_open(NULL);
    (void)state;
    for (int others = 0; others < 2; others++) {
        struct oa_run runs[5][SEEDS] = { 0 };
        runs[2][0].failed = runs[3][1].failed = true;
        struct oa_summary s = summarise(c, others ? 4 : 2, 1, runs);
        const struct oa_against *a = oa_compared_pair(&s, 1, 0);
        assert_true(fabs(a->p - 3.1743780878501596e-06) < 1e-12);
        near(a->df, 4);
        oa_summary_free(&s);
    }
    oa_close(c);
}

/* ---- error rates ---- */

enum shape { NORMAL, HEAVY, SKEWED, SHAPES }; /* HEAVY: Student's t with 3 degrees of freedom */

struct setting {
    const char *name;
    double low, high, first; /* deviations rise from low to high; that of the first row */
    double loading;          /* columns' effects count 1 - loading in the first row to 1 + loading
                                in the last: no two-way table */
};
static const struct setting settings[] = {
    { "equal", 1, 1, 1, 0 },           { "first three times", 1, 1, 3, 0 },
    { "first a fifth", 1, 1, 0.2, 0 }, { "one to four", 1, 4, 1, 0 },
    { "not additive", 1, 1, 1, 1 },
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static double draw(struct oa_stream stream, uint64_t *next, enum shape shape)
{
    double x = oa_random_normal(stream, (*next)++);
    if (shape == NORMAL)
        return x;
    double sum = 0;
    int terms = shape == HEAVY ? 3 : 2; /* exp(1) - 1: half of chi-squared with two */
    for (int i = 0; i < terms; i++) {
        double z = oa_random_normal(stream, (*next)++);
        sum += z * z;
    }
    return shape == HEAVY ? x / sqrt(sum) : sum / 2 - 1;
}

struct rates {
    double wrong_paired, wrong, found_paired, found; /* shares of comparisons, of pairs */
};

/* Two-sided and corrected for m: false statements about rows that are equal, all but the last one,
 * and whether the last, by `shift` higher, is found to differ from the first. */
static void judge_table(const double *y, int rows, int columns, bool pairs, struct rates *r)
{
    double variance[ROWS], d[COLUMNS];
    int m = pairs ? rows * (rows - 1) / 2 : rows - 1;
    bool wrong = false, wrong_paired = false;
    oa_row_variances(y, rows, columns, variance);
    for (int j = 0; j < (pairs ? rows : 1); j++)
        for (int i = j + 1; i < rows; i++) {
            for (int s = 0; s < columns; s++)
                d[s] = y[i * columns + s] - y[j * columns + s];
            struct oa_estimate e = oa_estimate_of(d, columns);
            struct oa_standard_error own = oa_standard_error_of(variance[i], variance[j], columns);
            bool paired = fabs(e.mean) > oa_half_at(&e, 0.05 / m),
                 rows_own = 2 * oa_t_cdf(-fabs(e.mean) / own.se, own.df) < 0.05 / m;
            wrong |= i < rows - 1 && rows_own;
            wrong_paired |= i < rows - 1 && paired;
            r->found += i == rows - 1 && j == 0 && rows_own;
            r->found_paired += i == rows - 1 && j == 0 && paired;
        }
    r->wrong += wrong;
    r->wrong_paired += wrong_paired;
}

/* The last row is higher by three deviations; what is said about the others is wrong. */
static struct rates simulate(const struct setting *t, enum shape shape, int rows, int columns,
                             bool pairs, int comparisons)
{
    struct oa_stream stream = oa_stream_named(1, t->name);
    struct rates r = { 0 };
    uint64_t next = 0;
    double y[ROWS * COLUMNS], column[COLUMNS];
    for (int n = 0; n < comparisons; n++) {
        for (int s = 0; s < columns; s++)
            column[s] = draw(stream, &next, NORMAL);
        for (int i = 0; i < rows; i++) {
            double at = (double)i / (rows - 1);
            double sd = i == 0 ? t->first : t->low + (t->high - t->low) * at;
            for (int s = 0; s < columns; s++)
                y[i * columns + s] = (1 + t->loading * (2 * at - 1)) * column[s] +
                                     sd * draw(stream, &next, shape) + (i == rows - 1) * 3;
        }
        judge_table(y, rows, columns, pairs, &r);
    }
    r.wrong /= comparisons;
    r.wrong_paired /= comparisons;
    r.found /= comparisons;
    r.found_paired /= comparisons;
    return r;
}

/* Losses that are not skewed: errors in 5 % at most, whatever the variances are, and more of the
 * true differences are found. Skewed: fewer errors than of the paired test, but more than 5 %. */
static void errors_are_rare_and_more_is_found(void **state)
{
    int n = tries(600);
    double most = 0.05 + 3 * sqrt(0.05 * 0.95 / n);
    (void)state;
    for (int s = 0; s < SETTINGS; s++)
        for (int pairs = 0; pairs < 2; pairs++) {
            struct rates normal = simulate(&settings[s], NORMAL, 7, 5, pairs, n),
                         heavy = simulate(&settings[s], HEAVY, 4, 5, pairs, n),
                         skewed = simulate(&settings[s], SKEWED, 12, 10, pairs, n);
            if (!(normal.wrong <= most && heavy.wrong <= most))
                fail_msg("%s: %g and %g wrong", settings[s].name, normal.wrong, heavy.wrong);
            assert_true(skewed.wrong <= fmax(most, skewed.wrong_paired + 0.02));
            if (settings[s].high == 1 && settings[s].first == 1 && settings[s].loading == 0)
                assert_true(normal.found > normal.found_paired + 0.15);
        }
}

static int print_table(int comparisons)
{
    static const int columns[] = { 3, 5, 7, 10, 20 }, rows[] = { 3, 7, 12 };
    printf("| family | rows | columns | false, normal | false, heavy-tailed | false, skewed | "
           "found |\n|---|---|---|---|---|---|---|\n");
    for (int pairs = 0; pairs < 2; pairs++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 5; c++) {
                double worst[SHAPES] = { 0 }, paired[SHAPES] = { 0 };
                struct rates equal = { 0 };
                printf("| %s | %d | %d |", pairs ? "all pairs" : "the first", rows[r], columns[c]);
                for (int h = 0; h < SHAPES; h++) {
                    for (int s = 0; s < SETTINGS; s++) {
                        struct rates one =
                            simulate(&settings[s], h, rows[r], columns[c], pairs, comparisons);
                        worst[h] = fmax(worst[h], one.wrong);
                        paired[h] = fmax(paired[h], one.wrong_paired);
                        if (h == NORMAL && s == 0)
                            equal = one;
                    }
                    printf(" %.1f (%.1f) |", 100 * worst[h], 100 * paired[h]);
                }
                printf(" %.0f (%.0f) |\n", 100 * equal.found, 100 * equal.found_paired);
                fflush(stdout);
            }
    return 0;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "table") == 0)
        return print_table(atoi(words[2]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_to_the_variances_of_differences),
        cmocka_unit_test(none_is_below_half_of_the_mean),
        cmocka_unit_test(welch_and_satterthwaite),
        cmocka_unit_test(a_comparison_is_judged_by_them),
        cmocka_unit_test(the_same_model_is_one_row),
        cmocka_unit_test(two_attentions_are_paired),
        cmocka_unit_test(errors_are_rare_and_more_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
