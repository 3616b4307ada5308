/* SPDX-License-Identifier: Apache-2.0
 * The logits engine where the weights do not depend on the input (random synthesizers: Tay et al.
 * 2021): every part is a table or the product of two, there is no dropout and no padding. Then P is
 * the same for all batch items, and a tile of it, computed once for a head, serves them all:
 *
 *     O_b = P V_b,   dV_b = Pᵀ dO_b
 *     dS = Σ_b dS_b = P ∘ (Σ_b dO_b V_bᵀ − Σ_b δ_b),   δ_b,i = dO_b,i·O_b,i
 *
 * dS only where a table is trained: dtable = dS, and for a product S = τ Q Kᵀ of two tables
 * dQ = τ dS K, dK = τ dSᵀ Q. An item has some keys of a head, so it owns its rows of dK; its share
 * of dQ goes to a buffer, and the shares are added in the order of the keys.
 * Per batch item one product forward and one or two backward remain, against two and five of
 * softmax attention, and no exponentials. */
#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

enum {
    ROWS_AHEAD = 2,     /* prefetch distance in rows of a table's gradient */
    FORWARD_BLOCKS = 8, /* query blocks of a forward item: values are packed once for them */
    GRADIENT_KEYS = 512 /* keys of a backward item */
};

static bool all_full(const int32_t *lengths, long batch, long length)
{
    for (long b = 0; lengths && b < batch; b++)
        if (lengths[b] < length)
            return false;
    return true;
}

bool oa_tables_shared(const struct oa_logits *a)
{
    const struct oa_attention_shape *s = &a->shape;
    for (int c = 0; c < a->parts; c++)
        if (!oa_part_given(&a->part[c]))
            return false;
    return s->batch > 1 && s->logit_cap == 0 && a->normaliser == OA_NORMALISE_SOFTMAX &&
           !a->forgetting.query && !a->distances.table && a->keep >= 1 &&
           all_full(s->key_lengths, s->batch, s->keys) &&
           all_full(s->query_lengths, s->batch, s->queries);
}

struct tables_call {
    struct oa_device *d;
    const struct oa_logits *a;
    long cuts, cut;         /* items of a head; rows (forward) or keys (backward) of each */
    double *dalpha;         /* [H, cuts, parts] partial sums; NULL when not wanted */
    void *dq[OA_MAX_PARTS]; /* products: real [H, cuts, T, K], shares of dQ; NULL when not wanted */
    bool logits;            /* dS is wanted */
};

/* Packs the values of these rows of each batch item, or dO of all rows. */
static struct oa_packed *pack_batch(struct oa_tiles *t, bool values, struct oa_bounds rows)
{
    const struct oa_attention_shape *s = &t->a->shape;
    struct oa_packed *packed = oa_tiles_take(t, s->batch, sizeof *packed);
    for (t->b = 0; t->b < s->batch && !t->failed; t->b++)
        packed[t->b] = values ? oa_tiles_pack_values(t, rows, s->keys)
                              : oa_tiles_pack(t, t->a->d_o, t->a->ldo, s->queries, rows, s->queries,
                                              s->value_width);
    t->b = 0;
    return packed;
}

static void *tables_output_row(const struct oa_tiles *t, const void *x, long b, long i)
{
    const struct oa_logits *a = t->a;
    return oa_act_at(t->d, x, (b * a->shape.queries + i) * a->ldo + t->h * a->shape.value_width);
}

static void *tables_lse_row(const struct oa_tiles *t, long b)
{
    const struct oa_attention_shape *s = &t->a->shape;
    return oa_real_at(t->d, t->a->lse, (b * s->heads + t->h) * s->queries + t->rows.begin);
}

/* ---- forward ---- */

struct tables_sums {
    struct oa_packed *v; /* [B] */
    void *m, *z, *rescale;
    void *p; /* act tile */
    void *o; /* real [B][query_block, V] */
};

