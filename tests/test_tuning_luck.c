/* SPDX-License-Identifier: Apache-2.0
 *
 * The luck of a choice, simulated: attentions that are exactly equal, each tuned over three rates
 * whose true losses differ by little, by trials that are as noisy as runs. Grids, choices and
 * added values are those of the program (trials.c); true losses and noise are made up. How often
 * is something called different? `test_tuning_luck table COMPARISONS` prints what
 * docs/statistics.md has; the test repeats a part.
 */
#include "testing.h"

#include "compare/comparison.h"
#include "statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ATTENTIONS = 8, MOST_SEEDS = 20, PAIRS = ATTENTIONS * (ATTENTIONS - 1) / 2 };

/* In units of the deviation of a run over the seeds. */
static const double shared = 0.33; /* share of the variance that all runs of a seed have alike */

struct luck {
    oa_context *c;
    struct oa_stream noise;
    uint64_t drawn;
    double curvature; /* excess of a rate that is a factor 3 away from the best */
    struct oa_comparison k;
    struct oa_entry entry;
    struct oa_tuned tuned;
};

static double draw(struct luck *l)
{
    return oa_random_normal(l->noise, l->drawn++);
}

/* Of the rate that the cell has; lowest at 0.003. */
static double true_excess(const struct luck *l, const struct oa_grid *g, int cell)
{
    double rate = 0;
    assert_true(oa_parse_real(oa_grid_value(g, cell, 0), &rate));
    return l->curvature * pow(log(rate / 0.003) / log(3), 2);
}

/* One tuning, with the values that it adds: the true excess of what it chose. */
static double tune(struct luck *l, const double *of_seed)
{
    struct oa_tuned *u = &l->tuned;
    int added = 1;
    assert_int_equal(oa_tuned_open(l->c, &l->k, u), OA_OK);
    while (added) {
        for (int i = 0; i < u->grid.cells * l->k.tuning.seeds; i++)
            if (u->trials[i].absent)
                u->trials[i] =
                    (struct oa_run){ .valid_loss = 5 +
                                                   true_excess(l, &u->grid, i / l->k.tuning.seeds) +
                                                   sqrt(shared) * of_seed[i % l->k.tuning.seeds] +
                                                   sqrt(1 - shared) * draw(l) };
        assert_int_equal(oa_trial_extend(l->c, &l->k, u, &added), OA_OK);
    }
    return true_excess(l, &u->grid, oa_trial_best(&l->k, u));
}

static void tune_seed(struct luck *l, double *excess)
{
    double of_seed[2];
    for (int s = 0; s < l->k.tuning.seeds; s++)
        of_seed[s] = draw(l);
    for (int i = 0; i < ATTENTIONS; i++)
        excess[i] = tune(l, of_seed);
}

static void run_comparison(struct luck *l, bool per_seed, int seeds,
                           double losses[ATTENTIONS][MOST_SEEDS])
{
    double excess[ATTENTIONS];
    for (int s = 0; s < seeds; s++) {
        if (per_seed || s == 0)
            tune_seed(l, excess);
        double of_seed = draw(l);
        for (int i = 0; i < ATTENTIONS; i++)
            losses[i][s] = 5 + excess[i] + sqrt(shared) * of_seed + sqrt(1 - shared) * draw(l);
    }
}

/* Of a two-sided paired t test. */
static double paired_p(const double *a, const double *b, int seeds)
{
    double differences[MOST_SEEDS];
    for (int s = 0; s < seeds; s++)
        differences[s] = a[s] - b[s];
    struct oa_estimate e = oa_estimate_of(differences, seeds);
    return 2 * (1 - oa_t_cdf(fabs(e.mean) / e.sd * sqrt(seeds), seeds - 1));
}

/* At a level of 5 % for all of them together, by Bonferroni's correction; Holm's finds something
 * exactly where that does. */
static bool any_different(const double *p, int count)
{
    for (int i = 0; i < count; i++)
        if (count * p[i] < 0.05)
            return true;
    return false;
}

