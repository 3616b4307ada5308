/* SPDX-License-Identifier: Apache-2.0
 * The logits engine, forward: S = Σ_c α_c S^c, P = softmax of S over the visible keys, O = P V,
 * without S or P in memory. Online softmax (Milakov & Gimelshein 2018) over tiles (Rabe & Staats
 * 2021; Dao et al. 2022): with running maximum m and sum z of a row,
 *
 *     m' = max(m, max_j S_ij)
 *     z' = z e^{m−m'} + Σ_j e^{S_ij−m'}
 *     acc' = acc e^{m−m'} + Σ_j e^{S_ij−m'} v_j
 *
 * and at the end O = acc/z, lse = m + log z. A row without visible keys has z = 0: O = 0, lse = −∞.
 * With a sink b, m and z begin with b and 1. Weights other than a softmax need no running sums, but
 * a number of each row before the first tile (cpu_logits_weights.c).
 *
 * [B·T, H·K] × [B·S, H·K] × [B·S, H·V] → [B·T, H·V]; 2·pairs·(K + V) FLOPs; memory per worker
 * O(query_block·key_block + S(K + V)). An item is a (b,h) or, where these are few, a few blocks of
 * queries of one. */
#include "device/cpu/cpu_logits.h"
#include "kernels/attention_tile.h"

#include <math.h>
#include <string.h>

enum {
    ENOUGH_ITEMS = 8, /* enough (b,h): they are not cut */
    BLOCKS_AN_ITEM =
        4 /* query blocks of an item if (b,h) are cut: keys are packed once for all of them */
};

struct logits_call {
    struct oa_device *d;
    const struct oa_logits *a;
    long cuts, rows; /* items of one (b,h); rows of each */
};

/* Running sums of the current query blocks. Where each block goes through all keys before the next
 * one, they share one buffer. */
struct softmax_sums {
    long begin;                 /* the first row */
    void *m, *z;                /* real [rows] */
    void *o;                    /* real [rows, V] */
    void *rescale, *p;          /* of a tile: real [query_block], act [query_block, key_block] */
    bool met[OA_PACKED_BLOCKS]; /* of each block: whether it had a tile */
};

static void take_softmax_sums(struct oa_tiles *t, struct softmax_sums *s)
{
    size_t real = t->d->numbers.real_size;
    long rows = oa_tiles_rows_at_once(t);
    s->m = oa_tiles_take(t, rows, real);
    s->z = oa_tiles_take(t, rows, real);
    s->o = oa_tiles_take(t, rows * t->a->shape.value_width, real);
    s->rescale = oa_tiles_take(t, t->query_block, real);
    s->p = t->on_tiles ? NULL
                       : oa_tiles_take(t, t->query_block * t->key_block, t->d->numbers.act_size);
}

/* Those of the current block. */
static struct softmax_sums softmax_sums_of_block(const struct oa_tiles *t,
                                                 const struct softmax_sums *s)
{
    long row = t->rows.begin - s->begin;
    return (struct softmax_sums){ .m = oa_real_at(t->d, s->m, row),
                                  .z = oa_real_at(t->d, s->z, row),
                                  .o = oa_real_at(t->d, s->o, row * t->a->shape.value_width),
                                  .rescale = s->rescale,
                                  .p = s->p };
}

/* Weights of the tile, act. */
static const void *softmax_tile_weights(struct oa_tiles *t, struct softmax_sums *s)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    double factor;
    long ld;
    if (!oa_weighs(t->a) && t->a->keep >= 1) {
        const void *logits = oa_tiles_logits_in_place(t, &factor, &ld);
        k->softmax_to_act(t->padded_rows, t->padded_cols, factor, t->tile_low, t->tile_high, logits,
                          ld, s->m, s->z, s->rescale, s->p, t->padded_cols);
        return s->p;
    }
    factor = oa_tiles_logits(t);
    if (oa_weighs(t->a))
        oa_weights_tile(t, factor, s->m);
    else
        k->softmax_tile(t->padded_rows, t->padded_cols, factor, t->tile_low, t->tile_high, t->s,
                        t->padded_cols, s->m, s->z, s->rescale);
    oa_tiles_dropout(t, t->s); /* after z: dropout applies to normalised P */
    return oa_tiles_act(t, t->s, s->p);
}

