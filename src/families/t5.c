/* SPDX-License-Identifier: Apache-2.0
 * T5 (Raffel et al. 2020) and T5 v1.1: relative positions in buckets, which the layers of a stack
 * share; logits of attention are not divided by the root of the head width. */
#include "base/json_write.h"
#include "families/families.h"

#include <math.h>
#include <string.h>

/* clang-format off */
#define LINEAR(theirs, ours) OA_WHOLE(theirs ".weight", ours ".weight")
#define ATTENTION(theirs, ours)                                                                    \
    LINEAR(theirs ".q", ours ".query"), LINEAR(theirs ".k", ours ".key"),                          \
    LINEAR(theirs ".v", ours ".value"), LINEAR(theirs ".o", ours ".output")
#define STACK(stack, last)                                                                         \
    ATTENTION(stack ".block.#.layer.0.SelfAttention", stack ".layers.#.attention"),                \
    OA_TURNED(stack ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",               \
              stack ".layers.0.attention.relative.bias"),                                          \
    LINEAR(stack ".block.#.layer.0.layer_norm", stack ".layers.#.attention_norm"),                 \
    LINEAR(stack ".block.#.layer." last ".DenseReluDense.wo", stack ".layers.#.ffn.out"),          \
    LINEAR(stack ".block.#.layer." last ".layer_norm", stack ".layers.#.ffn_norm"),                \
    LINEAR(stack ".final_layer_norm", stack ".norm")
#define GATED(stack, last)                                                                         \
    LINEAR(stack ".block.#.layer." last ".DenseReluDense.wi_0", stack ".layers.#.ffn.gate"),       \
    LINEAR(stack ".block.#.layer." last ".DenseReluDense.wi_1", stack ".layers.#.ffn.in")
#define TENSORS                                                                                    \
    OA_WHOLE("shared.weight", "embedding.weight"),                                                 \
    OA_READ("encoder.embed_tokens.weight", "embedding.weight"),                                    \
    OA_READ("decoder.embed_tokens.weight", "embedding.weight"),                                    \
    STACK("encoder", "1"),                                                                         \
    STACK("decoder", "2"),                                                                         \
    ATTENTION("decoder.block.#.layer.1.EncDecAttention", "decoder.layers.#.cross_attention"),      \
    LINEAR("decoder.block.#.layer.1.layer_norm", "decoder.layers.#.cross_norm"),                   \
    LINEAR("lm_head", "output")
/* clang-format on */

static const struct oa_family_tensor tensors[] = {
    TENSORS,
    LINEAR("encoder.block.#.layer.1.DenseReluDense.wi", "encoder.layers.#.ffn.in"),
    LINEAR("decoder.block.#.layer.2.DenseReluDense.wi", "decoder.layers.#.ffn.in"),
    OA_LAST_TENSOR,
};

static const struct oa_family_tensor gated_tensors[] = {
    TENSORS,
    GATED("encoder", "1"),
    GATED("decoder", "2"),
    OA_LAST_TENSOR,
};

/* A bias that older files have, and that nothing reads. */
static const char *const ignored[] = {
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", NULL
};

static void read_t5_sizes(struct oa_hf_config *h)
{
    long width = oa_hf_count(h, "d_model", 512), heads = oa_hf_count(h, "num_heads", 8),
         head_width = oa_hf_count(h, "d_kv", 64), encoder = oa_hf_count(h, "num_layers", 6),
         decoder = oa_hf_count(h, "num_decoder_layers", encoder);
    oa_hf_set_count(h, "model.width", width);
    oa_hf_set_count(h, "model.heads", heads);
    oa_hf_set_count(h, "model.head_width", head_width * heads == width ? 0 : head_width);
    oa_hf_set_count(h, "model.layers", decoder);
    oa_hf_set_count(h, "model.encoder_layers", encoder != decoder ? encoder : 0);
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "d_ff", 2048));
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "n_positions", 512));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", 32128));
    h->query_factor = sqrt((double)head_width);
}

