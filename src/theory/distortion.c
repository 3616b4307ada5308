/* SPDX-License-Identifier: Apache-2.0
 * Johnson–Lindenstrauss at the widths of heads. The lemma: a projection to
 * k ≥ 4 ln n/(ε²/2 − ε³/3) dimensions preserves distances among n points to 1 ± ε with a
 * probability of at least 1/n (Dasgupta, Gupta 2003). At the width of a head it guarantees this for
 * a few points only. The exact probability, from the Beta distribution, is better than the bound.
 */
#include "theory/closed_forms.h"
#include "theory/draws.h"

#include "print/print.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 200, PAIRS = 32, POINTS = 100 };
static const double epsilon = 0.5;

struct distortion_sample {
    struct oa_vectors pairs; /* count vectors x */
    double epsilon;
};

/* Share of the vectors whose squared length changes by more than ε. */
static void measure_distorted_share(const struct oa_draw *w, double *out)
{
    const struct distortion_sample *s = w->argument;
    double *y = oa_arena_take(w->scratch, (size_t)w->k * sizeof *y);
    out[0] = 0;
    for (int i = 0; y && i < s->pairs.count; i++) {
        oa_project_row(w, 0, s->pairs.x + i * w->d, y);
        out[0] +=
            (fabs(oa_dot(w->k, y, y) / (double)w->k - 1) > s->epsilon) / (double)s->pairs.count;
    }
}

/* Standard error: at least that of a binomial with the exact probability, for rare events. */
static struct oa_measured distorted_share(struct oa_theory_results *t, long k, long count)
{
    double v[DRAWS], p = oa_law_distortion((double)t->d, (double)k, epsilon);
    char name[64];
    struct distortion_sample s = { .epsilon = epsilon };
    struct oa_measured m = { 0 };
    snprintf(name, sizeof name, "theory/distortion/%ld", k);
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = name,
                              .d = t->d,
                              .k = k,
                              .count = count,
                              .heads = 1,
                              .statistics = 1,
                              .measure = measure_distorted_share,
                              .argument = &s };
    if (oa_vectors_make(t->context, t->d, PAIRS, 0, &s.pairs) == OA_OK &&
        oa_draws_run(t->context, &draws, v) == OA_OK)
        m = oa_measured_of(v, count);
    m.error = fmax(m.error, sqrt(p * (1 - p) / (double)(count * PAIRS)));
    oa_vectors_free(&s.pairs);
    return m;
}

/* The largest |ratio − 1| over all distances of the points. */
static void measure_worst_distance(const struct oa_draw *w, double *out)
{
    const struct distortion_sample *s = w->argument;
    long n = s->pairs.count;
    double *y = oa_arena_take(w->scratch, (size_t)(n * w->k) * sizeof *y);
    out[0] = 0;
    for (long i = 0; y && i < n; i++) {
        oa_project_row(w, 0, s->pairs.x + i * w->d, y + i * w->k);
        for (long j = 0; j < i; j++) {
            double before = 0, after = 0;
            for (long r = 0; r < w->d; r++)
                before += pow(s->pairs.x[i * w->d + r] - s->pairs.x[j * w->d + r], 2);
            for (long l = 0; l < w->k; l++)
                after += pow(y[i * w->k + l] - y[j * w->k + l], 2);
            out[0] = fmax(out[0], fabs(after / before * (double)w->d / (double)w->k - 1));
        }
    }
}

/* ---- findings ---- */

static void add_distorted_share(struct oa_theory_results *t)
{
    double d = (double)t->d, k = (double)t->k, bound = oa_law_jl_bound(k, epsilon);
    struct oa_measured m = distorted_share(t, t->k, DRAWS);
    char number[OA_NUMBER];
    struct oa_theory_finding f =
        oa_theory_proposition("distortion", oa_law_distortion(d, k, epsilon), m);
    f.holds = m.mean <= bound + 5 * m.error;
    snprintf(f.claimed, sizeof f.claimed, "≤ %s", oa_number(number, bound, 3));
    snprintf(f.verdict, sizeof f.verdict, f.holds ? "holds" : "fails");
    oa_theory_add(t, &f);
}

