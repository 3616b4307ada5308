/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to src/data: which rows are a batch. Rows of like length are cut into batches, epoch
 * after epoch.
 */
#ifndef ORTHANT_DATA_EXAMPLE_EPOCHS_H
#define ORTHANT_DATA_EXAMPLE_EPOCHS_H

#include "data/examples.h"

/* Rows in order of batches: batch i is row[start[i]] … row[start[i + 1] - 1]. */
struct oa_division {
    uint32_t *row;
    size_t *start;  /* [rows + 1] */
    uint32_t *turn; /* [rows] the batch that comes i-th */
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
    uint64_t *key;              /* [rows] of sorted: rows of the same key are in any order */
    struct oa_division held[2]; /* epochs: a step may begin in one and end in the next */
    uint64_t *first;            /* the number of the first batch of each epoch that was come to */
    size_t known, capacity;
};
enum oa_error oa_epochs_open(oa_context *c, const struct oa_examples *examples,
                             const struct oa_example_batching *how, struct oa_epochs *out);
void oa_epochs_close(struct oa_epochs *e);
/* The division of an epoch, from 0, valid until another one is asked for twice; NULL after a
 * failure. */
const struct oa_division *oa_epochs_at(struct oa_epochs *e, uint64_t epoch);
/* Batch `number` of the endless sequence: its division, and its place in it. */
const struct oa_division *oa_epochs_find(struct oa_epochs *e, uint64_t number, size_t *batch);

enum oa_error oa_division_open(oa_context *c, size_t rows, struct oa_division *out);
void oa_division_close(struct oa_division *d);
/* Validation: the rows that are marked, in the order of their lengths. */
void oa_division_chosen(const struct oa_epochs *e, const uint8_t *mark, struct oa_division *d);
/* Puts them into a random order. */
void oa_permute(struct oa_stream s, uint32_t *item, size_t count);

/* What a row of so many tokens is padded to, by itself, where batches are of rows that are alike.
 */
long oa_padded_length(const struct oa_example_batching *how, long length);

/* Tokens that are read. A target of n tokens is n - 1 to read and as many to predict. */
static inline long oa_source_length(const struct oa_examples *e, size_t row)
{
    return (long)(e->source.start[row + 1] - e->source.start[row]);
}

static inline long oa_target_length(const struct oa_examples *e, size_t row)
{
    return e->target.start ? (long)(e->target.start[row + 1] - e->target.start[row]) - 1 : 0;
}

#endif
