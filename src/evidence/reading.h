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
/* The failure that is recorded, with that before it, and without the picture below it. */
enum oa_error oa_claim_pass_on(oa_context *c, const struct oa_experiment *e, const json_t *at);
/* Does an attention, canonical or OA_CLAIMED_UNIFORM, take part? */
bool oa_variant_has(const struct oa_variant *v, const char *attention);
bool oa_declared_free(
    const char *key); /* declared.c: may the option change after the declaration? */
/* claim_texts.c: the claim but for its predictions and variants' options, as plain JSON; and the
 * names of what two such do not have alike, ["published", "at"]: none where `before` is NULL.
 * json_decref both. */
json_t *oa_claim_texts(const struct oa_experiment *e);
json_t *oa_claim_changed(json_t *before, json_t *now);
/* whose.c: writes into the record of a variant whose it is, and refuses one, read from `path`, that
 * is not its. */
enum oa_error oa_record_claim(oa_context *c, const char *folder, const struct oa_variant *v,
                              json_t *record);
enum oa_error oa_record_check(oa_context *c, const char *folder, const struct oa_experiment *e,
                              const struct oa_variant *v, const char *path, const json_t *record);
/* prediction.c: the variants are there already. */
enum oa_error oa_prediction_read(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                 struct oa_prediction *out);

#endif
