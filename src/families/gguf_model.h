/* SPDX-License-Identifier: Apache-2.0
 * A GGUF file as what a Hugging Face folder has: config.json, tensors under their names there,
 * tokenizer.json. */
#ifndef ORTHANT_GGUF_MODEL_H
#define ORTHANT_GGUF_MODEL_H

#include "base/safetensors.h"
#include "families/gguf.h"

#include <jansson.h>

/* json_decref it. OA_UNSUPPORTED: another architecture (those of gguf_model.c), or scaled
 * rotary positions. */
enum oa_error oa_gguf_config(oa_context *c, const struct oa_gguf *g, json_t **out);
/* All tensors, dequantised to F32, some calculated in F64; free with oa_gguf_arrays_free. */
enum oa_error oa_gguf_arrays(oa_context *c, const struct oa_gguf *g, struct oa_array **out,
                             int *count);
void oa_gguf_arrays_free(struct oa_array *arrays, int count);
/* tokenizer.json; *out NULL where the file has a tokenizer that is not supported (of SentencePiece,
 * or with a split into words that is not known), which is logged. oa_free it. */
enum oa_error oa_gguf_tokenizer(oa_context *c, const struct oa_gguf *g, char **out);

#endif
