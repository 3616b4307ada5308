/* SPDX-License-Identifier: Apache-2.0
 * Operands of tiles of S: contiguous rows of a head, also packed in panels where products read
 * these; see cpu_logits.h. */
#include "device/cpu/cpu_logits.h"

#include <string.h>

enum {
    FEW_KEYS = 128, /* heads with so few keys stay in the caches: backward queries are not copied on
                       tiles, and nothing is prefetched */
    AHEAD = 8, /* prefetch distance of copies, in rows: a row of [B·T, H·K] is alone in its page */
    PANEL_ROWS = 128 /* packed into panels at a time, while they are in the L1 cache */
};

void oa_tiles_fetch(const struct oa_tiles *t, const void *x, long ld, long rows, long width)
{
    size_t size = t->d->numbers.act_size, bytes = (size_t)width * size;
    if (t->a->shape.keys <= FEW_KEYS)
        return;
    for (long i = 0; i < rows; i++)
        for (size_t line = 0; line < bytes; line += OA_ALIGN)
            __builtin_prefetch((const char *)oa_at(x, size, i * ld) + line, 0, 2);
}

static long real_tile_rows(const int32_t *lengths, long b, long length)
{
    return oa_real_length(lengths, b, length);
}

void oa_tiles_head(struct oa_tiles *t, long b, long h)
{
    t->b = b;
    t->h = h;
    t->keys_packed = false;
    t->queries = real_tile_rows(t->a->shape.query_lengths, b, t->a->shape.queries);
    t->keys = real_tile_rows(t->a->shape.key_lengths, b, t->a->shape.keys);
}

/* Rows begin … end-1 of a matrix of `width` columns, padded with zeros; in place where that is
 * allowed and no padding is needed. */
static struct oa_packed pack_tile_rows(struct oa_tiles *t, const void *x, long ld,
                                       struct oa_bounds rows, long width, bool in_place)
{
    size_t size = t->d->numbers.act_size, bytes = (size_t)width * size;
    long n = oa_bounds_length(rows), padded = oa_tile_round(n);
    if ((ld == width || in_place) && padded == n)
        return (struct oa_packed){
            .x = x, .begin = rows.begin, .width = width, .ld = ld, .rows = padded
        };
    char *to = oa_tiles_take(t, padded * width, size);
    if (t->failed)
        return (struct oa_packed){ 0 };
    for (long i = 0; i < n; i++) {
        for (size_t line = 0; line < bytes; line += OA_ALIGN)
            __builtin_prefetch((const char *)oa_at(x, size, (i + AHEAD) * ld) + line);
        memcpy(to + (size_t)i * bytes, oa_at(x, size, i * ld), bytes);
    }
    memset(to + (size_t)n * bytes, 0, (size_t)(padded - n) * bytes);
    return (struct oa_packed){
        .x = to, .begin = rows.begin, .width = width, .ld = width, .rows = padded
    };
}

/* Room for op(B) of shape g in panels. */
static void *take_panels(struct oa_tiles *t, const struct oa_gemm *g)
{
    return oa_tiles_take(t, (long)t->d->cpu->kernels.gemm_packed_bytes(g), 1);
}

/* Prefetches the next rows meanwhile. */
static void pack_operand_panels(struct oa_tiles *t, struct oa_packed *p, int sides)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    struct oa_gemm pair = { .n = p->rows, .k = p->width, .ldb = p->ld, .tb = true };
    struct oa_gemm tiles = { .n = p->width, .k = p->rows, .ldb = p->ld };
    if (!k->gemm_part || t->failed || p->rows == 0)
        return;
    void *to_pair = sides & OA_PACKED_PAIR ? take_panels(t, &pair) : NULL,
         *to_tiles = sides & OA_PACKED_TILES ? take_panels(t, &tiles) : NULL;
    if (t->failed)
        return;
    for (long i = 0, n; i < p->rows; i += n) {
        n = oa_min(PANEL_ROWS, p->rows - i);
        oa_tiles_fetch(t, oa_act_at(t->d, p->x, (i + n) * p->ld), p->ld,
                       oa_min(PANEL_ROWS, p->rows - i - n), p->width);
        if (to_pair)
            k->gemm_pack(&pair, &(struct oa_gemm_part){ .j = i, .cols = n, .rows = p->width }, p->x,
                         to_pair);
        if (to_tiles)
            k->gemm_pack(&tiles, &(struct oa_gemm_part){ .i = i, .rows = n, .cols = p->width },
                         p->x, to_tiles);
    }
    p->pair = to_pair;
    p->tiles = to_tiles;
}

/* Rows of columns head·width … of the batch item at work of x [B·length, …]; rows from `real` on
 * are packed as zeros. */
static struct oa_packed pack_head(struct oa_tiles *t, long head, const void *x, long ld,
                                  long length, struct oa_bounds rows, long real, long width,
                                  bool in_place)
{
    struct oa_bounds kept = { rows.begin, oa_max(rows.begin, oa_min(rows.end, real)) };
    long first = (t->b * length + rows.begin) * ld + head * width;
    return pack_tile_rows(t, oa_act_at(t->d, x, first), ld, kept, width, in_place);
}

