/* SPDX-License-Identifier: Apache-2.0
 * Matrix products in bf16 by tiles of 16 rows of 64 bytes, as in AMX, on packed operands.
 *
 *     tile    of A: 16 rows of 32 numbers along k. Of B: 16 pairs of rows along k, 16 columns wide,
 *             the two numbers of a pair next to each other
 *     panel   32 rows of A or 32 columns of B: two tiles for each step of 32 along k
 *     block   rows × columns of C whose operands stay in the caches
 *
 * The innermost loop keeps 32 × 32 sums in four tiles; a step loads two tiles of A and two of B for
 * four products. Rows, columns and k are padded with zeros.
 *
 * Either all of B is packed once for all workers: a block is then rows whose part of A stays in the
 * L2 cache, and each panel of B is multiplied by all of them. Or a worker packs a block of B, which
 * stays in its L2 cache, and goes through groups of rows of A, which stay in L1. A is read in place
 * if its rows are aligned to cache lines, and packed otherwise. Products run over all of k, up to
 * DEEP or SLAB at a time.
 *
 * One step adds (Σ of the 16 even products) + (Σ of the 16 odd ones) to an element of C, and steps
 * are in the order of k: the bits of an element depend on its row of A and its column of B only.
 *
 * Included after tile_finish.h and the operations on tiles, those of the processor (tile_amx.h) or
 * plain C (tests/plain_tiles.c), which have the same bits: TILES, tiles_begin, tiles_end,
 * tile_zero, tile_load, tile_store, tile_multiply, fetch; pack_along, pack_across; finish_rows,
 * finish_ordered; TILE_INLINE. */
#include "kernels/kernels.h"

#include <limits.h>
#include <string.h>

enum {
    ROWS = 256,           /* of a block */
    MORE_ROWS = 512,      /* of a block with k up to SHALLOW */
    SHALLOW = 768,        /* MORE_ROWS · SHALLOW = ROWS · DEEP */
    DEEP = OA_PART_DEPTH, /* most of k at a time */
    SLAB = 256,           /* of k at a time where it is longer and A is packed by all too */
    SHORT = 128,          /* k whose sums go straight to C */
    COLS = 768,           /* of a block with more k than DEEP, whose sums are stored in between */
    GROUP = 16 << 10, /* bytes of the rows of A that stay in L1 with a panel of B, sums and lines of
                         C */
    ASK = 8192,       /* prefetch distance in bytes for a packed B with few rows of A */
    PAST = 1 << 20    /* numbers in a C that is stored past the caches: more than L2 */
};

/* ---- scratch of one worker: every number is written before it is read ---- */

/* The block that is packed: product, first row or column, number of these. */
struct tile_packed {
    unsigned long product;
    long first, count;
};

struct tile_room {
    bool prefetches_early; /* oa_cpu has it */
    char *a, *b;           /* packed: a block of A [ROWS, DEEP], one of B */
    struct tile_packed holds_a, holds_b;
    float *sums; /* of a block [ROWS, COLS], pair by pair */
    float *done; /* of two pairs of panels [2, 32, 32] */
};

static const size_t a_bytes = (size_t)ROWS * DEEP * 2, b_bytes = (size_t)512 << 10;
static const size_t tile_room_bytes = (size_t)ROWS * DEEP * 2 + ((size_t)512 << 10) +
                                      (size_t)(ROWS * COLS + 2 * SUMS) * sizeof(float);

static struct tile_room tile_room(void *memory)
{
    struct tile_room r = { .a = memory };
    r.b = r.a + a_bytes;
    r.sums = (float *)(r.b + b_bytes);
    r.done = r.sums + ROWS * COLS;
    return r;
}

static long steps_of(long n)
{
    return (n + STEP - 1) / STEP;
}

/* ---- packing ---- */

