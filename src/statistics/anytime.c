/* SPDX-License-Identifier: Apache-2.0
 *
 * Confidence sequences: intervals for interim analyses after every seed. A 95 % interval of a t
 * test covers the true mean in 95 % of the samples of one size; with an analysis after each new
 * seed and a stopping rule that depends on it, it fails far more often. Here the whole sequence of
 * intervals, at all sizes, covers the true mean with the given probability.
 *
 * The likelihood of t under a standardised effect d = mean/sd drawn from N(0, g), divided by that
 * under d = 0, is
 *
 *     M(n) = (1 + n g)^(-1/2) · [ (1 + t²/v) / (1 + t²/(v (1 + n g))) ]^(n/2)
 *     v = n - 1,   t = √n mean/sd
 *
 * (Lai 1976; Wang and Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means
 * with unknown variance", arXiv 2310.03722, their Gaussian mixture with g = 1/c²). Were the true
 * mean 0, M would be a nonnegative martingale of mean 1, so that it ever exceeds 1/level with a
 * probability of at most `level` (Ville). Solving M(n) = 1/level for t gives the interval.
 */
#include "statistics/statistics.h"

#include <math.h>

/* g: effects of about √3 deviations, a frequent size of differences between attentions over seeds.
 * In simulations of 3 to 30 seeds, alone and as one of five, other values resolve large effects
 * (g = 10) or small ones (g = 1) with fewer seeds and need as many more for the others;
 * docs/sequential.md has the figures. */
static const double effect_variance = 3;

double oa_anytime_half(const struct oa_estimate *e, double level)
{
    if (e->n < 2)
        return NAN;
    double n = e->n, spread = 1 + n * effect_variance;
    double bound = pow(sqrt(spread) / level, 2 / n); /* of the bracket above */
    if (bound >= spread)
        return INFINITY; /* so few seeds cannot exclude any value */
    double t = sqrt((n - 1) * (bound - 1) / (1 - bound / spread));
    return t * e->sd / sqrt(n);
}
