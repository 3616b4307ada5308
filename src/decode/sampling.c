/* SPDX-License-Identifier: Apache-2.0
 * Sampling: p_i ∝ exp(logit_i / temperature), restricted to the top k tokens (Fan et al. 2018,
 * arXiv 1805.04833), of these to the smallest set with probability top_p (nucleus sampling,
 * Holtzman et al. 2020, arXiv 1904.09751), then renormalised. Ties are ordered by id.
 *
 * Weights exp((logit − best) / temperature) are floats, made by the vectors of the kernels, and
 * their sums are in double. Only tokens that can remain after top_k and top_p are sorted. */
#include "decode/decode.h"

#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 256, LANES = 16 }; /* tokens per partial sum; elements of a vector */

struct sampling_candidate {
    float logit;
    int32_t token;
};

struct oa_sampler {
    oa_context *context;
    struct oa_sampling how;
    struct oa_stream stream;
    long vocabulary;
    void (*exponentials)(long rows, long cols, double scale, const int32_t *low,
                         const int32_t *high, const void *lse, void *s, long lds);
    float *weight;                        /* [vocabulary] */
    struct sampling_candidate *candidate; /* [vocabulary]; NULL: not needed so far */
};

static bool cuts_candidates(const struct oa_sampling *how)
{
    return how->top_k > 0 || how->top_p < 1;
}

enum oa_error oa_sampler_open(oa_context *c, const struct oa_sampling *how, long vocabulary,
                              struct oa_sampler **out)
{
    struct oa_kernels k;
    struct oa_sampler *s = oa_alloc(c, sizeof *s);
    *out = s;
    if (!s)
        return OA_NO_MEMORY;
    oa_kernels_init(&k, OA_PRECISION_F32, oa_context_isa(c), oa_context_cpu(c));
    *s = (struct oa_sampler){ .context = c,
                              .vocabulary = vocabulary,
                              .exponentials = k.softmax_again };
    s->weight = oa_alloc(c, (size_t)vocabulary * sizeof *s->weight);
    return s->weight ? oa_sampler_set(s, how) : OA_NO_MEMORY;
}

void oa_sampler_close(struct oa_sampler *s)
{
    if (!s)
        return;
    oa_free(s->weight);
    oa_free(s->candidate);
    oa_free(s);
}

enum oa_error oa_sampler_set(struct oa_sampler *s, const struct oa_sampling *how)
{
    s->how = *how;
    oa_sampler_seed(s, how->seed);
    if (cuts_candidates(how) && !s->candidate)
        s->candidate = oa_alloc(s->context, (size_t)s->vocabulary * sizeof *s->candidate);
    return s->candidate || !cuts_candidates(how) ? OA_OK : OA_NO_MEMORY;
}

void oa_sampler_seed(struct oa_sampler *s, uint64_t seed)
{
    s->how.seed = seed;
    s->stream = oa_stream_named(seed, "sample");
}

/* ---- weights ---- */

/* The largest logit; −∞ if one is NaN or +∞, or all are −∞. */
static float find_best_logit(const float *logits, long count)
{
    float best[LANES], top = -INFINITY;
    int bad[LANES] = { 0 }, any = 0;
    long i = 0;
    for (int k = 0; k < LANES; k++)
        best[k] = -INFINITY;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++) {
            best[k] = logits[i + k] > best[k] ? logits[i + k] : best[k];
            bad[k] |= !(logits[i + k] < INFINITY);
        }
    for (; i < count; i++) {
        best[0] = logits[i] > best[0] ? logits[i] : best[0];
        bad[0] |= !(logits[i] < INFINITY);
    }
    for (int k = 0; k < LANES; k++) {
        top = best[k] > top ? best[k] : top;
        any |= bad[k];
    }
    return any ? -INFINITY : top;
}

/* exp((logit − best) / temperature) of all tokens. */
static void make_weights(struct oa_sampler *s, const float *logits, float best)
{
    const int32_t low = 0, high = (int32_t)s->vocabulary;
    const float zero = 0;
    long i = 0;
    for (; i + LANES <= s->vocabulary; i += LANES)
        for (int k = 0; k < LANES; k++)
            s->weight[i + k] = logits[i + k] - best;
    for (; i < s->vocabulary; i++)
        s->weight[i] = logits[i] - best;
    s->exponentials(1, s->vocabulary, 1 / s->how.temperature, &low, &high, &zero, s->weight,
                    s->vocabulary);
}

static double add_weights(const float *weight, long count)
{
    double sum[LANES] = { 0 }, all = 0;
    long i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += (double)weight[i + k];
    for (; i < count; i++)
        sum[0] += (double)weight[i];
    for (int k = 0; k < LANES; k++)
        all += sum[k];
    return all;
}

static double add_all_weights(const struct oa_sampler *s)
{
    double sum = 0;
    for (long i = 0; i < s->vocabulary; i += BLOCK)
        sum += add_weights(s->weight + i, oa_min(BLOCK, s->vocabulary - i));
    return sum;
}