static void *block_sum(const struct oa_tiles *t, const struct tables_sums *s, long b)
{
    return oa_real_at(t->d, s->o, b * t->query_block * t->a->shape.value_width);
}

/* lse of the rows (padded ones too, −∞) into s->m and for every batch item; 1/z into s->z. */
static void finish_softmax(struct oa_tiles *t, struct tables_sums *s)
{
    struct oa_device *d = t->d;
    for (long i = 0; i < t->padded_rows; i++) {
        double z = oa_real_get(d, s->z, i);
        oa_real_set(d, s->m, i, z == 0 ? -INFINITY : oa_real_get(d, s->m, i) + log(z));
        oa_real_set(d, s->z, i, z == 0 ? 0 : 1 / z);
    }
    for (long b = 0; b < t->a->shape.batch; b++)
        memcpy(tables_lse_row(t, b), s->m,
               (size_t)oa_bounds_length(t->rows) * d->numbers.real_size);
}

/* Adds a tile to the sums of all batch items. */
static void add_tables_tile(struct oa_tiles *t, struct tables_sums *s, bool first)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long v = t->a->shape.value_width, ld;
    double factor;
    const void *logits = oa_tiles_logits_in_place(t, &factor, &ld);
    k->softmax_to_act(t->padded_rows, t->padded_cols, factor, t->tile_low, t->tile_high, logits, ld,
                      s->m, s->z, s->rescale, s->p, t->padded_cols);
    for (long b = 0; b < t->a->shape.batch; b++) {
        if (!first)
            k->scale_rows(t->padded_rows, v, s->rescale, block_sum(t, s, b), v);
        oa_tiles_keys_product(t, s->p, s->v[b], block_sum(t, s, b), !first);
    }
}

static void store_tables_block(struct oa_tiles *t, struct tables_sums *s, long i0, long rows,
                               bool empty)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long v = t->a->shape.value_width;
    size_t size = t->d->numbers.act_size;
    if (!empty)
        finish_softmax(t, s);
    for (long b = 0; b < t->a->shape.batch; b++) {
        void *o = tables_output_row(t, t->a->o, b, i0);
        if (empty) {
            oa_zero_rows(o, (size_t)t->a->ldo * size, (size_t)v * size, rows);
            oa_real_fill(t->d, rows, -INFINITY, tables_lse_row(t, b));
        } else {
            k->scale_rows(rows, v, s->z, block_sum(t, s, b), v);
            k->tile_to_act(rows, v, block_sum(t, s, b), v, o, t->a->ldo);
        }
    }
}

static void tables_block(struct oa_tiles *t, struct tables_sums *s, long i0)
{
    bool first = true;
    if (oa_tiles_block(t, i0, (struct oa_bounds){ 0, t->keys })) {
        oa_real_fill(t->d, t->padded_rows, -INFINITY, s->m);
        oa_real_fill(t->d, t->padded_rows, 0, s->z);
        for (; oa_tiles_next(t); first = false)
            add_tables_tile(t, s, first);
    }
    store_tables_block(t, s, i0, oa_bounds_length(t->rows), first);
}

static void tables_item(void *argument, long item, const struct oa_worker *w)
{
    const struct tables_call *f = argument;
    const struct oa_logits *a = f->a;
    size_t real = f->d->numbers.real_size;
    long begin = item % f->cuts * f->cut, end = oa_min(begin + f->cut, a->shape.queries);
    struct oa_tiles t;
    oa_tiles_open(&t, f->d, a, w, f->d->cpu->kernels.key_block);
    oa_tiles_head(&t, 0, item / f->cuts);
    oa_tiles_pack_tables(&t, (struct oa_bounds){ begin, end }, oa_tiles_seen(&t, begin, end));
    struct tables_sums s = {
        .v = pack_batch(&t, true, oa_tiles_seen(&t, begin, end)),
        .m = oa_tiles_take(&t, t.query_block, real),
        .z = oa_tiles_take(&t, t.query_block, real),
        .rescale = oa_tiles_take(&t, t.query_block, real),
        .p = oa_tiles_take(&t, t.query_block * t.key_block, f->d->numbers.act_size),
        .o = oa_tiles_take(&t, a->shape.batch * t.query_block * a->shape.value_width, real),
    };
    for (long i0 = begin; i0 < end && !t.failed; i0 += t.query_block)
        tables_block(&t, &s, i0);
}

