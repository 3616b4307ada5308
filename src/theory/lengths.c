/* SPDX-License-Identifier: Apache-2.0
 * Lengths and inner products under a projection to k < d dimensions. The proposal concludes from
 * WᵀW = I that ⟨xW, yW⟩ = ⟨x, y⟩. But ⟨xW, yW⟩ = x (W Wᵀ) yᵀ, and W Wᵀ is a projector of rank k,
 * not I: equality needs k = d, or x and y in the span of the columns. The mean is k/d of the inner
 * product; times d/k it is right, with a spread. */
#include "theory/closed_forms.h"
#include "theory/draws.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 32, DRAWS = 200 };
static const double cosine = 0.5;

/* ---- numbers of a draw ---- */

enum {
    ORTHONORMALITY,
    NORM,
    PRODUCT,
    PRODUCT_SQUARE,
    NORM_SQUARE,
    INSIDE,
    FIRST,
    FIRST_SIZE,
    SPAN,
    STATISTICS
};

/* For a combination of the columns, x = a Uᵀ, xU = a. */
static double span_error(const struct oa_draw *w)
{
    double worst = 0, *x = oa_arena_take(w->scratch, (size_t)w->d * sizeof *x), a[2] = { 0.6, 0.8 };
    if (!x)
        return NAN;
    for (long i = 0; i < w->d; i++)
        x[i] = a[0] * w->u[i] + a[1] * w->u[w->d + i];
    for (long l = 0; l < w->k; l++)
        worst = fmax(worst, fabs(oa_dot(w->d, x, w->u + l * w->d) - (l < 2 ? a[l] : 0)));
    return worst;
}

struct length_sample {
    struct oa_vectors pairs;
    double low, high; /* the central 90 % of the Beta distribution */
};

static void measure_projected_lengths(const struct oa_draw *w, double *out)
{
    const struct length_sample *s = w->argument;
    double *x = oa_arena_take(w->scratch, 2 * (size_t)w->k * sizeof *x), *y = x + w->k,
           d = (double)w->d, up = d / (double)w->k;
    memset(out, 0, STATISTICS * sizeof *out);
    if (!x)
        return;
    for (int i = 0; i < PAIRS; i++) {
        oa_project_row(w, 0, s->pairs.x + i * w->d, x);
        oa_project_row(w, 0, s->pairs.y + i * w->d, y);
        double norm = up * oa_dot(w->k, x, x) / d, product = up * oa_dot(w->k, x, y) / d;
        out[NORM] += norm / PAIRS;
        out[NORM_SQUARE] += (norm - 1) * (norm - 1) / PAIRS;
        out[PRODUCT] += product / PAIRS;
        out[PRODUCT_SQUARE] += (product - cosine) * (product - cosine) / PAIRS;
        out[INSIDE] += (norm > s->low && norm < s->high) / (double)PAIRS;
    }
    out[ORTHONORMALITY] = oa_orthonormality_error(w, 0);
    out[SPAN] = span_error(w);
    out[FIRST] = w->u[0];
    out[FIRST_SIZE] = fabs(w->u[0]);
}

/* ---- findings ---- */

/* The measured value in other units. */
static struct oa_measured scaled(double factor, struct oa_measured m)
{
    return (struct oa_measured){ factor * m.mean, fabs(factor) * m.error };
}

/* The largest of n values, without a standard error. */
static struct oa_measured largest_value(const double *x, long n)
{
    struct oa_measured largest = { 0 };
    for (long i = 0; i < n; i++)
        largest.mean = fmax(largest.mean, x[i]);
    return largest;
}

static struct oa_measured mean_of_statistic(const double *v, int statistic)
{
    return oa_measured_of(v + statistic * DRAWS, DRAWS);
}

/* ---- square matrices, and the Gaussian control ---- */

static void measure_square_products(const struct oa_draw *w, double *out)
{
    const struct oa_vectors *p = w->argument;
    double *x = oa_arena_take(w->scratch, 2 * (size_t)w->k * sizeof *x), *y = x + w->k;
    out[0] = 0;
    for (int i = 0; x && i < p->count; i++) {
        oa_project_row(w, 0, p->x + i * w->d, x);
        oa_project_row(w, 0, p->y + i * w->d, y);
        double off = oa_dot(w->k, x, y) - oa_dot(w->d, p->x + i * w->d, p->y + i * w->d);
        out[0] = fmax(out[0], fabs(off) / (double)w->d);
    }
}

