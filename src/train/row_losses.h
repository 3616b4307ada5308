/* SPDX-License-Identifier: Apache-2.0
 * The losses of the rows of an evaluation, which ranks share out by batches, as sums over items.
 * Private to train/. */
#ifndef ORTHANT_ROW_LOSSES_H
#define ORTHANT_ROW_LOSSES_H

#include "train/train.h"

struct oa_row_losses {
    struct oa_items *items;    /* NULL: not wanted, and every function does nothing */
    struct oa_row_loss *rows;  /* [oa_items_rows]; 0 where another rank has the batch */
    struct oa_row_loss *batch; /* of one batch */
    int room;                  /* rows that `batch` has room for */
};
/* items: the run's, or NULL. Close also after an error. */
enum oa_error oa_row_losses_open(const struct oa_evaluation *e, struct oa_items *items,
                                 struct oa_row_losses *out);
/* The loss of batch number `at`, as oa_model_loss has it. */
enum oa_error oa_row_losses_batch(struct oa_row_losses *x, const struct oa_evaluation *e, long at,
                                  const struct oa_batch *b, double *loss);
/* After all batches, on every rank: the items of measure 0, the same bits on all. */
enum oa_error oa_row_losses_finish(struct oa_row_losses *x, const struct oa_evaluation *e);
void oa_row_losses_close(struct oa_row_losses *x);

#endif
