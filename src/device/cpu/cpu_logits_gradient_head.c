/* SPDX-License-Identifier: Apache-2.0
 * The logits engine, backward: one (b,h) of an item. cpu_logits_gradient.c has the formulas. */
#include "device/cpu/cpu_logits_gradient.h"
#include "kernels/attention_tile.h"

#include <math.h>
#include <string.h>

/* ---- what is wanted ---- */

/* The gradients of both sides of a fold are computed together. */
static bool wants_dfold(const struct oa_logits_backward *f, int c)
{
    const struct oa_logits_part *p = &f->a->part[c];
    return (f->sides & OA_QUERY_SIDE) && p->kind == OA_PART_FOLD && (p->dq || p->dk || f->dalpha);
}

static bool wants_dq(const struct oa_logits_backward *f, int c)
{
    const struct oa_logits_part *p = &f->a->part[c];
    return wants_dfold(f, c) ||
           ((f->sides & OA_QUERY_SIDE) && p->kind == OA_PART_DOT && (p->dq || f->dalpha));
}

static bool wants_dk(const struct oa_logits_backward *f, int c)
{
    const struct oa_logits_part *p = &f->a->part[c];
    return (f->sides & OA_KEY_SIDE) && p->kind == OA_PART_DOT && p->dk;
}

static bool wants_dbias(const struct oa_logits_backward *f, int c)
{
    const struct oa_logits_part *p = &f->a->part[c];
    return (f->sides & OA_KEY_SIDE) && p->kind == OA_PART_DOT && p->bias && p->dbias;
}

bool oa_wants_dtable(const struct oa_logits_backward *f, int c)
{
    const struct oa_logits_part *p = &f->a->part[c];
    return (f->sides & OA_KEY_SIDE) && p->kind == OA_PART_TABLE && p->dtable;
}

bool oa_wants_dv(const struct oa_logits_backward *f)
{
    return (f->sides & OA_KEY_SIDE) && f->a->dv;
}

bool oa_wants_logits(const struct oa_logits_backward *f)
{
    bool wanted =
        ((f->sides & OA_QUERY_SIDE) && (f->dalpha || f->distances)) || f->a->forgetting.dquery;
    for (int c = 0; c < f->a->parts; c++)
        wanted |= wants_dq(f, c) || wants_dk(f, c) || wants_dbias(f, c) || oa_wants_dtable(f, c);
    return wanted;
}

/* ---- memory ---- */

static long widest_row(const struct oa_tiles *t)
{
    long widest = oa_max(t->key_block, t->a->shape.value_width);
    for (int c = 0; c < t->a->parts; c++)
        if (t->a->part[c].kind != OA_PART_TABLE)
            widest = oa_max(widest, oa_max(t->a->part[c].width, t->a->part[c].folds));
    return widest;
}

void oa_gradient_open(struct oa_tiles *t, struct oa_gradients *g,
                      const struct oa_logits_backward *f)
{
    size_t real = t->d->numbers.real_size, act = t->d->numbers.act_size;
    long tile = t->query_block * t->key_block, rows = oa_tiles_rows_at_once(t);
    *g = (struct oa_gradients){ .f = f, .logits = oa_wants_logits(f) };
    if (t->on_tiles) {
        g->turned =
            oa_tiles_take(t, OA_ATTENTION_TURNED(widest_row(t), t->a->shape.value_width), act);
        if (!oa_attention_makes_logits(t->a))
            g->ds = oa_tiles_take(t, t->query_block * oa_round_up(t->key_block, OA_PANEL), act);
    } else {
        g->p = oa_tiles_take(t, tile, real); /* dropout is applied to D as reals before rounding */
        g->dp = oa_tiles_take(t, tile, real);
        g->ds = oa_tiles_take(t, tile, act);
        t->slope = f->a->shape.logit_cap > 0 ? oa_tiles_take(t, tile, real) : NULL;
    }
    if (t->a->forgetting.dquery) {
        g->ones = oa_tiles_take(t, t->key_block, act);
        g->sums = oa_tiles_take(t, oa_max(t->query_block, t->key_block), real);
        if (g->ones) {
            oa_real_fill(t->d, t->key_block, 1, g->dp);
            t->d->cpu->kernels.act_from_real(t->key_block, g->dp, g->ones);
        }
    }
    g->lse = oa_tiles_take(t, t->query_block, real);
    g->delta = oa_tiles_take(t, t->query_block, real);
    g->dots = f->delta ? NULL : oa_tiles_take(t, rows, real);
    g->factor = oa_tiles_take(t, t->query_block, real);
    g->row = oa_tiles_take(t, widest_row(t), real);
    g->diagonals = f->distances ? oa_tiles_take(t, t->query_block + t->key_block, real) : NULL;
    for (int c = 0; c < t->a->parts; c++) {
        if (wants_dq(f, c))
            g->dq[c] = oa_tiles_take(t, rows * t->a->part[c].width, real);
        if (wants_dfold(f, c))
            g->dfold[c] = oa_tiles_take(t, rows * t->a->part[c].folds, real);
    }
}

