/* SPDX-License-Identifier: Apache-2.0
 * The products of attention on tiles: left operands, rows of keys in panels, strips and groups of
 * rows, and their visible columns. A part of tile_attention.h. */
#include "kernels/attention_tile.h"

enum { CHUNK = 32 };

/* Element (i, p) is x[i·across + p·along]; read in place, or packed at *room, which is advanced. */
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

/* One strip with one or two columns of tiles. */
TILE_INLINE void multiply_strip(const struct tile_left *a, long strip, const char *b,
                                const char *beside, long wide, long b_row, long b_step, long steps,
                                float *to, long next)
{
    if (wide == 2)
        multiply_two(a, strip, b, beside, b_row, b_step, steps, to, next);
    else
        multiply_one(a, strip, b, b_row, b_step, steps, to, next);
}

/* ---- what is seen ---- */

/* Columns begin … end − 1, in whole steps, with all that is visible to any of 32 rows; the others
 * need not be computed. */
struct tile_span {
    long begin, end;
};

/* Of the group of rows from row i on. */
static struct tile_span group_span(const struct oa_attention_tile *x, long i)
{
    struct tile_span s = { x->cols, 0 };
    for (long last = least(i + STEP, x->rows); i < last; i++)
        if (x->low[i] < x->high[i]) {
            s.begin = least(s.begin, x->low[i]);
            s.end = x->high[i] > s.end ? x->high[i] : s.end;
        }
    if (s.begin >= s.end)
        return (struct tile_span){ 0, 0 };
    return (struct tile_span){ s.begin / STEP * STEP, least(x->cols, steps_of(s.end) * STEP) };
}

struct tile_groups {
    struct tile_span see[OA_ATTENTION_ROWS / STEP];
};

static struct tile_groups tile_groups(const struct oa_attention_tile *x)
{
    struct tile_groups g;
    for (long i = 0; i < x->rows; i += STEP)
        g.see[i / STEP] = group_span(x, i);
    return g;
}

/* ---- tiles of weights with rows of keys ---- */

/* Weights [rows, cols] in tiles, padded with columns of zeros. */
static struct tile_left weights_left(const uint16_t *p, long cols)
{
    long strip = steps_of(cols) * TILE_BYTES;
    return (struct tile_left){ (const char *)p, 64, TILE_BYTES, strip, 2 * strip };
}

/* Rows of keys from the first of the tile on, in panels of 32 columns; `panel`: bytes from one to
 * the next. Steps that begin inside an existing panel, or whose last one would include other keys,
 * are packed at *room. */
static const char *key_panels(const struct oa_attention_keys *x, long cols, size_t *panel,
                              char **room)
{
    if (x->first % STEP == 0 && (cols % STEP == 0 || x->first + cols >= x->rows)) {
        *panel = (size_t)steps_of(x->rows) * STEP_BYTES;
        return (const char *)x->tiles + x->first / STEP * STEP_BYTES;
    }
    struct tile_operand keys = { (const uint16_t *)x->x + x->first * x->ld, 1, x->ld, true };
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

/* Up to 32 columns of c, from column j on, of rows i … of at most 32, which have weights in the
 * columns of `see`. */
static void weigh_group(const struct tile_left *p, long i, long rows, struct tile_span see,
                        const char *b, long j, long width, bool add, float *part, float *c)
{
    struct tile_left left = *p;
    bool wide = width - j > 16;
    long strip = i / STRIP, steps = steps_of(see.end - see.begin);
    left.at += see.begin / STEP * left.step;
    b += see.begin / STEP * STEP_BYTES;
    if (wide && rows == 2 * STRIP)
        multiply_four(&left, strip, b, b + TILE_BYTES, 64, STEP_BYTES, steps, part, SUMS_ROW);
    else
        for (long n = 0; n < rows; n += STRIP)
            multiply_strip(&left, strip + n / STRIP, b, b + TILE_BYTES, 1 + wide, 64, STEP_BYTES,
                           steps, part + n * STEP, SUMS_ROW);
    put_sums(part, rows, j, width, add, c + i * width);
}

/* c [rows, width] += weights of the tile · keys. */
static void weigh_keys(const struct tile_left *p, const struct oa_attention_tile *x,
                       const struct tile_groups *groups, const struct oa_attention_keys *keys,
                       bool add, float *part, float *c, char *room)
{
    size_t panel;
    const char *b = key_panels(keys, x->cols, &panel, &room);
    for (long i = 0; i < x->rows; i += STEP) {
        struct tile_span see = groups->see[i / STEP];
        for (long j = 0; j < keys->width; j += STEP)
            weigh_group(p, i, least(STEP, x->rows - i), see, b + (size_t)(j / STEP) * panel, j,
                        keys->width, add, part, c);
    }
}

static struct tile_operand left_rows(const void *x, long ld)
{
    return (struct tile_operand){ x, ld, 1, false };
}
