/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORTHANT_COMPARE_DOUBLES_H
#define ORTHANT_COMPARE_DOUBLES_H

/* For qsort, ascending; NaN is equal to all. */
static inline int oa_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
