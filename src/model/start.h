/* SPDX-License-Identifier: Apache-2.0
 *
 * The trained run that another one starts from (train.init): where its files are, and its model.
 */
#ifndef ORTHANT_MODEL_START_H
#define ORTHANT_MODEL_START_H

#include "model/model.h"

enum { OA_START_PATH = 4096 };
struct oa_start {
    char model[OA_START_PATH], config[OA_START_PATH],
        tokenizer[OA_START_PATH]; /* files of one folder */
};
/* `run`: a folder, or a model file in one. What is no run, or has not ended, is refused with what
 * is missing. */
enum oa_error oa_start_find(oa_context *c, const char *run, struct oa_start *out);
enum oa_error oa_start_tokenizer(oa_context *c, const struct oa_start *s,
                                 struct oa_tokenizer **out);
/* Its model with its values, as oa_model_open_saved; form.labels is NULL. */
enum oa_error oa_start_open(struct oa_device *d, const struct oa_start *s,
                            const struct oa_tokenizer *tokenizer, struct oa_model **out);
/* The same without values: what parameters there are. */
enum oa_error oa_start_describe(struct oa_device *d, const struct oa_start *s,
                                struct oa_model **out);

#endif
