/* SPDX-License-Identifier: Apache-2.0
 * Gemma 2 (Gemma Team 2024): norms before and after each sublayer, whose gains are stored less 1,
 * soft caps, a window in every other layer. */
#include "families/llama_tensors.h"

#include <math.h>

static const struct oa_family_tensor tensors[] = {
    OA_LLAMA_LAYER("post_attention_layernorm.weight", "attention_norm.out.weight"),
    OA_LLAMA_LAYER("pre_feedforward_layernorm.weight", "ffn_norm.weight"),
    OA_LLAMA_LAYER("post_feedforward_layernorm.weight", "ffn_norm.out.weight"),
    OA_LLAMA_TENSORS,
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { OA_LLAMA_IGNORED, NULL };

static const struct oa_llama_defaults defaults = { 2304, 8, 4, 256, 26, 9216, 8192, 256000 };

static bool gemma2_is_local(const struct oa_hf_config *h, long layer)
{
    return oa_hf_sliding(h, layer, layer % 2 == 0);
}

/* A cap that is null is none. */
static double cap_of(const struct oa_hf_config *h, const char *key, double fallback)
{
    return json_is_null(json_object_get(h->root, key)) ? 0 : oa_hf_real(h, key, fallback);
}

static void read_gemma2(struct oa_hf_config *h)
{
    oa_hf_demand_language_model(h, "Gemma2");
    oa_hf_demand(h, "attention_bias", false, false);
    oa_hf_set_llama(h, &defaults);
    oa_hf_set_activation(h, "hidden_activation", "gelu_pytorch_tanh");
    oa_hf_set(h, "model.norm", "both");
    oa_hf_set(h, "model.scale_embedding", "true");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
    oa_hf_set_real(h, "model.logit_cap", cap_of(h, "attn_logit_softcapping", 50));
    oa_hf_set_real(h, "model.output_cap", cap_of(h, "final_logit_softcapping", 30));
    oa_hf_set_attention(h, gemma2_is_local, oa_hf_count(h, "sliding_window", 4096),
                        oa_hf_keys(h, &defaults), "");
    h->query_factor = sqrt((double)oa_hf_count(h, "head_dim", defaults.head_width) /
                           oa_hf_real(h, "query_pre_attn_scalar", 256));
}

const struct oa_model_family oa_family_gemma2 = {
    .type = "gemma2",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .unit_norms = true,
    .read = read_gemma2,
};
