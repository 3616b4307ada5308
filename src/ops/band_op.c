/* SPDX-License-Identifier: Apache-2.0
 * Banded attention weights as an op, and the gated linear unit of the convolutions. */
#include "ops/ops.h"

struct band_op {
    struct oa_band a;
    oa_tensor *filters, *v, *o;
    struct oa_parameter *kernel;
};

static void band_backward(oa_tape *t, void *saved)
{
    struct band_op *b = saved;
    b->a.d_o = oa_gradient_of(t, b->o);
    if (!b->a.d_o)
        return;
    b->a.dlogits = b->kernel ? b->kernel->gradient : oa_gradient_begin(t, b->filters);
    b->a.dv = oa_gradient_begin(t, b->v);
    t->device->ops->band_gradient(t->device, &b->a);
    oa_gradient_end(t, b->v, b->a.dv);
    if (!b->kernel)
        oa_gradient_end(t, b->filters, b->a.dlogits);
}

void oa_band_op(oa_tape *t, const struct oa_band *band, struct oa_parameter *kernel,
                oa_tensor *filters, oa_tensor *v, oa_tensor *o)
{
    bool filter = band->taps > 0;
    struct oa_attention_shape shape = band->shape;
    if (t->state)
        v = oa_cache_rows(t, &shape, &(struct oa_horizon){ .span = oa_band_span(band) }, v);
    struct band_op *b =
        v && o && (!filter || kernel || filters) ? oa_tape_take_host(t, sizeof *b) : NULL;
    if (!b)
        return;
    *b = (struct band_op){ .a = *band, .filters = filters, .v = v, .o = o, .kernel = kernel };
    b->a.shape = shape;
    b->a.tokens = filters != NULL;
    b->a.logits = filters ? filters->data : kernel ? kernel->value : NULL;
    b->a.ldlogits = filters ? filters->ld : 0;
    b->a.v = v->data;
    b->a.ldv = v->ld;
    b->a.o = o->data;
    b->a.ldo = o->ld;
    t->device->ops->band(t->device, &b->a);
    oa_record(t, band_backward, b);
}

/* ---- gate ---- y = a σ(b) for x = [a | b];  da = dy σ(b), db = dy a σ(b)(1 − σ(b)) ---- */

struct gate_op {
    oa_tensor *x, *y;
};

static void gate_backward(oa_tape *t, void *saved)
{
    const struct gate_op *g = saved;
    const void *dy = oa_gradient_of(t, g->y);
    void *dx = dy ? oa_gradient_begin(t, g->x) : NULL;
    if (dx)
        t->device->ops->gate_gradient(t->device, g->x->rows, g->y->cols, g->x->data, dy, dx);
    oa_gradient_end(t, g->x, dx);
}

oa_tensor *oa_gate(oa_tape *t, oa_tensor *x)
{
    oa_tensor *y = x ? oa_tensor_new(t, x->rows, x->cols / 2) : NULL;
    struct gate_op *g = y ? oa_tape_take_host(t, sizeof *g) : NULL;
    if (!g)
        return NULL;
    *g = (struct gate_op){ x, y };
    t->device->ops->gate(t->device, x->rows, y->cols, x->data, y->data);
    oa_record(t, gate_backward, g);
    return y;
}