void oa_tables_forward(struct oa_device *d, const struct oa_logits *a)
{
    struct tables_call f = { .d = d,
                             .a = a,
                             .cut = FORWARD_BLOCKS * oa_tile_round(d->cpu->kernels.query_block) };
    f.cuts = oa_blocks(a->shape.queries, f.cut);
    oa_parallel(d->context, a->shape.heads * f.cuts, tables_item, &f);
}

/* ---- backward ---- */

struct tables_gradients {
    const struct tables_call *f;
    struct oa_bounds cols;
    struct oa_packed *v, *d_o; /* [B] */
    void *dv;                  /* real [B][cols, V] */
    void *p, *dp, *ds;         /* tiles: act, real, act */
    void *lse, *delta, *sum;   /* real [query_block] */
    void *row;                 /* real: one row of a tile or of Q */
    void *dq[OA_MAX_PARTS];    /* products: real [query_block, K], dS K of the block; NULL when not
                                  wanted */
    void *dk[OA_MAX_PARTS];    /* products: real [cols, K]; NULL when not wanted */
    long item;
    double *dalpha; /* [parts] of this item */
};

static bool is_product(const struct oa_logits_part *p)
{
    return p->kind == OA_PART_DOT;
}

static void *value_sum(const struct oa_tiles *t, const struct tables_gradients *g, long b, long j)
{
    long rows = oa_tile_round(oa_bounds_length(g->cols));
    return oa_real_at(t->d, g->dv, (b * rows + j - g->cols.begin) * t->a->shape.value_width);
}

/* Σ_b δ_b and lse of the rows of the block. */
static void load_tables_rows(struct oa_tiles *t, struct tables_gradients *g)
{
    const struct oa_logits *a = t->a;
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long rows = oa_bounds_length(t->rows);
    oa_real_fill(t->d, t->padded_rows, 0, g->sum);
    for (long b = 0; b < a->shape.batch && g->f->logits; b++) {
        k->row_dots(rows, a->shape.value_width, tables_output_row(t, a->d_o, b, t->rows.begin),
                    a->ldo, tables_output_row(t, a->o, b, t->rows.begin), a->ldo, g->delta);
        k->axpy(rows, 1, g->delta, g->sum);
    }
    oa_real_fill(t->d, t->padded_rows, -INFINITY, g->lse);
    memcpy(g->lse, tables_lse_row(t, 0), (size_t)rows * k->real_size);
}

static void *table_at(const struct oa_tiles *t, int c, const void *x)
{
    long n = t->a->part[c].table_length;
    return oa_real_at(t->d, x, (t->h * n + t->rows.begin) * n + t->cols.begin);
}

static void add_tables_dtable(const struct oa_tiles *t, const struct tables_gradients *g, int c)
{
    const struct oa_logits_part *p = &t->a->part[c];
    void *corner = table_at(t, c, p->dtable);
    long n = oa_bounds_length(t->cols);
    size_t bytes = (size_t)n * t->d->numbers.real_size;
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        const char *next = oa_real_at(t->d, corner, (i + ROWS_AHEAD) * p->table_length);
        for (size_t line = 0; line < bytes; line += OA_ALIGN)
            __builtin_prefetch(next + line, 1);
        t->d->cpu->kernels.add_to_real(n, oa_tiles_alpha(t, c),
                                       oa_act_at(t->d, g->ds, i * t->padded_cols),
                                       oa_real_at(t->d, corner, i * p->table_length));
    }
}

