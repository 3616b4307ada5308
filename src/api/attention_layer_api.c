/* SPDX-License-Identifier: Apache-2.0
 * One attention layer for programs: a store, a tape and the layer of the attention folder behind
 * arrays of reals. */
#include "api/layer_weights.h"

#include <string.h>

/* A forward call and what its backward call needs. */
struct oa_attention_pass {
    oa_attention *attention;
    oa_tape tape;
    oa_tensor *x, *memory, *y; /* y NULL: there was no forward call since the last backward call */
};

struct oa_attention {
    oa_context *context;
    struct oa_attention_form form;
    struct oa_single_layer single;
    struct oa_layer_views views;
    struct oa_attention_pass last; /* of oa_attention_forward */
};

struct oa_attention_state {
    struct oa_attention *attention;
    struct oa_state *state; /* one for each group of heads */
    oa_tape tape;
};

/* ---- opening ---- */

static enum oa_error check_form(oa_context *c, const struct oa_attention_form *f,
                                enum oa_precision *precision)
{
    OA_TRY(oa_check_reserved(c, "oa_attention_form", f->reserved, 4));
    if (f->width < 1 || f->heads < 1 || f->length < 1 || f->width % f->heads)
        return oa_fail(
            c, OA_SHAPE,
            "width %ld, %ld heads, length %ld: each must be positive, and heads divide width",
            f->width, f->heads, f->length);
    if (f->memory_length < 0 || (f->memory_length && !f->cross))
        return oa_fail(c, OA_SHAPE,
                       "memory_length is %ld: give 0 or more, and 0 without cross-attention",
                       f->memory_length);
    if (!oa_precision_parse(f->precision ? f->precision : "f32", precision))
        return oa_fail(c, OA_ARGUMENT, "the precision is \"%s\"; choose f32, bf16 or f64",
                       f->precision);
    return OA_OK;
}

static enum oa_error open_layer(struct oa_attention *a, const char *spec)
{
    enum oa_precision precision;
    const struct oa_attention_form *f = &a->form;
    OA_TRY(oa_status(a->context));
    OA_TRY(check_form(a->context, f, &precision));
    OA_TRY(oa_single_layer_open(a->context, spec, precision, false, &a->single));
    struct oa_layer_shape shape = oa_equal_heads_shape(f->width, f->heads, f->length);
    shape.memory_length = f->memory_length ? f->memory_length : f->length;
    shape.causal = f->causal != 0;
    shape.cross = f->cross != 0;
    shape.bias = f->bias != 0;
    if (a->single.spec.layers > 1)
        return oa_fail(a->context, OA_ARGUMENT, "the attention has %d layers; give one",
                       a->single.spec.layers);
    OA_TRY(oa_single_layer_layer(&a->single, 0, &shape));
    OA_TRY(oa_layer_views_open(&a->views, &a->single, f->seed));
    a->last.attention = a;
    oa_tape_init(&a->last.tape, a->single.device);
    return oa_status(a->context);
}

oa_attention *oa_attention_open(oa_context *c, const char *spec,
                                const struct oa_attention_form *form)
{
    struct oa_attention *a = oa_alloc(c, sizeof *a);
    if (!a)
        return NULL;
    a->context = c;
    a->form = *form;
    if (open_layer(a, spec) == OA_OK)
        return a;
    oa_attention_close(a);
    return NULL;
}

void oa_attention_close(oa_attention *a)
{
    if (!a)
        return;
    oa_layer_views_close(&a->views);
    if (a->last.attention)
        oa_tape_free(&a->last.tape);
    oa_single_layer_close(&a->single);
    oa_free(a);
}

/* ---- running ---- */

/* Reals of the caller as acts in the tape's arena; also where both are the same type they are
 * copied, because a tape keeps what it was given. */
static void *take_in(oa_tape *t, const void *x, long count)
{
    struct oa_device *d = t->device;
    void *act = oa_tape_take(t, (size_t)count * d->numbers.act_size);
    if (act)
        oa_acts_upload(d, count, x, act);
    return act;
}

