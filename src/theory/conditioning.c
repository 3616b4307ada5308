/* SPDX-License-Identifier: Apache-2.0
 * Condition numbers. The proposal claims that orthogonal projections have condition number 1 and
 * Gaussian ones a large one. The first holds for the k singular values (of the pseudo-inverse,
 * since U is tall). The second holds for square Gaussian matrices; a tall one has singular values
 * within 1 ± √(k/d). */
#include "theory/closed_forms.h"
#include "theory/draws.h"
#include "theory/spectrum.h"

#include "print/print.h"

#include <math.h>

enum { DRAWS = 32 };

/* κ, and the mean fourth power of the singular values: |GᵀG|²/k. */
static void measure_condition_number(const struct oa_draw *w, double *out)
{
    double *memory = oa_arena_take(w->scratch, (size_t)(w->k * w->k + 3 * w->k) * sizeof *memory),
           sum = 0;
    out[0] = out[1] = 0;
    if (!memory)
        return;
    struct oa_extremes s = oa_singular_extremes(w->d, w->k, w->u, memory);
    out[0] = s.largest / s.smallest;
    for (long i = 0; i < w->k; i++)
        for (long j = 0; j < w->k; j++)
            sum += pow(oa_dot(w->d, w->u + i * w->d, w->u + j * w->d), 2);
    out[1] = sum / (double)w->k;
}

static enum oa_error draw_condition_numbers(struct oa_theory_results *t, enum oa_projection kind,
                                            long d, long k, long count, double *values)
{
    char name[64];
    snprintf(name, sizeof name, "theory/condition/%s/%ld", oa_projection_name(kind), k);
    struct oa_draws draws = { .kind = kind,
                              .name = name,
                              .d = d,
                              .k = k,
                              .count = count,
                              .heads = 1,
                              .statistics = 2,
                              .measure = measure_condition_number };
    return oa_draws_run(t->context, &draws, values);
}

/* ---- findings ---- */

static void add_orthonormal_condition(struct oa_theory_results *t)
{
    double v[2 * DRAWS], worst = 0;
    if (draw_condition_numbers(t, OA_PROJECTION_HAAR, t->d, t->k, DRAWS, v) != OA_OK)
        return;
    for (int i = 0; i < DRAWS; i++)
        worst = fmax(worst, v[i] - 1);
    oa_theory_found(t, "condition", 1, (struct oa_measured){ 1 + worst, 0 });
}

static void add_gaussian_condition(struct oa_theory_results *t)
{
    double v[2 * DRAWS], d = (double)t->d, k = (double)t->k;
    if (draw_condition_numbers(t, OA_PROJECTION_GAUSSIAN, t->d, t->k, DRAWS, v) != OA_OK)
        return;
    struct oa_measured m = oa_measured_of(v, DRAWS), fourth = oa_measured_of(v + DRAWS, DRAWS);
    struct oa_theory_finding f =
        oa_theory_proposition("gaussian-condition", oa_law_gaussian_condition(d, k), m);
    f.asymptotic = true;
    f.holds = m.mean > 10;
    char number[OA_NUMBER];
    snprintf(f.verdict, sizeof f.verdict, "%s: κ = %s", f.holds ? "holds" : "fails",
             oa_number(number, m.mean, 3));
    oa_theory_add(t, &f);
    oa_theory_found(t, "gaussian-singular-values", 1 + (k + 1) / d, fourth);
}

static void add_square_condition(struct oa_theory_results *t)
{
    double v[2 * DRAWS];
    long d = t->d < 128 ? t->d : 128;
    if (draw_condition_numbers(t, OA_PROJECTION_GAUSSIAN, d, d, DRAWS, v) != OA_OK)
        return;
    for (int i = 0; i < DRAWS; i++)
        v[i] = log(v[i]);
    struct oa_measured m = oa_measured_of(v, DRAWS);
    struct oa_theory_finding f =
        oa_theory_proposition("square-gaussian-condition", oa_law_square_condition((double)d),
                              (struct oa_measured){ exp(m.mean), exp(m.mean) * m.error });
    f.asymptotic = f.holds = true;
    snprintf(f.verdict, sizeof f.verdict, "holds");
    snprintf(f.meaning, sizeof f.meaning,
             "Geometric mean of κ at %ld × %ld. The claim holds here, but no head is square.", d,
             d);
    oa_theory_add(t, &f);
}

/* ---- the plot ---- */

enum { SHARES = 9, STEPS = 60 };
static const double top_share = 0.8;

/* Condition numbers depend on k/d alone, so a moderate d is enough. */
static void add_condition_points(struct oa_theory_results *t, struct oa_plot *p,
                                 enum oa_projection kind, int color)
{
    enum { COUNT = 8 };
    struct oa_curve *c = oa_plot_curve(t, p, oa_projection_name(kind), color, SHARES);
    long d = t->d < 256 ? t->d : 256,
         count = kind == OA_PROJECTION_HAAR ? 1 : COUNT; /* always 1 for haar */
    if (!c)
        return;
    c->dots = c->loose = true;
    for (int i = 0; i < SHARES; i++) {
        double v[2 * COUNT];
        long k = (long)((double)d * top_share * (i + 1) / SHARES + 0.5);
        c->x[i] = (double)k / (double)d;
        c->y[i] = draw_condition_numbers(t, kind, d, k, count, v) == OA_OK
                      ? oa_measured_of(v, count).mean
                      : NAN;
    }
}

static void plot_condition(struct oa_theory_results *t)
{
    struct oa_plot *p = oa_theory_plot(
        t, &(struct oa_plot){
               .part = OA_PART_CONDITION,
               .name = "condition",
               .title = "Condition number of a Gaussian and of an orthonormal projection",
               .caption = "Largest over smallest singular value. A head has a small share of the "
                          "width, where "
                          "Gaussian matrices are well-conditioned too; near k = d they are not.",
               .x_label = "share of the width, k/d",
               .y_label = "condition number",
               .y_log = true });
    struct oa_curve *c = oa_plot_curve(t, p, "closed form", 7, STEPS);
    for (int i = 0; c && i < STEPS; i++) {
        c->x[i] = 0.01 + (top_share - 0.01) * i / (STEPS - 1);
        c->y[i] = oa_law_gaussian_condition(1, c->x[i]);
    }
    add_condition_points(t, p, OA_PROJECTION_GAUSSIAN, 1);
    add_condition_points(t, p, OA_PROJECTION_HAAR, 0);
}

void oa_measure_condition(struct oa_theory_results *t)
{
    add_orthonormal_condition(t);
    add_gaussian_condition(t);
    add_square_condition(t);
    plot_condition(t);
}
