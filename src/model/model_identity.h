/* SPDX-License-Identifier: Apache-2.0
 * Metadata of model.safetensors that identify the model. */
#ifndef ORTHANT_MODEL_IDENTITY_H
#define ORTHANT_MODEL_IDENTITY_H

#include "model/model.h"

#define OA_MODEL_IDENTITY "orthant.model"      /* metadata: the text of oa_model_identity */
#define OA_MODEL_TOKENIZER "orthant.tokenizer" /* metadata: SHA-256 of tokenizer.json */

#define OA_MODEL_DRAWN                                                                             \
    "orthant.drawn" /* metadata: JSON, transforms of other seeds: {name: seed}                     \
                     */

/* JSON: options model.*, "seed", "vocabulary", form unless a language model. NULL after a failure;
 * oa_free it. */
char *oa_model_identity(oa_context *c, const struct oa_options *o, const struct oa_model_form *f);
/* Refuses options that differ from the metadata `text` of `path`, by name. */
enum oa_error oa_model_check_identity(oa_context *c, const char *path, const char *text,
                                      const struct oa_options *o, const struct oa_model_form *f);

#endif
