/* SPDX-License-Identifier: Apache-2.0
 *
 * Many independent draws of random projections, and a few numbers of each: their means over the
 * draws have honest standard errors, whatever hangs together inside one draw.
 */
#ifndef ORTHANT_THEORY_DRAWS_H
#define ORTHANT_THEORY_DRAWS_H

#include "attention/attention.h"
#include "theory/theory.h"

struct oa_draw {
    long d, k, index;
    int heads;
    const double *u; /* column l of head h at u[(h·k + l)·d] */
    const void *argument;
    struct oa_arena *room; /* for work, given back after the draw */
};

struct oa_draws {
    enum oa_projection kind;
    const char *name; /* of the stream */
    long d, k, count;
    int heads;      /* matrices a draw; of `slice` always all d/k */
    int statistics; /* numbers a draw */
    void (*measure)(const struct oa_draw *draw, double *numbers);
    const void *argument;
};

/* values [statistics][count]. What the kind cannot do at this shape is an error. */
enum oa_error oa_draws_run(oa_context *c, const struct oa_draws *d, double *values);
/* So many draws of d×k that they take a tenth of a second or so, between 4 and `most`. */
long oa_draws_affordable(long d, long k, long most);

/* A mean over draws with its standard error. */
struct oa_measured {
    double mean, error;
};
struct oa_measured oa_measured_of(const double *x, long n);
struct oa_measured oa_measured_root(struct oa_measured m); /* of its square root */

/* ---- vectors
 * ---------------------------------------------------------------------------------------------------
 */

double oa_dot(long n, const double *x, const double *y);
void oa_project_row(const struct oa_draw *draw, int head, const double *x,
                    double *out); /* out [k] = x U */

/* Fixed pairs of vectors of squared length d, as after a layer norm, with ⟨x, y⟩ = cosine·d. x, y
 * [count, d]. */
struct oa_vectors {
    long d;
    int count;
    double cosine, *x, *y;
};
enum oa_error oa_vectors_make(oa_context *c, long d, int count, double cosine,
                              struct oa_vectors *out);
/* The same lengths and cosine, but x with one nonzero coordinate and y with two: as far from dense
 * as a vector can be.
 */
enum oa_error oa_vectors_make_sparse(oa_context *c, long d, int count, double cosine,
                                     struct oa_vectors *out);
void oa_vectors_free(struct oa_vectors *p);

#endif