static oa_tensor *take_tensor(oa_tape *t, const void *x, long rows, long width, bool gradient)
{
    const void *act = take_in(t, x, rows * width);
    return act ? oa_tensor_from(t, act, rows, width, width, gradient) : NULL;
}

static enum oa_error check_memory(const struct oa_attention *a, const struct oa_attention_input *in)
{
    long longest = a->single.layer.shape.memory_length;
    if (!a->form.cross != !in->memory)
        return oa_fail(a->context, OA_ARGUMENT,
                       a->form.cross ? "cross-attention: give a memory"
                                     : "self-attention has no memory; open it with form.cross");
    if (in->memory && (in->memory_tokens < 1 || in->memory_tokens > longest))
        return oa_fail(a->context, OA_SHAPE, "a memory of %ld tokens: give 1 to %ld",
                       in->memory_tokens, longest);
    return OA_OK;
}

static enum oa_error check_call(const struct oa_attention *a, const struct oa_attention_input *in)
{
    OA_TRY(oa_status(a->context));
    OA_TRY(oa_check_reserved(a->context, "oa_attention_input", in->reserved, 4));
    if (in->batch < 1 || in->tokens < 1 || in->tokens > a->form.length)
        return oa_fail(a->context, OA_SHAPE,
                       "%ld sequences of %ld tokens: give at least one of 1 to %ld", in->batch,
                       in->tokens, a->form.length);
    OA_TRY(check_memory(a, in));
    long most = in->memory ? in->memory_tokens : in->tokens;
    for (long i = 0; in->lengths && i < in->batch; i++)
        if (in->lengths[i] < 0 || in->lengths[i] > most)
            return oa_fail(a->context, OA_SHAPE, "length %d of sequence %ld: give 0 to %ld",
                           in->lengths[i], i, most);
    return OA_OK;
}

/* The caller's arrays as what the layer reads; *out is good when the context is. The backward call
 * reads lengths too, which may be the caller's no more. */
static void take_input(const struct oa_attention *a, oa_tape *t,
                       const struct oa_attention_input *in, bool gradients,
                       struct oa_layer_input *out)
{
    long width = a->form.width;
    size_t bytes = (size_t)in->batch * sizeof *in->lengths;
    int32_t *lengths = in->lengths ? oa_tape_take_host(t, bytes) : NULL;
    if (lengths)
        memcpy(lengths, in->lengths, bytes);
    *out = (struct oa_layer_input){ .batch = in->batch,
                                    .queries = in->tokens,
                                    .keys = in->memory ? in->memory_tokens : in->tokens,
                                    .lengths = lengths };
    out->x = take_tensor(t, in->x, in->batch * in->tokens, width, gradients);
    if (in->memory)
        out->memory = take_tensor(t, in->memory, in->batch * in->memory_tokens, width, gradients);
}

enum oa_error oa_attention_pass_forward(oa_attention_pass *p, const struct oa_attention_input *in,
                                        void *y)
{
    oa_attention *a = p->attention;
    struct oa_layer_input taken;
    OA_TRY(check_call(a, in));
    oa_tape_reset(&p->tape, true, false, (struct oa_stream){ 0 });
    p->y = NULL;
    take_input(a, &p->tape, in, true, &taken);
    OA_TRY(oa_status(a->context));
    oa_tensor *out = oa_layer_forward(&p->tape, &a->single.layer, &taken);
    OA_TRY(oa_status(a->context));
    oa_acts_download(a->single.device, out->rows * out->cols, out->data, y);
    p->x = taken.x;
    p->memory = taken.memory;
    p->y = out;
    return OA_OK;
}

/* What nothing depends on has no gradient: zeros. */
static void give_gradient(struct oa_attention *a, const oa_tensor *x, void *dx)
{
    if (!x || !dx)
        return;
    if (x->gradient)
        oa_acts_download(a->single.device, x->rows * x->cols, x->gradient, dx);
    else
        memset(dx, 0, (size_t)(x->rows * x->cols) * a->single.device->numbers.real_size);
}

