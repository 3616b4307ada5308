/* SPDX-License-Identifier: Apache-2.0
 * Attention logits of frozen projections, S_ij = τ s² (x_i U)(x_j T)ᵀ, over draws, for tokens of
 * squared length d:
 *
 *     untied (T independent)   mean 0, variance τ² s⁴ k |x|²|y|²/d² = s⁴
 *     tied (T = U)             mean τ s² (k/d)⟨x, y⟩, so √k s² for a token with itself
 *
 * And the share of a trained bilinear form W_Q W_Kᵀ = B that a frozen one can express: the best
 * multiple of U Tᵀ captures ⟨U Tᵀ, B⟩²/(k|B|²) of |B|², 1/d² on average; with a trained diagonal,
 * U Λ Tᵀ, Σ_l (u_lᵀ B t_l)²/|B|², k/d² on average. */
#include "theory/closed_forms.h"
#include "theory/draws.h"

#include "print/print.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 128, PAIRS = 32 };

/* ---- moments ---- */

enum { UNTIED, UNTIED_SQUARE, TIED, TIED_SQUARE, STATISTICS };
enum { COSINES = 9 };

struct cosine_pairs {
    struct oa_vectors pairs[COSINES];
    int count;
};

/* Logits with s = 1 of pairs at one cosine. */
static void measure_cosine(const struct oa_draw *w, const struct oa_vectors *p, double *out)
{
    double *q = oa_arena_take(w->scratch, 3 * (size_t)w->k * sizeof *q), root = sqrt((double)w->k);
    memset(out, 0, STATISTICS * sizeof *out);
    for (int i = 0; q && i < PAIRS; i++) {
        oa_project_row(w, 0, p->x + i * w->d, q);
        oa_project_row(w, 0, p->y + i * w->d, q + w->k);
        oa_project_row(w, 1, p->y + i * w->d, q + 2 * w->k);
        double tied = oa_dot(w->k, q, q + w->k) / root,
               untied = oa_dot(w->k, q, q + 2 * w->k) / root;
        out[UNTIED] += untied / PAIRS;
        out[UNTIED_SQUARE] += untied * untied / PAIRS;
        out[TIED] += tied / PAIRS;
        out[TIED_SQUARE] += tied * tied / PAIRS;
    }
}

static void measure_all_cosines(const struct oa_draw *w, double *out)
{
    const struct cosine_pairs *s = w->argument;
    for (int b = 0; b < s->count; b++)
        measure_cosine(w, &s->pairs[b], out + b * STATISTICS);
}

/* v [cosines][STATISTICS][count], all from the same draws. */
static enum oa_error draw_logits(struct oa_theory_results *t, int cosines, const double *cosine,
                                 int count, double *v)
{
    struct cosine_pairs s = { .count = cosines };
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = "theory/logits",
                              .d = t->d,
                              .k = t->k,
                              .count = count,
                              .heads = 2,
                              .statistics = cosines * STATISTICS,
                              .measure = measure_all_cosines,
                              .argument = &s };
    for (int b = 0; b < cosines; b++)
        oa_vectors_make(t->context, t->d, PAIRS, cosine[b], &s.pairs[b]);
    enum oa_error e = oa_status(t->context);
    if (e == OA_OK)
        e = oa_draws_run(t->context, &draws, v);
    for (int b = 0; b < cosines; b++)
        oa_vectors_free(&s.pairs[b]);
    return e;
}

static void add_untied_logits(struct oa_theory_results *t, const double *v)
{
    double d = (double)t->d, k = (double)t->k, self = d / sqrt(k);
    struct oa_measured mean = oa_measured_of(v + UNTIED * DRAWS, DRAWS),
                       spread = oa_measured_root(oa_measured_of(v + UNTIED_SQUARE * DRAWS, DRAWS));
    struct oa_theory_finding f = oa_theory_proposition("untied-mean", 0, mean);
    f.claim = self;
    snprintf(f.claimed, sizeof f.claimed, "%.4g", self);
    oa_theory_add(t, &f);
    oa_theory_found(t, "untied-spread", 1, spread);
    oa_theory_found(t, "scaled-spread", d / k,
                    (struct oa_measured){ d / k * spread.mean, d / k * spread.error });
}

/* ---- shares of a trained form ---- */

