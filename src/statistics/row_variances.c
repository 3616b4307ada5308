/* SPDX-License-Identifier: Apache-2.0
 *
 * The variance of each row of a two-way table.
 *
 *     y[i][s] = a[i] + b[s] + e[i][s],   Var e[i][s] = v[i]
 *     q[i]    = sum over s of r[i][s]² / (n - 1),   r: residuals of the rows' and columns' means
 *     v[i]    = k/(k-2) · (q[i] - sum of q / (k (k-1)))      k rows, n columns
 *
 * (Grubbs, "On estimating precision of measuring instruments and product variability", J. Am.
 * Statist. Assoc. 43, 1948: unbiased for any v.) A paired t test estimates v[i] + v[j] from the
 * differences of two rows alone, with n - 1 degrees of freedom; here every row helps to separate
 * the columns' effects from the errors, so that each variance has about n - 1 of its own, and the
 * sum up to 2 (n - 1). Variances are not assumed to be equal.
 *
 * An estimate can be far too small, even negative, and a test with it would reject too often: so no
 * estimate is below half of the mean of all. tests/test_row_variances.c measures the error rates.
 */
#include "statistics/row_variances.h"

#include <math.h>

/* n - 1 times q of the row. */
static double residual_squares(const double *y, int rows, int columns, int row)
{
    double sum = 0, mean = 0;
    for (int s = 0; s < columns; s++)
        for (int i = 0; i < rows; i++)
            mean += (y[row * columns + s] - y[i * columns + s]) / rows / columns;
    for (int s = 0; s < columns; s++) {
        double residual = -mean;
        for (int i = 0; i < rows; i++)
            residual += (y[row * columns + s] - y[i * columns + s]) / rows;
        sum += residual * residual;
    }
    return sum;
}

void oa_row_variances(const double *y, int rows, int columns, double *variance)
{
    double sum = 0;
    for (int i = 0; i < rows; i++) {
        variance[i] = residual_squares(y, rows, columns, i) / (columns - 1);
        sum += variance[i];
    }
    double mean = sum / (rows - 1);
    for (int i = 0; i < rows; i++) {
        double own = (variance[i] - mean / rows) * rows / (rows - 2);
        variance[i] = fmax(own, mean / 2);
    }
}

struct oa_standard_error oa_standard_error_of(double variance_a, double variance_b, int n)
{
    double sum = variance_a + variance_b;
    return (struct oa_standard_error){ .se = sqrt(sum / n),
                                       .df = (n - 1) * sum * sum /
                                             (variance_a * variance_a + variance_b * variance_b) };
}
