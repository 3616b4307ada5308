/* SPDX-License-Identifier: Apache-2.0
 *
 * The logits engine, backward. With dO given, P recomputed from S and lse, u the dropout mask and p its keep rate,
 * D = P∘u/p what the forward pass multiplied V by, and δ_i = dO_i·O_i (Dao et al. 2022, app. B):
 *
 *     O_i = Σ_j D_ij v_j            ⇒  dv_j = Σ_i D_ij dO_i,   dP_ij = (u_ij/p) dO_i·v_j
 *     P = softmax(S)                ⇒  dS_ij = P_ij (dP_ij − Σ_l P_il dP_il) = P_ij (dP_ij − δ_i)
 *       as Σ_l P_il dP_il = Σ_l P_il (u_il/p) dO_i·v_l = dO_i·O_i, dropped or not
 *     S = Σ_c α_c S^c               ⇒  dS^c = α_c dS,  dα_c = Σ_ij dS_ij S^c_ij
 *     S^c_ij = τ q_i·k_j + bias_j   ⇒  dq_i = α_c τ Σ_j dS_ij k_j,  dk_j = α_c τ Σ_i dS_ij q_i,
 *                                      dbias_j = α_c Σ_i dS_ij
 *     S += b[bucket(j − i)]         ⇒  db[c] = Σ dS_ij over the pairs of bucket c   (cpu_relative.c)
 *     S^c_ij = table_ij             ⇒  dtable_ij = α_c dS_ij
 *     S^c_ij = q_i[j mod a]·k_i[⌊j/a⌋]
 *                                   ⇒  dq_i[p] = α_c Σ_{j mod a = p} dS_ij k_i[⌊j/a⌋],
 *                                      dk_i[f] = α_c Σ_{⌊j/a⌋ = f} dS_ij q_i[j mod a]
 *
 * dα of a product needs no second look at S^c: Σ_ij dS_ij τ q_i·k_j = τ Σ_i q_i·G_i, where G_i = Σ_j dS_ij k_j is there
 * for dq anyway; that of a fold is Σ_i k_i·dk_i/α_c for the same reason. Invisible pairs have P = 0 and dS = 0 and
 * touch nothing; so does an empty row.
 *
 * Cutting. One pass gives both sides' gradients of a (b,h): query blocks outside, tiles inside, dq_i in a small buffer,
 * dk and dv in buffers of the length of the sequence. Gradients that the batch shares (a table of queries or keys, a
 * bias, a table of logits) make an item of all that add to one place, so that the sum has one order. Where this leaves
 * too few items, those of keys get sums of their own (cpu_logits_shared.c). Where that does not help, two passes:
 * blocks of keys give dk, dv and the shared ones, blocks of queries give dq (and both sides of a fold, which are rows
 * of queries); S and dP are computed twice.
 */
#include "base/bugs.h"
#include "device/cpu_logits.h"
#include "kernels/attention_tile.h"

#include <math.h>
#include <string.h>

enum {
    ENOUGH_ITEMS = 8, /* of one pass; fewer are cut in two passes */
    CUT_ITEMS = 32,   /* of each of two passes, about, … */
    MOST_BLOCKS = 8   /* … of at most so many query blocks */
};

enum { QUERY_SIDE = 1, KEY_SIDE = 2 };

struct backward {
    struct oa_device *d;
    const struct oa_logits *a;
    bool merge_batch, merge_heads; /* gradients shared by these: one item goes through all of them */
    bool merge_queries;            /* those of the queries' side are shared by the batch: a table of queries */
    long batch_items, head_items;  /* batch · heads when not merged */
    int sides;                     /* of this pass */
    long row_cut, col_cut;         /* rows of queries, of keys of an item of this pass */
    double *dalpha;                /* [B·H, query blocks, parts] partial sums; NULL when not wanted */
    double *distances;             /* … [B·H, query blocks, buckets] */
    struct oa_shared shared;
};

