/* SPDX-License-Identifier: Apache-2.0
 * Attention on tiles (Dao et al. 2022): logits, weights and products of a block of queries and a
 * tile of keys, with intermediate results in the L1 and L2 caches and weights in bf16 in the order
 * in which the next product reads them. Products are those of tile_product.h, weights those of the
 * table's softmax: same bits as with one call per step over whole tiles of logits.
 *
 * Forward, for groups of 32 queries: logits [32, keys] by tiles, weights P in tiles, O += P V.
 * Backward, for chunks of 32 keys: logits and dP [queries, 32], then P and dS, dQ += dS K. The
 * gradients of keys and values would need Pᵀ and dSᵀ as left operands; instead their transposes are
 * computed, dVᵀ = dOᵀ P and dKᵀ = Qᵀ dS, with P and dS as right operands, whose order is pairs of
 * rows next to each other, as softmax_pairs stores them.
 *
 * Included after tile_product.h and struct oa_gemm_state, whose scratch it uses; add_sums is one of
 * the operations on tiles. */
#include "kernels/tile_attention_products.h"

/* ---- forward ---- */

/* Logits [16 or 32, cols] of up to two strips, of the visible columns. */
static void strip_logits(const struct oa_attention_tile *x, const struct tile_left *q, long strip,
                         long strips, struct tile_span see, float *s, long lds)
{
    long granules = see.end / 16, steps = steps_of(x->k.width), next = lds * (long)sizeof *s,
         j = see.begin / 16;
    for (; strips == 2 && j + 2 <= granules; j += 2)
        multiply_four(q, strip, pair_tiles(&x->k, j, steps), pair_tiles(&x->k, j + 1, steps), 64,
                      STEP_BYTES, steps, s + 16 * j, next);
    for (; j < granules; j++)
        for (long i = 0; i < strips; i++)
            multiply_one(q, strip + i, pair_tiles(&x->k, j, steps), 64, STEP_BYTES, steps,
                         s + 16 * (i * lds + j), next);
}

/* Rounds a strip of weights into tiles. */
static void weights_to_tiles(const struct oa_kernels *k, long cols, const float *s, long lds,
                             uint16_t *p)
{
    for (long j = 0; j < cols; j += STEP, p += TILE_BYTES / sizeof *p) {
        if (cols - j < STEP)
            memset(p, 0, TILE_BYTES);
        k->tile_to_act(STRIP, least(STEP, cols - j), s + j, lds, p, STEP);
    }
}

/* Weights of the strip from row i on, of which at most `cols` columns are visible. Dropout comes
 * after z: P is normalised before it. */
static void strip_weights(const struct oa_kernels *k, const struct oa_attention_tile *x, long i,
                          long cols, float *s, long lds, const struct oa_attention_sums *sums,
                          uint16_t *p)
{
    float *m = (float *)sums->m + i, *z = (float *)sums->z + i,
          *rescale = (float *)sums->rescale + i;
    if (x->keep >= 1) {
        k->softmax_to_tiles(STRIP, cols, x->scale, x->low + i, x->high + i, s, lds, m, z, rescale,
                            p);
        return;
    }
    k->softmax_tile(STRIP, cols, x->scale, x->low + i, x->high + i, s, lds, m, z, rescale);
    k->dropout_tile(STRIP, cols, x->dropout, x->block0 + (uint64_t)i * x->blocks_a_row,
                    x->blocks_a_row, x->keep, s, lds);
    weights_to_tiles(k, cols, s, lds, p);
}

/* Buffers of a tile: the logits of a group of rows, their weights in tiles; and the visible
 * columns. */
struct tile_strips {
    float *part, *s;
    long lds; /* not a power of two, so that rows do not share cache sets */
    uint16_t *p;
    struct tile_left q, weights;
    const char *v; /* in panels */
    size_t panel;
};

static struct tile_strips tile_strips(struct tile_room *room, const struct oa_attention_tile *x)
{
    struct tile_strips t = { .part = room->sums,
                             .s = room->sums + STEP * STEP,
                             .lds = x->cols + STRIP };
    t.p = (uint16_t *)(t.s + STEP * t.lds);
    char *packed = (char *)(t.p + STEP * STEP * steps_of(x->cols));
    if (x->logits)
        t.lds = x->lds;
    else
        t.q = tile_left(left_rows(x->q, x->ldq), x->rows, x->k.width, &packed);
    t.weights = weights_left(t.p, x->cols);
    t.v = key_panels(&x->v, x->cols, &t.panel, &packed);
    return t;
}

