/* SPDX-License-Identifier: Apache-2.0
 * The ratio of two means with Fieller's confidence set. */
#ifndef ORTHANT_STATISTICS_FIELLER_H
#define ORTHANT_STATISTICS_FIELLER_H

#include "base/base.h"

/* The form of the confidence set of a ratio. */
enum oa_fieller_form {
    OA_FIELLER_NONE,    /* there is no set: fewer than two samples, or no variation and a
                           denominator of 0 */
    OA_FIELLER_BOUNDED, /* low … high: the mean of the denominators differs from 0 at this level */
    OA_FIELLER_OUTSIDE,   /* up to low, and from high on (low -inf: only from high on; high inf:
                             only up to low) */
    OA_FIELLER_EVERYTHING /* every ratio; low -inf, high inf */
};
struct oa_fieller {
    int n;
    double value; /* mean numerator / mean denominator; in the set. NaN: n is 0, or 0 / 0 */
    enum oa_fieller_form form;
    double low, high; /* NaN of OA_FIELLER_NONE */
    double gain;      /* the mean of the denominators */
};
/* Of pairs of one sample; numerators may be correlated with denominators. The set misses the true
 * ratio of the means of normal pairs with a probability of exactly `level`. */
struct oa_fieller oa_fieller_of(const double *numerator, const double *denominator, int n,
                                double level);
/* The same with another interval than that of the t test: `half` is its half-width for the mean of
 * n differences with a deviation of 1, to which it must be proportional. */
struct oa_fieller oa_fieller_within(const double *numerator, const double *denominator, int n,
                                    double half);

#endif
