/* SPDX-License-Identifier: Apache-2.0
 * The logits engine, backward: what one tile of S gives. cpu_logits_gradient.c has the formulas. */
#include "device/cpu/cpu_logits_gradient.h"
#include "kernels/attention_tile.h"

#include <string.h>

static void *key_sum_row(const struct oa_tiles *t, const struct oa_gradients *g, void *sums,
                         long width)
{
    return oa_real_at(t->d, sums, (t->cols.begin - g->cols.begin) * oa_gradient_width(t, width));
}

/* t->s has P. Returns D: P itself, or P after dropout in t->part. */
static const void *dropped_weights(struct oa_tiles *t)
{
    if (t->a->keep >= 1)
        return t->s;
    memcpy(t->part, t->s, (size_t)(t->padded_rows * t->padded_cols) * t->d->numbers.real_size);
    oa_tiles_dropout(t, t->part);
    return t->part;
}

/* P into t->s; returns D. */
static const void *tile_weights(struct oa_tiles *t, const struct oa_gradients *g)
{
    double factor = oa_tiles_logits(t);
    if (oa_weighs(t->a))
        oa_weights_tile(t, factor, g->lse);
    else
        t->d->cpu->kernels.softmax_again(t->padded_rows, t->padded_cols, factor, t->tile_low,
                                         t->tile_high, g->lse, t->s, t->padded_cols);
    return dropped_weights(t);
}

/* dP into g->dp. D is 0 where the dropout mask or P is 0, and dP has no effect where P is 0, so
 * that the mask is not drawn again. */
static void tile_weights_gradient(struct oa_tiles *t, struct oa_gradients *g, const void *p)
{
    oa_tiles_pair_product(t, t->d_o, t->v, g->dp, false);
    if (t->a->keep < 1)
        t->d->cpu->kernels.dropout_alike(t->padded_rows * t->padded_cols, t->a->keep, p, g->dp);
}

void oa_gradient_tile_sums(struct oa_tiles *t, struct oa_gradients *g, void *above, void *below)
{
    tile_weights_gradient(t, g, tile_weights(t, g));
    t->d->cpu->kernels.weigh_sums(oa_weighing_of(t->a), t->padded_rows, t->padded_cols, t->s,
                                  t->padded_cols, g->dp, t->padded_cols, above, below);
}

/* A softmax without dropout: D into g->p and dS into g->ds in one pass. */
static const void *tile_softmax_gradient(struct oa_tiles *t, struct oa_gradients *g)
{
    double factor;
    long ld;
    const void *logits = oa_tiles_logits_in_place(t, &factor, &ld);
    oa_tiles_pair_product(t, t->d_o, t->v, g->dp, false);
    t->d->cpu->kernels.softmax_again_gradient(
        t->padded_rows, t->padded_cols, factor, t->tile_low, t->tile_high, g->lse, logits, ld,
        g->dp, t->padded_cols, g->delta, g->p, t->padded_cols, g->ds, t->padded_cols);
    return g->p;
}

/* dS into g->ds. */
static void tile_logits_gradient(struct oa_tiles *t, struct oa_gradients *g, const void *p)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    tile_weights_gradient(t, g, p);
    if (oa_weighs(t->a))
        k->weigh_gradient(oa_weighing_of(t->a), t->padded_rows, t->padded_cols, t->s,
                          t->padded_cols, g->dp, t->padded_cols, g->delta, g->ds, t->padded_cols);
    else
        k->softmax_gradient(t->padded_rows, t->padded_cols, 1, t->s, t->padded_cols, g->dp,
                            t->padded_cols, g->delta, g->ds, t->padded_cols);
}

static void add_tile_to_dtable(struct oa_tiles *t, const struct oa_gradients *g, int c)
{
    const struct oa_logits_part *p = &t->a->part[c];
    long n = p->table_length;
    void *corner = oa_real_at(t->d, p->dtable, (t->h * n + t->rows.begin) * n + t->cols.begin);
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        long low = t->tile_low[i], seen = oa_max(0, t->tile_high[i] - low);
        t->d->cpu->kernels.add_to_real(seen, oa_tiles_alpha(t, c),
                                       oa_act_at(t->d, g->ds, i * oa_gradient_ld(t) + low),
                                       oa_real_at(t->d, corner, i * n + low));
    }
}

/* Σ_ij dS_ij x_j or, with a step from row to row, Σ_ij dS_ij x_ij over the visible part of the
 * tile. */
static double tile_dot(const struct oa_tiles *t, const struct oa_gradients *g, const void *x,
                       long step)
{
    double sum = 0;
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        long low = t->tile_low[i], n = t->tile_high[i] - low;
        if (n <= 0)
            continue;
        t->d->cpu->kernels.row_dots_real(1, n, oa_act_at(t->d, g->ds, i * oa_gradient_ld(t) + low),
                                         0, oa_real_at(t->d, x, i * step + low), g->factor);
        sum += oa_real_get(t->d, g->factor, 0);
    }
    return sum;
}

