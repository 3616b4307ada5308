/* SPDX-License-Identifier: Apache-2.0
 *
 * Two independent samples: x of n values with variance v, y of m values with variance w.
 *
 *     se² = v/n + w/m,   df = se⁴ / ((v/n)²/(n - 1) + (w/m)²/(m - 1))
 *
 * (Welch, "The generalization of 'Student's' problem when several different population variances
 * are involved", Biometrika 34, 1947; degrees of freedom by Satterthwaite 1946.)
 */
#include "statistics/two_samples.h"

#include <math.h>

struct oa_standard_error oa_welch(const struct oa_estimate *a, const struct oa_estimate *b)
{
    double v = a->sd * a->sd / a->n, w = b->sd * b->sd / b->n, sum = v + w;
    return (struct oa_standard_error){ .se = sqrt(sum),
                                       .df =
                                           sum * sum / (v * v / (a->n - 1) + w * w / (b->n - 1)) };
}

struct oa_estimate oa_unpaired_difference(const struct oa_estimate *a, const struct oa_estimate *b)
{
    struct oa_estimate d = oa_estimate_of(NULL, 0);
    struct oa_standard_error e = oa_welch(a, b);
    d.n = a->n < b->n ? a->n : b->n;
    d.mean = a->mean - b->mean;
    d.sd = e.se * sqrt(d.n);
    d.half = e.se > 0 ? oa_t_quantile(0.975, e.df) * e.se : e.se;
    return d;
}
