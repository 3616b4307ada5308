/* SPDX-License-Identifier: Apache-2.0
 * Overlap of heads. Columns are orthogonal within a head. Two independent heads share
 *
 *     tr(P_h P_g)/k = |U_hᵀ U_g|²/k,   P = U Uᵀ,   k/d on average
 *
 * of their subspaces, like any two random subspaces. Only slices of one matrix are orthogonal to
 * each other. */
#include "theory/closed_forms.h"
#include "theory/draws.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 40, VECTORS = 32 };
enum { OVERLAP, PARSEVAL, STATISTICS };

/* Overlap of the first two heads; mean square of Σ_h |xU_h|²/|x|² − 1 over the heads. */
static void measure_head_overlap(const struct oa_draw *w, double *out)
{
    const struct oa_vectors *p = w->argument;
    double *y = oa_arena_take(w->scratch, (size_t)w->k * sizeof *y);
    memset(out, 0, STATISTICS * sizeof *out);
    for (int i = 0; y && i < p->count; i++) {
        double sum = 0;
        for (int h = 0; h < w->heads; h++) {
            oa_project_row(w, h, p->x + i * w->d, y);
            sum += oa_dot(w->k, y, y) / (double)w->d;
        }
        out[PARSEVAL] += (sum - 1) * (sum - 1) / p->count;
    }
    for (long a = 0; a < w->k; a++)
        for (long b = 0; b < w->k; b++)
            out[OVERLAP] += pow(oa_dot(w->d, w->u + a * w->d, w->u + (w->k + b) * w->d), 2);
    out[OVERLAP] /= (double)w->k;
}

static enum oa_error draw_heads(struct oa_theory_results *t, enum oa_projection kind, long k,
                                int heads, long count, const struct oa_vectors *p, double *v)
{
    struct oa_draws draws = { .kind = kind,
                              .name = "theory/heads",
                              .d = t->d,
                              .k = k,
                              .count = count,
                              .heads = heads,
                              .statistics = STATISTICS,
                              .measure = measure_head_overlap,
                              .argument = p };
    return oa_draws_run(t->context, &draws, v);
}

/* ---- findings ---- */

static void add_independent_heads(struct oa_theory_results *t, const struct oa_vectors *p)
{
    double v[STATISTICS * DRAWS], d = (double)t->d, k = (double)t->k, heads = (double)t->heads;
    if (draw_heads(t, OA_PROJECTION_HAAR, t->k, (int)t->heads, DRAWS, p, v) != OA_OK)
        return;
    struct oa_measured shared = oa_measured_of(v, DRAWS),
                       sum = oa_measured_root(oa_measured_of(v + PARSEVAL * DRAWS, DRAWS));
    oa_theory_found(t, "heads-apart", k / d, shared);
    oa_theory_found(t, "heads-together", sqrt(heads * oa_law_norm_variance(d, k)), sum);
}

static void add_sliced_heads(struct oa_theory_results *t, const struct oa_vectors *p)
{
    enum { SLICES = 2 };
    double v[STATISTICS * SLICES], shared = 0, sum = 0;
    if (draw_heads(t, OA_PROJECTION_SLICE, t->k, (int)t->heads, SLICES, p, v) != OA_OK)
        return;
    for (int i = 0; i < SLICES; i++) {
        shared = fmax(shared, v[i]);
        sum = fmax(sum, sqrt(v[PARSEVAL * SLICES + i]));
    }
    oa_theory_found(t, "slices-apart", 0, (struct oa_measured){ shared, 0 });
    oa_theory_found(t, "slices-together", 0, (struct oa_measured){ sum, 0 });
}

/* ---- logits of two heads ---- */

/* Mean over pairs of S¹_ij S²_ij for two heads of unit logits; matrices U¹, T¹, U², T². */
static void measure_head_logits(const struct oa_draw *w, double *out)
{
    const struct oa_vectors *p = w->argument;
    double *row = oa_arena_take(w->scratch, 4 * (size_t)w->k * sizeof *row);
    out[0] = 0;
    for (int i = 0; row && i < p->count; i++) {
        for (int m = 0; m < 4; m++)
            oa_project_row(w, m, m % 2 ? p->y + i * w->d : p->x + i * w->d, row + m * w->k);
        double first = oa_dot(w->k, row, row + w->k),
               second = oa_dot(w->k, row + 2 * w->k, row + 3 * w->k);
        out[0] += first * second / (double)w->k / p->count;
    }
}

static void add_head_logits(struct oa_theory_results *t, const struct oa_vectors *p)
{
    enum { COUNT = 48 };
    double v[COUNT];
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = "theory/head logits",
                              .d = t->d,
                              .k = t->k,
                              .count = COUNT,
                              .heads = 4,
                              .statistics = 1,
                              .measure = measure_head_logits,
                              .argument = p };
    if (oa_draws_run(t->context, &draws, v) == OA_OK)
        oa_theory_found(t, "head-logits", 0, oa_measured_of(v, COUNT));
}

/* ---- the plot ---- */

static void add_expected_overlap(struct oa_theory_results *t, struct oa_plot *p)
{
    struct oa_curve *c = oa_plot_curve(t, p, "k/d", 7, 2);
    if (!c)
        return;
    c->x[0] = 0;
    c->x[1] = c->y[1] = 0.5;
    c->x[1] *= (double)t->d;
    c->y[0] = 0;
}

static void add_overlap_points(struct oa_theory_results *t, struct oa_plot *p,
                               const struct oa_vectors *pairs, enum oa_projection kind, int color)
{
    enum { MOST = 5, COUNT = 3 };
    long k[MOST], count = kind == OA_PROJECTION_SLICE ? 1 : COUNT; /* always 0 for slices */
    int n = 0;
    for (long heads = 32; heads >= 2; heads /= 2)
        if (t->d % heads == 0 && t->d / heads >= 4)
            k[n++] = t->d / heads;
    struct oa_curve *c = oa_plot_curve(t, p, oa_projection_name(kind), color, n);
    if (!c)
        return;
    c->dots = c->loose = true;
    for (int i = 0; i < n; i++) {
        double v[STATISTICS * COUNT];
        c->x[i] = (double)k[i];
        c->y[i] = draw_heads(t, kind, k[i], 2, count, pairs, v) == OA_OK
                      ? oa_measured_of(v, count).mean
                      : NAN;
    }
}

static void plot_overlap(struct oa_theory_results *t, const struct oa_vectors *pairs)
{
    struct oa_plot *p = oa_theory_plot(
        t, &(struct oa_plot){ .part = OA_PART_HEADS,
                              .name = "overlap",
                              .title = "Overlap of two heads",
                              .caption = "tr(P_h P_g)/k, the share of a head's subspace that is "
                                         "in another's, for models with 2, 4, 8 … heads. "
                                         "Independent heads (haar) overlap like random subspaces, "
                                         "slices of one matrix do not overlap.",
                              .x_label = "width of a head, k",
                              .y_label = "overlap" });
    add_expected_overlap(t, p);
    add_overlap_points(t, p, pairs, OA_PROJECTION_HAAR, 0);
    add_overlap_points(t, p, pairs, OA_PROJECTION_SLICE, 2);
}

void oa_measure_heads(struct oa_theory_results *t)
{
    struct oa_vectors pairs;
    if (oa_vectors_make(t->context, t->d, VECTORS, 0.5, &pairs) == OA_OK) {
        add_independent_heads(t, &pairs);
        add_sliced_heads(t, &pairs);
        add_head_logits(t, &pairs);
        plot_overlap(t, &pairs);
    }
    oa_vectors_free(&pairs);
}
