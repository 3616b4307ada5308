/* SPDX-License-Identifier: Apache-2.0
 * Residual addition, dropout and norm in one pass over a block of rows that stays in the cache:
 *
 *     sum = x + scale·dropout(branch)       y = norm(sum)
 *
 * Backward: dtotal = dnorm(dy) + dsum (what reached `sum` from the later residual branch); dx =
 * dtotal; dbranch = scale·dropout(dtotal). The gradients of gain and bias are summed block by block
 * and then in block order. */
#include "device/cpu/cpu.h"

#include <string.h>

enum {
    PART = 2048, /* elements that stay in the L1 cache through all steps */
    TOGETHER = 4 /* rows: as many as kernels take at a time, or a multiple */
};

struct residual_norm_call {
    struct oa_device *d;
    const struct oa_residual_norm *a;
    long block;    /* rows of an item */
    long part;     /* rows of it that are processed together */
    void *partial; /* real [blocks][2][cols]: gradients of gain and bias of each block of rows */
};

static struct residual_norm_call residual_norm_call_of(struct oa_device *d,
                                                       const struct oa_residual_norm *a)
{
    long part = oa_round_up(oa_max(1, PART / oa_max(1, a->cols)), TOGETHER),
         block = oa_item_rows(a->cols);
    return (
        struct residual_norm_call){ .d = d, .a = a, .block = block, .part = oa_min(part, block) };
}

/* y row = dropout(x row) over rows first … first+rows−1; every row starts at its own block of the
 * generator. */
static void dropout_norm_rows(const struct residual_norm_call *n, long first, long rows,
                              const void *x, void *y)
{
    const struct oa_residual_norm *a = n->a;
    for (long i = 0; i < rows; i++)
        n->d->cpu->kernels.dropout(
            a->cols, a->dropout.stream, (uint64_t)(first + i) * oa_dropout_stride(a->cols),
            a->dropout.keep, oa_act_at(n->d, x, i * a->cols), oa_act_at(n->d, y, i * a->cols));
}

/* `dropped`: room for the rows after dropout, or NULL without it. */
static void residual_norm_rows(const struct residual_norm_call *n, long first, long rows,
                               void *dropped)
{
    const struct oa_residual_norm *a = n->a;
    struct oa_device *d = n->d;
    long at = first * a->cols;
    const void *sum = oa_act_at(d, a->x, at);
    if (a->branch) {
        const void *branch = oa_act_at(d, a->branch, at);
        if (dropped) {
            dropout_norm_rows(n, first, rows, branch, dropped);
            branch = dropped;
        }
        void *total = oa_act_at(d, a->sum, at);
        if (a->scale == 1)
            d->cpu->kernels.add(rows * a->cols, sum, branch, total);
        else
            d->cpu->kernels.add_scaled(rows * a->cols, a->scale, sum, branch, total);
        sum = total;
    }
    if (a->y)
        d->cpu->kernels.norm(rows, a->cols, sum, a->gain, a->bias, a->epsilon,
                             oa_act_at(d, a->y, at), oa_real_at(d, a->mean, first),
                             oa_real_at(d, a->rstd, first));
}

static void residual_norm_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct residual_norm_call *n = argument;
    const struct oa_residual_norm *a = n->a;
    long end = oa_min((item + 1) * n->block, a->rows);
    bool drops = a->branch && a->dropout.keep < 1;
    size_t bytes = (size_t)(n->part * a->cols) * n->d->numbers.act_size;
    void *dropped = drops ? oa_arena_take(worker->scratch, bytes) : NULL;
    if (drops && !dropped)
        return;
    for (long i = item * n->block; i < end; i += n->part)
        residual_norm_rows(n, i, oa_min(n->part, end - i), dropped);
}

void oa_cpu_residual_norm(struct oa_device *d, const struct oa_residual_norm *a)
{
    struct residual_norm_call n = residual_norm_call_of(d, a);
    oa_parallel(d->context, oa_blocks(a->rows, n.block), residual_norm_item, &n);
}

/* The gradients of gain and bias are added to those of an item. */
static void residual_norm_gradient_rows(const struct residual_norm_call *n, long first, long rows,
                                        void *dgain, void *dbias)
{
    const struct oa_residual_norm *a = n->a;
    struct oa_device *d = n->d;
    long at = first * a->cols;
    size_t bytes = (size_t)(rows * a->cols) * d->numbers.act_size;
    void *dx = oa_act_at(d, a->dx, at), *dbranch = oa_act_at(d, a->dbranch, at);
    if (a->y) {
        d->cpu->kernels.norm_gradient(rows, a->cols, oa_act_at(d, a->branch ? a->sum : a->x, at),
                                      a->gain, oa_real_at(d, a->mean, first),
                                      oa_real_at(d, a->rstd, first), oa_act_at(d, a->dy, at), dx,
                                      dgain, dbias);
        if (a->dsum)
            d->cpu->kernels.add(rows * a->cols, dx, oa_act_at(d, a->dsum, at), dx);
    } else {
        memcpy(dx, oa_act_at(d, a->dsum, at), bytes);
    }
    if (!a->dbranch)
        return;
    if (a->dropout.keep < 1)
        dropout_norm_rows(n, first, rows, dx, dbranch);
    else
        memcpy(dbranch, dx, bytes);
    if (a->scale != 1)
        d->cpu->kernels.add_scaled(rows * a->cols, a->scale, NULL, dbranch, dbranch);
}

static void residual_norm_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct residual_norm_call *n = argument;
    const struct oa_residual_norm *a = n->a;
    long end = oa_min((item + 1) * n->block, a->rows);
    void *dgain = oa_real_at(n->d, n->partial, item * 2 * a->cols),
         *dbias = oa_real_at(n->d, dgain, a->cols);
    if (a->y)
        memset(dgain, 0, 2 * (size_t)a->cols * n->d->numbers.real_size);
    for (long i = item * n->block; i < end; i += n->part)
        residual_norm_gradient_rows(n, i, oa_min(n->part, end - i), a->dgain ? dgain : NULL,
                                    a->dbias ? dbias : NULL);
}

void oa_cpu_residual_norm_gradient(struct oa_device *d, const struct oa_residual_norm *a)
{
    struct residual_norm_call n = residual_norm_call_of(d, a);
    long blocks = oa_blocks(a->rows, n.block);
    size_t mark = oa_arena_mark(&d->scratch);
    n.partial = oa_arena_take(&d->scratch, (size_t)(blocks * 2 * a->cols) * d->numbers.real_size);
    if (!n.partial)
        return;
    oa_parallel(d->context, blocks, residual_norm_gradient_item, &n);
    for (long i = 0; i < blocks; i++) {
        if (a->dgain)
            d->cpu->kernels.axpy(a->cols, 1, oa_real_at(d, n.partial, i * 2 * a->cols), a->dgain);
        if (a->dbias)
            d->cpu->kernels.axpy(a->cols, 1, oa_real_at(d, n.partial, (i * 2 + 1) * a->cols),
                                 a->dbias);
    }
    oa_arena_release(&d->scratch, mark);
}
