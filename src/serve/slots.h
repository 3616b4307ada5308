/* SPDX-License-Identifier: Apache-2.0
 * Slots: the sequences that are decoded at the same time, each with its own caches. In a step,
 * sequences that still read their prompt take turns until OA_DECODING_CHUNK tokens have been read,
 * and every other sequence of a model gets one token.
 *
 * A prompt is read in chunks that begin at multiples of OA_DECODING_CHUNK, from the end of a stored
 * prefix on (prefixes.h). Chunks of at most OA_DECODING_TOGETHER tokens are read in the pass that
 * gives the other sequences their tokens (oa_decodings_read), longer ones in a pass of their own:
 * the results of a sequence are those that it has alone. A model that cannot decode token by token
 * reads its prompt in one pass. */
#ifndef ORTHANT_SERVE_SLOTS_H
#define ORTHANT_SERVE_SLOTS_H

#include "serve/prefixes.h"

enum { OA_MOST_SEQUENCES = 256 };
struct oa_choice;

struct oa_slot {
    struct oa_served_model *model; /* whose decoding it is; NULL: none yet */
    struct oa_decoding decoding;
    struct oa_sampler *sampler; /* for its vocabulary */
    struct oa_choice *choice;   /* NULL: free */
    long read;                  /* tokens of its prompt so far */
    long next;                  /* tokens of its prompt that the next pass reads; 0: none */
    struct oa_prefix_plan plan;
};

struct oa_slots {
    oa_context *context;
    int count;
    struct oa_slot *slot;           /* [count] */
    struct oa_choice *first, *last; /* waiting for a slot */
    float *logits;                  /* [count, vocabulary], of the largest vocabulary */
    int turn;                       /* slot that reads next */
    struct oa_prefixes prefixes;
    double steps, rows; /* passes over all sequences of a model, and these sequences */
};

/* prefix_bytes: most that the prefix cache takes. */
enum oa_error oa_slots_open(oa_context *c, int count, long vocabulary, size_t prefix_bytes,
                            struct oa_slots *out);
void oa_slots_close(struct oa_slots *s);                            /* also after an error */
void oa_slots_add(struct oa_slots *s, struct oa_choice *choice);    /* waits for a slot */
void oa_slots_remove(struct oa_slots *s, struct oa_choice *choice); /* wherever it is */
bool oa_slots_step(struct oa_slots *s);                             /* false: nothing to do */
void oa_slots_load(const struct oa_slots *s, int *running, int *waiting);

#endif
