/* SPDX-License-Identifier: Apache-2.0
 * RoBERTa (Liu et al. 2019): BERT whose table of positions begins behind the number of the padding
 * token, and whose classifier has the pooler in it. */
#include "families/bert_tensors.h"

enum { PADDING = 1, BEFORE = PADDING + 1 }; /* rows of the table before the first position */

#define POSITIONS                                                                                  \
    OA_BEHIND(BEFORE, "roberta.embeddings.position_embeddings.weight", "position.weight")

static const struct oa_family_tensor tensors[] = {
    OA_BERT_TENSORS("roberta."),
    POSITIONS,
    OA_BERT_PAIR("lm_head.dense", "head"),
    OA_BERT_PAIR("lm_head.layer_norm", "head.norm"),
    OA_WHOLE("lm_head.bias", "output.bias"),
    OA_WHOLE("lm_head.decoder.bias", "output.bias"), /* the same, in older files */
    OA_WHOLE("lm_head.decoder.weight", "output.weight"),
    OA_LAST_TENSOR,
};

static const struct oa_family_tensor classifier_tensors[] = {
    OA_BERT_TENSORS("roberta."),
    POSITIONS,
    OA_BERT_PAIR("classifier.dense", "head"),
    OA_BERT_PAIR("classifier.out_proj", "classifier"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { "roberta.embeddings.position_ids",
                                       "roberta.pooler.dense.weight", "roberta.pooler.dense.bias",
                                       NULL };

static void read_roberta(struct oa_hf_config *h)
{
    oa_hf_set_bert(h, "Roberta", 50265);
    if (oa_hf_count(h, "pad_token_id", PADDING) != PADDING)
        oa_hf_refuse(h, "pad_token_id", "positions that begin behind 1 are");
    long rows = oa_hf_count(h, "max_position_embeddings", 512);
    if (rows <= BEFORE)
        oa_hf_refuse(h, "max_position_embeddings", "at least 3 is");
    oa_hf_set_count(h, "model.context", rows - BEFORE);
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
