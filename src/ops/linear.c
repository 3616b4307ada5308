/* SPDX-License-Identifier: Apache-2.0
 * Linear maps: y = x Wᵀ + b;  dx = dy W,  dW += dyᵀ x,  db += column sums of dy. Of a matrix with
 * an adapter, a sum of such maps. */
#include "ops/ops.h"

/* y_h = x[:, first + h·stride …] W[h]ᵀ + b[h] for `maps` maps; one map unless heads read slices. */
struct linear_op {
    oa_tensor *x, *y;
    struct oa_parameter *w, *b;
    long maps, in, out, first, stride;
};

static void linear_backward(oa_tape *t, void *saved)
{
    const struct linear_op *l = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, l->y);
    if (!dy)
        return;
    struct oa_gemm gx = {
        .m = l->x->rows, .n = l->in, .k = l->out, .lda = l->y->ld, .ldb = l->in, .ldc = l->x->ld
    };
    struct oa_gemm gw = { .m = l->out,
                          .n = l->in,
                          .k = l->x->rows,
                          .lda = l->y->ld,
                          .ldb = l->x->ld,
                          .ldc = l->in,
                          .ta = true,
                          .real_out = true,
                          .accumulate = true };
    void *dx = oa_gradient_begin(t, l->x);
    if (dx && l->stride) /* slices need not cover x */
        d->ops->zero(d, (size_t)(l->x->rows * l->x->ld) * d->numbers.act_size, dx);
    for (long h = 0; h < l->maps; h++) {
        const void *dy_h = oa_act_at(d, dy, h * l->out);
        long column = l->first + h * l->stride, weight = h * l->out * l->in;
        if (dx)
            d->ops->gemm(d, &gx, dy_h, oa_act_at(d, l->w->act, weight), oa_act_at(d, dx, column));
        if (l->w->gradient)
            d->ops->gemm(d, &gw, dy_h, oa_act_at(d, l->x->data, column),
                         oa_real_at(d, l->w->gradient, weight));
    }
    oa_gradient_end(t, l->x, dx);
    if (l->b && l->b->gradient)
        d->ops->column_sums(d, l->x->rows, l->y->cols, dy, l->y->ld, l->b->gradient);
}

static oa_tensor *linear_forward(oa_tape *t, const char *name, const struct linear_op *how)
{
    struct oa_device *d = t->device;
    oa_tensor *x = how->x, *y = oa_tensor_new(t, x->rows, how->maps * how->out);
    struct linear_op *l = y ? oa_tape_take_host(t, sizeof *l) : NULL;
    if (!l)
        return NULL;
    *l = *how;
    l->y = y;
    struct oa_gemm g = { .m = x->rows,
                         .n = l->out,
                         .k = l->in,
                         .lda = x->ld,
                         .ldb = l->in,
                         .ldc = y->ld,
                         .tb = true,
                         .invariant_rows = t->invariant_rows };
    const void *weights = l->stride ? l->w->act : oa_weight_operand(t, l->w, &g);
    for (long h = 0; h < l->maps; h++)
        d->ops->gemm(d, &g, oa_act_at(d, x->data, l->first + h * l->stride),
                     oa_act_at(d, weights, h * l->out * l->in), oa_act_at(d, y->data, h * l->out));
    if (l->b)
        d->ops->add_bias(d, y->rows, y->cols, l->b->value, y->data, y->ld);
    oa_record_as(t, name, linear_backward, l);
    return y;
}

/* ---- an adapter's part ---- */

struct linear_sum_op {
    oa_tensor *x[2], *y;
};

static void linear_sum_backward(oa_tape *t, void *saved)
{
    const struct linear_sum_op *s = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, s->y);
    for (int i = 0; dy && i < 2; i++) {
        void *dx = oa_gradient_begin(t, s->x[i]);
        if (dx)
            d->ops->copy(d, (size_t)(s->y->rows * s->y->ld) * d->numbers.act_size, dy, dx);
        oa_gradient_end(t, s->x[i], dx);
    }
}

static oa_tensor *linear_sum(oa_tape *t, oa_tensor *x, oa_tensor *other)
{
    oa_tensor *y = x && other ? oa_tensor_new(t, x->rows, x->cols) : NULL;
    struct linear_sum_op *s = y ? oa_tape_take_host(t, sizeof *s) : NULL;
    if (!s)
        return NULL;
    *s = (struct linear_sum_op){ { x, other }, y };
    t->device->ops->binary(t->device, OA_BINARY_ADD, x->rows * x->ld, 1, x->data, other->data,
                           y->data);
    oa_record_as(t, "oa_linear", linear_sum_backward, s);
    return y;
}

oa_tensor *oa_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b)
{
    if (!x || !w)
        return NULL;
    oa_tensor *y = linear_forward(
        t, __func__,
        &(struct linear_op){ .x = x, .w = w, .b = b, .maps = 1, .in = x->cols, .out = w->dim[0] });
    if (!w->adapter.in)
        return y;
    oa_tensor *narrow = oa_linear(t, x, w->adapter.in, NULL);
    narrow = oa_scale_heads(t, narrow, 1, w->adapter.scale, NULL, NULL);
    return linear_sum(t, y, oa_linear(t, narrow, w->adapter.out, NULL));
}

oa_tensor *oa_head_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b,
                          bool slice, long first)
{
    if (!x || !w)
        return NULL;
    long heads = w->dim[0], out = w->dim[1], in = w->dim[2];
    struct linear_op l = { .x = x, .w = w, .b = b, .maps = 1, .in = in, .out = heads * out };
    if (slice) {
        l.maps = heads;
        l.out = out;
        l.first = first;
        l.stride = in;
    }
    return linear_forward(t, __func__, &l);
}
