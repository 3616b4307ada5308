/* SPDX-License-Identifier: Apache-2.0
 * Charts over the width of a head: the spread of lengths against the Beta distribution, and the
 * error of inner products for every generator. All three use the same draws. */
#include "attention/attention.h"
#include "base/compare_doubles.h"
#include "theory/closed_forms.h"
#include "theory/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 32, MOST_DRAWS = 64, STEPS = 60, MOST_WIDTHS = 16, LEVELS = 3 };
static const double cosine = 0.5;
static const double levels[LEVELS] = { 0.05, 0.5, 0.95 };

/* ---- one generator at one width ---- */

struct plot_vectors {
    struct oa_vectors dense, sparse;
};

/* Mean square error of the scaled inner products, in units of |x||y|; lengths into `ratios` unless
 * NULL. */
static double scaled_product_error(const struct oa_draw *w, const struct oa_vectors *p,
                                   double *ratios)
{
    double *x = oa_arena_take(w->scratch, 2 * (size_t)w->k * sizeof *x), *y = x + w->k, sum = 0;
    for (int i = 0; x && i < PAIRS; i++) {
        oa_project_row(w, 0, p->x + i * w->d, x);
        oa_project_row(w, 0, p->y + i * w->d, y);
        sum += pow(oa_dot(w->k, x, y) / (double)w->k - p->cosine, 2) / PAIRS;
        if (ratios)
            ratios[i] = oa_dot(w->k, x, x) / (double)w->k;
    }
    return sum;
}

/* PAIRS lengths, then the errors for dense and for sparse vectors. */
static void measure_plot_values(const struct oa_draw *w, double *out)
{
    const struct plot_vectors *v = w->argument;
    memset(out, 0, PAIRS * sizeof *out);
    out[PAIRS] = scaled_product_error(w, &v->dense, out);
    out[PAIRS + 1] = scaled_product_error(w, &v->sparse, NULL);
}

struct width_point {
    double length[LEVELS], dense, sparse;
};

static struct width_point measure_width(struct oa_theory_results *t, const struct plot_vectors *v,
                                        enum oa_projection kind, long k)
{
    static const struct width_point none = { { NAN, NAN, NAN }, NAN, NAN };
    double values[(PAIRS + 2) * MOST_DRAWS];
    char name[64];
    snprintf(name, sizeof name, "theory/widths/%s/%ld", oa_projection_name(kind), k);
    long count = oa_draws_affordable(t->d, k, MOST_DRAWS), n = PAIRS * count;
    struct oa_draws draws = { .kind = kind,
                              .name = name,
                              .d = t->d,
                              .k = k,
                              .count = count,
                              .heads = 1,
                              .statistics = PAIRS + 2,
                              .measure = measure_plot_values,
                              .argument = v };
    if ((kind == OA_PROJECTION_BLOCK && t->d % k) ||
        oa_draws_run(t->context, &draws, values) != OA_OK)
        return none;
    struct width_point p = { .dense = oa_measured_root(oa_measured_of(values + n, count)).mean,
                             .sparse =
                                 oa_measured_root(oa_measured_of(values + n + count, count)).mean };
    qsort(values, (size_t)n, sizeof *values, oa_compare_doubles);
    for (int i = 0; i < LEVELS; i++)
        p.length[i] = values[(long)(levels[i] * (double)(n - 1) + 0.5)];
    return p;
}

/* ---- charts ---- */

static const struct oa_plot spread = {
    .part = OA_PART_LENGTHS,
    .name = "length-spread",
    .title = "Length after one draw",
    .caption =
        "(d/k)|xU|²/|x|²: 5 %, 50 % and 95 % quantiles over draws (points) and of the Beta "
        "distribution (lines). The proposal claims 1 at every width; that holds at k = d only.",
    .x_label = "width of a head, k",
    .y_label = "(d/k)|xU|²/|x|²",
    .x_log = true
};
static const struct oa_plot dense = {
    .part = OA_PART_LENGTHS,
    .name = "product-error",
    .title = "Error of inner products in one draw, by generator",
    .caption = "Root mean square of (d/k)⟨xU, yU⟩ − ⟨x, y⟩ in units of |x||y|, for dense random "
               "vectors at 60°: measured (points), and for uniform columns (line). All orthonormal "
               "generators agree with it; the width of the head decides. The Gaussian control is "
               "worse for wide heads.",
    .x_label = "width of a head, k",
    .y_label = "error",
    .x_log = true,
    .y_log = true
};
static const struct oa_plot sparse = {
    .part = OA_PART_LENGTHS,
    .name = "sparse-error",
    .title = "Error for vectors with one and two nonzero coordinates",
    .caption =
        "Here generators differ. Selecting coordinates (permutation) keeps or loses such a vector; "
        "a Hadamard matrix (srht) spreads it evenly; for uniform columns all vectors are alike.",
    .x_label = "width of a head, k",
    .y_label = "error",
    .x_log = true,
    .y_log = true
};

