/* SPDX-License-Identifier: Apache-2.0
 * Tiles of S filled with logits, and the products of a tile; see cpu_logits.h. */
#include "device/cpu/cpu_logits.h"
#include "kernels/attention_tile.h"

#include <string.h>

/* ---- memory ---- */

void *oa_tiles_take(struct oa_tiles *t, long n, size_t size)
{
    void *memory = oa_arena_take(t->scratch, (size_t)n * size);
    t->failed |= !memory;
    return memory;
}

long oa_tiles_query_block(const struct oa_device *d, const struct oa_logits *a, long key_block)
{
    return oa_attention_on_tiles(d, a, key_block) ? OA_ATTENTION_ROWS
                                                  : oa_tile_round(d->cpu->kernels.query_block);
}

void oa_tiles_open(struct oa_tiles *t, struct oa_device *d, const struct oa_logits *a,
                   const struct oa_worker *w, long key_block)
{
    *t = (struct oa_tiles){ .d = d, .a = a, .gemm = d->cpu->gemm[w->index], .scratch = w->scratch };
    t->support = oa_support_functions_of(&a->support);
    t->key_block = oa_tile_round(oa_min(key_block, a->shape.keys));
    t->on_tiles = oa_attention_on_tiles(d, a, t->key_block);
    t->query_block =
        oa_tile_round(oa_min(oa_tiles_query_block(d, a, t->key_block), a->shape.queries));
    int32_t *bounds = oa_tiles_take(t, 4 * t->query_block, sizeof *bounds);
    if (!t->on_tiles || !oa_attention_makes_logits(a)) {
        t->s = oa_tiles_take(t, t->query_block * t->key_block, d->numbers.real_size);
        t->part = oa_tiles_take(t, t->query_block * t->key_block, d->numbers.real_size);
    }
    if (t->failed)
        return;
    t->low = bounds;
    t->high = bounds + t->query_block;
    t->tile_low = bounds + 2 * t->query_block;
    t->tile_high = bounds + 3 * t->query_block;
}

/* By copies of twice as many numbers each time. */
void oa_real_fill(const struct oa_device *d, long n, double value, void *x)
{
    if (n > 0)
        oa_real_set(d, x, 0, value);
    for (long done = 1; done < n; done *= 2)
        memcpy(oa_real_at(d, x, done), x, (size_t)oa_min(done, n - done) * d->numbers.real_size);
}

void oa_zero_rows(void *x, size_t row_bytes, size_t bytes, long rows)
{
    for (long i = 0; i < rows; i++)
        memset((char *)x + (size_t)i * row_bytes, 0, bytes);
}

/* ---- products ---- */

static const void *packed_row(const struct oa_tiles *t, struct oa_packed p, long row)
{
    return oa_act_at(t->d, p.x, (row - p.begin) * p.ld);
}

/* Panels from row `row` on, `bytes` per OA_PANEL rows; NULL without panels, or if the row is not
 * the first of a panel. */
static const void *panels_from(const void *panels, long row, size_t bytes)
{
    return panels && row % OA_PANEL == 0 ? (const char *)panels + (size_t)(row / OA_PANEL) * bytes
                                         : NULL;
}

static void multiply_tile(struct oa_tiles *t, const struct oa_gemm *g, const void *a, const void *b,
                          const void *panels, void *c)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    if (panels)
        k->gemm_part(t->gemm, g, &(struct oa_gemm_part){ .rows = g->m, .cols = g->n }, a, b, panels,
                     c);
    else
        k->gemm(t->gemm, g, a, b, c);
}

/* The right operand of a pair product, rows from `row` on. */
static const void *pair_panels(const struct oa_tiles *t, const struct oa_packed *p, long row)
{
    if (!p->pair)
        return NULL;
    size_t bytes =
        t->d->cpu->kernels.gemm_packed_bytes(&(struct oa_gemm){ .n = OA_PANEL, .k = p->width });
    return panels_from(p->pair, row - p->begin, bytes);
}

/* The right operand of other products, k rows. NULL if rows other than zeros follow in the last
 * step of k, because they may contain NaN. */
static const void *tile_panels(const struct oa_tiles *t, const struct oa_packed *p, long row,
                               long k)
{
    if (!p->tiles || (k % OA_PANEL && row - p->begin + k < p->rows))
        return NULL;
    size_t bytes =
        t->d->cpu->kernels.gemm_packed_bytes(&(struct oa_gemm){ .n = OA_PANEL, .k = OA_PANEL });
    return panels_from(p->tiles, row - p->begin, bytes);
}

