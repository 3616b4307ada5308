/* SPDX-License-Identifier: Apache-2.0
 * ModernBERT (Warner et al. 2024): norms before the sublayers but the first, gated feed-forward
 * layers, rotary positions, windows in two layers of three, which turn by another base. */
#include "families/families.h"

#include <string.h>

#define LAYER(theirs, ours) OA_PAIR("model.layers.#." theirs, "encoder.layers.#." ours)
/* clang-format off */
#define PART_OF(theirs, ours, part, parts)                                                         \
    OA_PART("model.layers.#." theirs, "encoder.layers.#." ours, OA_LAYOUT_SAME, part, parts)
#define PART(theirs, ours, part, parts)                                                            \
    PART_OF(theirs ".weight", ours ".weight", part, parts),                                        \
    PART_OF(theirs ".bias", ours ".bias", part, parts)
#define TENSORS                                                                                    \
    OA_WHOLE("model.embeddings.tok_embeddings.weight", "embedding.weight"),                        \
    OA_PAIR("model.embeddings.norm", "encoder.embedding_norm"),                                    \
    LAYER("attn_norm", "attention_norm"),                                                          \
    PART("attn.Wqkv", "attention.query", 0, 3),                                                    \
    PART("attn.Wqkv", "attention.key", 1, 3),                                                      \
    PART("attn.Wqkv", "attention.value", 2, 3),                                                    \
    LAYER("attn.Wo", "attention.output"),                                                          \
    LAYER("mlp_norm", "ffn_norm"),                                                                 \
    PART("mlp.Wi", "ffn.gate", 0, 2),                                                              \
    PART("mlp.Wi", "ffn.in", 1, 2),                                                                \
    LAYER("mlp.Wo", "ffn.out"),                                                                    \
    OA_PAIR("model.final_norm", "encoder.norm"),                                                   \
    OA_PAIR("head.dense", "head"),                                                                 \
    OA_PAIR("head.norm", "head.norm")
/* clang-format on */

static const struct oa_family_tensor tensors[] = {
    TENSORS,
    OA_WHOLE("decoder.bias", "output.bias"),
    OA_WHOLE("decoder.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const struct oa_family_tensor classifier_tensors[] = {
    TENSORS,
    OA_PAIR("classifier", "classifier"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { "model.layers.#.attn.rotary_emb.inv_freq", NULL };

/* ---- config.json ---- */

/* Each kind of layers has biases or not. */
static void read_biases(struct oa_hf_config *h)
{
    static const struct {
        const char *key, *ours;
    } kinds[] = { { "attention_bias", "attention." },
                  { "mlp_bias", "ffn." },
                  { "norm_bias", "norm." },
                  { "classifier_bias", "head.bias" } };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    int absent = 0;
    for (int i = 0; i < KINDS; i++)
        if (!oa_hf_flag(h, kinds[i].key, false))
            h->absent_biases[absent++] = kinds[i].ours;
    oa_hf_set_flag(h, "model.bias", absent < KINDS);
}

static bool modernbert_is_local(const struct oa_hf_config *h, long layer)
{
    return oa_hf_sliding(h, layer, layer % oa_hf_count(h, "global_attn_every_n_layers", 3) != 0);
}

/* The base in layers of a type, from rope_parameters or from the key of transformers 4. */
static double rotary_base_of(const struct oa_hf_config *h, const char *type, const char *older,
                             double fallback)
{
    struct oa_hf_config r = *h;
    r.root = json_object_get(json_object_get(h->root, "rope_parameters"), type);
    if (!json_is_object(r.root))
        return oa_hf_real(h, older, fallback);
    if (strcmp(oa_hf_word(&r, "rope_type", "default"), "default") != 0)
        oa_hf_refuse(h, "rope_parameters", "of this family rope_type \"default\" is");
    return oa_hf_real(&r, "rope_theta", fallback);
}

static void read_positions(struct oa_hf_config *h)
{
    long context = oa_hf_count(h, "max_position_embeddings", 8192),
         window = oa_hf_count(h, "local_attention", 128) / 2;
    oa_hf_set_count(h, "model.context", context);
    oa_hf_set(h, "model.position", "rotary");
    oa_hf_set_real(h, "model.rotary_base",
                   rotary_base_of(h, "full_attention", "global_rope_theta", 160000));
    oa_hf_set_real(h, "model.local_rotary_base",
                   rotary_base_of(h, "sliding_attention", "local_rope_theta", 10000));
    if (window < 1)
        oa_hf_refuse(h, "local_attention", "at least 2 is");
    oa_hf_set_attention(h, modernbert_is_local, window < context ? window : context - 1,
                        h->options->model_heads, "");
}

static void read_modernbert(struct oa_hf_config *h)
{
    oa_hf_set_encoder(h, "ModernBert", false);
    oa_hf_set_count(h, "model.width", oa_hf_count(h, "hidden_size", 768));
    oa_hf_set_count(h, "model.heads", oa_hf_count(h, "num_attention_heads", 12));
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "num_hidden_layers", 22));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "intermediate_size", 1152));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", 50368));
    oa_hf_set_real(h, "model.norm_epsilon", oa_hf_real(h, "norm_eps", 1e-5));
    oa_hf_set(h, "model.embedding_norm", "true");
    oa_hf_set(h, "model.first_norm", "false");
    oa_hf_set(h, "model.ffn_gate", "true");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
    read_biases(h);
    read_positions(h);
    oa_hf_set_activation(h, "classifier_activation", "gelu");
    oa_hf_set_head(h, oa_option_word("model.activation", (int)h->options->model_activation).s);
    oa_hf_set(h, "model.head_norm", "true");
    if (h->form->output == OA_OUTPUT_TOKENS)
        oa_hf_set_flag(h, "model.output_bias", oa_hf_flag(h, "decoder_bias", true));
    else
        oa_hf_set(h, "model.pool", oa_hf_word(h, "classifier_pooling", "cls"));
    oa_hf_set_activation(h, "hidden_activation", "gelu");
}

const struct oa_model_family oa_family_modernbert = {
    .type = "modernbert",
    .prefix = "model.",
    .tensors = tensors,
    .classifier_tensors = classifier_tensors,
    .ignored = ignored,
    .read = read_modernbert,
};
