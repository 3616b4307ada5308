/* SPDX-License-Identifier: Apache-2.0
 * GPT-2 (Radford et al. 2019). Its linear maps are stored [inputs, outputs]; queries, keys and
 * values are one. */
#include "base/json_write.h"
#include "families/families.h"

static const struct oa_family_tensor tensors[] = {
    OA_WHOLE("transformer.wte.weight", "embedding.weight"),
    OA_WHOLE("transformer.wpe.weight", "position.weight"),
    OA_PAIR("transformer.h.#.ln_1", "decoder.layers.#.attention_norm"),
    OA_PART("transformer.h.#.attn.c_attn.weight", "decoder.layers.#.attention.query.weight",
            OA_LAYOUT_TRANSPOSED, 0, 3),
    OA_PART("transformer.h.#.attn.c_attn.weight", "decoder.layers.#.attention.key.weight",
            OA_LAYOUT_TRANSPOSED, 1, 3),
    OA_PART("transformer.h.#.attn.c_attn.weight", "decoder.layers.#.attention.value.weight",
            OA_LAYOUT_TRANSPOSED, 2, 3),
    OA_PART("transformer.h.#.attn.c_attn.bias", "decoder.layers.#.attention.query.bias",
            OA_LAYOUT_SAME, 0, 3),
    OA_PART("transformer.h.#.attn.c_attn.bias", "decoder.layers.#.attention.key.bias",
            OA_LAYOUT_SAME, 1, 3),
    OA_PART("transformer.h.#.attn.c_attn.bias", "decoder.layers.#.attention.value.bias",
            OA_LAYOUT_SAME, 2, 3),
    OA_TURNED("transformer.h.#.attn.c_proj.weight", "decoder.layers.#.attention.output.weight"),
    OA_WHOLE("transformer.h.#.attn.c_proj.bias", "decoder.layers.#.attention.output.bias"),
    OA_PAIR("transformer.h.#.ln_2", "decoder.layers.#.ffn_norm"),
    OA_TURNED("transformer.h.#.mlp.c_fc.weight", "decoder.layers.#.ffn.in.weight"),
    OA_WHOLE("transformer.h.#.mlp.c_fc.bias", "decoder.layers.#.ffn.in.bias"),
    OA_TURNED("transformer.h.#.mlp.c_proj.weight", "decoder.layers.#.ffn.out.weight"),
    OA_WHOLE("transformer.h.#.mlp.c_proj.bias", "decoder.layers.#.ffn.out.bias"),
    OA_PAIR("transformer.ln_f", "decoder.norm"),
    OA_WHOLE("lm_head.weight", "output.weight"),
    OA_LAST_TENSOR,
};

/* The mask. */
static const char *const ignored[] = { "transformer.h.#.attn.bias",
                                       "transformer.h.#.attn.masked_bias", NULL };

static void read_gpt2(struct oa_hf_config *h)
{
    long width = oa_hf_count(h, "n_embd", 768);
    oa_hf_demand_language_model(h, "GPT2");
    oa_hf_demand(h, "scale_attn_weights", true, true);
    oa_hf_demand(h, "scale_attn_by_inverse_layer_idx", false, false);
    oa_hf_demand(h, "add_cross_attention", false, false);
    oa_hf_set_count(h, "model.width", width);
    oa_hf_set_count(h, "model.heads", oa_hf_count(h, "n_head", 12));
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "n_layer", 12));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "n_inner", 4 * width));
    oa_hf_set_count(h, "model.context",
                    oa_hf_count(h, "n_positions", oa_hf_count(h, "n_ctx", 1024)));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", 50257));
    oa_hf_set_real(h, "model.norm_epsilon", oa_hf_real(h, "layer_norm_epsilon", 1e-5));
    oa_hf_set_activation(h, "activation_function", "gelu_new");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
    oa_hf_set(h, "model.bias", "true");
    oa_hf_set(h, "model.attention", "softmax");
}

static const char *gpt2_refuses(const struct oa_exported *x)
{
    const struct oa_options *o = x->options;
    bool table =
        o->model_position == OA_POSITION_LEARNED || o->model_position == OA_POSITION_SINUSOIDAL;
    return !table                                   ? "model.position"
           : o->model_norm_kind != OA_NORM_LAYER    ? "model.norm_kind"
           : o->model_ffn_gate                      ? "model.ffn_gate"
           : o->model_parallel                      ? "model.parallel"
           : o->model_head_width                    ? "model.head_width"
           : x->window || x->keys != o->model_heads ? "model.attention"
                                                    : NULL;
}

static void write_gpt2(oa_context *c, const struct oa_exported *x, json_t *config)
{
    const struct oa_options *o = x->options;
    oa_json_set(c, config, "n_embd", json_integer(o->model_width));
    oa_json_set(c, config, "n_head", json_integer(o->model_heads));
    oa_json_set(c, config, "n_layer", json_integer(o->model_layers));
    oa_json_set(c, config, "n_inner", json_integer(oa_ffn_width(o)));
    oa_json_set(c, config, "n_positions", json_integer(o->model_context));
    oa_json_set(c, config, "layer_norm_epsilon", json_real(o->model_norm_epsilon));
    oa_json_set(c, config, "activation_function",
                json_string(oa_hf_activation((int)o->model_activation)));
}

const struct oa_model_family oa_family_gpt2 = {
    .type = "gpt2",
    .prefix = "transformer.",
    .tensors = tensors,
    .ignored = ignored,
    .zero_biases = true,
    .class = "GPT2LMHeadModel",
    .refuses = gpt2_refuses,
    .write = write_gpt2,
    .read = read_gpt2,
};
