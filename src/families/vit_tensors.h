/* SPDX-License-Identifier: Apache-2.0
 * Tensors that ViT and DeiT have under the same names, "vit." or "deit." before them. Id 0 is a
 * patch: what the embedding has for it is the bias of the map of patches. Id 1 is the class. */
#ifndef ORTHANT_VIT_TENSORS_H
#define ORTHANT_VIT_TENSORS_H

#include "families/bert_tensors.h"

/* clang-format off */
#define OA_VIT_TENSORS(model)                                                                      \
    OA_FLAT(model "embeddings.patch_embeddings.projection.weight", "patch.weight"),                \
    OA_ROW(0, model "embeddings.patch_embeddings.projection.bias", "embedding.weight"),            \
    OA_ROW(1, model "embeddings.cls_token", "embedding.weight"),                                   \
    OA_FLAT(model "embeddings.position_embeddings", "position.weight"),                            \
    OA_BERT_LAYER(model, "layernorm_before", "attention_norm"),                                    \
    OA_BERT_LAYER(model, "attention.attention.query", "attention.query"),                          \
    OA_BERT_LAYER(model, "attention.attention.key", "attention.key"),                              \
    OA_BERT_LAYER(model, "attention.attention.value", "attention.value"),                          \
    OA_BERT_LAYER(model, "attention.output.dense", "attention.output"),                            \
    OA_BERT_LAYER(model, "layernorm_after", "ffn_norm"),                                           \
    OA_BERT_LAYER(model, "intermediate.dense", "ffn.in"),                                          \
    OA_BERT_LAYER(model, "output.dense", "ffn.out"),                                               \
    OA_PAIR(model "layernorm", "encoder.norm"),                                                    \
    OA_PAIR(model "pooler.dense", "head"),                                                         \
    OA_PAIR("classifier", "classifier")
#define OA_VIT_IGNORED(model)                                                                      \
    model "embeddings.mask_token", model "pooler.dense.weight", model "pooler.dense.bias"
/* clang-format on */

#endif