/* dα of tables and biases; finish_block_queries computes that of products. */
static void add_alpha_gradient(const struct oa_tiles *t, const struct oa_gradients *g, int c)
{
    const struct oa_logits_part *p = &t->a->part[c];
    long n = p->table_length;
    if (p->kind == OA_PART_TABLE)
        *oa_dalpha_slot(t, g, c) += tile_dot(
            t, g, oa_real_at(t->d, p->table, (t->h * n + t->rows.begin) * n + t->cols.begin), n);
    else if (p->bias)
        *oa_dalpha_slot(t, g, c) += tile_dot(
            t, g, oa_real_at(t->d, p->bias, t->h * p->bias_head_stride + t->cols.begin), 0);
}

static void add_fold_gradient(struct oa_tiles *t, struct oa_gradients *g, int c, bool first)
{
    long rows = oa_bounds_length(t->rows), a = t->a->part[c].width, b = t->a->part[c].folds;
    size_t real = t->d->numbers.real_size;
    void *dq = oa_gradient_block(t, g, g->dq[c], a), *dk = oa_gradient_block(t, g, g->dfold[c], b);
    struct oa_fold f = oa_tiles_fold(t, c);
    if (first) {
        memset(dq, 0, (size_t)(rows * a) * real);
        memset(dk, 0, (size_t)(rows * b) * real);
    }
    t->d->cpu->kernels.fold_gradient(&f, rows, oa_bounds_length(t->cols), t->tile_low, t->tile_high,
                                     g->ds, oa_gradient_ld(t), dq, dk, b);
}

/* Gradients of a part that is a product. */
static void add_tile_product_gradient(struct oa_tiles *t, struct oa_gradients *g, int c, bool first)
{
    if (t->a->part[c].kind != OA_PART_DOT)
        return;
    if (g->dq[c])
        oa_tiles_keys_product(t, g->ds, t->k[c], oa_gradient_block(t, g, g->dq[c], t->k[c].width),
                              !first);
    if (g->dk[c])
        oa_tiles_rows_product(t, g->ds, t->q[c], key_sum_row(t, g, g->dk[c], t->q[c].width), true);
}

/* Gradients of the other parts. */
static void add_part_gradient(struct oa_tiles *t, struct oa_gradients *g, int c, bool first)
{
    const struct oa_logits_backward *f = g->f;
    if (t->a->part[c].kind == OA_PART_FOLD && g->dq[c])
        add_fold_gradient(t, g, c, first);
    if (g->dbias[c])
        t->d->cpu->kernels.column_sums(
            oa_bounds_length(t->rows), oa_bounds_length(t->cols), g->ds, oa_gradient_ld(t),
            oa_real_at(t->d, g->dbias[c], t->cols.begin - g->cols.begin));
    if (oa_wants_dtable(f, c))
        add_tile_to_dtable(t, g, c);
    if (f->dalpha && (f->sides & OA_QUERY_SIDE))
        add_alpha_gradient(t, g, c);
}

/* By the kernel of cpu_attention_tiles.c; dS only where something else needs it. */
static void add_gradient_on_tiles(struct oa_tiles *t, struct oa_gradients *g, bool first)
{
    struct oa_attention_gradient x = { .lse = g->lse,
                                       .delta = g->delta,
                                       .turned = g->turned,
                                       .turn = g->turn,
                                       .first = first,
                                       .ds = g->logits ? g->ds : NULL };
    g->turn = false;
    x.dv = g->dv ? key_sum_row(t, g, g->dv, t->v.width) : NULL;
    for (int c = 0; c < t->a->parts; c++)
        if (t->a->part[c].kind == OA_PART_DOT) {
            x.dq = oa_gradient_block(t, g, g->dq[c], t->k[c].width);
            x.dk = g->dk[c] ? key_sum_row(t, g, g->dk[c], t->k[c].width) : NULL;
        }
    oa_attention_add_gradient(t, &x);
    for (int c = 0; x.ds && c < t->a->parts; c++)
        add_part_gradient(t, g, c, first);
}

void oa_gradient_tile(struct oa_tiles *t, struct oa_gradients *g, bool first)
{
    if (t->on_tiles) {
        add_gradient_on_tiles(t, g, first);
        return;
    }
    bool one_pass = g->logits && t->a->keep >= 1 && !oa_weighs(t->a);
    const void *d = one_pass ? tile_softmax_gradient(t, g) : tile_weights(t, g);
    if (g->dv) /* += Dᵀ dO */
        oa_tiles_rows_product(t, one_pass ? d : oa_tiles_act(t, d, g->p), t->d_o,
                              key_sum_row(t, g, g->dv, t->v.width), true);
    if (!g->logits)
        return;
    if (!one_pass)
        tile_logits_gradient(t, g, d);
    if (t->slope)
        t->d->cpu->kernels.multiply(t->padded_rows * t->padded_cols, t->slope, g->ds, g->ds);
    for (int c = 0; c < t->a->parts; c++) {
        add_tile_product_gradient(t, g, c, first);
        add_part_gradient(t, g, c, first);
    }
    if (t->a->forgetting.dquery)
        oa_tiles_forgetting_gradient(t, g);
    if (g->diagonals && (g->f->sides & OA_QUERY_SIDE))
        oa_tiles_distance_gradient(t, g->ds, g->diagonals, g->f->distances);
}
