/* SPDX-License-Identifier: Apache-2.0
 * What layers and tokens are called, and the order of heads. */
#include "inspect/inspect.h"

void oa_view_title(const struct oa_layer_view *v, struct oa_text *out)
{
    oa_text_printf(out, "%s layer %d%s", v->stack->shape.role, v->number + 1,
                   v->layer->shape.cross ? ", cross-attention" : "");
}

/* A source is read by an encoder beside a decoder, whose layers are causal or attend to it. */
static bool reads_source(const struct oa_inspected *s, const struct oa_layer_view *v)
{
    return s->source && !v->layer->shape.causal && !v->layer->shape.cross;
}

const struct oa_token_names *oa_view_queries(const struct oa_inspected *s, const struct oa_layer_view *v)
{
    return reads_source(s, v) ? s->source : s->queries;
}

const struct oa_token_names *oa_view_keys(const struct oa_inspected *s, const struct oa_layer_view *v)
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

static long place_in_order(const struct oa_inspection *what, const struct oa_head_place *sorted, long count,
                           double covered)
{
    long at = count;
    while (at > 0 && what->layer[sorted[at - 1].layer].head[sorted[at - 1].head].covered < covered)
        at--;
    return at;
}

long oa_inspection_ranking(const struct oa_inspection *what, struct oa_head_place *out)
{
    long count = 0;
    for (int i = 0; i < what->layers; i++) {
        for (long h = 0; h < what->layer[i].layer->shape.heads; h++) {
            if (!oa_view_group(&what->layer[i], h)->mechanism->weights)
                continue;
            long at = place_in_order(what, out, count, what->layer[i].head[h].covered);
            for (long k = count; k > at; k--)
                out[k] = out[k - 1];
            out[at] = (struct oa_head_place){ i, h };
            count++;
        }
    }
    return count;
}