/* Gradients of the (b,h) at work. */
struct gradients {
    const struct backward *f;
    bool logits;                                  /* dS is needed at all */
    void *p, *dp, *ds;                            /* tiles: act D, real dP, act dS */
    void *lse, *delta, *factor;                   /* real [query_block] */
    void *dq[OA_MAX_PARTS];                       /* real [query_block, K] */
    void *dfold[OA_MAX_PARTS];                    /* real [query_block, b]: dk of a fold */
    struct oa_span cols;                          /* the keys that dk, dv, dbias are about */
    void *dk[OA_MAX_PARTS], *dbias[OA_MAX_PARTS]; /* real [cols, K], [cols] */
    void *dv;                                     /* real [cols, V] */
    void *row;                                    /* real: one row of a tile or of q */
    void *diagonals;                              /* real [query_block + key_block]; NULL: not wanted */
};

/* ---- what is wanted ------------------------------------------------------------------------------------------- */

static bool wants_dq(const struct backward *f, int c)
{
    const struct oa_part *p = &f->a->part[c];
    return (f->sides & QUERY_SIDE) && p->kind != OA_PART_TABLE && (p->dq || f->dalpha);
}

static bool wants_dfold(const struct backward *f, int c)
{
    const struct oa_part *p = &f->a->part[c];
    return (f->sides & QUERY_SIDE) && p->kind == OA_PART_FOLD && (p->dk || f->dalpha);
}

static bool wants_dk(const struct backward *f, int c)
{
    const struct oa_part *p = &f->a->part[c];
    return (f->sides & KEY_SIDE) && p->kind == OA_PART_DOT && p->dk;
}

static bool wants_dbias(const struct backward *f, int c)
{
    const struct oa_part *p = &f->a->part[c];
    return (f->sides & KEY_SIDE) && p->kind == OA_PART_DOT && p->bias && p->dbias;
}

static bool wants_dtable(const struct backward *f, int c)
{
    const struct oa_part *p = &f->a->part[c];
    return (f->sides & KEY_SIDE) && p->kind == OA_PART_TABLE && p->dtable;
}

static bool wants_dv(const struct backward *f)
{
    return (f->sides & KEY_SIDE) && f->a->dv;
}

