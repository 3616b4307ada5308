/* SPDX-License-Identifier: Apache-2.0 */
#include "train/row_losses.h"

#include <string.h>

enum { EXCHANGED = 4096 }; /* rows of an exchange between ranks */

enum oa_error oa_row_losses_open(const struct oa_evaluation *e, struct oa_items *items,
                                 struct oa_row_losses *out)
{
    oa_context *c = e->model->context;
    const struct oa_examples *examples = oa_workload_examples(e->workload, e->side);
    *out = (struct oa_row_losses){ .items = items };
    if (!items)
        return OA_OK;
    oa_items_open((long)examples->count, e->cover.batches, e->model->options.train_batch, items);
    out->rows = oa_alloc(c, ((size_t)oa_items_rows(items) + 1) * sizeof *out->rows);
    return out->rows ? OA_OK : OA_NO_MEMORY;
}

enum oa_error oa_row_losses_batch(struct oa_row_losses *x, const struct oa_evaluation *e, long at,
                                  const struct oa_batch *b, double *loss)
{
    oa_context *c = e->model->context;
    if (!x->items) {
        *loss = oa_model_loss(e->tape, e->model, b, 1);
        return oa_status(c);
    }
    if (b->rows > x->room) {
        oa_free(x->batch);
        x->batch = oa_alloc(c, (size_t)b->rows * sizeof *x->batch);
        x->room = x->batch ? b->rows : 0;
        OA_TRY(oa_status(c));
    }
    *loss = oa_model_row_losses(e->tape, e->model, b, x->batch);
    for (int r = 0; r < b->rows; r++)
        x->rows[oa_items_row(x->items, e->batches, at, r)] = x->batch[r];
    return oa_status(c);
}

/* A row is 0 on every rank but the one that evaluated it, so the sums are exact. */
static enum oa_error exchange_rows(struct oa_row_losses *x, const struct oa_evaluation *e)
{
    long count = oa_items_rows(x->items);
    size_t ranks = (size_t)oa_rank_count(e->cluster);
    struct oa_row_loss *all = oa_alloc(e->model->context, ranks * EXCHANGED * sizeof *all);
    enum oa_error error = all ? OA_OK : OA_NO_MEMORY;
    for (long first = 0; first < count && error == OA_OK; first += EXCHANGED) {
        long some = oa_min(EXCHANGED, count - first);
        struct oa_row_loss *mine = x->rows + first;
        error = oa_cluster_gather(e->cluster, "the items of a validation", mine,
                                  (size_t)some * sizeof *mine, all);
        memset(mine, 0, (size_t)some * sizeof *mine);
        for (long i = 0; i < some * (long)ranks; i++) {
            mine[i % some].sum += all[i].sum;
            mine[i % some].targets += all[i].targets;
        }
    }
    oa_free(all);
    return error;
}

enum oa_error oa_row_losses_finish(struct oa_row_losses *x, const struct oa_evaluation *e)
{
    if (!x->items)
        return OA_OK;
    if (oa_rank_count(e->cluster) > 1)
        OA_TRY(exchange_rows(x, e));
    OA_TRY(oa_items_begin(e->model->context, x->items, 0));
    for (long i = 0; i < oa_items_rows(x->items); i++)
        oa_items_add(x->items, 0, i, x->rows[i].sum, x->rows[i].targets);
    return OA_OK;
}

void oa_row_losses_close(struct oa_row_losses *x)
{
    oa_free(x->rows);
    oa_free(x->batch);
    *x = (struct oa_row_losses){ 0 };
}
