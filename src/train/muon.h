/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORTHANT_TRAIN_MUON_H
#define ORTHANT_TRAIN_MUON_H

#include "ops/ops.h"

/* Whether Muon updates the parameter: a trainable matrix of products in a block. All others are
 * AdamW's. */
bool oa_is_muon_matrix(const struct oa_parameter *p);

/* A step of such a matrix. momentum: real [count]; lr: the rate of the step, before the factor of
 * the shape; scale: of the gradient. */
void oa_muon_update(struct oa_store *s, const struct oa_options *o, const struct oa_parameter *p,
                    void *momentum, long step, double lr, double scale);

#endif
