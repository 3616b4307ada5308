/* SPDX-License-Identifier: Apache-2.0
 * Shared by softmax mechanisms: running one part of the logits through the logits engine, and the
 * scaled dot product of projected queries and keys. */
#include "attention/mechanism.h"

#include <math.h>

void oa_part_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                     oa_tensor *v, oa_tensor *o)
{
    struct oa_part_tensors part = { .kind = OA_PART_DOT };
    struct oa_attention_shape shape = oa_group_shape(g, in);
    struct oa_logits_rule rule = oa_group_rule(t, g, in);
    rule.last = true;
    g->mechanism->part(t, g, in, &part);
    oa_logits_op(t, &shape, &g->support, 1, &part, NULL, &rule, v, in->dropout, o);
}

void oa_dot_part(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                 struct oa_part_tensors *out)
{
    *out = (struct oa_part_tensors){ .kind = OA_PART_DOT,
                                     .scale = 1 / sqrt((double)g->shape.head_width),
                                     .width = g->shape.head_width };
    oa_project(t, g, in, &out->q, &out->k);
}

/* ---- size of decoding caches ---- */

static double cached_rows(const struct oa_group *g, long t)
{
    return (double)(g->key_heads *
                    (g->shape.cross ? t : oa_cache_live_rows(&g->support.horizon, t)));
}

double oa_dot_state(const struct oa_group *g, long t)
{
    return cached_rows(g, t) * (double)(g->shape.head_width + g->shape.value_width) +
           oa_forget_state(g, t);
}

double oa_value_state(const struct oa_group *g, long t)
{
    return cached_rows(g, t) * (double)g->shape.value_width + oa_forget_state(g, t);
}

double oa_sums_state(const struct oa_group *g, double features)
{
    return (double)g->key_heads * (features * (double)g->shape.value_width + features + 1);
}

/* ---- cost ---- */

double oa_visible_pairs(const struct oa_group *g, long queries, long keys)
{
    struct oa_attention_shape a = { .batch = 1,
                                    .queries = queries,
                                    .keys = keys,
                                    .heads = g->shape.heads,
                                    .causal = g->shape.causal };
    double pairs = 0;
    for (long h = 0; h < a.heads; h++)
        pairs += oa_support_pairs(&g->support, &a, h);
    return pairs;
}

double oa_dot_flops(const struct oa_group *g, long queries, long keys)
{
    double relative = oa_group_relative(g).kind != OA_RELATIVE_NONE;
    double forget = g->forget ? 2 : 0;
    double each =
        2 * (double)g->shape.head_width + 2 * (double)g->shape.value_width + 5 + relative + forget;
    return oa_visible_pairs(g, queries, keys) * each;
}