static bool wants_logits(const struct backward *f)
{
    bool wanted = (f->sides & QUERY_SIDE) && (f->dalpha || f->distances);
    for (int c = 0; c < f->a->parts; c++)
        wanted |= wants_dq(f, c) || wants_dfold(f, c) || wants_dk(f, c) || wants_dbias(f, c) || wants_dtable(f, c);
    return wanted;
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static long widest_row(const struct oa_tiles *t)
{
    long widest = oa_max(t->key_block, t->a->shape.value_width);
    for (int c = 0; c < t->a->parts; c++)
        if (t->a->part[c].kind != OA_PART_TABLE)
            widest = oa_max(widest, oa_max(t->a->part[c].width, t->a->part[c].folds));
    return widest;
}

/* What is taken once for an item. */
static void take_tiles(struct oa_tiles *t, struct gradients *g, const struct backward *f)
{
    size_t real = t->d->numbers.real_size, act = t->d->numbers.act_size;
    long tile = t->query_block * t->key_block;
    *g = (struct gradients){ .f = f, .logits = wants_logits(f) };
    g->p = oa_tiles_take(t, tile, real); /* D is dropped as reals first */
    g->dp = oa_tiles_take(t, tile, real);
    g->ds = oa_tiles_take(t, tile, act);
    g->lse = oa_tiles_take(t, t->query_block, real);
    g->delta = oa_tiles_take(t, t->query_block, real);
    g->factor = oa_tiles_take(t, t->query_block, real);
    g->row = oa_tiles_take(t, widest_row(t), real);
    g->diagonals = f->distances ? oa_tiles_take(t, t->query_block + t->key_block, real) : NULL;
    for (int c = 0; c < t->a->parts; c++) {
        if (wants_dq(f, c))
            g->dq[c] = oa_tiles_take(t, t->query_block * t->a->part[c].width, real);
        if (wants_dfold(f, c))
            g->dfold[c] = oa_tiles_take(t, t->query_block * t->a->part[c].folds, real);
    }
}

static void *take_zeros(struct oa_tiles *t, long n)
{
    void *x = oa_tiles_take(t, n, t->d->numbers.real_size);
    if (x)
        memset(x, 0, (size_t)n * t->d->numbers.real_size);
    return x;
}

/* Of dk and dv: on tiles they lie transposed, in whole tiles. */
static long sums_width(const struct oa_tiles *t, long width)
{
    return t->on_tiles ? oa_tile_round(width) : width;
}

/* What is taken for a (b,h): sums over its queries. */
static void take_sums(struct oa_tiles *t, struct gradients *g, struct oa_span cols)
{
    long rows = oa_tile_round(oa_span_length(cols));
    g->cols = cols;
    g->dv = wants_dv(g->f) ? take_zeros(t, rows * sums_width(t, t->a->shape.value_width)) : NULL;
    for (int c = 0; c < t->a->parts; c++) {
        g->dk[c] = wants_dk(g->f, c) ? take_zeros(t, rows * sums_width(t, t->a->part[c].width)) : NULL;
        g->dbias[c] = wants_dbias(g->f, c) ? take_zeros(t, rows) : NULL;
    }
}

/* ---- one tile ------------------------------------------------------------------------------------------------- */

static long output_at(const struct oa_tiles *t, long i)
{
    const struct oa_logits *a = t->a;
    return (t->b * a->shape.queries + i) * a->ldo + t->h * a->shape.value_width;
}

static void *sum_row(const struct oa_tiles *t, const struct gradients *g, void *sums, long width)
{
    return oa_real_at(t->d, sums, (t->cols.begin - g->cols.begin) * sums_width(t, width));
}

/* t->s holds P. D: P itself, or what dropout leaves of it, in t->part. */
static const void *dropped(struct oa_tiles *t)
{
    if (t->a->keep >= 1)
        return t->s;
    memcpy(t->part, t->s, (size_t)(t->padded_rows * t->padded_cols) * t->d->numbers.real_size);
    oa_tiles_dropout(t, t->part);
    return t->part;
}

/* dv += Dᵀ dO. */
static void add_value_gradient(struct oa_tiles *t, struct gradients *g, const void *p)
{
    oa_tiles_rows_product(t, oa_tiles_act(t, p, g->p), t->d_o, sum_row(t, g, g->dv, t->v.width), true);
}

/* dS into g->ds. What D has lost tells which dP to drop, and P = 0 needs none: random words are made once. */
static void logits_gradient(struct oa_tiles *t, struct gradients *g, const void *p)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    oa_tiles_pair_product(t, t->d_o, t->v, g->dp, false);
    if (t->a->keep < 1)
        k->dropout_alike(t->padded_rows * t->padded_cols, t->a->keep, p, g->dp);
    k->softmax_gradient(t->padded_rows, t->padded_cols, 1, t->s, t->padded_cols, g->dp, t->padded_cols, g->delta, g->ds,
                        t->padded_cols);
}

static void add_table_gradient(struct oa_tiles *t, const struct gradients *g, int c)
{
    const struct oa_part *p = &t->a->part[c];
    long n = p->table_length;
    void *corner = oa_real_at(t->d, p->dtable, (t->h * n + t->rows.begin) * n + t->cols.begin);
    for (long i = 0; i < oa_span_length(t->rows); i++)
        t->d->cpu->kernels.add_to_real(oa_span_length(t->cols), oa_tiles_alpha(t, c),
                                       oa_act_at(t->d, g->ds, i * t->padded_cols), oa_real_at(t->d, corner, i * n));
}

/* A row of acts as reals, by way of g->row when the types differ. */
static const void *as_reals(const struct oa_tiles *t, const struct gradients *g, long n, const void *x)
{
    if (t->d->cpu->kernels.act == t->d->cpu->kernels.real)
        return x;
    t->d->cpu->kernels.real_from_act(n, x, g->row);
    return g->row;
}

/* Σ_ij dS_ij x_j or, with a step from row to row, Σ_ij dS_ij x_ij over the visible part of the tile. */
static double tile_dot(const struct oa_tiles *t, const struct gradients *g, const void *x, long step)
{
    double sum = 0;
    for (long i = 0; i < oa_span_length(t->rows); i++) {
        long low = t->tile_low[i], n = t->tile_high[i] - low;
        if (n > 0) {
            const void *ds = oa_act_at(t->d, g->ds, i * t->padded_cols + low);
            sum += t->d->cpu->kernels.dot(n, as_reals(t, g, n, ds), oa_real_at(t->d, x, i * step + low));
        }
    }
    return sum;
}