/* Element (i, p) of an operand, i along rows of A or columns of B, p along k, is x[i·across +
 * p·along]; one is 1. */
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
static void pack_step(const struct tile_operand *o, long width, long depth, const uint16_t *x,
                      char *out)
{
    if (o->along == 1)
        pack_along(width, depth, x, o->across, o->right, out);
    else
        pack_across(width, depth, x, o->along, !o->right, out);
}

/* Packs panels of `width` rows or columns from i on, over `depth` of k from p on; `panel`: bytes
 * from one to the next. Reads the operand in memory order. */
static void pack_panels(const struct tile_operand *o, long i, long width, long p, long depth,
                        char *out, size_t panel)
{
    const uint16_t *x = o->x + i * o->across + p * o->along;
    long panels = steps_of(width), steps = steps_of(depth), inner = o->along == 1 ? steps : panels;
    for (long n = 0; n < panels * steps; n++) {
        long at = o->along == 1 ? n / inner : n % inner, q = o->along == 1 ? n % inner : n / inner;
        pack_step(o, width - at * STEP, depth - q * STEP,
                  x + (at * o->across + q * o->along) * STEP,
                  out + (size_t)at * panel + (size_t)q * STEP_BYTES);
    }
}

static size_t gemm_packed_bytes(const struct oa_gemm *g)
{
    return (size_t)steps_of(g->n) * (size_t)steps_of(g->k) * STEP_BYTES;
}

static void gemm_pack(const struct oa_gemm *g, const struct oa_gemm_part *part, const void *b,
                      void *packed)
{
    struct tile_operand right = tile_operand(g, true, b);
    size_t panel = (size_t)steps_of(g->k) * STEP_BYTES;
    char *out =
        (char *)packed + (size_t)(part->j / STEP) * panel + (size_t)(part->i / STEP) * STEP_BYTES;
    pack_panels(&right, part->j, part->cols, part->i, part->rows, out, panel);
}

static void gemm_pack_left(const struct oa_gemm *g, const struct oa_gemm_part *part, const void *a,
                           void *packed)
{
    struct tile_operand left = tile_operand(g, false, a);
    size_t panel = (size_t)steps_of(g->k) * STEP_BYTES;
    char *out =
        (char *)packed + (size_t)(part->i / STEP) * panel + (size_t)(part->j / STEP) * STEP_BYTES;
    pack_panels(&left, part->i, part->rows, part->j, part->cols, out, panel);
}

/* ---- multiplying ---- */

/* A block of C and the current part of k. */
struct tile_block {
    const struct oa_gemm *g;
    struct tile_room *room;
    unsigned long product;
    void *c;
    struct tile_operand a, b;
    const char *packed;    /* all of B, or NULL */
    bool plain;            /* A is read in place, except last rows that are no whole panel */
    long i, rows, j, cols; /* of C */
    long p, depth;         /* of k */
    long group;            /* rows that are multiplied by a panel of B before the next one */
    long come;             /* the next row of A to prefetch */
    struct tile_pair pair; /* fields that are the same for all pairs are set once */
    struct tile_finish finish;
    bool second; /* of the two buffers for finished sums is free */
};

static bool reads_plain(const struct tile_operand *a, long k)
{
    return a->along == 1 && k % STEP == 0 && (uintptr_t)a->x % 64 == 0 && a->across % 32 == 0;
}

static const char *plain_row(const struct tile_block *t, long i)
{
    return (const char *)(t->a.x + (t->i + i) * t->a.across + t->p);
}

/* Leading rows of the block that are read in place. */
static long plain_rows(const struct tile_block *t)
{
    return !t->plain ? 0 : READS_WHOLE_TILES ? t->rows / STEP * STEP : t->rows;
}

/* The panel of a packed A at row i of the block, from k = p on. */
static const char *panel_of_a(const struct tile_block *t, long i, long p)
{
    if (t->g->packed_a)
        return (const char *)t->a.x +
               (size_t)((t->i + i) / STEP * steps_of(t->g->k) + p / STEP) * STEP_BYTES;
    return t->room->a + (t->plain ? 0 : i / STEP) * steps_of(t->depth) * STEP_BYTES;
}

