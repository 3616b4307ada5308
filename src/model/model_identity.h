/* SPDX-License-Identifier: Apache-2.0
 *
 * What model.safetensors says of the model beside its tensors.
 */
#ifndef ORTHANT_MODEL_IDENTITY_H
#define ORTHANT_MODEL_IDENTITY_H

#include "model/model.h"

#define OA_MODEL_IDENTITY "orthant.model"      /* metadata: the text of oa_model_identity */
#define OA_MODEL_TOKENIZER "orthant.tokenizer" /* metadata: SHA-256 of tokenizer.json */

#define OA_MODEL_DRAWN                                                                             \
    "orthant.drawn" /* metadata: JSON, transforms from other seeds than "seed": {name: seed} */

/* JSON: the options model.* by name, "seed" and "vocabulary", and its form unless it is a
 * language model. NULL after a failure; free() it. */
char *oa_model_identity(oa_context *c, const struct oa_options *o, const struct oa_model_form *f);
/* Refuses options that differ from the text in the metadata of `path`, by name. */
enum oa_error oa_model_check_identity(oa_context *c, const char *path, const char *text,
                                      const struct oa_options *o, const struct oa_model_form *f);

#endif
