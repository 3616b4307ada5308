/* SPDX-License-Identifier: Apache-2.0
 * What a run will cost: training steps on the plan device, which computes nothing. */
#include "cluster/tree_sum.h"
#include "train/train.h"

#include <string.h>

struct planned {
    struct oa_device *device;
    struct oa_model *model;
    const struct oa_options *options;
    const struct oa_batch *batch;
    oa_tape *tape;
    struct oa_tree_sum sum;
};

static enum oa_error micro_batch(void *argument, long micro)
{
    struct planned *p = argument;
    (void)micro;
    oa_store_zero_gradients(&p->model->store);
    oa_tape_reset(p->tape, true, true, (struct oa_stream){ 0 });
    oa_model_loss(p->tape, p->model, p->batch, 1);
    oa_tape_backward(p->tape);
    return OA_OK;
}

static void one_step(struct planned *p, const struct oa_batch *batch)
{
    struct oa_store *s = &p->model->store;
    p->batch = batch;
    oa_tree_sum_make(&p->sum, micro_batch, p);
    p->device->ops->sum_squares(p->device, s->updated, s->gradients);
    oa_optimizer_step(s, p->options, 1, 1);
    oa_model_after_step(p->model, 1);
}

static void count(struct planned *p, const struct oa_step_shape *shape, struct oa_plan *out)
{
    struct oa_device *d = p->device;
    const struct oa_store *s = &p->model->store;
    d->flops = d->bytes = d->computed = 0;
    one_step(p, &shape->typical);
    *out = (struct oa_plan){ .vocabulary = p->model->vocabulary,
                             .trainable = (double)s->trainable,
                             .frozen = (double)s->frozen,
                             .flops = d->flops,
                             .bytes = d->bytes,
                             .computed = d->computed,
                             .tokens = shape->tokens };
    if (memcmp(&shape->typical, &shape->largest, sizeof shape->typical) != 0)
        one_step(p, &shape->largest);
    out->memory_parameters = (double)(s->arena.peak + p->sum.arena.peak);
    out->memory_activations = (double)p->tape->arena.peak;
    out->memory_scratch = (double)d->scratch.peak;
}

/* What the first of so many ranks does; the others do as much. */
static enum oa_error measure(struct oa_device *d, const struct oa_options *o, const struct oa_model_form *form,
                             const struct oa_step_shape *shape, long ranks, struct oa_plan *out)
{
    oa_tape tape;
    struct oa_cluster several = { .context = d->context, .size = (int)ranks };
    struct planned p = { .device = d, .options = o, .tape = &tape };
    OA_TRY(oa_model_open(d, o, form, true, &p.model));
    const struct oa_store *s = &p.model->store;
    enum oa_error e = oa_task_check_model(p.model);
    oa_tape_init(&tape, d);
    if (e == OA_OK)
        e = oa_tree_sum_open(d, ranks > 1 ? &several : NULL, o->train_accumulate, s->gradients, s->live, &p.sum);
    if (e == OA_OK) {
        count(&p, shape, out);
        oa_tree_traffic(&p.sum, &out->traffic);
    }
    oa_tree_sum_close(&p.sum);
    oa_tape_free(&tape);
    oa_model_close(p.model);
    return e == OA_OK ? oa_status(d->context) : e;
}

enum oa_error oa_plan_make(oa_context *c, const struct oa_options *o, const struct oa_model_form *form,
                           const struct oa_step_shape *shape, struct oa_plan *out)
{
    return oa_plan_rank(c, o, form, shape, 1, out);
}

enum oa_error oa_plan_rank(oa_context *c, const struct oa_options *o, const struct oa_model_form *form,
                           const struct oa_step_shape *shape, long ranks, struct oa_plan *out)
{
    struct oa_device *d;
    enum oa_error e = oa_device_open(c, o->train_precision, true, &d);
    if (e == OA_OK)
        e = measure(d, o, form, shape, ranks, out);
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
