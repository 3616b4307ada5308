/* SPDX-License-Identifier: Apache-2.0
 * ViT (Dosovitskiy et al. 2021): a class token, then the patches of an image. */
#include "families/vit_tensors.h"

static const struct oa_family_tensor tensors[] = {
    OA_VIT_TENSORS("vit."),
    OA_LAST_TENSOR,
};

static const char *const ignored[] = { OA_VIT_IGNORED("vit."), NULL };

static void read_vit(struct oa_hf_config *h)
{
    oa_hf_set_vit(h, "ViT", 1);
}

const struct oa_model_family oa_family_vit = {
    .type = "vit",
    .prefix = "vit.",
    .tensors = tensors,
    .ignored = ignored,
    .read = read_vit,
};
