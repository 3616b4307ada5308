/* SPDX-License-Identifier: Apache-2.0
 *
 * A ratio of means, r = E[N] / E[D], from pairs (N, D). For the true r the mean of N - r D is 0, so
 * the set of all r that a two-sided t test of N - r D does not reject covers it with exactly the
 * level of the test where pairs are normal:
 *
 *     (n' - r d')² <= t² (s_nn - 2 r s_nd + r² s_dd) / n,    that is    a r² - 2 b r + c <= 0,
 *     a = d'² - t² s_dd / n,    b = n' d' - t² s_nd / n,    c = n'² - t² s_nn / n
 *
 * with the means n' and d' and t at n - 1 degrees of freedom. Where d' differs from 0 at the level,
 * a > 0 and the set is an interval; otherwise it is what is outside of one, or everything.
 *
 * Fieller, "Some problems in interval estimation", J. R. Statist. Soc. B 16 (1954), 175-185.
 */
#include "statistics/fieller.h"

#include "statistics/statistics.h"

#include <math.h>

/* Sum of (x - mean x)(y - mean y) / (n - 1). */
static double covariance(const double *x, const double *y, int n)
{
    double mean_x = oa_mean(x, n), mean_y = oa_mean(y, n), sum = 0;
    for (int i = 0; i < n; i++)
        sum += (x[i] - mean_x) * (y[i] - mean_y);
    return sum / (n - 1);
}

/* That of mean_d N - mean_n D: the part of b² - a c that would be lost by cancellation where means
 * are far larger than deviations. */
static double residual_variance(const double *numerator, const double *denominator, int n)
{
    double mean_n = oa_mean(numerator, n), mean_d = oa_mean(denominator, n), sum = 0;
    for (int i = 0; i < n; i++) {
        double rest = mean_d * (numerator[i] - mean_n) - mean_n * (denominator[i] - mean_d);
        sum += rest * rest;
    }
    return sum / (n - 1);
}

/* The r with a r² - 2 b r + c <= 0; root: of b² - a c. */
static void solve_quadratic(double a, double b, double c, double root, struct oa_fieller *out)
{
    double q = b + copysign(root, b), one = q / a, other = q == 0 ? 0 : c / q;
    out->form = a > 0 ? OA_FIELLER_BOUNDED : OA_FIELLER_OUTSIDE;
    out->low = fmin(one, other);
    out->high = fmax(one, other);
}

static void set_everything(struct oa_fieller *out)
{
    out->form = OA_FIELLER_EVERYTHING;
    out->low = -INFINITY;
    out->high = INFINITY;
}

struct oa_fieller oa_fieller_within(const double *numerator, const double *denominator, int n,
                                    double half)
{
    struct oa_fieller out = { .n = n, .value = NAN, .low = NAN, .high = NAN, .gain = NAN };
    if (n < 1)
        return out;
    double mean_n = oa_mean(numerator, n), mean_d = oa_mean(denominator, n);
    out.gain = mean_d;
    out.value = mean_n / mean_d;
    if (n < 2 || isnan(half))
        return out;
    if (isinf(half)) {
        set_everything(&out);
        return out;
    }
    double factor = half * half; /* t² / n of the t test */
    double s_nn = covariance(numerator, numerator, n), s_nd = covariance(numerator, denominator, n),
           s_dd = covariance(denominator, denominator, n);
    double a = mean_d * mean_d - factor * s_dd, b = mean_n * mean_d - factor * s_nd,
           c = mean_n * mean_n - factor * s_nn;
    double discriminant = factor * (residual_variance(numerator, denominator, n) -
                                    factor * fmax(0, s_nn * s_dd - s_nd * s_nd));
    if (a == 0 && b == 0 && c > 0)
        return out;
    if (a == 0) { /* c <= 2 b r */
        out.form = b == 0 ? OA_FIELLER_EVERYTHING : OA_FIELLER_OUTSIDE;
        out.low = b < 0 ? c / (2 * b) : -INFINITY;
        out.high = b > 0 ? c / (2 * b) : INFINITY;
    } else if (a > 0 || discriminant > 0)
        solve_quadratic(a, b, c, sqrt(fmax(0, discriminant)), &out);
    else
        set_everything(&out);
    return out;
}

struct oa_fieller oa_fieller_of(const double *numerator, const double *denominator, int n,
                                double level)
{
    double half = n < 2 ? (double)NAN : oa_t_quantile(1 - level / 2, n - 1) / sqrt(n);
    return oa_fieller_within(numerator, denominator, n, half);
}
