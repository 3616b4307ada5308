/* SPDX-License-Identifier: Apache-2.0
 * Llama (Touvron et al. 2023), SmolLM2, Llama 3. */
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

const struct oa_family oa_family_llama = {
    .type = "llama",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_llama,
};
