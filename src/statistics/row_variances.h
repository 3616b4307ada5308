/* SPDX-License-Identifier: Apache-2.0
 * The variance of each row of a two-way table, for tests of differences between rows. */
#ifndef ORTHANT_STATISTICS_ROW_VARIANCES_H
#define ORTHANT_STATISTICS_ROW_VARIANCES_H

/* y [rows][columns] = a[row] + b[column] + error, where each row has its own variance of errors:
 * its estimate for each row (Grubbs 1948), but at least half of the mean of all variances.
 * At least three rows and two columns, no cell empty. */
void oa_row_variances(const double *y, int rows, int columns, double *variance);

/* Of the difference of two rows' means over n columns. */
struct oa_standard_error {
    double se;
    double df; /* of the t distribution of difference / se (Welch and Satterthwaite) */
};
struct oa_standard_error oa_standard_error_of(double variance_a, double variance_b, int n);

#endif