/* The token at `rest` in the cumulative sum of weights; the last one with a weight where rounding
 * has moved `rest` past the end. */
static int32_t draw_of_all(const struct oa_sampler *s, double rest)
{
    for (long i = 0; i < s->vocabulary; i += BLOCK) {
        long end = oa_min(i + BLOCK, s->vocabulary);
        double block = add_weights(s->weight + i, end - i);
        if (rest >= block) {
            rest -= block;
            continue;
        }
        for (long k = i; k < end; k++) {
            rest -= (double)s->weight[k];
            if (rest < 0)
                return (int32_t)k;
        }
        rest = 0;
    }
    long last = s->vocabulary - 1;
    while (!(s->weight[last] > 0))
        last--;
    return (int32_t)last;
}

/* ---- top_k and top_p ---- */

/* By decreasing logit, then by id. */
static int compare_candidates(const void *a, const void *b)
{
    const struct sampling_candidate *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

/* The tokens whose logit is at least `least`, and more than −∞. */
static long list_candidates(struct oa_sampler *s, const float *logits, double least)
{
    long count = 0;
    for (long i = 0; i < s->vocabulary; i++)
        if ((double)logits[i] >= least && logits[i] > -INFINITY)
            s->candidate[count++] = (struct sampling_candidate){ logits[i], (int32_t)i };
    return count;
}

static double add_candidates(const struct oa_sampler *s, long count)
{
    double sum = 0;
    for (long i = 0; i < count; i++)
        sum += (double)s->weight[s->candidate[i].token];
    return sum;
}

/* Moves the `most` best candidates to the beginning (Hoare's selection). */
static void select_candidates(struct sampling_candidate *c, long count, long most)
{
    for (long low = 0, high = count - 1; low < high;) {
        const struct sampling_candidate pivot = c[(low + high) / 2];
        long i = low, j = high;
        while (i <= j) {
            while (compare_candidates(&c[i], &pivot) < 0)
                i++;
            while (compare_candidates(&pivot, &c[j]) < 0)
                j--;
            if (i > j)
                break;
            const struct sampling_candidate first = c[i];
            c[i++] = c[j];
            c[j--] = first;
        }
        if (most <= j)
            high = j;
        else if (most >= i)
            low = i;
        else
            return;
    }
}

/* All candidates that can remain after top_p: those within a distance of the best logit, which
 * grows until they have the share top_p of the sum of all weights. */
static long take_likely(struct oa_sampler *s, const float *logits, double best, double all)
{
    for (double distance = 4;; distance *= 2) {
        bool last = distance > 1000;
        long count =
            list_candidates(s, logits, last ? -INFINITY : best - distance * s->how.temperature);
        if (last || add_candidates(s, count) >= s->how.top_p * all)
            return count;
    }
}

/* The number of first candidates with share top_p of *sum, which becomes their weight. */
static long cut_nucleus(const struct oa_sampler *s, long count, double *sum)
{
    double wanted = s->how.top_p * *sum, have = 0;
    for (long i = 0; i < count; i++) {
        have += (double)s->weight[s->candidate[i].token];
        if (have >= wanted) {
            *sum = have;
            return i + 1;
        }
    }
    *sum = have;
    return count;
}

/* Draws among the tokens that remain after top_k and top_p. uniform: in [0, 1). */
static int32_t draw_of_some(struct oa_sampler *s, const float *logits, double best, double uniform)
{
    const long top_k = s->how.top_k;
    double sum = top_k > 0 ? 0 : add_all_weights(s);
    long count =
        top_k > 0 ? list_candidates(s, logits, -INFINITY) : take_likely(s, logits, best, sum);
    if (top_k > 0) {
        select_candidates(s->candidate, count, top_k);
        count = oa_min(count, top_k);
    }
    qsort(s->candidate, (size_t)count, sizeof *s->candidate, compare_candidates);
    if (top_k > 0)
        sum = add_candidates(s, count);
    if (s->how.top_p < 1)
        count = cut_nucleus(s, count, &sum);
    double rest = uniform * sum;
    for (long i = 0; i < count - 1; i++) {
        rest -= (double)s->weight[s->candidate[i].token];
        if (rest < 0)
            return s->candidate[i].token;
    }
    return s->candidate[count - 1].token;
}

enum oa_error oa_sample(struct oa_sampler *s, const float *logits, uint64_t index, int32_t *token)
{
    float best = find_best_logit(logits, s->vocabulary);
    if (best == -INFINITY)
        return oa_fail(s->context, OA_DIVERGED, "the model's logits for token %llu are not finite",
                       (unsigned long long)index);
    if (s->how.temperature == 0) {
        for (*token = 0; logits[*token] != best; ++*token)
            ;
        return OA_OK;
    }
    make_weights(s, logits, best);
    double uniform = oa_random_uniform(s->stream, index);
    *token = cuts_candidates(&s->how) ? draw_of_some(s, logits, (double)best, uniform)
                                      : draw_of_all(s, uniform * add_all_weights(s));
    return OA_OK;
}
