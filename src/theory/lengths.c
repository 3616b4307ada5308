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

static const struct oa_theory_finding orthonormal = {
    .name = "orthonormal",
    .proposition = "UᵀU = I",
    .meaning = "Columns are orthonormal. Largest deviation over draws, which is rounding.",
    .claimed = "error 0",
    .claim = 0,
};
static const struct oa_theory_finding kept_in_span = {
    .name = "kept-in-span",
    .proposition = "⟨xU, yU⟩ = ⟨x, y⟩ for x, y in the span of U",
    .meaning = "Holds: such a vector loses nothing. But the span has k of d dimensions, and tokens "
               "are not restricted to it.",
    .claimed = "error 0",
    .claim = 0,
};
static const struct oa_theory_finding norm_kept = {
    .name = "norm-kept",
    .proposition = "|xU|² = |x|²",
    .meaning =
        "Mean of |xU|²/|x|². The proposal takes W Wᵀ for I, but it is a projector of rank k.",
    .claimed = "1",
    .claim = 1,
    .formula = "k/d",
};
static const struct oa_theory_finding product_kept = {
    .name = "product-kept",
    .proposition = "⟨xU, yU⟩ = ⟨x, y⟩",
    .meaning =
        "Proposition 1 of the proposal, from the same step. Mean of the ratio for vectors at 60°; "
        "angles change too.",
    .claimed = "1",
    .claim = 1,
    .formula = "k/d",
};
static const struct oa_theory_finding product_mean = {
    .name = "product-mean",
    .proposition = "(d/k) E⟨xU, yU⟩ = ⟨x, y⟩",
    .meaning =
        "Scaled by d/k (the option scale=jl), inner products are right on average if queries and "
        "keys share U (the option tie).",
    .claimed = "1",
    .claim = 1,
};
static const struct oa_theory_finding product_kept_square = {
    .name = "product-kept-square",
    .proposition = "⟨xU, yU⟩ = ⟨x, y⟩ for k = d",
    .meaning = "One head as wide as the model: U is orthogonal, and Proposition 1 holds.",
    .claimed = "error 0",
    .claim = 0,
};
static const struct oa_theory_finding product_error = {
    .name = "product-error",
    .proposition = "(d/k)⟨xU, yU⟩ = ⟨x, y⟩, one draw",
    .meaning = "Root mean square error of a single draw in units of |x||y|, for vectors at 60°. A "
               "model has one draw for each head.",
    .claimed = "error 0",
    .claim = 0,
    .formula = "(d/k) √Var⟨xU, yU⟩",
};
static const struct oa_theory_finding norm_spread = {
    .name = "norm-spread",
    .proposition = "(d/k)|xU|² = |x|², one draw",
    .meaning = "Standard deviation of (d/k)|xU|²/|x|².",
    .claimed = "error 0",
    .claim = 0,
    .formula = "√(2(d − k)/(k(d + 2)))",
};
static const struct oa_theory_finding beta_law = {
    .name = "beta-law",
    .proposition = "|xU|²/|x|² ~ Beta(k/2, (d − k)/2)",
    .meaning = "Share of draws inside the central 90 % of that distribution. Holds: draws are "
               "uniform among matrices with orthonormal columns.",
    .claimed = "90 %",
    .claim = 0.9,
};
static const struct oa_theory_finding first_entry = {
    .name = "first-entry",
    .proposition = "E U₁₁ = 0",
    .meaning = "A uniform matrix has no preferred direction.",
    .claimed = "0",
    .claim = 0,
};
static const struct oa_theory_finding unsigned_qr = {
    .name = "unsigned-qr",
    .proposition = "E Q₁₁ = 0 for Q of any QR",
    .meaning =
        "Common Performers take Q of a Householder QR without sign correction. Its first entry is "
        "never positive (here −|U₁₁| of the same draws): all directions prefer one side.",
    .claimed = "0",
    .claim = 0,
    .formula = "−Γ(d/2)/(√π Γ((d + 1)/2))",
};
static const struct oa_theory_finding gaussian_spread = {
    .name = "gaussian-spread",
    .proposition = "orthonormal columns preserve lengths better than Gaussian",
    .meaning = "Standard deviation of (d/k)|xG|²/|x|² for Gaussian G, relative to that of U. Holds "
               "by a small margin: the factor is √((d − k)/(d + 2)).",
    .claimed = "better",
    .claim = NAN,
    .formula = "√(2/k)",
    .holds = true,
};

/* `factor` scales the measured value to the units of the claim. */
static struct oa_theory_finding length_finding(const struct oa_theory_finding *proposition,
                                               double law, double factor, struct oa_measured m)
{
    struct oa_theory_finding f = *proposition;
    f.part = OA_PART_LENGTHS;
    f.law = law;
    f.measured = factor * m.mean;
    f.error = fabs(factor) * m.error;
    return f;
}

static void add_length_finding(struct oa_theory_results *t,
                               const struct oa_theory_finding *proposition, double law,
                               double factor, struct oa_measured m)
{
    struct oa_theory_finding f = length_finding(proposition, law, factor, m);
    oa_theory_add(t, &f);
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
        add_length_finding(t, &product_kept_square, 0, 1, largest_value(off, SQUARES));
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
    struct oa_theory_finding f = length_finding(
        &gaussian_spread, sqrt(2 / k), 1, oa_measured_root(mean_of_statistic(v, NORM_SQUARE)));
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
        add_length_finding(t, &orthonormal, 0, 1, largest_value(v + ORTHONORMALITY * DRAWS, DRAWS));
        add_length_finding(t, &kept_in_span, 0, 1, largest_value(v + SPAN * DRAWS, DRAWS));
        add_length_finding(t, &norm_kept, share, share, mean_of_statistic(v, NORM));
        add_length_finding(t, &product_kept, share, share / cosine, mean_of_statistic(v, PRODUCT));
        add_length_finding(t, &product_mean, 1, 1 / cosine, mean_of_statistic(v, PRODUCT));
        add_square_products(t);
        add_length_finding(t, &product_error, d / k * sqrt(oa_law_product_variance(d, k, cosine)),
                           1, oa_measured_root(mean_of_statistic(v, PRODUCT_SQUARE)));
        add_length_finding(t, &norm_spread, d / k * sqrt(oa_law_norm_variance(d, k)), 1,
                           oa_measured_root(mean_of_statistic(v, NORM_SQUARE)));
        add_length_finding(t, &beta_law, 0.9, 1, mean_of_statistic(v, INSIDE));
        add_length_finding(t, &first_entry, 0, 1, mean_of_statistic(v, FIRST));
        add_length_finding(t, &unsigned_qr, -oa_law_first_entry(d), -1,
                           mean_of_statistic(v, FIRST_SIZE));
        add_gaussian_control(t, &s, v);
    }
    oa_vectors_free(&s.pairs);
    oa_free(v);
    oa_plot_lengths(t);
}
