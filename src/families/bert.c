/* SPDX-License-Identifier: Apache-2.0
 * BERT (Devlin et al. 2019): norms after the sums, types of tokens, before the output a layer of
 * its own, which for classes is the pooler. */
#include "base/json_write.h"
#include "families/bert_tensors.h"

#define POSITIONS OA_WHOLE("bert.embeddings.position_embeddings.weight", "position.weight")

static const struct oa_family_tensor tensors[] = {
    OA_BERT_TENSORS("bert."),
    POSITIONS,
    OA_BERT_PAIR("cls.predictions.transform.dense", "head"),
    OA_BERT_PAIR("cls.predictions.transform.LayerNorm", "head.norm"),
    OA_READ("cls.predictions.decoder.bias", "output.bias"), /* the same where weights are tied */
    OA_WHOLE("cls.predictions.bias", "output.bias"),
    OA_WHOLE("cls.predictions.decoder.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const struct oa_family_tensor classifier_tensors[] = {
    OA_BERT_TENSORS("bert."),
    POSITIONS,
    OA_BERT_PAIR("bert.pooler.dense", "head"),
    OA_BERT_PAIR("classifier", "classifier"),
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

void oa_hf_labels_write(oa_context *c, const struct oa_model_form *f, json_t *config)
{
    json_t *names = json_object(), *numbers = json_object();
    for (long i = 0; i < f->classes && f->labels; i++) {
        char number[32];
        snprintf(number, sizeof number, "%ld", i);
        oa_json_set(c, names, number, json_string(f->labels[i]));
        oa_json_set(c, numbers, f->labels[i], json_integer(i));
    }
    if (f->output == OA_OUTPUT_NUMBER) {
        oa_json_set(c, names, "0", json_string("LABEL_0"));
        oa_json_set(c, numbers, "LABEL_0", json_integer(0));
    }
    oa_json_set(c, config, "id2label", names);
    oa_json_set(c, config, "label2id", numbers);
    oa_json_set(
        c, config, "problem_type",
        json_string(f->output == OA_OUTPUT_NUMBER ? "regression" : "single_label_classification"));
}

static void write_bert(oa_context *c, const struct oa_exported *x, json_t *config)
{
    const struct oa_options *o = x->options;
    oa_json_set(c, config, "hidden_size", json_integer(o->model_width));
    oa_json_set(c, config, "num_attention_heads", json_integer(o->model_heads));
    oa_json_set(c, config, "num_hidden_layers", json_integer(o->model_layers));
    oa_json_set(c, config, "intermediate_size", json_integer(oa_ffn_width(o)));
    oa_json_set(c, config, "max_position_embeddings", json_integer(o->model_context));
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
