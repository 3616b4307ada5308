/* SPDX-License-Identifier: Apache-2.0
 * OLMo 2 (OLMo et al. 2024): norms of what the sublayers write, and of queries and keys of all
 * heads together. */
#include "families/llama_tensors.h"

static const struct oa_family_tensor tensors[] = {
    OA_LLAMA_LAYER("post_attention_layernorm.weight", "attention_norm.weight"),
    OA_LLAMA_LAYER("post_feedforward_layernorm.weight", "ffn_norm.weight"),
    OA_LLAMA_LAYER("self_attn.q_norm.weight", "attention.query.norm.weight"),
    OA_LLAMA_LAYER("self_attn.k_norm.weight", "attention.key.norm.weight"),
    OA_LLAMA_TENSORS,
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { OA_LLAMA_IGNORED, NULL };

static const struct oa_llama_defaults defaults = { 4096, 32, 0, 0, 32, 11008, 2048, 50304 };

static void read_olmo2(struct oa_hf_config *h)
{
    oa_hf_demand_language_model(h, "Olmo2");
    oa_hf_demand(h, "attention_bias", false, false);
    oa_hf_set_llama(h, &defaults);
    double epsilon = oa_hf_real(h, "rms_norm_eps", 1e-5);
    oa_hf_set_real(h, "model.norm_epsilon", epsilon);
    oa_hf_set_real(h, "model.qknorm_epsilon", epsilon);
    oa_hf_set(h, "model.norm", "branch");
    oa_hf_set_attention(h, oa_hf_never, 0, oa_hf_keys(h, &defaults), "qknorm=joint");
}

const struct oa_model_family oa_family_olmo2 = {
    .type = "olmo2",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_olmo2,
};
