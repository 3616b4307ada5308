/* SPDX-License-Identifier: Apache-2.0
 *
 * The frozen directions of random features.
 */
#ifndef ORTHANT_ATTENTION_OMEGA_H
#define ORTHANT_ATTENTION_OMEGA_H

#include "attention/attention.h"

enum oa_omega_norms {
    OA_NORMS_CHI,
    OA_NORMS_ROOT
}; /* lengths of orthogonal rows: as of Gaussian rows; all √K */
struct oa_omega {
    long count, width;           /* r_0, K */
    enum oa_projection ensemble; /* of the orthogonal blocks: haar, givens, hd3; gaussian =
                                    independent Gaussian rows */
    enum oa_omega_norms norms;
    bool redrawn; /* training draws it again: it is saved, since the seed alone does not say it */
};
/* Registers features.omega [r_0, K]. NULL after a failure. */
struct oa_parameter *oa_omega_parameter(struct oa_group *g, const struct oa_omega *o);
/* The map of features fitted to the data, or to the moments that are kept: parameters 1 and 2
 * (fitted_oracle.c). */
enum oa_error oa_fitted_weights(const struct oa_group *g, const struct oa_oracle *in,
                                enum oa_random_fit kind, bool kept, double *weights);

#endif
