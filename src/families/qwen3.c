/* SPDX-License-Identifier: Apache-2.0
 * Qwen3 (Yang et al. 2025): queries and keys of each head are normalised before rotation. */
#include "families/llama_tensors.h"

static const struct oa_family_tensor tensors[] = {
    OA_LLAMA_LAYER("self_attn.q_norm.weight", "attention.query.norm.weight"),
    OA_LLAMA_LAYER("self_attn.k_norm.weight", "attention.key.norm.weight"), OA_LLAMA_TENSORS,
    OA_LAST_TENSOR
};

static const char *const ignored[] = { OA_LLAMA_IGNORED, NULL };

static const struct oa_llama_defaults defaults = { 4096, 32, 32, 128, 32, 22016, 32768, 151936 };

static void read_qwen3(struct oa_hf_config *h)
{
    oa_hf_demand_language_model(h, "Qwen3");
    oa_hf_demand(h, "attention_bias", false, false);
    oa_hf_demand(h, "use_sliding_window", false, false);
    oa_hf_set_llama(h, &defaults);
    oa_hf_set_real(h, "model.qknorm_epsilon", h->options->model_norm_epsilon);
    oa_hf_set_attention(h, oa_hf_never, 0, oa_hf_keys(h, &defaults), "qknorm=rms");
}

const struct oa_model_family oa_family_qwen3 = {
    .type = "qwen3",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_qwen3,
};
