/* SPDX-License-Identifier: Apache-2.0
 * Embeddings of tokens, positions and segments, and patches (embedding.cl). */
#include "device/gpu/gpu.h"

void oa_gpu_embed(struct oa_device *d, const struct oa_embedding *a)
{
    struct { /* embedded_tokens of embedding.cl */
        long tokens, length, width;
        double factor;
        const int32_t *ids, *segments;
        const void *table, *position, *segment, *rest;
        void *y;
        struct oa_gpu_dropout drop;
    } s = {
        a->tokens,  a->length,   a->width, a->factor,
        a->ids,     a->segments, a->table, a->position,
        a->segment, a->rest,     a->y,     oa_gpu_dropout_of(a->dropout.stream, a->dropout.keep)
    };
    OA_GPU_INDIRECT(d, embed, oa_blocks(a->tokens * a->width, OA_GPU_GROUP), 1, OA_GPU_STRUCT(s));
}

static void add_to_table(struct oa_device *d, const struct oa_embedding *a, double factor,
                         const int32_t *ids, const void *dy, void *table)
{
    OA_GPU_GROUPS(d, embed_table_gradient, a->tokens, 1, OA_GPU_LONG(a->tokens),
                  OA_GPU_LONG(a->width), OA_GPU_DOUBLE(factor), OA_GPU_AT(ids), OA_GPU_AT(dy),
                  OA_GPU_AT(table));
}

void oa_gpu_embed_gradient(struct oa_device *d, const struct oa_embedding *a)
{
    long n = a->tokens * a->width;
    size_t mark = oa_gpu_mark(d);
    const void *dy = a->dy;
    struct oa_gpu_dropout drop = oa_gpu_dropout_of(a->dropout.stream, a->dropout.keep);
    if (a->dropout.keep < 1) {
        void *dropped = oa_gpu_take_acts(d, n);
        if (!dropped)
            return;
        OA_GPU_EACH(d, embed_tokens_gradient, n, OA_GPU_LONG(a->tokens), OA_GPU_LONG(a->width),
                    OA_GPU_STRUCT(drop), OA_GPU_AT(dy), OA_GPU_AT(dropped));
        dy = dropped;
    }
    add_to_table(d, a, a->factor, a->ids, dy, a->dtable);
    if (a->dposition)
        OA_GPU_EACH(d, embed_positions_gradient, oa_min(a->tokens, a->length) * a->width,
                    OA_GPU_LONG(a->tokens), OA_GPU_LONG(a->length), OA_GPU_LONG(a->width),
                    OA_GPU_AT(dy), OA_GPU_AT(a->dposition));
    if (a->dsegment)
        add_to_table(d, a, 1, a->segments, dy, a->dsegment);
    if (a->drest)
        oa_gpu_copy(d, (size_t)n * d->numbers.act_size, dy, a->drest);
    oa_gpu_give_back(d, mark);
}

void oa_gpu_patches(struct oa_device *d, const struct oa_patch_rows *a)
{
    OA_GPU_EACH(d, patches, a->tokens * a->count, OA_GPU_LONG(a->tokens), OA_GPU_LONG(a->count),
                OA_GPU_AT(a->pixels), OA_GPU_AT(a->ids), OA_GPU_AT(a->y));
}