/* Weights of the group of rows from row i on. */
static void group_weights(const struct oa_kernels *k, const struct oa_attention_tile *x,
                          const struct tile_strips *t, long i, long cols,
                          const struct oa_attention_sums *sums)
{
    for (long n = 0; n < STEP && i + n < x->rows; n += STRIP)
        strip_weights(k, x, i + n, cols, t->s + n * t->lds, t->lds, sums,
                      t->p + n * STEP * steps_of(x->cols));
}

/* O of the group += weights · values. */
static void group_output(const struct oa_kernels *k, const struct oa_attention_tile *x,
                         const struct tile_strips *t, long i, struct tile_span see,
                         const struct oa_attention_sums *sums)
{
    long rows = least(STEP, x->rows - i), width = x->v.width;
    float *o = (float *)sums->o + i * width;
    if (!sums->first)
        k->scale_rows(rows, width, (const float *)sums->rescale + i, o, width);
    for (long j = 0; j < width; j += STEP)
        weigh_group(&t->weights, 0, rows, see, t->v + (size_t)(j / STEP) * t->panel, j, width,
                    !sums->first, t->part, o);
}

/* Logits of the group of rows from row i on: computed, or in place if they are given. */
static void group_logits(const struct oa_attention_tile *x, struct tile_strips *t, long i,
                         struct tile_span see)
{
    if (x->logits)
        t->s = (float *)x->logits + i * x->lds;
    else
        strip_logits(x, &t->q, i / STRIP, least(STEP, x->rows - i) / STRIP, see, t->s, t->lds);
}

/* The product of a group with the values is between the logits of the next group and their softmax,
 * so that stores of vectors are in L1 before tiles load them, and vice versa. */
static void attend(struct tile_room *room, const struct oa_kernels *k,
                   const struct oa_attention_tile *x, const struct oa_attention_sums *sums)
{
    const struct tile_groups groups = tile_groups(x);
    struct tile_strips t = tile_strips(room, x);
    long i = 0;
    tiles_begin();
    for (; i < x->rows; i += STEP) {
        struct tile_span see = groups.see[i / STEP];
        group_logits(x, &t, i, see);
        if (i > 0)
            group_output(k, x, &t, i - STEP, groups.see[i / STEP - 1], sums);
        group_weights(k, x, &t, i, see.end, sums);
    }
    group_output(k, x, &t, i - STEP, groups.see[i / STEP - 1], sums);
    tiles_end();
}

/* ---- backward ---- */

/* Buffers of a chunk, [rows, 32] each, pairs [rows/2, 32, 2]; and dS of the tile, in tiles or in
 * the rows of the caller. */
struct tile_chunk {
    float *s, *dp, *kept, *part;
    uint16_t *p, *ds;
    struct tile_left weights; /* dS of the tile */
    char *packed;             /* what follows */
};

static struct tile_chunk tile_chunk(struct tile_room *room, const struct oa_attention_tile *x,
                                    const struct oa_attention_gradient *g)
{
    enum { CELLS = OA_ATTENTION_ROWS * CHUNK };
    struct tile_chunk c = { .s = room->sums };
    c.dp = c.s + CELLS;
    c.p = (uint16_t *)(c.dp + CELLS);
    c.ds = c.p + CELLS;
    c.part = (float *)(c.ds + CELLS);
    c.kept = c.part + CELLS;
    const uint16_t *all = (uint16_t *)(c.kept + CELLS);
    c.packed = (char *)(all + x->rows * STEP * steps_of(x->cols));
    c.weights = weights_left(all, x->cols);
    if (g->ds) {
        long row = g->ldds * (long)sizeof *all;
        c.weights = (struct tile_left){ g->ds, row, 2 * STEP, STRIP * row, STEP * row };
    }
    return c;
}

/* Rows begin … end − 1, in whole groups, to which columns of a chunk are visible. */
static struct tile_span chunk_rows(const struct oa_attention_tile *x,
                                   const struct tile_groups *groups, long j)
{
    struct tile_span rows = { 0, 0 };
    for (long i = 0; i < x->rows; i += STEP) {
        struct tile_span see = groups->see[i / STEP];
        if (see.begin > j || j >= see.end)
            continue;
        rows.begin = rows.end ? rows.begin : i;
        rows.end = least(i + STEP, x->rows);
    }
    return rows;
}

/* Products of rows and a chunk of keys, `wide` columns of tiles from granule j on. */
static void chunk_product(const struct oa_attention_keys *x, const struct tile_left *a,
                          struct tile_span rows, long j, long wide, float *to)
{
    long steps = steps_of(x->width), strips = rows.end / STRIP, i = rows.begin / STRIP;
    const char *b = pair_tiles(x, j, steps), *beside = pair_tiles(x, j + 1, steps);
    if (wide == 2)
        for (; i + 2 <= strips; i += 2)
            multiply_four(a, i, b, beside, 64, STEP_BYTES, steps, to + i * STRIP * CHUNK, SUMS_ROW);
    for (; i < strips; i++)
        multiply_strip(a, i, b, beside, wide, 64, STEP_BYTES, steps, to + i * STRIP * CHUNK,
                       SUMS_ROW);
}

