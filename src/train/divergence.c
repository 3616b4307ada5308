/* SPDX-License-Identifier: Apache-2.0
 * Finds the first operation of a diverged training step. A step is a function of the weights, which
 * have not changed since: its micro-batches are run again, operation by operation, until one makes
 * a number that is not finite; first forward, then backward. */
#include "train/divergence.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

struct finding {
    bool found, backward;
    struct oa_trace trace;
};

static enum oa_error trace_micro_batch(const struct oa_step *s, long micro, struct finding *f)
{
    struct oa_batch batch;
    OA_TRY(oa_batches_random(s->batches, (uint64_t)s->step, s->accumulate, micro, &batch));
    oa_tape_reset(s->tape, true, true, oa_stream_child(s->stream, (uint64_t)micro));
    double loss = oa_model_loss(s->tape, s->model, &batch, s->scale);
    OA_TRY(oa_status(s->model->context));
    f->found = oa_trace_forward(s->tape, &f->trace);
    if (!f->found && !isfinite(loss)) {
        f->found = true;
        f->trace =
            (struct oa_trace){ "linear_loss", s->tape->stack, s->tape->place, s->tape->layer };
    }
    if (f->found)
        return OA_OK;
    f->backward = f->found = oa_trace_backward(s->tape, &s->model->store, &f->trace);
    return oa_status(s->model->context);
}

/* "decoder.layers.1.ffn", "decoder.norm", "embedding" */
static void print_trace_place(const struct oa_trace *t, char *out, size_t size)
{
    const char *place = t->place ? t->place : "the model";
    if (t->stack && t->layer >= 0)
        snprintf(out, size, "%s.layers.%d.%s", t->stack, t->layer, place);
    else
        snprintf(out, size, "%s%s%s", t->stack ? t->stack : "", t->stack ? "." : "", place);
}

/* "gelu in decoder.layers.1.ffn". Public operations are called oa_NAME or oa_NAME_op. */
static void print_finding(const struct finding *f, char *out, size_t size)
{
    const char *op = f->trace.op;
    char place[96];
    op += strncmp(op, "oa_", 3) == 0 ? 3 : 0;
    size_t length = strlen(op);
    length -= length > 3 && strcmp(op + length - 3, "_op") == 0 ? 3 : 0;
    print_trace_place(&f->trace, place, sizeof place);
    snprintf(out, size, "%.*s in %s, %s", (int)length, op, place,
             f->backward ? "backward" : "forward");
}

enum oa_error oa_diverged(const struct oa_step *s, bool loss_is_finite)
{
    const struct oa_options *o = &s->model->options;
    struct finding f = { 0 };
    char where[160] = "the sum of the squares of all gradients overflowed";
    long micro = 0;
    oa_store_zero_gradients(&s->model->store);
    for (; micro < o->train_accumulate && !f.found; micro++)
        OA_TRY(trace_micro_batch(s, micro, &f));
    if (f.found)
        print_finding(&f, where, sizeof where);
    return oa_fail(s->model->context, OA_DIVERGED,
                   "step %ld, micro-batch %ld of %ld: the %s is not finite (first: %s). %s",
                   s->step, micro, o->train_accumulate, loss_is_finite ? "gradient" : "loss", where,
                   oa_divergence_advice(o, (char[OA_ADVICE]){ 0 }));
}