static void add_softmax_tile(struct oa_tiles *t, struct softmax_sums *s, bool first)
{
    if (t->on_tiles) {
        oa_attention_add_tile(t,
                              &(struct oa_attention_sums){ s->m, s->z, s->rescale, s->o, first });
        return;
    }
    const void *p = softmax_tile_weights(t, s);
    if (!first && !oa_weighs(t->a))
        t->d->cpu->kernels.scale_rows(t->padded_rows, t->v.width, s->rescale, s->o, t->v.width);
    oa_tiles_keys_product(t, p, t->v, s->o, !first);
}

static void *output_of_row(const struct oa_tiles *t, long i)
{
    const struct oa_logits *a = t->a;
    return oa_act_at(t->d, a->o,
                     (t->b * a->shape.queries + i) * a->ldo + t->h * a->shape.value_width);
}

static void *lse_of_row(const struct oa_tiles *t, long i)
{
    const struct oa_attention_shape *s = &t->a->shape;
    return oa_real_at(t->d, t->a->lse, (t->b * s->heads + t->h) * s->queries + i);
}

/* Divides o by z; lse of the rows of the block. */
static void divide_softmax_rows(struct oa_tiles *t, struct softmax_sums *s)
{
    struct oa_device *d = t->d;
    long rows = oa_bounds_length(t->rows), v = t->a->shape.value_width;
    void *lse = lse_of_row(t, t->rows.begin);
    double sink = oa_sink_logit(d, t->a, t->h);
    for (long i = 0; i < rows; i++) {
        double m = oa_real_get(d, s->m, i), z = oa_real_get(d, s->z, i);
        oa_real_set(d, lse, i, oa_softmax_is_empty(m, z, sink) ? -INFINITY : m + log(z));
        oa_real_set(d, s->z, i, z == 0 ? 0 : 1 / z);
    }
    d->cpu->kernels.scale_rows(rows, v, s->z, s->o, v);
}

static void finish_block_rows(struct oa_tiles *t, struct softmax_sums *s)
{
    struct oa_device *d = t->d;
    long rows = oa_bounds_length(t->rows), v = t->a->shape.value_width;
    if (oa_weighs(t->a))
        memcpy(lse_of_row(t, t->rows.begin), s->m, (size_t)rows * d->numbers.real_size);
    else
        divide_softmax_rows(t, s);
    d->cpu->kernels.tile_to_act(rows, v, s->o, v, output_of_row(t, t->rows.begin), t->a->ldo);
}

static void store_empty_rows(struct oa_tiles *t, long begin, long end)
{
    size_t size = t->d->numbers.act_size;
    if (begin >= end)
        return;
    oa_zero_rows(output_of_row(t, begin), (size_t)t->a->ldo * size,
                 (size_t)t->a->shape.value_width * size, end - begin);
    oa_real_fill(t->d, end - begin, -INFINITY, lse_of_row(t, begin));
}

/* The block at i0 with keys `cols`; last: no keys follow. */
static void logits_block(struct oa_tiles *t, struct softmax_sums *all, long i0,
                         struct oa_bounds cols, bool last)
{
    long end = oa_min(i0 + t->query_block, t->a->shape.queries);
    bool *met = &all->met[(i0 - all->begin) / t->query_block], sees = oa_tiles_block(t, i0, cols);
    struct softmax_sums s = softmax_sums_of_block(t, all);
    if (sees && oa_weighs(t->a)) {
        oa_weights_open_block(t, cols, s.m);
    } else if (sees && !*met) {
        double sink = oa_sink_logit(t->d, t->a, t->h);
        oa_real_fill(t->d, t->padded_rows, sink, s.m);
        oa_real_fill(t->d, t->padded_rows, sink > -INFINITY, s.z);
    }
    if (sees && last)
        oa_tiles_fetch(t, output_of_row(t, i0), t->a->ldo, oa_bounds_length(t->rows),
                       t->a->shape.value_width);
    for (; sees && oa_tiles_next(t); *met = true)
        add_softmax_tile(t, &s, !*met);
    if (last && *met)
        finish_block_rows(t, &s);
    if (last)
        store_empty_rows(t, *met ? t->rows.end : i0, end);
}

