/* SPDX-License-Identifier: Apache-2.0
 * Tensors and the eager tape: nodes form a list from the newest to the oldest, all in the step's arena. */
#include "ops/ops.h"

#include "device/cpu.h"

struct oa_node {
    struct oa_node *before;
    oa_backward *backward;
    void *saved;
};

void oa_tape_init(oa_tape *t, struct oa_device *d)
{
    *t = (oa_tape){ .context = d->context, .device = d };
    oa_arena_init(&t->arena, d->context, d->dry);
    oa_arena_init(&t->nodes, d->context, false);
}

void oa_tape_free(oa_tape *t)
{
    oa_arena_free(&t->arena);
    oa_arena_free(&t->nodes);
}

void oa_tape_reset(oa_tape *t, bool record, bool train, struct oa_stream step)
{
    oa_arena_reset(&t->arena);
    oa_arena_reset(&t->nodes);
    t->last = NULL;
    t->record = record;
    t->train = train;
    t->step = step;
    t->sites = 0;
}

void *oa_tape_take(oa_tape *t, size_t bytes)
{
    return oa_arena_take(&t->arena, bytes);
}

void *oa_tape_note(oa_tape *t, size_t bytes)
{
    return oa_arena_take(&t->nodes, bytes);
}

oa_tensor *oa_tensor_from(oa_tape *t, const void *act, long rows, long cols, long ld, bool wants_gradient)
{
    oa_tensor *x = oa_tape_note(t, sizeof *x);
    if (x)
        *x = (oa_tensor){ .data = (void *)(uintptr_t)act,
                          .rows = rows,
                          .cols = cols,
                          .ld = ld,
                          .wants_gradient = wants_gradient && t->record };
    return x;
}

static void *take_matrix(oa_tape *t, long rows, long ld)
{
    return oa_tape_take(t, (size_t)(rows * ld) * t->device->kernels.act_size);
}

oa_tensor *oa_tensor_new(oa_tape *t, long rows, long cols)
{
    void *data = take_matrix(t, rows, cols);
    return data ? oa_tensor_from(t, data, rows, cols, cols, true) : NULL;
}

oa_tensor *oa_columns(oa_tape *t, oa_tensor *x, long first, long count)
{
    if (!x)
        return NULL;
    oa_tensor *view = oa_tensor_from(t, oa_act_at(t->device, x->data, first), x->rows, count, x->ld, x->wants_gradient);
    if (view) {
        view->base = x;
        view->first = first;
    }
    return view;
}

void oa_record(oa_tape *t, oa_backward *backward, void *saved)
{
    if (!t->record || !saved)
        return;
    struct oa_node *node = oa_tape_note(t, sizeof *node);
    if (!node)
        return;
    *node = (struct oa_node){ t->last, backward, saved };
    t->last = node;
}

void oa_tape_backward(oa_tape *t)
{
    for (struct oa_node *n = t->last; n && oa_status(t->context) == OA_OK; n = n->before)
        n->backward(t, n->saved);
}

const void *oa_gradient_of(const oa_tape *t, const oa_tensor *y)
{
    if (!y->base)
        return y->gradient;
    return y->base->gradient ? oa_act_at(t->device, y->base->gradient, y->first) : NULL;
}

void *oa_gradient_begin(oa_tape *t, oa_tensor *x)
{
    if (!x || !x->wants_gradient)
        return NULL;
    if (!x->gradient)
        return x->gradient = take_matrix(t, x->rows, x->ld);
    t->scratch = oa_arena_mark(&t->arena);
    void *addend = take_matrix(t, x->rows, x->ld);
    t->scratch_end = oa_arena_mark(&t->arena);
    return addend;
}

void oa_gradient_end(oa_tape *t, oa_tensor *x, void *written)
{
    if (!written || written == x->gradient)
        return;
    t->device->ops->add(t->device, x->rows * x->ld, x->gradient, written, x->gradient);
    if (oa_arena_mark(&t->arena) == t->scratch_end)
        oa_arena_release(&t->arena, t->scratch);
}

struct oa_dropout oa_dropout_site(oa_tape *t, double p)
{
    struct oa_stream stream = oa_stream_child(t->step, t->sites++);
    return (struct oa_dropout){ .keep = t->train ? 1 - p : 1, .stream = stream };
}