/* For each 16 of the keys: to [width, 16] += a [width, rows] · pairs [rows, 16·wide], by way of
 * `part`. */
static void add_chunk_product(const struct tile_left *a, long width, struct tile_span rows,
                              const uint16_t *pairs, long wide, float *part, float *to)
{
    const char *b = (const char *)(pairs + rows.begin * CHUNK);
    struct tile_left left = *a;
    long strips = (width + STRIP - 1) / STRIP, steps = steps_of(rows.end - rows.begin), i = 0;
    left.at += rows.begin / STEP * left.step;
    if (wide == 2)
        for (; i + 2 <= strips; i += 2) {
            multiply_four(&left, i, b, b + 64, 128, 16 * 128, steps, part, SUMS_ROW);
            add_sums(part, 2 * STRIP, 2, to + i * STRIP * 16, strips * STRIP * 16);
        }
    for (; i < strips; i++) {
        multiply_strip(&left, i, b, b + 64, wide, 128, 16 * 128, steps, part, SUMS_ROW);
        add_sums(part, STRIP, wide, to + i * STRIP * 16, strips * STRIP * 16);
    }
}

/* The sums of keys j …. */
static float *sums_of_keys(void *sums, long width, long j)
{
    return (float *)sums + j * ((width + STRIP - 1) / STRIP * STRIP);
}

/* The factors of dropout of the weights of rows of a chunk; NULL: none. */
static const float *chunk_kept(const struct oa_kernels *k, const struct oa_attention_tile *x,
                               struct tile_span rows, long j, long cols, float *kept)
{
    long n = rows.end - rows.begin;
    if (x->keep >= 1)
        return NULL;
    for (long i = 0; i < n * CHUNK; i++)
        kept[i] = 1;
    k->dropout_tile(n, cols, x->dropout,
                    x->block0 + (uint64_t)rows.begin * x->blocks_a_row + (uint64_t)j / 4,
                    x->blocks_a_row, x->keep, kept, CHUNK);
    return kept;
}

/* Queries are processed in steps of 32: zeros in the second half of the last step if it has 16. */
static void clear_half(long rows, uint16_t *pairs)
{
    if (rows % STEP)
        memset(pairs + rows * CHUNK, 0, (size_t)(STRIP * CHUNK) * sizeof *pairs);
}

static void chunk_pairs(const struct oa_kernels *k, const struct oa_attention_tile *x,
                        const struct oa_attention_gradient *g, const struct tile_chunk *c,
                        struct tile_span rows, long j, long cols)
{
    const long i = rows.begin;
    char *ds = (char *)c->weights.at + i / STRIP * c->weights.strip + j / STEP * c->weights.step;
    k->softmax_pairs(&(struct oa_softmax_pairs){
        .rows = rows.end - i,
        .cols = cols,
        .first = j,
        .scale = x->scale,
        .low = x->low + i,
        .high = x->high + i,
        .s = x->logits ? (const float *)x->logits + i * x->lds + j : c->s + i * CHUNK,
        .lds = x->logits ? x->lds : CHUNK,
        .dp = c->dp + i * CHUNK,
        .factor = chunk_kept(k, x, rows, j, cols, c->kept),
        .lse = (const float *)g->lse + i,
        .delta = (const float *)g->delta + i,
        .p_pairs = c->p + i * CHUNK,
        .ds_pairs = c->ds + i * CHUNK,
        .ds = g->dq || g->ds ? ds : NULL,
        .row = c->weights.row / 2,
        .tile = c->weights.strip / 2 });
    clear_half(rows.end, c->p);
    clear_half(rows.end, c->ds);
}

/* Operands of a tile: rows, and their transposes. */
struct tile_sides {
    struct tile_left q, d_o, turned_q, turned_d_o;
};

/* The transpose of x, rows [rows, width], at *room, which is advanced; computed here or before. */
static struct tile_left turned_left(const void *x, long ld, long rows, long width, bool make,
                                    char **room)
{
    const struct tile_operand o = { x, 1, ld, false };
    struct tile_left a = { *room, 64, STEP_BYTES, TILE_BYTES, steps_of(rows) * STEP_BYTES };
    if (make)
        pack_panels(&o, 0, width, 0, rows, *room, (size_t)a.panel);
    *room += steps_of(width) * a.panel;
    return a;
}

