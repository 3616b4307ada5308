/* SPDX-License-Identifier: Apache-2.0
 * config.json of a Hugging Face model. A key that is missing or null has the default of the class,
 * which the caller gives. Getters record a failure for a value of another kind, and return the
 * default; whoever reads checks the state of the context once. */
#ifndef ORTHANT_HF_CONFIG_H
#define ORTHANT_HF_CONFIG_H

#include "model/model.h"

#include <jansson.h>

enum { OA_HF_ABSENT = 8 };
struct oa_hf_config {
    oa_context *context;
    const char *path; /* for messages */
    json_t *root;
    struct oa_options *options; /* that the family sets */
    double query_factor; /* of query projections, where logits are not divided by √(head width) */
    /* Biases whose names contain one of these are 0; NULL: end of the list. */
    const char *absent_biases[OA_HF_ABSENT];
    long first_position;        /* row of the first position in the table of positions */
    long begin, end;            /* ids around a target, of encoder-decoders */
    struct oa_model_form *form; /* that of a language model, unless the family sets another one */
    struct oa_labels *labels;   /* of the classes, where there are some */
};
long oa_hf_count(const struct oa_hf_config *h, const char *key, long fallback);    /* at least 1 */
double oa_hf_real(const struct oa_hf_config *h, const char *key, double fallback); /* above 0 */
bool oa_hf_flag(const struct oa_hf_config *h, const char *key, bool fallback);
/* Borrowed from the file. */
const char *oa_hf_word(const struct oa_hf_config *h, const char *key, const char *fallback);

/* Records that the value of a key is not supported. why: "… is not supported: %s"; or NULL. */
void oa_hf_refuse(const struct oa_hf_config *h, const char *key, const char *why);
/* Refuses another value of a flag. */
void oa_hf_demand(const struct oa_hf_config *h, const char *key, bool fallback, bool wanted);
/* Refuses classes other than the language model and the bare model of that name ("GPT2"). */
void oa_hf_demand_language_model(const struct oa_hf_config *h, const char *name);

void oa_hf_set(const struct oa_hf_config *h, const char *option, const char *value);
void oa_hf_set_count(const struct oa_hf_config *h, const char *option, long value);
void oa_hf_set_real(const struct oa_hf_config *h, const char *option, double value);
void oa_hf_set_flag(const struct oa_hf_config *h, const char *option, bool value);
/* model.activation from a name of transformers. */
void oa_hf_set_activation(const struct oa_hf_config *h, const char *key, const char *fallback);
/* The same from the name in the value of a key, which is refused if it is unknown. */
void oa_hf_set_activation_word(const struct oa_hf_config *h, const char *key, const char *word);
/* The name in transformers of model.activation. */
const char *oa_hf_activation(int activation);
/* The form of an encoder-decoder of this class, data.task, and the ids around a target. */
void oa_hf_set_encoder_decoder(struct oa_hf_config *h, const char *name);
/* model.position=rotary with its base, share and scaling, by the keys of transformers 4 and 5. */
void oa_hf_set_rotary(const struct oa_hf_config *h, double base, double share);
/* What the class of a relative of Llama takes for keys that are missing. keys: heads of keys and
 * values, 0: as many as of queries; head_width 0: hidden / heads. */
struct oa_llama_defaults {
    long hidden, heads, keys, head_width, layers, ffn, context, vocabulary;
};
/* What they have in common: sizes, RMS norm, SwiGLU, rotary positions, tying. */
void oa_hf_set_llama(const struct oa_hf_config *h, const struct oa_llama_defaults *d);
/* num_key_value_heads. */
long oa_hf_keys(const struct oa_hf_config *h, const struct oa_llama_defaults *d);
/* model.attention: layer i is local(window) where local(h, i), otherwise softmax; with `keys` heads
 * of keys and values. options: such as "qknorm=rms", or "". */
typedef bool oa_hf_layer_is(const struct oa_hf_config *h, long layer);
void oa_hf_set_attention(const struct oa_hf_config *h, oa_hf_layer_is *local, long window,
                         long keys, const char *options);
oa_hf_layer_is oa_hf_never, oa_hf_always;
/* Whether a layer has a window by layer_types. older: the answer for files that lack it, by the
 * rule of their class. */
bool oa_hf_sliding(const struct oa_hf_config *h, long layer, bool older);

/* encoder_config.c */

/* The form and data.task by the class: NAMEForMaskedLM and NAMEForPreTraining, as the same;
 * NAMEForSequenceClassification and NAMEForImageClassification, with the classes of id2label;
 * NAMEModel, without an output. Others are refused. images: accept the classes for images instead
 * of those for texts. */
void oa_hf_set_encoder(const struct oa_hf_config *h, const char *name, bool images);
/* The layer before the output: of classes with `activation`, a word of model.head; of tokens with
 * model.activation and a norm. */
void oa_hf_set_head(const struct oa_hf_config *h, const char *activation);
/* Blocks of BERT: norms with this epsilon after the embedding and after each sum, biases. */
void oa_hf_set_post_norm(const struct oa_hf_config *h, double epsilon);
/* ViT and DeiT: NAMEForImageClassification; `leading` tokens before the patches. */
void oa_hf_set_vit(struct oa_hf_config *h, const char *name, long leading);
/* What BERT and RoBERTa have in common, all but the positions. */
void oa_hf_set_bert(const struct oa_hf_config *h, const char *name, long vocabulary);
/* Exporting: id2label, label2id and problem_type. */
void oa_hf_labels_write(oa_context *c, const struct oa_model_form *f, json_t *config);

#endif