static void add_square_products(struct oa_theory_results *t)
{
    enum { SQUARES = 3 };
    double off[SQUARES];
    struct oa_vectors pairs;
    long d = t->d < 512 ? t->d : 512;
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = "theory/square",
                              .d = d,
                              .k = d,
                              .count = SQUARES,
                              .heads = 1,
                              .statistics = 1,
                              .measure = measure_square_products,
                              .argument = &pairs };
    if (oa_vectors_make(t->context, d, PAIRS, cosine, &pairs) == OA_OK &&
        oa_draws_run(t->context, &draws, off) == OA_OK)
        oa_theory_found(t, "product-kept-square", 0, largest_value(off, SQUARES));
    oa_vectors_free(&pairs);
}

static enum oa_error draw_lengths(struct oa_theory_results *t, enum oa_projection kind,
                                  const char *name, const struct length_sample *s, double *v)
{
    struct oa_draws draws = { .kind = kind,
                              .name = name,
                              .d = t->d,
                              .k = t->k,
                              .count = DRAWS,
                              .heads = 1,
                              .statistics = STATISTICS,
                              .measure = measure_projected_lengths,
                              .argument = s };
    return oa_draws_run(t->context, &draws, v);
}

static void add_gaussian_control(struct oa_theory_results *t, const struct length_sample *s,
                                 double *v)
{
    double d = (double)t->d, k = (double)t->k, haar = sqrt(oa_law_norm_variance(d, k));
    double less = 1 - haar / sqrt(oa_law_gaussian_norm_variance(d, k));
    if (draw_lengths(t, OA_PROJECTION_GAUSSIAN, "theory/gaussian", s, v) != OA_OK)
        return;
    struct oa_theory_finding f = oa_theory_proposition(
        "gaussian-spread", sqrt(2 / k), oa_measured_root(mean_of_statistic(v, NORM_SQUARE)));
    f.holds = true;
    snprintf(f.verdict, sizeof f.verdict, "holds: %.1f %% less spread", 100 * less);
    oa_theory_add(t, &f);
}

void oa_measure_lengths(struct oa_theory_results *t)
{
    double d = (double)t->d, k = (double)t->k,
           *v = oa_alloc(t->context, STATISTICS * DRAWS * sizeof *v);
    struct length_sample s = { .low = oa_law_norm_quantile(d, k, 0.05),
                               .high = oa_law_norm_quantile(d, k, 0.95) };
    if (v && oa_vectors_make(t->context, t->d, PAIRS, cosine, &s.pairs) == OA_OK &&
        draw_lengths(t, OA_PROJECTION_HAAR, "theory/lengths", &s, v) == OA_OK) {
        double share = k / d;
        oa_theory_found(t, "orthonormal", 0, largest_value(v + ORTHONORMALITY * DRAWS, DRAWS));
        oa_theory_found(t, "kept-in-span", 0, largest_value(v + SPAN * DRAWS, DRAWS));
        oa_theory_found(t, "norm-kept", share, scaled(share, mean_of_statistic(v, NORM)));
        oa_theory_found(t, "product-kept", share,
                        scaled(share / cosine, mean_of_statistic(v, PRODUCT)));
        oa_theory_found(t, "product-mean", 1, scaled(1 / cosine, mean_of_statistic(v, PRODUCT)));
        add_square_products(t);
        oa_theory_found(t, "product-error", d / k * sqrt(oa_law_product_variance(d, k, cosine)),
                        oa_measured_root(mean_of_statistic(v, PRODUCT_SQUARE)));
        oa_theory_found(t, "norm-spread", d / k * sqrt(oa_law_norm_variance(d, k)),
                        oa_measured_root(mean_of_statistic(v, NORM_SQUARE)));
        oa_theory_found(t, "beta-law", 0.9, mean_of_statistic(v, INSIDE));
        oa_theory_found(t, "first-entry", 0, mean_of_statistic(v, FIRST));
        oa_theory_found(t, "unsigned-qr", -oa_law_first_entry(d),
                        scaled(-1, mean_of_statistic(v, FIRST_SIZE)));
        add_gaussian_control(t, &s, v);
    }
    oa_vectors_free(&s.pairs);
    oa_free(v);
    oa_plot_lengths(t);
}
