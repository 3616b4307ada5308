/* SPDX-License-Identifier: Apache-2.0
 * Ω, the frozen directions of random features. */
#ifndef ORTHANT_ATTENTION_OMEGA_H
#define ORTHANT_ATTENTION_OMEGA_H

#include "attention/mechanism.h"
#include "attention/random_projection.h"

/* Norms of orthogonal rows: as of Gaussian vectors; √K. */
enum oa_omega_norms { OA_NORMS_CHI, OA_NORMS_ROOT };
struct oa_omega {
    long count, width;           /* r_0, K */
    enum oa_projection ensemble; /* of orthogonal blocks: haar, givens, hd3; gaussian: iid rows */
    enum oa_omega_norms norms;
    bool redrawn; /* redrawn in training, and therefore saved */
};
/* Registers features.omega [r_0, K]. NULL after a failure. */
struct oa_parameter *oa_omega_parameter(struct oa_group *g, const struct oa_omega *o);
/* fitted_oracle.c: map with features fitted to the data, or to the running moments of the group. */
enum oa_error oa_fitted_weights(const struct oa_group *g, const struct oa_oracle *in,
                                enum oa_random_fit kind, bool running, double *weights);

#endif
