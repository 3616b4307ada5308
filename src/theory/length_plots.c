/* SPDX-License-Identifier: Apache-2.0
 * Lengths and inner products over the width of a head: the spread of lengths against the Beta law, and the error of
 * inner products for every generator. */
#include "attention/attention.h"
#include "theory/closed_forms.h"
#include "theory/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 32, MOST_DRAWS = 64, STEPS = 60 };
static const double cosine = 0.5;

static int widths_of(long d, long *k)
{
    int n = 0;
    for (long w = 4; w <= d / 2 && n < 16; w *= 2)
        k[n++] = w;
    return n;
}

/* From 4 to d/2, evenly on a logarithmic axis. */
static double width_step(const struct oa_theory *t, int i)
{
    return 4 * pow((double)t->d / 8, i / (double)(STEPS - 1));
}

/* ---- lengths
 * ------------------------------------------------------------------------------------------------------------- */

static const double levels[] = { 0.05, 0.5, 0.95 };
enum { LEVELS = sizeof levels / sizeof *levels };

static void measure_lengths(const struct oa_draw *w, double *out)
{
    const struct oa_vectors *p = w->argument;
    double *y = oa_arena_take(w->room, (size_t)w->k * sizeof *y);
    for (int i = 0; i < PAIRS; i++) {
        if (y)
            oa_project_row(w, 0, p->x + i * w->d, y);
        out[i] = y ? oa_dot(w->k, y, y) / (double)w->k : 0;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void quantiles_at(struct oa_theory *t, const struct oa_vectors *pairs, const char *kind, long k, double *out)
{
    double values[PAIRS * MOST_DRAWS];
    char name[64];
    snprintf(name, sizeof name, "theory/spread/%s/%ld", kind, k);
    struct oa_draws draws = { .kind = kind,
                              .name = name,
                              .d = t->d,
                              .k = k,
                              .count = oa_draws_affordable(t->d, k, MOST_DRAWS),
                              .heads = 1,
                              .statistics = PAIRS,
                              .measure = measure_lengths,
                              .argument = pairs };
    if (oa_draws_run(t->context, &draws, values) != OA_OK)
        return;
    long n = PAIRS * draws.count;
    qsort(values, (size_t)n, sizeof *values, by_size);
    for (int i = 0; i < LEVELS; i++)
        out[i] = values[(long)(levels[i] * (double)(n - 1) + 0.5)];
}

static void add_quantiles(struct oa_theory *t, struct oa_plot *p, const struct oa_vectors *pairs, const char *kind,
                          int color)
{
    struct oa_curve *c[LEVELS];
    long k[16];
    int n = widths_of(t->d, k);
    for (int i = 0; i < LEVELS; i++) {
        c[i] = oa_plot_curve(t, p, i == LEVELS - 1 ? kind : "", color, n);
        if (!c[i])
            return;
        c[i]->dots = c[i]->loose = true;
    }
    for (int j = 0; j < n; j++) {
        double q[LEVELS] = { 0 };
        quantiles_at(t, pairs, kind, k[j], q);
        for (int i = 0; i < LEVELS; i++) {
            c[i]->x[j] = (double)k[j];
            c[i]->y[j] = q[i];
        }
    }
}

static void draw_beta_law(struct oa_theory *t, struct oa_plot *p)
{
    for (int l = 0; l < LEVELS; l++) {
        struct oa_curve *c = oa_plot_curve(t, p, l == LEVELS - 1 ? "Beta law" : "", 7, STEPS);
        for (int i = 0; c && i < STEPS; i++) {
            c->x[i] = width_step(t, i);
            c->y[i] = oa_law_norm_quantile((double)t->d, c->x[i], levels[l]);
        }
    }
}

static void plot_spread(struct oa_theory *t, const struct oa_vectors *pairs)
{
    struct oa_plot *p = oa_theory_plot(
        t, &(struct oa_plot){ .part = OA_PART_LENGTHS,
                              .name = "length-spread",
                              .title = "What one draw leaves of a length",
                              .caption =
                                  "(d/k)|xU|²/|x|²: nine of ten draws lie between the outer points, half below the "
                                  "middle one. Lines: the Beta law of uniform orthonormal columns. The proposal says "
                                  "1 at every width; that is so at k = d only.",
                              .x_label = "width of a head, k",
                              .y_label = "(d/k)|xU|²/|x|²",
                              .x_log = true });
    draw_beta_law(t, p);
    add_quantiles(t, p, pairs, "haar", 0);
    add_quantiles(t, p, pairs, "gaussian", 1);
}

/* ---- inner products
 * -------------------------------------------------------------------------------------------------------- */

static void measure_error(const struct oa_draw *w, double *out)
{
    const struct oa_vectors *p = w->argument;
    double *x = oa_arena_take(w->room, 2 * (size_t)w->k * sizeof *x), *y = x + w->k, sum = 0;
    for (int i = 0; x && i < p->count; i++) {
        oa_project_row(w, 0, p->x + i * w->d, x);
        oa_project_row(w, 0, p->y + i * w->d, y);
        double off = oa_dot(w->k, x, y) / (double)w->k - p->cosine;
        sum += off * off / p->count;
    }
    out[0] = sum;
}

static double error_at(struct oa_theory *t, const struct oa_vectors *pairs, const char *kind, long k)
{
    double values[MOST_DRAWS];
    char name[64];
    snprintf(name, sizeof name, "theory/error/%s/%ld", kind, k);
    struct oa_draws draws = { .kind = kind,
                              .name = name,
                              .d = t->d,
                              .k = k,
                              .count = oa_draws_affordable(t->d, k, MOST_DRAWS),
                              .heads = 1,
                              .statistics = 1,
                              .measure = measure_error,
                              .argument = pairs };
    if (oa_draws_run(t->context, &draws, values) != OA_OK)
        return NAN;
    return oa_measured_root(oa_measured_of(values, draws.count)).mean;
}

/* slice is haar in one head, gram-schmidt the same matrix. */
static bool is_shown(const char *kind)
{
    return strcmp(kind, "slice") != 0 && strcmp(kind, "gram-schmidt") != 0;
}

static void draw_law(struct oa_theory *t, struct oa_plot *p)
{
    struct oa_curve *c = oa_plot_curve(t, p, "law", 7, STEPS);
    for (int i = 0; c && i < STEPS; i++) {
        double k = width_step(t, i);
        c->x[i] = k;
        c->y[i] = (double)t->d / k * sqrt(oa_law_product_variance((double)t->d, k, cosine));
    }
}

static const struct oa_plot dense = {
    .part = OA_PART_LENGTHS,
    .name = "product-error",
    .title = "How far off inner products are in one draw, for every generator",
    .caption =
        "Root mean square of (d/k)⟨xU, yU⟩ − ⟨x, y⟩ in units of |x||y|, for dense random vectors at 60°. Points are "
        "measured, the line is the law of uniform columns. All orthonormal generators lie on it: what matters is the "
        "width of the head. The Gaussian control stays behind where heads are wide.",
    .x_label = "width of a head, k",
    .y_label = "error",
    .x_log = true,
    .y_log = true
};
static const struct oa_plot sparse = {
    .part = OA_PART_LENGTHS,
    .name = "sparse-error",
    .title = "The same for vectors with one and two coordinates",
    .caption =
        "Here generators differ. Selecting coordinates (permutation) keeps such a vector or loses it; one Hadamard "
        "matrix (srht) spreads it evenly; uniform columns do not care how a vector lies.",
    .x_label = "width of a head, k",
    .y_label = "error",
    .x_log = true,
    .y_log = true
};

static void plot_errors(struct oa_theory *t, const struct oa_plot *plot, const struct oa_vectors *pairs)
{
    const char *kind, *what;
    long k[16];
    int n = widths_of(t->d, k);
    struct oa_plot *p = oa_theory_plot(t, plot);
    draw_law(t, p);
    for (int i = 0, color = 0; oa_projection_kind(i, &kind, &what) && oa_status(t->context) == OA_OK; i++) {
        struct oa_curve *c = is_shown(kind) ? oa_plot_curve(t, p, kind, color, n) : NULL;
        if (!c)
            continue;
        color++;
        c->dots = true;
        c->loose = plot == &dense;
        for (int j = 0; j < n; j++) {
            c->x[j] = (double)k[j];
            c->y[j] = strcmp(kind, "block") == 0 && t->d % k[j] ? NAN : error_at(t, pairs, kind, k[j]);
        }
    }
}

void oa_plot_lengths(struct oa_theory *t)
{
    struct oa_vectors pairs, few;
    oa_vectors_make(t->context, t->d, PAIRS, cosine, &pairs);
    if (oa_vectors_make_sparse(t->context, t->d, PAIRS, cosine, &few) == OA_OK) {
        plot_spread(t, &pairs);
        plot_errors(t, &dense, &pairs);
        plot_errors(t, &sparse, &few);
    }
    oa_vectors_free(&pairs);
    oa_vectors_free(&few);
}
