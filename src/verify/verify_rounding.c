/* SPDX-License-Identifier: Apache-2.0
 *
 * How much an attention can enlarge a rounding. Rows of its map that are positive and sum to 1 (or
 * to less) do not: their condition is 1. Where weights w of both signs were divided by a sum near
 * 0, numerator and denominator are both off by about Σ|w| roundings of the result, so the condition
 * of a row is (Σ|w|)². Errors are measured in units of the condition of their row; a row whose
 * roundings alone can be as large as the result is left out, and that is said.
 */
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

double *oa_case_conditions(struct oa_case *a)
{
    double *row = oa_case_room(a, a->B * a->T),
           *map = oa_case_room(a, a->setup.heads * a->T * a->S);
    for (long i = 0; row && i < a->B * a->T; i++)
        row[i] = 1;
    for (int i = 0; row && map && i < a->rig.layer.groups; i++) {
        const struct oa_group *g = &a->rig.layer.group[i];
        for (long b = 0; b < a->B && oa_atom_divides_signed(g->atom); b++) {
            struct oa_oracle in = oa_case_oracle(a, b);
            if (g->mechanism->weights(g, &in, map) != OA_OK)
                return NULL;
            oa_raise_conditions(g, map, a->T, a->S, row + b * a->T);
        }
    }
    return map ? row : NULL;
}

bool oa_row_is_judged(double condition, double bound)
{
    return bound * condition < 1;
}

double oa_row_set_difference(const struct oa_row_set *r, double bound)
{
    double off = 0, all = 0;
    for (long i = 0; i < r->rows * r->width; i++) {
        double condition = r->condition[i / r->width];
        if (!oa_row_is_judged(condition, bound))
            continue;
        double error = (r->want[i] - r->got[i]) / condition, size = r->want[i] / condition;
        off += error * error;
        all += size * size;
    }
    return off == 0 ? 0 : sqrt(off / (all > 0 ? all : 1));
}

void oa_proof_leave_out(struct oa_proof *p, const struct oa_case *a, const double *condition,
                        double bound, long item)
{
    double worst = 0;
    long rows = 0;
    for (long t = 0; t < a->T; t++) {
        rows += !oa_row_is_judged(condition[t], bound);
        worst = fmax(worst, condition[t]);
    }
    if (rows)
        oa_proof_unjudged(
            p, a, bound * worst,
            "%ld of %ld rows of item %ld: weights of both signs, divided by a sum near 0: rounding "
            "alone can give %.3g times the value",
            rows, a->T, item, bound * worst);
}
