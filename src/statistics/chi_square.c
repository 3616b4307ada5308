/* SPDX-License-Identifier: Apache-2.0
 *
 * Chi-squared: distribution function and quantile, by the regularised incomplete gamma function
 *
 *     P(X <= x) = P(v/2, x/2)
 *
 * P by its series below a + 1, Q = 1 - P by its continued fraction above (Abramowitz &
 * Stegun 6.5.29 and 6.5.31, the fraction by Lentz's method as modified by Thompson and Barnett);
 * the quantile by bisection. Both agree with SciPy to 1e-12 relative (tests/test_variance.c).
 */
#include "statistics/statistics.h"

#include <float.h>
#include <math.h>

static double front(double a, double x)
{
    return exp(a * log(x) - x - oa_log_gamma(a));
}

/* P(a, x) = x^a e^-x / Γ(a) · Σ x^n / (a (a+1) … (a+n)) */
static double gamma_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int n = 1; n < 100000 && term > sum * DBL_EPSILON / 4; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return front(a, x) * sum;
}

/* Q(a, x) = x^a e^-x / Γ(a) · 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - …))) */
static double gamma_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, f = d;
    for (int n = 1; n < 100000; n++) {
        double an = -n * (n - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        f *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON)
            break;
    }
    return front(a, x) * f;
}

double oa_chi_square_cdf(double x, double df)
{
    if (isnan(x) || !(df > 0))
        return NAN;
    if (x <= 0)
        return 0;
    return x < df + 2 ? gamma_series(df / 2, x / 2) : 1 - gamma_fraction(df / 2, x / 2);
}

static double chi_square_cdf_of(double x, double df, double unused)
{
    (void)unused;
    return oa_chi_square_cdf(x, df);
}

double oa_chi_square_quantile(double p, double df)
{
    double high = 1;
    if (!(p > 0 && p < 1) || !(df > 0))
        return NAN;
    while (oa_chi_square_cdf(high, df) < p)
        high *= 2;
    return oa_quantile_of(chi_square_cdf_of, df, 0, p, 0, high);
}
