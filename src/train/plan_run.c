/* SPDX-License-Identifier: Apache-2.0
 * What a run will cost: training steps on the plan device, which computes nothing. */
#include "device/meter.h"
#include "train/train.h"

#include <string.h>

void oa_step_once(struct oa_model *m, const struct oa_options *o, const struct oa_batch *batch, double scale,
                  oa_tape *t)
{
    struct oa_device *d = m->device;
    oa_meter_at(d, NULL, OA_OPTIMISER, false);
    oa_store_zero_gradients(&m->store);
    for (long i = 0; i < o->train_accumulate; i++) {
        oa_tape_reset(t, true, true, (struct oa_stream){ 0 });
        oa_model_loss(t, m, batch, scale);
        oa_tape_backward(t);
    }
    oa_meter_at(d, NULL, OA_OPTIMISER, false);
    d->ops->sum_squares(d, m->store.updated, m->store.gradients);
    oa_optimizer_step(&m->store, o, 1, 1);
    oa_model_after_step(m, 1);
}

static void count(struct oa_device *d, struct oa_model *m, const struct oa_options *o,
                  const struct oa_step_shape *shape, oa_tape *t, struct oa_plan *out)
{
    d->flops = d->bytes = d->computed = 0;
    oa_step_once(m, o, &shape->typical, 1, t);
    *out = (struct oa_plan){ .vocabulary = m->vocabulary,
                             .trainable = (double)m->store.trainable,
                             .frozen = (double)m->store.frozen,
                             .flops = d->flops,
                             .bytes = d->bytes,
                             .computed = d->computed,
                             .tokens = shape->tokens };
    if (memcmp(&shape->typical, &shape->largest, sizeof shape->typical) != 0)
        oa_step_once(m, o, &shape->largest, 1, t);
    out->memory_parameters = (double)m->store.arena.peak;
    out->memory_activations = (double)t->arena.peak;
    out->memory_scratch = (double)d->scratch.peak;
}

static enum oa_error measure(struct oa_device *d, const struct oa_options *o, const struct oa_model_form *form,
                             const struct oa_step_shape *shape, struct oa_plan *out)
{
    struct oa_model *m;
    OA_TRY(oa_model_open(d, o, form, true, &m));
    enum oa_error e = oa_task_check_model(m);
    oa_tape t;
    oa_tape_init(&t, d);
    if (e == OA_OK)
        count(d, m, o, shape, &t, out);
    oa_tape_free(&t);
    oa_model_close(m);
    return e == OA_OK ? oa_status(d->context) : e;
}

enum oa_error oa_plan_make(oa_context *c, const struct oa_options *o, const struct oa_model_form *form,
                           const struct oa_step_shape *shape, struct oa_plan *out)
{
    struct oa_device *d;
    enum oa_error e = oa_device_open(c, o->train_precision, true, &d);
    if (e == OA_OK)
        e = measure(d, o, form, shape, out);
    oa_device_close(d);
    return e;
}

enum oa_error oa_plan_workload(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                               struct oa_plan *out)
{
    struct oa_step_shape shape;
    w->task->shape(o, w, &shape);
    return oa_plan_make(c, o, &w->form, &shape, out);
}
