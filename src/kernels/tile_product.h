/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products in bf16 by tiles of 16 rows of 64 bytes, as AMX has them, on packed operands.
 *
 * A tile of A is 16 rows of 32 numbers along k. A tile of B is 16 pairs of rows along k, each 16 columns wide, the two
 * numbers of a pair side by side. A panel is 32 rows of A or 32 columns of B: for each step of 32 along k two tiles.
 * The innermost loop keeps 32 × 32 sums in four tiles, and each step loads two tiles of A and two of B for four
 * products. Rows, columns and k are filled up with zeros.
 *
 * C is cut into blocks, k into slices: the slice of a panel of B stays in the L1 cache, what a block needs in L2. B
 * comes packed, all of it, once for all workers, or it is packed a slice at a time as A is.
 *
 * One step adds (Σ of the 16 even products) + (Σ of the 16 odd ones) to an element of C, and steps follow one another
 * in the order of k. So an element's bits depend on its row of A and its column of B and on nothing else.
 *
 * Included after the tiles themselves, those of the processor (tile_amx.h) or plain C (gemm_tiles.c), which give the
 * same bits: TILES, tiles_begin, tiles_end, tile_zero, tile_load, tile_store, tile_multiply, fetch; pack_along,
 * pack_across; finish_sums.
 */
#include "kernels/kernels.h"

#include <string.h>

enum { STEP = 32, TILE_BYTES = 1024, STEP_BYTES = 2 * TILE_BYTES, TILE_SUMS = 256, SUMS = STEP * STEP };
enum {
    ROWS = 256,   /* of a block */
    COLS = 768,   /* most of a block */
    SLICE = 384,  /* of k */
    WHOLE = 1024, /* up to here all of k of a block of A is packed at once, and blocks are NARROW */
    NARROW = 256,
};

/* ---- rooms of one worker ---- */

struct tile_room {
    char *a, *b;       /* packed: [ROWS, WHOLE], [COLS, SLICE] */
    float *sums, *one; /* of a block [ROWS, COLS], of one pair of panels [32, 32]; tile by tile */
};

static const size_t a_bytes = (size_t)ROWS * WHOLE * 2, b_bytes = (size_t)COLS * SLICE * 2;
static const size_t tile_room_bytes =
    (size_t)ROWS * WHOLE * 2 + (size_t)COLS * SLICE * 2 + (size_t)(ROWS * COLS + SUMS) * sizeof(float);

static struct tile_room tile_room(void *memory)
{
    struct tile_room r = { .a = memory };
    r.b = r.a + a_bytes;
    r.sums = (float *)(r.b + b_bytes);
    r.one = r.sums + ROWS * COLS;
    return r;
}

static long least(long a, long b)
{
    return a < b ? a : b;
}

static long steps_of(long n)
{
    return (n + STEP - 1) / STEP;
}

/* ---- packing ---- */

/* Element (i, p) of an operand, i along rows of A or columns of B, p along k, is x[i·across + p·along]; one is 1. */
struct tile_operand {
    const uint16_t *x;
    long across, along;
    bool right;
};

static struct tile_operand tile_operand(const struct oa_gemm *g, bool right, const void *x)
{
    long ld = right ? g->ldb : g->lda;
    bool along = right ? g->tb : !g->ta;
    return (struct tile_operand){ x, along ? ld : 1, along ? 1 : ld, right };
}

/* One step of one panel. */
static void pack_step(const struct tile_operand *o, long width, long depth, const uint16_t *x, char *out)
{
    if (o->along == 1)
        pack_along(width, depth, x, o->across, o->right, out);
    else
        pack_across(width, depth, x, o->along, !o->right, out);
}

/* Panels of `width` rows or columns from i on, over `depth` of k from p on; `panel`: bytes from one to the next. Read
 * in the order in which the operand lies in memory. */
static void pack_panels(const struct tile_operand *o, long i, long width, long p, long depth, char *out, size_t panel)
{
    const uint16_t *x = o->x + i * o->across + p * o->along;
    long panels = steps_of(width), steps = steps_of(depth), inner = o->along == 1 ? steps : panels;
    for (long n = 0; n < panels * steps; n++) {
        long at = o->along == 1 ? n / inner : n % inner, q = o->along == 1 ? n % inner : n / inner;
        pack_step(o, width - at * STEP, depth - q * STEP, x + (at * o->across + q * o->along) * STEP,
                  out + (size_t)at * panel + (size_t)q * STEP_BYTES);
    }
}

static size_t gemm_packed_bytes(const struct oa_gemm *g)
{
    return (size_t)steps_of(g->n) * (size_t)steps_of(g->k) * STEP_BYTES;
}

static void gemm_pack(const struct oa_gemm *g, const struct oa_gemm_part *part, const void *b, void *packed)
{
    struct tile_operand right = tile_operand(g, true, b);
    size_t panel = (size_t)steps_of(g->k) * STEP_BYTES;
    char *out = (char *)packed + (size_t)(part->j / STEP) * panel + (size_t)(part->i / STEP) * STEP_BYTES;
    pack_panels(&right, part->j, part->cols, part->i, part->rows, out, panel);
}

/* ---- multiplying ---- */

