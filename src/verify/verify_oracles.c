/* SPDX-License-Identifier: Apache-2.0
 * O = A V: the output of the engine against the map of the mechanism's oracle (simple loops in
 * double) times the values, in every precision. Rows of maps that average sum to 1, or to 0 without
 * a visible key. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Largest distance of a row sum of a map of logits from 1, or from 0 without a visible key; 0 for
 * weights whose sum is not fixed. */
static double worst_row_sum(const struct oa_attention_case *a, const struct oa_group *g,
                            const double *map, long b)
{
    double worst = 0;
    bool fixed = g->mechanism->scores && oa_atom_capabilities(g->atom) & OA_AVERAGES;
    for (long r = 0; fixed && r < g->shape.heads * a->T; r++) {
        double sum = 0;
        for (long j = 0; j < a->S; j++)
            sum += map[r * a->S + j];
        bool empty = a->lengths && (a->memory ? a->lengths[b] == 0 : r % a->T >= a->lengths[b]);
        /* a sparse support can leave a row without keys */
        empty |= sum == 0 && g->support.form != OA_SUPPORT_ALL;
        worst = fmax(worst, fabs(sum - !empty));
    }
    return worst;
}

/* In double the largest relative error of an output of a well-conditioned row, in units of its
 * condition number. In other precisions that of all rows together: rounding errors are relative to
 * the summands, not to the sum. */
static double oracle_difference(const struct oa_attention_case *a, const struct oa_row_set *r,
                                double bound)
{
    if (a->setup.precision != OA_PRECISION_F64)
        return oa_row_set_difference(r, bound);
    double worst = 0;
    for (long i = 0; i < r->rows * r->width; i++) {
        double condition = r->condition[i / r->width];
        double error = fabs(r->want[i] - r->got[i]) / (1 + fabs(r->want[i])) / condition;
        if (oa_row_is_well_conditioned(condition, bound))
            worst = error <= worst ? worst : error; /* NaN stays */
    }
    return worst;
}

/* The expected outputs of item b, [T, D], and the condition numbers of their rows. */
static enum oa_error make_oracle_output(struct oa_proof *p, struct oa_attention_case *a, long b,
                                        double *map, double *want, double *condition)
{
    const struct oa_layer *l = &a->single.layer;
    struct oa_oracle in = oa_case_oracle(a, b);
    OA_TRY(oa_layer_weights(l, &in, map));
    OA_TRY(oa_layer_apply_map(l, &in, map, want));
    for (long t = 0; t < a->T; t++)
        condition[t] = 1;
    for (int i = 0; i < l->groups; i++) {
        const struct oa_group *g = &l->group[i];
        const double *group_map = map + g->first_head * a->T * a->S;
        if (a->setup.precision == OA_PRECISION_F64)
            oa_proof_measure(p, a, worst_row_sum(a, g, group_map, b), 1e-12, "row sums of the map");
        if (oa_atom_divides_signed(g->atom))
            oa_raise_conditions(g, group_map, a->T, a->S, condition);
    }
    for (long t = a->lengths && !a->memory ? a->lengths[b] : a->T; t < a->T; t++)
        memset(want + t * a->D, 0, (size_t)a->D * sizeof *want);
    return OA_OK;
}

void oa_outputs_match_oracle(struct oa_proof *p, struct oa_attention_case *a)
{
    /* sums of tens of terms in another order than the oracle, rounded by 1e-16, 6e-8 and 4e-3 */
    static const double bounds[] = {
        [OA_PRECISION_F64] = 1e-11, [OA_PRECISION_F32] = 2e-5, [OA_PRECISION_BF16] = 5e-2
    };
    double bound = bounds[a->setup.precision];
    a->no_gradients = true;
    if (oa_layer_without_map(&a->single.layer) || !oa_proof_run(p, a))
        return;
    double *map = oa_case_array(a, a->setup.heads * a->T * a->S),
           *want = oa_case_array(a, a->T * a->D), *condition = oa_case_array(a, a->T);
    for (long b = 0; b < a->B && oa_status(p->context) == OA_OK; b++) {
        struct oa_row_set rows = { want, a->y + b * a->T * a->D, condition, a->T, a->D };
        if (make_oracle_output(p, a, b, map, want, condition) != OA_OK)
            return;
        oa_proof_measure(p, a, oracle_difference(a, &rows, bound), bound,
                         "outputs against the oracle, item %ld of %ld%s", b, a->B,
                         a->setup.rotary ? ", rotary" : "");
        oa_proof_report_inconclusive(p, a, condition, bound, b);
    }
}

static void verify_oracles(struct oa_proof *p, const char *spec)
{
    struct oa_setup exact = { .precision = OA_PRECISION_F64,
                              .bias = true,
                              .padding = true,
                              .batch = 3 },
                    rotary = { .precision = OA_PRECISION_F64, .rotary = true },
                    single = { .precision = OA_PRECISION_F32,
                               .padding = true,
                               .queries = 40,
                               .keys = 37,
                               .length = 42 },
                    half = { .precision = OA_PRECISION_BF16,
                             .padding = true,
                             .queries = 20,
                             .keys = 18,
                             .length = 21 };
    oa_proof_check_modes(p, spec, &exact, OA_MODE_BOTH, OA_MODE_CROSS, oa_outputs_match_oracle);
    oa_proof_check_modes(p, spec, &rotary, OA_MODE_BOTH, OA_MODE_CAUSAL, oa_outputs_match_oracle);
    oa_proof_check_modes(p, spec, &single, OA_MODE_BOTH, OA_MODE_CROSS, oa_outputs_match_oracle);
    oa_proof_check_modes(p, spec, &half, OA_MODE_BOTH, OA_MODE_CROSS, oa_outputs_match_oracle);
}

const struct oa_subject oa_subject_oracles = { "oracles", 6, verify_oracles, NULL };
