/* SPDX-License-Identifier: Apache-2.0
 * Structured projections as an op. */
#include "ops/ops.h"

struct transform_op {
    struct oa_transform a;
    oa_tensor *x, *y;
};

static void transform_backward(oa_tape *t, void *saved)
{
    struct transform_op *f = saved;
    f->a.dy = oa_gradient_of(t, f->y);
    if (!f->a.dy)
        return;
    f->a.dx = oa_gradient_begin(t, f->x);
    if (f->a.dx)
        t->device->ops->transform_gradient(t->device, &f->a);
    oa_gradient_end(t, f->x, f->a.dx);
}

oa_tensor *oa_transform_op(oa_tape *t, oa_tensor *x, const struct oa_parameter *chains,
                           const struct oa_chain *chain)
{
    long heads = chains ? chains->dim[0] : 0;
    oa_tensor *y = x && chains ? oa_tensor_new(t, x->rows, heads * chain->out) : NULL;
    struct transform_op *f = y ? oa_tape_take_host(t, sizeof *f) : NULL;
    if (!f)
        return NULL;
    *f = (struct transform_op){ .x = x, .y = y };
    f->a = (struct oa_transform){ .chain = *chain,
                                  .rows = x->rows,
                                  .heads = heads,
                                  .numbers = chains->value,
                                  .x = x->data,
                                  .ldx = x->ld,
                                  .y = y->data,
                                  .ldy = y->ld };
    t->device->ops->transform(t->device, &f->a);
    oa_record(t, transform_backward, f);
    return y;
}
