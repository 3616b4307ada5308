/* SPDX-License-Identifier: Apache-2.0
 * The largest and the smallest singular value of a tall matrix. */
#ifndef ORTHANT_THEORY_SPECTRUM_H
#define ORTHANT_THEORY_SPECTRUM_H

struct oa_extremes {
    double largest, smallest;
};
/* Of k columns of length d. memory: k² + 3k doubles. */
struct oa_extremes oa_singular_extremes(long d, long k, const double *columns, double *memory);

#endif
