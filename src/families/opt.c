/* SPDX-License-Identifier: Apache-2.0
 * OPT (Zhang et al. 2022): the table of positions has two rows before the first. */
#include "families/families.h"

static const struct oa_family_tensor tensors[] = {
    OA_WHOLE("model.decoder.embed_tokens.weight", "embedding.weight"),
    OA_AFTER(2, "model.decoder.embed_positions.weight", "position.weight"),
    OA_PAIR("model.decoder.layers.#.self_attn_layer_norm", "decoder.layers.#.attention_norm"),
    OA_PAIR("model.decoder.layers.#.self_attn.q_proj", "decoder.layers.#.attention.query"),
    OA_PAIR("model.decoder.layers.#.self_attn.k_proj", "decoder.layers.#.attention.key"),
    OA_PAIR("model.decoder.layers.#.self_attn.v_proj", "decoder.layers.#.attention.value"),
    OA_PAIR("model.decoder.layers.#.self_attn.out_proj", "decoder.layers.#.attention.output"),
    OA_PAIR("model.decoder.layers.#.final_layer_norm", "decoder.layers.#.ffn_norm"),
    OA_PAIR("model.decoder.layers.#.fc1", "decoder.layers.#.ffn.in"),
    OA_PAIR("model.decoder.layers.#.fc2", "decoder.layers.#.ffn.out"),
    OA_PAIR("model.decoder.final_layer_norm", "decoder.norm"),
    OA_WHOLE("lm_head.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { NULL };

static void read_opt(struct oa_hf_config *h)
{
    long width = oa_hf_count(h, "hidden_size", 768);
    oa_hf_demand_language_model(h, "OPT");
    oa_hf_demand(h, "do_layer_norm_before", true, true);
    oa_hf_demand(h, "_remove_final_layer_norm", false, false);
    oa_hf_demand(h, "enable_bias", true, true);
    oa_hf_demand(h, "layer_norm_elementwise_affine", true, true);
    if (oa_hf_count(h, "word_embed_proj_dim", width) != width)
        oa_hf_refuse(h, "word_embed_proj_dim", "another width of the embedding");
    oa_hf_set_count(h, "model.width", width);
    oa_hf_set_count(h, "model.heads", oa_hf_count(h, "num_attention_heads", 12));
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "num_hidden_layers", 12));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "ffn_dim", 3072));
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "max_position_embeddings", 2048));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", 50272));
    oa_hf_set_activation(h, "activation_function", "relu");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
    oa_hf_set(h, "model.bias", "true");
    oa_hf_set(h, "model.attention", "softmax");
}

const struct oa_model_family oa_family_opt = {
    .type = "opt",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_opt,
};
