/* SPDX-License-Identifier: Apache-2.0
 * Sampling: p_i ∝ exp(logit_i / temperature), restricted to the top k tokens (Fan et al. 2018,
 * arXiv 1805.04833), of these to the smallest set with probability top_p (nucleus sampling,
 * Holtzman et al. 2020, arXiv 1904.09751), then renormalised. Ties are ordered by id. Sums are in
 * double, largest first. */
#include "decode/decode.h"

#include <math.h>
#include <stdlib.h>

struct sampling_candidate {
    double weight; /* logit, then exp((logit − best) / temperature) */
    int32_t token;
};

struct oa_sampler {
    oa_context *context;
    struct oa_sampling how;
    struct oa_stream stream;
    long vocabulary;
    struct sampling_candidate *candidate; /* [vocabulary] */
};

enum oa_error oa_sampler_open(oa_context *c, const struct oa_sampling *how, long vocabulary,
                              struct oa_sampler **out)
{
    struct oa_sampler *s = oa_alloc(c, sizeof *s);
    *out = s;
    if (!s)
        return OA_NO_MEMORY;
    *s = (struct oa_sampler){ .context = c,
                              .how = *how,
                              .stream = oa_stream_named(how->seed, "sample"),
                              .vocabulary = vocabulary };
    s->candidate = oa_alloc(c, (size_t)vocabulary * sizeof *s->candidate);
    return s->candidate ? OA_OK : OA_NO_MEMORY;
}

void oa_sampler_close(struct oa_sampler *s)
{
    if (!s)
        return;
    oa_free(s->candidate);
    oa_free(s);
}

void oa_sampler_set(struct oa_sampler *s, const struct oa_sampling *how)
{
    s->how = *how;
    s->stream = oa_stream_named(how->seed, "sample");
}

void oa_sampler_seed(struct oa_sampler *s, uint64_t seed)
{
    s->how.seed = seed;
    s->stream = oa_stream_named(seed, "sample");
}

/* By decreasing weight, then by id. */
static int compare_weights(const void *a, const void *b)
{
    const struct sampling_candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

/* Collects the finite logits; *best is the index of the largest. Returns their number, 0 on NaN or
 * +∞. */
static long collect_logits(struct oa_sampler *s, const float *logits, long *best)
{
    long count = 0;
    *best = 0;
    for (long i = 0; i < s->vocabulary; i++) {
        if (isnan(logits[i]) || (isinf(logits[i]) && logits[i] > 0))
            return 0;
        if (isinf(logits[i]))
            continue;
        s->candidate[count] =
            (struct sampling_candidate){ .weight = (double)logits[i], .token = (int32_t)i };
        if (s->candidate[count].weight > s->candidate[*best].weight)
            *best = count;
        count++;
    }
    return count;
}

static double softmax_weights(struct oa_sampler *s, long count, double best)
{
    double sum = 0;
    for (long i = 0; i < count; i++) {
        s->candidate[i].weight = exp((s->candidate[i].weight - best) / s->how.temperature);
        sum += s->candidate[i].weight;
    }
    return sum;
}

/* The number of first candidates with share top_p of *sum, which becomes their weight. */
static long cut_nucleus(const struct oa_sampler *s, long count, double *sum)
{
    double wanted = s->how.top_p * *sum, have = 0;
    for (long i = 0; i < count; i++) {
        have += s->candidate[i].weight;
        if (have >= wanted) {
            *sum = have;
            return i + 1;
        }
    }
    return count;
}

static int32_t draw_candidate(const struct oa_sampler *s, long count, double sum, uint64_t index)
{
    double rest = oa_random_uniform(s->stream, index) * sum;
    for (long i = 0; i < count - 1; i++) {
        rest -= s->candidate[i].weight;
        if (rest < 0)
            return s->candidate[i].token;
    }
    return s->candidate[count - 1].token;
}

enum oa_error oa_sample(struct oa_sampler *s, const float *logits, uint64_t index, int32_t *token)
{
    long best, count = collect_logits(s, logits, &best);
    bool cut = s->how.top_k > 0 || s->how.top_p < 1;
    if (!count)
        return oa_fail(s->context, OA_DIVERGED,
                       "the model's log-odds for token %llu are not finite",
                       (unsigned long long)index);
    if (s->how.temperature == 0) {
        *token = s->candidate[best].token;
        return OA_OK;
    }
    double top = s->candidate[best].weight;
    if (cut)
        qsort(s->candidate, (size_t)count, sizeof *s->candidate, compare_weights);
    if (s->how.top_k > 0 && s->how.top_k < count)
        count = s->how.top_k;
    double sum = softmax_weights(s, count, top);
    if (s->how.top_p < 1)
        count = cut_nucleus(s, count, &sum);
    *token = draw_candidate(s, count, sum, index);
    return OA_OK;
}