static double *dalpha_slot(const struct oa_tiles *t, const struct gradients *g, int c)
{
    const struct oa_attention_shape *s = &t->a->shape;
    long block = t->rows.begin / t->query_block, blocks = oa_blocks(s->queries, t->query_block);
    return &g->f->dalpha[((t->b * s->heads + t->h) * blocks + block) * t->a->parts + c];
}

/* dα but for the products, see finish_query_side. */
static void add_alpha_gradient(const struct oa_tiles *t, const struct gradients *g, int c)
{
    const struct oa_part *p = &t->a->part[c];
    long n = p->table_length;
    if (p->kind == OA_PART_TABLE)
        *dalpha_slot(t, g, c) +=
            tile_dot(t, g, oa_real_at(t->d, p->table, (t->h * n + t->rows.begin) * n + t->cols.begin), n);
    else if (p->bias)
        *dalpha_slot(t, g, c) +=
            tile_dot(t, g, oa_real_at(t->d, p->bias, t->h * p->bias_head_stride + t->cols.begin), 0);
}

static void add_fold_gradient(struct oa_tiles *t, struct gradients *g, int c, bool first)
{
    struct oa_device *d = t->d;
    const struct oa_kernels *k = &d->cpu->kernels;
    long a = t->a->part[c].width, b = t->a->part[c].folds;
    for (long i = 0; i < oa_span_length(t->rows); i++) {
        const void *ds = as_reals(t, g, oa_span_length(t->cols), oa_act_at(d, g->ds, i * t->padded_cols));
        void *dq = oa_real_at(d, g->dq[c], i * a), *dk = oa_real_at(d, g->dfold[c], i * b);
        if (first && dq)
            memset(dq, 0, (size_t)a * k->real_size);
        if (first && dk)
            memset(dk, 0, (size_t)b * k->real_size);
        oa_tiles_fold_row(t, c, i);
        for (struct oa_fold_run run = { 0 }; oa_tiles_fold_next(t, c, &run);) {
            const void *piece = oa_real_at(d, ds, run.j - t->cols.begin);
            if (dq)
                k->axpy(run.n, oa_real_get(d, t->fold, a + run.fold), piece, oa_real_at(d, dq, run.first));
            if (dk)
                oa_real_set(d, dk, run.fold,
                            oa_real_get(d, dk, run.fold) + k->dot(run.n, piece, oa_real_at(d, t->fold, run.first)));
        }
    }
}

static void add_part_gradient(struct oa_tiles *t, struct gradients *g, int c, bool first)
{
    const struct backward *f = g->f;
    if (t->a->part[c].kind == OA_PART_FOLD && (g->dq[c] || g->dfold[c]))
        add_fold_gradient(t, g, c, first);
    else if (g->dq[c])
        oa_tiles_keys_product(t, g->ds, t->k[c], g->dq[c], !first);
    if (g->dk[c])
        oa_tiles_rows_product(t, g->ds, t->q[c], sum_row(t, g, g->dk[c], t->q[c].width), true);
    if (g->dbias[c])
        t->d->cpu->kernels.column_sums(oa_span_length(t->rows), oa_span_length(t->cols), g->ds, t->padded_cols,
                                       sum_row(t, g, g->dbias[c], 1));
    if (wants_dtable(f, c))
        add_table_gradient(t, g, c);
    if (f->dalpha && (f->sides & QUERY_SIDE))
        add_alpha_gradient(t, g, c);
}

static void gradient_on_tiles(struct oa_tiles *t, struct gradients *g, bool first)
{
    struct oa_attention_gradient x = { .lse = g->lse, .delta = g->delta, .dq = g->dq[0], .first = first };
    x.dv = g->dv ? sum_row(t, g, g->dv, t->v.width) : NULL;
    x.dk = g->dk[0] ? sum_row(t, g, g->dk[0], t->k[0].width) : NULL;
    oa_attention_add_gradient(t, &x);
}

