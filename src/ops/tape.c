/* SPDX-License-Identifier: Apache-2.0
 * Tensors and the eager tape, a list of nodes from the newest to the oldest.
 *
 * After a node has run backward, nothing reads the tensors allocated since the node before it:
 * their consumers are newer and done. Their values and gradients are reused for gradients of older
 * tensors, so that a backward pass needs little more memory than the forward pass. */
#include "ops/tape.h"

#include "device/wrappers/meter.h"

/* Memory of a matrix that nothing reads any more, for reuse. */
struct oa_spare {
    struct oa_spare *next;
    void *memory;
    size_t bytes;
};

void oa_tape_init(oa_tape *t, struct oa_device *d)
{
    *t = (oa_tape){ .context = d->context, .device = d };
    oa_device_arena(&t->arena, d);
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
    t->made = NULL;
    t->spares = NULL;
    t->record = record;
    t->train = train;
    t->step = step;
    t->sites = 0;
    oa_tape_at(t, NULL, NULL, -1);
}

void oa_tape_wrote(oa_tape *t, oa_tensor *y)
{
    if (!t->last || !y)
        return;
    (y->base ? y->base : y)->lent = true;
    t->last->wrote = y;
}

void oa_tape_at(oa_tape *t, const char *stack, const char *place, int layer)
{
    t->stack = stack;
    t->place = place;
    t->layer = layer;
    oa_meter_at(t->device, stack, place, false);
}

void *oa_tape_take(oa_tape *t, size_t bytes)
{
    return oa_arena_take(&t->arena, bytes);
}

const void *oa_tape_upload(oa_tape *t, const void *host, size_t bytes)
{
    if (!host || t->device->dry || t->device->ops->shared)
        return host;
    void *copy = oa_tape_take(t, bytes);
    if (copy)
        t->device->ops->upload(t->device, bytes, host, copy);
    return copy;
}

void *oa_tape_take_host(oa_tape *t, size_t bytes)
{
    return oa_arena_take(&t->nodes, bytes);
}

oa_tensor *oa_tensor_from(oa_tape *t, const void *act, long rows, long cols, long ld,
                          bool wants_gradient)
{
    oa_tensor *x = oa_tape_take_host(t, sizeof *x);
    if (x)
        *x = (oa_tensor){ .data = (void *)(uintptr_t)act,
                          .rows = rows,
                          .cols = cols,
                          .ld = ld,
                          .wants_gradient = wants_gradient && t->record };
    return x;
}

static size_t matrix_bytes(const oa_tape *t, const oa_tensor *x)
{
    return (size_t)(x->rows * x->ld) * t->device->numbers.act_size;
}

oa_tensor *oa_tensor_new(oa_tape *t, long rows, long cols)
{
    oa_tensor *x = oa_tensor_from(t, NULL, rows, cols, cols, true);
    if (!x || !(x->data = oa_tape_take(t, matrix_bytes(t, x))))
        return NULL;
    x->made_before = t->made;
    t->made = x;
    return x;
}

oa_tensor *oa_columns(oa_tape *t, oa_tensor *x, long first, long count)
{
    if (!x)
        return NULL;
    oa_tensor *view = oa_tensor_from(t, oa_act_at(t->device, x->data, first), x->rows, count, x->ld,
                                     x->wants_gradient);
    if (view) {
        view->base = x;
        view->first = first;
    }
    return view;
}

void oa_record_as(oa_tape *t, const char *op, oa_backward *backward, void *saved)
{
    if (!t->record || !saved)
        return;
    struct oa_node *node = oa_tape_take_host(t, sizeof *node);
    if (!node)
        return;
    *node = (struct oa_node){ t->last, backward, saved,
                              t->made, NULL,     { op, t->stack, t->place, t->layer } };
    t->last = node;
    t->made = NULL;
}

/* ---- memory of the backward pass ---- */

static void tape_add_spare(oa_tape *t, void *memory, size_t bytes)
{
    struct oa_spare *s = oa_tape_take_host(t, sizeof *s);
    if (!s)
        return;
    if (t->arena.poison && !t->arena.dry)
        t->device->ops->fill(t->device, bytes, 0xff, memory);
    *s = (struct oa_spare){ t->spares, memory, bytes };
    t->spares = s;
}

/* Memory for a matrix like x, spare or new. */
static void *tape_take_like(oa_tape *t, const oa_tensor *x)
{
    size_t bytes = matrix_bytes(t, x);
    for (struct oa_spare **link = &t->spares; *link; link = &(*link)->next) {
        if ((*link)->bytes == bytes) {
            void *memory = (*link)->memory;
            *link = (*link)->next;
            return memory;
        }
    }
    return oa_tape_take(t, bytes);
}

void oa_node_run(oa_tape *t, struct oa_node *n)
{
    oa_meter_at(t->device, n->trace.stack, n->trace.place, true);
    n->backward(t, n->saved);
    for (oa_tensor *x = n->made; x; x = x->made_before) {
        tape_add_spare(t, x->data, matrix_bytes(t, x));
        if (x->owns_gradient)
            tape_add_spare(t, x->gradient, matrix_bytes(t, x));
    }
}

void oa_tape_backward(oa_tape *t)
{
    oa_tape_backward_with(t, NULL, NULL);
}

void oa_tape_backward_with(oa_tape *t, oa_node_hook *hook, void *argument)
{
    for (struct oa_node *n = t->last; n && oa_status(t->context) == OA_OK; n = n->before) {
        if (hook)
            hook(argument, true);
        oa_node_run(t, n);
        if (hook)
            hook(argument, false);
    }
}

/* FNV-1a. Names are string literals, so their addresses are hashed. */
uint64_t oa_tape_signature(const oa_tape *t)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const struct oa_node *n = t->last; n; n = n->before) {
        const uint64_t words[] = { (uintptr_t)n->backward, (uintptr_t)n->trace.stack,
                                   (uintptr_t)n->trace.place, (uint64_t)n->trace.layer };
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            hash = (hash ^ words[i]) * 0x100000001b3;
    }
    return hash;
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
    void *written = tape_take_like(t, x);
    if (!x->gradient) {
        x->gradient = written;
        x->owns_gradient = written != NULL;
    }
    return written;
}

void oa_gradient_end(oa_tape *t, oa_tensor *x, void *written)
{
    if (!written || written == x->gradient)
        return;
    t->device->ops->binary(t->device, OA_BINARY_ADD, x->rows * x->ld, 1, x->gradient, written,
                           x->gradient);
    tape_add_spare(t, written, matrix_bytes(t, x));
}

struct oa_dropout oa_dropout_site(oa_tape *t, double p)
{
    struct oa_stream stream = oa_stream_child(t->step, t->sites++);
    return (struct oa_dropout){ .keep = t->train ? 1 - p : 1, .stream = stream };
}
