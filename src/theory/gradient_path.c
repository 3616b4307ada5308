/* SPDX-License-Identifier: Apache-2.0
 * Gradients of the queries. The proposal claims |∂L/∂Q Uᵀ| = |∂L/∂Q|, so that gradients neither
 * vanish nor explode. The equality holds, since the rows of Uᵀ are orthonormal. But before U the
 * gradient passes the softmax,
 *
 *     P = softmax(S),  dP = dO Vᵀ,  dS = P ∘ (dP − rowsum(P ∘ dP)),  dQ = τ dS K,
 *
 * which scales it by the size of the logits: it is small for nearly equal logits; if one logit
 * dominates, it vanishes for most tokens and grows for a few. */
#include "base/compare_doubles.h"
#include "theory/closed_forms.h"
#include "theory/draws.h"

#include "print/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 32, ROWS = 32 };

/* ---- through the projection ---- */

enum { WORST, MEAN, SQUARE, STATISTICS };

static void measure_projected_gradient(const struct oa_draw *w, double *out)
{
    struct oa_stream s = oa_stream_child(oa_stream_named(1, "theory/gradient"), (uint64_t)w->index);
    double *g = oa_arena_take(w->scratch, (size_t)(w->d + w->k) * sizeof *g), *back = g + w->k;
    memset(out, 0, STATISTICS * sizeof *out);
    for (int i = 0; g && i < ROWS; i++) {
        memset(back, 0, (size_t)w->d * sizeof *back);
        for (long l = 0; l < w->k; l++) {
            g[l] = oa_random_normal(s, (uint64_t)(i * w->k + l));
            for (long r = 0; r < w->d; r++)
                back[r] += g[l] * w->u[l * w->d + r];
        }
        double ratio = oa_dot(w->d, back, back) / oa_dot(w->k, g, g);
        out[WORST] = fmax(out[WORST], fabs(ratio - 1));
        out[MEAN] += ratio / ROWS;
        out[SQUARE] += (ratio - 1) * (ratio - 1) / ROWS;
    }
}

static enum oa_error draw_projected_gradients(struct oa_theory_results *t, enum oa_projection kind,
                                              double *v)
{
    struct oa_draws draws = { .kind = kind,
                              .name = "theory/gradient",
                              .d = t->d,
                              .k = t->k,
                              .count = DRAWS,
                              .heads = 1,
                              .statistics = STATISTICS,
                              .measure = measure_projected_gradient };
    return oa_draws_run(t->context, &draws, v);
}

static void add_projected_gradient(struct oa_theory_results *t)
{
    double v[STATISTICS * DRAWS], worst = 0;
    if (draw_projected_gradients(t, OA_PROJECTION_HAAR, v) != OA_OK)
        return;
    for (int i = 0; i < DRAWS; i++)
        worst = fmax(worst, v[WORST * DRAWS + i]);
    oa_theory_found(t, "gradient-kept", 0, (struct oa_measured){ worst, 0 });
    if (draw_projected_gradients(t, OA_PROJECTION_GAUSSIAN, v) != OA_OK)
        return;
    struct oa_measured spread = oa_measured_root(oa_measured_of(v + SQUARE * DRAWS, DRAWS));
    struct oa_theory_finding f =
        oa_theory_proposition("gaussian-gradient", sqrt(2 / (double)t->d), spread);
    snprintf(f.verdict, sizeof f.verdict, "fails: preserved within %.1f %%", 100 * spread.mean);
    oa_theory_add(t, &f);
}

/* ---- through the softmax ---- */

enum { TOKENS = 64, SPREADS = 11, PATH_DRAWS = 16 };
static const double least_spread = 1.0 / 16; /* of the logits; doubled SPREADS − 1 times */

struct gradient_path { /* arrays of one draw, [TOKENS, k] but logits and weights [TOKENS, TOKENS] */
    double *x, *q, *key, *value, *back, *logits, *weights, *dq;
};

static bool allocate_path(const struct oa_draw *w, struct gradient_path *p)
{
    size_t each = (size_t)(TOKENS * w->k), square = (size_t)TOKENS * TOKENS;
    double *all =
        oa_arena_take(w->scratch, (TOKENS * (size_t)w->d + 5 * each + 2 * square) * sizeof *all);
    if (!all)
        return false;
    *p = (struct gradient_path){ .x = all, .q = all + TOKENS * w->d };
    p->key = p->q + each;
    p->value = p->key + each;
    p->back = p->value + each;
    p->dq = p->back + each;
    p->logits = p->dq + each;
    p->weights = p->logits + square;
    return true;
}

/* x, values and the gradient of the outputs are Gaussian; logits have a deviation of about 1. */
static void fill_path(const struct oa_draw *w, struct gradient_path *p)
{
    struct oa_stream s = oa_stream_child(oa_stream_named(1, "theory/path"), (uint64_t)w->index);
    for (long i = 0; i < TOKENS * w->d; i++)
        p->x[i] = oa_random_normal(oa_stream_child(s, 0), (uint64_t)i);
    for (long i = 0; i < TOKENS * w->k; i++) {
        p->value[i] = oa_random_normal(oa_stream_child(s, 1), (uint64_t)i);
        p->back[i] = oa_random_normal(oa_stream_child(s, 2), (uint64_t)i);
    }
    for (long i = 0; i < TOKENS; i++) {
        oa_project_row(w, 0, p->x + i * w->d, p->q + i * w->k);
        oa_project_row(w, 1, p->x + i * w->d, p->key + i * w->k);
    }
    for (long i = 0; i < TOKENS; i++)
        for (long j = 0; j < TOKENS; j++)
            p->logits[i * TOKENS + j] =
                oa_dot(w->k, p->q + i * w->k, p->key + j * w->k) / sqrt((double)w->k);
}