/* Σ_ij dS_ij table_ij over visible pairs. */
static double tables_alpha_gradient(const struct oa_tiles *t, const struct tables_gradients *g,
                                    int c)
{
    const struct oa_logits_part *p = &t->a->part[c];
    const struct oa_kernels *k = &t->d->cpu->kernels;
    const void *corner = table_at(t, c, p->table);
    double sum = 0;
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        long low = t->tile_low[i], n = oa_max(0, t->tile_high[i] - low);
        k->row_dots_real(1, n, oa_act_at(t->d, g->ds, i * t->padded_cols + low), 0,
                         oa_real_at(t->d, corner, i * p->table_length + low), g->row);
        sum += oa_real_get(t->d, g->row, 0);
    }
    return sum;
}

/* dS K and dSᵀ Q, without α and τ. */
static void add_product_gradient(struct oa_tiles *t, struct tables_gradients *g, int c, bool first)
{
    if (g->dq[c])
        oa_tiles_keys_product(t, g->ds, t->k[c], g->dq[c], !first);
    if (g->dk[c])
        oa_tiles_rows_product(
            t, g->ds, t->q[c],
            oa_real_at(t->d, g->dk[c], (t->cols.begin - g->cols.begin) * t->q[c].width), true);
}

/* With G = dS K of the block: dα = τ Σ_i q_i·G_i, and α τ G is this item's share of dQ. */
static void finish_product(struct oa_tiles *t, struct tables_gradients *g, int c)
{
    const struct oa_logits_part *p = &t->a->part[c];
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long rows = oa_bounds_length(t->rows), first = t->rows.begin;
    for (long i = 0; g->dalpha && i < rows; i++) {
        k->real_from_act(p->width, oa_act_at(t->d, t->q[c].x, (first + i) * p->width), g->row);
        g->dalpha[c] +=
            p->scale * k->dot(p->width, g->row, oa_real_at(t->d, g->dq[c], i * p->width));
    }
    if (g->f->dq[c])
        k->axpy(rows * p->width, oa_tiles_alpha(t, c) * p->scale, g->dq[c],
                oa_real_at(t->d, g->f->dq[c], (g->item * t->a->shape.queries + first) * p->width));
}

static void add_logits_gradient(struct oa_tiles *t, struct tables_gradients *g, bool first)
{
    for (int c = 0; c < t->a->parts; c++) {
        if (is_product(&t->a->part[c])) {
            add_product_gradient(t, g, c, first);
            continue;
        }
        if (t->a->part[c].dtable)
            add_tables_dtable(t, g, c);
        if (g->dalpha)
            g->dalpha[c] += tables_alpha_gradient(t, g, c);
    }
}

/* P of the tile into g->p; where it is wanted, dS into g->ds. */
static void make_tables_weights(struct oa_tiles *t, struct tables_gradients *g)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    double factor;
    long ld;
    if (!g->f->logits) {
        factor = oa_tiles_logits(t);
        k->softmax_again(t->padded_rows, t->padded_cols, factor, t->tile_low, t->tile_high, g->lse,
                         t->s, t->padded_cols);
        k->act_from_real(t->padded_rows * t->padded_cols, t->s, g->p);
        return;
    }
    for (long b = 0; b < t->a->shape.batch; b++)
        oa_tiles_pair_product(t, g->d_o[b], g->v[b], g->dp, b > 0);
    const void *logits = oa_tiles_logits_in_place(t, &factor, &ld);
    k->softmax_again_gradient(t->padded_rows, t->padded_cols, factor, t->tile_low, t->tile_high,
                              g->lse, logits, ld, g->dp, t->padded_cols, g->sum, g->p,
                              t->padded_cols, g->ds, t->padded_cols);
}

