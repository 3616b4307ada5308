/* SPDX-License-Identifier: Apache-2.0
 * decode: from logits to the next token (sampling.c), and where a continuation ends (stop_texts.c).
 */
#ifndef ORTHANT_DECODE_H
#define ORTHANT_DECODE_H

#include "base/base.h"

struct oa_sampling {
    double temperature; /* 0: greedy */
    long top_k;         /* 0: no limit */
    double top_p;       /* 1: no limit */
    uint64_t seed;      /* of the stream "sample" */
};
struct oa_sampler;
enum oa_error oa_sampler_open(oa_context *c, const struct oa_sampling *how, long vocabulary,
                              struct oa_sampler **out);
void oa_sampler_close(struct oa_sampler *s);
enum oa_error oa_sampler_set(struct oa_sampler *s, const struct oa_sampling *how);
void oa_sampler_seed(struct oa_sampler *s, uint64_t seed); /* another stream */
/* Draw number `index` from the distribution of the logits [vocabulary]; −∞ is never drawn.
 * The token is a function of (seed, index, logits) alone. Nothing allocates. OA_DIVERGED when a
 * logit is NaN or +∞, or all are −∞. */
enum oa_error oa_sample(struct oa_sampler *s, const float *logits, uint64_t index, int32_t *token);

/* The number of bytes before the first stop text, none of which is empty; *found is its index. If
 * there is none, *found is -1 and the result excludes a suffix that may begin a stop text. */
size_t oa_before_stop(const char *text, size_t length, const char *const *stop, int stops,
                      int *found);

#endif
