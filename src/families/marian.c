/* SPDX-License-Identifier: Apache-2.0
 * Marian (Junczys-Dowmunt et al. 2018), as transformers has it: OPUS-MT. */
#include "base/json_write.h"
#include "families/families.h"

#include <math.h>

/* clang-format off */
#define ATTENTION(stack, theirs, ours)                                                             \
    OA_PAIR("model." stack ".layers.#." theirs ".q_proj", stack ".layers.#." ours ".query"),       \
    OA_PAIR("model." stack ".layers.#." theirs ".k_proj", stack ".layers.#." ours ".key"),         \
    OA_PAIR("model." stack ".layers.#." theirs ".v_proj", stack ".layers.#." ours ".value"),       \
    OA_PAIR("model." stack ".layers.#." theirs ".out_proj", stack ".layers.#." ours ".output")
#define STACK(stack)                                                                               \
    ATTENTION(stack, "self_attn", "attention"),                                                    \
    OA_PAIR("model." stack ".layers.#.self_attn_layer_norm", stack ".layers.#.attention_norm"),    \
    OA_PAIR("model." stack ".layers.#.fc1", stack ".layers.#.ffn.in"),                             \
    OA_PAIR("model." stack ".layers.#.fc2", stack ".layers.#.ffn.out"),                            \
    OA_PAIR("model." stack ".layers.#.final_layer_norm", stack ".layers.#.ffn_norm")
/* clang-format on */

static const struct oa_family_tensor tensors[] = {
    OA_WHOLE("model.shared.weight", "embedding.weight"),
    OA_READ("model.decoder.embed_tokens.weight", "embedding.weight"),
    OA_WHOLE("model.encoder.embed_tokens.weight", "source_embedding.weight"),
    STACK("encoder"),
    STACK("decoder"),
    ATTENTION("decoder", "encoder_attn", "cross_attention"),
    OA_PAIR("model.decoder.layers.#.encoder_attn_layer_norm", "decoder.layers.#.cross_norm"),
    OA_FLAT("final_logits_bias", "output.bias"),
    OA_WHOLE("lm_head.weight", "output.weight"),
    OA_LAST_TENSOR,
};

/* Sinusoids, which are calculated. */
static const char *const ignored[] = { "model.encoder.embed_positions.weight",
                                       "model.decoder.embed_positions.weight", NULL };

static void read_marian_sizes(struct oa_hf_config *h)
{
    long width = oa_hf_count(h, "d_model", 1024), layers = oa_hf_count(h, "decoder_layers", 12),
         heads = oa_hf_count(h, "decoder_attention_heads", 16),
         ffn = oa_hf_count(h, "decoder_ffn_dim", 4096),
         encoder_layers = oa_hf_count(h, "encoder_layers", 12),
         encoder_heads = oa_hf_count(h, "encoder_attention_heads", 16),
         encoder_ffn = oa_hf_count(h, "encoder_ffn_dim", 4096),
         vocabulary = oa_hf_count(h, "vocab_size", 58101);
    oa_hf_set_count(h, "model.width", width);
    oa_hf_set_count(h, "model.heads", heads);
    oa_hf_set_count(h, "model.layers", layers);
    oa_hf_set_count(h, "model.ffn", ffn);
    oa_hf_set_count(h, "model.encoder_layers", encoder_layers != layers ? encoder_layers : 0);
    oa_hf_set_count(h, "model.encoder_heads", encoder_heads != heads ? encoder_heads : 0);
    oa_hf_set_count(h, "model.encoder_ffn", encoder_ffn != ffn ? encoder_ffn : 0);
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "max_position_embeddings", 1024));
    oa_hf_set_count(h, "model.vocabulary", vocabulary);
    if (oa_hf_count(h, "decoder_vocab_size", vocabulary) != vocabulary)
        oa_hf_refuse(h, "decoder_vocab_size", "one vocabulary for source and target is");
}