static void tables_gradient_tile(struct oa_tiles *t, struct tables_gradients *g, bool first)
{
    make_tables_weights(t, g);
    for (long b = 0; g->dv && b < t->a->shape.batch; b++)
        oa_tiles_rows_product(t, g->p, g->d_o[b], value_sum(t, g, b, t->cols.begin), true);
    if (g->f->logits)
        add_logits_gradient(t, g, first);
}

static void store_tables_values(struct oa_tiles *t, struct tables_gradients *g)
{
    const struct oa_logits *a = t->a;
    long v = a->shape.value_width, begin = g->cols.begin;
    for (long b = 0; b < a->shape.batch; b++)
        t->d->cpu->kernels.tile_to_act(
            oa_bounds_length(g->cols), v, value_sum(t, g, b, begin), v,
            oa_act_at(t->d, a->dv, (b * a->shape.keys + begin) * a->ldv + t->h * v), a->ldv);
}

static void store_tables_products(struct oa_tiles *t, struct tables_gradients *g)
{
    for (int c = 0; c < t->a->parts; c++) {
        const struct oa_logits_part *p = &t->a->part[c];
        if (g->dk[c])
            t->d->cpu->kernels.axpy(
                oa_bounds_length(g->cols) * p->width, oa_tiles_alpha(t, c) * p->scale, g->dk[c],
                oa_real_at(t->d, p->dk, t->h * p->k_head_stride + g->cols.begin * p->width));
    }
}

static void *take_zero_sums(struct oa_tiles *t, long n)
{
    void *x = oa_tiles_take(t, n, t->d->numbers.real_size);
    return x ? memset(x, 0, (size_t)n * t->d->numbers.real_size) : NULL;
}

static void take_products(struct oa_tiles *t, struct tables_gradients *g)
{
    long widest = t->key_block;
    for (int c = 0; c < t->a->parts; c++) {
        const struct oa_logits_part *p = &t->a->part[c];
        if (!is_product(p))
            continue;
        widest = oa_max(widest, p->width);
        if (g->f->dq[c] || g->f->dalpha)
            g->dq[c] = oa_tiles_take(t, t->query_block * p->width, t->d->numbers.real_size);
        g->dk[c] =
            p->dk ? take_zero_sums(t, oa_tile_round(oa_bounds_length(g->cols)) * p->width) : NULL;
    }
    g->row = oa_tiles_take(t, widest, t->d->numbers.real_size);
}

static void take_tiles(struct oa_tiles *t, struct tables_gradients *g)
{
    const struct oa_logits *a = t->a;
    size_t real = t->d->numbers.real_size, act = t->d->numbers.act_size;
    long tile = t->query_block * t->key_block;
    g->v = pack_batch(t, true, g->cols);
    g->d_o = pack_batch(t, false, (struct oa_bounds){ 0, a->shape.queries });
    g->p = oa_tiles_take(t, tile, act);
    g->dp = oa_tiles_take(t, tile, real);
    g->ds = oa_tiles_take(t, tile, act);
    g->lse = oa_tiles_take(t, t->query_block, real);
    g->delta = oa_tiles_take(t, t->query_block, real);
    g->sum = oa_tiles_take(t, t->query_block, real);
    long sums = a->shape.batch * oa_tile_round(oa_bounds_length(g->cols)) * a->shape.value_width;
    g->dv = a->dv ? take_zero_sums(t, sums) : NULL;
    take_products(t, g);
}

static void tables_gradient_block(struct oa_tiles *t, struct tables_gradients *g, long i0)
{
    bool first = true;
    if (!oa_tiles_block(t, i0, g->cols))
        return;
    load_tables_rows(t, g);
    for (; oa_tiles_next(t); first = false)
        tables_gradient_tile(t, g, first);
    for (int c = 0; c < t->a->parts && !first; c++)
        if (g->dq[c])
            finish_product(t, g, c);
}

