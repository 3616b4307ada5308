/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention on tiles: a block of queries meets a tile of keys, and what is made of their logits stays in the L1 cache,
 * or as weights in bf16 in L2, in the order in which the next product reads it. The products are those of
 * tile_product.h, the weights those of the table's softmax, so that each number has the bits that it has when whole
 * tiles of logits are made by one call and read by the next.
 *
 * Forward: strips of 16 queries, of which the logits [16, keys] are made by tiles, then the weights P, in tiles; at the
 * end O += P V. Backward: chunks of 32 keys, of which the logits and dP [queries, 32] are made, then P and dS. Of these
 * the gradients of keys and values want the transposes as left operands. Their own transposes, dVᵀ = dOᵀ P and
 * dKᵀ = Qᵀ dS, want P and dS as they are as right ones, which is pairs of rows side by side, as softmax_pairs stores
 * them. At the end dQ += dS K.
 *
 * Included after tile_product.h; add_sums comes with the tiles.
 */
#include "kernels/attention_tile.h"

enum { STRIP = 16, CHUNK = 32 };

/* A left operand: strips of 16 rows, for each step of 32 along k a tile. */
struct tile_left {
    const char *at;
    long row, step, strip, panel; /* bytes to the next row, step, strip of a panel, panel */
};

static const char *left_strip(const struct tile_left *a, long i)
{
    return a->at + i / 2 * a->panel + i % 2 * a->strip;
}

/* Element (i, p) is x[i·across + p·along]; read where it lies, or packed at *room, which moves on. */
static struct tile_left tile_left(struct tile_operand o, long rows, long k, char **room)
{
    if (reads_plain(&o, k)) {
        long row = 2 * o.across;
        return (struct tile_left){ (const char *)o.x, row, 2 * STEP, STRIP * row, STEP * row };
    }
    struct tile_left a = { *room, 64, STEP_BYTES, TILE_BYTES, steps_of(k) * STEP_BYTES };
    pack_panels(&o, 0, rows, 0, k, *room, (size_t)a.panel);
    *room += steps_of(rows) * a.panel;
    return a;
}

/* The tiles of 16 rows of keys as columns of a product of `steps` along k. */
static const char *pair_tiles(const struct oa_attention_keys *x, long granule, long steps)
{
    granule += x->first / 16;
    return (const char *)x->pair + granule / 2 * steps * STEP_BYTES + granule % 2 * TILE_BYTES;
}

/* One strip with one column of tiles. */
TILE_INLINE void multiply_one(const struct tile_left *a, long strip, const char *b, long b_row, long b_step, long steps,
                              float *to, long next)
{
    TILES;
    const char *left = left_strip(a, strip);
    tile_zero(0);
    for (; steps > 0; steps--, left += a->step, b += b_step) {
        tile_load(4, left, a->row);
        tile_load(6, b, b_row);
        tile_multiply(0, 4, 6);
    }
    tile_store(0, to, next);
}

/* One strip with two columns of tiles. */
TILE_INLINE void multiply_two(const struct tile_left *a, long strip, const char *b, const char *beside, long b_row,
                              long b_step, long steps, float *to, long next)
{
    TILES;
    const char *left = left_strip(a, strip);
    tile_zero(0);
    tile_zero(1);
    for (; steps > 0; steps--, left += a->step, b += b_step, beside += b_step) {
        tile_load(4, left, a->row);
        tile_load(6, b, b_row);
        tile_multiply(0, 4, 6);
        tile_load(7, beside, b_row);
        tile_multiply(1, 4, 7);
    }
    tile_store(0, to, next);
    tile_store(1, to + 16, next);
}

/* One strip with one or two columns of tiles. */
TILE_INLINE void multiply_strip(const struct tile_left *a, long strip, const char *b, const char *beside, long wide,
                                long b_row, long b_step, long steps, float *to, long next)
{
    if (wide == 2)
        multiply_two(a, strip, b, beside, b_row, b_step, steps, to, next);
    else
        multiply_one(a, strip, b, b_row, b_step, steps, to, next);
}

