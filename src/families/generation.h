/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORTHANT_GENERATION_H
#define ORTHANT_GENERATION_H

#include "families/families.h"

/* Sets decode.* of the imported model by generation_config.json of its folder, or without that file
 * by config.json, and reports the keys that a run does not follow. */
enum oa_error oa_generation_read(oa_context *c, const char *folder,
                                 const struct oa_tokenizer *tokenizer, struct oa_imported *i);

/* generation_config.json of an exported encoder-decoder: its decode.*, which oa_generation_read
 * reads back. */
json_t *oa_generation_json(oa_context *c, const struct oa_exported *x,
                           const struct oa_tokenizer *tokenizer);

#endif