void oa_tiles_pair_product(struct oa_tiles *t, struct oa_packed rows, struct oa_packed keys,
                           void *tile, bool accumulate)
{
    struct oa_gemm g = { .m = t->padded_rows,
                         .n = t->padded_cols,
                         .k = rows.width,
                         .lda = rows.ld,
                         .ldb = keys.ld,
                         .ldc = t->padded_cols,
                         .tb = true,
                         .accumulate = accumulate,
                         .real_out = true };
    multiply_tile(t, &g, packed_row(t, rows, t->rows.begin), packed_row(t, keys, t->cols.begin),
                  pair_panels(t, &keys, t->cols.begin), tile);
}

void oa_tiles_keys_product(struct oa_tiles *t, const void *tile, struct oa_packed keys, void *c,
                           bool accumulate)
{
    struct oa_gemm g = { .m = t->padded_rows,
                         .n = keys.width,
                         .k = t->padded_cols,
                         .lda = t->padded_cols,
                         .ldb = keys.ld,
                         .ldc = keys.width,
                         .accumulate = accumulate,
                         .real_out = true,
                         .packed_k = keys.rows };
    multiply_tile(t, &g, tile, packed_row(t, keys, t->cols.begin),
                  tile_panels(t, &keys, t->cols.begin, g.k), c);
}

void oa_tiles_rows_product(struct oa_tiles *t, const void *tile, struct oa_packed rows, void *c,
                           bool accumulate)
{
    struct oa_gemm g = { .m = t->padded_cols,
                         .n = rows.width,
                         .k = t->padded_rows,
                         .lda = t->padded_cols,
                         .ldb = rows.ld,
                         .ldc = rows.width,
                         .ta = true,
                         .accumulate = accumulate,
                         .real_out = true,
                         .packed_k = rows.rows };
    multiply_tile(t, &g, tile, packed_row(t, rows, t->rows.begin),
                  tile_panels(t, &rows, t->rows.begin, g.k), c);
}

const void *oa_tiles_act(struct oa_tiles *t, const void *tile, void *act)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    if (k->act == k->real)
        return tile;
    k->act_from_real(t->padded_rows * t->padded_cols, tile, act);
    return act;
}

/* ---- logits ---- */

double oa_tiles_alpha(const struct oa_tiles *t, int part)
{
    return t->a->alpha ? oa_real_get(t->d, t->a->alpha, t->h * t->a->parts + part) : 1;
}

/* Every row of s += factor · a row of reals that starts at `row`, `step` elements further for the
 * next one. */
static void add_tile_rows(struct oa_tiles *t, double factor, const void *row, long step, void *s)
{
    for (long i = 0; i < oa_bounds_length(t->rows); i++)
        t->d->cpu->kernels.axpy(oa_bounds_length(t->cols), factor, oa_real_at(t->d, row, i * step),
                                oa_real_at(t->d, s, i * t->padded_cols));
}

static void add_tile_bias(struct oa_tiles *t, const struct oa_logits_part *p, double factor)
{
    if (p->bias)
        add_tile_rows(t, factor,
                      oa_real_at(t->d, p->bias, t->h * p->bias_head_stride + t->cols.begin), 0,
                      t->s);
}

static const void *table_corner(const struct oa_tiles *t, const struct oa_logits_part *p)
{
    long n = p->table_length, row = t->a->shape.first + t->rows.begin;
    return oa_real_at(t->d, p->table, (t->h * n + row) * n + t->cols.begin);
}

struct oa_fold oa_tiles_fold(const struct oa_tiles *t, int part)
{
    return (struct oa_fold){ .width = t->a->part[part].width,
                             .first = t->cols.begin,
                             .q = packed_row(t, t->q[part], t->rows.begin),
                             .k = packed_row(t, t->k[part], t->rows.begin),
                             .ldq = t->q[part].ld,
                             .ldk = t->k[part].ld };
}

/* s = a FOLD, with `add` s + it, times a factor. */
static void put_tile_fold(struct oa_tiles *t, int part, bool add, double factor)
{
    struct oa_fold f = oa_tiles_fold(t, part);
    t->d->cpu->kernels.fold_tile(&f, add, factor, oa_bounds_length(t->rows),
                                 oa_bounds_length(t->cols), t->tile_low, t->tile_high, t->s,
                                 t->padded_cols);
}

/* The factor of the product or table of a part. */
static double part_factor(const struct oa_tiles *t, int c)
{
    const struct oa_logits_part *p = &t->a->part[c];
    return oa_tiles_alpha(t, c) * (p->kind == OA_PART_DOT ? p->scale : 1);
}

