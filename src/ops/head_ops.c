/* SPDX-License-Identifier: Apache-2.0
 * Ops of the head options: gates of the outputs of heads, repeated heads, sums of forget gates. */
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

/* ---- forget gates ---- */

struct forget_gates_op {
    struct oa_forget_sums a;
    oa_tensor *z;
    struct oa_forget_gates gates;
};

static void forget_gates_backward(oa_tape *t, void *saved)
{
    struct forget_gates_op *f = saved;
    f->a.dsums = f->gates.dsums;
    f->a.dz = oa_gradient_begin(t, f->z);
    if (f->a.dz)
        t->device->ops->forget_sums_gradient(t->device, &f->a);
    oa_gradient_end(t, f->z, f->a.dz);
}

struct oa_forget_gates *oa_forget_gates_op(oa_tape *t, oa_tensor *z, long batch, long length)
{
    struct oa_device *d = t->device;
    struct forget_gates_op *f = z ? oa_tape_take_host(t, sizeof *f) : NULL;
    if (!f)
        return NULL;
    size_t bytes = (size_t)(z->rows * z->cols) * d->numbers.real_size;
    *f = (struct forget_gates_op){ .z = z, .gates = { .length = length } };
    f->a =
        (struct oa_forget_sums){ .batch = batch, .length = length, .heads = z->cols, .z = z->data };
    f->a.sums = f->gates.sums = oa_tape_take(t, 2 * bytes);
    if (t->record)
        f->gates.dsums = oa_tape_take(t, bytes);
    if (t->state)
        f->a.total = oa_cache_numbers(t, 2 * z->cols, d->numbers.real_size);
    if (oa_status(t->context) != OA_OK)
        return NULL;
    if (t->record)
        d->ops->zero(d, bytes, f->gates.dsums);
    d->ops->forget_sums(d, &f->a);
    oa_record(t, forget_gates_backward, f);
    return &f->gates;
}
