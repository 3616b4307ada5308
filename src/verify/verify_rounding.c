/* SPDX-License-Identifier: Apache-2.0
 * Condition numbers of the rows of an attention map: how much they can enlarge a rounding error.
 * For positive rows with a sum of at most 1 it is 1. If weights w of both signs were divided by a
 * sum near 0, numerator and denominator are both off by about Σ|w| roundings of the result, so it
 * is (Σ|w|)². Errors are measured in units of the condition number of their row; ill-conditioned
 * rows, whose rounding errors can be as large as the result, are reported as inconclusive. */
#include "verify/verify.h"

#include <math.h>

void oa_raise_conditions(const struct oa_group *g, const double *map, long queries, long keys,
                         double *row)
{
    for (long r = 0; r < g->shape.heads * queries; r++) {
        double sum = 0;
        for (long j = 0; j < keys; j++)
            sum += fabs(map[r * keys + j]);
        row[r % queries] = fmax(row[r % queries], sum * sum);
    }
}

double *oa_case_conditions(struct oa_attention_case *a)
{
    double *row = oa_case_array(a, a->B * a->T),
           *map = oa_case_array(a, a->setup.heads * a->T * a->S);
    for (long i = 0; row && i < a->B * a->T; i++)
        row[i] = 1;
    for (int i = 0; row && map && i < a->single.layer.groups; i++) {
        const struct oa_group *g = &a->single.layer.group[i];
        for (long b = 0; b < a->B && oa_atom_divides_signed(g->atom); b++) {
            struct oa_oracle in = oa_case_oracle(a, b);
            if (g->mechanism->weights(g, &in, map) != OA_OK)
                return NULL;
            oa_raise_conditions(g, map, a->T, a->S, row + b * a->T);
        }
    }
    return map ? row : NULL;
}

bool oa_row_is_well_conditioned(double condition, double bound)
{
    return bound * condition < 1;
}

double oa_row_set_difference(const struct oa_row_set *r, double bound)
{
    double off = 0, all = 0;
    for (long i = 0; i < r->rows * r->width; i++) {
        double condition = r->condition[i / r->width];
        if (!oa_row_is_well_conditioned(condition, bound))
            continue;
        double error = (r->want[i] - r->got[i]) / condition, size = r->want[i] / condition;
        off += error * error;
        all += size * size;
    }
    return off == 0 ? 0 : sqrt(off / (all > 0 ? all : 1));
}

void oa_proof_report_inconclusive(struct oa_proof *p, const struct oa_attention_case *a,
                                  const double *condition, double bound, long item)
{
    double worst = 0;
    long rows = 0;
    for (long t = 0; t < a->T; t++) {
        rows += !oa_row_is_well_conditioned(condition[t], bound);
        worst = fmax(worst, condition[t]);
    }
    if (rows)
        oa_proof_inconclusive(p, a, bound * worst,
                              "%ld of %ld rows of item %ld are ill-conditioned (weights of both "
                              "signs divided by a sum near "
                              "0): rounding alone can give %.3g times the value",
                              rows, a->T, item, bound * worst);
}
