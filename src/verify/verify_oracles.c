/* SPDX-License-Identifier: Apache-2.0
 *
 * O = A V: the output of the engine against the map of the mechanism's oracle (simple loops in
 * double) times the values, in every precision. Rows of softmax maps sum to 1, or to 0 without a
 * visible key. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static double linear_output(const struct oa_attention_case *a, const struct oa_parameter *w,
                            const struct oa_parameter *b, long out, const double *row, long width)
{
    double sum = b ? oa_real_read(a->rig.device, b->value, out) : 0;
    for (long i = 0; i < width; i++)
        sum += oa_real_read(a->rig.device, w->value, out * width + i) * row[i];
    return sum;
}

/* Largest distance of a row sum from 1, or from 0 without a visible key. */
static double worst_row_sum(const struct oa_attention_case *a, const struct oa_group *g,
                            const double *map, long b)
{
    double worst = 0;
    for (long r = 0; g->mechanism->scores && r < g->shape.heads * a->T; r++) {
        double sum = 0;
        for (long j = 0; j < a->S; j++)
            sum += map[r * a->S + j];
        bool empty = a->lengths && (a->memory ? a->lengths[b] == 0 : r % a->T >= a->lengths[b]);
        empty |= sum == 0 && g->support.form !=
                                 OA_SUPPORT_ALL; /* a sparse support can leave a row without keys */
        worst = fmax(worst, fabs(sum - !empty));
    }
    return worst;
}

/* The values that row t averages, into [S, D]. */
static void fill_value_rows(const struct oa_attention_case *a, const struct oa_group *g, long t,
                            const double *source, double *values)
{
    for (long j = 0; j < a->S; j++) {
        for (long c = 0; c < g->shape.heads * (a->D / a->setup.heads); c++)
            values[j * a->D + c] =
                g->mechanism->values
                    ? g->mechanism->values(g, source + j * a->D, t, c)
                    : oa_oracle_value(g, g->value, g->value_bias, source + j * a->D, c);
    }
}

struct oracle_item { /* one item of the batch */
    const struct oa_attention_case *a;
    long b;
    const double *source; /* of keys and values */
    double *map, *values, *o, *want;
    double *condition; /* [T] */
};

static void mix_oracle_row(const struct oracle_item *m, const struct oa_group *g, long t)
{
    const struct oa_attention_case *a = m->a;
    long D = a->D, V = D / a->setup.heads;
    for (long c = 0; c < g->shape.heads * V; c++) {
        const double *row = m->map + (c / V * a->T + t) * a->S;
        double *out = m->o + t * D + g->first_head * V + c;
        *out = 0;
        for (long j = 0; j < a->S; j++)
            *out += row[j] * m->values[j * D + c];
    }
}

/* O = A V, all groups side by side. */
static enum oa_error mix_oracle_values(struct oa_proof *p, struct oracle_item *m)
{
    const struct oa_attention_case *a = m->a;
    struct oa_oracle in = oa_case_oracle(a, m->b);
    for (long t = 0; t < a->T; t++)
        m->condition[t] = 1;
    for (int i = 0; i < a->rig.layer.groups; i++) {
        const struct oa_group *g = &a->rig.layer.group[i];
        OA_TRY(g->mechanism->weights(g, &in, m->map));
        if (a->setup.precision == OA_PRECISION_F64)
            oa_proof_measure(p, a, worst_row_sum(a, g, m->map, m->b), 1e-12, "row sums of the map");
        oa_raise_conditions(g, m->map, a->T, a->S, m->condition);
        for (long t = 0; t < a->T; t++) {
            if (t == 0 || g->mechanism->values)
                fill_value_rows(a, g, t, m->source, m->values);
            mix_oracle_row(m, g, t);
        }
    }
    return OA_OK;
}

/* The expected outputs, [T, D]. */
static void project_oracle_output(const struct oracle_item *m)
{
    const struct oa_attention_case *a = m->a;
    for (long t = 0; t < a->T; t++) {
        bool padded = a->lengths && !a->memory && t >= a->lengths[m->b];
        for (long c = 0; c < a->D; c++)
            m->want[t * a->D + c] =
                padded ? 0
                       : linear_output(a, a->rig.layer.output, a->rig.layer.output_bias, c,
                                       m->o + t * a->D, a->D);
    }
}

/* In double the largest relative error of an output of a well-conditioned row, in units of its
 * condition number. In other precisions that of all rows together: rounding errors are relative to
 * the summands, not to the sum. */
static double oracle_difference(const struct oracle_item *m, double bound)
{
    const struct oa_attention_case *a = m->a;
    const double *got = a->y + m->b * a->T * a->D;
    struct oa_row_set rows = { m->want, got, m->condition, a->T, a->D };
    if (a->setup.precision != OA_PRECISION_F64)
        return oa_row_set_difference(&rows, bound);
    double worst = 0;
    for (long i = 0; i < a->T * a->D; i++) {
        double condition = m->condition[i / a->D];
        double error = fabs(m->want[i] - got[i]) / (1 + fabs(m->want[i])) / condition;
        if (oa_row_is_well_conditioned(condition, bound))
            worst = error <= worst ? worst : error; /* NaN stays */
    }
    return worst;
}

void oa_outputs_match_oracle(struct oa_proof *p, struct oa_attention_case *a)
{
    /* sums of tens of terms in another order than the oracle, rounded by 1e-16, 6e-8 and 4e-3 */
    static const double bounds[] = {
        [OA_PRECISION_F64] = 1e-11, [OA_PRECISION_F32] = 2e-5, [OA_PRECISION_BF16] = 5e-2
    };
    struct oracle_item m = { .a = a };
    double bound = bounds[a->setup.precision];
    a->no_gradients = true;
    if (oa_layer_mapless(&a->rig.layer) || !oa_proof_run(p, a))
        return;
    m.map = oa_case_array(a, a->setup.heads * a->T * a->S);
    m.values = oa_case_array(a, a->S * a->D);
    m.o = oa_case_array(a, a->T * a->D);
    m.want = oa_case_array(a, a->T * a->D);
    m.condition = oa_case_array(a, a->T);
    for (m.b = 0; m.b < a->B && oa_status(p->context) == OA_OK; m.b++) {
        m.source = (a->memory ? a->memory : a->x) + m.b * a->S * a->D;
        if (mix_oracle_values(p, &m) != OA_OK)
            return;
        project_oracle_output(&m);
        oa_proof_measure(p, a, oracle_difference(&m, bound), bound,
                         "outputs against the oracle, item %ld of %ld%s", m.b, a->B,
                         a->setup.rotary ? ", rotary" : "");
        oa_proof_report_inconclusive(p, a, m.condition, bound, m.b);
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
