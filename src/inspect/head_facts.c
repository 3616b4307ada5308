/* SPDX-License-Identifier: Apache-2.0
 * Numbers of one head's map: entropy, distance, and how much of it a fixed map covers. */
#include "inspect/inspect.h"

#include <math.h>

static double row_mass(const struct oa_head_map *m, long i)
{
    double sum = 0;
    for (long j = 0; j < m->keys; j++)
        sum += fabs(m->map[i * m->keys + j]);
    return sum;
}

void oa_head_measure(const struct oa_head_map *m, struct oa_head_facts *out)
{
    double entropy = 0, distance = 0, most = 0;
    long rows = 0;
    for (long i = 0; i < m->queries; i++) {
        double mass = row_mass(m, i);
        if (mass == 0)
            continue;
        double row_entropy = 0, row_distance = 0;
        for (long j = 0; j < m->keys; j++) {
            double p = fabs(m->map[i * m->keys + j]) / mass;
            row_entropy -= p > 0 ? p * log(p) : 0;
            row_distance += p * (double)(i > j ? i - j : j - i);
        }
        entropy += row_entropy;
        distance += row_distance;
        most += m->visible[i] > 1 ? log((double)m->visible[i]) : 0;
        rows++;
    }
    out->entropy = rows ? entropy / (double)rows : NAN;
    out->distance = rows ? distance / (double)rows : NAN;
    out->entropy_share = most > 0 ? entropy / most : NAN;
}

double oa_head_covered(const struct oa_head_map *m, const double *fixed)
{
    double all = 0;
    for (long i = 0; i < m->queries; i++) {
        double mass = row_mass(m, i), row = 0, weight = 0;
        for (long j = 0; j < m->keys; j++) {
            double w = fixed[i * m->keys + j];
            weight += w;
            row += mass > 0 ? fmin(fabs(m->map[i * m->keys + j]) / mass, w) : 0;
        }
        all += mass == 0 && weight == 0 ? 1 : row;
    }
    return all / (double)m->queries;
}