enum oa_error oa_attention_pass_backward(oa_attention_pass *p, const void *dy, void *dx,
                                         void *dmemory)
{
    oa_attention *a = p->attention;
    OA_TRY(oa_status(a->context));
    if (!p->y)
        return oa_fail(a->context, OA_ARGUMENT, "backward needs a forward call before it");
    if (dmemory && !p->memory)
        return oa_fail(a->context, OA_ARGUMENT,
                       "dmemory must be NULL: self-attention has no memory");
    p->y->gradient = take_in(&p->tape, dy, p->y->rows * p->y->cols);
    OA_TRY(oa_status(a->context));
    oa_tape_backward(&p->tape);
    OA_TRY(oa_status(a->context));
    p->y = NULL;
    oa_view_fetch(&a->views.gradients);
    give_gradient(a, p->x, dx);
    give_gradient(a, p->memory, dmemory);
    return OA_OK;
}

oa_attention_pass *oa_attention_pass_open(oa_attention *a)
{
    struct oa_attention_pass *p = oa_alloc(a->context, sizeof *p);
    if (!p)
        return NULL;
    p->attention = a;
    oa_tape_init(&p->tape, a->single.device);
    return p;
}

void oa_attention_pass_close(oa_attention_pass *p)
{
    if (!p)
        return;
    oa_tape_free(&p->tape);
    oa_free(p);
}

enum oa_error oa_attention_forward(oa_attention *a, const struct oa_attention_input *in, void *y)
{
    return oa_attention_pass_forward(&a->last, in, y);
}

enum oa_error oa_attention_backward(oa_attention *a, const void *dy, void *dx, void *dmemory)
{
    return oa_attention_pass_backward(&a->last, dy, dx, dmemory);
}

/* ---- decoding ---- */

oa_attention_state *oa_attention_state_open(oa_attention *a)
{
    struct oa_attention_state *s = oa_alloc(a->context, sizeof *s);
    if (!s)
        return NULL;
    s->attention = a;
    oa_tape_init(&s->tape, a->single.device);
    if (oa_layer_state_open(&a->single.layer, a->form.length, &s->state) == OA_OK)
        return s;
    oa_attention_state_close(s);
    return NULL;
}

void oa_attention_state_close(oa_attention_state *s)
{
    if (!s)
        return;
    oa_layer_state_close(&s->attention->single.layer, s->state);
    oa_tape_free(&s->tape);
    oa_free(s);
}

void oa_attention_state_reset(oa_attention_state *s)
{
    oa_layer_state_reset(&s->attention->single.layer, s->state);
}

enum oa_error oa_attention_state_copy(const oa_attention_state *from, oa_attention_state *to)
{
    return oa_layer_state_copy(&from->attention->single.layer, from->state, to->state);
}

enum oa_error oa_attention_step(oa_attention_state *s, const struct oa_attention_input *in, void *y)
{
    struct oa_attention *a = s->attention;
    struct oa_layer_input taken;
    OA_TRY(check_call(a, in));
    if (in->batch != 1)
        return oa_fail(a->context, OA_SHAPE, "a step reads one sequence, but batch is %ld",
                       in->batch);
    oa_tape_reset(&s->tape, false, false, (struct oa_stream){ 0 });
    take_input(a, &s->tape, in, false, &taken);
    OA_TRY(oa_status(a->context));
    taken.state = s->state;
    const oa_tensor *out = oa_layer_forward(&s->tape, &a->single.layer, &taken);
    OA_TRY(oa_status(a->context));
    oa_acts_download(a->single.device, out->rows * out->cols, out->data, y);
    return OA_OK;
}

/* ---- parameters ---- */

int oa_attention_weights(oa_attention *a, int i, struct oa_weights *out)
{
    return oa_layer_views_weights(&a->views, &a->single.store, i, out);
}

void oa_attention_changed(oa_attention *a)
{
    oa_layer_views_changed(&a->views, &a->single.store);
}

void oa_attention_zero_gradients(oa_attention *a)
{
    oa_layer_views_zero_gradients(&a->views, &a->single.store);
}