/* Rows from i on of the block. */
static void set_rows(struct tile_block *t, long i)
{
    struct tile_rows *a = &t->pair.a;
    bool plain = i < plain_rows(t);
    t->pair.rows = least(t->rows - i, STEP);
    a->at = plain ? plain_row(t, i) : panel_of_a(t, i, t->p);
    a->row = plain ? 2 * t->a.across : 64;
    a->step = plain ? 2 * STEP : STEP_BYTES;
}

/* Steps of a panel of the packed matrix that B is a part of. */
static long packed_steps(const struct oa_gemm *g)
{
    return steps_of(g->packed_k ? g->packed_k : g->k);
}

static const char *panel_of_b(const struct tile_block *t, long j)
{
    if (t->packed)
        return t->packed +
               (size_t)((t->j + j) / STEP * packed_steps(t->g) + t->p / STEP) * STEP_BYTES;
    return t->room->b + (size_t)(j / STEP * steps_of(t->depth)) * STEP_BYTES;
}

/* The part of k processed at a time: all of it where rows are few (one panel of A has room for it),
 * so that B is read in memory order; a slab where both operands are packed and k is longer. Each
 * further slab loads the sums of a block into tiles and stores them again, which does not change
 * their bits. Sums of vectors start from zero in each slab. */
static long slab_depth(const struct tile_block *t)
{
    if (!READS_WHOLE_TILES)
        return DEEP;
    if (t->pair.few)
        return ROWS / STEP * DEEP;
    return t->g->packed_a && t->g->k > DEEP ? SLAB : DEEP;
}

/* Whether the block is packed already; marks it as packed. False where k is longer than a block. */
static bool holds(const struct tile_block *t, struct tile_packed *block, long first, long count)
{
    bool same = t->g->k <= slab_depth(t) && block->product == t->product && block->first == first &&
                block->count == count;
    *block = (struct tile_packed){ t->product, first, count };
    return same;
}

static void pack_left(const struct tile_block *t)
{
    if (t->g->packed_a || holds(t, &t->room->holds_a, t->i, t->rows))
        return;
    long from = plain_rows(t);
    pack_panels(&t->a, t->i + from, t->rows - from, t->p, t->depth, t->room->a,
                (size_t)steps_of(t->depth) * STEP_BYTES);
}

static void pack_right(const struct tile_block *t)
{
    if (holds(t, &t->room->holds_b, t->j, t->cols))
        return;
    pack_panels(&t->b, t->j, t->cols, t->p, t->depth, t->room->b,
                (size_t)steps_of(t->depth) * STEP_BYTES);
}

/* Prefetches a part of the next slab of k of A: as many lines a step as are needed to have all of
 * it when the last panel of B has been multiplied. */
static void fetch_slab(struct tile_block *t, long i, long j)
{
    struct tile_pair *x = &t->pair;
    long panels = steps_of(t->cols), each = (STEP + panels - 1) / panels, first = j / STEP * each;
    x->fetched = first < STEP ? each : 0;
    if (t->plain) {
        x->below = plain_row(t, i + first) + 2 * t->depth;
    } else {
        x->below_row = x->steps * 64;
        x->below = panel_of_a(t, i, t->p + t->depth) + first * x->below_row;
    }
}

/* Not with vectors, which rely on the hardware prefetcher, nor with the first panel of B, which
 * prefetches the rows below. */
static bool fetches_slab(const struct tile_block *t, long j)
{
    return READS_WHOLE_TILES && t->packed && (t->plain || t->g->packed_a) && (t->p > 0 || j > 0) &&
           t->p + t->depth < t->g->k;
}

/* What multiply_pair prefetches: rows of A of the next group, some with each pair of this group,
 * where they are read in place. With a B that is packed for all workers: the rows below with the
 * first panel, and a part of the next panel of B with each pair. Of a long k, the next slab. */
