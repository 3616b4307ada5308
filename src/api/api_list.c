/* SPDX-License-Identifier: Apache-2.0
 * list, explain: what the registry of mechanisms says. */
#include "api/api.h"

enum oa_error oa_list(oa_context *c, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_status(c));
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_attention_list_json(c, &t);
    else
        oa_attention_list(c, &t);
    return oa_emit(out, &t);
}

enum oa_error oa_list_markdown(oa_context *c, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_status(c));
    oa_text_init(&t, c);
    oa_attention_list_markdown(c, &t);
    return oa_emit(out, &t);
}

enum oa_error oa_explain(const oa_config *config, const char *spec, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_status(config->context));
    oa_text_init(&t, config->context);
    if (oa_wants_json(out))
        oa_attention_explain_json(config->context, spec, &config->options, &t);
    else
        oa_attention_explain(config->context, spec, &config->options, &t);
    return oa_emit(out, &t);
}

int oa_mechanism_describe(int i, const char **name, const char **title)
{
    const struct oa_mechanism *m = oa_mechanism_at(i);
    if (!m)
        return 0;
    *name = m->name;
    *title = m->title;
    return 1;
}
