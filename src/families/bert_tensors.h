/* SPDX-License-Identifier: Apache-2.0
 * Tensors that BERT and RoBERTa have under the same names, "bert." or "roberta." before them. */
#ifndef ORTHANT_BERT_TENSORS_H
#define ORTHANT_BERT_TENSORS_H

#include "families/families.h"

/* clang-format off */
#define OA_BERT_LAYER(model, theirs, ours)                                                         \
    OA_PAIR(model "encoder.layer.#." theirs, "encoder.layers.#." ours)
#define OA_BERT_TENSORS(model)                                                                     \
    OA_WHOLE(model "embeddings.word_embeddings.weight", "embedding.weight"),                       \
    OA_WHOLE(model "embeddings.token_type_embeddings.weight", "segment.weight"),                   \
    OA_PAIR(model "embeddings.LayerNorm", "encoder.embedding_norm"),                               \
    OA_BERT_LAYER(model, "attention.self.query", "attention.query"),                               \
    OA_BERT_LAYER(model, "attention.self.key", "attention.key"),                                   \
    OA_BERT_LAYER(model, "attention.self.value", "attention.value"),                               \
    OA_BERT_LAYER(model, "attention.output.dense", "attention.output"),                            \
    OA_BERT_LAYER(model, "attention.output.LayerNorm", "attention_norm"),                          \
    OA_BERT_LAYER(model, "intermediate.dense", "ffn.in"),                                          \
    OA_BERT_LAYER(model, "output.dense", "ffn.out"),                                               \
    OA_BERT_LAYER(model, "output.LayerNorm", "ffn_norm")
/* clang-format on */

#endif
