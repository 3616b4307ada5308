/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products in bf16 by tiles of 16 rows of 64 bytes, as AMX has them, on packed operands.
 *
 * A tile of A is 16 rows of 32 numbers along k. A tile of B is 16 pairs of rows along k, each 16 columns wide, the two
 * numbers of a pair side by side. A panel is 32 rows of A or 32 columns of B: for each step of 32 along k two tiles.
 * The innermost loop keeps 32 × 32 sums in four tiles, and each step loads two tiles of A and two of B for four
 * products. Rows, columns and k are filled up with zeros.
 *
 * C is cut into blocks of rows whose part of A stays in the L2 cache, k into slices: the slice of a panel of B stays in
 * L1 while it meets all rows of the block. B comes packed, all of it, once for all workers; or a slice is packed when
 * it is needed. A is read where it lies if its rows begin with cache lines, and packed otherwise.
 *
 * One step adds (Σ of the 16 even products) + (Σ of the 16 odd ones) to an element of C, and steps follow one another
 * in the order of k. So an element's bits depend on its row of A and its column of B and on nothing else.
 *
 * Included after the tiles themselves, those of the processor (tile_amx.h) or plain C (gemm_tiles.c), which give the
 * same bits: TILES, tiles_begin, tiles_end, tile_zero, tile_load, tile_store, tile_multiply, fetch; pack_along,
 * pack_across; finish_row.
 */
#include "kernels/kernels.h"

#include <string.h>

enum { STEP = 32, TILE_BYTES = 1024, STEP_BYTES = 2 * TILE_BYTES, TILE_SUMS = 256, SUMS = STEP * STEP };
enum {
    ROWS = 256,      /* of a block */
    MORE_ROWS = 512, /* of a block with k up to SHALLOW */
    SHALLOW = 768,   /* MORE_ROWS · SHALLOW = ROWS · DEEP */
    DEEP = 1536,     /* most of k at a time of a block of A */
    SLICE = 384,     /* of k, of a panel of B */
    COLS = 768,      /* of a block with more k than DEEP, whose sums wait meanwhile */
};

/* ---- rooms of one worker: every number is written before it is read ---- */

struct tile_room {
    char *a, *b; /* packed: a block of A [ROWS, DEEP], a panel of B [STEP, SLICE] */
    float *sums; /* of a block [ROWS, COLS], tile by tile */
    float *done; /* of two pairs of panels [2, 32, 32] */
};

static const size_t a_bytes = (size_t)ROWS * DEEP * 2, b_bytes = (size_t)STEP * SLICE * 2;
static const size_t tile_room_bytes =
    (size_t)ROWS * DEEP * 2 + (size_t)STEP * SLICE * 2 + (size_t)(ROWS * COLS + 2 * SUMS) * sizeof(float);