/* s += part / base */
static void add_tile_part(struct oa_tiles *t, int c, double base)
{
    const struct oa_logits_part *p = &t->a->part[c];
    double factor = part_factor(t, c) / base;
    if (p->kind == OA_PART_TABLE) {
        add_tile_rows(t, factor, table_corner(t, p), p->table_length, t->s);
        return;
    }
    if (p->kind == OA_PART_FOLD) {
        put_tile_fold(t, c, true, factor);
        return;
    }
    oa_tiles_pair_product(t, t->q[c], t->k[c], t->part, false);
    t->d->cpu->kernels.axpy(t->padded_rows * t->padded_cols, factor, t->part, t->s);
    add_tile_bias(t, p, oa_tiles_alpha(t, c) / base);
}

/* s = a product or a table / base, where base is its factor, so that s needs no scaling. */
static void put_tile_part(struct oa_tiles *t, int c, double base)
{
    const struct oa_logits_part *p = &t->a->part[c];
    size_t size = t->d->numbers.real_size;
    if (p->kind == OA_PART_DOT) {
        oa_tiles_pair_product(t, t->q[c], t->k[c], t->s, false);
        add_tile_bias(t, p, oa_tiles_alpha(t, c) / base);
        return;
    }
    for (long i = 0; i < oa_bounds_length(t->rows); i++)
        memcpy(oa_real_at(t->d, t->s, i * t->padded_cols),
               oa_real_at(t->d, table_corner(t, p), i * p->table_length),
               (size_t)oa_bounds_length(t->cols) * size);
}

/* The smallest factor: a smaller one would make the other parts large, and turn −∞ of oa_tiles_hide
 * into +∞. */
static const double least_base = 1e-6;

/* The first part of a tile: a product, to which the others are added. */
static int leading_part(const struct oa_tiles *t)
{
    for (int c = 0; c < t->a->parts; c++)
        if (t->a->part[c].kind == OA_PART_DOT && part_factor(t, c) > least_base)
            return c;
    return 0;
}

/* Begins s with a part, and returns the factor that the softmax multiplies s by; the other parts
 * are divided by it. That of a FOLD is 1. */
static double begin_tile_logits(struct oa_tiles *t, int c)
{
    double base = part_factor(t, c);
    if (t->a->part[c].kind == OA_PART_FOLD) {
        put_tile_fold(t, c, false, base);
        return 1;
    }
    if (base > least_base) {
        put_tile_part(t, c, base);
        return base;
    }
    memset(t->s, 0, (size_t)(t->padded_rows * t->padded_cols) * t->d->numbers.real_size);
    add_tile_part(t, c, 1);
    return 1;
}

double oa_tiles_logits(struct oa_tiles *t)
{
    int leading = leading_part(t);
    double base = begin_tile_logits(t, leading);
    for (int c = 0; c < t->a->parts; c++)
        if (c != leading)
            add_tile_part(t, c, base);
    oa_tiles_add_distances(t, 1 / base);
    oa_tiles_add_forgetting(t, 1 / base);
    if (t->a->shape.logit_cap > 0) { /* before invisible logits become −∞ */
        t->d->cpu->kernels.soft_cap(t->padded_rows * t->padded_cols, base, t->a->shape.logit_cap,
                                    t->s, t->slope);
        base = 1;
    }
    oa_tiles_hide(t);
    return base;
}

/* One table whose logits are not changed, so that they can be read in place. */
static bool is_one_table(const struct oa_tiles *t)
{
    const struct oa_logits *a = t->a;
    const struct oa_support_functions *f = t->support;
    bool hides = f && !f->row && f->visible;
    return a->parts == 1 && a->part[0].kind == OA_PART_TABLE && a->shape.logit_cap == 0 &&
           !a->distances.table && !a->forgetting.query && !hides;
}

const void *oa_tiles_logits_in_place(struct oa_tiles *t, double *factor, long *ld)
{
    if (is_one_table(t)) {
        *factor = part_factor(t, 0);
        *ld = t->a->part[0].table_length;
        return table_corner(t, &t->a->part[0]);
    }
    *factor = oa_tiles_logits(t);
    *ld = t->padded_cols;
    return t->s;
}

void oa_tiles_dropout_blocks(const struct oa_tiles *t, uint64_t *block0, uint64_t *blocks_a_row)
{
    const struct oa_attention_shape *s = &t->a->shape;
    uint64_t row = (uint64_t)((t->b * s->heads + t->h) * s->queries + t->rows.begin);
    *blocks_a_row = oa_dropout_stride(s->keys) / 4;
    *block0 = row * *blocks_a_row + (uint64_t)t->cols.begin / 4;
}

void oa_tiles_dropout(struct oa_tiles *t, void *x)
{
    uint64_t block0, blocks_a_row;
    if (t->a->keep >= 1)
        return;
    oa_tiles_dropout_blocks(t, &block0, &blocks_a_row);
    t->d->cpu->kernels.dropout_tile(t->padded_rows, t->padded_cols, t->a->dropout, block0,
                                    blocks_a_row, t->a->keep, x, t->padded_cols);
}
