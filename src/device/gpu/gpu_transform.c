/* SPDX-License-Identifier: Apache-2.0
 * Structured projections (transform.cl). */
#include "device/gpu/gpu.h"

enum {
    LANES_ELEMENTS = 1024,   /* of a group in shared memory, where rows are shorter than that */
    WIDE_ELEMENTS = 1L << 24 /* of rows in scratch at once */
};

struct transformed_rows { /* of transform.cl */
    long width, out, factors, unit, mixes;
    long rows, heads, lanes, stride, columns_at, mix_at;
    const void *numbers, *x;
    void *dx, *y;
    const void *dy;
    long ldx, ldy;
};

static struct transformed_rows transformed_rows_of(const struct oa_transform *a)
{
    const struct oa_chain *c = &a->chain;
    return (struct transformed_rows){ .width = c->width,
                                      .out = c->out,
                                      .factors = c->factors,
                                      .unit = oa_chain_unit(c),
                                      .mixes = oa_chain_mixes(c),
                                      .rows = a->rows,
                                      .heads = a->heads,
                                      .lanes = oa_max(1, LANES_ELEMENTS / c->width),
                                      .stride = oa_chain_numbers(c),
                                      .columns_at = oa_chain_columns_at(c),
                                      .mix_at = oa_chain_mix_at(c),
                                      .numbers = a->numbers,
                                      .x = a->x,
                                      .dx = a->dx,
                                      .y = a->y,
                                      .dy = a->dy,
                                      .ldx = a->ldx,
                                      .ldy = a->ldy };
}

static bool fits_shared(const struct oa_device *d, const struct oa_transform *a)
{
    return a->chain.width <= (d->numbers.precision == OA_PRECISION_F64 ? 2048 : 4096);
}

/* ---- rows in scratch ---- */

/* Rows of x and a place of the same size; the chain changes which is which. */
struct wide_rows {
    struct transformed_rows s;
    void *x, *spare, *sum; /* real [rows, D] */
};

static void wide_factor(struct oa_device *d, struct wide_rows *w, long h, long i, bool transposed)
{
    const struct transformed_rows *s = &w->s;
    long n = s->rows * s->width;
    OA_GPU_INDIRECT(d, wide_diagonal, oa_blocks(n, OA_GPU_GROUP), 1, OA_GPU_STRUCT(*s),
                    OA_GPU_LONG(h), OA_GPU_LONG(i), OA_GPU_AT(w->x));
    for (long step = s->unit; step < s->width; step *= 2)
        OA_GPU_INDIRECT(d, wide_butterflies, oa_blocks(n / 2, OA_GPU_GROUP), 1, OA_GPU_STRUCT(*s),
                        OA_GPU_LONG(step), OA_GPU_AT(w->x));
    if (!s->mixes)
        return;
    OA_GPU_INDIRECT(d, wide_mix, oa_blocks(n, OA_GPU_GROUP), 1, OA_GPU_STRUCT(*s), OA_GPU_LONG(h),
                    OA_GPU_LONG(transposed), OA_GPU_AT(w->x), OA_GPU_AT(w->spare));
    void *mixed = w->spare;
    w->spare = w->x;
    w->x = mixed;
}

static void transform_wide(struct oa_device *d, struct wide_rows *w)
{
    const struct transformed_rows *s = &w->s;
    for (long h = 0; h < s->heads; h++) {
        OA_GPU_INDIRECT(d, wide_rows_in, oa_blocks(s->rows * s->width, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(*s), OA_GPU_AT(w->x));
        for (long i = 0; i < s->factors; i++)
            wide_factor(d, w, h, i, true);
        OA_GPU_INDIRECT(d, wide_rows_out, oa_blocks(s->rows * s->out, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(*s), OA_GPU_LONG(h), OA_GPU_AT(w->x));
    }
}

static void transform_wide_gradient(struct oa_device *d, struct wide_rows *w)
{
    const struct transformed_rows *s = &w->s;
    for (long h = 0; h < s->heads; h++) {
        oa_gpu_zero(d, (size_t)(s->rows * s->width) * d->numbers.real_size, w->x);
        OA_GPU_INDIRECT(d, wide_gradient_in, oa_blocks(s->rows * s->out, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(*s), OA_GPU_LONG(h), OA_GPU_AT(w->x));
        for (long i = s->factors; i > 0; i--)
            wide_factor(d, w, h, i, false);
        OA_GPU_INDIRECT(d, wide_gradient_sum, oa_blocks(s->rows * s->width, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(*s), OA_GPU_LONG(h), OA_GPU_LONG(h == s->heads - 1),
                        OA_GPU_AT(w->x), OA_GPU_AT(w->sum));
    }
}

/* Blocks of rows, one after the other. */
static void run_wide(struct oa_device *d, const struct oa_transform *a, bool backward)
{
    long block = oa_max(1, oa_min(a->rows, WIDE_ELEMENTS / a->chain.width)),
         n = block * a->chain.width;
    size_t mark = oa_gpu_mark(d);
    void *x = oa_gpu_take_reals(d, n), *spare = oa_gpu_take_reals(d, n),
         *sum = oa_gpu_take_reals(d, n);
    for (long first = 0; x && spare && sum && first < a->rows; first += block) {
        struct wide_rows w = { transformed_rows_of(a), x, spare, sum };
        w.s.rows = oa_min(block, a->rows - first);
        w.s.x = oa_act_at(d, a->x, first * a->ldx);
        w.s.dx = oa_act_at(d, a->dx, first * a->ldx);
        w.s.y = oa_act_at(d, a->y, first * a->ldy);
        w.s.dy = oa_act_at(d, a->dy, first * a->ldy);
        (backward ? transform_wide_gradient : transform_wide)(d, &w);
    }
    oa_gpu_give_back(d, mark);
}

/* ---- the operations ---- */

void oa_gpu_transform(struct oa_device *d, const struct oa_transform *a)
{
    struct transformed_rows s = transformed_rows_of(a);
    if (fits_shared(d, a))
        OA_GPU_INDIRECT(d, transform, oa_blocks(a->rows, s.lanes), a->heads, OA_GPU_STRUCT(s));
    else
        run_wide(d, a, false);
}

void oa_gpu_transform_gradient(struct oa_device *d, const struct oa_transform *a)
{
    struct transformed_rows s = transformed_rows_of(a);
    if (fits_shared(d, a))
        OA_GPU_INDIRECT(d, transform_gradient, oa_blocks(a->rows, s.lanes), 1, OA_GPU_STRUCT(s));
    else
        run_wide(d, a, true);
}