static void add_worst_distance(struct oa_theory_results *t)
{
    enum { COUNT = 24 };
    double v[COUNT];
    struct distortion_sample s = { .epsilon = epsilon };
    struct oa_draws draws = { .kind = OA_PROJECTION_HAAR,
                              .name = "theory/points",
                              .d = t->d,
                              .k = t->k,
                              .count = COUNT,
                              .heads = 1,
                              .statistics = 1,
                              .measure = measure_worst_distance,
                              .argument = &s };
    if (oa_vectors_make(t->context, t->d, POINTS, 0, &s.pairs) == OA_OK &&
        oa_draws_run(t->context, &draws, v) == OA_OK) {
        struct oa_measured m = oa_measured_of(v, COUNT);
        struct oa_theory_finding f = oa_theory_proposition("hundred-points", NAN, m);
        f.holds = m.mean <= epsilon;
        char number[OA_NUMBER];
        snprintf(f.verdict, sizeof f.verdict, f.holds ? "holds" : "fails: error %s",
                 oa_number(number, m.mean, 2));
        oa_theory_add(t, &f);
    }
    oa_vectors_free(&s.pairs);
}

static void add_guaranteed_points(struct oa_theory_results *t)
{
    double k = (double)t->k, points = floor(oa_law_jl_points(k, epsilon)),
           width = ceil(oa_law_jl_width(POINTS, epsilon)),
           fine = ceil(oa_law_jl_width(POINTS, 0.1));
    struct oa_theory_finding f = oa_theory_proposition("promised", oa_law_jl_points(k, epsilon),
                                                       (struct oa_measured){ NAN, 0 });
    f.holds = points >= POINTS;
    snprintf(
        f.meaning, sizeof f.meaning,
        "Number of points n whose distances the lemma preserves to 50 %% at width %ld with a "
        "probability of at least 1/n. 100 points need a head of width %.0f, or %.0f for 10 %%.",
        t->k, width, fine);
    if (f.holds)
        snprintf(f.verdict, sizeof f.verdict, "holds");
    else
        snprintf(f.verdict, sizeof f.verdict, "fails: for %.0f point%s", points, oa_plural(points));
    oa_theory_add(t, &f);
}

/* ---- the plot ---- */

enum { STEPS = 80 };
static const double least = 1e-5; /* smaller probabilities are not plotted */

/* The last width at which the exact probability is plotted. */
static long last_plotted_width(const struct oa_theory_results *t)
{
    long k = 4;
    while (k + 1 <= t->d / 2 && oa_law_distortion((double)t->d, (double)(k + 1), epsilon) >= least)
        k++;
    return k;
}

static void add_probability_curve(struct oa_theory_results *t, struct oa_plot *p, const char *name,
                                  int color, bool law)
{
    struct oa_curve *c = oa_plot_curve(t, p, name, color, STEPS);
    double d = (double)t->d, top = (double)last_plotted_width(t);
    for (int i = 0; c && i < STEPS; i++) {
        double k = c->x[i] = 4 + (top - 4) * i / (STEPS - 1);
        c->y[i] = law ? oa_law_distortion(d, k, epsilon) : oa_law_jl_bound(k, epsilon);
    }
}

static void plot_distortion(struct oa_theory_results *t)
{
    long k[16];
    int n = 0;
    struct oa_plot *p = oa_theory_plot(
        t, &(struct oa_plot){
               .part = OA_PART_DISTORTION,
               .name = "distortion",
               .title = "Probability that a squared length changes by more than 50 %",
               .caption = "P(|(d/k)|xU|²/|x|² − 1| > 0.5) by the width of a head: the bound of the "
                          "lemma, which "
                          "is trivial above 1, the Beta distribution, and measurements.",
               .x_label = "width of a head, k",
               .y_label = "probability",
               .y_log = true });
    for (long w = 4; w <= last_plotted_width(t) && n < 16; w *= 2)
        k[n++] = w;
    add_probability_curve(t, p, "JL bound", 1, false);
    add_probability_curve(t, p, "Beta distribution", 7, true);
    struct oa_curve *c = oa_plot_curve(t, p, "haar", 0, n);
    if (!c)
        return;
    c->dots = c->loose = true;
    for (int i = 0; i < n; i++) {
        c->x[i] = (double)k[i];
        c->y[i] = distorted_share(t, k[i], oa_draws_affordable(t->d, k[i], DRAWS)).mean;
    }
}

void oa_measure_distortion(struct oa_theory_results *t)
{
    add_distorted_share(t);
    add_worst_distance(t);
    add_guaranteed_points(t);
    plot_distortion(t);
}
