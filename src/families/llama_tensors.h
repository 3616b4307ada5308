/* SPDX-License-Identifier: Apache-2.0
 * Tensors that Llama and its relatives have under the same names. */
#ifndef ORTHANT_LLAMA_TENSORS_H
#define ORTHANT_LLAMA_TENSORS_H

#include "families/families.h"

#define OA_LLAMA_LAYER(theirs, ours) OA_WHOLE("model.layers.#." theirs, "decoder.layers.#." ours)
/* clang-format off */
#define OA_LLAMA_LINEAR(theirs, ours)                                                              \
    OA_LLAMA_LAYER(theirs ".weight", ours ".weight"),                                              \
    OA_LLAMA_LAYER(theirs ".bias", ours ".bias")
#define OA_LLAMA_TENSORS                                                                           \
    OA_WHOLE("model.embed_tokens.weight", "embedding.weight"),                                     \
    OA_LLAMA_LAYER("input_layernorm.weight", "attention_norm.weight"),                             \
    OA_LLAMA_LINEAR("self_attn.q_proj", "attention.query"),                                        \
    OA_LLAMA_LINEAR("self_attn.k_proj", "attention.key"),                                          \
    OA_LLAMA_LINEAR("self_attn.v_proj", "attention.value"),                                        \
    OA_LLAMA_LINEAR("self_attn.o_proj", "attention.output"),                                       \
    OA_LLAMA_LAYER("post_attention_layernorm.weight", "ffn_norm.weight"),                          \
    OA_LLAMA_LINEAR("mlp.gate_proj", "ffn.gate"),                                                  \
    OA_LLAMA_LINEAR("mlp.up_proj", "ffn.in"),                                                      \
    OA_LLAMA_LINEAR("mlp.down_proj", "ffn.out"),                                                   \
    OA_WHOLE("model.norm.weight", "decoder.norm.weight"),                                          \
    OA_WHOLE("lm_head.weight", "output.weight")
/* clang-format on */
#define OA_LLAMA_IGNORED "model.layers.#.self_attn.rotary_emb.inv_freq"

/* llama_export.c: as in struct oa_model_family, whatever the window and the biases. */
const char *oa_llama_refuses(const struct oa_exported *x);
void oa_llama_write(oa_context *c, const struct oa_exported *x, json_t *config);

#endif
