/* SPDX-License-Identifier: Apache-2.0
 * theory: claims about attention with frozen random orthogonal projections, one proposition at a
 * time: the claim, the closed form, what is measured on the generators of this library, and whether
 * the claim holds.
 *
 *     theory.c → lengths.c, length_plots.c, conditioning.c, gradient_path.c, head_overlap.c,
 *     logit_moments.c, distortion.c → struct oa_theory_results → theory_table.c, theory_json.c,
 * theory_page.c
 *
 * propositions.def has what was claimed, draws.c measures draws of a projection, closed_forms.c has
 * the expected values.
 *
 * Letters: d width of the model, H heads, k = d/H width of a head, U [d, k] a projection of
 * queries, T one of keys, τ = 1/√k. Results depend on the shape alone: streams have fixed seeds,
 * and sums a fixed order. */
#ifndef ORTHANT_THEORY_H
#define ORTHANT_THEORY_H

#include "base/base.h"

enum oa_theory_part {
    OA_PART_LENGTHS,
    OA_PART_CONDITION,
    OA_PART_GRADIENTS,
    OA_PART_HEADS,
    OA_PART_LOGITS,
    OA_PART_DISTORTION,
    OA_PARTS
};
const char *oa_part_title(enum oa_theory_part p);

/* One proposition. */
struct oa_theory_finding {
    enum oa_theory_part part;
    char name[32];        /* for JSON */
    char proposition[96]; /* as a formula or a few words */
    char meaning[400];    /* what was claimed, what was measured, what it means */
    char claimed[32];     /* the number that was claimed, or a word */
    char formula[80];     /* of the closed form; "" = there is none */
    double claim;         /* NaN: the claim is a word, and the caller sets `holds` and `verdict` */
    double law;           /* value of the closed form; NaN = none */
    bool asymptotic;      /* the closed form is a limit for large d */
    double measured;      /* NaN: not measured */
    double error;         /* standard error; 0 = not random */
    bool holds;           /* the claim */
    char verdict[64];     /* "holds", "fails by −0.875" … */
};

/* A chart: closed forms as lines, measurements as points. */
enum { OA_PLOT_CURVES = 12, OA_PLOTS = 12 };
struct oa_curve {
    char name[24]; /* "" = no label */
    int count, color;
    double *x, *y;           /* oa_alloc */
    bool dots, faint, loose; /* as in struct oa_series */
};
struct oa_plot {
    enum oa_theory_part part;
    const char *name, *title, *caption, *x_label, *y_label;
    bool x_log, y_log;
    struct oa_curve curve[OA_PLOT_CURVES];
    int curves;
};

struct oa_theory_results {
    oa_context *context;
    long d, heads, k;
    struct oa_theory_finding *finding;
    int findings;
    struct oa_plot plot[OA_PLOTS];
    int plots;
};

/* Needs at least 2 heads of equal width, at least 4. Takes seconds and logs progress. Free with
 * oa_theory_free, also after a failure. */
enum oa_error oa_theory_measure(oa_context *c, long width, long heads,
                                struct oa_theory_results *out);
void oa_theory_free(struct oa_theory_results *t);
int oa_theory_failing(const struct oa_theory_results *t); /* number of propositions that fail */

/* "0.125" and "0.12502 ± 0.00004", into OA_THEORY_FINDING_TEXT bytes; "–" where there is none
 * (theory_table.c). */
enum { OA_THEORY_FINDING_TEXT = 192 };
char *oa_theory_finding_law(const struct oa_theory_finding *f, char *out);
char *oa_theory_finding_measured(const struct oa_theory_finding *f, char *out);
/* "Of 33 propositions on frozen orthogonal projections 15 hold and 18 fail" */
void oa_theory_headline(const struct oa_theory_results *t, char *out, size_t size);

/* theory_table.c, theory_json.c, theory_page.c. limit: columns; 0 = none. */
void oa_theory_table(const struct oa_theory_results *t, int limit, struct oa_text *out);
void oa_theory_json(const struct oa_theory_results *t, struct oa_text *out);
void oa_theory_html(const struct oa_theory_results *t, struct oa_text *out);

/* ---- families of propositions ---- */

void oa_measure_lengths(struct oa_theory_results *t);
void oa_plot_lengths(struct oa_theory_results *t);
void oa_measure_condition(struct oa_theory_results *t);
void oa_measure_gradients(struct oa_theory_results *t);
void oa_measure_heads(struct oa_theory_results *t);
void oa_measure_logits(struct oa_theory_results *t);
void oa_measure_distortion(struct oa_theory_results *t);

/* Adds a copy of a finding. A claim that is a number gets its verdict here: it holds if the
 * measured value is within five standard errors of it (1e-9 if not random) and the closed form
 * equals it. */
void oa_theory_add(struct oa_theory_results *t, const struct oa_theory_finding *f);
/* Adds a copy without curves. */
struct oa_plot *oa_theory_plot(struct oa_theory_results *t, const struct oa_plot *p);
/* Adds a curve of `count` points; NULL after a failure. */
struct oa_curve *oa_plot_curve(struct oa_theory_results *t, struct oa_plot *p, const char *name,
                               int color, int count);

#endif
