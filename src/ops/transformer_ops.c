/* SPDX-License-Identifier: Apache-2.0
 * Ops around attention: embedding, residual connection with norm, output layer with loss. */
#include "ops/ops.h"

static void *gradient_or_null(const struct oa_parameter *p)
{
    return p ? p->gradient : NULL;
}

/* ---- residual and norm ---- */

struct residual_norm_op {
    oa_tensor *x, *branch, *sum, *y;
    struct oa_parameter *gain, *bias;
    struct oa_residual_norm a;
};

static void residual_norm_backward(oa_tape *t, void *saved)
{
    struct residual_norm_op *n = saved;
    n->a.dy = n->y ? oa_gradient_of(t, n->y) : NULL;
    n->a.dsum = n->branch ? oa_gradient_of(t, n->sum) : NULL;
    if (n->y ? !n->a.dy : !n->a.dsum)
        return;
    n->a.dx = oa_gradient_begin(t, n->x);
    n->a.dbranch = oa_gradient_begin(t, n->branch);
    n->a.dgain = gradient_or_null(n->gain);
    n->a.dbias = gradient_or_null(n->bias);
    t->device->ops->residual_norm_gradient(t->device, &n->a);
    oa_gradient_end(t, n->branch, n->a.dbranch);
    oa_gradient_end(t, n->x, n->a.dx);
}

/* Memory for the result of a norm and the statistics of its rows; false after a failure. */
static bool residual_norm_take(oa_tape *t, struct residual_norm_op *n, const struct oa_norm *norm)
{
    size_t bytes = (size_t)n->x->rows * t->device->numbers.real_size;
    n->y = oa_tensor_new(t, n->x->rows, n->x->cols);
    n->a.mean = n->y && !norm->rms ? oa_tape_take(t, bytes) : NULL;
    n->a.rstd = n->y ? oa_tape_take(t, bytes) : NULL;
    n->gain = norm->gain;
    n->bias = norm->bias;
    n->a.gain = norm->gain ? norm->gain->value : NULL;
    n->a.bias = norm->bias ? norm->bias->value : NULL;
    n->a.epsilon = norm->epsilon;
    n->a.y = n->y ? n->y->data : NULL;
    return n->a.rstd && (norm->rms || n->a.mean);
}

oa_tensor *oa_residual_norm_op(oa_tape *t, oa_tensor *x, oa_tensor *branch, double dropout,
                               double scale, const struct oa_norm *norm, oa_tensor **sum)
{
    struct residual_norm_op *n = x ? oa_tape_take_host(t, sizeof *n) : NULL;
    if (!n)
        return NULL;
    *n = (struct residual_norm_op){ .x = x, .branch = branch };
    *sum = branch ? oa_tensor_new(t, x->rows, x->cols) : x;
    if (!*sum || (norm && !residual_norm_take(t, n, norm)))
        return NULL;
    n->sum = *sum;
    n->a.rows = x->rows;
    n->a.cols = x->cols;
    n->a.x = x->data;
    n->a.branch = branch ? branch->data : NULL;
    n->a.scale = scale;
    n->a.sum = (*sum)->data;
    n->a.dropout = oa_dropout_site(t, branch ? dropout : 0);
    t->device->ops->residual_norm(t->device, &n->a);
    oa_record(t, residual_norm_backward, n);
    return norm ? n->y : *sum;
}

/* ---- embedding ---- */

struct embedding_op {
    oa_tensor *y;
    struct oa_embedding_tables tables;
    struct oa_embedding a;
};

static void embed_backward(oa_tape *t, void *saved)
{
    struct embedding_op *e = saved;
    e->a.dy = oa_gradient_of(t, e->y);
    e->a.dtable = e->tables.table->gradient;
    e->a.dposition = gradient_or_null(e->tables.position);
    e->a.dsegment = gradient_or_null(e->tables.segment);
    if (!e->a.dy || !e->a.dtable)
        return;
    e->a.drest = e->tables.rest ? oa_gradient_begin(t, e->tables.rest) : NULL;
    t->device->ops->embed_gradient(t->device, &e->a);
    if (e->a.drest)
        oa_gradient_end(t, e->tables.rest, e->a.drest);
}

oa_tensor *oa_embed(oa_tape *t, const int32_t *ids, const int32_t *segments, long tokens,
                    long length, long first, const struct oa_embedding_tables *tables,
                    double dropout)
{
    const struct oa_parameter *table = tables->table, *position = tables->position,
                              *segment = tables->segment;
    oa_tensor *y = table ? oa_tensor_new(t, tokens, table->dim[1]) : NULL;
    struct embedding_op *e = y ? oa_tape_take_host(t, sizeof *e) : NULL;
    if (!e)
        return NULL;
    *e = (struct embedding_op){ .y = y, .tables = *tables };
    e->a = (struct oa_embedding){
        .tokens = tokens,
        .length = length,
        .width = table->dim[1],
        .vocabulary = table->dim[0],
        .factor = tables->factor,
        .ids = oa_tape_upload(t, ids, (size_t)tokens * sizeof *ids),
        .segments = oa_tape_upload(t, segments, (size_t)tokens * sizeof *segments),
        .table = table->value,
        .position = position ? oa_real_at(t->device, position->value, first * table->dim[1]) : NULL,
        .segment = segment ? segment->value : NULL,
        .rest = tables->rest ? tables->rest->data : NULL,
        .y = y->data
    };
    e->a.dropout = oa_dropout_site(t, dropout);
    t->device->ops->embed(t->device, &e->a);
    oa_record(t, embed_backward, e);
    return y;
}

/* ---- patches of images: no gradient ---- */

oa_tensor *oa_patch_pixels(oa_tape *t, const uint8_t *pixels, const int32_t *ids, long tokens,
                           long count)
{
    oa_tensor *y = oa_tensor_new(t, tokens, count);
    if (!y)
        return NULL;
    struct oa_patch_rows a = { .tokens = tokens,
                               .count = count,
                               .pixels = oa_tape_upload(t, pixels, (size_t)(tokens * count)),
                               .ids = oa_tape_upload(t, ids, (size_t)tokens * sizeof *ids),
                               .y = y->data };
    y->wants_gradient = false;
    t->device->ops->patches(t->device, &a);
    return y;
}

/* ---- output layer and loss; forward computes the gradients, no node is recorded ---- */

double oa_linear_loss_op(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b,
                         const struct oa_targets *targets)
{
    if (!x || !w)
        return 0;
    size_t rows = (size_t)x->rows;
    struct oa_linear_loss a = {
        .rows = x->rows,
        .width = x->cols,
        .vocabulary = w->dim[0],
        .x = x->data,
        .w = w->act,
        .bias = b ? b->value : NULL,
        .target = oa_tape_upload(t, targets->id, rows * sizeof *targets->id),
        .value = oa_tape_upload(t, targets->value, rows * sizeof *targets->value),
        .cap = targets->cap,
        .smoothing = targets->smoothing,
        .scale = targets->scale,
        .losses = targets->losses
    };
    const struct oa_soft_targets *s = targets->soft;
    if (s) {
        a.soft_x = s->x->data;
        a.soft_w = s->w->act;
        a.soft_bias = s->b ? s->b->value : NULL;
        a.soft_width = s->x->cols;
        a.soft_cap = s->cap;
        a.hard = s->hard;
        a.soft = s->soft;
    }
    if (t->record) {
        a.dx = oa_gradient_begin(t, x);
        a.dw = w->gradient;
        a.dbias = gradient_or_null(b);
    }
    double loss = t->device->ops->linear_loss(t->device, &a);
    oa_gradient_end(t, x, a.dx);
    return loss;
}
