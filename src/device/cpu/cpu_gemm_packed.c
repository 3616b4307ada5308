/* SPDX-License-Identifier: Apache-2.0
 * Matrix products for units that read packed operands: all workers pack B, sometimes A too, then
 * all compute blocks of C. A product of many columns is computed in strips of them, whose B stays
 * in the caches. Weights that decoding reads for each token are packed once before. The bits do not
 * depend on the cuts. */
#include "device/cpu/cpu.h"

#define ITEM_WORK 20e6 /* multiply-adds worth an item */

enum {
    STRIP = 8 << 20,       /* bytes of packed B */
    WIDE_STRIP = 32 << 20, /* where A is packed too, of either */
    NARROWEST = 768,       /* columns of a strip, however many bytes */
    PACK_BYTES = 64 << 10, /* worth an item */
    PACK_DEPTH = 512,      /* of k in such an item, where rows of B are along its columns */
    ROWS = 256,            /* of an item */
    LEAST_ROWS = 128,
    LEAST_COLS = 256,
    LONG_DEPTH = 8192, /* k for which B comes from memory for each block of rows */
    MAX_ITEMS = 16,
    EACH_ITEMS = 3,        /* for each worker, where a block packs its rows of A */
    WORTH = 1 << 20,       /* bytes packed repeatedly without this */
    FEW_ITEMS = 16,        /* at most, of few rows of A, which each may pack again */
    MOST_BYTES = 1 << 20,  /* of B in such an item, however many items */
    LEAST_BYTES = 64 << 10 /* and in each */
};

/* Columns of which at most `bytes` are packed at a time, at least NARROWEST. */
static long strip_cols(const struct oa_gemm *g, long bytes)
{
    return oa_max(NARROWEST, bytes / (2 * oa_max(1, g->k)));
}

/* Whether A is also packed once for all workers. Otherwise workers pack A again for each block
 * where it is transposed and k is long, which costs more than reading packed A from memory only if
 * there are several strips of B. All of B is then one strip. */
static bool packs_left(const struct oa_gemm *g)
{
    return g->ta && g->k > OA_PART_DEPTH && g->n > strip_cols(g, STRIP) &&
           g->m <= strip_cols(g, WIDE_STRIP);
}

/* The first of strips of equal width. */
static struct oa_gemm first_strip(const struct oa_gemm *g)
{
    long cols = strip_cols(g, packs_left(g) ? WIDE_STRIP : STRIP);
    struct oa_gemm s = *g;
    s.n = oa_min(g->n, oa_round_up(oa_blocks(g->n, oa_blocks(g->n, cols)), OA_PANEL));
    return s;
}

static size_t packed_left_bytes(const struct oa_device *d, const struct oa_gemm *g)
{
    struct oa_gemm as_right = { .n = g->m, .k = g->k };
    return packs_left(g) ? d->cpu->kernels.gemm_packed_bytes(&as_right) : 0;
}

size_t oa_packed_bytes(const struct oa_device *d, const struct oa_gemm *g)
{
    if (!d->cpu->kernels.gemm_part ||
        (double)oa_blocks(g->m, ROWS) * (double)g->n * (double)g->k * 2 < WORTH || g->m <= ROWS)
        return 0;
    struct oa_gemm s = first_strip(g);
    return d->cpu->kernels.gemm_packed_bytes(&s) + packed_left_bytes(d, g);
}

struct packed_product {
    struct oa_device *d;
    const struct oa_gemm *g;
    const void *a, *b;
    void *c, *packed;
    long rows, cols, across; /* of a block of one item; blocks from left to right */
    unsigned long product;   /* number of the product: packed A is reused by the next item */
};

static struct oa_gemm_part packed_part(const struct packed_product *t, long item, long rows,
                                       long cols)
{
    long i = item / t->across * t->rows, j = item % t->across * t->cols;
    return (struct oa_gemm_part){ i, oa_min(t->rows, rows - i), j, oa_min(t->cols, cols - j),
                                  t->product };
}

static void pack_strip_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct packed_product *t = argument;
    (void)worker;
    struct oa_gemm_part part = packed_part(t, item, t->g->k, t->g->n);
    t->d->cpu->kernels.gemm_pack(t->g, &part, t->b, t->packed);
}

static void multiply_strip_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct packed_product *t = argument;
    struct oa_gemm_part part = packed_part(t, item, t->g->m, t->g->n);
    t->d->cpu->kernels.gemm_part(t->d->cpu->gemm[worker->index], t->g, &part, t->a, t->b, t->packed,
                                 t->c);
}

static void pack_left_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct packed_product *t = argument;
    (void)worker;
    struct oa_gemm_part part = packed_part(t, item, t->g->m, t->g->k);
    t->d->cpu->kernels.gemm_pack_left(t->g, &part, t->a, t->packed);
}

static void pack_left(struct oa_device *d, const struct oa_gemm *g, const void *a, void *packed)
{
    struct packed_product t = { .d = d, .g = g, .a = a, .packed = packed, .cols = PACK_DEPTH };
    t.rows = PACK_BYTES / (2 * PACK_DEPTH);
    t.across = oa_blocks(g->k, t.cols);
    oa_parallel(d->context, t.across * oa_blocks(g->m, t.rows), pack_left_item, &t);
}