static void read_marian(struct oa_hf_config *h)
{
    read_marian_sizes(h);
    oa_hf_set_encoder_decoder(h, "MarianMTModel");
    oa_hf_demand(h, "normalize_before", false, false);
    oa_hf_demand(h, "normalize_embedding", false, false);
    oa_hf_demand(h, "add_final_layernorm", false, false);
    oa_hf_demand(h, "static_position_embeddings", true, true);
    oa_hf_set_activation(h, "activation_function", "gelu");
    oa_hf_set(h, "model.norm", "post");
    oa_hf_set(h, "model.bias", "true");
    oa_hf_set(h, "model.attention", "softmax");
    oa_hf_set(h, "model.output_bias", "true");
    oa_hf_set(h, "model.position", "sinusoidal-halves");
    oa_hf_set(h, "model.scale_embedding", "true"); /* sinusoids of amplitude 1 */
    if (!oa_hf_flag(h, "scale_embedding", false))
        oa_hf_set_real(h, "model.embedding_scale", 1 / sqrt((double)h->options->model_width));
    oa_hf_set_flag(h, "model.share_embeddings",
                   oa_hf_flag(h, "share_encoder_decoder_embeddings", true));
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
}

/* 1: embeddings are multiplied by √D; 0: by 1; −1: by something else. */
static int embedding_scale_of(const struct oa_options *o)
{
    double factor = o->model_embedding_scale * sqrt((double)o->model_width);
    return o->model_embedding_scale == 1 ? 1 : fabs(factor - 1) < 1e-12 ? 0 : -1;
}

static const char *marian_refuses(const struct oa_exported *x)
{
    const struct oa_options *o = x->options;
    return o->model_position != OA_POSITION_SINUSOIDAL_HALVES ? "model.position"
           : o->model_norm != OA_NORM_POST                    ? "model.norm"
           : o->model_norm_kind != OA_NORM_LAYER              ? "model.norm_kind"
           : o->model_bias == OA_BIASES_QKV                   ? "model.bias"
           : o->model_norm_epsilon != 1e-5                    ? "model.norm_epsilon"
           : o->model_embedding_norm                          ? "model.embedding_norm"
           : !o->model_scale_embedding                        ? "model.scale_embedding"
           : embedding_scale_of(o) < 0                        ? "model.embedding_scale"
           : !o->model_share_embeddings                       ? "model.share_embeddings"
           : o->model_ffn_gate                                ? "model.ffn_gate"
           : o->model_head_width                              ? "model.head_width"
           : o->model_scale_output                            ? "model.scale_output"
           : oa_model_source_context(o) != o->model_context   ? "model.source_context"
           : x->buckets                                       ? "model.attention"
                                                              : NULL;
}

static void write_marian(oa_context *c, const struct oa_exported *x, json_t *config)
{
    const struct oa_options *o = x->options;
    long layers = o->model_encoder_layers ? o->model_encoder_layers : o->model_layers,
         heads = o->model_encoder_heads ? o->model_encoder_heads : o->model_heads,
         ffn = o->model_encoder_ffn ? o->model_encoder_ffn : oa_ffn_width(o);
    bool silu = o->model_activation == OA_ACTIVATION_SILU;
    oa_json_set(c, config, "is_encoder_decoder", json_true());
    oa_json_set(c, config, "d_model", json_integer(o->model_width));
    oa_json_set(c, config, "decoder_layers", json_integer(o->model_layers));
    oa_json_set(c, config, "decoder_attention_heads", json_integer(o->model_heads));
    oa_json_set(c, config, "decoder_ffn_dim", json_integer(oa_ffn_width(o)));
    oa_json_set(c, config, "encoder_layers", json_integer(layers));
    oa_json_set(c, config, "encoder_attention_heads", json_integer(heads));
    oa_json_set(c, config, "encoder_ffn_dim", json_integer(ffn));
    oa_json_set(c, config, "max_position_embeddings", json_integer(o->model_context));
    oa_json_set(c, config, "activation_function",
                json_string(silu ? "swish" : oa_hf_activation((int)o->model_activation)));
    oa_json_set(c, config, "scale_embedding", json_boolean(embedding_scale_of(o) > 0));
    oa_json_set(c, config, "share_encoder_decoder_embeddings", json_true());
    oa_hf_target_ids_write(c, x, config);
    oa_json_set(c, config, "forced_eos_token_id",
                o->decode_force_end ? json_integer(x->end) : json_null());
}

const struct oa_model_family oa_family_marian = {
    .type = "marian",
    .prefix = "model.",
    .tensors = tensors,
    .ignored = ignored,
    .zero_biases = true,
    .encoder_decoder = true,
    .class = "MarianMTModel",
    .refuses = marian_refuses,
    .write = write_marian,
    .read = read_marian,
};