static void gradient_tile(struct oa_tiles *t, struct gradients *g, bool first)
{
    if (t->on_tiles) {
        gradient_on_tiles(t, g, first);
        return;
    }
    double factor = oa_tiles_logits(t);
    t->d->cpu->kernels.softmax_again(t->padded_rows, t->padded_cols, factor, t->tile_low, t->tile_high, g->lse, t->s,
                                     t->padded_cols);
    const void *p = dropped(t);
    if (g->dv)
        add_value_gradient(t, g, p);
    if (!g->logits)
        return;
    logits_gradient(t, g, p);
    for (int c = 0; c < t->a->parts; c++)
        add_part_gradient(t, g, c, first);
    if (g->diagonals && (g->f->sides & QUERY_SIDE))
        oa_tiles_distance_gradient(t, g->ds, g->diagonals, g->f->distances);
}

/* ---- one block of queries ------------------------------------------------------------------------------------- */

static void load_rows(struct oa_tiles *t, struct gradients *g)
{
    struct oa_device *d = t->d;
    const struct oa_logits *a = t->a;
    long rows = oa_span_length(t->rows), at = output_at(t, t->rows.begin);
    long row = (t->b * a->shape.heads + t->h) * a->shape.queries + t->rows.begin;
    oa_real_fill(d, t->padded_rows, -INFINITY, g->lse);
    oa_real_fill(d, t->padded_rows, 0, g->delta);
    memcpy(g->lse, oa_real_at(d, a->lse, row), (size_t)rows * d->numbers.real_size);
    d->cpu->kernels.row_dots(rows, a->shape.value_width, oa_act_at(d, a->d_o, at), a->ldo, oa_act_at(d, a->o, at),
                             a->ldo, g->delta);
    if (OA_BUG(SOFTMAX_WITHOUT_DELTA))
        oa_real_fill(d, t->padded_rows, 0, g->delta);
}

/* sums · factor, as acts. */
static void store_rows(const struct oa_tiles *t, const struct gradients *g, long rows, long width, double factor,
                       void *sums, void *x, long ld)
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

static void *part_rows(const struct oa_tiles *t, void *x, long ld, long length, long width, long i)
{
    return oa_act_at(t->d, x, (t->b * length + i) * ld + t->h * width);
}

/* Σ_i x_i·G_i over the rows of the block: x packed rows, G reals. */
static double rows_dot(const struct oa_tiles *t, const struct gradients *g, struct oa_packed x, const void *sums)
{
    double sum = 0;
    for (long i = 0; i < oa_span_length(t->rows); i++) {
        const void *row = oa_act_at(t->d, x.x, (t->rows.begin - x.begin + i) * x.width);
        sum += t->d->cpu->kernels.dot(x.width, as_reals(t, g, x.width, row), oa_real_at(t->d, sums, i * x.width));
    }
    return sum;
}

/* Act rows i0 … end-1 of a side, of which the block has seen the first `rows`. */
static void store_query_rows(const struct oa_tiles *t, const struct gradients *g, long i0, long rows, long end,
                             long width, double factor, void *sums, void *x, long ld)
{
    void *to = part_rows(t, x, ld, t->a->shape.queries, width, i0);
    size_t size = t->d->numbers.act_size;
    store_rows(t, g, rows, width, factor, sums, to, ld);
    oa_zero_rows(oa_act_at(t->d, to, rows * ld), (size_t)ld * size, (size_t)width * size, end - i0 - rows);
}

static void finish_fold(struct oa_tiles *t, struct gradients *g, int c, long i0, long rows, long end)
{
    const struct oa_part *p = &t->a->part[c];
    double alpha = oa_tiles_alpha(t, c);
    if (g->f->dalpha && rows)
        *dalpha_slot(t, g, c) += rows_dot(t, g, t->k[c], g->dfold[c]);
    if (g->dq[c] && p->dq)
        store_query_rows(t, g, i0, rows, end, p->width, alpha, g->dq[c], p->dq, p->ldq);
    if (g->dfold[c] && p->dk)
        store_query_rows(t, g, i0, rows, end, p->folds, alpha, g->dfold[c], p->dk, p->ldk);
}