static void pack_strip(struct packed_product *t)
{
    const struct oa_gemm *g = t->g;
    t->rows = g->tb ? oa_round_up(g->k, OA_PANEL) : PACK_DEPTH;
    t->cols = oa_round_up(oa_max(1, PACK_BYTES / (2 * t->rows)), OA_PANEL);
    t->across = oa_blocks(g->n, t->cols);
    oa_parallel(t->d->context, t->across * oa_blocks(g->k, t->rows), pack_strip_item, t);
}

static long blocks_of(const struct packed_product *t)
{
    return oa_blocks(t->g->m, t->rows) * oa_blocks(t->g->n, t->cols);
}

static bool halve_cols(struct packed_product *t)
{
    bool wide = t->cols >= 2 * LEAST_COLS;
    if (wide)
        t->cols = oa_round_up(t->cols / 2, OA_PANEL);
    return wide;
}

/* False where k is long. */
static bool halve_rows(struct packed_product *t)
{
    bool tall = t->rows > (t->g->k > LONG_DEPTH ? ROWS : LEAST_ROWS);
    if (tall)
        t->rows = oa_round_up(t->rows / 2, OA_PANEL);
    return tall;
}

/* Tall blocks, since a panel of B is read once for all rows of a block; they become narrower until
 * there are enough blocks, and then lower. Where each block packs its rows of a transposed A, they
 * become lower first, and only as many as the workers need. */
static void multiply_packed_strip(struct packed_product *t)
{
    const struct oa_gemm *g = t->g;
    bool packs = g->ta && !g->packed_a;
    long most = packs ? EACH_ITEMS * oa_thread_count(t->d->context) : MAX_ITEMS;
    double wanted = (double)g->m * (double)g->n * (double)g->k / ITEM_WORK;
    t->rows = oa_min(ROWS, oa_round_up(g->m, OA_PANEL));
    t->cols = oa_round_up(g->n, OA_PANEL);
    while (blocks_of(t) < (wanted < most ? wanted : most) &&
           (packs ? halve_rows(t) || halve_cols(t) : halve_cols(t) || halve_rows(t)))
        continue;
    t->across = oa_blocks(g->n, t->cols);
    oa_parallel(t->d->context, t->across * oa_blocks(g->m, t->rows), multiply_strip_item, t);
}

/* The product, strip by strip. b is packed for each strip; NULL: all of B is in `packed`. */
static void multiply_strips(struct oa_device *d, const struct oa_gemm *g, const void *a,
                            const void *b, char *packed, void *c)
{
    struct oa_gemm s = first_strip(g);
    struct packed_product t = { .d = d, .g = &s, .a = a, .packed = packed };
    long cols = s.n;
    for (long j = 0; j < g->n; j += cols) {
        s.n = oa_min(cols, g->n - j);
        t.c = g->real_out ? oa_real_at(d, c, j) : oa_act_at(d, c, j);
        if (b) {
            t.b = oa_act_at(d, b, g->tb ? j * g->ldb : j);
            pack_strip(&t);
        } else
            t.packed =
                packed + d->cpu->kernels.gemm_packed_bytes(&(struct oa_gemm){ .n = j, .k = g->k });
        multiply_packed_strip(&t);
    }
}

void oa_packed_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b,
                    void *c)
{
    size_t mark = oa_arena_mark(&d->scratch);
    struct oa_gemm whole = *g;
    size_t left = packed_left_bytes(d, g);
    char *room = oa_arena_take(&d->scratch, oa_packed_bytes(d, g));
    if (room && left > 0) {
        pack_left(d, g, a, room);
        a = room;
        whole.packed_a = true;
    }
    if (room)
        multiply_strips(d, &whole, a, b, room + left, c);
    oa_arena_release(&d->scratch, mark);
}

/* ---- weights that stay packed ---- */

size_t oa_cpu_weights_bytes(struct oa_device *d, const struct oa_gemm *g)
{
    return d->cpu->kernels.gemm_part ? d->cpu->kernels.gemm_packed_bytes(g) : 0;
}

void oa_cpu_pack_weights(struct oa_device *d, const struct oa_gemm *g, const void *b, void *packed)
{
    pack_strip(&(struct packed_product){ .d = d, .g = g, .b = b, .packed = packed });
}

/* B is read once, by all workers, each a contiguous part. */
static void multiply_short(struct packed_product *t)
{
    const struct oa_gemm *g = t->g;
    long column = 2 * oa_max(1, g->k),
         least = oa_max(1, LEAST_BYTES / column / OA_PANEL) * OA_PANEL;
    long cols = oa_round_up(oa_blocks(g->n, FEW_ITEMS), OA_PANEL);
    t->rows = OA_PANEL;
    t->cols = oa_max(least, oa_min(cols, MOST_BYTES / column / OA_PANEL * OA_PANEL));
    t->across = oa_blocks(g->n, t->cols);
    t->product = ++t->d->cpu->products;
    oa_parallel(t->d->context, t->across, multiply_strip_item, t);
}

void oa_weights_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a,
                     const void *packed, void *c)
{
    if (g->m <= OA_PANEL)
        multiply_short(
            &(struct packed_product){ .d = d, .g = g, .a = a, .packed = (void *)packed, .c = c });
    else
        multiply_strips(d, g, a, NULL, (char *)packed, c);
}
