/* SPDX-License-Identifier: Apache-2.0
 * Weights over a band of keys (band.cl). */
#include "device/gpu/gpu.h"

enum { BAND_TILE = 16, BAND_COLS = 64, LOGIT_ROWS = 64 /* rows a group sums */ };

struct band_weights { /* of band.cl */
    long batch, queries, keys, heads, values, causal, first;
    long taps, before, reach, renormalise, tokens;
    double offset, sigma;
    const void *query_lengths, *key_lengths, *logits;
    void *dlogits;
    const void *v;
    void *dv, *o;
    const void *d_o;
    void *rows, *sums;
    long ldlogits, ldv, ldo, run;
};

static struct band_weights band_weights_of(const struct oa_band *a)
{
    const struct oa_attention_shape *s = &a->shape;
    return (struct band_weights){ .batch = s->batch,
                                  .queries = s->queries,
                                  .keys = s->keys,
                                  .heads = s->heads,
                                  .values = s->value_width,
                                  .causal = s->causal,
                                  .first = s->first,
                                  .taps = a->taps,
                                  .before = a->before,
                                  .reach = a->taps ? 0 : oa_band_reach(a->sigma),
                                  .renormalise = a->renormalise,
                                  .tokens = a->tokens,
                                  .offset = a->offset,
                                  .sigma = a->sigma,
                                  .query_lengths = s->query_lengths,
                                  .key_lengths = s->key_lengths,
                                  .logits = a->logits,
                                  .dlogits = a->dlogits,
                                  .v = a->v,
                                  .dv = a->dv,
                                  .o = a->o,
                                  .d_o = a->d_o,
                                  .ldlogits = a->ldlogits,
                                  .ldv = a->ldv,
                                  .ldo = a->ldo,
                                  .run = LOGIT_ROWS };
}

/* Takes scratch; false after a failure. */
static bool make_band_statistics(struct oa_device *d, struct band_weights *s)
{
    long rows = s->batch * s->heads * s->queries;
    s->rows = oa_gpu_take_reals(d, 2 * rows);
    if (s->rows)
        OA_GPU_INDIRECT(d, band_statistics, oa_blocks(rows, OA_GPU_GROUP), 1, OA_GPU_STRUCT(*s));
    return s->rows;
}

void oa_gpu_band(struct oa_device *d, const struct oa_band *a)
{
    struct band_weights s = band_weights_of(a);
    size_t mark = oa_gpu_mark(d);
    if (make_band_statistics(d, &s))
        OA_GPU_INDIRECT(d, band_outputs,
                        s.batch * s.heads * oa_blocks(s.queries, BAND_TILE) *
                            oa_blocks(s.values, BAND_COLS),
                        1, OA_GPU_STRUCT(s));
    oa_gpu_give_back(d, mark);
}

static void band_logits_of_filters(struct oa_device *d, struct band_weights *s)
{
    long wide = 1, blocks = oa_blocks(s->queries, s->run), groups = s->batch * s->heads * blocks;
    while (wide < OA_GPU_GROUP && wide < s->taps)
        wide *= 2;
    long parts = OA_GPU_GROUP / wide; /* of a group */
    if (!s->tokens) {
        s->sums = oa_gpu_take(d, (size_t)(groups * parts * s->taps) * sizeof(double));
        if (!s->sums)
            return;
    }
    OA_GPU_INDIRECT(d, band_logit_gradient, groups, 1, OA_GPU_STRUCT(*s));
    if (!s->tokens)
        OA_GPU_INDIRECT(d, add_band_logits, oa_blocks(s->heads * s->taps, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(*s), OA_GPU_LONG(blocks * parts));
}

void oa_gpu_band_gradient(struct oa_device *d, const struct oa_band *a)
{
    struct band_weights s = band_weights_of(a);
    size_t mark = oa_gpu_mark(d);
    if ((a->dv || a->dlogits) && make_band_statistics(d, &s)) {
        if (a->dv)
            OA_GPU_INDIRECT(d, band_value_gradient,
                            s.batch * s.heads * oa_blocks(s.keys, BAND_TILE) *
                                oa_blocks(s.values, BAND_COLS),
                            1, OA_GPU_STRUCT(s));
        if (a->dlogits && a->taps)
            band_logits_of_filters(d, &s);
    }
    oa_gpu_give_back(d, mark);
}