static struct tile_sides tile_sides(const struct oa_attention_tile *x,
                                    const struct oa_attention_gradient *g, char **room)
{
    long width = x->k.width, values = x->v.width;
    char *turned = g->turned;
    struct tile_sides t = { .q = tile_left(left_rows(x->q, x->ldq), x->rows, width, room) };
    t.d_o = tile_left(left_rows(g->d_o, g->ldo), x->rows, values, room);
    t.turned_q = turned_left(x->q, x->ldq, x->rows, width, g->turn, &turned);
    t.turned_d_o = turned_left(g->d_o, g->ldo, x->rows, values, g->turn, &turned);
    return t;
}

static long chunk_cols(const struct oa_attention_tile *x, long j)
{
    return least(CHUNK, x->cols - j);
}

/* Logits and dP of rows and keys j … */
static void chunk_logits(const struct oa_attention_tile *x, const struct tile_sides *t,
                         const struct tile_chunk *c, struct tile_span rows, long j)
{
    long wide = chunk_cols(x, j) / 16;
    if (!x->logits)
        chunk_product(&x->k, &t->q, rows, j / 16, wide, c->s);
    chunk_product(&x->v, &t->d_o, rows, j / 16, wide, c->dp);
}

/* Adds the contributions of P and dS of rows and keys j … to dV and dK. */
static void chunk_gradients(const struct oa_attention_tile *x,
                            const struct oa_attention_gradient *g, const struct tile_sides *t,
                            const struct tile_chunk *c, struct tile_span rows, long j)
{
    long width = x->k.width, values = x->v.width, wide = chunk_cols(x, j) / 16;
    if (g->dv)
        add_chunk_product(&t->turned_d_o, values, rows, c->p, wide, c->part,
                          sums_of_keys(g->dv, values, j));
    if (g->dk)
        add_chunk_product(&t->turned_q, width, rows, c->ds, wide, c->part,
                          sums_of_keys(g->dk, width, j));
}

/* Zeros in dS where no key is visible to a group of rows. */
static void clear_unseen(const struct oa_attention_tile *x, const struct tile_groups *groups,
                         uint16_t *ds, long ld)
{
    for (long i = 0; i < x->rows; i++) {
        struct tile_span see = groups->see[i / STEP];
        memset(ds + i * ld, 0, (size_t)see.begin * sizeof *ds);
        memset(ds + i * ld + see.end, 0, (size_t)(x->cols - see.end) * sizeof *ds);
    }
}

/* The products of a chunk are between those of the next chunk and its softmax, so that stores of
 * vectors are in L1 before tiles load them, and vice versa. */
static void differentiate(struct tile_room *room, const struct oa_kernels *k,
                          const struct oa_attention_tile *x, const struct oa_attention_gradient *g)
{
    struct tile_chunk c = tile_chunk(room, x, g);
    struct tile_sides t = tile_sides(x, g, &c.packed);
    struct tile_span before = { 0, 0 };
    const struct tile_groups groups = tile_groups(x);
    if (g->ds)
        clear_unseen(x, &groups, g->ds, g->ldds);
    tiles_begin();
    for (long j = 0; j < x->cols; j += CHUNK) {
        struct tile_span rows = chunk_rows(x, &groups, j);
        chunk_logits(x, &t, &c, rows, j);
        if (before.end)
            chunk_gradients(x, g, &t, &c, before, j - CHUNK);
        if (rows.end)
            chunk_pairs(k, x, g, &c, rows, j, chunk_cols(x, j));
        before = rows;
    }
    if (before.end)
        chunk_gradients(x, g, &t, &c, before, (x->cols - 1) / CHUNK * CHUNK);
    if (g->dq)
        weigh_keys(&c.weights, x, &groups, &x->k, !g->first, c.part, g->dq, c.packed);
    tiles_end();
}

/* ---- of the table ---- */

static void attention_tile(struct oa_gemm_state *s, const struct oa_kernels *k,
                           const struct oa_attention_tile *x, const struct oa_attention_sums *sums)
{
    attend(&s->room, k, x, sums);
}

static void attention_tile_gradient(struct oa_gemm_state *s, const struct oa_kernels *k,
                                    const struct oa_attention_tile *x,
                                    const struct oa_attention_gradient *g)
{
    differentiate(&s->room, k, x, g);
}

static void gemm_part(struct oa_gemm_state *s, const struct oa_gemm *g,
                      const struct oa_gemm_part *part, const void *a, const void *b,
                      const void *packed, void *c)
{
    multiply_part(&s->room, g, part, a, b, packed, c);
}

/* Sets the functions for packed operands. */
static void use_parts(struct oa_kernels *k)
{
    k->gemm_packed_bytes = gemm_packed_bytes;
    k->gemm_pack = gemm_pack;
    k->gemm_pack_left = gemm_pack_left;
    k->gemm_part = gemm_part;
    k->attention_tile = attention_tile;
    k->attention_tile_gradient = attention_tile_gradient;
}
