/* SPDX-License-Identifier: Apache-2.0
 * OPT (Zhang et al. 2022): the table of positions has two rows before the first. */
#include "families/families.h"

static const struct oa_family_tensor tensors[] = {
    OA_WHOLE("model.decoder.embed_tokens.weight", "embedding.weight"),
    OA_BEHIND(2, "model.decoder.embed_positions.weight", "position.weight"),
    OA_WHOLE("model.decoder.layers.#.self_attn_layer_norm.weight",
             "decoder.layers.#.attention_norm.weight"),
    OA_WHOLE("model.decoder.layers.#.self_attn_layer_norm.bias",
             "decoder.layers.#.attention_norm.bias"),
    OA_WHOLE("model.decoder.layers.#.self_attn.q_proj.weight",
             "decoder.layers.#.attention.query.weight"),
    OA_WHOLE("model.decoder.layers.#.self_attn.q_proj.bias",
             "decoder.layers.#.attention.query.bias"),
    OA_WHOLE("model.decoder.layers.#.self_attn.k_proj.weight",
             "decoder.layers.#.attention.key.weight"),
    OA_WHOLE("model.decoder.layers.#.self_attn.k_proj.bias", "decoder.layers.#.attention.key.bias"),
    OA_WHOLE("model.decoder.layers.#.self_attn.v_proj.weight",
             "decoder.layers.#.attention.value.weight"),
    OA_WHOLE("model.decoder.layers.#.self_attn.v_proj.bias",
             "decoder.layers.#.attention.value.bias"),
    OA_WHOLE("model.decoder.layers.#.self_attn.out_proj.weight",
             "decoder.layers.#.attention.output.weight"),
    OA_WHOLE("model.decoder.layers.#.self_attn.out_proj.bias",
             "decoder.layers.#.attention.output.bias"),
    OA_WHOLE("model.decoder.layers.#.final_layer_norm.weight", "decoder.layers.#.ffn_norm.weight"),
    OA_WHOLE("model.decoder.layers.#.final_layer_norm.bias", "decoder.layers.#.ffn_norm.bias"),
    OA_WHOLE("model.decoder.layers.#.fc1.weight", "decoder.layers.#.ffn.in.weight"),
    OA_WHOLE("model.decoder.layers.#.fc1.bias", "decoder.layers.#.ffn.in.bias"),
    OA_WHOLE("model.decoder.layers.#.fc2.weight", "decoder.layers.#.ffn.out.weight"),
    OA_WHOLE("model.decoder.layers.#.fc2.bias", "decoder.layers.#.ffn.out.bias"),
    OA_WHOLE("model.decoder.final_layer_norm.weight", "decoder.norm.weight"),
    OA_WHOLE("model.decoder.final_layer_norm.bias", "decoder.norm.bias"),
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
