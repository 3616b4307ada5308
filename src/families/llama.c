/* SPDX-License-Identifier: Apache-2.0
 * Llama (Touvron et al. 2023), SmolLM2, Llama 3. */
#include "base/json_write.h"
#include "families/llama_tensors.h"

static const struct oa_family_tensor tensors[] = { OA_LLAMA_TENSORS, OA_LAST_TENSOR };

static const char *const ignored[] = { OA_LLAMA_IGNORED, NULL };

static const struct oa_llama_defaults defaults = { 4096, 32, 0, 0, 32, 11008, 2048, 32000 };

static void read_llama(struct oa_hf_config *h)
{
    oa_hf_demand_language_model(h, "Llama");
    bool bias = oa_hf_flag(h, "attention_bias", false);
    if (oa_hf_flag(h, "mlp_bias", false) != bias)
        oa_hf_refuse(h, "mlp_bias", "biases of attention or of feed-forward layers alone");
    oa_hf_set(h, "model.bias", bias ? "true" : "false");
    oa_hf_set_llama(h, &defaults);
    oa_hf_set_attention(h, oa_hf_never, 0, oa_hf_keys(h, &defaults), "");
}

static const char *llama_refuses(const struct oa_exported *x)
{
    const char *option = oa_llama_refuses(x);
    return option                                    ? option
           : x->window                               ? "model.attention"
           : x->options->model_bias == OA_BIASES_QKV ? "model.bias"
                                                     : NULL;
}

static void write_llama(oa_context *c, const struct oa_exported *x, json_t *config)
{
    bool bias = x->options->model_bias == OA_BIASES_ALL;
    oa_llama_write(c, x, config);
    oa_json_set(c, config, "attention_bias", json_boolean(bias));
    oa_json_set(c, config, "mlp_bias", json_boolean(bias));
}

const struct oa_model_family oa_family_llama = {
    .type = "llama",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .class = "LlamaForCausalLM",
    .refuses = llama_refuses,
    .write = write_llama,
    .read = read_llama,
};