/* Blocks of queries with keys `cols`; all: there are no other keys, and the blocks share a buffer.
 */
static void logits_blocks(struct oa_tiles *t, struct softmax_sums *s, struct oa_bounds rows,
                          struct oa_bounds cols, bool all, bool last)
{
    size_t mark = oa_arena_mark(t->scratch);
    oa_tiles_pack_keys(t, cols, false);
    for (long i0 = rows.begin; i0 < rows.end && !t->failed; i0 += t->query_block) {
        if (all)
            s->begin = i0, s->met[0] = false;
        logits_block(t, s, i0, cols, last);
    }
    oa_arena_release(t->scratch, mark);
}

/* Query blocks are packed in groups of OA_PACKED_BLOCKS, so that with a sparse support packed
 * operands stay in the cache. */
static void logits_rows(struct oa_tiles *t, struct softmax_sums *s, struct oa_bounds rows)
{
    size_t mark = oa_arena_mark(t->scratch);
    struct oa_bounds seen =
        oa_tiles_seen(t, rows.begin, oa_max(rows.begin, oa_min(rows.end, t->queries)));
    long step = oa_tiles_keys_at_once(t, seen), j = seen.begin;
    bool all = oa_bounds_length(seen) <= step;
    s->begin = rows.begin;
    memset(s->met, 0, sizeof s->met);
    oa_tiles_pack_queries(t, rows, false);
    do
        logits_blocks(t, s, rows, (struct oa_bounds){ j, oa_min(j + step, seen.end) }, all,
                      j + step >= seen.end);
    while ((j += step) < seen.end);
    oa_arena_release(t->scratch, mark);
}

static void logits_item(void *argument, long item, const struct oa_worker *w)
{
    struct logits_call *f = argument;
    struct oa_tiles t;
    struct softmax_sums s;
    long head = item / f->cuts, begin = item % f->cuts * f->rows,
         end = oa_min(begin + f->rows, f->a->shape.queries);
    oa_tiles_open(&t, f->d, f->a, w, f->d->cpu->kernels.key_block);
    take_softmax_sums(&t, &s);
    oa_tiles_head(&t, head / f->a->shape.heads, head % f->a->shape.heads);
    long step = oa_tiles_rows_at_once(&t);
    oa_tiles_pack_all_keys(&t, (struct oa_bounds){ begin, end }, (struct oa_bounds){ 0, t.keys },
                           false);
    for (long i0 = begin; i0 < end && !t.failed; i0 += step)
        logits_rows(&t, &s, (struct oa_bounds){ i0, oa_min(i0 + step, end) });
}

void oa_cpu_logits(struct oa_device *d, const struct oa_logits *a)
{
    if (oa_tables_shared(a)) {
        oa_tables_forward(d, a);
        return;
    }
    if (oa_pieces_wanted(a)) {
        oa_pieces_forward(d, a);
        return;
    }
    if (oa_row_wanted(a)) {
        oa_row_forward(d, 1, &a);
        return;
    }
    long heads = a->shape.batch * a->shape.heads;
    struct logits_call f = { .d = d, .a = a, .cuts = 1, .rows = a->shape.queries };
    if (heads < ENOUGH_ITEMS) {
        f.rows = BLOCKS_AN_ITEM * oa_tiles_query_block(d, a, d->cpu->kernels.key_block);
        f.cuts = oa_blocks(a->shape.queries, f.rows);
    }
    oa_parallel(d->context, heads * f.cuts, logits_item, &f);
}