/* Keys or values, of width columns. */
static struct oa_packed pack_head_keys(struct oa_tiles *t, const void *x, long ld,
                                       struct oa_bounds rows, long real, long width, bool in_place)
{
    const struct oa_attention_shape *s = &t->a->shape;
    struct oa_bounds kept = { rows.begin, oa_max(rows.begin, oa_min(rows.end, real)) };
    if (s->key_head_rows)
        return pack_tile_rows(t, oa_key_row(t->d, s, t->b, t->h, rows.begin, width, x, ld), width,
                              kept, width, false);
    return pack_head(t, oa_key_head(s, t->h), x, ld, s->keys, rows, real, width, in_place);
}

struct oa_packed oa_tiles_pack_values(struct oa_tiles *t, struct oa_bounds rows, long real)
{
    return pack_head_keys(t, t->a->v, t->a->ldv, rows, real, t->a->shape.value_width, false);
}

struct oa_packed oa_tiles_pack(struct oa_tiles *t, const void *x, long ld, long length,
                               struct oa_bounds rows, long real, long width)
{
    return pack_head(t, t->h, x, ld, length, rows, real, width, false);
}

/* Row 0 of a table of queries is that of position 0. */
static const void *query_table(const struct oa_tiles *t, const struct oa_logits_part *p)
{
    return oa_act_at(t->d, p->q, t->a->shape.first * p->width);
}

static struct oa_packed pack_table(struct oa_tiles *t, const void *x, long head_stride,
                                   struct oa_bounds rows, long real, long width)
{
    struct oa_bounds kept = { rows.begin, oa_max(rows.begin, oa_min(rows.end, real)) };
    return pack_tile_rows(t, oa_act_at(t->d, x, t->h * head_stride + rows.begin * width), width,
                          kept, width, false);
}

void oa_tiles_pack_tables(struct oa_tiles *t, struct oa_bounds rows, struct oa_bounds cols)
{
    for (int c = 0; c < t->a->parts; c++) {
        const struct oa_logits_part *p = &t->a->part[c];
        if (!p->q_table || !p->k_table)
            continue;
        t->q[c] = pack_table(t, query_table(t, p), p->q_head_stride, rows, t->queries, p->width);
        t->k[c] = pack_table(t, p->k, p->k_head_stride, cols, t->keys, p->width);
    }
}

/* On tiles keys are read once, into panels, and queries a few times in the forward pass. Backward,
 * queries are read for each 32 keys, and rows far apart in memory share few sets of the L1 cache,
 * so that they are copied. */
static bool are_queries_in_place(const struct oa_tiles *t, bool gradient)
{
    return t->on_tiles && (!gradient || t->a->shape.keys <= FEW_KEYS);
}

void oa_tiles_pack_queries(struct oa_tiles *t, struct oa_bounds rows, bool gradient)
{
    const struct oa_logits *a = t->a;
    for (int c = 0; c < a->parts; c++) {
        const struct oa_logits_part *p = &a->part[c];
        if (p->q_table)
            t->q[c] =
                pack_table(t, query_table(t, p), p->q_head_stride, rows, t->queries, p->width);
        else if (p->q)
            t->q[c] = pack_head(t, t->h, p->q, p->ldq, a->shape.queries, rows, t->queries, p->width,
                                are_queries_in_place(t, gradient));
        if (p->kind == OA_PART_FOLD)
            t->k[c] = oa_tiles_pack(t, p->k, p->ldk, a->shape.queries, rows, t->queries, p->folds);
        if (gradient && p->kind == OA_PART_DOT && !t->on_tiles)
            pack_operand_panels(t, &t->q[c], OA_PACKED_TILES);
    }
    if (gradient) {
        t->d_o = pack_head(t, t->h, a->d_o, a->ldo, a->shape.queries, rows, t->queries,
                           a->shape.value_width, are_queries_in_place(t, gradient));
        if (!t->on_tiles)
            pack_operand_panels(t, &t->d_o, OA_PACKED_TILES);
    }
}

void oa_tiles_pack_keys(struct oa_tiles *t, struct oa_bounds cols, bool gradient)
{
    const struct oa_logits *a = t->a;
    if (t->keys_packed)
        return;
    for (int c = 0; c < a->parts; c++) {
        const struct oa_logits_part *p = &a->part[c];
        if (p->kind != OA_PART_DOT)
            continue;
        t->k[c] = p->k_table
                      ? pack_table(t, p->k, p->k_head_stride, cols, t->keys, p->width)
                      : pack_head_keys(t, p->k, p->ldk, cols, t->keys, p->width, t->on_tiles);
        pack_operand_panels(t, &t->k[c],
                            gradient ? OA_PACKED_PAIR | OA_PACKED_TILES : OA_PACKED_PAIR);
    }
    t->v = pack_head_keys(t, a->v, a->ldv, cols, t->keys, a->shape.value_width, t->on_tiles);
    pack_operand_panels(t, &t->v, gradient ? OA_PACKED_PAIR : OA_PACKED_TILES);
}

void oa_tiles_pack_all_keys(struct oa_tiles *t, struct oa_bounds rows, struct oa_bounds cols,
                            bool gradient)
{
    rows.end = oa_min(rows.end, t->queries);
    if (!t->on_tiles || t->support || oa_bounds_length(rows) <= oa_tiles_rows_at_once(t))
        return;
    struct oa_bounds seen = oa_tiles_seen(t, rows.begin, rows.end);
    oa_tiles_pack_keys(t, oa_bounds_cut(seen, cols), gradient);
    t->keys_packed = true;
}