static struct tile_room tile_room(void *memory)
{
    struct tile_room r = { .a = memory };
    r.b = r.a + a_bytes;
    r.sums = (float *)(r.b + b_bytes);
    r.done = r.sums + ROWS * COLS;
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

/* Where tiles of a panel of A lie. */
struct tile_rows {
    const char *at;
    long row, second, step; /* bytes to the next row of a tile, to the second tile, to the next 32 of k */
};

/* Sums on their way to C. */
struct tile_finish {
    const float *sums;
    long row, rows, cols;
    bool real, add;
    char *c;     /* where `row` goes */
    size_t next; /* bytes from a row of C to the next */
};

static void finish_rows(struct tile_finish *f, long count)
{
    for (long last = least(f->rows, f->row + count); f->row < last; f->row++, f->c += f->next) {
        const char *below = f->c + STEP * f->next;
        fetch_to_write(below);
        if (f->real)
            fetch_to_write(below + 64);
        finish_row(f->cols, f->sums + f->row / 16 * 2 * TILE_SUMS + f->row % 16 * 16, f->real, f->add, f->c);
    }
}

/* A panel of A with one of B. What is done while the tiles multiply costs next to nothing: each step takes some rows of
 * the sums that were finished before to C, and fetches some lines of the panel that comes. */
struct tile_pair {
    long steps;
    struct tile_rows a;
    const char *b;
    const float *from; /* sums so far, NULL: none */
    float *to;
    const char *ahead;
    long lines;
    bool first; /* these rows of A for the first time: the panel below them is fetched too */
    struct tile_finish *before;
};

static void multiply_pair(const struct tile_pair *x)
{
    TILES;
    const char *a = x->a.at, *second = a + x->a.second, *b = x->b, *ahead = x->ahead;
    const long row = x->a.row, step = x->a.step, steps = x->steps, lines = x->lines;
    const long rows = STEP / (steps + !steps) + 1, below = x->first ? STEP : 0;
    struct tile_finish before = *x->before;
    if (x->from) {
        tile_load(0, x->from, 64L);
        tile_load(1, x->from + TILE_SUMS, 64L);
        tile_load(2, x->from + 2 * TILE_SUMS, 64L);
        tile_load(3, x->from + 3 * TILE_SUMS, 64L);
    } else {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    }
    for (long s = 0; s < steps; s++, a += step, second += step, b += STEP_BYTES) {
        tile_load(4, a, row);
        tile_load(6, b, 64L);
        tile_multiply(0, 4, 6);
        tile_load(7, b + TILE_BYTES, 64L);
        tile_multiply(1, 4, 7);
        tile_load(5, second, row);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
        for (long l = 0; l < lines; l++, ahead += 64)
            fetch(ahead);
        for (long i = 0; i < below; i++)
            fetch(a + (STEP + i) * row);
        finish_rows(&before, rows);
    }
    finish_rows(&before, STEP);
    tile_store(0, x->to);
    tile_store(1, x->to + TILE_SUMS);
    tile_store(2, x->to + 2 * TILE_SUMS);
    tile_store(3, x->to + 3 * TILE_SUMS);
    x->before->row = x->before->rows;
}

/* A block of rows of C, and as much of k as is at work. */
struct tile_block {
    const struct oa_gemm *g;
    const struct tile_room *room;
    void *c;
    struct tile_operand a, b;
    const char *packed; /* all of B, or NULL */
    bool plain;         /* A is read where it lies, but for the last rows when they are no whole panel */
    long i, rows, j;    /* of C */
    long p, depth;      /* of k */
    struct tile_finish finish;
    float *done; /* where the next sums are finished */
};

static bool reads_plain(const struct tile_operand *a, long k)
{
    return a->along == 1 && k % STEP == 0 && (uintptr_t)a->x % 64 == 0 && a->across % 32 == 0;
}

/* Rows from i on of the block, from the q-th of its k on. */
static struct tile_rows rows_of_a(const struct tile_block *t, long i, long q)
{
    if (t->plain && t->rows - i >= STEP) {
        long row = 2 * t->a.across;
        const uint16_t *x = t->a.x + (t->i + i) * t->a.across + t->p + q;
        return (struct tile_rows){ (const char *)x, row, 16 * row, 2 * STEP };
    }
    size_t panel = (size_t)steps_of(t->depth) * STEP_BYTES;
    const char *at = t->room->a + (size_t)(t->plain ? 0 : i / STEP) * panel + (size_t)(q / STEP) * STEP_BYTES;
    return (struct tile_rows){ at, 64, TILE_BYTES, STEP_BYTES };
}

static void pack_left(const struct tile_block *t)
{
    long from = t->plain ? t->rows / STEP * STEP : 0;
    pack_panels(&t->a, t->i + from, t->rows - from, t->p, t->depth, t->room->a,
                (size_t)steps_of(t->depth) * STEP_BYTES);
}

/* The sums in `done` are to go to C, from row i of the block and column j on. */
static void finish_pair(struct tile_block *t, long i, long j, long cols)
{
    const struct oa_gemm *g = t->g;
    size_t size = g->real_out ? sizeof(float) : sizeof(uint16_t);
    t->finish = (struct tile_finish){ .sums = t->done,
                                      .rows = least(t->rows - i, STEP),
                                      .cols = cols,
                                      .real = g->real_out,
                                      .add = g->accumulate,
                                      .c = (char *)t->c + (size_t)((t->i + i) * g->ldc + j) * size,
                                      .next = (size_t)g->ldc * size };
    t->done = t->room->done + (t->done == t->room->done ? SUMS : 0);
}

/* One panel of columns j … j + cols of C; sums: tile by tile, of all rows. Of a packed B the next slice is fetched
 * while one meets the rows. */
static void multiply_panel(struct tile_block *t, long j, long cols, float *sums)
{
    long panels = steps_of(t->rows), lines = t->packed ? STEP_BYTES / 64 / panels : 0;
    for (long q = 0; q == 0 || q < t->depth; q += SLICE) {
        long p = t->p + q, depth = least(SLICE, t->depth - q), steps = steps_of(depth);
        const char *b = t->room->b;
        if (t->packed)
            b = t->packed + (size_t)(j / STEP * steps_of(t->g->k) + p / STEP) * STEP_BYTES;
        else
            pack_panels(&t->b, j, cols, p, depth, t->room->b, 0);
        bool last = p + depth >= t->g->k;
        for (long i = 0; i < panels; i++) {
            multiply_pair(&(struct tile_pair){ .steps = steps,
                                               .a = rows_of_a(t, i * STEP, q),
                                               .b = b,
                                               .from = p ? sums + i * SUMS : NULL,
                                               .to = last ? t->done : sums + i * SUMS,
                                               .ahead = b + steps * (STEP_BYTES + i * lines * 64),
                                               .lines = lines,
                                               .first = t->plain && j == t->j,
                                               .before = &t->finish });
            if (last)
                finish_pair(t, i * STEP, j, cols);
        }
    }
}

static void multiply_block(struct tile_block *t, long j0, long cols)
{
    bool deep = t->g->k > DEEP;
    t->j = j0;
    for (t->p = 0; t->p == 0 || t->p < t->g->k; t->p += DEEP) {
        t->depth = least(DEEP, t->g->k - t->p);
        pack_left(t);
        for (long j = 0; j < cols; j += STEP)
            multiply_panel(t, j0 + j, least(STEP, cols - j),
                           t->room->sums + (deep ? j / STEP * (ROWS / STEP) * SUMS : 0));
    }
}

static void multiply_part(const struct tile_room *room, const struct oa_gemm *g, const struct oa_gemm_part *part,
                          const void *a, const void *b, const void *packed, void *c)
{
    long tall = g->k > SHALLOW ? ROWS : MORE_ROWS, wide = g->k > DEEP ? COLS : part->cols;
    struct tile_block t = { .g = g, .room = room, .c = c, .packed = packed, .done = room->done };
    t.a = tile_operand(g, false, a);
    t.b = tile_operand(g, true, b);
    t.plain = reads_plain(&t.a, g->k);
    tiles_begin();
    for (long i = 0; i < part->rows; i += tall) {
        t.i = part->i + i;
        t.rows = least(tall, part->rows - i);
        for (long j = 0; j < part->cols; j += wide)
            multiply_block(&t, part->j + j, least(wide, part->cols - j));
    }
    finish_rows(&t.finish, STEP);
    tiles_end();
}
