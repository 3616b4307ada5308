/* SPDX-License-Identifier: Apache-2.0
 * Embeddings of tokens, positions and segments, and the pixels of tokens that are patches. Forward
 * is cut by tokens; backward, where many tokens add to one row of the table, by columns, each item
 * going through all tokens in order. */
#include "device/cpu/cpu.h"

#include <string.h>

enum { COLUMN_BLOCK = 64 };

struct embedding_call {
    struct oa_device *d;
    const struct oa_embedding *a;
    long block;
};

static uint64_t embedding_dropout_index(const struct oa_embedding *a, long token)
{
    return (uint64_t)token * oa_dropout_stride(a->width);
}

static void sum_embeddings(struct oa_device *d, const struct oa_embedding *a, long t,
                           const void *word, void *row)
{
    size_t bytes = (size_t)a->width * d->numbers.real_size;
    if (a->factor == 1)
        memcpy(row, word, bytes);
    else {
        memset(row, 0, bytes);
        d->cpu->kernels.axpy(a->width, a->factor, word, row);
    }
    if (a->position)
        d->cpu->kernels.axpy(a->width, 1, oa_real_at(d, a->position, t % a->length * a->width),
                             row);
    if (a->segment)
        d->cpu->kernels.axpy(a->width, 1, oa_real_at(d, a->segment, a->segments[t] * a->width),
                             row);
    if (a->rest)
        d->cpu->kernels.add_to_real(a->width, 1, oa_act_at(d, a->rest, t * a->width), row);
}

static void embed_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct embedding_call *e = argument;
    const struct oa_embedding *a = e->a;
    struct oa_device *d = e->d;
    void *row = oa_arena_take(worker->scratch, (size_t)a->width * d->numbers.real_size);
    if (!row)
        return;
    for (long t = item * e->block; t < oa_min(a->tokens, (item + 1) * e->block); t++) {
        const void *word = oa_real_at(d, a->table, a->ids[t] * a->width);
        void *y = oa_act_at(d, a->y, t * a->width);
        if (a->position || a->segment || a->rest || a->factor != 1) {
            sum_embeddings(d, a, t, word, row);
            word = row;
        }
        d->cpu->kernels.act_from_real(a->width, word, y);
        if (a->dropout.keep < 1)
            d->cpu->kernels.dropout(a->width, a->dropout.stream, embedding_dropout_index(a, t),
                                    a->dropout.keep, y, y);
    }
}

void oa_cpu_embed(struct oa_device *d, const struct oa_embedding *a)
{
    struct embedding_call e = { d, a, oa_item_rows(a->width) };
    oa_parallel(d->context, oa_blocks(a->tokens, e.block), embed_item, &e);
}

static void embed_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct embedding_call *e = argument;
    const struct oa_embedding *a = e->a;
    struct oa_device *d = e->d;
    long first = item * COLUMN_BLOCK, n = oa_min(COLUMN_BLOCK, a->width - first);
    void *row = oa_arena_take(worker->scratch, (size_t)n * d->numbers.act_size);
    if (!row)
        return;
    for (long t = 0; t < a->tokens; t++) {
        const void *dy = oa_act_at(d, a->dy, t * a->width + first);
        if (a->dropout.keep < 1) {
            d->cpu->kernels.dropout(n, a->dropout.stream,
                                    embedding_dropout_index(a, t) + (uint64_t)first,
                                    a->dropout.keep, dy, row);
            dy = row;
        }
        d->cpu->kernels.add_to_real(n, a->factor, dy,
                                    oa_real_at(d, a->dtable, a->ids[t] * a->width + first));
        if (a->dposition)
            d->cpu->kernels.add_to_real(
                n, 1, dy, oa_real_at(d, a->dposition, t % a->length * a->width + first));
        if (a->dsegment)
            d->cpu->kernels.add_to_real(
                n, 1, dy, oa_real_at(d, a->dsegment, a->segments[t] * a->width + first));
        if (a->drest)
            memcpy(oa_act_at(d, a->drest, t * a->width + first), dy,
                   (size_t)n * d->numbers.act_size);
    }
}

void oa_cpu_embed_gradient(struct oa_device *d, const struct oa_embedding *a)
{
    struct embedding_call e = { d, a, 0 };
    oa_parallel(d->context, oa_blocks(a->width, COLUMN_BLOCK), embed_gradient_item, &e);
}

/* ---- patches ---- */

struct patches_call {
    struct oa_device *d;
    const struct oa_patch_rows *a;
    long block;
};

static void patches_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct patches_call *p = argument;
    const struct oa_patch_rows *a = p->a;
    struct oa_device *d = p->d;
    void *row = oa_arena_take(worker->scratch, (size_t)a->count * d->numbers.real_size);
    if (!row)
        return;
    for (long t = item * p->block; t < oa_min(a->tokens, (item + 1) * p->block); t++) {
        for (long i = 0; i < a->count; i++)
            oa_real_set(d, row, i, a->ids[t] ? 0 : a->pixels[t * a->count + i] / 127.5 - 1);
        d->cpu->kernels.act_from_real(a->count, row, oa_act_at(d, a->y, t * a->count));
    }
}

void oa_cpu_patches(struct oa_device *d, const struct oa_patch_rows *a)
{
    struct patches_call p = { d, a, oa_item_rows(a->count) };
    oa_parallel(d->context, oa_blocks(a->tokens, p.block), patches_item, &p);
}
