/* SPDX-License-Identifier: Apache-2.0
 * The first rows of every sequence: y[b·count + i] = x[b·length + i], i < count, and the way back
 * into a result. */
#include "ops/ops.h"

struct leading {
    oa_tensor *x, *y; /* [B·length, cols], [B·count, cols] */
    long length, count;
};

static void copy_out(struct oa_device *d, const struct leading *l, const void *x, void *y)
{
    for (long b = 0; b < l->x->rows / l->length; b++)
        d->ops->select_rows(d, l->count, l->x->cols, l->count, NULL,
                            oa_act_at(d, x, b * l->length * l->x->ld), l->x->ld,
                            oa_act_at(d, y, b * l->count * l->y->ld), l->y->ld);
}

static void copy_in(struct oa_device *d, const struct leading *l, const void *y, void *x)
{
    for (long b = 0; b < l->x->rows / l->length; b++)
        d->ops->select_rows(d, l->count, l->x->cols, l->count, NULL,
                            oa_act_at(d, y, b * l->count * l->y->ld), l->y->ld,
                            oa_act_at(d, x, b * l->length * l->x->ld), l->x->ld);
}

static void leading_backward(oa_tape *t, void *saved)
{
    const struct leading *l = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, l->y);
    void *dx = dy ? oa_gradient_begin(t, l->x) : NULL;
    if (dx) {
        d->ops->zero(d, (size_t)(l->x->rows * l->x->ld) * d->numbers.act_size, dx);
        copy_in(d, l, dy, dx);
    }
    oa_gradient_end(t, l->x, dx);
}

oa_tensor *oa_leading_rows(oa_tape *t, oa_tensor *x, long length, long count)
{
    oa_tensor *y = x ? oa_tensor_new(t, x->rows / length * count, x->cols) : NULL;
    struct leading *l = y ? oa_tape_note(t, sizeof *l) : NULL;
    if (!l)
        return NULL;
    *l = (struct leading){ x, y, length, count };
    copy_out(t->device, l, x->data, y->data);
    oa_record(t, leading_backward, l);
    return y;
}

/* The rows that are replaced send no gradient to what wrote them before: that must not depend on
 * anything there. */
static void put_backward(oa_tape *t, void *saved)
{
    const struct leading *l = saved;
    const void *d_o = oa_gradient_of(t, l->x);
    void *dy = d_o ? oa_gradient_begin(t, l->y) : NULL;
    if (dy)
        copy_out(t->device, l, d_o, dy);
    oa_gradient_end(t, l->y, dy);
}

void oa_put_leading_rows(oa_tape *t, oa_tensor *o, long length, long count, oa_tensor *y)
{
    struct leading *l = o && y ? oa_tape_note(t, sizeof *l) : NULL;
    if (!l)
        return;
    *l = (struct leading){ o, y, length, count };
    copy_in(t->device, l, y->data, o->data);
    oa_record(t, put_backward, l);
}
