/* SPDX-License-Identifier: Apache-2.0
 * DistilBERT (Sanh et al. 2019): BERT without types of tokens and pooler. */
#include "families/families.h"

#define LAYER(theirs, ours)                                                                        \
    OA_PAIR("distilbert.transformer.layer.#." theirs, "encoder.layers.#." ours)
/* clang-format off */
#define TENSORS                                                                                    \
    OA_WHOLE("distilbert.embeddings.word_embeddings.weight", "embedding.weight"),                  \
    OA_WHOLE("distilbert.embeddings.position_embeddings.weight", "position.weight"),               \
    OA_PAIR("distilbert.embeddings.LayerNorm", "encoder.embedding_norm"),                          \
    LAYER("attention.q_lin", "attention.query"),                                                   \
    LAYER("attention.k_lin", "attention.key"),                                                     \
    LAYER("attention.v_lin", "attention.value"),                                                   \
    LAYER("attention.out_lin", "attention.output"),                                                \
    LAYER("sa_layer_norm", "attention_norm"),                                                      \
    LAYER("ffn.lin1", "ffn.in"),                                                                   \
    LAYER("ffn.lin2", "ffn.out"),                                                                  \
    LAYER("output_layer_norm", "ffn_norm")
/* clang-format on */

static const struct oa_family_tensor tensors[] = {
    TENSORS,
    OA_PAIR("vocab_transform", "head"),
    OA_PAIR("vocab_layer_norm", "head.norm"),
    OA_WHOLE("vocab_projector.bias", "output.bias"),
    OA_WHOLE("vocab_projector.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const struct oa_family_tensor classifier_tensors[] = {
    TENSORS,
    OA_PAIR("pre_classifier", "head"),
    OA_PAIR("classifier", "classifier"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { "distilbert.embeddings.position_ids", NULL };

static void read_distilbert(struct oa_hf_config *h)
{
    oa_hf_set_encoder(h, "DistilBert", false);
    oa_hf_set_count(h, "model.width", oa_hf_count(h, "dim", 768));
    oa_hf_set_count(h, "model.heads", oa_hf_count(h, "n_heads", 12));
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "n_layers", 6));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "hidden_dim", 3072));
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "max_position_embeddings", 512));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", 30522));
    oa_hf_set_activation(h, "activation", "gelu");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
    oa_hf_set_post_norm(h, 1e-12);
    oa_hf_set_head(h, "relu");
}

const struct oa_model_family oa_family_distilbert = {
    .type = "distilbert",
    .prefix = "distilbert.",
    .tensors = tensors,
    .classifier_tensors = classifier_tensors,
    .ignored = ignored,
    .read = read_distilbert,
};
