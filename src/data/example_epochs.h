/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to src/data: which rows are a batch. Rows of like length are cut into batches, epoch after epoch.
 */
#ifndef ORTHANT_DATA_EXAMPLE_EPOCHS_H
#define ORTHANT_DATA_EXAMPLE_EPOCHS_H

#include "data/examples.h"

/* A row and what it is sorted by. */
struct oa_keyed_row {
    uint64_t key;
    uint32_t place, row;
};

/* Rows in order of batches: batch i is row[start[i]] … row[start[i + 1] - 1]. */
struct oa_division {
    struct oa_keyed_row *row;
    size_t *start; /* [rows + 1] */
    size_t *turn;  /* [rows] the batch that comes i-th */
    size_t batches;
    uint64_t epoch;
    bool made;
};

struct oa_epochs {
    oa_context *context;
    const struct oa_examples *examples;
    struct oa_example_batching how;
    struct oa_stream stream;
    size_t pool;                /* rows that are sorted together */
    struct oa_division held[2]; /* epochs: a step may begin in one and end in the next */
    uint64_t *first;            /* the number of the first batch of each epoch that was come to */
    size_t known, capacity;
};
enum oa_error oa_epochs_open(oa_context *c, const struct oa_examples *examples, const struct oa_example_batching *how,
                             struct oa_epochs *out);
void oa_epochs_close(struct oa_epochs *e);
/* The division of an epoch, from 0, valid until another one is asked for twice; NULL after a failure. */
const struct oa_division *oa_epochs_at(struct oa_epochs *e, uint64_t epoch);
/* Batch `number` of the endless sequence: its division, and its place in it. */
const struct oa_division *oa_epochs_find(struct oa_epochs *e, uint64_t number, size_t *batch);

enum oa_error oa_division_open(oa_context *c, size_t rows, struct oa_division *out);
void oa_division_close(struct oa_division *d);
/* Rows 0 … count - 1 in a random order. */
void oa_permute_rows(struct oa_stream s, struct oa_keyed_row *row, size_t count);
/* Validation: the `count` rows in d->row, sorted by length. */
void oa_division_sorted(const struct oa_epochs *e, size_t count, struct oa_division *d);

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
