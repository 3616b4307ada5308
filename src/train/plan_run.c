/* SPDX-License-Identifier: Apache-2.0
 * The cost of a run: training steps on the plan device, which computes nothing. */
#include "device/wrappers/meter.h"
#include "train/teacher.h"
#include "train/train.h"

#include <string.h>

/* ---- a step ---- */

struct single_step {
    struct oa_model *model;
    const struct oa_batch *batch;
    double scale, share;
    oa_tape *tape;
    struct oa_teacher *teacher; /* or NULL */
};

static enum oa_error plan_micro_batch(void *argument, long micro)
{
    const struct single_step *s = argument;
    struct oa_device *d = s->model->device;
    (void)micro;
    oa_meter_at(d, NULL, OA_OPTIMISER, false);
    oa_store_zero_gradients(&s->model->store);
    oa_tape_reset(s->tape, true, true, (struct oa_stream){ 0 });
    if (s->teacher && s->teacher->model)
        oa_teacher_loss(s->teacher, s->tape, s->batch, s->scale, s->share);
    else
        oa_model_loss(s->tape, s->model, s->batch, s->scale);
    oa_tape_backward(s->tape);
    oa_meter_at(d, NULL, OA_OPTIMISER, false);
    return OA_OK;
}

void oa_step_once(struct oa_model *m, const struct oa_options *o, const struct oa_batch *batch,
                  double scale, oa_tape *t, struct oa_teacher *teacher, struct oa_shards *shards)
{
    struct single_step step = { m, batch, scale, 1 / (double)o->train_accumulate, t, teacher };
    double squares;
    oa_tree_sum_make(shards->sum, plan_micro_batch, &step);
    oa_shards_squares(shards, &squares);
    oa_shards_step(shards, o, 1, oa_learning_rate(o, 1), 1);
    oa_model_after_step(m, 1);
}

/* ---- a plan ---- */

static void count_planned_step(struct oa_model *m, const struct oa_options *o,
                               const struct oa_step_shape *shape, oa_tape *t,
                               struct oa_teacher *teacher, struct oa_shards *shards,
                               struct oa_plan *out)
{
    const struct oa_tree_sum *sum = shards->sum;
    struct oa_device *d = m->device;
    const struct oa_store *s = &m->store;
    d->flops = d->bytes = d->computed = 0;
    oa_step_once(m, o, &shape->typical, 1, t, teacher, shards);
    *out = (struct oa_plan){ .vocabulary = m->vocabulary,
                             .trainable = (double)s->trainable,
                             .frozen = (double)s->frozen,
                             .flops = d->flops,
                             .bytes = d->bytes,
                             .computed = d->computed,
                             .tokens = shape->tokens };
    if (memcmp(&shape->typical, &shape->largest, sizeof shape->typical) != 0)
        oa_step_once(m, o, &shape->largest, 1, t, teacher, shards);
    out->memory_parameters = (double)(s->arena.peak + s->work.peak + sum->arena.peak);
    if (teacher->model)
        out->memory_parameters +=
            (double)(teacher->model->store.arena.peak + teacher->tape.arena.peak);
    out->memory_activations = (double)t->arena.peak;
    out->memory_scratch = (double)d->scratch.peak;
    oa_tree_traffic(sum, &out->traffic);
}

/* The plan of the first of `ranks` ranks; the others do as much. */
static enum oa_error plan_on_device(struct oa_device *d, const struct oa_options *o,
                                    const struct oa_model_form *form,
                                    const struct oa_step_shape *shape, long ranks,
                                    struct oa_plan *out)
{
    oa_tape tape;
    struct oa_model *m;
    struct oa_tree_sum sum = { 0 };
    struct oa_shards shards = { 0 };
    struct oa_teacher teacher = { 0 };
    struct oa_cluster several = { .context = d->context, .size = (int)ranks };
    OA_TRY(oa_shards_model(d, o, form, ranks, &m));
    enum oa_error e = oa_task_check_model(m);
    oa_tape_init(&tape, d);
    if (e == OA_OK)
        e = oa_teacher_open(m, NULL, &teacher);
    if (e == OA_OK)
        e = oa_shards_open(m, ranks > 1 ? &several : NULL, &sum, &shards);
    if (e == OA_OK)
        count_planned_step(m, o, shape, &tape, &teacher, &shards, out);
    oa_teacher_close(&teacher);
    oa_shards_close(&shards);
    oa_tree_sum_close(&sum);
    oa_tape_free(&tape);
    oa_model_close(m);
    return e == OA_OK ? oa_status(d->context) : e;
}

enum oa_error oa_plan_make(oa_context *c, const struct oa_options *o,
                           const struct oa_model_form *form, const struct oa_step_shape *shape,
                           struct oa_plan *out)
{
    return oa_plan_rank(c, o, form, shape, 1, out);
}

enum oa_error oa_plan_rank(oa_context *c, const struct oa_options *o,
                           const struct oa_model_form *form, const struct oa_step_shape *shape,
                           long ranks, struct oa_plan *out)
{
    struct oa_device *d;
    enum oa_error e = oa_device_open(c, o->train_precision, true, &d);
    if (e == OA_OK)
        e = plan_on_device(d, o, form, shape, ranks, out);
    oa_device_close(d);
    return e;
}

enum oa_error oa_plan_workload(oa_context *c, const struct oa_options *o,
                               const struct oa_workload *w, struct oa_plan *out)
{
    struct oa_step_shape shape;
    OA_TRY(w->task->shape(c, o, w, &shape));
    return oa_plan_make(c, o, &w->form, &shape, out);
}
