/* SPDX-License-Identifier: Apache-2.0
 * One attention layer for programs: a store, a tape and the layer of the attention folder behind arrays of float. */
#include "api/api.h"

#include <string.h>

struct oa_attention {
    oa_context *context;
    struct oa_attention_form form;
    struct oa_device *device;
    struct oa_spec spec;
    struct oa_store store;
    struct oa_layer layer;
    oa_tape tape;
    oa_tensor *x, *y; /* of the last forward call; NULL: there was none */
};

struct oa_attention_state {
    struct oa_attention *attention;
    struct oa_state *state; /* one for each group of heads */
    oa_tape tape;
};

/* ---- opening ---- */

static enum oa_error check_form(oa_context *c, const struct oa_attention_form *f, enum oa_precision *precision)
{
    if (f->width < 1 || f->heads < 1 || f->length < 1 || f->width % f->heads)
        return oa_fail(c, OA_SHAPE, "width %ld, %ld heads, length %ld: each must be positive, and heads divide width",
                       f->width, f->heads, f->length);
    if (!oa_precision_parse(f->precision ? f->precision : "f32", precision) || *precision == OA_PRECISION_F64)
        return oa_fail(c, OA_ARGUMENT, "the precision is \"%s\"; choose f32 or bf16", f->precision);
    return OA_OK;
}

static enum oa_error open_layer(struct oa_attention *a)
{
    struct oa_layer_shape shape = { .width = a->form.width,
                                    .heads = a->form.heads,
                                    .head_width = a->form.width / a->form.heads,
                                    .value_width = a->form.width / a->form.heads,
                                    .length = a->form.length,
                                    .memory_length = a->form.length,
                                    .causal = a->form.causal != 0,
                                    .bias = a->form.bias != 0 };
    if (a->spec.layers > 1)
        return oa_fail(a->context, OA_ARGUMENT, "this is one layer, and the attention has %d", a->spec.layers);
    OA_TRY(oa_layer_open(a->context, &a->spec, 0, &shape, &a->store, "", &a->layer));
    return oa_store_allocate(&a->store, a->form.seed, true);
}

static enum oa_error open_parts(struct oa_attention *a, const char *spec)
{
    enum oa_precision precision;
    OA_TRY(oa_status(a->context));
    OA_TRY(check_form(a->context, &a->form, &precision));
    OA_TRY(oa_device_open(a->context, precision, false, &a->device));
    oa_store_init(&a->store, a->device);
    oa_tape_init(&a->tape, a->device);
    OA_TRY(oa_spec_parse(a->context, spec, &a->spec));
    return open_layer(a);
}

oa_attention *oa_attention_open(oa_context *c, const char *spec, const struct oa_attention_form *form)
{
    struct oa_attention *a = oa_alloc(c, sizeof *a);
    if (!a)
        return NULL;
    a->context = c;
    a->form = *form;
    if (open_parts(a, spec) == OA_OK)
        return a;
    oa_attention_close(a);
    return NULL;
}

void oa_attention_close(oa_attention *a)
{
    if (!a)
        return;
    oa_layer_close(&a->layer);
    oa_spec_free(&a->spec);
    if (a->device) {
        oa_tape_free(&a->tape);
        oa_store_free(&a->store);
    }
    oa_device_close(a->device);
    oa_free(a);
}

/* ---- running ---- */

/* Floats of the caller as acts in the tape's arena; in f32 they are copied, because a tape keeps what it was given. */
static void *take_in(oa_tape *t, const float *x, long count)
{
    struct oa_device *d = t->device;
    void *act = oa_tape_take(t, (size_t)count * d->kernels.act_size);
    if (act)
        d->ops->act_from_real(d, count, x, act);
    return act;
}

static enum oa_error check_call(struct oa_attention *a, long batch, long tokens)
{
    OA_TRY(oa_status(a->context));
    if (batch < 1 || tokens < 1 || tokens > a->form.length)
        return oa_fail(a->context, OA_SHAPE, "%ld sequences of %ld tokens: give at least one of 1 to %ld", batch,
                       tokens, a->form.length);
    return OA_OK;
}

