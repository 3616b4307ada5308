/* SPDX-License-Identifier: Apache-2.0
 * Independent draws of random projections, and a few statistics of each. Standard errors are over
 * draws, so correlations within a draw do not matter. */
#ifndef ORTHANT_THEORY_DRAWS_H
#define ORTHANT_THEORY_DRAWS_H

#include "attention/attention.h"
#include "theory/theory.h"

struct oa_draw {
    long d, k, index;
    int heads;
    const double *u; /* column l of head h at u[(h·k + l)·d] */
    const void *argument;
    struct oa_arena *scratch; /* memory, released after the draw */
};

struct oa_draws {
    enum oa_projection kind;
    const char *name; /* of the stream */
    long d, k, count;
    int heads;      /* matrices in a draw; of `slice` always d/k */
    int statistics; /* numbers in a draw */
    void (*measure)(const struct oa_draw *draw, double *numbers);
    const void *argument;
};

/* values [statistics][count]. A shape that the kind does not support is an error. */
enum oa_error oa_draws_run(oa_context *c, const struct oa_draws *d, double *values);
/* The number of draws of d×k that take about a tenth of a second, between 4 and `most`. */
long oa_draws_affordable(long d, long k, long most);

/* A mean over draws with its standard error. */
struct oa_measured {
    double mean, error;
};
struct oa_measured oa_measured_of(const double *x, long n);
struct oa_measured oa_measured_root(struct oa_measured m); /* of its square root */

/* A proposition of propositions.def with the value of its closed form (NaN: none) and what was
 * measured. oa_theory_found also adds it. */
struct oa_theory_finding oa_theory_proposition(const char *name, double law, struct oa_measured m);
void oa_theory_found(struct oa_theory_results *t, const char *name, double law,
                     struct oa_measured m);

/* ---- vectors ---- */

double oa_dot(long n, const double *x, const double *y);
/* out [k] = x U */
void oa_project_row(const struct oa_draw *draw, int head, const double *x, double *out);
/* The largest |UᵀU − I| of a head. */
double oa_orthonormality_error(const struct oa_draw *draw, int head);

/* Fixed pairs of vectors of squared length d, as after a layer norm, with ⟨x, y⟩ = cosine·d. x, y
 * [count, d]. */
struct oa_vectors {
    long d;
    int count;
    double cosine, *x, *y;
};
enum oa_error oa_vectors_make(oa_context *c, long d, int count, double cosine,
                              struct oa_vectors *out);
/* The same lengths and cosine, but x with one nonzero coordinate and y with two. */
enum oa_error oa_vectors_make_sparse(oa_context *c, long d, int count, double cosine,
                                     struct oa_vectors *out);
void oa_vectors_free(struct oa_vectors *p);

#endif
