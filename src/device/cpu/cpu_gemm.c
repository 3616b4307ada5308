/* SPDX-License-Identifier: Apache-2.0
 * Matrix products cut into items. The cut depends on the shape only, and never along k, so the bits
 * of the result do not depend on the number of threads. */
#include "device/cpu/cpu.h"

#define ITEM_WORK 10e6 /* multiply-adds worth an item: a hundred microseconds of one core's f32 */
#define PAIR_WORK 2e6  /* enough to keep a second core busy */
#define PART_WORK 4e6  /* worth a part of a product on tiles, several microseconds */

enum {
    MAX_ITEMS = 32,
    MORE_PARTS = 8,
    WIDE = 512,
    LEAST_ROWS = 64,
    BLOCK_OF_B = 65536 /* elements */
};

struct gemm_cut {
    struct oa_device *d;
    const struct oa_gemm *g;
    const void *a, *b;
    void *c;
    long rows, cols, columns; /* block of C of one item; number of blocks along n */
    unsigned long product;    /* number of the product, where items are parts of it: workers reuse
                                 packed operands */
};

static double wanted_gemm_items(const struct oa_gemm *g, bool parts)
{
    double work = (double)g->m * (double)g->n * (double)g->k, items = work / ITEM_WORK;
    if (items > MAX_ITEMS)
        return MAX_ITEMS;
    if (parts && items < MORE_PARTS)
        items = work / PART_WORK < MORE_PARTS ? work / PART_WORK : MORE_PARTS;
    return items < 2 && work > PAIR_WORK ? 2 : items;
}

/* Halves the block until there are about as many items as wanted. Whole rows are fastest in oneDNN
 * (measured: 64 columns of 128 run at half the speed of all 128), so columns are cut only where
 * they are many times the rows. */
static void choose_block(double wanted, long *rows, long *cols)
{
    for (double items = 1; items < wanted; items *= 2) {
        if (*rows >= LEAST_ROWS && 4 * *rows > *cols)
            *rows = (*rows + 1) / 2;
        else if (*cols >= WIDE)
            *cols = (*cols + 1) / 2;
        else
            return;
    }
}

/* Each worker packs both operands. Where it reuses packed operands, one side is packed once if only
 * the other, longer one is cut; otherwise square blocks need the least packing. */
static void choose_strip(double wanted, bool kept, long *rows, long *cols)
{
    bool tall = *rows >= *cols;
    for (double items = 1; items < wanted; items *= 2, tall = kept ? tall : *rows >= *cols) {
        long *side = tall ? rows : cols;
        if (*side < LEAST_ROWS)
            return;
        *side = (*side + 1) / 2;
    }
}

static void gemm_block_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct gemm_cut *t = argument;
    struct oa_gemm g = *t->g;
    long i = item / t->columns * t->rows, j = item % t->columns * t->cols;
    g.m = oa_min(t->rows, g.m - i);
    g.n = oa_min(t->cols, g.n - j);
    const void *a = oa_act_at(t->d, t->a, g.ta ? i : i * g.lda);
    const void *b = oa_act_at(t->d, t->b, g.tb ? j * g.ldb : j);
    long c = i * g.ldc + j;
    t->d->cpu->kernels.gemm(t->d->cpu->gemm[worker->index], &g, a, b,
                            g.real_out ? oa_real_at(t->d, t->c, c) : oa_act_at(t->d, t->c, c));
}

static void gemm_part_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct gemm_cut *t = argument;
    long i = item / t->columns * t->rows, j = item % t->columns * t->cols;
    struct oa_gemm_part p = { i, oa_min(t->rows, t->g->m - i), j, oa_min(t->cols, t->g->n - j),
                              t->product };
    t->d->cpu->kernels.gemm_part(t->d->cpu->gemm[worker->index], t->g, &p, t->a, t->b, NULL, t->c);
}

/* All rows over a block of columns, whose part of B stays in the L2 cache. A single row reads B
 * from memory, which several workers do sooner. */
static void gemm_columns_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct gemm_cut *t = argument;
    struct oa_gemm g = *t->g;
    long j = item * t->cols;
    g.n = oa_min(t->cols, g.n - j);
    t->d->cpu->kernels.gemm(t->d->cpu->gemm[worker->index], &g, t->a,
                            oa_act_at(t->d, t->b, g.tb ? j * g.ldb : j),
                            g.real_out ? oa_real_at(t->d, t->c, j) : oa_act_at(t->d, t->c, j));
}

/* A group of invariant rows, all columns: a product of its own. */
static void gemm_group_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct gemm_cut *t = argument;
    struct oa_gemm g = *t->g;
    long i = item * g.invariant_rows, c = i * g.ldc;
    g.m = oa_min(g.invariant_rows, g.m - i);
    g.invariant_rows = 0;
    t->d->cpu->kernels.gemm(t->d->cpu->gemm[worker->index], &g,
                            oa_act_at(t->d, t->a, g.ta ? i : i * g.lda), t->b,
                            g.real_out ? oa_real_at(t->d, t->c, c) : oa_act_at(t->d, t->c, c));
}

void oa_cpu_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b,
                 void *c)
{
    if (g->m == 0 || g->n == 0)
        return;
    if (g->packed) {
        oa_weights_gemm(d, g, a, b, c);
        return;
    }
    if (g->invariant_rows > 1) {
        struct gemm_cut pieces = { .d = d, .g = g, .a = a, .b = b, .c = c };
        oa_parallel(d->context, oa_blocks(g->m, g->invariant_rows), gemm_group_item, &pieces);
        return;
    }
    if ((g->invariant_rows && g->m > 1) || (g->m == 1 && g->tb)) {
        struct gemm_cut rows = {
            .d = d, .g = g, .a = a, .b = b, .c = c, .cols = oa_max(16, BLOCK_OF_B / g->k / 16 * 16)
        };
        oa_parallel(d->context, oa_blocks(g->n, rows.cols), gemm_columns_item, &rows);
        return;
    }
    if (oa_packed_bytes(d, g)) {
        oa_packed_gemm(d, g, a, b, c);
        return;
    }
    struct gemm_cut t = { .d = d, .g = g, .a = a, .b = b, .c = c };
    bool parts = d->cpu->kernels.gemm_part && g->m >= OA_PANEL && g->k > 0;
    double wanted = wanted_gemm_items(g, parts) / 1.4;
    t.rows = g->m;
    t.cols = g->n;
    if (parts && g->ta)
        choose_strip(wanted, g->k <= OA_PART_DEPTH, &t.rows, &t.cols);
    else
        choose_block(wanted, &t.rows, &t.cols);
    if (parts) {
        t.product = ++d->cpu->products;
        t.rows = oa_round_up(t.rows, OA_PANEL);
        t.cols = oa_round_up(t.cols, OA_PANEL);
    }
    t.columns = oa_blocks(g->n, t.cols);
    oa_parallel(d->context, oa_blocks(g->m, t.rows) * t.columns,
                parts ? gemm_part_item : gemm_block_item, &t);
}
