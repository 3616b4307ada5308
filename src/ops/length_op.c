/* SPDX-License-Identifier: Apache-2.0
 * Projection along the length (Linformer) as an op. */
#include "ops/ops.h"

struct length_op {
    struct oa_length_projection a;
    oa_tensor *x, *y;
    struct oa_parameter *w;
};

static void length_backward(oa_tape *t, void *saved)
{
    struct length_op *l = saved;
    l->a.dy = oa_gradient_of(t, l->y);
    if (!l->a.dy)
        return;
    l->a.dx = oa_gradient_begin(t, l->x);
    l->a.dw = l->w->gradient;
    t->device->ops->project_length_gradient(t->device, &l->a);
    oa_gradient_end(t, l->x, l->a.dx);
}

oa_tensor *oa_project_length(oa_tape *t, oa_tensor *x, long batch, long heads,
                             const int32_t *lengths, struct oa_parameter *w)
{
    long rank = w ? w->dim[w->dims - 1] : 0;
    oa_tensor *y = x && w ? oa_tensor_new(t, batch * rank, x->cols) : NULL;
    struct length_op *l = y ? oa_tape_take_host(t, sizeof *l) : NULL;
    if (!l)
        return NULL;
    *l = (struct length_op){ .x = x, .y = y, .w = w };
    l->a = (struct oa_length_projection){ .batch = batch,
                                          .length = x->rows / batch,
                                          .heads = heads,
                                          .width = x->cols / heads,
                                          .rank = rank,
                                          .lengths = lengths,
                                          .x = x->data,
                                          .ldx = x->ld,
                                          .w = w->act,
                                          .head_stride = w->dims == 3 ? w->dim[1] * rank : 0,
                                          .y = y->data,
                                          .ldy = y->ld };
    t->device->ops->project_length(t->device, &l->a);
    oa_record(t, length_backward, l);
    return y;
}
