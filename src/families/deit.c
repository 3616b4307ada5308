/* SPDX-License-Identifier: Apache-2.0
 * DeiT (Touvron et al. 2021): ViT with a distillation token after the class token. */
#include "families/vit_tensors.h"

static const struct oa_family_tensor tensors[] = {
    OA_VIT_TENSORS("deit."),
    OA_ROW(2, "deit.embeddings.distillation_token", "embedding.weight"),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { OA_VIT_IGNORED("deit."), NULL };

static void read_deit(struct oa_hf_config *h)
{
    oa_hf_set_vit(h, "DeiT", 2);
}

const struct oa_model_family oa_family_deit = {
    .type = "deit",
    .prefix = "deit.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_deit,
};
