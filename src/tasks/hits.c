/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/hits.h"

static enum oa_error visit_batch_hits(const struct oa_scoring *j, long at, oa_hits_visit *visit,
                                      void *argument)
{
    struct oa_batch b;
    OA_TRY(oa_batches_window(j->batches, at, &b));
    uint8_t *hit = oa_alloc(j->context, (size_t)(b.rows * b.length) + 1);
    enum oa_error e = hit ? oa_model_hits(j->tape, j->model, &b, hit) : OA_NO_MEMORY;
    for (int r = 0, next = 0; e == OA_OK && r < b.rows; r++) {
        long hits = 0, targets = 0;
        for (int t = 0; t < b.length; t++)
            if (b.target[(long)r * b.length + t] >= 0) {
                hits += hit[next++];
                targets++;
            }
        visit(argument, j->items ? oa_items_row(j->items, j->batches, at, r) : 0, hits, targets);
    }
    oa_free(hit);
    return e;
}

enum oa_error oa_visit_hits(const struct oa_scoring *j, oa_hits_visit *visit, void *argument)
{
    for (long i = 0; i < j->cover->batches; i++) {
        if (j->progress && j->progress(j->argument, i, j->cover->batches))
            return OA_INTERRUPTED;
        OA_TRY(visit_batch_hits(j, i, visit, argument));
    }
    return OA_OK;
}
