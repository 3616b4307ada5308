/* SPDX-License-Identifier: Apache-2.0
 * Frozen projections U [d, k] by draws of the generator, against closed forms
 * (theory/closed_forms.h); means within five standard errors of the draws:
 *
 *     orthonormal   UᵀU = I, for every kind but gaussian; slice: |x|² = Σ_h |xU_h|²
 *     sign          E U_11 = 0: a QR without the signs of R has E Q_11 = −Γ(d/2)/(√π Γ((d+1)/2))
 *     length        |xU|²/|x|² has mean k/d; haar: the variance of Beta(k/2, (d−k)/2);
 *                   gaussian: 2k/d²
 *     product       tied logits: ⟨xU, yU⟩ has mean k/d⟨x, y⟩ and the variance of the closed form;
 *                   untied: mean 0, variance k/d²
 *     distortion    P(||xU|²d/(k|x|²) − 1| > ½) ≤ 2 exp(−k(ε²/4 − ε³/6))
 */
#include "theory/closed_forms.h"
#include "theory/draws.h"
#include "verify/verify.h"

#include <math.h>

enum { D = 32, K = 8, HEADS = 4, STATISTICS = 7 };
enum { FIRST, LENGTH, LENGTH_SQUARE, TIED, UNTIED, UNTIED_SQUARE, DEFECT };

static const enum oa_projection projection_kinds[] = {
    OA_PROJECTION_HAAR,  OA_PROJECTION_GRAM_SCHMIDT, OA_PROJECTION_GAUSSIAN,
    OA_PROJECTION_SLICE, OA_PROJECTION_SRHT,         OA_PROJECTION_HD3,
    OA_PROJECTION_BLOCK, OA_PROJECTION_PERMUTATION
};

/* Fixed unit vectors with ⟨x, y⟩ = ½. */
static void set_unit_vectors(double *x, double *y)
{
    double length = 0;
    for (long i = 0; i < D; i++) {
        x[i] = cos(1.0 + 2.0 * (double)i);
        length += x[i] * x[i];
    }
    for (long i = 0; i < D; i++)
        x[i] /= sqrt(length);
    double dot = 0;
    length = 0;
    for (long i = 0; i < D; i++) {
        y[i] = sin(0.3 + 5.0 * (double)i);
        dot += x[i] * y[i];
    }
    for (long i = 0; i < D; i++) {
        y[i] -= dot * x[i];
        length += y[i] * y[i];
    }
    for (long i = 0; i < D; i++)
        y[i] = 0.5 * x[i] + sqrt(0.75) * y[i] / sqrt(length);
}

/* Of heads 0 (as U) and 1 (as another T). */
static void measure_projection(const struct oa_draw *draw, double *numbers)
{
    double x[D], y[D], xu[K], yu[K], yt[K];
    set_unit_vectors(x, y);
    oa_project_row(draw, 0, x, xu);
    oa_project_row(draw, 0, y, yu);
    oa_project_row(draw, 1, y, yt);
    double untied = oa_dot(K, xu, yt);
    numbers[FIRST] = draw->u[0];
    numbers[LENGTH] = oa_dot(K, xu, xu);
    numbers[LENGTH_SQUARE] = pow(numbers[LENGTH] - (double)K / D, 2);
    numbers[TIED] = oa_dot(K, xu, yu);
    numbers[UNTIED] = untied;
    numbers[UNTIED_SQUARE] = untied * untied;
    numbers[DEFECT] = oa_orthonormality_error(draw, 0);
}

struct projection_sample {
    struct oa_proof *p;
    enum oa_projection kind;
    long count;
    const double *values; /* [STATISTICS][count] */
};

static void check_sample_mean(const struct projection_sample *l, int statistic, double want,
                              const char *what)
{
    struct oa_measured m = oa_measured_of(l->values + statistic * l->count, l->count);
    double error = fmax(m.error, 1e-15);
    oa_proof_measure_mechanism(l->p, "orthogonal", fabs(m.mean - want), 5 * error,
                               "%s: %s %.6f, expected %.6f; bound 5σ", oa_projection_name(l->kind),
                               what, m.mean, want);
}

static void check_projection_moments(const struct projection_sample *l, bool haar, bool gaussian)
{
    check_sample_mean(l, LENGTH, (double)K / D, "mean of |xU|²/|x|²");
    if (haar || gaussian)
        check_sample_mean(l, LENGTH_SQUARE,
                          haar ? oa_law_norm_variance(D, K) : oa_law_gaussian_norm_variance(D, K),
                          "variance of |xU|²/|x|²");
    check_sample_mean(l, TIED, 0.5 * K / D, "mean of ⟨xU, yU⟩");
    if (!haar)
        return;
    check_sample_mean(l, FIRST, 0, "mean of U_11");
    check_sample_mean(l, UNTIED, 0, "mean of ⟨xU, yT⟩");
    check_sample_mean(l, UNTIED_SQUARE, (double)K / (D * D), "variance of ⟨xU, yT⟩");
    double sum = 0, want = oa_law_product_variance(D, K, 0.5), fourth = 0;
    for (long i = 0; i < l->count; i++) {
        double off = l->values[TIED * l->count + i] - 0.5 * K / D;
        sum += off * off / (double)l->count;
        fourth += off * off * off * off / (double)l->count;
    }
    oa_proof_measure_mechanism(l->p, "orthogonal", fabs(sum - want),
                               5 * sqrt((fourth - sum * sum) / (double)l->count),
                               "%s: variance of ⟨xU, yU⟩ %.6f, expected %.6f; bound 5σ",
                               oa_projection_name(l->kind), sum, want);
}

