/* SPDX-License-Identifier: Apache-2.0
 *
 * Two clusters by the gap between them. Error rates are simulated in tests/test_clusters.c: in
 * samples with one mode (normal, Student's t with 3 degrees of freedom, exponential; 2 to 12 groups
 * of 3 to 20 values) two clusters are reported in about 1 % or less. Heavy tails produce single
 * values far out, so these must be three times as far.
 */
#include "statistics/clusters.h"

#include "statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

static const double deviations = 5, deviations_of_one = 15;

static int by_value(const void *a, const void *b)
{
    const struct oa_grouped_value *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : p->group - q->group;
}

/* 0 of a single value. */
static double spread_of(const struct oa_grouped_value *v, int n)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += v[i].x - v[0].x;
    for (int i = 0; i < n; i++)
        squares += pow(v[i].x - v[0].x - sum / n, 2);
    return n < 2 ? 0 : sqrt(squares / (n - 1));
}

static bool in_both(const struct oa_grouped_value *v, int n, int below)
{
    for (int i = 0; i < below; i++)
        for (int j = below; j < n; j++)
            if (v[i].group == v[j].group)
                return true;
    return false;
}

/* The gap above the `below` lowest values over the required one; less than 1: too narrow. `limit`:
 * the upper 95 % limit of a deviation of 1. */
static double strength_of(const struct oa_grouped_value *v, int n, int below, double limit,
                          double resolution)
{
    double gap = v[below].x - v[below - 1].x,
           least = below > 1 && n - below > 1 ? deviations : deviations_of_one;
    if (!(gap > 0) || gap < v[below - 1].x - v[0].x || gap < v[n - 1].x - v[below].x)
        return 0;
    double wider = fmax(spread_of(v, below), spread_of(v + below, n - below));
    return gap / (least * fmax(limit * wider, resolution));
}

struct oa_clusters oa_find_clusters(struct oa_grouped_value *values, int n, double resolution)
{
    struct oa_clusters found = { 0 };
    double strongest = 1;
    if (n < 4)
        return found;
    qsort(values, (size_t)n, sizeof *values, by_value);
    double limit = sqrt((n - 2) / oa_chi_square_quantile(0.05, n - 2));
    for (int below = 1; below < n; below++) {
        double strength = strength_of(values, n, below, limit, resolution);
        if (strength < strongest || !in_both(values, n, below))
            continue;
        strongest = strength;
        found.below = below;
        found.gap = values[below].x - values[below - 1].x;
        found.cut = values[below - 1].x + found.gap / 2;
    }
    return found;
}
