/* SPDX-License-Identifier: Apache-2.0
 * Derived from the moments of the Beta distribution and from E U_ia U_ja U_ka U_la over the Stiefel
 * manifold. */
#include "theory/closed_forms.h"
#include "statistics/statistics.h"

#include <math.h>

#define PI 3.14159265358979323846

double oa_law_norm_variance(double d, double k)
{
    return 2 * k * (d - k) / (d * d * (d + 2));
}

double oa_law_gaussian_norm_variance(double d, double k)
{
    return 2 * k / (d * d);
}

double oa_law_norm_cdf(double d, double k, double ratio)
{
    return oa_beta_cdf(ratio * k / d, k / 2, (d - k) / 2);
}

double oa_law_norm_quantile(double d, double k, double p)
{
    double low = 0, high = d / k;
    for (int i = 0; i < 200 && high - low > 1e-14; i++) {
        double middle = (low + high) / 2;
        if (oa_law_norm_cdf(d, k, middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double oa_law_product_variance(double d, double k, double cosine)
{
    double b = k * (d - k) / (d * (d - 1) * (d + 2)), a = k / d - b * (d + 1);
    return (a + b - k * k / (d * d)) * cosine * cosine + b;
}

double oa_law_first_entry(double d)
{
    int sign; /* lgamma() would write the global signgam */
    return exp(lgamma_r(d / 2, &sign) - lgamma_r((d + 1) / 2, &sign)) / sqrt(PI);
}

double oa_law_gaussian_condition(double d, double k)
{
    double root = sqrt(k / d);
    return (1 + root) / (1 - root);
}

double oa_law_square_condition(double d)
{
    return d * exp(1.537);
}

double oa_law_jl_bound(double k, double epsilon)
{
    return 2 * exp(-k * (epsilon * epsilon / 4 - epsilon * epsilon * epsilon / 6));
}

static double jl_rate(double epsilon)
{
    return epsilon * epsilon / 2 - epsilon * epsilon * epsilon / 3;
}

double oa_law_jl_width(double points, double epsilon)
{
    return 4 * log(points) / jl_rate(epsilon);
}

double oa_law_jl_points(double k, double epsilon)
{
    return exp(k * jl_rate(epsilon) / 4);
}

double oa_law_distortion(double d, double k, double epsilon)
{
    /* 1 − I_x(a, b) = I_{1−x}(b, a) keeps the digits of a small tail */
    double over = 1 - (1 + epsilon) * k / d;
    return oa_law_norm_cdf(d, k, 1 - epsilon) + oa_beta_cdf(over, (d - k) / 2, k / 2);
}
