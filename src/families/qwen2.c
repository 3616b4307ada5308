/* SPDX-License-Identifier: Apache-2.0
 * Qwen2 (Yang et al. 2024): biases of queries, keys and values; a window in some layers. */
#include "base/json_write.h"
#include "families/llama_tensors.h"

static const struct oa_family_tensor tensors[] = {
    OA_WHOLE("model.embed_tokens.weight", "embedding.weight"),
    OA_LLAMA_LAYER("input_layernorm.weight", "attention_norm.weight"),
    OA_LLAMA_LINEAR("self_attn.q_proj", "attention.query"),
    OA_LLAMA_LINEAR("self_attn.k_proj", "attention.key"),
    OA_LLAMA_LINEAR("self_attn.v_proj", "attention.value"),
    OA_LLAMA_LAYER("self_attn.o_proj.weight", "attention.output.weight"),
    OA_LLAMA_LAYER("post_attention_layernorm.weight", "ffn_norm.weight"),
    OA_LLAMA_LAYER("mlp.gate_proj.weight", "ffn.gate.weight"),
    OA_LLAMA_LAYER("mlp.up_proj.weight", "ffn.in.weight"),
    OA_LLAMA_LAYER("mlp.down_proj.weight", "ffn.out.weight"),
    OA_WHOLE("model.norm.weight", "decoder.norm.weight"),
    OA_WHOLE("lm_head.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { OA_LLAMA_IGNORED, NULL };

static const struct oa_llama_defaults defaults = { 4096, 32, 32, 0, 32, 22016, 32768, 151936 };

static bool qwen2_is_local(const struct oa_hf_config *h, long layer)
{
    return oa_hf_flag(h, "use_sliding_window", false) &&
           oa_hf_sliding(h, layer, layer >= oa_hf_count(h, "max_window_layers", 28));
}

static void read_qwen2(struct oa_hf_config *h)
{
    oa_hf_demand_language_model(h, "Qwen2");
    oa_hf_set(h, "model.bias", "qkv");
    oa_hf_set_llama(h, &defaults);
    bool windows = oa_hf_flag(h, "use_sliding_window", false);
    oa_hf_set_attention(h, qwen2_is_local, windows ? oa_hf_count(h, "sliding_window", 4096) : 0,
                        oa_hf_keys(h, &defaults), "");
}

/* Without biases those of the file are 0. */
static const char *qwen2_refuses(const struct oa_exported *x)
{
    const char *option = oa_llama_refuses(x);
    enum oa_biases bias = x->options->model_bias;
    return option                                                          ? option
           : bias != OA_BIASES_QKV && !(x->mixed && bias != OA_BIASES_ALL) ? "model.bias"
           : x->options->model_head_width                                  ? "model.head_width"
                                                                           : NULL;
}

static void write_qwen2(oa_context *c, const struct oa_exported *x, json_t *config)
{
    oa_llama_write(c, x, config);
    oa_json_set(c, config, "use_sliding_window", json_boolean(x->window > 0));
    if (!x->window)
        return;
    json_t *types = json_array();
    for (long i = 0; i < x->options->model_layers; i++)
        oa_json_append(
            c, types,
            json_string(oa_exported_windowed(x, i) ? "sliding_attention" : "full_attention"));
    oa_json_set(c, config, "sliding_window", json_integer(x->window));
    oa_json_set(c, config, "layer_types", types);
}

const struct oa_model_family oa_family_qwen2 = {
    .type = "qwen2",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .class = "Qwen2ForCausalLM",
    .zero_biases = true,
    .refuses = qwen2_refuses,
    .write = write_qwen2,
    .read = read_qwen2,
};