static void fetch_with(struct tile_block *t, long i, long j)
{
    struct tile_pair *x = &t->pair;
    x->below_row = x->a.row;
    if (t->packed) {
        t->come = i + STEP;
        x->fetched = j == 0 ? STEP : 0;
        x->right = x->b + x->next_panel + i / STEP * x->steps * x->lines * 64;
    }
    if (fetches_slab(t, j)) {
        fetch_slab(t, i, j);
        return;
    }
    if (!t->plain || t->come + x->fetched > t->rows)
        x->fetched = 0;
    x->below = x->fetched ? plain_row(t, t->come) : x->a.at;
    t->come += x->fetched;
}

/* Schedules the sums in `done` for C at row i and column j of the block. Assigned field by field: a
 * struct copy loads wider than the fields were stored and stalls on store forwarding until the
 * stores before it, those of the tiles, are in L1. */
static void begin_finish(struct tile_block *t, long i, long j, const float *done)
{
    const struct oa_gemm *g = t->g;
    struct tile_finish *f = &t->finish;
    long size = g->real_out ? sizeof(float) : sizeof(uint16_t);
    f->sums = done;
    f->rows = t->pair.rows;
    f->cols = least(t->cols - j, STEP);
    f->c = (char *)t->c + ((t->i + i) * g->ldc + t->j + j) * size;
}

/* Address in C of the pair after that at row i and column j: below it in the group, to its right,
 * or in the next group. */
static const char *place_after(const struct tile_block *t, long first, long end, long i, long j)
{
    const struct oa_gemm *g = t->g;
    bool below = i + STEP < end, right = j + STEP < t->cols;
    long row = t->i + (below   ? i + STEP
                       : right ? first
                               : end),
         col = t->j + (below   ? j
                       : right ? j + STEP
                               : 0);
    return (const char *)t->c +
           (row * g->ldc + col) * (g->real_out ? (long)sizeof(float) : (long)sizeof(uint16_t));
}

/* Whether the tiles store the sums at row i and column j of the block directly in C: reals that
 * overwrite it, where k is too short for the copy from `done` to C to overlap with products. */
static bool stores_in_c(const struct tile_block *t, long i, long j)
{
    const struct oa_gemm *g = t->g;
    return g->real_out && !g->accumulate && g->k <= SHORT && t->rows - i >= STEP &&
           t->cols - j >= STEP;
}

/* The pair of panels at row i and column j of the block. */
static void multiply_at(struct tile_block *t, long i, long j)
{
    struct tile_pair *x = &t->pair;
    bool last = t->p + t->depth >= t->g->k;
    float *sums = t->room->sums + (j / STEP * (ROWS / STEP) + i / STEP) * SUMS;
    float *done = t->room->done + (t->second ? SUMS : 0);
    bool stored = stores_in_c(t, i, j);
    set_rows(t, i);
    x->b = panel_of_b(t, j);
    x->from = t->p ? sums : NULL;
    x->to = stored ? (float *)t->c + (t->i + i) * t->g->ldc + t->j + j : last ? done : sums;
    x->next = stored ? t->g->ldc * (long)sizeof(float) : SUMS_ROW;
    fetch_with(t, i, j);
    if (FINISHES_AT_ONCE && last && !stored)
        begin_finish(t, i, j, done);
    multiply_pair(x, &t->finish);
    t->finish.rows = 0;
    if (!FINISHES_AT_ONCE && last && !stored)
        begin_finish(t, i, j, done);
    t->second = !t->second;
}

static void multiply_group(struct tile_block *t, long first)
{
    long end = least(t->rows, first + t->group), pairs = steps_of(end - first) * steps_of(t->cols);
    t->come = end;
    t->pair.fetched = (t->group + pairs - 1) / pairs;
    for (long j = 0; j < t->cols; j += STEP)
        for (long i = first; i < end; i += STEP) {
            if (FINISHES_AT_ONCE)
                t->finish.ahead = place_after(t, first, end, i, j);
            multiply_at(t, i, j);
        }
}

