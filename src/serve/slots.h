/* SPDX-License-Identifier: Apache-2.0
 * Slots: the sequences that are decoded at the same time, each with the caches of its own. In a
 * step every sequence that still reads its prompt reads a chunk, alone, and all others of a model
 * get a token each in one pass (oa_decodings_read). Chunks begin at multiples of their length, so
 * a sequence is computed as it is alone. */
#ifndef ORTHANT_SERVE_SLOTS_H
#define ORTHANT_SERVE_SLOTS_H

#include "serve/serve.h"

enum { OA_MOST_SEQUENCES = 256 };
struct oa_choice;

struct oa_slot {
    struct oa_served_model *model; /* whose decoding it is; NULL: none yet */
    struct oa_decoding decoding;
    struct oa_choice *choice; /* NULL: free */
};

struct oa_slots {
    oa_context *context;
    int count;
    struct oa_slot *slot;           /* [count] */
    struct oa_choice *first, *last; /* waiting for a slot */
    float *logits;                  /* [count, vocabulary], of the largest vocabulary */
    double steps, rows;             /* passes over several sequences, and their rows */
};

enum oa_error oa_slots_open(oa_context *c, int count, long vocabulary, struct oa_slots *out);
void oa_slots_close(struct oa_slots *s);                            /* also after an error */
void oa_slots_add(struct oa_slots *s, struct oa_choice *choice);    /* waits for a slot */
void oa_slots_remove(struct oa_slots *s, struct oa_choice *choice); /* wherever it is */
bool oa_slots_step(struct oa_slots *s);                             /* false: nothing to do */
void oa_slots_load(const struct oa_slots *s, int *running, int *waiting);

#endif
