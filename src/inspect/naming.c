/* SPDX-License-Identifier: Apache-2.0
 * Names of layers, tokens and fixed attentions. */
#include "inspect/inspect.h"

#include <string.h>

void oa_view_title(const struct oa_layer_view *v, struct oa_text *out)
{
    oa_text_printf(out, "%s layer %d%s", v->stack->shape.role, v->number + 1,
                   v->layer->shape.cross ? ", cross-attention" : "");
}

/* A source is read by an encoder next to a decoder, whose layers are causal or attend to it. */
static bool reads_source(const struct oa_inspected *s, const struct oa_layer_view *v)
{
    return s->source && !v->layer->shape.causal && !v->layer->shape.cross;
}

const struct oa_token_names *oa_view_queries(const struct oa_inspected *s,
                                             const struct oa_layer_view *v)
{
    return reads_source(s, v) ? s->source : s->queries;
}

const struct oa_token_names *oa_view_keys(const struct oa_inspected *s,
                                          const struct oa_layer_view *v)
{
    return v->layer->shape.cross || reads_source(s, v) ? s->source : s->queries;
}

long oa_inspection_heads(const struct oa_inspection *what)
{
    long count = 0;
    for (int i = 0; i < what->layers; i++)
        count += what->layer[i].layer->shape.heads;
    return count;
}

const char *oa_fixed_name(const char *attention)
{
    return strcmp(attention, OA_UNIFORM_ATTENTION) == 0 ? "uniform" : attention;
}
