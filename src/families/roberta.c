/* SPDX-License-Identifier: Apache-2.0
 * RoBERTa (Liu et al. 2019): BERT whose first position is the row after the id of the padding
 * token, and whose classifier contains the pooler. */
#include "families/bert_tensors.h"

#define POSITIONS                                                                                  \
    OA_AFTER(OA_FIRST_POSITION, "roberta.embeddings.position_embeddings.weight", "position.weight")

static const struct oa_family_tensor tensors[] = {
    OA_BERT_TENSORS("roberta."),
    POSITIONS,
    OA_PAIR("lm_head.dense", "head"),
    OA_PAIR("lm_head.layer_norm", "head.norm"),
    OA_READ("lm_head.decoder.bias", "output.bias"), /* the same where weights are tied */
    OA_WHOLE("lm_head.bias", "output.bias"),
    OA_WHOLE("lm_head.decoder.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const struct oa_family_tensor classifier_tensors[] = {
    OA_BERT_TENSORS("roberta."),
    POSITIONS,
    OA_PAIR("classifier.dense", "head"),
    OA_PAIR("roberta.pooler.dense", "head"), /* of the bare model */
    OA_PAIR("classifier.out_proj", "classifier"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { "roberta.embeddings.position_ids",
                                       "roberta.pooler.dense.weight", "roberta.pooler.dense.bias",
                                       NULL };

static void read_roberta(struct oa_hf_config *h)
{
    oa_hf_set_bert(h, "Roberta", 50265);
    const json_t *padding = json_object_get(h->root, "pad_token_id");
    long rows = oa_hf_count(h, "max_position_embeddings", 512);
    h->first_position = 1 + (padding ? (long)json_integer_value(padding) : 1);
    if (padding && (!json_is_integer(padding) || h->first_position < 1))
        oa_hf_refuse(h, "pad_token_id", "positions begin behind it");
    else if (rows <= h->first_position)
        oa_hf_refuse(h, "max_position_embeddings", "more rows than pad_token_id + 1 are");
    else
        oa_hf_set_count(h, "model.context", rows - h->first_position);
    if (h->form->output == OA_OUTPUT_TOKENS) /* whatever the activation */
        oa_hf_set(h, "model.head", "gelu-exact");
}

const struct oa_model_family oa_family_roberta = {
    .type = "roberta",
    .prefix = "roberta.",
    .tensors = tensors,
    .classifier_tensors = classifier_tensors,
    .ignored = ignored,
    .read = read_roberta,
};