static void tables_gradient_item(void *argument, long item, const struct oa_worker *w)
{
    const struct tables_call *f = argument;
    const struct oa_logits *a = f->a;
    long begin = item % f->cuts * f->cut;
    struct oa_tiles t;
    struct tables_gradients g = { .f = f,
                                  .item = item,
                                  .cols = { begin, oa_min(begin + f->cut, a->shape.keys) } };
    oa_tiles_open(&t, f->d, a, w, f->d->cpu->kernels.key_block);
    oa_tiles_head(&t, 0, item / f->cuts);
    oa_tiles_pack_tables(&t, (struct oa_bounds){ 0, a->shape.queries }, g.cols);
    take_tiles(&t, &g);
    g.dalpha = f->dalpha ? f->dalpha + item * a->parts : NULL;
    for (long i0 = 0; i0 < a->shape.queries && !t.failed; i0 += t.query_block)
        tables_gradient_block(&t, &g, i0);
    if (!t.failed && g.dv)
        store_tables_values(&t, &g);
    if (!t.failed)
        store_tables_products(&t, &g);
}

static void add_tables_dalpha(const struct tables_call *f)
{
    long parts = f->a->parts;
    for (long at = 0; f->dalpha && at < f->a->shape.heads * parts; at++) {
        double sum = 0;
        for (long i = 0; i < f->cuts; i++)
            sum += f->dalpha[(at / parts * f->cuts + i) * parts + at % parts];
        oa_real_set(f->d, f->a->dalpha, at, oa_real_get(f->d, f->a->dalpha, at) + sum);
    }
}

static void add_tables_dq(const struct tables_call *f, int c)
{
    const struct oa_logits_part *p = &f->a->part[c];
    long each = f->a->shape.queries * p->width;
    for (long item = 0; f->dq[c] && item < f->a->shape.heads * f->cuts; item++)
        f->d->cpu->kernels.axpy(each, 1, oa_real_at(f->d, f->dq[c], item * each),
                                oa_real_at(f->d, p->dq, item / f->cuts * p->q_head_stride));
}

static bool take_tables_dq(struct tables_call *f, int c)
{
    const struct oa_logits_part *p = &f->a->part[c];
    size_t bytes = (size_t)(f->a->shape.heads * f->cuts * f->a->shape.queries * p->width) *
                   f->d->numbers.real_size;
    if (!is_product(p) || !p->dq)
        return true;
    f->dq[c] = oa_arena_take(&f->d->scratch, bytes);
    if (f->dq[c])
        memset(f->dq[c], 0, bytes);
    return f->dq[c];
}

static bool take_tables_dalpha(struct tables_call *f)
{
    if (!f->a->dalpha)
        return true;
    size_t bytes = (size_t)(f->a->shape.heads * f->cuts * f->a->parts) * sizeof(double);
    f->dalpha = oa_arena_take(&f->d->scratch, bytes);
    if (f->dalpha)
        memset(f->dalpha, 0, bytes);
    return f->dalpha;
}

void oa_tables_gradient(struct oa_device *d, const struct oa_logits *a)
{
    struct tables_call f = { .d = d, .a = a, .cut = GRADIENT_KEYS, .logits = a->dalpha };
    f.cuts = oa_blocks(a->shape.keys, f.cut);
    for (int c = 0; c < a->parts; c++)
        f.logits |= a->part[c].dtable || a->part[c].dq || a->part[c].dk;
    size_t mark = oa_arena_mark(&d->scratch);
    bool taken = (a->dv || f.logits) && take_tables_dalpha(&f);
    for (int c = 0; c < a->parts; c++)
        taken = taken && take_tables_dq(&f, c);
    if (taken) {
        oa_parallel(d->context, a->shape.heads * f.cuts, tables_gradient_item, &f);
        add_tables_dalpha(&f);
    }
    for (int c = 0; c < a->parts && taken; c++)
        add_tables_dq(&f, c);
    oa_arena_release(&d->scratch, mark);
}
