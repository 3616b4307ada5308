/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORTHANT_GENERATION_H
#define ORTHANT_GENERATION_H

#include "families/families.h"

/* Sets decode.* of the imported model as generation_config.json of its folder has it, or without
 * that file config.json, and reports what it asks for and the run does not do. */
enum oa_error oa_generation_read(oa_context *c, const char *folder,
                                 const struct oa_tokenizer *tokenizer, struct oa_imported *i);

/* The file of an encoder-decoder that is exported: its decode.*, of which transformers and
 * oa_generation_read make the same. */
json_t *oa_generation_json(oa_context *c, const struct oa_exported *x,
                           const struct oa_tokenizer *tokenizer);

#endif
