/* SPDX-License-Identifier: Apache-2.0
 * Row selection, and the mean of the rows of each sequence. */
#include "ops/ops.h"

struct choose_rows_op {
    oa_tensor *x, *y;
    struct oa_row_choice a;
};

static void choose_backward(oa_tape *t, void *saved)
{
    struct choose_rows_op *c = saved;
    c->a.dy = oa_gradient_of(t, c->y);
    c->a.dx = c->a.dy ? oa_gradient_begin(t, c->x) : NULL;
    if (c->a.dx)
        t->device->ops->choose_rows_gradient(t->device, &c->a);
    oa_gradient_end(t, c->x, c->a.dx);
}

oa_tensor *oa_choose_rows(oa_tape *t, oa_tensor *x, const int32_t *index, long count)
{
    oa_tensor *y = x ? oa_tensor_new(t, count, x->cols) : NULL;
    struct choose_rows_op *c = y ? oa_tape_take_host(t, sizeof *c) : NULL;
    if (!c)
        return NULL;
    *c = (struct choose_rows_op){ .x = x, .y = y };
    c->a = (struct oa_row_choice){ .rows = x->rows,
                                   .count = count,
                                   .cols = x->cols,
                                   .index = oa_tape_upload(t, index, (size_t)count * sizeof *index),
                                   .x = x->data,
                                   .y = y->data };
    t->device->ops->choose_rows(t->device, &c->a);
    oa_record(t, choose_backward, c);
    return y;
}

struct mean_rows_op {
    oa_tensor *x, *y;
    struct oa_row_means a;
};

static void mean_backward(oa_tape *t, void *saved)
{
    struct mean_rows_op *m = saved;
    m->a.dy = oa_gradient_of(t, m->y);
    m->a.dx = m->a.dy ? oa_gradient_begin(t, m->x) : NULL;
    if (m->a.dx)
        t->device->ops->mean_rows_gradient(t->device, &m->a);
    oa_gradient_end(t, m->x, m->a.dx);
}

oa_tensor *oa_mean_rows(oa_tape *t, oa_tensor *x, long length, const int32_t *lengths)
{
    oa_tensor *y = x ? oa_tensor_new(t, x->rows / length, x->cols) : NULL;
    struct mean_rows_op *m = y ? oa_tape_take_host(t, sizeof *m) : NULL;
    if (!m)
        return NULL;
    *m = (struct mean_rows_op){ .x = x, .y = y };
    m->a = (struct oa_row_means){ .batch = y->rows,
                                  .length = length,
                                  .cols = x->cols,
                                  .lengths =
                                      oa_tape_upload(t, lengths, (size_t)y->rows * sizeof *lengths),
                                  .x = x->data,
                                  .y = y->data };
    t->device->ops->mean_rows(t->device, &m->a);
    oa_record(t, mean_backward, m);
    return y;
}