/* dq of rows i0 … end-1, of which the block has seen the first `rows`; dα of a product is τ Σ_i q_i·G_i. */
static void finish_query_side(struct oa_tiles *t, struct gradients *g, int c, long i0, long rows, long end)
{
    const struct oa_part *p = &t->a->part[c];
    if (p->kind == OA_PART_FOLD && (g->dq[c] || g->dfold[c]))
        finish_fold(t, g, c, i0, rows, end);
    if (p->kind != OA_PART_DOT || !g->dq[c])
        return;
    double factor = oa_tiles_alpha(t, c) * p->scale;
    if (g->f->dalpha && rows)
        *dalpha_slot(t, g, c) += p->scale * rows_dot(t, g, t->q[c], g->dq[c]);
    if (p->dq && p->q_table)
        t->d->cpu->kernels.axpy(rows * p->width, factor, g->dq[c],
                                oa_real_at(t->d, p->dq, t->h * p->q_head_stride + i0 * p->width));
    else if (p->dq)
        store_query_rows(t, g, i0, rows, end, p->width, factor, g->dq[c], p->dq, p->ldq);
}

static void gradient_block(struct oa_tiles *t, struct gradients *g, long i0, struct oa_span cols)
{
    long end = oa_min(i0 + t->query_block, t->a->shape.queries);
    bool first = true;
    if (oa_tiles_block(t, i0, cols)) {
        load_rows(t, g);
        for (; oa_tiles_next(t); first = false)
            gradient_tile(t, g, first);
    }
    for (int c = 0; c < t->a->parts; c++)
        finish_query_side(t, g, c, i0, first ? 0 : oa_span_length(t->rows), end);
}

/* ---- one (b,h) ------------------------------------------------------------------------------------------------ */

/* dk or dv: the real ones of g->cols, then zeros up to `end`. */
static void store_key_rows(const struct oa_tiles *t, const struct gradients *g, long end, long width, double factor,
                           void *sums, void *x, long ld)
{
    long rows = oa_span_length(g->cols), begin = g->cols.begin;
    void *to = part_rows(t, x, ld, t->a->shape.keys, width, begin);
    size_t size = t->d->numbers.act_size;
    if (t->on_tiles) {
        oa_real_fill(t->d, width, factor, g->row);
        oa_attention_store(t, sums, rows, width, g->row, to, ld);
    } else
        store_rows(t, g, rows, width, factor, sums, to, ld);
    oa_zero_rows(oa_act_at(t->d, to, rows * ld), (size_t)ld * size, (size_t)width * size, end - begin - rows);
}

/* dk to a table that the batch shares. */
static void add_key_rows(const struct oa_tiles *t, const struct gradients *g, long rows, long width, double factor,
                         const void *sums, void *x)
{
    if (t->on_tiles)
        oa_attention_add(t, sums, rows, width, factor, g->row, x);
    else
        t->d->cpu->kernels.axpy(rows * width, factor, sums, x);
}

static void finish_key_side(struct oa_tiles *t, struct gradients *g, int c, long end)
{
    const struct oa_part *p = &t->a->part[c];
    const struct oa_kernels *k = &t->d->cpu->kernels;
    double alpha = oa_tiles_alpha(t, c);
    long n = oa_span_length(g->cols), begin = g->cols.begin;
    if (g->dbias[c])
        k->axpy(n, alpha, g->dbias[c], oa_real_at(t->d, oa_shared_bias(&g->f->shared, t->b, t->h, c), begin));
    if (g->dk[c] && p->k_table)
        add_key_rows(t, g, n, p->width, alpha * p->scale, g->dk[c],
                     oa_real_at(t->d, oa_shared_keys(&g->f->shared, t->b, t->h, c), begin * p->width));
    else if (g->dk[c])
        store_key_rows(t, g, end, p->width, alpha * p->scale, g->dk[c], p->dk, p->ldk);
}

/* The packed operands of so many query blocks exist at a time: with a sparse support they stay in the cache. */
static void gradient_rows(struct oa_tiles *t, struct gradients *g, struct oa_span rows)
{
    size_t mark = oa_arena_mark(t->scratch);
    struct oa_span seen = oa_tiles_seen(t, rows.begin, oa_max(rows.begin, oa_min(rows.end, t->queries)));
    oa_tiles_pack_queries(t, rows, true);
    oa_tiles_pack_keys(t, oa_span_cut(seen, g->cols), true);
    for (long i0 = rows.begin; i0 < rows.end && !t->failed; i0 += t->query_block)
        gradient_block(t, g, i0, g->cols);
    oa_arena_release(t->scratch, mark);
}

