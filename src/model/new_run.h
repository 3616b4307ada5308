/* SPDX-License-Identifier: Apache-2.0
 * The folder of a run whose model was not trained there (import, swap). */
#ifndef ORTHANT_MODEL_NEW_RUN_H
#define ORTHANT_MODEL_NEW_RUN_H

#include "model/model.h"

/* Refuses a folder that has a run or a comparison. */
enum oa_error oa_new_run_check(oa_context *c, const char *folder);
/* tokenizer.json, config.json, and last model.safetensors: a folder without it is no run. frozen:
 * with all frozen tensors. specials: as in oa_model_save_config. */
enum oa_error oa_new_run_write(const struct oa_model *m, const struct oa_tokenizer *tokenizer,
                               const struct oa_labels *specials, bool frozen, const char *folder);

#endif