enum oa_error oa_attention_forward(oa_attention *a, long batch, long tokens, const int32_t *lengths, const float *x,
                                   float *y)
{
    long rows = batch * tokens, width = a->form.width;
    OA_TRY(check_call(a, batch, tokens));
    oa_tape_reset(&a->tape, true, false, (struct oa_stream){ 0 });
    a->x = a->y = NULL;
    const void *act = take_in(&a->tape, x, rows * width);
    OA_TRY(oa_status(a->context));
    oa_tensor *in = oa_tensor_from(&a->tape, act, rows, width, width, true);
    struct oa_layer_input input = { .x = in, .batch = batch, .queries = tokens, .keys = tokens, .lengths = lengths };
    oa_tensor *out = oa_layer_forward(&a->tape, &a->layer, &input);
    OA_TRY(oa_status(a->context));
    a->device->ops->real_from_act(a->device, rows * width, out->data, y);
    a->x = in;
    a->y = out;
    return OA_OK;
}

static enum oa_error give_out(struct oa_attention *a, float *dx)
{
    long count = a->x->rows * a->x->cols;
    if (!dx)
        return OA_OK;
    if (a->x->gradient)
        a->device->ops->real_from_act(a->device, count, a->x->gradient, dx);
    else
        memset(dx, 0, (size_t)count * sizeof *dx);
    return OA_OK;
}

enum oa_error oa_attention_backward(oa_attention *a, const float *dy, float *dx)
{
    OA_TRY(oa_status(a->context));
    if (!a->y)
        return oa_fail(a->context, OA_ARGUMENT, "a backward call follows one forward call");
    a->y->gradient = take_in(&a->tape, dy, a->y->rows * a->y->cols);
    OA_TRY(oa_status(a->context));
    oa_tape_backward(&a->tape);
    OA_TRY(oa_status(a->context));
    a->y = NULL;
    return give_out(a, dx);
}

/* ---- decoding ---- */

oa_attention_state *oa_attention_state_open(oa_attention *a)
{
    struct oa_attention_state *s = oa_alloc(a->context, sizeof *s);
    if (!s)
        return NULL;
    s->attention = a;
    oa_tape_init(&s->tape, a->device);
    if (oa_layer_state_open(&a->layer, a->form.length, &s->state) == OA_OK)
        return s;
    oa_attention_state_close(s);
    return NULL;
}

void oa_attention_state_close(oa_attention_state *s)
{
    if (!s)
        return;
    oa_layer_state_close(&s->attention->layer, s->state);
    oa_tape_free(&s->tape);
    oa_free(s);
}

void oa_attention_state_reset(oa_attention_state *s)
{
    oa_layer_state_reset(&s->attention->layer, s->state);
}

enum oa_error oa_attention_state_copy(const oa_attention_state *from, oa_attention_state *to)
{
    return oa_layer_state_copy(&from->attention->layer, from->state, to->state);
}

enum oa_error oa_attention_step(oa_attention_state *s, long tokens, const float *x, float *y)
{
    struct oa_attention *a = s->attention;
    long width = a->form.width;
    OA_TRY(check_call(a, 1, tokens));
    oa_tape_reset(&s->tape, false, false, (struct oa_stream){ 0 });
    const void *act = take_in(&s->tape, x, tokens * width);
    OA_TRY(oa_status(a->context));
    struct oa_layer_input in = { .batch = 1, .queries = tokens, .keys = tokens, .state = s->state };
    in.x = oa_tensor_from(&s->tape, act, tokens, width, width, false);
    const oa_tensor *out = oa_layer_forward(&s->tape, &a->layer, &in);
    OA_TRY(oa_status(a->context));
    a->device->ops->real_from_act(a->device, tokens * width, out->data, y);
    return OA_OK;
}

/* ---- parameters ---- */

int oa_attention_weights(oa_attention *a, int i, struct oa_weights *out)
{
    if (i < 0 || i >= a->store.count)
        return 0;
    struct oa_parameter *p = a->store.parameter[i];
    *out = (struct oa_weights){
        .name = p->name, .dims = p->dims, .count = p->count, .value = p->value, .gradient = p->gradient
    };
    memcpy(out->dim, p->dim, sizeof out->dim);
    return 1;
}

void oa_attention_changed(oa_attention *a)
{
    oa_store_refresh(&a->store);
}

void oa_attention_zero_gradients(oa_attention *a)
{
    oa_store_zero_gradients(&a->store);
}