/* Two strips with two columns of tiles. */
TILE_INLINE void multiply_four(const struct tile_left *a, long strip, const char *b, const char *beside, long b_row,
                               long b_step, long steps, float *to, long next)
{
    TILES;
    const char *left = left_strip(a, strip), *below = left_strip(a, strip + 1);
    float *second = to + STRIP * (next / (long)sizeof *to);
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (; steps > 0; steps--, left += a->step, below += a->step, b += b_step, beside += b_step) {
        tile_load(4, left, a->row);
        tile_load(6, b, b_row);
        tile_multiply(0, 4, 6);
        tile_load(7, beside, b_row);
        tile_multiply(1, 4, 7);
        tile_load(5, below, a->row);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    tile_store(0, to, next);
    tile_store(1, to + 16, next);
    tile_store(2, second, next);
    tile_store(3, second + 16, next);
}

/* Four strips with one column of tiles. */
TILE_INLINE void multiply_tall(const struct tile_left *a, long strip, const char *b, long b_row, long b_step,
                               long steps, float *to, long next)
{
    TILES;
    const char *left = left_strip(a, strip), *below = left_strip(a, strip + 2);
    const long second = a->strip, row = a->row;
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (; steps > 0; steps--, left += a->step, below += a->step, b += b_step) {
        tile_load(6, b, b_row);
        tile_load(4, left, row);
        tile_multiply(0, 4, 6);
        tile_load(5, left + second, row);
        tile_multiply(1, 5, 6);
        tile_load(4, below, row);
        tile_multiply(2, 4, 6);
        tile_load(5, below + second, row);
        tile_multiply(3, 5, 6);
    }
    const long strip_of_sums = STRIP * (next / (long)sizeof *to);
    tile_store(0, to, next);
    tile_store(1, to + strip_of_sums, next);
    tile_store(2, to + 2 * strip_of_sums, next);
    tile_store(3, to + 3 * strip_of_sums, next);
}

/* One strip with four columns of tiles. */
TILE_INLINE void multiply_wide(const struct tile_left *a, long strip, const char *const b[4], long steps, float *to,
                               long next)
{
    TILES;
    const char *left = left_strip(a, strip), *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (long at = 0; steps > 0; steps--, left += a->step, at += STEP_BYTES) {
        tile_load(4, left, a->row);
        tile_load(5, b0 + at, 64L);
        tile_multiply(0, 4, 5);
        tile_load(6, b1 + at, 64L);
        tile_multiply(1, 4, 6);
        tile_load(7, b2 + at, 64L);
        tile_multiply(2, 4, 7);
        tile_load(5, b3 + at, 64L);
        tile_multiply(3, 4, 5);
    }
    tile_store(0, to, next);
    tile_store(1, to + 16, next);
    tile_store(2, to + 32, next);
    tile_store(3, to + 48, next);
}

/* ---- tiles of weights with rows of keys ---- */

/* Weights [rows, cols] in tiles, filled up with columns of zeros. */
static struct tile_left weights_left(const uint16_t *p, long cols)
{
    long strip = steps_of(cols) * TILE_BYTES;
    return (struct tile_left){ (const char *)p, 64, TILE_BYTES, strip, 2 * strip };
}

/* Rows of keys from the first of the tile on, in panels of 32 columns; `panel`: bytes from one to the next. Steps that
 * begin within one of the panels that there are, or whose last would reach other keys, are packed at *room. */
static const char *key_panels(const struct oa_attention_keys *x, long cols, size_t *panel, char **room)
{
    if (x->first % STEP == 0 && (cols % STEP == 0 || x->first + cols >= x->rows)) {
        *panel = (size_t)steps_of(x->rows) * STEP_BYTES;
        return (const char *)x->tiles + x->first / STEP * STEP_BYTES;
    }
    struct tile_operand keys = { (const uint16_t *)x->x + x->first * x->width, 1, x->width, true };
    char *packed = *room;
    *panel = (size_t)steps_of(cols) * STEP_BYTES;
    pack_panels(&keys, 0, x->width, 0, cols, packed, *panel);
    *room += (size_t)steps_of(x->width) * *panel;
    return packed;
}

/* Sums [rows, 32] go to columns j … of c [·, width], or are added to it. */
static void put_sums(const float *sums, long rows, long j, long width, bool add, float *c)
{
    const struct tile_finish f = { .sums = sums,
                                   .rows = rows,
                                   .cols = least(STEP, width - j),
                                   .real = true,
                                   .add = add,
                                   .c = (char *)(c + j),
                                   .next = (size_t)width * sizeof *c };
    finish_rows(&f, 0, rows);
}

/* Up to 32 columns of c, from column j on. */
static void weigh_panel(const struct tile_left *p, long rows, long steps, const char *b, long j, long width, bool add,
                        float *part, float *c)
{
    long i = 0, strips = rows / STRIP;
    bool wide = width - j > 16;
    for (; wide && i + 2 <= strips; i += 2) {
        multiply_four(p, i, b, b + TILE_BYTES, 64, STEP_BYTES, steps, part, SUMS_ROW);
        put_sums(part, 2 * STRIP, j, width, add, c + i * STRIP * width);
    }
    for (; !wide && i + 4 <= strips; i += 4) {
        multiply_tall(p, i, b, 64, STEP_BYTES, steps, part, SUMS_ROW);
        put_sums(part, 4 * STRIP, j, width, add, c + i * STRIP * width);
    }
    for (; i < strips; i++) {
        multiply_strip(p, i, b, b + TILE_BYTES, 1 + wide, 64, STEP_BYTES, steps, part, SUMS_ROW);
        put_sums(part, STRIP, j, width, add, c + i * STRIP * width);
    }
}

/* c [rows, width] += weights [rows, cols] · keys. */
static void weigh_keys(const uint16_t *p, long rows, long cols, const struct oa_attention_keys *x, bool add,
                       float *part, float *c, char *room)
{
    size_t panel;
    const struct tile_left left = weights_left(p, cols);
    const char *b = key_panels(x, cols, &panel, &room);
    for (long j = 0; j < x->width; j += STEP, b += panel)
        weigh_panel(&left, rows, steps_of(cols), b, j, x->width, add, part, c);
}

static struct tile_operand left_rows(const void *x, long width)
{
    return (struct tile_operand){ x, width, 1, false };
}

/* ---- forward ---- */

/* Logits [16, cols] of a strip. */
static void strip_logits(const struct oa_attention_tile *x, const struct tile_left *q, long strip, float *s, long lds)
{
    long granules = x->cols / 16, steps = steps_of(x->k.width), next = lds * (long)sizeof *s, j = 0;
    for (; j + 4 <= granules; j += 4) {
        const char *b[4];
        for (int i = 0; i < 4; i++)
            b[i] = pair_tiles(&x->k, j + i, steps);
        multiply_wide(q, strip, b, steps, s + 16 * j, next);
    }
    for (; j < granules; j++)
        multiply_one(q, strip, pair_tiles(&x->k, j, steps), 64, STEP_BYTES, steps, s + 16 * j, next);
}

/* Rounds a strip of weights into tiles. */
static void weights_to_tiles(const struct oa_kernels *k, long cols, const float *s, long lds, uint16_t *p)
{
    for (long j = 0; j < cols; j += STEP, p += TILE_BYTES / sizeof *p) {
        if (cols - j < STEP)
            memset(p, 0, TILE_BYTES);
        k->tile_to_act(STRIP, least(STEP, cols - j), s + j, lds, p, STEP);
    }
}

/* The weights of the strip from row i on. They are dropped after z is made: P is normalised before. */
static void strip_weights(const struct oa_kernels *k, const struct oa_attention_tile *x, long i, float *s, long lds,
                          const struct oa_attention_sums *sums, uint16_t *p)
{
    float *m = (float *)sums->m + i, *z = (float *)sums->z + i, *rescale = (float *)sums->rescale + i;
    if (x->keep >= 1) {
        k->softmax_to_tiles(STRIP, x->cols, x->scale, x->low + i, x->high + i, s, lds, m, z, rescale, p);
        return;
    }
    k->softmax_tile(STRIP, x->cols, x->scale, x->low + i, x->high + i, s, lds, m, z, rescale);
    k->dropout_tile(STRIP, x->cols, x->dropout, x->block0 + (uint64_t)i * x->blocks_a_row, x->blocks_a_row, x->keep, s,
                    lds);
    weights_to_tiles(k, x->cols, s, lds, p);
}

static void attend(struct tile_room *room, const struct oa_kernels *k, const struct oa_attention_tile *x,
                   const struct oa_attention_sums *sums)
{
    float *part = room->sums, *s = part + OA_ATTENTION_ROWS * STEP;
    long lds = x->cols + STRIP; /* rows that are no power of two apart */
    long strip = STRIP * STEP * steps_of(x->cols);
    uint16_t *p = (uint16_t *)(s + STRIP * lds);
    char *packed = (char *)(p + x->rows / STRIP * strip);
    struct tile_left q = tile_left(left_rows(x->q, x->k.width), x->rows, x->k.width, &packed);
    tiles_begin();
    for (long i = 0; i < x->rows; i += STRIP) {
        strip_logits(x, &q, i / STRIP, s, lds);
        strip_weights(k, x, i, s, lds, sums, p + i / STRIP * strip);
    }
    if (!sums->first)
        k->scale_rows(x->rows, x->v.width, sums->rescale, sums->o, x->v.width);
    weigh_keys(p, x->rows, x->cols, &x->v, !sums->first, part, sums->o, packed);
    tiles_end();
}

/* ---- backward ---- */

/* What a chunk is made in, [64, 32] each, pairs [32, 32, 2]; and dS of the tile, in tiles. */
struct tile_chunk {
    float *s, *dp, *kept, *part;
    uint16_t *p, *ds, *all;
    char *packed; /* what follows */
};

static struct tile_chunk tile_chunk(struct tile_room *room, const struct oa_attention_tile *x)
{
    enum { CELLS = OA_ATTENTION_ROWS * CHUNK };
    struct tile_chunk c = { .s = room->sums };
    c.dp = c.s + CELLS;
    c.p = (uint16_t *)(c.dp + CELLS);
    c.ds = c.p + CELLS;
    c.part = (float *)(c.ds + CELLS);
    c.kept = c.part + CELLS;
    c.all = (uint16_t *)(c.kept + CELLS);
    c.packed = (char *)(c.all + x->rows * STEP * steps_of(x->cols));
    return c;
}

/* Products of rows and a chunk of keys, `wide` columns of tiles from granule j on. */
static void chunk_product(const struct oa_attention_keys *x, const struct tile_left *a, long rows, long j, long wide,
                          float *to)
{
    long steps = steps_of(x->width), strips = rows / STRIP, i = 0;
    const char *b = pair_tiles(x, j, steps), *beside = pair_tiles(x, j + 1, steps);
    if (wide == 2)
        for (; i + 2 <= strips; i += 2)
            multiply_four(a, i, b, beside, 64, STEP_BYTES, steps, to + i * STRIP * CHUNK, SUMS_ROW);
    for (; i < strips; i++)
        multiply_strip(a, i, b, beside, wide, 64, STEP_BYTES, steps, to + i * STRIP * CHUNK, SUMS_ROW);
}

/* For each 16 of the keys: to [width, 16] += a [width, rows] · pairs [rows, 16·wide], by way of `part`. */
static void add_chunk_product(const struct tile_left *a, long width, long rows, const uint16_t *pairs, long wide,
                              float *part, float *to)
{
    const char *b = (const char *)pairs;
    long strips = (width + STRIP - 1) / STRIP, steps = steps_of(rows), i = 0;
    if (wide == 2)
        for (; i + 2 <= strips; i += 2) {
            multiply_four(a, i, b, b + 64, 128, 16 * 128, steps, part, SUMS_ROW);
            add_sums(part, 2 * STRIP, 2, to + i * STRIP * 16, strips * STRIP * 16);
        }
    for (; i < strips; i++) {
        multiply_strip(a, i, b, b + 64, wide, 128, 16 * 128, steps, part, SUMS_ROW);
        add_sums(part, STRIP, wide, to + i * STRIP * 16, strips * STRIP * 16);
    }
}

/* Where the sums of keys j … are. */
static float *sums_of_keys(void *sums, long width, long j)
{
    return (float *)sums + j * ((width + STRIP - 1) / STRIP * STRIP);
}

/* What dropout multiplies the weights of a chunk by; NULL: nothing. */
static const float *chunk_kept(const struct oa_kernels *k, const struct oa_attention_tile *x, long j, long cols,
                               float *kept)
{
    if (x->keep >= 1)
        return NULL;
    for (long i = 0; i < x->rows * CHUNK; i++)
        kept[i] = 1;
    k->dropout_tile(x->rows, cols, x->dropout, x->block0 + (uint64_t)j / 4, x->blocks_a_row, x->keep, kept, CHUNK);
    return kept;
}

/* Queries are taken in steps of 32: zeros where the last is a half. */
static void clear_half(long rows, uint16_t *pairs)
{
    if (rows % STEP)
        memset(pairs + rows * CHUNK, 0, (size_t)(STRIP * CHUNK) * sizeof *pairs);
}

static void chunk_pairs(const struct oa_kernels *k, const struct oa_attention_tile *x,
                        const struct oa_attention_gradient *g, const struct tile_chunk *c, long j, long cols)
{
    uint16_t *ds = c->all + j * STRIP;
    k->softmax_pairs(&(struct oa_softmax_pairs){ .rows = x->rows,
                                                 .cols = cols,
                                                 .first = j,
                                                 .scale = x->scale,
                                                 .low = x->low,
                                                 .high = x->high,
                                                 .s = c->s,
                                                 .dp = c->dp,
                                                 .factor = chunk_kept(k, x, j, cols, c->kept),
                                                 .lse = g->lse,
                                                 .delta = g->delta,
                                                 .p_pairs = c->p,
                                                 .ds_pairs = c->ds,
                                                 .ds = g->dq ? ds : NULL,
                                                 .tile = STRIP * STEP * steps_of(x->cols) });
    clear_half(x->rows, c->p);
    clear_half(x->rows, c->ds);
}

static void differentiate(struct tile_room *room, const struct oa_kernels *k, const struct oa_attention_tile *x,
                          const struct oa_attention_gradient *g)
{
    struct tile_chunk c = tile_chunk(room, x);
    long width = x->k.width, values = x->v.width;
    struct tile_left q = tile_left(left_rows(x->q, width), x->rows, width, &c.packed);
    struct tile_left d_o = tile_left(left_rows(g->d_o, values), x->rows, values, &c.packed);
    struct tile_left turned_q = tile_left((struct tile_operand){ x->q, 1, width, false }, width, x->rows, &c.packed);
    struct tile_left turned_d_o =
        tile_left((struct tile_operand){ g->d_o, 1, values, false }, values, x->rows, &c.packed);
    tiles_begin();
    for (long j = 0; j < x->cols; j += CHUNK) {
        long cols = least(CHUNK, x->cols - j), wide = cols / 16;
        chunk_product(&x->k, &q, x->rows, j / 16, wide, c.s);
        chunk_product(&x->v, &d_o, x->rows, j / 16, wide, c.dp);
        chunk_pairs(k, x, g, &c, j, cols);
        if (g->dv)
            add_chunk_product(&turned_d_o, values, x->rows, c.p, wide, c.part, sums_of_keys(g->dv, values, j));
        if (g->dk)
            add_chunk_product(&turned_q, width, x->rows, c.ds, wide, c.part, sums_of_keys(g->dk, width, j));
    }
    if (g->dq)
        weigh_keys(c.all, x->rows, x->cols, &x->k, !g->first, c.part, g->dq, c.packed);
    tiles_end();
}
