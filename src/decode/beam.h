/* SPDX-License-Identifier: Apache-2.0
 * Beam search for the most probable sequences of a model. */
#ifndef ORTHANT_DECODE_BEAM_H
#define ORTHANT_DECODE_BEAM_H

#include "base/base.h"

struct oa_beam {
    int width;             /* open sequences per source; 1: greedy */
    int best;              /* hypotheses per source, at most width */
    double length_penalty; /* hypotheses are ranked by log p / length^penalty; 0: by log p */
    bool patient; /* stop when no open sequence can still rank among the best; false: when `width`
                     have ended */
    int32_t begin, end; /* tokens before and after every sequence */
    long vocabulary;
    int limit; /* most tokens with the end: sequences of this length are hypotheses, with or without
                  the end, as with max_new_tokens of transformers; 0: none */
};

struct oa_hypothesis {
    int32_t *ids; /* [count], without begin and end */
    int count;
    double score; /* log p of the ids and of the end after them, nats */
    double rank;  /* score / (count + 1)^length_penalty */
    bool cut;     /* reached the greatest length: neither ids nor score include the end; without
                     `limit` only if no sequence of the source has ended */
};

/* The model: logits [rows, vocabulary] of the next token, finite or −∞, and sums [rows], log Σ exp
 * of each row. Row r continues row parent[r] of the last call with token ids[r] (parent −1: a new
 * sequence of source[r]). Rows of a source are adjacent. */
typedef enum oa_error oa_beam_model(void *argument, int rows, const int *source, const int *parent,
                                    const int32_t *ids, float *logits, double *sums);

/* out [sources][best], best first, freed by oa_hypotheses_free; count −1 marks missing hypotheses.
 * longest [sources]: most tokens without the end. The result for a source depends on its logits
 * alone, not on other sources. Ties go to the earlier parent, then the lower id. A candidate with
 * the end token is finished if it is among the `width` best of its source. */
enum oa_error oa_beam_search(oa_context *c, const struct oa_beam *how, int sources,
                             const int *longest, oa_beam_model *model, void *argument,
                             struct oa_hypothesis *out);
void oa_hypotheses_free(struct oa_hypothesis *h, int count);

#endif
