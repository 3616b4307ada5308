/* SPDX-License-Identifier: Apache-2.0
 * Private to src/data: which rows form each batch, epoch after epoch. Rows of a batch have similar
 * lengths. */
#ifndef ORTHANT_DATA_EXAMPLE_EPOCHS_H
#define ORTHANT_DATA_EXAMPLE_EPOCHS_H

#include "data/examples.h"

/* Rows in order of batches: batch i is row[start[i]] … row[start[i + 1] - 1]. */
struct oa_division {
    uint32_t *row;
    size_t *start;  /* [rows + 1] */
    uint32_t *turn; /* [rows] the batch that is i-th in the epoch */
    size_t batches;
    uint64_t epoch;
    bool made;
};

struct oa_epochs {
    oa_context *context;
    const struct oa_examples *examples;
    struct oa_example_batching how;
    struct oa_stream stream;
    uint32_t *sorted;           /* all rows by their lengths */
    uint64_t *key;              /* [rows] sort key: rows of the same key are in random order */
    struct oa_division held[2]; /* the last two epochs: a step may span both */
    uint64_t *first;            /* [known] number of the first batch of each epoch */
    size_t known, capacity;
};
enum oa_error oa_epochs_open(oa_context *c, const struct oa_examples *examples,
                             const struct oa_example_batching *how, struct oa_epochs *out);
void oa_epochs_close(struct oa_epochs *e);
/* The batches of an epoch, from 0; valid until two others were asked for. */
const struct oa_division *oa_epochs_at(struct oa_epochs *e, uint64_t epoch);
/* Batch `number` of the endless sequence of epochs: its epoch, and its index in it. NULL: no
 * memory. */
const struct oa_division *oa_epochs_find(struct oa_epochs *e, uint64_t number, size_t *batch);

enum oa_error oa_division_open(oa_context *c, size_t rows, struct oa_division *out);
void oa_division_close(struct oa_division *d);
/* Validation: the marked rows, by their lengths. */
void oa_division_chosen(const struct oa_epochs *e, const uint8_t *mark, struct oa_division *d);
/* Random permutation (Fisher and Yates). */
void oa_permute(struct oa_stream s, uint32_t *item, size_t count);

/* What a row of that length is padded to on its own; see oa_example_batching.alike. */
long oa_padded_length(const struct oa_example_batching *how, long length);

/* Input tokens. A target of n tokens is n - 1 inputs and n - 1 targets. */
static inline long oa_source_length(const struct oa_examples *e, size_t row)
{
    return (long)(e->source.start[row + 1] - e->source.start[row]);
}

static inline long oa_target_length(const struct oa_examples *e, size_t row)
{
    return e->target.start ? (long)(e->target.start[row + 1] - e->target.start[row]) - 1 : 0;
}

#endif