/* B = A Cᵀ with Gaussian A, C [d, k], like a product of two trained projections. */
static void measure_captured_shares(const struct oa_draw *w, double *out)
{
    struct oa_stream s = oa_stream_child(oa_stream_named(1, "theory/form"), (uint64_t)w->index);
    long n = w->d * w->k, k = w->k;
    double *a = oa_arena_take(w->scratch, (size_t)(2 * n + 2 * k) * sizeof *a), *c = a + n,
           *left = c + n, *right = left + k;
    double trace = 0, diagonal = 0, norm = 0;
    out[0] = out[1] = 0;
    if (!a)
        return;
    for (long i = 0; i < 2 * n; i++)
        a[i] = oa_random_normal(s, (uint64_t)i);
    for (long l = 0; l < k; l++) { /* u_lᵀ A Cᵀ t_l */
        for (long m = 0; m < k; m++) {
            left[m] = oa_dot(w->d, a + m * w->d, w->u + l * w->d);
            right[m] = oa_dot(w->d, c + m * w->d, w->u + (k + l) * w->d);
        }
        double form = oa_dot(k, left, right);
        trace += form;
        diagonal += form * form;
    }
    for (long l = 0; l < k; l++) /* |A Cᵀ|² = tr(AᵀA CᵀC) */
        for (long m = 0; m < k; m++)
            norm +=
                oa_dot(w->d, a + l * w->d, a + m * w->d) * oa_dot(w->d, c + l * w->d, c + m * w->d);
    out[0] = trace * trace / ((double)k * norm);
    out[1] = diagonal / norm;
}

static void add_captured_share(struct oa_theory_results *t, const char *name, double law,
                               struct oa_measured m)
{
    struct oa_theory_finding f = oa_theory_proposition(name, law, m);
    char number[OA_NUMBER];
    snprintf(f.verdict, sizeof f.verdict, "fails: %s %%", oa_number(number, 100 * m.mean, 2));
    oa_theory_add(t, &f);
}

static void add_captured_shares(struct oa_theory_results *t)
{
    enum { COUNT = 64 };
    double v[2 * COUNT], d = (double)t->d, k = (double)t->k;
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = "theory/form",
                              .d = t->d,
                              .k = t->k,
                              .count = COUNT,
                              .heads = 2,
                              .statistics = 2,
                              .measure = measure_captured_shares };
    if (oa_draws_run(t->context, &draws, v) != OA_OK)
        return;
    add_captured_share(t, "captured", 1 / (d * d), oa_measured_of(v, COUNT));
    add_captured_share(t, "captured-diagonal", k / (d * d), oa_measured_of(v + COUNT, COUNT));
}

/* ---- the plot ---- */

static void add_deviation_band(struct oa_theory_results *t, struct oa_plot *p, const char *name,
                               int color, const double *cosine, const double *mean,
                               const double *sd)
{
    for (int side = -1; side <= 1; side++) {
        struct oa_curve *c = oa_plot_curve(t, p, side ? "" : name, color, COSINES);
        if (!c)
            return;
        c->dots = side == 0;
        c->faint = side != 0;
        for (int i = 0; i < COSINES; i++) {
            c->x[i] = cosine[i];
            c->y[i] = mean[i] + side * sd[i];
        }
    }
}

static void plot_logits(struct oa_theory_results *t)
{
    enum { COUNT = 48 };
    double v[COSINES][STATISTICS][COUNT], cosine[COSINES], mean[2][COSINES], sd[2][COSINES];
    for (int i = 0; i < COSINES; i++)
        cosine[i] = -1 + 2.0 * i / (COSINES - 1);
    struct oa_plot *p = oa_theory_plot(
        t,
        &(struct oa_plot){
            .part = OA_PART_LOGITS,
            .name = "logits",
            .title = "Logit by similarity of its tokens",
            .caption =
                "Mean over draws ± one standard deviation (thin). Tied projections measure "
                "similarity. With "
                "independent ones the logit of two equal tokens is as likely negative as positive.",
            .x_label = "cosine between two tokens",
            .y_label = "logit" });
    if (draw_logits(t, COSINES, cosine, COUNT, v[0][0]) != OA_OK)
        return;
    for (int i = 0; i < COSINES; i++)
        for (int tied = 0; tied < 2; tied++) {
            int n = tied ? TIED : UNTIED;
            mean[tied][i] = oa_measured_of(v[i][n], COUNT).mean;
            sd[tied][i] = sqrt(
                fmax(0, oa_measured_of(v[i][n + 1], COUNT).mean - mean[tied][i] * mean[tied][i]));
        }
    add_deviation_band(t, p, "tied", 1, cosine, mean[1], sd[1]);
    add_deviation_band(t, p, "untied", 0, cosine, mean[0], sd[0]);
}

void oa_measure_logits(struct oa_theory_results *t)
{
    static const double self = 1;
    double *v = oa_alloc(t->context, STATISTICS * DRAWS * sizeof *v);
    if (v && draw_logits(t, 1, &self, DRAWS, v) == OA_OK) {
        add_untied_logits(t, v);
        double tied = (double)t->d / sqrt((double)t->k);
        struct oa_measured mean = oa_measured_of(v + TIED * DRAWS, DRAWS);
        struct oa_theory_finding f = oa_theory_proposition("tied-mean", sqrt((double)t->k), mean);
        f.claim = tied;
        snprintf(f.claimed, sizeof f.claimed, "%.4g", tied);
        oa_theory_add(t, &f);
        add_captured_shares(t);
        plot_logits(t);
    }
    oa_free(v);
}