static double expected_length_quantile(double d, double k, int level)
{
    return oa_law_norm_quantile(d, k, levels[level]);
}

static double expected_product_error(double d, double k, int level)
{
    (void)level;
    return d / k * sqrt(oa_law_product_variance(d, k, cosine));
}

/* From 4 to d/2, evenly on a logarithmic axis. */
static void add_law_curve(struct oa_theory_results *t, struct oa_plot *p, const char *name,
                          double (*law)(double, double, int), int level)
{
    struct oa_curve *c = oa_plot_curve(t, p, name, 7, STEPS);
    for (int i = 0; c && i < STEPS; i++) {
        c->x[i] = 4 * pow((double)t->d / 8, i / (double)(STEPS - 1));
        c->y[i] = law((double)t->d, c->x[i], level);
    }
}

/* ---- curves ---- */

struct width_series {
    long k[MOST_WIDTHS];
    struct width_point at[MOST_WIDTHS];
    int count;
};

/* The values at `offset` of struct width_point. */
static void add_width_curve(struct oa_theory_results *t, struct oa_plot *p, const char *name,
                            int color, const struct width_series *w, size_t offset)
{
    struct oa_curve *c = oa_plot_curve(t, p, name, color, w->count);
    if (!c)
        return;
    c->dots = true;
    c->loose = strcmp(p->name, sparse.name) != 0;
    for (int i = 0; i < w->count; i++) {
        c->x[i] = (double)w->k[i];
        c->y[i] = *(const double *)((const char *)&w->at[i] + offset);
    }
}

static void add_generator_curves(struct oa_theory_results *t, struct oa_plot *const plot[3],
                                 const struct plot_vectors *v)
{
    struct width_series w = { .count = 0 };
    for (long k = 4; k <= t->d / 2 && w.count < MOST_WIDTHS; k *= 2)
        w.k[w.count++] = k;
    for (int i = OA_PROJECTION_DRAWN, color = 0;
         i < OA_PROJECTIONS && oa_status(t->context) == OA_OK; i++) {
        enum oa_projection kind = (enum oa_projection)i;
        if (kind == OA_PROJECTION_SLICE || kind == OA_PROJECTION_GRAM_SCHMIDT)
            continue; /* equal to haar for one head */
        const char *name = oa_projection_name(kind);
        for (int j = 0; j < w.count; j++)
            w.at[j] = measure_width(t, v, kind, w.k[j]);
        for (int l = 0; color < 2 && l < LEVELS; l++) /* haar and gaussian */
            add_width_curve(t, plot[0], l == LEVELS - 1 ? name : "", color, &w,
                            offsetof(struct width_point, length[l]));
        add_width_curve(t, plot[1], name, color, &w, offsetof(struct width_point, dense));
        add_width_curve(t, plot[2], name, color, &w, offsetof(struct width_point, sparse));
        color++;
    }
}

void oa_plot_lengths(struct oa_theory_results *t)
{
    struct plot_vectors v;
    struct oa_plot *const plot[3] = { oa_theory_plot(t, &spread), oa_theory_plot(t, &dense),
                                      oa_theory_plot(t, &sparse) };
    for (int l = 0; l < LEVELS; l++)
        add_law_curve(t, plot[0], l == LEVELS - 1 ? "Beta distribution" : "",
                      expected_length_quantile, l);
    add_law_curve(t, plot[1], "closed form", expected_product_error, 0);
    add_law_curve(t, plot[2], "closed form", expected_product_error, 0);
    oa_vectors_make(t->context, t->d, PAIRS, cosine, &v.dense);
    if (oa_vectors_make_sparse(t->context, t->d, PAIRS, cosine, &v.sparse) == OA_OK)
        add_generator_curves(t, plot, &v);
    oa_vectors_free(&v.dense);
    oa_vectors_free(&v.sparse);
}
