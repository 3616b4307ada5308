/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of small samples: mean, deviation, interval, equivalence, the size of a sample that
 * would resolve a difference.
 */
#include "statistics/statistics.h"

#include <math.h>

/* Relative to the first value, so that equal values give exactly that value and a deviation of
 * exactly 0. */
double oa_mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] - x[0];
    return n < 1 ? NAN : x[0] + sum / n;
}

double oa_deviation(const double *x, int n)
{
    double mean = oa_mean(x, n), sum = 0;
    for (int i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return n < 2 ? NAN : sqrt(sum / (n - 1));
}

struct oa_estimate oa_estimate_of(const double *x, int n)
{
    struct oa_estimate e = { .n = n, .mean = oa_mean(x, n), .sd = oa_deviation(x, n), .half = NAN };
    if (n >= 2)
        e.half = oa_t_quantile(0.975, n - 1) * e.sd / sqrt(n);
    return e;
}

double oa_equivalence_test(const struct oa_estimate *e, double margin)
{
    if (e->n < 2 || e->sd == 0)
        return NAN;
    return 1 - oa_t_cdf((margin - fabs(e->mean)) / (e->sd / sqrt(e->n)), e->n - 1);
}

double oa_half_at(const struct oa_estimate *e, double level)
{
    return e->n < 2 || isnan(level) ? NAN
                                    : oa_t_quantile(1 - level / 2, e->n - 1) * e->sd / sqrt(e->n);
}

int oa_seeds_needed(double mean, double sd, double level)
{
    return oa_seeds_needed_beyond(mean, sd, 0, level);
}

/* Power increases with n: bisection. */
int oa_seeds_needed_beyond(double mean, double sd, double constant, double level)
{
    int low = 1, high = OA_SEEDS_CAP + 1; /* low is too few */
    if (mean == 0)
        return high;
    if (sd == 0 && constant == 0)
        return 2;
    while (high - low > 1) {
        int n = low + (high - low) / 2;
        double power = oa_t_power(fabs(mean) / sqrt(sd * sd / n + constant), n - 1,
                                  oa_t_quantile(1 - level / 2, n - 1));
        if (power >= 0.8)
            high = n;
        else
            low = n;
    }
    return high;
}

static bool shows_equivalence(int n, double mean, double sd, double constant, double margin,
                              double level)
{
    double worst = mean == 0 ? 0.1 : 0.2; /* that the tests fail: on both sides together 20 % */
    double errors = oa_t_quantile(1 - level, n - 1) + oa_t_quantile(1 - worst, n - 1);
    return (margin - fabs(mean)) * sqrt(n) >= errors * sqrt(sd * sd + constant * n);
}

int oa_equivalence_seeds_needed(double mean, double sd, double margin, double level)
{
    return oa_equivalence_seeds_needed_beyond(mean, sd, 0, margin, level);
}

int oa_equivalence_seeds_needed_beyond(double mean, double sd, double constant, double margin,
                                       double level)
{
    int low = 1, high = OA_SEEDS_CAP + 1; /* low is too few */
    if (!(fabs(mean) < margin))
        return high;
    while (high - low > 1) {
        int n = low + (high - low) / 2;
        if (shows_equivalence(n, mean, sd, constant, margin, level))
            high = n;
        else
            low = n;
    }
    return high;
}

struct oa_seeds_range oa_seeds_range_of(const struct oa_estimate *e, double level)
{
    static const double outside = 0.1; /* on either side */
    struct oa_seeds_range none = { .low = 2, .high = OA_SEEDS_CAP + 1 };
    if (e->n < 2 || e->sd == 0)
        return none;
    double root = sqrt(e->n), t = fabs(e->mean) / e->sd * root;
    bool may_be_none = oa_t_cdf(-t, e->n - 1) >= outside; /* no effect at all is in the interval */
    double least = may_be_none ? 0 : oa_t_noncentrality(t, e->n - 1, outside) / root;
    double most = oa_t_noncentrality(t, e->n - 1, 1 - outside) / root;
    return (struct oa_seeds_range){ .low = oa_seeds_needed(most, 1, level),
                                    .high = oa_seeds_needed(least, 1, level) };
}
