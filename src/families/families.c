/* SPDX-License-Identifier: Apache-2.0 */
#include "families/families.h"

#include <string.h>

#define OA_FAMILY(name) extern const struct oa_model_family oa_family_##name;
#include "families/families.def"
#undef OA_FAMILY

static const struct oa_model_family *const families[] = {
#define OA_FAMILY(name) &oa_family_##name,
#include "families/families.def"
#undef OA_FAMILY
};

const struct oa_model_family *oa_family_at(int i)
{
    return i >= 0 && i < (int)(sizeof families / sizeof *families) ? families[i] : NULL;
}

const struct oa_family_tensor *oa_family_tensors(const struct oa_model_family *f,
                                                 const struct oa_model_form *form,
                                                 const struct oa_options *o)
{
    if (o->model_ffn_gate && f->gated_tensors)
        return f->gated_tensors;
    return form->output != OA_OUTPUT_TOKENS && f->classifier_tensors ? f->classifier_tensors
                                                                     : f->tensors;
}

const struct oa_model_family *oa_family_find(const char *type)
{
    const struct oa_model_family *f;
    for (int i = 0; (f = oa_family_at(i)); i++)
        if (strcmp(f->type, type) == 0)
            return f;
    return NULL;
}
