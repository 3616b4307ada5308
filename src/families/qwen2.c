/* SPDX-License-Identifier: Apache-2.0
 * Qwen2 (Yang et al. 2024): biases of queries, keys and values. */
#include "base/json_write.h"
#include "families/llama_tensors.h"

static const struct oa_family_tensor tensors[] = { OA_LLAMA_TENSORS, OA_LAST_TENSOR };

static const char *const ignored[] = { OA_LLAMA_IGNORED, NULL };

static const struct oa_llama_defaults defaults = { 4096, 32, 32, 0, 32, 22016, 32768, 151936 };

static void read_qwen2(struct oa_hf_config *h)
{
    oa_hf_demand_language_model(h, "Qwen2");
    oa_hf_demand(h, "use_sliding_window", false, false);
    oa_hf_set(h, "model.bias", "qkv");
    oa_hf_set_llama(h, &defaults);
    oa_hf_set_attention(h, oa_hf_never, 0, oa_hf_keys(h, &defaults), "");
}

static const char *qwen2_refuses(const struct oa_exported *x)
{
    const char *option = oa_llama_refuses(x);
    return option                                    ? option
           : x->window                               ? "model.attention"
           : x->options->model_bias != OA_BIASES_QKV ? "model.bias"
           : x->options->model_head_width            ? "model.head_width"
                                                     : NULL;
}

static void write_qwen2(oa_context *c, const struct oa_exported *x, json_t *config)
{
    oa_llama_write(c, x, config);
    oa_json_set(c, config, "use_sliding_window", json_false());
}

const struct oa_model_family oa_family_qwen2 = {
    .type = "qwen2",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .class = "Qwen2ForCausalLM",
    .refuses = qwen2_refuses,
    .write = write_qwen2,
    .read = read_qwen2,
};