static void multiply_block(struct tile_block *t)
{
    long deep = slab_depth(t);
    for (t->p = 0; t->p == 0 || t->p < t->g->k; t->p += deep) {
        t->depth = least(deep, t->g->k - t->p);
        pack_left(t);
        if (!t->packed)
            pack_right(t);
        t->pair.steps = steps_of(t->depth);
        t->pair.share = STEP / (t->pair.steps + !t->pair.steps) + 1;
        t->pair.lines = t->packed ? STEP_BYTES / 64 / steps_of(t->rows) : 0;
        for (long i = 0; i < t->rows; i += t->group)
            multiply_group(t, i);
    }
}

/* Rows of A that stay in L1. */
static long group_rows(long depth)
{
    long rows = GROUP / (2 * depth + !depth) / STEP * STEP;
    return rows ? rows : STEP;
}

static long block_rows(const struct tile_block *t)
{
    if (t->g->k > DEEP)
        return ROWS;
    if (t->plain && !t->packed)
        return LONG_MAX;
    return t->g->k > SHALLOW ? ROWS : MORE_ROWS;
}

static long block_cols(const struct tile_block *t)
{
    long deep = slab_depth(t), depth = least(t->g->k, deep),
         most = t->g->k > deep ? COLS : LONG_MAX;
    if (t->pair.few && !READS_WHOLE_TILES && t->g->k > deep)
        return STEP; /* the slices of a panel are contiguous */
    long cols = (long)(b_bytes / STEP_BYTES) / (steps_of(depth) + !depth) * STEP;
    return t->packed ? most : least(most, cols);
}

/* Without a number, packed blocks are reused within this part only. */
static unsigned long product_of(struct tile_room *room, const struct oa_gemm_part *part)
{
    if (part->product == 0)
        room->holds_a.product = room->holds_b.product = ULONG_MAX;
    return part->product;
}

/* Whether stores to C bypass the caches: C is overwritten, is too large to stay in L2 until it is
 * read, and its panels are whole lines. Sums of vectors are stored in C from registers in any case.
 * */
static bool stores_past(const struct oa_gemm *g, const void *c)
{
    return READS_WHOLE_TILES && !g->accumulate && (double)g->m * (double)g->n >= PAST &&
           g->ldc % STEP == 0 && (uintptr_t)c % 64 == 0;
}

static void multiply_part(struct tile_room *room, const struct oa_gemm *g,
                          const struct oa_gemm_part *part, const void *a, const void *b,
                          const void *packed, void *c)
{
    struct tile_block t = {
        .g = g, .room = room, .c = c, .packed = packed, .product = product_of(room, part)
    };
    t.a = tile_operand(g, false, a);
    t.b = tile_operand(g, true, b);
    t.plain = !g->packed_a && reads_plain(&t.a, g->k);
    t.pair.few = packed && part->rows <= STEP;
    t.pair.ask = room->prefetches_early ? 0 : ASK;
    t.pair.next_panel = packed_steps(g) * STEP_BYTES;
    t.finish.real = g->real_out;
    t.finish.add = g->accumulate;
    t.finish.past = stores_past(g, c);
    t.finish.next = (size_t)g->ldc * (g->real_out ? sizeof(float) : sizeof(uint16_t));
    long tall = block_rows(&t), wide = block_cols(&t);
    tiles_begin();
    for (t.i = part->i; t.i < part->i + part->rows; t.i += t.rows) {
        t.rows = least(tall, part->i + part->rows - t.i);
        t.group = packed ? t.rows : group_rows(least(g->k, DEEP));
        for (t.j = part->j; t.j < part->j + part->cols; t.j += t.cols) {
            t.cols = least(wide, part->j + part->cols - t.j);
            multiply_block(&t);
        }
    }
    long done = 0;
    finish_until(&t.finish, &done, STEP);
    if (t.finish.past)
        finish_ordered();
    tiles_end();
}
