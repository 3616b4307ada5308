/* SPDX-License-Identifier: Apache-2.0
 * Reading an experiment. Private to evidence/. */
#ifndef ORTHANT_EVIDENCE_READING_H
#define ORTHANT_EVIDENCE_READING_H

#include "evidence/evidence.h"

/* A scalar of the section; NULL for anything else. */
const char *oa_claim_scalar(const json_t *node);
/* "FILE:LINE: …" of a scalar, "FILE: …" of anything else. */
enum oa_error oa_claim_refuse(oa_context *c, const struct oa_experiment *e, const json_t *at,
                              const char *format, ...) OA_PRINTF(4, 5);
/* The error that is recorded, its first line, with the same place before it. */
enum oa_error oa_claim_pass_on(oa_context *c, const struct oa_experiment *e, const json_t *at);
/* Is an attention, canonical or OA_CLAIMED_UNIFORM, in the comparison? */
bool oa_variant_has(const struct oa_variant *v, const char *attention);
bool oa_declared_free(
    const char *key); /* declared.c: may the option change after the declaration? */
/* claim_texts.c: the claim without its predictions and its variants' options, as plain JSON; and
 * the names of members that differ in two of these, ["published", "at"]: none where `before` is
 * NULL. json_decref both. */
json_t *oa_claim_texts(const struct oa_experiment *e);
json_t *oa_claim_changed(json_t *before, json_t *now);
/* whose.c: writes the name of the variant and the digest of the declaration into its record; and
 * OA_FORMAT when a record, read from `path`, belongs to another variant or declaration. */
enum oa_error oa_record_claim(oa_context *c, const char *folder, const struct oa_variant *v,
                              json_t *record);
enum oa_error oa_record_check(oa_context *c, const char *folder, const struct oa_experiment *e,
                              const struct oa_variant *v, const char *path, const json_t *record);
/* prediction.c: the variants are there already. */
enum oa_error oa_prediction_read(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                 struct oa_prediction *out);

#endif
