/* SPDX-License-Identifier: Apache-2.0
 * BERT (Devlin et al. 2019): norms after the sums, types of tokens, before the output a layer of
 * its own, which for classes is the pooler. */
#include "base/json_write.h"
#include "families/bert_tensors.h"

#define POSITIONS OA_WHOLE("bert.embeddings.position_embeddings.weight", "position.weight")

static const struct oa_family_tensor tensors[] = {
    OA_BERT_TENSORS("bert."),
    POSITIONS,
    OA_PAIR("cls.predictions.transform.dense", "head"),
    OA_PAIR("cls.predictions.transform.LayerNorm", "head.norm"),
    OA_READ("cls.predictions.decoder.bias", "output.bias"), /* the same where weights are tied */
    OA_WHOLE("cls.predictions.bias", "output.bias"),
    OA_WHOLE("cls.predictions.decoder.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const struct oa_family_tensor classifier_tensors[] = {
    OA_BERT_TENSORS("bert."),
    POSITIONS,
    OA_PAIR("bert.pooler.dense", "head"),
    OA_PAIR("classifier", "classifier"),
    OA_LAST_TENSOR,
};

/* What a masked language model may have from training that asked whether a text follows another. */
static const char *const ignored[] = {
    "bert.embeddings.position_ids", "bert.pooler.dense.weight",  "bert.pooler.dense.bias",
    "cls.seq_relationship.weight",  "cls.seq_relationship.bias", NULL
};

static void read_bert_config(struct oa_hf_config *h)
{
    oa_hf_set_bert(h, "Bert", 30522);
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "max_position_embeddings", 512));
}

static const char *bert_refuses(const struct oa_exported *x)
{
    const struct oa_options *o = x->options;
    bool tokens = x->form->output == OA_OUTPUT_TOKENS,
         table = o->model_position == OA_POSITION_LEARNED ||
                 o->model_position == OA_POSITION_SINUSOIDAL;
    struct oa_choice_word activation = oa_option_word("model.activation", (int)o->model_activation);
    int head = tokens ? oa_option_choice("model.head", activation.s) : (int)OA_HEAD_TANH;
    return !table                                    ? "model.position"
           : o->model_norm != OA_NORM_POST           ? "model.norm"
           : o->model_norm_kind != OA_NORM_LAYER     ? "model.norm_kind"
           : !o->model_embedding_norm                ? "model.embedding_norm"
           : o->model_ffn_gate                       ? "model.ffn_gate"
           : o->model_head_width                     ? "model.head_width"
           : (int)o->model_head != head              ? "model.head"
           : o->model_head_norm != tokens            ? "model.head_norm"
           : !tokens && o->model_pool != OA_POOL_CLS ? "model.pool"
           : x->window || x->keys != o->model_heads  ? "model.attention"
                                                     : NULL;
}

static void write_bert(oa_context *c, const struct oa_exported *x, json_t *config)
{
    const struct oa_options *o = x->options;
    oa_hf_sizes_write(c, o, config);
    oa_json_set(c, config, "type_vocab_size",
                json_integer(o->model_segments ? o->model_segments : 2));
    oa_json_set(c, config, "layer_norm_eps", json_real(o->model_norm_epsilon));
    oa_json_set(c, config, "hidden_act", json_string(oa_hf_activation((int)o->model_activation)));
    if (x->form->output != OA_OUTPUT_TOKENS)
        oa_hf_labels_write(c, x->form, config);
}

const struct oa_model_family oa_family_bert = {
    .type = "bert",
    .prefix = "bert.",
    .tensors = tensors,
    .classifier_tensors = classifier_tensors,
    .ignored = ignored,
    .zero_biases = true,
    .encoder = true,
    .class = "BertForMaskedLM",
    .classifier = "BertForSequenceClassification",
    .refuses = bert_refuses,
    .write = write_bert,
    .read = read_bert_config,
};
