/* SPDX-License-Identifier: Apache-2.0
 * Structured projections by fast transforms (Ailon, Chazelle 2006; Choromanski et al. 2017, arXiv
 * 1703.00864):
 *
 *     y_h = Pᵀ s_f Hᵀ … Hᵀ s_1 Hᵀ s_0 x,   dx = Σ_h s_0 H s_1 H … H s_f P dy_h
 *
 * An item is OA_LANES rows, transposed so that elements of one column are contiguous: a factor of a
 * chain is then vector arithmetic for any distance of the columns that it mixes, and the rows are
 * transposed once for all heads. Between the two transpositions everything is real. [rows, D] →
 * [rows, H·K]; D·log D additions a factor, head and row; memory a worker 3·D·OA_LANES reals. */
#include "device/cpu/cpu.h"

#include <string.h>

struct transform_call {
    struct oa_device *d;
    const struct oa_transform *a;
};

/* One worker on OA_LANES rows. */
struct transform_work {
    struct oa_device *d;
    const struct oa_transform *a;
    const struct oa_chain *c;
    long first, rows;
    int32_t *column;     /* [K] */
    void *x, *y, *spare; /* real [D, OA_LANES] */
};

static bool open_transform_work(struct transform_work *w, const struct transform_call *f, long item,
                                const struct oa_worker *worker)
{
    const struct oa_transform *a = f->a;
    size_t block = (size_t)(a->chain.width * OA_LANES) * f->d->numbers.real_size;
    *w = (struct transform_work){ .d = f->d, .a = a, .c = &a->chain, .first = item * OA_LANES };
    w->rows = oa_min(OA_LANES, a->rows - w->first);
    w->column = oa_arena_take(worker->scratch, (size_t)a->chain.out * sizeof *w->column);
    w->x = oa_arena_take(worker->scratch, block);
    w->y = oa_arena_take(worker->scratch, block);
    w->spare = oa_arena_take(worker->scratch, block);
    return w->column && w->x && w->y && w->spare;
}

static const void *chain_numbers(const struct transform_work *w, long h, long at)
{
    return oa_real_at(w->d, w->a->numbers, h * oa_chain_numbers(w->c) + at);
}

static void read_chain_columns(struct transform_work *w, long h)
{
    const void *columns = chain_numbers(w, h, oa_chain_columns_at(w->c));
    for (long l = 0; l < w->c->out; l++)
        w->column[l] = (int32_t)oa_real_get(w->d, columns, l);
}

/* w->y ← H (s_i ∘ x), or with `transposed` Hᵀ; x may be w->y. */
static void apply_chain_factor(struct transform_work *w, long h, long i, bool transposed,
                               const void *x)
{
    long b = oa_chain_unit(w->c);
    w->d->cpu->kernels.hadamard(w->c->width, b, chain_numbers(w, h, i * w->c->width), x, w->y);
    if (!oa_chain_mixes(w->c))
        return;
    w->d->cpu->kernels.mix_runs(w->c->width, b, transposed,
                                chain_numbers(w, h, oa_chain_mix_at(w->c)), w->y, w->spare);
    void *mixed = w->spare;
    w->spare = w->y;
    w->y = mixed;
}

static void transform_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct transform_call *f = argument;
    const struct oa_transform *a = f->a;
    struct transform_work w;
    if (!open_transform_work(&w, f, item, worker))
        return;
    long factors = w.c->factors, K = w.c->out;
    f->d->cpu->kernels.lanes_in(w.rows, w.c->width, NULL, oa_act_at(f->d, a->x, w.first * a->ldx),
                                a->ldx, w.x);
    for (long h = 0; h < a->heads; h++) {
        read_chain_columns(&w, h);
        for (long i = 0; i < factors; i++)
            apply_chain_factor(&w, h, i, true, i ? w.y : w.x);
        f->d->cpu->kernels.lanes_out(
            w.rows, K, w.column, chain_numbers(&w, h, factors * w.c->width), factors ? w.y : w.x,
            oa_act_at(f->d, a->y, w.first * a->ldy + h * K), a->ldy);
    }
}

static void transform_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct transform_call *f = argument;
    const struct oa_transform *a = f->a;
    struct transform_work w;
    if (!open_transform_work(&w, f, item, worker))
        return;
    long D = w.c->width, K = w.c->out;
    size_t block = (size_t)(D * OA_LANES) * f->d->numbers.real_size;
    memset(w.x, 0, block);
    for (long h = 0; h < a->heads; h++) {
        read_chain_columns(&w, h);
        memset(w.y, 0, block);
        f->d->cpu->kernels.lanes_in(w.rows, K, w.column,
                                    oa_act_at(f->d, a->dy, w.first * a->ldy + h * K), a->ldy, w.y);
        for (long i = w.c->factors; i > 0; i--)
            apply_chain_factor(&w, h, i, false, w.y);
        f->d->cpu->kernels.scale_rows(D, OA_LANES, chain_numbers(&w, h, 0), w.y, OA_LANES);
        f->d->cpu->kernels.axpy(D * OA_LANES, 1, w.y, w.x);
    }
    f->d->cpu->kernels.lanes_out(w.rows, D, NULL, NULL, w.x,
                                 oa_act_at(f->d, a->dx, w.first * a->ldx), a->ldx);
}

void oa_cpu_transform(struct oa_device *d, const struct oa_transform *a)
{
    struct transform_call f = { d, a };
    oa_parallel(d->context, oa_blocks(a->rows, OA_LANES), transform_item, &f);
}

void oa_cpu_transform_gradient(struct oa_device *d, const struct oa_transform *a)
{
    struct transform_call f = { d, a };
    oa_parallel(d->context, oa_blocks(a->rows, OA_LANES), transform_gradient_item, &f);
}

double oa_transform_flops(const struct oa_transform *a)
{
    const struct oa_chain *c = &a->chain;
    double stages = 0, mixing = oa_chain_mixes(c) ? 2 * (double)oa_chain_unit(c) : 0;
    for (long n = c->width; n % 2 == 0; n /= 2)
        stages++;
    double one = (double)c->factors * (double)c->width * (1 + stages + mixing) + (double)c->out;
    return (double)a->rows * (double)a->heads * one;
}