static void gradient_head(struct oa_tiles *t, struct gradients *g, struct oa_span rows, struct oa_span cols)
{
    long step = OA_PACKED_BLOCKS * t->query_block;
    size_t mark = oa_arena_mark(t->scratch);
    take_sums(t, g, (struct oa_span){ cols.begin, oa_max(cols.begin, oa_min(cols.end, t->keys)) });
    for (long i0 = rows.begin; i0 < rows.end && !t->failed; i0 += step)
        gradient_rows(t, g, (struct oa_span){ i0, oa_min(i0 + step, rows.end) });
    if (!t->failed && g->dv)
        store_key_rows(t, g, cols.end, t->a->shape.value_width, 1, g->dv, t->a->dv, t->a->ldv);
    for (int c = 0; c < t->a->parts && !t->failed; c++)
        finish_key_side(t, g, c, cols.end);
    oa_arena_release(t->scratch, mark);
}

/* ---- items ---------------------------------------------------------------------------------------------------- */

static struct oa_span piece(long number, long size, long n)
{
    return (struct oa_span){ number * size, oa_min(number * size + size, n) };
}

static void gradient_item(void *argument, long item, const struct oa_worker *w)
{
    const struct backward *f = argument;
    const struct oa_attention_shape *s = &f->a->shape;
    long row_cuts = oa_blocks(s->queries, f->row_cut), col_cuts = oa_max(1, oa_blocks(s->keys, f->col_cut));
    struct oa_span rows = piece(item % row_cuts, f->row_cut, s->queries);
    struct oa_span cols = piece(item / row_cuts % col_cuts, f->col_cut, s->keys);
    long group = item / row_cuts / col_cuts, b0 = group / f->head_items, h0 = group % f->head_items;
    struct oa_tiles t;
    struct gradients g;
    oa_tiles_open(&t, f->d, f->a, w, f->d->cpu->kernels.key_block);
    take_tiles(&t, &g, f);
    for (long b = b0; b < (f->merge_batch ? s->batch : b0 + 1); b++)
        for (long h = h0; h < (f->merge_heads ? s->heads : h0 + 1) && !t.failed; h++) {
            oa_tiles_head(&t, b, h);
            if (f->shared.sums)
                oa_shared_clear(&f->shared, b, h);
            gradient_head(&t, &g, rows, cols);
        }
}

static void run_pass(struct backward *f, int sides, long row_cut, long col_cut)
{
    const struct oa_attention_shape *s = &f->a->shape;
    f->sides = sides;
    f->row_cut = oa_max(1, row_cut);
    f->col_cut = oa_max(1, col_cut);
    if (!wants_dv(f) && !wants_logits(f))
        return;
    f->batch_items = f->merge_batch ? 1 : s->batch;
    f->head_items = f->merge_heads ? 1 : s->heads;
    long cuts = oa_blocks(s->queries, f->row_cut) * oa_max(1, oa_blocks(s->keys, f->col_cut));
    oa_parallel(f->d->context, f->batch_items * f->head_items * cuts, gradient_item, f);
}

static void find_shared(struct backward *f)
{
    for (int c = 0; c < f->a->parts; c++) {
        const struct oa_part *p = &f->a->part[c];
        bool keys = p->kind == OA_PART_DOT && p->k_table && p->dk, bias = p->kind == OA_PART_DOT && p->dbias;
        bool table = p->kind == OA_PART_TABLE && p->dtable;
        f->merge_queries |= p->q_table && p->dq;
        f->merge_batch |= keys || bias || table || f->merge_queries;
        f->merge_heads |= (keys && p->k_head_stride == 0) || (bias && p->bias_head_stride == 0);
    }
}

/* Rows or keys of an item when `items` long sequences are cut. */
static long cut(long items, long length, long block)
{
    return block * oa_max(1, oa_min(items * oa_blocks(length, block) / CUT_ITEMS, MOST_BLOCKS));
}

