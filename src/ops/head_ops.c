/* SPDX-License-Identifier: Apache-2.0
 * What the head options do to the rows of heads: gates of their outputs, repeated heads. */
#include "ops/ops.h"

struct head_gate_op {
    struct oa_head_gate a;
    oa_tensor *x, *z, *y;
};

static void head_gate_backward(oa_tape *t, void *saved)
{
    struct head_gate_op *g = saved;
    g->a.dy = oa_gradient_of(t, g->y);
    if (!g->a.dy)
        return;
    g->a.dx = oa_gradient_begin(t, g->x);
    g->a.dz = oa_gradient_begin(t, g->z);
    if (g->a.dx && g->a.dz)
        t->device->ops->head_gate_gradient(t->device, &g->a);
    oa_gradient_end(t, g->z, g->a.dz);
    oa_gradient_end(t, g->x, g->a.dx);
}

void oa_head_gate_op(oa_tape *t, enum oa_head_gate_kind kind, long heads, oa_tensor *x,
                     oa_tensor *z, oa_tensor *y)
{
    struct head_gate_op *g = x && z && y ? oa_tape_take_host(t, sizeof *g) : NULL;
    if (!g)
        return;
    *g = (struct head_gate_op){ .x = x, .z = z, .y = y };
    g->a = (struct oa_head_gate){ .kind = kind,
                                  .rows = x->rows,
                                  .heads = heads,
                                  .width = x->cols / heads,
                                  .x = x->data,
                                  .ldx = x->ld,
                                  .z = z->data,
                                  .y = y->data,
                                  .ldy = y->ld };
    t->device->ops->head_gate(t->device, &g->a);
    oa_record(t, head_gate_backward, g);
}

/* ---- repeated heads ---- */

struct repeat_heads_op {
    struct oa_head_repeat a;
    oa_tensor *x, *y;
};

static void repeat_heads_backward(oa_tape *t, void *saved)
{
    struct repeat_heads_op *r = saved;
    r->a.dy = oa_gradient_of(t, r->y);
    r->a.dx = r->a.dy ? oa_gradient_begin(t, r->x) : NULL;
    if (r->a.dx)
        t->device->ops->repeat_heads_gradient(t->device, &r->a);
    oa_gradient_end(t, r->x, r->a.dx);
}

oa_tensor *oa_repeat_heads(oa_tape *t, oa_tensor *x, long key_heads, long heads)
{
    if (key_heads == heads)
        return x;
    oa_tensor *y = x ? oa_tensor_new(t, x->rows, x->cols / key_heads * heads) : NULL;
    struct repeat_heads_op *r = y ? oa_tape_take_host(t, sizeof *r) : NULL;
    if (!r)
        return NULL;
    *r = (struct repeat_heads_op){ .x = x, .y = y };
    r->a = (struct oa_head_repeat){ .rows = x->rows,
                                    .heads = heads,
                                    .key_heads = key_heads,
                                    .width = x->cols / key_heads,
                                    .x = x->data,
                                    .ldx = x->ld,
                                    .y = y->data };
    t->device->ops->repeat_heads(t->device, &r->a);
    oa_record(t, repeat_heads_backward, r);
    return y;
}