static void read_t5(struct oa_hf_config *h)
{
    static const char key[] = "feed_forward_proj", gated[] = "gated-";
    char attention[100];
    read_t5_sizes(h);
    oa_hf_set_encoder_decoder(h, "T5ForConditionalGeneration");
    /* "relu", "gated-silu", …; "gated-gelu" has GELU in its tanh form. */
    const char *word = oa_hf_word(h, key, "relu");
    bool gate = strncmp(word, gated, strlen(gated)) == 0, gelu = strcmp(word, "gated-gelu") == 0;
    oa_hf_set_flag(h, "model.ffn_gate", gate);
    oa_hf_set_activation_word(h, key, gelu ? "gelu_new" : word + (gate ? strlen(gated) : 0));
    snprintf(attention, sizeof attention,
             "softmax(relative=t5, buckets=%ld, distance=%ld, share=layers)",
             oa_hf_count(h, "relative_attention_num_buckets", 32),
             oa_hf_count(h, "relative_attention_max_distance", 128));
    oa_hf_set(h, "model.attention", attention);
    oa_hf_set(h, "model.position", "none");
    oa_hf_set(h, "model.norm_kind", "rms");
    oa_hf_set_real(h, "model.norm_epsilon", oa_hf_real(h, "layer_norm_epsilon", 1e-6));
    /* Files of transformers 4 have no scale_decoder_outputs. */
    oa_hf_set_flag(
        h, "model.scale_output",
        oa_hf_flag(h, "scale_decoder_outputs", oa_hf_flag(h, "tie_word_embeddings", true)));
}

static const char *t5_refuses(const struct oa_exported *x)
{
    const struct oa_options *o = x->options;
    bool exact = o->model_activation == OA_ACTIVATION_GELU_EXACT;
    return !x->buckets                             ? "model.attention"
           : o->model_position != OA_POSITION_NONE ? "model.position"
           : o->model_norm != OA_NORM_PRE          ? "model.norm"
           : o->model_norm_kind != OA_NORM_RMS     ? "model.norm_kind"
           : o->model_bias != OA_BIASES_NONE       ? "model.bias"
           : o->model_embedding_norm               ? "model.embedding_norm"
           : !o->model_first_norm                  ? "model.first_norm"
           : o->model_output_bias                  ? "model.output_bias"
           : o->model_scale_embedding              ? "model.scale_embedding"
           : o->model_embedding_scale != 1         ? "model.embedding_scale"
           : !o->model_share_embeddings            ? "model.share_embeddings"
           : o->model_encoder_heads                ? "model.encoder_heads"
           : o->model_encoder_ffn                  ? "model.encoder_ffn"
           : o->model_ffn_gate && exact            ? "model.activation"
                                                   : NULL;
}

static void write_t5(oa_context *c, const struct oa_exported *x, json_t *config)
{
    const struct oa_options *o = x->options;
    long layers = o->model_encoder_layers ? o->model_encoder_layers : o->model_layers;
    bool gelu = o->model_ffn_gate && o->model_activation == OA_ACTIVATION_GELU;
    const char *activation = gelu ? "gelu" : oa_hf_activation((int)o->model_activation);
    oa_json_set(c, config, "is_encoder_decoder", json_true());
    oa_json_set(c, config, "d_model", json_integer(o->model_width));
    oa_json_set(c, config, "d_kv", json_integer(oa_head_width(o)));
    oa_json_set(c, config, "d_ff", json_integer(oa_ffn_width(o)));
    oa_json_set(c, config, "num_heads", json_integer(o->model_heads));
    oa_json_set(c, config, "num_layers", json_integer(layers));
    oa_json_set(c, config, "num_decoder_layers", json_integer(o->model_layers));
    oa_json_set(c, config, "n_positions", json_integer(o->model_context));
    oa_json_set(c, config, "relative_attention_num_buckets", json_integer(x->buckets));
    oa_json_set(c, config, "relative_attention_max_distance", json_integer(x->distance));
    oa_json_set(c, config, "layer_norm_epsilon", json_real(o->model_norm_epsilon));
    oa_json_set(c, config, "feed_forward_proj",
                json_sprintf("%s%s", o->model_ffn_gate ? "gated-" : "", activation));
    oa_json_set(c, config, "scale_decoder_outputs", json_boolean(o->model_scale_output));
    oa_hf_target_ids_write(c, x, config);
}

const struct oa_model_family oa_family_t5 = {
    .type = "t5",
    .prefix = "",
    .tensors = tensors,
    .gated_tensors = gated_tensors,
    .ignored = ignored,
    .encoder_decoder = true,
    .unscaled_logits = true,
    .class = "T5ForConditionalGeneration",
    .refuses = t5_refuses,
    .write = write_t5,
    .tied_by_tensors = true,
    .read = read_t5,
};
