/* SPDX-License-Identifier: Apache-2.0
 * Up to which value on an axis, such as the learning rate, two attentions train. Private to
 * evidence/. */
#ifndef ORTHANT_EVIDENCE_STABILITY_H
#define ORTHANT_EVIDENCE_STABILITY_H

#include "evidence/evidence.h"

/* Of records of all variants, in the order of the axis. */
struct oa_stability oa_recorded_stability(const struct oa_judged *j, const char *left,
                                          const char *right);
enum oa_claim_verdict oa_stability_verdict(const struct oa_stability *s);

#endif
