/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/items.h"

#include "data/data.h"

#include <math.h>

void oa_items_open(long examples, long batches, long batch_rows, struct oa_items *out)
{
    long rows = examples ? examples : batches * batch_rows,
         least = oa_blocks(rows, examples ? OA_MOST_ITEMS : OA_MOST_BLOCKS);
    *out = (struct oa_items){ .text = !examples,
                              .rows_per_item = examples ? least : oa_max(OA_BLOCK_WINDOWS, least),
                              .batch_rows = batch_rows };
    out->count = oa_blocks(rows, out->rows_per_item);
}

void oa_items_free(struct oa_items *x)
{
    for (int i = 0; i < OA_MEASURES; i++)
        oa_free(x->measured[i]);
    *x = (struct oa_items){ 0 };
}

long oa_items_row(const struct oa_items *x, const struct oa_batches *batches, long batch, int row)
{
    return x->text ? batch * x->batch_rows + row : (long)oa_batches_examples(batches, batch)[row];
}

long oa_items_rows(const struct oa_items *x)
{
    return x->count * x->rows_per_item;
}

enum oa_error oa_items_begin(oa_context *c, struct oa_items *x, int measure)
{
    if (!x || !x->count)
        return OA_OK;
    oa_free(x->measured[measure]);
    x->measured[measure] = oa_alloc(c, (size_t)x->count * sizeof **x->measured);
    return x->measured[measure] ? OA_OK : OA_NO_MEMORY;
}

void oa_items_add(struct oa_items *x, int measure, long row, double sum, double targets)
{
    if (!x || !x->measured[measure])
        return;
    struct oa_item *item = &x->measured[measure][row / x->rows_per_item];
    item->sum += sum;
    item->targets += targets;
}

double oa_items_score(const struct oa_items *x, int measure)
{
    double sum = 0, targets = 0;
    for (long i = 0; x->measured[measure] && i < x->count; i++) {
        sum += x->measured[measure][i].sum;
        targets += x->measured[measure][i].targets;
    }
    return x->measured[measure] ? sum / targets : (double)NAN;
}
