/* SPDX-License-Identifier: Apache-2.0
 * Differences of the means of two independent samples. */
#ifndef ORTHANT_STATISTICS_TWO_SAMPLES_H
#define ORTHANT_STATISTICS_TWO_SAMPLES_H

#include "statistics/row_variances.h"
#include "statistics/statistics.h"

/* Welch 1947: variances are not assumed to be equal. NaN where a sample has fewer than two values.
 */
struct oa_standard_error oa_welch(const struct oa_estimate *a, const struct oa_estimate *b);
/* a's mean minus b's with its 95 % interval. n is the number of values of the smaller sample, sd
 * such that sd/√n is the standard error. */
struct oa_estimate oa_unpaired_difference(const struct oa_estimate *a, const struct oa_estimate *b);

#endif