/* A panel of A with one of B. */
struct tile_pair {
    long steps;
    const char *a, *b;
    const float *from; /* sums so far, NULL: none */
    float *to;
    const char *ahead; /* what is fetched meanwhile, `lines` lines a step */
    long lines;
};

static void multiply_pair(const struct tile_pair *x)
{
    TILES;
    const char *a = x->a, *b = x->b, *ahead = x->ahead;
    if (x->from) {
        tile_load(0, x->from);
        tile_load(1, x->from + TILE_SUMS);
        tile_load(2, x->from + 2 * TILE_SUMS);
        tile_load(3, x->from + 3 * TILE_SUMS);
    } else {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    }
    for (long s = 0; s < x->steps; s++, a += STEP_BYTES, b += STEP_BYTES) {
        tile_load(4, a);
        tile_load(6, b);
        tile_multiply(0, 4, 6);
        tile_load(7, b + TILE_BYTES);
        tile_multiply(1, 4, 7);
        tile_load(5, a + TILE_BYTES);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
        for (long l = 0; l < x->lines; l++, ahead += 64)
            fetch(ahead);
    }
    tile_store(0, x->to);
    tile_store(1, x->to + TILE_SUMS);
    tile_store(2, x->to + 2 * TILE_SUMS);
    tile_store(3, x->to + 3 * TILE_SUMS);
}

/* A block of C, and the slice of k that is at work. */
struct tile_block {
    const struct oa_gemm *g;
    void *c;
    long i, rows, j, cols;   /* where in C */
    long p, depth;           /* of k */
    const char *a, *b;       /* packed, from there on */
    size_t a_panel, b_panel; /* bytes from a panel to the next */
    const struct tile_room *room;
};

static void finish_pair(const struct tile_block *t, long i, long j)
{
    const struct oa_gemm *g = t->g;
    long at = (t->i + i) * g->ldc + t->j + j;
    void *c = g->real_out ? (void *)((float *)t->c + at) : (void *)((uint16_t *)t->c + at);
    finish_sums(least(t->rows - i, STEP), least(t->cols - j, STEP), t->room->one, g->real_out, g->accumulate, c,
                g->ldc);
}

/* While a panel of B meets all of A, the next one is fetched. */
static void multiply_slice(const struct tile_block *t)
{
    long panels = steps_of(t->rows), steps = steps_of(t->depth), lines = STEP_BYTES / 64 / panels;
    bool first = t->p == 0, last = t->p + t->depth >= t->g->k;
    float *sums = t->room->sums;
    for (long j = 0; j < t->cols; j += STEP) {
        const char *b = t->b + (size_t)(j / STEP) * t->b_panel;
        bool more = j + STEP < t->cols;
        for (long i = 0; i < panels; i++, sums += SUMS) {
            multiply_pair(&(struct tile_pair){ .steps = steps,
                                               .a = t->a + (size_t)i * t->a_panel,
                                               .b = b,
                                               .from = first ? NULL : sums,
                                               .to = last ? t->room->one : sums,
                                               .ahead = b + t->b_panel + i * steps * lines * 64,
                                               .lines = more ? lines : 0 });
            if (last)
                finish_pair(t, i * STEP, j);
        }
    }
}

/* Columns j … j + cols of one block of rows; `packed` is all of B, or NULL. */
static void multiply_block(struct tile_block *t, const void *a, const void *b, const char *packed)
{
    const struct oa_gemm *g = t->g;
    struct tile_operand left = tile_operand(g, false, a), right = tile_operand(g, true, b);
    bool whole = g->k <= WHOLE;
    for (t->p = 0; t->p == 0 || t->p < g->k; t->p += SLICE) {
        t->depth = least(SLICE, g->k - t->p);
        t->a_panel = (size_t)steps_of(whole ? g->k : t->depth) * STEP_BYTES;
        t->a = t->room->a + (whole ? (size_t)(t->p / STEP) * STEP_BYTES : 0);
        if (!whole)
            pack_panels(&left, t->i, t->rows, t->p, t->depth, t->room->a, t->a_panel);
        t->b_panel = (size_t)steps_of(packed ? g->k : t->depth) * STEP_BYTES;
        t->b = packed ? packed + (size_t)(t->j / STEP) * t->b_panel + (size_t)(t->p / STEP) * STEP_BYTES : t->room->b;
        if (!packed)
            pack_panels(&right, t->j, t->cols, t->p, t->depth, t->room->b, t->b_panel);
        multiply_slice(t);
    }
}

static void multiply_part(const struct tile_room *room, const struct oa_gemm *g, const struct oa_gemm_part *part,
                          const void *a, const void *b, const void *packed, void *c)
{
    long wide = g->k <= WHOLE && packed ? NARROW : COLS;
    struct tile_operand left = tile_operand(g, false, a);
    tiles_begin();
    for (long i = 0; i < part->rows; i += ROWS) {
        struct tile_block t = { .g = g, .c = c, .i = part->i + i, .rows = least(ROWS, part->rows - i), .room = room };
        if (g->k <= WHOLE)
            pack_panels(&left, t.i, t.rows, 0, g->k, room->a, (size_t)steps_of(g->k) * STEP_BYTES);
        for (long j = 0; j < part->cols; j += wide) {
            t.j = part->j + j;
            t.cols = least(wide, part->cols - j);
            multiply_block(&t, a, b, packed);
        }
    }
    tiles_end();
}
