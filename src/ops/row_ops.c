/* SPDX-License-Identifier: Apache-2.0
 * Ops on the rows of heads: maps of one row each, and convolutions along the sequence. */
#include "ops/ops.h"

/* ---- maps of rows ---- */

struct row_map_op {
    struct oa_row_map a;
    oa_tensor *x, *y;
    struct oa_parameter *gain;
};

static void map_rows_backward(oa_tape *t, void *saved)
{
    struct row_map_op *r = saved;
    r->a.dy = oa_gradient_of(t, r->y);
    if (!r->a.dy)
        return;
    r->a.dx = oa_gradient_begin(t, r->x);
    if (!r->a.dx)
        return;
    r->a.dgain = r->gain ? r->gain->gradient : NULL;
    t->device->ops->map_rows_gradient(t->device, &r->a);
    oa_gradient_end(t, r->x, r->a.dx);
}

static void map_rows_run(oa_tape *t, const char *name, oa_tensor *x, oa_tensor *y, long heads,
                         const struct oa_row_map *how, struct oa_parameter *gain)
{
    struct row_map_op *r = x && y ? oa_tape_take_host(t, sizeof *r) : NULL;
    if (!r)
        return;
    *r = (struct row_map_op){ .a = *how, .x = x, .y = y, .gain = gain };
    r->a.tokens = x->rows;
    r->a.heads = heads;
    r->a.width = x->cols / heads;
    r->a.gain = gain ? gain->value : NULL;
    r->a.x = x->data;
    r->a.ldx = x->ld;
    r->a.y = y->data;
    r->a.ldy = y->ld;
    t->device->ops->map_rows(t->device, &r->a);
    oa_record_as(t, name, map_rows_backward, r);
}

oa_tensor *oa_map_rows(oa_tape *t, oa_tensor *x, long heads, enum oa_row_map_kind kind,
                       double epsilon)
{
    long twice = kind == OA_ROW_HEDGEHOG ? 2 : 1;
    oa_tensor *y = x ? oa_tensor_new(t, x->rows, twice * x->cols) : NULL;
    map_rows_run(t, __func__, x, y, heads, &(struct oa_row_map){ .kind = kind, .epsilon = epsilon },
                 NULL);
    return y;
}

void oa_norm_heads(oa_tape *t, oa_tensor *x, long heads, struct oa_parameter *gain, double epsilon,
                   oa_tensor *o)
{
    map_rows_run(t, __func__, x, o, heads,
                 &(struct oa_row_map){ .kind = OA_ROW_RMS, .epsilon = epsilon }, gain);
}

/* ---- convolutions ---- */

struct conv_op {
    struct oa_causal_conv a;
    oa_tensor *x, *y;
    struct oa_parameter *w;
};

static void conv_backward(oa_tape *t, void *saved)
{
    struct conv_op *c = saved;
    c->a.dy = oa_gradient_of(t, c->y);
    if (!c->a.dy)
        return;
    c->a.dx = oa_gradient_begin(t, c->x);
    c->a.dw = c->w->gradient;
    t->device->ops->causal_conv_gradient(t->device, &c->a);
    oa_gradient_end(t, c->x, c->a.dx);
}

oa_tensor *oa_causal_conv_op(oa_tape *t, oa_tensor *x, long length, struct oa_parameter *w,
                             bool follows)
{
    oa_tensor *y = x ? oa_tensor_new(t, x->rows, x->cols) : NULL;
    struct conv_op *c = y ? oa_tape_take_host(t, sizeof *c) : NULL;
    size_t act = t->device->numbers.act_size;
    void *z = c ? oa_tape_take(t, (size_t)(x->rows * x->cols) * act) : NULL;
    if (!z)
        return NULL;
    *c = (struct conv_op){ .x = x, .y = y, .w = w };
    c->a = (struct oa_causal_conv){ .batch = x->rows / length,
                                    .length = length,
                                    .cols = x->cols,
                                    .taps = w->dim[1],
                                    .w = w->value,
                                    .x = x->data,
                                    .ldx = x->ld,
                                    .z = z,
                                    .y = y->data };
    if (t->state && follows && w->dim[1] > 1) {
        c->a.state = oa_cache_numbers(t, (w->dim[1] - 1) * x->cols, act);
        if (!c->a.state)
            return NULL;
    }
    t->device->ops->causal_conv(t->device, &c->a);
    oa_record(t, conv_backward, c);
    return y;
}