struct rates {
    double baseline, pairs; /* share of the comparisons with a difference in that family */
};

static struct rates simulate(oa_context *c, int comparisons, bool per_seed, int seeds,
                             int tune_seeds, double curvature)
{
    char name[96];
    snprintf(name, sizeof name, "luck %d %d %d %g", per_seed, seeds, tune_seeds, curvature);
    struct luck l = { .c = c, .noise = oa_stream_named(1, name), .curvature = curvature };
    struct rates r = { 0 };
    l.k = (struct oa_comparison){ .entries = &l.entry,
                                  .count = 1,
                                  .seeds = seeds,
                                  .tuning = {
                                      .per_seed = per_seed, .extend = 3, .seeds = tune_seeds } };
    assert_int_equal(oa_grid_parse(c, "train.lr=1e-3,3e-3,9e-3", &l.k.tuning.grid), OA_OK);
    for (int i = 0; i < comparisons; i++) {
        double losses[ATTENTIONS][MOST_SEEDS], p[PAIRS];
        int count = 0;
        run_comparison(&l, per_seed, seeds, losses);
        for (int a = 0; a < ATTENTIONS; a++)
            for (int b = a + 1; b < ATTENTIONS; b++)
                p[count++] = paired_p(losses[a], losses[b], seeds);
        r.baseline += any_different(p, ATTENTIONS - 1); /* those of the first attention */
        r.pairs += any_different(p, count);
    }
    oa_free(l.tuned.trials);
    r.baseline /= comparisons;
    r.pairs /= comparisons;
    return r;
}

/* Three deviations of a share of 5 %, counted over so many comparisons. */
static double tolerance(int comparisons)
{
    return 3 * sqrt(0.05 * 0.95 / comparisons);
}

static void nested_tuning_errs_rarely(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    static const int seeds[] = { 3, 20 };
    int comparisons = tries(400);
    for (int i = 0; i < 2; i++) {
        struct rates r = simulate(c, comparisons, true, seeds[i], 1, 0.5);
        print_message("nested, %d seeds: %.1f %% against a baseline, %.1f %% of all pairs\n",
                      seeds[i], 100 * r.baseline, 100 * r.pairs);
        assert_true(r.baseline <= 0.05 + tolerance(comparisons));
        assert_true(r.pairs <= 0.05 + tolerance(comparisons));
    }
    oa_close(c);
}

/* What compare.tune_per = once is warned of. */
static void one_choice_for_all_seeds_errs_often(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    int comparisons = tries(400);
    struct rates r = simulate(c, comparisons, false, 20, 1, 0.5);
    print_message("once, 20 seeds: %.1f %% against a baseline, %.1f %% of all pairs\n",
                  100 * r.baseline, 100 * r.pairs);
    assert_true(r.baseline > 0.15 && r.pairs > 0.15);
    oa_close(c);
}

static int print_table(int comparisons)
{
    static const int seeds[] = { 3, 5, 10, 20 };
    static const double curvatures[] = { 0.25, 0.5, 1 };
    oa_context *c = oa_open(NULL);
    printf("%d attentions, %d comparisons: share in which something is called different, in %%\n"
           "excess  tuning      seeds  baseline  pairs\n",
           ATTENTIONS, comparisons);
    for (int e = 0; e < 3; e++)
        for (int form = 0; form < 4; form++)
            for (int i = 0; i < 4; i++) {
                struct rates r =
                    simulate(c, comparisons, form % 2, seeds[i], 1 + form / 2, curvatures[e]);
                printf("%6g  %-6s × %d  %5d  %8.1f  %5.1f\n", curvatures[e],
                       form % 2 ? "seed" : "once", 1 + form / 2, seeds[i], 100 * r.baseline,
                       100 * r.pairs);
                fflush(stdout);
            }
    oa_close(c);
    return 0;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "table") == 0)
        return print_table(atoi(words[2]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_tuning_errs_rarely),
        cmocka_unit_test(one_choice_for_all_seeds_errs_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
