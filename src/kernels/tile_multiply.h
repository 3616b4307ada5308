/* SPDX-License-Identifier: Apache-2.0
 * The innermost loops of tile_product.h and tile_attention.h for units with tiles: sums of up to
 * two by two tiles stay in tile registers over all steps of k. Included after the tiles themselves
 * (tile_amx.h, tests/plain_tiles.c). */
#include "kernels/tile_operands.h"

enum {
    FINISHES_AT_ONCE = false, /* multiply_pair stores the sums of the pair before in C */
    READS_WHOLE_TILES = true  /* also where there are fewer rows */
};

/* At most 16 rows of A with a panel of B read from memory. No other tiles are loaded: where tile
 * loads are slow they would take longer than memory. The prefetch distance is short, so that the
 * beginning of an item is prefetched too. */
TILE_INLINE void multiply_short_pair(const struct tile_pair *x, const struct tile_finish *before)
{
    TILES;
    enum { FETCH_AHEAD = 8192 };
    const char *a = x->a.at, *b = x->b;
    const long row = x->a.row, step = x->a.step, share = x->share;
    long done = 0;
    if (x->from) {
        tile_load(0, x->from, SUMS_ROW);
        tile_load(1, x->from + 16, SUMS_ROW);
    } else {
        tile_zero(0);
        tile_zero(1);
    }
    for (long s = x->steps; s > 0; s--, a += step, b += STEP_BYTES) {
        tile_load(4, a, row);
        tile_load(6, b, 64L);
        tile_multiply(0, 4, 6);
        tile_load(7, b + TILE_BYTES, 64L);
        tile_multiply(1, 4, 7);
        for (long i = 0; i < STEP_BYTES; i += 64)
            fetch(b + FETCH_AHEAD + i);
        finish_until(before, &done, done + share);
    }
    finish_until(before, &done, STEP);
    tile_store(0, x->to, x->next);
    tile_store(1, x->to + 16, x->next);
}

/* Loads, prefetches and stores between the products of tiles cost almost no time. */
TILE_INLINE void multiply_pair(const struct tile_pair *x, const struct tile_finish *before)
{
    if (x->few && x->rows <= STRIP) {
        multiply_short_pair(x, before);
        return;
    }
    TILES;
    const char *a = x->a.at, *second = a + STRIP * x->a.row, *b = x->b, *below = x->below,
               *right = x->right;
    const long row = x->a.row, step = x->a.step, share = x->share, fetched = x->fetched,
               lines = x->lines, below_row = x->below_row;
    long done = 0;
    if (x->from) {
        tile_load(0, x->from, SUMS_ROW);
        tile_load(1, x->from + 16, SUMS_ROW);
        tile_load(2, x->from + 16 * STEP, SUMS_ROW);
        tile_load(3, x->from + 16 * STEP + 16, SUMS_ROW);
    } else {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    }
    for (long s = x->steps; s > 0; s--, a += step, second += step, b += STEP_BYTES) {
        tile_load(4, a, row);
        tile_load(6, b, 64L);
        tile_multiply(0, 4, 6);
        tile_load(7, b + TILE_BYTES, 64L);
        tile_multiply(1, 4, 7);
        tile_load(5, second, row);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
        for (long i = 0; i < fetched; i++)
            fetch(below + i * below_row);
        below += 64;
        for (long i = 0; i < lines; i++, right += 64)
            fetch(right);
        finish_until(before, &done, done + share);
    }
    finish_until(before, &done, STEP);
    float *to = x->to, *second_to = (float *)((char *)to + 16 * x->next);
    tile_store(0, to, x->next);
    tile_store(1, to + 16, x->next);
    tile_store(2, second_to, x->next);
    tile_store(3, second_to + 16, x->next);
}

/* One strip with one column of tiles. */
TILE_INLINE void multiply_one(const struct tile_left *a, long strip, const char *b, long b_row,
                              long b_step, long steps, float *to, long next)
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
TILE_INLINE void multiply_two(const struct tile_left *a, long strip, const char *b,
                              const char *beside, long b_row, long b_step, long steps, float *to,
                              long next)
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

/* Two strips with two columns of tiles. */
TILE_INLINE void multiply_four(const struct tile_left *a, long strip, const char *b,
                               const char *beside, long b_row, long b_step, long steps, float *to,
                               long next)
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
