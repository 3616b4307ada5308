/* SPDX-License-Identifier: Apache-2.0
 *
 * theory: what has been claimed of attention with frozen random orthogonal projections, proposition
 * by proposition: the claim, the closed form, what the generators of this library give, and whether
 * the claim holds.
 *
 *     theory_measure.c ── one file for each family of propositions ── struct oa_theory ── table,
 * JSON, page kept_lengths.c, conditioning.c, gradient_path.c, head_overlap.c, logit_moments.c,
 * distortion.c draws.c: many draws of a projection, a few numbers of each       closed_forms.c: the
 * laws
 *
 * Letters: d width of the model, H heads, k = d/H width of a head, U [d, k] a projection of
 * queries, T one of keys, τ = 1/√k. Measuring is a function of the shape alone: streams have fixed
 * seeds, and sums a fixed order.
 */
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

/* One proposition. Texts are constant, or owned by nobody: they are copied by oa_theory_add. */
struct oa_finding {
    enum oa_theory_part part;
    char name[32];        /* for JSON */
    char proposition[96]; /* as a formula or a few words */
    char meaning[400];    /* for people: what was claimed, what was measured, what it means */
    char claimed[32];     /* the number that was claimed, or a word */
    char formula[80];     /* of the closed form; "" = there is none */
    double claim;         /* NaN: the claim is a word, and `holds` and `verdict` are given */
    double law;           /* the closed form's value; NaN = none */
    bool asymptotic;      /* the law is one of large d */
    double measured;      /* NaN: nothing to measure, the law speaks */
    double error;         /* standard error; 0 = there is no chance in it */
    bool holds;           /* the claim */
    char verdict[64];     /* "holds", "fails by −0.875" … */
};

/* A chart: the laws as lines, what was measured as points. */
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

struct oa_theory {
    oa_context *context;
    long d, heads, k;
    struct oa_finding *finding;
    int findings;
    struct oa_plot plot[OA_PLOTS];
    int plots;
};

/* Refused: a width that does not divide into the heads, fewer than 2 heads, heads narrower than 4.
 * Seconds, with progress. Free with oa_theory_free, also after a failure. */
enum oa_error oa_theory_measure(oa_context *c, long width, long heads, struct oa_theory *out);
void oa_theory_free(struct oa_theory *t);
int oa_theory_failing(const struct oa_theory *t); /* how many propositions do not hold */

/* "0.125" and "0.12502 ± 0.00004", into OA_FINDING_TEXT bytes; "–" where there is none
 * (theory_table.c). */
enum { OA_FINDING_TEXT = 192 };
char *oa_finding_law(const struct oa_finding *f, char *out);
char *oa_finding_measured(const struct oa_finding *f, char *out);
/* "13 of 34 propositions hold": the headline. */
void oa_theory_headline(const struct oa_theory *t, char *out, size_t size);

/* theory_table.c, theory_json.c, theory_page.c. limit: columns; 0 = none. */
void oa_theory_table(const struct oa_theory *t, int limit, struct oa_text *out);
void oa_theory_json(const struct oa_theory *t, struct oa_text *out);
void oa_theory_html(const struct oa_theory *t, struct oa_text *out);

/* ---- for the families
 * ------------------------------------------------------------------------------------------ */

void oa_measure_lengths(struct oa_theory *t);
void oa_plot_lengths(struct oa_theory *t);
void oa_measure_condition(struct oa_theory *t);
void oa_measure_gradients(struct oa_theory *t);
void oa_measure_heads(struct oa_theory *t);
void oa_measure_logits(struct oa_theory *t);
void oa_measure_distortion(struct oa_theory *t);

/* Adds a finding. With a claim that is a number the verdict is made here: it holds when the
 * measured value lies within five standard errors of it (1e-9 where there is no chance) and the
 * closed form does not say otherwise. */
void oa_theory_add(struct oa_theory *t, const struct oa_finding *f);
struct oa_plot *oa_theory_plot(struct oa_theory *t,
                               const struct oa_plot *p); /* copies; its curves follow */
/* A curve with room for `count` points; NULL after a failure. */
struct oa_curve *oa_plot_curve(struct oa_theory *t, struct oa_plot *p, const char *name, int color,
                               int count);

#endif
