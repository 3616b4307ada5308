/* SPDX-License-Identifier: Apache-2.0
 * The pretrained model that a run starts from (train.init): its files and its model. */
#ifndef ORTHANT_MODEL_PRETRAINED_H
#define ORTHANT_MODEL_PRETRAINED_H

#include "model/model.h"

struct oa_pretrained {
    char model[OA_PATH], config[OA_PATH], tokenizer[OA_PATH]; /* files of one folder */
};
/* run: a folder, or a model file in one. Refuses what is not a finished run. */
enum oa_error oa_pretrained_find(oa_context *c, const char *run, struct oa_pretrained *out);
enum oa_error oa_pretrained_tokenizer(oa_context *c, const struct oa_pretrained *s,
                                      struct oa_tokenizer **out);
/* Its model with its values, as oa_model_open_saved; form.labels is NULL. */
enum oa_error oa_pretrained_open(struct oa_device *d, const struct oa_pretrained *s,
                                 const struct oa_tokenizer *tokenizer, struct oa_model **out);
/* The same without values: parameter names and shapes. */
enum oa_error oa_pretrained_describe(struct oa_device *d, const struct oa_pretrained *s,
                                     struct oa_model **out);

#endif
