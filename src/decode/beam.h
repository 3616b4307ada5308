/* SPDX-License-Identifier: Apache-2.0
 *
 * Beam search: the sequences that a model finds likeliest, looked for among a few at a time.
 */
#ifndef ORTHANT_DECODE_BEAM_H
#define ORTHANT_DECODE_BEAM_H

#include "base/base.h"

struct oa_beam {
    int width;             /* sequences of a source that are followed at once; 1: greedy */
    int best;              /* hypotheses wanted of each source, no more than width */
    double length_penalty; /* hypotheses are ranked by log p / length^penalty; 0: by log p */
    bool patient; /* go on until no open sequence can come to rank among the best; false: until
                     `width` ended */
    int32_t begin, end; /* tokens that stand before and behind every sequence */
    long vocabulary;
};

struct oa_hypothesis {
    int32_t *ids; /* [count], without begin and end */
    int count;
    double score; /* log p of the ids and of the end after them, nats */
    double rank;  /* score / (count + 1)^length_penalty */
    bool cut; /* the longest that was allowed: it has no end, and score is without one; none of its
                 source has */
};

/* The model: log-odds [rows, vocabulary] of what follows, real numbers or −∞, and sums [rows], log
 * Σ exp of each row. Row r goes on with the token ids[r] what row parent[r] of the call before was
 * (−1: a new sequence, of source source[r]). Rows of a source stand together. */
typedef enum oa_error oa_beam_model(void *argument, int rows, const int *source, const int *parent,
                                    const int32_t *ids, float *logits, double *sums);

/* out [sources][best], freed by oa_hypotheses_free: best ranked first; a source of which fewer were
 * found has count −1 in the rest. longest [sources]: tokens at most, the end apart. The result of a
 * source is a function of its rows of log-odds alone: other sources beside it do not matter. Ties
 * go to the earlier parent, then to the lower id. Finished are candidates that end and are among
 * the `width` best of their source at that length. */
enum oa_error oa_beam_search(oa_context *c, const struct oa_beam *how, int sources,
                             const int *longest, oa_beam_model *model, void *argument,
                             struct oa_hypothesis *out);
void oa_hypotheses_free(struct oa_hypothesis *h, int count);

#endif