static void *take_zero_reals(struct oa_tiles *t, long n)
{
    void *x = oa_tiles_take(t, n, t->d->numbers.real_size);
    if (x)
        memset(x, 0, (size_t)n * t->d->numbers.real_size);
    return x;
}

/* Takes the sums over queries of a (b,h). */
static void take_head_sums(struct oa_tiles *t, struct oa_gradients *g, struct oa_bounds cols)
{
    long rows = oa_tile_round(oa_bounds_length(cols));
    g->cols = cols;
    g->dv = oa_wants_dv(g->f)
                ? take_zero_reals(t, rows * oa_gradient_width(t, t->a->shape.value_width))
                : NULL;
    for (int c = 0; c < t->a->parts; c++) {
        g->dk[c] = wants_dk(g->f, c)
                       ? take_zero_reals(t, rows * oa_gradient_width(t, t->a->part[c].width))
                       : NULL;
        g->dbias[c] = wants_dbias(g->f, c) ? take_zero_reals(t, rows) : NULL;
    }
}

/* ---- one block of queries ---- */

static void *part_rows(const struct oa_tiles *t, void *x, long ld, long length, long width, long i)
{
    return oa_act_at(t->d, x, (t->b * length + i) * ld + t->h * width);
}

/* dO·O of the rows whose dO is packed. */
static void make_row_dots(struct oa_tiles *t, struct oa_gradients *g, struct oa_bounds rows)
{
    struct oa_device *d = t->d;
    const struct oa_logits *a = t->a;
    long v = a->shape.value_width, end = oa_min(rows.end, t->queries);
    for (long i = rows.begin, n; i < end; i += n) {
        const void *o = part_rows(t, a->o, a->ldo, a->shape.queries, v, i);
        n = oa_min(t->query_block, end - i);
        oa_tiles_fetch(t, oa_act_at(d, o, n * a->ldo), a->ldo, oa_min(n, end - i - n), v);
        d->cpu->kernels.row_dots(n, v, oa_act_at(d, t->d_o.x, (i - rows.begin) * t->d_o.ld),
                                 t->d_o.ld, o, a->ldo, oa_real_at(d, g->dots, i - rows.begin));
    }
}

void oa_gradient_load_rows(struct oa_tiles *t, struct oa_gradients *g)
{
    struct oa_device *d = t->d;
    const struct oa_logits *a = t->a;
    size_t bytes = (size_t)oa_bounds_length(t->rows) * d->numbers.real_size;
    long row = (t->b * a->shape.heads + t->h) * a->shape.queries + t->rows.begin;
    oa_real_fill(d, t->padded_rows, -INFINITY, g->lse);
    oa_real_fill(d, t->padded_rows, 0, g->delta);
    memcpy(g->lse, oa_real_at(d, a->lse, row), bytes);
    memcpy(g->delta,
           g->f->delta ? oa_real_at(d, g->f->delta, row)
                       : oa_real_at(d, g->dots, t->rows.begin - t->d_o.begin),
           bytes);
}

/* sums · factor, as acts. */
static void store_rows(const struct oa_tiles *t, const struct oa_gradients *g, long rows,
                       long width, double factor, void *sums, void *x, long ld)
{
    for (long i = 0; i < rows; i += t->query_block) {
        long n = oa_min(t->query_block, rows - i);
        void *from = oa_real_at(t->d, sums, i * width);
        if (factor != 1) {
            oa_real_fill(t->d, n, factor, g->factor);
            t->d->cpu->kernels.scale_rows(n, width, g->factor, from, width);
        }
        t->d->cpu->kernels.tile_to_act(n, width, from, width, oa_act_at(t->d, x, i * ld), ld);
    }
}

/* Σ_i x_i·G_i over the rows of the block: x packed rows, G reals. */
static double rows_dot(const struct oa_tiles *t, const struct oa_gradients *g, struct oa_packed x,
                       const void *sums)
{
    double sum = 0;
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        const void *row = oa_act_at(t->d, x.x, (t->rows.begin - x.begin + i) * x.ld);
        sum += t->d->cpu->kernels.dot(x.width, oa_gradient_reals(t, g, x.width, row),
                                      oa_real_at(t->d, sums, i * x.width));
    }
    return sum;
}

