/* SPDX-License-Identifier: Apache-2.0
 * The first rows of every sequence, y[b·count + i] = x[b·length + i], i < count, and the inverse.
 */
#include "ops/ops.h"

struct leading_op {
    oa_tensor *x, *y; /* [B·length, cols], [B·count, cols] */
    long length, count;
};

/* from, to: `from_step` and `to_step` rows per sequence, with the leading dimensions given. */
static void leading_copy(struct oa_device *d, const struct leading_op *l, const void *from,
                         long from_step, long from_ld, void *to, long to_step, long to_ld)
{
    for (long b = 0; b < l->x->rows / l->length; b++)
        d->ops->select_rows(d, l->count, l->x->cols, l->count, NULL,
                            oa_act_at(d, from, b * from_step * from_ld), from_ld,
                            oa_act_at(d, to, b * to_step * to_ld), to_ld);
}

static void leading_gather(struct oa_device *d, const struct leading_op *l, const void *x, void *y)
{
    leading_copy(d, l, x, l->length, l->x->ld, y, l->count, l->y->ld);
}

static void leading_scatter(struct oa_device *d, const struct leading_op *l, const void *y, void *x)
{
    leading_copy(d, l, y, l->count, l->y->ld, x, l->length, l->x->ld);
}

static void leading_backward(oa_tape *t, void *saved)
{
    const struct leading_op *l = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, l->y);
    void *dx = dy ? oa_gradient_begin(t, l->x) : NULL;
    if (dx) {
        d->ops->zero(d, (size_t)(l->x->rows * l->x->ld) * d->numbers.act_size, dx);
        leading_scatter(d, l, dy, dx);
    }
    oa_gradient_end(t, l->x, dx);
}

oa_tensor *oa_leading_rows(oa_tape *t, oa_tensor *x, long length, long count)
{
    oa_tensor *y = x ? oa_tensor_new(t, x->rows / length * count, x->cols) : NULL;
    struct leading_op *l = y ? oa_tape_take_host(t, sizeof *l) : NULL;
    if (!l)
        return NULL;
    *l = (struct leading_op){ x, y, length, count };
    leading_gather(t->device, l, x->data, y->data);
    oa_record(t, leading_backward, l);
    return y;
}

/* Replaced rows get no gradient; what wrote them before must not depend on any. */
static void put_leading_backward(oa_tape *t, void *saved)
{
    const struct leading_op *l = saved;
    const void *d_o = oa_gradient_of(t, l->x);
    void *dy = d_o ? oa_gradient_begin(t, l->y) : NULL;
    if (dy)
        leading_gather(t->device, l, d_o, dy);
    oa_gradient_end(t, l->y, dy);
}

void oa_put_leading_rows(oa_tape *t, oa_tensor *o, long length, long count, oa_tensor *y)
{
    struct leading_op *l = o && y ? oa_tape_take_host(t, sizeof *l) : NULL;
    if (!l)
        return;
    *l = (struct leading_op){ o, y, length, count };
    leading_scatter(t->device, l, y->data, o->data);
    oa_record(t, put_leading_backward, l);
}
