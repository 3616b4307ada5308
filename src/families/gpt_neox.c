/* SPDX-License-Identifier: Apache-2.0
 * GPT-NeoX and Pythia (Black et al. 2022): queries, keys and values of each head one after the
 * other, rotary positions on a part of each head, attention and feed-forward layer in parallel. */
#include "base/json_write.h"
#include "families/families.h"

static const struct oa_family_tensor tensors[] = {
    OA_WHOLE("gpt_neox.embed_in.weight", "embedding.weight"),
    OA_PAIR("gpt_neox.layers.#.input_layernorm", "decoder.layers.#.attention_norm"),
    OA_PART("gpt_neox.layers.#.attention.query_key_value.weight",
            "decoder.layers.#.attention.query.weight", OA_LAYOUT_HEADS, 0, 3),
    OA_PART("gpt_neox.layers.#.attention.query_key_value.weight",
            "decoder.layers.#.attention.key.weight", OA_LAYOUT_HEADS, 1, 3),
    OA_PART("gpt_neox.layers.#.attention.query_key_value.weight",
            "decoder.layers.#.attention.value.weight", OA_LAYOUT_HEADS, 2, 3),
    OA_PART("gpt_neox.layers.#.attention.query_key_value.bias",
            "decoder.layers.#.attention.query.bias", OA_LAYOUT_HEADS, 0, 3),
    OA_PART("gpt_neox.layers.#.attention.query_key_value.bias",
            "decoder.layers.#.attention.key.bias", OA_LAYOUT_HEADS, 1, 3),
    OA_PART("gpt_neox.layers.#.attention.query_key_value.bias",
            "decoder.layers.#.attention.value.bias", OA_LAYOUT_HEADS, 2, 3),
    OA_PAIR("gpt_neox.layers.#.attention.dense", "decoder.layers.#.attention.output"),
    OA_PAIR("gpt_neox.layers.#.post_attention_layernorm", "decoder.layers.#.ffn_norm"),
    OA_PAIR("gpt_neox.layers.#.mlp.dense_h_to_4h", "decoder.layers.#.ffn.in"),
    OA_PAIR("gpt_neox.layers.#.mlp.dense_4h_to_h", "decoder.layers.#.ffn.out"),
    OA_PAIR("gpt_neox.final_layer_norm", "decoder.norm"),
    OA_WHOLE("embed_out.weight", "output.weight"),
    OA_WHOLE("lm_head.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { "gpt_neox.layers.#.attention.bias",
                                       "gpt_neox.layers.#.attention.masked_bias",
                                       "gpt_neox.layers.#.attention.rotary_emb.inv_freq", NULL };

static void read_gpt_neox(struct oa_hf_config *h)
{
    long width = oa_hf_count(h, "hidden_size", 6144);
    oa_hf_demand_language_model(h, "GPTNeoX");
    oa_hf_demand(h, "attention_bias", true, true);
    oa_hf_set_count(h, "model.width", width);
    oa_hf_set_count(h, "model.heads", oa_hf_count(h, "num_attention_heads", 64));
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "num_hidden_layers", 44));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "intermediate_size", 24576));
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "max_position_embeddings", 2048));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", 50432));
    oa_hf_set_real(h, "model.norm_epsilon", oa_hf_real(h, "layer_norm_eps", 1e-5));
    oa_hf_set_activation(h, "hidden_act", "gelu");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", false));
    oa_hf_set_flag(h, "model.parallel", oa_hf_flag(h, "use_parallel_residual", true));
    oa_hf_set_rotary(h, 10000, 0.25);
    oa_hf_set(h, "model.bias", "true");
    oa_hf_set(h, "model.attention", "softmax");
}

static const char *gpt_neox_refuses(const struct oa_exported *x)
{
    const struct oa_options *o = x->options;
    return o->model_position != OA_POSITION_ROTARY  ? "model.position"
           : o->model_norm_kind != OA_NORM_LAYER    ? "model.norm_kind"
           : o->model_ffn_gate                      ? "model.ffn_gate"
           : o->model_head_width                    ? "model.head_width"
           : x->window || x->keys != o->model_heads ? "model.attention"
                                                    : NULL;
}

static void write_gpt_neox(oa_context *c, const struct oa_exported *x, json_t *config)
{
    const struct oa_options *o = x->options;
    oa_hf_sizes_write(c, o, config);
    oa_json_set(c, config, "layer_norm_eps", json_real(o->model_norm_epsilon));
    oa_json_set(c, config, "hidden_act", json_string(oa_hf_activation((int)o->model_activation)));
    oa_json_set(c, config, "use_parallel_residual", json_boolean(o->model_parallel));
    oa_json_set(c, config, "rotary_emb_base", json_real(o->model_rotary_base));
    oa_json_set(c, config, "rotary_pct", json_real(o->model_rotary_share));
}

const struct oa_model_family oa_family_gpt_neox = {
    .type = "gpt_neox",
    .prefix = "gpt_neox.",
    .tensors = tensors,
    .ignored = ignored,
    .zero_biases = true,
    .class = "GPTNeoXForCausalLM",
    .refuses = gpt_neox_refuses,
    .write = write_gpt_neox,
    .read = read_gpt_neox,
};
