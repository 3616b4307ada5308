/* SPDX-License-Identifier: Apache-2.0
 * GPT-Neo (Black et al. 2021): logits are not scaled, some layers have a window. */
#include "families/families.h"

#include <math.h>
#include <string.h>

static const struct oa_family_tensor tensors[] = {
    OA_WHOLE("transformer.wte.weight", "embedding.weight"),
    OA_WHOLE("transformer.wpe.weight", "position.weight"),
    OA_PAIR("transformer.h.#.ln_1", "decoder.layers.#.attention_norm"),
    OA_WHOLE("transformer.h.#.attn.attention.q_proj.weight",
             "decoder.layers.#.attention.query.weight"),
    OA_WHOLE("transformer.h.#.attn.attention.k_proj.weight",
             "decoder.layers.#.attention.key.weight"),
    OA_WHOLE("transformer.h.#.attn.attention.v_proj.weight",
             "decoder.layers.#.attention.value.weight"),
    OA_ZERO("decoder.layers.#.attention.query.bias"),
    OA_ZERO("decoder.layers.#.attention.key.bias"),
    OA_ZERO("decoder.layers.#.attention.value.bias"),
    OA_PAIR("transformer.h.#.attn.attention.out_proj", "decoder.layers.#.attention.output"),
    OA_PAIR("transformer.h.#.ln_2", "decoder.layers.#.ffn_norm"),
    OA_PAIR("transformer.h.#.mlp.c_fc", "decoder.layers.#.ffn.in"),
    OA_PAIR("transformer.h.#.mlp.c_proj", "decoder.layers.#.ffn.out"),
    OA_PAIR("transformer.ln_f", "decoder.norm"),
    OA_WHOLE("lm_head.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { "transformer.h.#.attn.attention.bias",
                                       "transformer.h.#.attn.attention.masked_bias", NULL };

/* attention_types is a list of [[type, …], how often]. */
static bool gpt_neo_is_local(const struct oa_hf_config *h, long layer)
{
    const json_t *all = json_object_get(h->root, "attention_types"), *item;
    size_t i;
    if (!json_is_array(all))
        return layer % 2 == 1; /* the default of the class */
    json_array_foreach(all, i, item)
    {
        const json_t *types = json_array_get(item, 0);
        long n = (long)json_array_size(types),
             times = (long)json_integer_value(json_array_get(item, 1));
        if (n > 0 && times > 0 && times < 100000 && layer < n * times) {
            const char *type = json_string_value(json_array_get(types, (size_t)(layer % n)));
            return type && strcmp(type, "local") == 0;
        }
        layer -= n * times;
    }
    oa_hf_refuse(h, "attention_types", "it has fewer layers than num_layers");
    return false;
}

static void read_gpt_neo(struct oa_hf_config *h)
{
    long width = oa_hf_count(h, "hidden_size", 2048), heads = oa_hf_count(h, "num_heads", 16);
    oa_hf_demand_language_model(h, "GPTNeo");
    oa_hf_set_count(h, "model.width", width);
    oa_hf_set_count(h, "model.heads", heads);
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "num_layers", 24));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "intermediate_size", 4 * width));
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "max_position_embeddings", 2048));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", 50257));
    oa_hf_set_real(h, "model.norm_epsilon", oa_hf_real(h, "layer_norm_epsilon", 1e-5));
    oa_hf_set_activation(h, "activation_function", "gelu_new");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
    oa_hf_set(h, "model.bias", "true");
    oa_hf_set_attention(h, gpt_neo_is_local, oa_hf_count(h, "window_size", 256), heads, "");
    h->query_factor = sqrt((double)width / (double)heads);
}

const struct oa_model_family oa_family_gpt_neo = {
    .type = "gpt_neo",
    .prefix = "transformer.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_gpt_neo,
};
