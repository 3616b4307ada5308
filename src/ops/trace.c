/* SPDX-License-Identifier: Apache-2.0
 * Diagnosis: the first operation with a non-finite result. Slow; runs only after one occurred. */
#include "ops/tape.h"

#include <math.h>

static bool finite_rows(const oa_tape *t, const oa_tensor *x, const void *data)
{
    return !data || t->device->ops->finite(t->device, true, x->rows, x->cols, data, x->ld);
}

bool oa_trace_forward(const oa_tape *t, struct oa_trace *out)
{
    bool found = false;
    /* Newest first: the last one found is the oldest. */
    for (const struct oa_node *n = t->last; n; n = n->before) {
        bool finite = !n->wrote || finite_rows(t, n->wrote, n->wrote->data);
        for (const oa_tensor *x = n->made; x && finite; x = x->made_before)
            finite = x->lent || finite_rows(t, x, x->data);
        if (!finite) {
            *out = n->trace;
            found = true;
        }
    }
    return found;
}

/* Of tensors of `newest` and older nodes. */
static bool finite_gradients(const oa_tape *t, const struct oa_node *newest)
{
    for (const struct oa_node *n = newest; n; n = n->before)
        for (const oa_tensor *x = n->made; x; x = x->made_before)
            if (!finite_rows(t, x, x->gradient))
                return false;
    return true;
}

static bool finite_parameters(const oa_tape *t, const struct oa_store *s)
{
    struct oa_device *d = t->device;
    /* The sum is quick; if it overflows, elements are checked. */
    return isfinite(d->ops->sum_squares(d, s->updated, s->gradients)) ||
           d->ops->finite(d, false, 1, s->updated, s->gradients, s->updated);
}

bool oa_trace_backward(oa_tape *t, const struct oa_store *s, struct oa_trace *out)
{
    *out = (struct oa_trace){ "linear_loss", t->stack, t->place, t->layer };
    if (!finite_gradients(t, t->last) || !finite_parameters(t, s))
        return true;
    for (struct oa_node *n = t->last; n && oa_status(t->context) == OA_OK; n = n->before) {
        oa_node_run(t, n);
        *out = n->trace;
        if (!finite_gradients(t, n->before) || !finite_parameters(t, s))
            return true;
    }
    return false;
}
