/* SPDX-License-Identifier: Apache-2.0
 * Matrix products cut into items. The cut depends on the shape only, and never along k, so the bits of the result do
 * not depend on the number of threads. */
#include "device/cpu.h"

enum {
    MIN_EDGE = 64, /* smallest edge of an item's block of C: below it the library's packing dominates */
    MAX_ITEMS = 32,
    ITEM_WORK = 6 * 1000000 /* multiply-adds worth an item: some tens of microseconds on one core */
};

struct cut {
    struct oa_device *d;
    const struct oa_gemm *g;
    const void *a, *b;
    void *c;
    long rows, cols, columns; /* block of C of one item; number of blocks along n */
};

/* Halves the longer edge of the block until there are enough items. Wide products (many columns) cut columns first only
 * when they are much longer: B is packed again for each block of rows. */
static void choose_block(const struct oa_gemm *g, long *rows, long *cols)
{
    double work = (double)g->m * (double)g->n * (double)g->k;
    double wanted = work / ITEM_WORK < MAX_ITEMS ? work / ITEM_WORK : MAX_ITEMS;
    *rows = g->m;
    *cols = g->n;
    for (double items = 1; items < wanted; items *= 2) {
        if (*rows >= 2 * MIN_EDGE && 2 * *rows >= *cols)
            *rows = (*rows + 1) / 2;
        else if (*cols >= 2 * MIN_EDGE)
            *cols = (*cols + 1) / 2;
        else
            return;
    }
}

static void block(void *argument, long item, const struct oa_worker *worker)
{
    const struct cut *t = argument;
    struct oa_gemm g = *t->g;
    long i = item / t->columns * t->rows, j = item % t->columns * t->cols;
    g.m = oa_min(t->rows, g.m - i);
    g.n = oa_min(t->cols, g.n - j);
    const void *a = oa_act_at(t->d, t->a, g.ta ? i : i * g.lda);
    const void *b = oa_act_at(t->d, t->b, g.tb ? j * g.ldb : j);
    long c = i * g.ldc + j;
    t->d->kernels.gemm(t->d->gemm[worker->index], &g, a, b,
                       g.real_out ? oa_real_at(t->d, t->c, c) : oa_act_at(t->d, t->c, c));
}

void oa_cpu_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b, void *c)
{
    if (g->m == 0 || g->n == 0)
        return;
    struct cut t = { .d = d, .g = g, .a = a, .b = b, .c = c };
    choose_block(g, &t.rows, &t.cols);
    t.columns = oa_blocks(g->n, t.cols);
    oa_parallel(d->context, oa_blocks(g->m, t.rows) * t.columns, block, &t);
}