static long items_of(const struct backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    return (f->merge_batch ? 1 : s->batch) * (f->merge_heads ? 1 : s->heads);
}

/* Sums apart make an item of each (b,h), if nothing else is shared. */
bool oa_shared_wanted(const struct oa_logits *a)
{
    struct backward f = { .a = a };
    bool others = false;
    find_shared(&f);
    for (int c = 0; c < a->parts; c++)
        others |= a->part[c].kind == OA_PART_TABLE && a->part[c].dtable;
    return !others && !f.merge_queries && items_of(&f) < ENOUGH_ITEMS &&
           a->shape.batch * a->shape.heads >= ENOUGH_ITEMS;
}

static bool take_shared(struct backward *f)
{
    f->shared = (struct oa_shared){ .d = f->d, .a = f->a };
    if (!oa_shared_wanted(f->a))
        return true;
    f->merge_batch = f->merge_heads = false;
    f->shared.sums = oa_arena_take(&f->d->scratch, oa_shared_bytes(f->d, f->a));
    return f->shared.sums;
}

static void run_passes(struct backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    long block = oa_tile_round(f->d->cpu->kernels.query_block), items = items_of(f);
    if (items >= ENOUGH_ITEMS || (s->queries <= block && s->keys <= block)) {
        run_pass(f, QUERY_SIDE | KEY_SIDE, s->queries, s->keys);
        return;
    }
    run_pass(f, KEY_SIDE, s->queries, cut(items, s->keys, block));
    f->merge_batch = f->merge_queries;
    f->merge_heads = false;
    run_pass(f, QUERY_SIDE, cut((f->merge_batch ? 1 : s->batch) * s->heads, s->queries, block), s->keys);
}

/* ---- dα ------------------------------------------------------------------------------------------------------- */

static long dalpha_blocks(const struct backward *f)
{
    long rows = oa_tile_round(oa_min(f->d->cpu->kernels.query_block, f->a->shape.queries));
    return oa_blocks(f->a->shape.queries, rows);
}

static bool take_distances(struct backward *f)
{
    size_t bytes = oa_distances_bytes(f->d, f->a);
    if (bytes == 0)
        return true;
    f->distances = oa_arena_take(&f->d->scratch, bytes);
    if (f->distances)
        memset(f->distances, 0, bytes);
    return f->distances;
}

static bool take_dalpha(struct backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    if (!f->a->dalpha)
        return true;
    size_t bytes = (size_t)(s->batch * s->heads * dalpha_blocks(f) * f->a->parts) * sizeof(double);
    f->dalpha = oa_arena_take(&f->d->scratch, bytes);
    if (f->dalpha)
        memset(f->dalpha, 0, bytes);
    return f->dalpha;
}

/* Adds the partial sums of a head in the order of batch items and blocks. */
static void add_dalpha(const struct backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    long blocks = dalpha_blocks(f), parts = f->a->parts;
    for (long at = 0; f->dalpha && at < s->heads * parts; at++) {
        double sum = 0;
        for (long b = 0; b < s->batch; b++)
            for (long i = 0; i < blocks; i++)
                sum += f->dalpha[((b * s->heads + at / parts) * blocks + i) * parts + at % parts];
        oa_real_set(f->d, f->a->dalpha, at, oa_real_get(f->d, f->a->dalpha, at) + sum);
    }
}

void oa_cpu_logits_gradient(struct oa_device *d, const struct oa_logits *a)
{
    if (oa_tables_shared(a)) {
        oa_tables_gradient(d, a);
        return;
    }
    if (oa_pieces_wanted(a)) {
        oa_pieces_gradient(d, a);
        return;
    }
    struct backward f = { .d = d, .a = a };
    size_t mark = oa_arena_mark(&d->scratch);
    find_shared(&f);
    if (take_dalpha(&f) && take_distances(&f) && take_shared(&f)) {
        run_passes(&f);
        add_dalpha(&f);
        oa_distances_finish(d, a, f.distances);
        if (f.shared.sums)
            oa_shared_add(&f.shared);
    }
    oa_arena_release(&d->scratch, mark);
}
