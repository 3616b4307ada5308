/* SPDX-License-Identifier: Apache-2.0
 *
 * statistics: distributions, intervals, tests, corrections. Numbers in, numbers out; nothing here
 * knows what they are of.
 */
#ifndef ORTHANT_STATISTICS_H
#define ORTHANT_STATISTICS_H

#include "base/base.h"

/* ---- student.c, statistics.c ---- */

double oa_log_gamma(double x);      /* of x > 0; unlike lgamma(), writes no global variable */
double oa_log_choose(int n, int k); /* log of the binomial coefficient */
/* The x between low and high with cdf(x, a, b) = p, by bisection; cdf increases in x. */
double oa_quantile_of(double (*cdf)(double x, double a, double b), double a, double b, double p,
                      double low, double high);

double oa_mean(const double *x, int n);
double oa_deviation(const double *x, int n); /* of a sample: divided by n - 1; NaN when n < 2 */

/* P(X <= x) of Beta(a, b): the regularised incomplete beta function. */
double oa_beta_cdf(double x, double a, double b);
double oa_t_cdf(double t, double df); /* P(T <= t), Student's t with df > 0 degrees of freedom */
double oa_t_quantile(double p, double df); /* the t with P(T <= t) = p, 0 < p < 1 */
/* P(|T| > critical) for a noncentral t: the power of a two-sided t test. */
double oa_t_power(double noncentrality, double df, double critical);
/* The noncentrality with P(T > t) = p. With p = 0.1 and 0.9 these are the ends of its 80 % interval
 * given t. */
double oa_t_noncentrality(double t, double df, double p);

/* The mean of a sample with its 95 % interval: mean - half … mean + half. */
struct oa_estimate {
    int n;
    double mean, sd, half; /* sd and half are NaN when n < 2, mean when n < 1 */
};
struct oa_estimate oa_estimate_of(const double *x, int n);
/* Half the width of the two-sided t interval around e->mean that misses the true mean with a
 * probability of `level`. NaN when n < 2 or level is. */
double oa_half_at(const struct oa_estimate *e, double level);

/* Two one-sided t tests (Schuirmann 1987): the p-value of "the mean is as far from 0 as `margin`,
 * or farther"; below 0.05, the mean is practically 0. Equivalent to the 90 % interval being within
 * the margin. NaN when n < 2 or without any spread. */
double oa_equivalence_test(const struct oa_estimate *e, double margin);

#define OA_SEEDS_CAP 1000 /* beyond it a number of seeds is only "more than" */
/* The smallest n for which a paired t test at `level` detects a true difference equal to the
 * observed mean, with the observed deviation, with a probability of 80 %. OA_SEEDS_CAP + 1 when it
 * is larger than OA_SEEDS_CAP. */
int oa_seeds_needed(double mean, double sd, double level);
/* The same where the variance of the mean is sd²/n + constant, of which more seeds reduce the first
 * part alone: over seeds and items (crossed.c). */
int oa_seeds_needed_beyond(double mean, double sd, double constant, double level);
/* An 80 % interval of that number of seeds: the numbers for the ends of the 80 % interval of
 * mean/sd (of the noncentral t, which includes the uncertainty of the deviation). As the number
 * decreases with mean/sd, the range covers the true number with the same probability if differences
 * are normal. */
struct oa_seeds_range {
    int low, high; /* OA_SEEDS_CAP + 1: more than OA_SEEDS_CAP */
};
struct oa_seeds_range oa_seeds_range_of(const struct oa_estimate *e, double level);
/* The smallest n at which two one-sided t tests at `level` show a mean to be within the margin with
 * a probability of about 80 %, if the observed mean and deviation are the true ones: margin -
 * |mean| is as large as the sum of the tests' quantile and that of the power, in standard errors.
 * OA_SEEDS_CAP + 1 where no such n is. */
int oa_equivalence_seeds_needed(double mean, double sd, double margin, double level);
int oa_equivalence_seeds_needed_beyond(double mean, double sd, double constant, double margin,
                                       double level);

/* ---- tables with empty cells (two_way.c) ---- */

/* Least squares of y[i][s] = a[i] + b[s] over the cells of y [rows][columns] that are not NaN, with
 * b of mean 0 over the columns that have any cell: a[i] is then the mean that row i would have
 * without empty cells (least-squares mean). Every row must have a cell, and all rows must be
 * connected by shared columns, as when all have the first one; otherwise a is NaN. a [rows] and b
 * [columns] are set; b is NaN where a column is empty. */
enum oa_error oa_fit_two_way(oa_context *c, const double *y, int rows, int columns, double *a,
                             double *b);

/* ---- seeds and items (crossed.c) ---- */

/* The mean of a table with a row for each seed and a column for each item, both random samples.
 * With few seeds and items that differ more than seeds, the interval over both may have more
 * degrees of freedom than that over seeds; it is never narrower. */
struct oa_crossed {
    int seeds;
    long items; /* of a weight above 0 */
    double mean;
    /* Parts of the variance of the mean: of the seeds' means, of the items' means, and the
     * interaction, which both contain. NaN: fewer than 2 seeds or items. */
    double seed, item, interaction;
    double seed_df;      /* degrees of freedom of `seed` */
    double variance, df; /* of the mean, with degrees of freedom */
};
/* sums [seeds][items] over targets, of which item i has weights[i]: the mean of a seed is the sum
 * of its row divided by that of the weights. */
enum oa_error oa_crossed_of(oa_context *c, const double *sums, const double *weights, int seeds,
                            long items, struct oa_crossed *out);
/* Replaces the standard error over seeds, for instance by one from more rows than these two. */
void oa_crossed_set_seeds(struct oa_crossed *x, double se, double df);
/* Standard error and degrees of freedom of the interval, mean ± t(1 - level/2, df) · se, that
 * misses the true mean with a probability of `level`: of both, or where that is wider, of the seeds
 * alone. NaN: fewer than 2 seeds or items. */
void oa_crossed_error(const struct oa_crossed *x, double level, double *se, double *df);

/* ---- interim analyses after every seed (anytime.c) ---- */

/* Half the width of the interval around e->mean, such that the intervals at *all* numbers of seeds
 * together cover the true mean of normal differences with a probability of at least 1 - level.
 * Infinite while there are too few seeds; NaN when n < 2. */
double oa_anytime_half(const struct oa_estimate *e, double level);

/* ---- times measured in rounds (rounds.c) ---- */

enum { OA_MOST_ROUNDS = 64 };

/* The largest k with P(X < k) <= 2.5 % for X binomial (n, 1/2): the order statistics k from either
 * end enclose the median with a probability of 95 % or more. 0: none do. */
int oa_median_rank(int n);

/* An estimate with its 95 % interval; low and high are NaN where n is too small for one (below 6),
 * value when n is 0.
 */
struct oa_range {
    int n;
    double value, low, high;
};
/* The median of x[0 … n-1]; n is at most OA_MOST_ROUNDS. NULL: n is taken as 0, here and below. */
struct oa_range oa_median_of(const double *x, int n);
/* The time of a over that of b, from times of the same rounds: exp of the Hodges-Lehmann estimate
 * of the difference of logarithms, with the interval of the signed ranks. */
struct oa_range oa_ratio_of(const double *a, const double *b, int n);

/* ---- chi-squared (chi_square.c) ---- */

double oa_chi_square_cdf(double x, double df);      /* P(X <= x), df > 0 */
double oa_chi_square_quantile(double p, double df); /* the x with P(X <= x) = p, 0 < p < 1 */

#endif
