/* SPDX-License-Identifier: Apache-2.0
 * Qwen2 (Yang et al. 2024): biases of queries, keys and values. */
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

const struct oa_family oa_family_qwen2 = {
    .type = "qwen2",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_qwen2,
};