static void scaled_softmax(const double *logits, double scale, double *weights)
{
    double top = -INFINITY, sum = 0;
    for (int j = 0; j < TOKENS; j++)
        top = fmax(top, scale * logits[j]);
    for (int j = 0; j < TOKENS; j++)
        sum += weights[j] = exp(scale * logits[j] - top);
    for (int j = 0; j < TOKENS; j++)
        weights[j] /= sum;
}

/* |dQ|² of row i, with logits times `scale`. */
static double query_gradient(const struct oa_draw *w, struct gradient_path *p, long i, double scale)
{
    double *weights = p->weights, *ds = p->weights + TOKENS, *dq = p->dq, mean = 0;
    scaled_softmax(p->logits + i * TOKENS, scale, weights);
    for (long j = 0; j < TOKENS; j++) {
        ds[j] = oa_dot(w->k, p->back + i * w->k, p->value + j * w->k);
        mean += weights[j] * ds[j];
    }
    memset(dq, 0, (size_t)w->k * sizeof *dq);
    for (long j = 0; j < TOKENS; j++)
        for (long l = 0; l < w->k; l++)
            dq[l] +=
                scale / sqrt((double)w->k) * weights[j] * (ds[j] - mean) * p->key[j * w->k + l];
    return oa_dot(w->k, dq, dq);
}

/* |∂L/∂Q|/|∂L/∂O| for each spread over all tokens, then for the median token. */
static void measure_gradient_path(const struct oa_draw *w, double *out)
{
    struct gradient_path p;
    memset(out, 0, 2 * SPREADS * sizeof *out);
    if (!allocate_path(w, &p))
        return;
    fill_path(w, &p);
    for (int s = 0; s < SPREADS; s++) {
        double sum = 0, each[TOKENS];
        for (long i = 0; i < TOKENS; i++) {
            double square = query_gradient(w, &p, i, least_spread * pow(2, s));
            each[i] = sqrt(square / oa_dot(w->k, p.back + i * w->k, p.back + i * w->k));
            sum += square;
        }
        qsort(each, TOKENS, sizeof *each, oa_compare_doubles);
        out[s] = sqrt(sum / oa_dot(TOKENS * w->k, p.back, p.back));
        out[SPREADS + s] = (each[TOKENS / 2 - 1] + each[TOKENS / 2]) / 2;
    }
}

static void add_path_curve(struct oa_theory_results *t, struct oa_plot *p, const char *name,
                           int color, const double *v)
{
    struct oa_curve *c = oa_plot_curve(t, p, name, color, SPREADS);
    if (!c)
        return;
    c->dots = true;
    for (int s = 0; s < SPREADS; s++) {
        c->x[s] = least_spread * pow(2, s);
        c->y[s] = oa_measured_of(v + s * PATH_DRAWS, PATH_DRAWS).mean;
    }
}

static void plot_gradient_path(struct oa_theory_results *t, const double *v)
{
    struct oa_plot *p = oa_theory_plot(
        t, &(struct oa_plot){
               .part = OA_PART_GRADIENTS,
               .name = "gradient-path",
               .title = "Gradient of the queries",
               .caption =
                   "|∂L/∂Q|/|∂L/∂O| of a head with orthonormal projections over 64 Gaussian "
                   "tokens, by the standard deviation of its logits. With large logits the "
                   "gradient of most tokens vanishes and that of a few grows. The option scale=jl "
                   "moves a head by a factor of d/k to the right.",
               .x_label = "standard deviation of the logits",
               .y_label = "gradient at the queries",
               .x_log = true,
               .y_log = true });
    add_path_curve(t, p, "all tokens", 0, v);
    add_path_curve(t, p, "median token", 1, v + SPREADS * PATH_DRAWS);
}

void oa_measure_gradients(struct oa_theory_results *t)
{
    double v[2 * SPREADS * PATH_DRAWS];
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = "theory/path",
                              .d = t->d,
                              .k = t->k,
                              .count = PATH_DRAWS,
                              .heads = 2,
                              .statistics = 2 * SPREADS,
                              .measure = measure_gradient_path };
    add_projected_gradient(t);
    if (oa_draws_run(t->context, &draws, v) == OA_OK) {
        double ratios[PATH_DRAWS];
        for (int i = 0; i < PATH_DRAWS; i++) /* deviation 1 (s = 1) against 1/16 */
            ratios[i] = v[0 * PATH_DRAWS + i] / v[4 * PATH_DRAWS + i];
        oa_theory_found(t, "gradient-path", NAN, oa_measured_of(ratios, PATH_DRAWS));
        plot_gradient_path(t, v);
    }
}
