/* SPDX-License-Identifier: Apache-2.0
 * The ops a Transformer has around its attention: embedding, residual with norm, output layer with loss. */
#include "ops/ops.h"

#define NORM_EPSILON 1e-5

/* ---- residual and norm ---- */

struct norm {
    oa_tensor *x, *branch, *sum, *y;
    struct oa_parameter *gain, *bias;
    struct oa_residual_norm a;
};

static void norm_backward(oa_tape *t, void *saved)
{
    struct norm *n = saved;
    n->a.dy = oa_gradient_of(t, n->y);
    if (!n->a.dy)
        return;
    n->a.dsum = n->branch ? oa_gradient_of(t, n->sum) : NULL;
    n->a.dx = oa_gradient_begin(t, n->x);
    n->a.dbranch = oa_gradient_begin(t, n->branch);
    n->a.dgain = n->gain->gradient;
    n->a.dbias = n->bias ? n->bias->gradient : NULL;
    t->device->ops->residual_norm_gradient(t->device, &n->a);
    oa_gradient_end(t, n->branch, n->a.dbranch);
    oa_gradient_end(t, n->x, n->a.dx);
}

oa_tensor *oa_residual_norm_op(oa_tape *t, oa_tensor *x, oa_tensor *branch, double dropout, struct oa_parameter *gain,
                               struct oa_parameter *bias, oa_tensor **sum)
{
    size_t real = t->device->numbers.real_size;
    oa_tensor *y = x && gain ? oa_tensor_new(t, x->rows, x->cols) : NULL;
    struct norm *n = y ? oa_tape_note(t, sizeof *n) : NULL;
    *sum = branch ? oa_tensor_new(t, y ? x->rows : 0, y ? x->cols : 0) : x;
    void *mean = n ? oa_tape_take(t, (size_t)x->rows * real) : NULL;
    void *rstd = mean ? oa_tape_take(t, (size_t)x->rows * real) : NULL;
    if (!rstd || !*sum)
        return NULL;
    *n = (struct norm){ .x = x, .branch = branch, .sum = *sum, .y = y, .gain = gain, .bias = bias };
    n->a = (struct oa_residual_norm){ .rows = x->rows,
                                      .cols = x->cols,
                                      .x = x->data,
                                      .branch = branch ? branch->data : NULL,
                                      .sum = (*sum)->data,
                                      .gain = gain->value,
                                      .bias = bias ? bias->value : NULL,
                                      .epsilon = NORM_EPSILON,
                                      .y = y->data,
                                      .mean = mean,
                                      .rstd = rstd };
    n->a.dropout = oa_dropout_site(t, branch ? dropout : 0);
    t->device->ops->residual_norm(t->device, &n->a);
    oa_record(t, norm_backward, n);
    return y;
}

/* ---- embedding ---- */

struct embedding {
    oa_tensor *y;
    struct oa_parameter *table, *position;
    struct oa_embedding a;
};

static void embed_backward(oa_tape *t, void *saved)
{
    struct embedding *e = saved;
    e->a.dy = oa_gradient_of(t, e->y);
    e->a.dtable = e->table->gradient;
    e->a.dposition = e->position ? e->position->gradient : NULL;
    if (e->a.dy && e->a.dtable)
        t->device->ops->embed_gradient(t->device, &e->a);
}

oa_tensor *oa_embed(oa_tape *t, const int32_t *ids, long tokens, long length, long first, struct oa_parameter *table,
                    struct oa_parameter *position, double dropout)
{
    oa_tensor *y = table ? oa_tensor_new(t, tokens, table->dim[1]) : NULL;
    struct embedding *e = y ? oa_tape_note(t, sizeof *e) : NULL;
    if (!e)
        return NULL;
    *e = (struct embedding){ .y = y, .table = table, .position = position };
    e->a = (struct oa_embedding){ .tokens = tokens,
                                  .length = length,
                                  .width = table->dim[1],
                                  .vocabulary = table->dim[0],
                                  .ids = oa_tape_lend(t, ids, (size_t)tokens * sizeof *ids),
                                  .table = table->value,
                                  .position =
                                      position ? oa_real_at(t->device, position->value, first * table->dim[1]) : NULL,
                                  .y = y->data };
    e->a.dropout = oa_dropout_site(t, dropout);
    t->device->ops->embed(t->device, &e->a);
    oa_record(t, embed_backward, e);
    return y;
}

/* ---- output layer and loss ---- the gradient of x is there at once; nothing is left for the tape. */

double oa_linear_loss_op(oa_tape *t, oa_tensor *x, struct oa_parameter *w, const int32_t *target, double scale)
{
    if (!x)
        return 0;
    struct oa_linear_loss a = { .rows = x->rows,
                                .width = x->cols,
                                .vocabulary = w->dim[0],
                                .x = x->data,
                                .w = w->act,
                                .target = oa_tape_lend(t, target, (size_t)x->rows * sizeof *target),
                                .scale = scale };
    if (t->record) {
        a.dx = oa_gradient_begin(t, x);
        a.dw = w->gradient;
    }
    double loss = t->device->ops->linear_loss(t->device, &a);
    oa_gradient_end(t, x, a.dx);
    return loss;
}