/* Stores act rows i0 … end-1 of a side; the block had the first `rows` of them, the others are 0.
 * */
static void store_query_rows(const struct oa_tiles *t, const struct oa_gradients *g, long i0,
                             long rows, long end, long width, double factor, void *sums, void *x,
                             long ld)
{
    void *to = part_rows(t, x, ld, t->a->shape.queries, width, i0);
    size_t size = t->d->numbers.act_size;
    store_rows(t, g, rows, width, factor, sums, to, ld);
    oa_zero_rows(oa_act_at(t->d, to, rows * ld), (size_t)ld * size, (size_t)width * size,
                 end - i0 - rows);
}

static void finish_fold(struct oa_tiles *t, struct oa_gradients *g, int c, long i0, long rows,
                        long end)
{
    const struct oa_logits_part *p = &t->a->part[c];
    double alpha = oa_tiles_alpha(t, c);
    void *dq = oa_gradient_block(t, g, g->dq[c], p->width),
         *dk = oa_gradient_block(t, g, g->dfold[c], p->folds);
    if (g->f->dalpha && rows)
        *oa_dalpha_slot(t, g, c) += rows_dot(t, g, t->k[c], dk);
    if (dq && p->dq)
        store_query_rows(t, g, i0, rows, end, p->width, alpha, dq, p->dq, p->ldq);
    if (dk && p->dk)
        store_query_rows(t, g, i0, rows, end, p->folds, alpha, dk, p->dk, p->ldk);
}

/* dq of rows i0 … end-1, of which the block had the first `rows`; dα of a product is τ Σ_i q_i·G_i.
 * */
static void finish_block_queries(struct oa_tiles *t, struct oa_gradients *g, int c, long i0,
                                 long rows, long end)
{
    const struct oa_logits_part *p = &t->a->part[c];
    void *dq = oa_gradient_block(t, g, g->dq[c], p->width);
    if (p->kind == OA_PART_FOLD && (dq || g->dfold[c]))
        finish_fold(t, g, c, i0, rows, end);
    if (p->kind != OA_PART_DOT || !dq)
        return;
    double factor = oa_tiles_alpha(t, c) * p->scale;
    if (g->f->dalpha && rows)
        *oa_dalpha_slot(t, g, c) += p->scale * rows_dot(t, g, t->q[c], dq);
    if (p->dq && p->q_table)
        t->d->cpu->kernels.axpy(rows * p->width, factor, dq,
                                oa_real_at(t->d, p->dq, t->h * p->q_head_stride + i0 * p->width));
    else if (p->dq)
        store_query_rows(t, g, i0, rows, end, p->width, factor, dq, p->dq, p->ldq);
}

/* Prefetches the rows that finish_block_queries will write. */
static void fetch_query_gradients(const struct oa_tiles *t, const struct oa_gradients *g, long i0)
{
    for (int c = 0; c < t->a->parts; c++) {
        const struct oa_logits_part *p = &t->a->part[c];
        if (g->dq[c] && p->dq && !p->q_table)
            oa_tiles_fetch(t, part_rows(t, p->dq, p->ldq, t->a->shape.queries, p->width, i0),
                           p->ldq, oa_bounds_length(t->rows), p->width);
    }
}

/* The block at i0 with keys `cols`; last: no keys follow. */
static void head_gradient_block(struct oa_tiles *t, struct oa_gradients *g, long i0,
                                struct oa_bounds cols, bool last)
{
    long end = oa_min(i0 + t->query_block, t->a->shape.queries);
    bool *met = &g->met[(i0 - g->rows.begin) / t->query_block];
    if (oa_tiles_block(t, i0, cols)) {
        oa_gradient_load_rows(t, g);
        g->turn = true;
        if (last)
            fetch_query_gradients(t, g, i0);
        for (; oa_tiles_next(t); *met = true)
            oa_gradient_tile(t, g, !*met);
    }
    for (int c = 0; last && c < t->a->parts; c++)
        finish_block_queries(t, g, c, i0, *met ? oa_bounds_length(t->rows) : 0, end);
}

/* ---- one (b,h) ---- */