static void check_projection_kind(struct oa_proof *p, enum oa_projection kind, long count,
                                  double *values)
{
    struct oa_draws draws = { .kind = kind,
                              .name = "verify/projections",
                              .d = D,
                              .k = K,
                              .count = count,
                              .heads = HEADS,
                              .statistics = STATISTICS,
                              .measure = measure_projection };
    struct projection_sample l = { .p = p, .kind = kind, .count = count, .values = values };
    bool gaussian = kind == OA_PROJECTION_GAUSSIAN, gram = kind == OA_PROJECTION_GRAM_SCHMIDT;
    double worst = 0;
    if (oa_draws_run(p->context, &draws, values) != OA_OK)
        return;
    for (long i = 0; i < count; i++)
        worst = fmax(worst, values[DEFECT * count + i]);
    if (!gaussian)
        oa_proof_measure_mechanism(p, "orthogonal", worst, 1e-13, "%s: largest entry of UᵀU − I",
                                   oa_projection_name(kind));
    check_projection_moments(&l, gram || kind == OA_PROJECTION_HAAR, gaussian);
}

/* ---- slice: heads of one matrix ---- */

static void measure_slice_lengths(const struct oa_draw *draw, double *numbers)
{
    double x[D], y[D], xu[K];
    set_unit_vectors(x, y);
    numbers[0] = -1;
    for (int h = 0; h < draw->heads; h++) {
        oa_project_row(draw, h, x, xu);
        numbers[0] += oa_dot(K, xu, xu);
    }
}

static void check_slice_lengths(struct oa_proof *p, double *values)
{
    struct oa_draws draws = { .kind = OA_PROJECTION_SLICE,
                              .name = "verify/parts",
                              .d = D,
                              .k = K,
                              .count = 100,
                              .heads = D / K,
                              .statistics = 1,
                              .measure = measure_slice_lengths };
    double worst = 0;
    if (oa_draws_run(p->context, &draws, values) != OA_OK)
        return;
    for (int i = 0; i < 100; i++)
        worst = fmax(worst, fabs(values[i]));
    oa_proof_measure_mechanism(p, "orthogonal", worst, 1e-13, "slice: Σ_h |xU_h|² − |x|²");
}

/* ---- distortion ---- */

enum { WIDE = 256, NARROW = 64, PAIRS = 250 };

/* Share of random directions x with a distortion above ½ under one U. */
static void measure_length_distortion(const struct oa_draw *draw, double *numbers)
{
    struct oa_stream s = oa_stream_child(oa_stream_named(5, "verify/pairs"), (uint64_t)draw->index);
    double x[WIDE], xu[NARROW], beyond = 0;
    for (long i = 0; i < PAIRS; i++) {
        for (long j = 0; j < WIDE; j++)
            x[j] = oa_random_normal(s, (uint64_t)(i * WIDE + j));
        oa_project_row(draw, 0, x, xu);
        double ratio = oa_dot(NARROW, xu, xu) * WIDE / (NARROW * oa_dot(WIDE, x, x));
        beyond += fabs(ratio - 1) > 0.5;
    }
    numbers[0] = beyond / PAIRS;
}

static void check_length_distortion(struct oa_proof *p, double *values)
{
    long count = p->quick ? 8 : 40;
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = "verify/distortion",
                              .d = WIDE,
                              .k = NARROW,
                              .count = count,
                              .heads = 1,
                              .statistics = 1,
                              .measure = measure_length_distortion };
    if (oa_draws_run(p->context, &draws, values) != OA_OK)
        return;
    double share = oa_measured_of(values, count).mean;
    oa_proof_measure_mechanism(p, "orthogonal", share, oa_law_jl_bound(NARROW, 0.5),
                               "haar %d → %d: share of %ld lengths off by more than half", WIDE,
                               NARROW, count * PAIRS);
}

/* For one attention only the kinds that it draws, since draws take long. */
static bool atom_draws(const struct oa_atom *a, enum oa_projection kind)
{
    bool any = oa_atom_is(a, "qk", oa_projection_name(kind));
    for (int i = 0; i < a->children; i++)
        any |= atom_draws(&a->child[i], kind);
    return any;
}

static bool projection_is_included(const struct oa_proof *p, enum oa_projection kind)
{
    bool any = !p->only;
    for (int l = 0; p->only && l < p->only_spec.layers; l++) {
        for (int g = 0; g < p->only_spec.layer[l].groups; g++)
            any |= atom_draws(&p->only_spec.layer[l].group[g].atom, kind);
    }
    return any && !oa_proof_stopped(p);
}

static void verify_projections(struct oa_proof *p)
{
    long count = p->quick ? 2000 : 20000;
    double *values = oa_alloc(p->context, (size_t)(STATISTICS * count) * sizeof *values);
    if (!values)
        return;
    for (size_t i = 0; i < sizeof projection_kinds / sizeof projection_kinds[0]; i++) {
        if (projection_is_included(p, projection_kinds[i]))
            check_projection_kind(p, projection_kinds[i], count, values);
    }
    if (projection_is_included(p, OA_PROJECTION_SLICE))
        check_slice_lengths(p, values);
    if (projection_is_included(p, OA_PROJECTION_HAAR))
        check_length_distortion(p, values);
    oa_free(values);
}

const struct oa_subject oa_subject_projections = { "projections", 16, NULL, verify_projections };
