/* SPDX-License-Identifier: Apache-2.0
 * Linear maps. y = x Wᵀ + b;  dx = dy W,  dW += dyᵀ x,  db += column sums of dy. */
#include "ops/ops.h"

struct linear {
    oa_tensor *x, *y;
    struct oa_parameter *w, *b;
};

static void linear_backward(oa_tape *t, void *saved)
{
    const struct linear *l = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, l->y);
    if (!dy)
        return;
    long rows = l->x->rows, in = l->x->cols, out = l->y->cols;
    void *dx = oa_gradient_begin(t, l->x);
    if (dx)
        d->ops->gemm(
            d,
            &(struct oa_gemm){
                .m = rows, .n = in, .k = out, .lda = l->y->ld, .ldb = in, .ldc = l->x->ld },
            dy, l->w->act, dx);
    oa_gradient_end(t, l->x, dx);
    if (l->w->gradient)
        d->ops->gemm(d,
                     &(struct oa_gemm){ .m = out,
                                        .n = in,
                                        .k = rows,
                                        .lda = l->y->ld,
                                        .ldb = l->x->ld,
                                        .ldc = in,
                                        .ta = true,
                                        .real_out = true,
                                        .accumulate = true },
                     dy, l->x->data, l->w->gradient);
    if (l->b && l->b->gradient)
        d->ops->column_sums(d, rows, out, dy, l->y->ld, l->b->gradient);
}

oa_tensor *oa_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b)
{
    struct oa_device *d = t->device;
    oa_tensor *y = x && w ? oa_tensor_new(t, x->rows, w->dim[0]) : NULL;
    struct linear *l = y ? oa_tape_note(t, sizeof *l) : NULL;
    if (!l)
        return NULL;
    *l = (struct linear){ x, y, w, b };
    struct oa_gemm g = { .m = x->rows,
                         .n = y->cols,
                         .k = x->cols,
                         .lda = x->ld,
                         .ldb = x->cols,
                         .ldc = y->ld,
                         .tb = true,
                         .invariant_rows = t->invariant_rows };
    const void *weights = oa_weights(t, w, &g);
    d->ops->gemm(d, &g, x->data, weights, y->data);
    if (b)
        d->ops->add_bias(d, y->rows, y->cols, b->value, y->data, y->ld);
    oa_record(t, linear_backward, l);
    return y;
}

/* ---- a linear map of each head ---- */

struct head_linear {
    oa_tensor *x, *y;
    struct oa_parameter *w, *b;
    bool slice;
    long first;
};

/* Columns of x that head h reads start here. */
static long input_column(const struct head_linear *l, long h)
{
    return l->slice ? l->first + h * l->w->dim[2] : 0;
}

/* Without slices all heads read the same columns and the map is one product; dx of slices starts
 * from zero because the heads of the group need not cover x. */
static void head_linear_backward(oa_tape *t, void *saved)
{
    const struct head_linear *l = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, l->y);
    if (!dy)
        return;
    long rows = l->x->rows, heads = l->slice ? l->w->dim[0] : 1, in = l->w->dim[2],
         out = l->y->cols / heads;
    void *dx = oa_gradient_begin(t, l->x);
    if (dx && l->slice)
        d->ops->zero(d, (size_t)(rows * l->x->ld) * d->numbers.act_size, dx);
    for (long h = 0; h < heads; h++) {
        const void *dy_h = oa_act_at(d, dy, h * out), *w = oa_act_at(d, l->w->act, h * out * in);
        long column = input_column(l, h);
        if (dx)
            d->ops->gemm(
                d,
                &(struct oa_gemm){
                    .m = rows, .n = in, .k = out, .lda = l->y->ld, .ldb = in, .ldc = l->x->ld },
                dy_h, w, oa_act_at(d, dx, column));
        if (l->w->gradient)
            d->ops->gemm(d,
                         &(struct oa_gemm){ .m = out,
                                            .n = in,
                                            .k = rows,
                                            .lda = l->y->ld,
                                            .ldb = l->x->ld,
                                            .ldc = in,
                                            .ta = true,
                                            .real_out = true,
                                            .accumulate = true },
                         dy_h, oa_act_at(d, l->x->data, column),
                         oa_real_at(d, l->w->gradient, h * out * in));
    }
    oa_gradient_end(t, l->x, dx);
    if (l->b && l->b->gradient)
        d->ops->column_sums(d, rows, l->y->cols, dy, l->y->ld, l->b->gradient);
}

oa_tensor *oa_head_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b,
                          bool slice, long first)
{
    struct oa_device *d = t->device;
    oa_tensor *y = x && w ? oa_tensor_new(t, x->rows, w->dim[0] * w->dim[1]) : NULL;
    struct head_linear *l = y ? oa_tape_note(t, sizeof *l) : NULL;
    if (!l)
        return NULL;
    *l = (struct head_linear){ x, y, w, b, slice, first };
    long heads = slice ? w->dim[0] : 1, in = w->dim[2], out = y->cols / heads;
    struct oa_gemm g = { .m = x->rows,
                         .n = out,
                         .k = in,
                         .lda = x->ld,
                         .ldb = in,
                         .ldc = y->ld,
                         .tb = true,
                         .invariant_rows = t->invariant_rows };
    const void *weights = slice ? w->act : oa_weights(t, w, &g);
    for (long h = 0; h < heads; h++)
        d->ops->gemm(d, &g, oa_act_at(d, x->data, input_column(l, h)),
                     oa_act_at(d, weights, h * out * in), oa_act_at(d, y->data, h * out));
    if (b)
        d->ops->add_bias(d, y->rows, y->cols, b->value, y->data, y->ld);
    oa_record(t, head_linear_backward, l);
    return y;
}