/* Stores dk or dv: rows of real keys of g->cols, then zeros up to `end`. */
static void store_key_rows(const struct oa_tiles *t, const struct oa_gradients *g, long end,
                           long width, double factor, void *sums, void *x, long ld)
{
    long rows = oa_bounds_length(g->cols), begin = g->cols.begin;
    ld = oa_key_gradient_ld(&t->a->shape, width, ld);
    void *to = part_rows(t, x, ld, t->a->shape.keys, width, begin);
    size_t size = t->d->numbers.act_size;
    if (t->on_tiles) {
        oa_real_fill(t->d, width, factor, g->row);
        oa_attention_store(t, sums, rows, width, g->row, to, ld);
    } else
        store_rows(t, g, rows, width, factor, sums, to, ld);
    oa_zero_rows(oa_act_at(t->d, to, rows * ld), (size_t)ld * size, (size_t)width * size,
                 end - begin - rows);
}

static void finish_head_keys(struct oa_tiles *t, struct oa_gradients *g, int c, long end)
{
    const struct oa_logits_part *p = &t->a->part[c];
    const struct oa_kernels *k = &t->d->cpu->kernels;
    double alpha = oa_tiles_alpha(t, c);
    long n = oa_bounds_length(g->cols), begin = g->cols.begin;
    if (g->dbias[c])
        k->axpy(n, alpha, g->dbias[c],
                oa_real_at(t->d, oa_shared_bias(&g->f->shared, t->b, t->h, c), begin));
    if (g->dk[c] && p->k_table) { /* into the gradient of the table, which the batch shares */
        void *dk = oa_real_at(t->d, oa_shared_keys(&g->f->shared, t->b, t->h, c), begin * p->width);
        if (t->on_tiles)
            oa_attention_add(t, g->dk[c], n, p->width, alpha * p->scale, g->row, dk);
        else
            k->axpy(n * p->width, alpha * p->scale, g->dk[c], dk);
    } else if (g->dk[c])
        store_key_rows(t, g, end, p->width, alpha * p->scale, g->dk[c], p->dk, p->ldk);
}

/* Blocks of queries with keys `cols`; all: there are no other keys, and the blocks share a buffer.
 */
static void head_gradient_blocks(struct oa_tiles *t, struct oa_gradients *g, struct oa_bounds rows,
                                 struct oa_bounds cols, bool all, bool last)
{
    size_t mark = oa_arena_mark(t->scratch);
    oa_tiles_pack_keys(t, cols, true);
    for (long i0 = rows.begin; i0 < rows.end && !t->failed; i0 += t->query_block) {
        if (all)
            g->rows.begin = i0, g->met[0] = false;
        head_gradient_block(t, g, i0, cols, last);
    }
    oa_arena_release(t->scratch, mark);
}

/* Query blocks are packed in groups of OA_PACKED_BLOCKS, so that with a sparse support packed
 * operands stay in the cache. */
static void head_gradient_rows(struct oa_tiles *t, struct oa_gradients *g, struct oa_bounds rows)
{
    size_t mark = oa_arena_mark(t->scratch);
    struct oa_bounds seen =
        oa_tiles_seen(t, rows.begin, oa_max(rows.begin, oa_min(rows.end, t->queries)));
    seen = oa_bounds_cut(seen, g->cols);
    long step = oa_tiles_keys_at_once(t, seen), j = seen.begin;
    bool all = oa_bounds_length(seen) <= step;
    g->rows = rows;
    memset(g->met, 0, sizeof g->met);
    oa_tiles_pack_queries(t, rows, true);
    if (!t->failed && g->dots)
        make_row_dots(t, g, rows);
    do
        head_gradient_blocks(t, g, rows, (struct oa_bounds){ j, oa_min(j + step, seen.end) }, all,
                             j + step >= seen.end);
    while ((j += step) < seen.end);
    oa_arena_release(t->scratch, mark);
}

void oa_gradient_head(struct oa_tiles *t, struct oa_gradients *g, struct oa_bounds rows,
                      struct oa_bounds cols)
{
    long step = oa_tiles_rows_at_once(t);
    size_t mark = oa_arena_mark(t->scratch);
    take_head_sums(t, g,
                   (struct oa_bounds){ cols.begin, oa_max(cols.begin, oa_min(cols.end, t->keys)) });
    oa_tiles_pack_all_keys(t, rows, g->cols, true);
    for (long i0 = rows.begin; i0 < rows.end && !t->failed; i0 += step)
        head_gradient_rows(t, g, (struct oa_bounds){ i0, oa_min(i0 + step, rows.end) });
    if (!t->failed && g->dv)
        store_key_rows(t, g, cols.end, t->a->shape.value_width, 1, g->dv, t->a->dv, t->a->ldv);
    for (int c = 0; c < t->a->parts && !t->failed; c++)
        finish_head_keys(t, g, c, cols.end);
    oa_arena_release(t->scratch, mark);
}
