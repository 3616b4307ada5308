/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of an evaluation for each item of its data: a measure is a mean over items, which are
 * regarded as a random sample. An item is an example, or a block of consecutive rows of running
 * text. statistics/crossed.c needs the variance between items.
 */
#ifndef ORTHANT_TASKS_ITEMS_H
#define ORTHANT_TASKS_ITEMS_H

#include "base/base.h"
#include "tasks/measure.h"

struct oa_batches;

/* The score in a measure is the sum of `sum` over the items divided by that of `targets`. */
struct oa_item {
    double sum;     /* in the unit of the measure: nats, or 100 for each right answer */
    double targets; /* 0: the item was not evaluated */
};
struct oa_items {
    long count;                            /* 0: nothing was recorded */
    struct oa_item *measured[OA_MEASURES]; /* [count] each, by number of the measure; NULL: the
                                              measure is no mean over items, or not known */
    bool text;          /* items are blocks of windows of a text; else examples */
    long rows_per_item; /* windows, or examples in the order of the file */
    long batch_rows;    /* windows in a batch, while they are evaluated */
};

/* Most items; beyond them several examples, or windows, are one item. OA_BLOCK_WINDOWS: the fewest
 * windows of a block of text, so that neighbouring blocks are nearly independent. */
enum { OA_MOST_ITEMS = 10000, OA_MOST_BLOCKS = 1000, OA_BLOCK_WINDOWS = 4 };

/* For an evaluation of `examples`, or if that is 0, of a text in `batches` of `batch_rows` windows,
 * the last of which may have fewer. */
void oa_items_open(long examples, long batches, long batch_rows, struct oa_items *out);
void oa_items_free(struct oa_items *x);
/* The number of a row of a batch: its example, or its window of the text. */
long oa_items_row(const struct oa_items *x, const struct oa_batches *batches, long batch, int row);
long oa_items_rows(const struct oa_items *x); /* an upper bound of these numbers */
/* Before a measure is added: sets its items to 0. */
enum oa_error oa_items_begin(oa_context *c, struct oa_items *x, int measure);
void oa_items_add(struct oa_items *x, int measure, long row, double sum, double targets);
/* The score in the measure; NaN: it is no mean over items, or not known. */
double oa_items_score(const struct oa_items *x, int measure);

#endif
