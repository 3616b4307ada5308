/* SPDX-License-Identifier: Apache-2.0
 * Reading an experiment. Private to evidence/. */
#ifndef ORTHANT_EVIDENCE_READING_H
#define ORTHANT_EVIDENCE_READING_H

#include "evidence/evidence.h"

/* A scalar of the section; NULL for anything else. */
const char *oa_claim_scalar(const json_t *node);
/* "FILE:LINE: …" of a scalar, "FILE: …" of anything else. */
enum oa_error oa_claim_refuse(oa_context *c, const struct oa_experiment *e, const json_t *at, const char *format, ...)
    OA_PRINTF(4, 5);
/* The failure that is recorded, with that before it, and without the picture below it. */
enum oa_error oa_claim_pass_on(oa_context *c, const struct oa_experiment *e, const json_t *at);
/* prediction.c: the variants are there already. */
enum oa_error oa_prediction_read(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                 struct oa_prediction *out);

#endif
