/* SPDX-License-Identifier: Apache-2.0
 * Tiles of attention where products run on tiles of the processor and an interval of keys is
 * visible to each row. The logits are those of one product, or of at most one product and folds and
 * tables. The kernels attention_tile and attention_tile_gradient then compute a tile in one call
 * each, with the bits of the separate steps of cpu_logits.c and cpu_logits_gradient.c, which do
 * everything else. Logits other than those of one product are computed before. */
#include "device/cpu/cpu_logits.h"
#include "kernels/attention_tile.h"

/* Whether the logits are one product under a softmax: no table, second part, bias, relative
 * positions or weight of a mixture. */
static bool one_product(const struct oa_logits *a)
{
    const struct oa_logits_part *p = &a->part[0];
    const double least = 1e-6; /* as in oa_tiles_logits */
    return a->parts == 1 && p->kind == OA_PART_DOT && p->scale > least && !p->bias && !a->alpha &&
           !a->distances.table && !a->forgetting.query && !oa_weighs(a);
}

/* The part that is a product; -1: none, -2: several, or a part of another kind. */
static int product_part(const struct oa_logits *a)
{
    int found = -1;
    for (int c = 0; c < a->parts; c++)
        if (a->part[c].kind == OA_PART_DOT) {
            bool fits = found == -1 && a->part[c].width <= OA_ATTENTION_WIDTH;
            found = fits ? c : -2;
        }
    return found;
}

/* Whether the logits are computed before: at most one product among other parts. */
static bool made_before(const struct oa_logits *a)
{
    return product_part(a) > -2 && !a->distances.table && !a->forgetting.query && !oa_weighs(a);
}

bool oa_attention_on_tiles(const struct oa_device *d, const struct oa_logits *a, long key_block)
{
    const struct oa_support_functions *f = oa_support_functions_of(&a->support);
    bool intervals = !f || f->row || !f->visible;
    return d->cpu->kernels.attention_tile && a->shape.logit_cap == 0 && made_before(a) &&
           !oa_tables_shared(a) && intervals && key_block <= OA_ATTENTION_COLS &&
           a->shape.value_width <= OA_ATTENTION_WIDTH;
}

bool oa_attention_makes_logits(const struct oa_logits *a)
{
    return one_product(a);
}

/* Rows of the current block. */
static const void *tile_query_rows(const struct oa_tiles *t, const struct oa_packed *x)
{
    return oa_act_at(t->d, x->x, (t->rows.begin - x->begin) * x->ld);
}

static struct oa_attention_keys attention_keys(const struct oa_tiles *t, const struct oa_packed *x)
{
    return (struct oa_attention_keys){
        x->x, t->cols.begin - x->begin, x->rows, x->width, x->ld, x->pair, x->tiles
    };
}

static struct oa_attention_tile tile_at_work(struct oa_tiles *t)
{
    int c = product_part(t->a);
    struct oa_attention_tile x = { .rows = t->padded_rows,
                                   .cols = t->padded_cols,
                                   .low = t->tile_low,
                                   .high = t->tile_high,
                                   .v = attention_keys(t, &t->v),
                                   .keep = t->a->keep,
                                   .dropout = t->a->dropout };
    if (c >= 0) {
        x.scale = t->a->part[c].scale;
        x.q = tile_query_rows(t, &t->q[c]);
        x.ldq = t->q[c].ld;
        x.k = attention_keys(t, &t->k[c]);
    }
    if (t->s) {
        x.scale = oa_tiles_logits(t);
        x.logits = t->s;
        x.lds = t->padded_cols;
    }
    oa_tiles_dropout_blocks(t, &x.block0, &x.blocks_a_row);
    return x;
}

void oa_attention_add_tile(struct oa_tiles *t, const struct oa_attention_sums *sums)
{
    struct oa_attention_tile x = tile_at_work(t);
    t->d->cpu->kernels.attention_tile(t->gemm, &t->d->cpu->kernels, &x, sums);
}

void oa_attention_add_gradient(struct oa_tiles *t, struct oa_attention_gradient *g)
{
    struct oa_attention_tile x = tile_at_work(t);
    g->ldds = oa_gradient_ld(t);
    g->d_o = tile_query_rows(t, &t->d_o);
    g->ldo = t->d_o.ld;
    t->d->cpu->kernels.attention_tile_gradient(t->gemm, &t->d->cpu->kernels, &x, g);
}

enum { AHEAD = 4 * OA_LANES }; /* prefetch distance of rows that are written */

/* Sums of 16 keys from key i on: [width, 16]. */
static const void *sums_from(const struct oa_tiles *t, const void *sums, long i, long width)
{
    return oa_real_at(t->d, sums, i * oa_tile_round(width));
}

void oa_attention_store(const struct oa_tiles *t, const void *sums, long rows, long width,
                        const void *factor, void *x, long ld)
{
    for (long i = 0; i < rows; i += OA_LANES) {
        oa_tiles_fetch(t, oa_act_at(t->d, x, (i + AHEAD) * ld), ld,
                       oa_min(OA_LANES, rows - i - AHEAD), width);
        t->d->cpu->kernels.lanes_out(oa_min(OA_LANES, rows - i), width, NULL, factor,
                                     sums_from(t, sums, i, width), oa_act_at(t->d, x, i * ld), ld);
    }
}

void oa_attention_add(const struct oa_tiles *t, const void *sums, long rows, long width,
                      double factor, void *row, void *x)
{
    for (long i = 0; i < rows; i++) {
        const void *lane =
            oa_real_at(t->d, sums_from(t, sums, i / OA_LANES * OA_LANES, width), i % OA_LANES);
        for (long j = 0; j < width; j++)
            oa_real_set(t->d, row, j, oa_real_get(t->d, lane, j * OA_LANES));
        t->d->cpu->kernels.axpy(width, factor, row, oa_real_at(t->d, x, i * width));
    }
}
