/* SPDX-License-Identifier: Apache-2.0
 * Mistral (Jiang et al. 2023): each token sees itself and the tokens of a window before it. */
#include "base/json_write.h"
#include "families/llama_tensors.h"

static const struct oa_family_tensor tensors[] = { OA_LLAMA_TENSORS, OA_LAST_TENSOR };

static const char *const ignored[] = { OA_LLAMA_IGNORED, NULL };

static const struct oa_llama_defaults defaults = { 4096, 32, 8, 0, 32, 14336, 131072, 32000 };

static void read_mistral(struct oa_hf_config *h)
{
    oa_hf_demand_language_model(h, "Mistral");
    bool whole = json_is_null(json_object_get(h->root, "sliding_window"));
    long window = whole ? 0 : oa_hf_count(h, "sliding_window", 4096);
    oa_hf_set_llama(h, &defaults);
    oa_hf_set_attention(h, oa_hf_always, window, oa_hf_keys(h, &defaults), "");
}

static const char *mistral_refuses(const struct oa_exported *x)
{
    const char *option = oa_llama_refuses(x);
    return option                   ? option
           : x->mixed               ? "model.attention"
           : x->options->model_bias ? "model.bias"
                                    : NULL;
}

static void write_mistral(oa_context *c, const struct oa_exported *x, json_t *config)
{
    oa_llama_write(c, x, config);
    oa_json_set(c, config, "sliding_window", x->window ? json_integer(x->window) : json_null());
}

const struct oa_model_family oa_family_mistral = {
    .type = "mistral",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .class = "MistralForCausalLM",
    .refuses = mistral_refuses,
    .write = write_mistral,
    .read = read_mistral,
};
