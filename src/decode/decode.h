/* SPDX-License-Identifier: Apache-2.0
 *
 * decode: from log-odds to the next token (sampling.c), and where a continuation ends
 * (stop_texts.c).
 */
#ifndef ORTHANT_DECODE_H
#define ORTHANT_DECODE_H

#include "base/base.h"

struct oa_sampling {
    double temperature; /* 0: the likeliest token */
    long top_k;         /* 0: no limit */
    double top_p;       /* 1: no limit */
    uint64_t seed;      /* of the stream "sample" */
};
struct oa_sampler;
enum oa_error oa_sampler_open(oa_context *c, const struct oa_sampling *how, long vocabulary,
                              struct oa_sampler **out);
void oa_sampler_close(struct oa_sampler *s);
void oa_sampler_seed(struct oa_sampler *s, uint64_t seed); /* another stream */
/* Draw number `index` from the distribution that the logits [vocabulary] mean; −∞ is never drawn.
 * The token is a function of (seed, index, logits) alone. Nothing allocates. OA_DIVERGED when a
 * logit is NaN or +∞, or all are −∞. */
enum oa_error oa_sample(struct oa_sampler *s, const float *logits, uint64_t index, int32_t *token);

/* How many bytes of a text stand before the first of the stop texts (none of them empty), and which
 * it is: *found. When none is there, *found is -1 and the bytes are those that no stop text can
 * begin in, whatever follows. */
size_t oa_before_stop(const char *text, size_t length, const char *const *stop, int stops,
                      int *found);

#endif
