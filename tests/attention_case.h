/* SPDX-License-Identifier: Apache-2.0
 * One attention layer with random numbers in it, for tests: opened from a text, run forward and backward, changed
 * between runs. Everything in double outside; the layer runs in the precision of the case. */
#ifndef ORTHANT_ATTENTION_CASE_H
#define ORTHANT_ATTENTION_CASE_H

#include "attention/attention.h"
#include "device/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum attention_mode { BOTH_SIDES, CAUSAL, CROSS, MODES };

/* What is asked for. */
struct attention_setup {
    const char *spec;
    enum attention_mode mode;
    enum oa_precision precision;
    bool bias, padding, rotary;
    long width, heads, batch, queries, keys, length; /* 0 = 8, 2, 2, 6, 5 (6 without memory), 7 */
};

struct attention_case {
    struct attention_setup setup;
    oa_context *context;
    struct oa_spec spec;
    struct oa_device *device;
    struct oa_store store;
    struct oa_layer layer;
    oa_tape tape;
    long B, T, S, D, N;
    double *x, *memory, *dy, *y, *dx, *dmemory; /* memory and dmemory NULL without */
    int32_t *lengths, *words;                   /* lengths NULL without padding */
    double *cosine, *sine;
    bool no_gradients; /* forward only */
};

static inline struct oa_layer_shape attention_shape(const struct attention_case *a)
{
    const struct attention_setup *s = &a->setup;
    return (struct oa_layer_shape){ .width = a->D,
                                    .heads = s->heads,
                                    .head_width = a->D / s->heads,
                                    .value_width = a->D / s->heads,
                                    .length = a->N,
                                    .memory_length = a->N,
                                    .causal = s->mode == CAUSAL,
                                    .cross = s->mode == CROSS,
                                    .bias = s->bias };
}

static inline double *random_numbers(const char *name, long count)
{
    double *out = calloc((size_t)count + 1, sizeof *out);
    for (long i = 0; out && i < count; i++)
        out[i] = oa_random_normal(oa_stream_named(11, name), (uint64_t)i);
    return out;
}

static inline void attention_inputs(struct attention_case *a)
{
    long rows = a->B * a->T, half = a->D / a->setup.heads / 2;
    a->x = random_numbers("x", rows * a->D);
    a->dy = random_numbers("dy", rows * a->D);
    a->y = random_numbers("y", rows * a->D);
    a->dx = random_numbers("dx", rows * a->D);
    if (a->setup.mode == CROSS) {
        a->memory = random_numbers("memory", a->B * a->S * a->D);
        a->dmemory = random_numbers("dmemory", a->B * a->S * a->D);
    }
    a->words = calloc((size_t)rows, sizeof *a->words);
    for (long i = 0; i < rows; i++)
        a->words[i] = (int32_t)(i % a->T * 2 / 3);
    a->lengths = a->setup.padding ? calloc((size_t)a->B, sizeof *a->lengths) : NULL;
    for (long b = 0; a->lengths && b < a->B; b++)
        a->lengths[b] = (int32_t)(b == 0 ? a->S : b == 1 ? a->S - 2 : 0); /* whole, padded, empty */
    a->cosine = a->setup.rotary ? random_numbers("cosine", a->N * half) : NULL;
    a->sine = a->setup.rotary ? random_numbers("sine", a->N * half) : NULL;
    for (long i = 0; a->cosine && i < a->N * half; i++) {
        double angle = a->cosine[i];
        a->cosine[i] = cos(angle);
        a->sine[i] = sin(angle);
    }
}

/* Initialised values are special (zeros, ones): trainable ones become random. */
static inline void attention_parameters(struct attention_case *a)
{
    for (int i = 0; i < a->store.count; i++) {
        struct oa_parameter *p = a->store.parameter[i];
        struct oa_stream s = oa_stream_named(12, p->name);
        for (long j = 0; p->trainable && j < p->count; j++)
            oa_real_set(a->device, p->value, j, (p->init == OA_INIT_ONE) + 0.5 * oa_random_normal(s, (uint64_t)j));
    }
    oa_store_refresh(&a->store);
}

/* The error says why a combination was refused; close in any case. */
static inline enum oa_error attention_open(oa_context *c, const struct attention_setup *setup, struct attention_case *a)
{
    *a = (struct attention_case){ .setup = *setup, .context = c };
    struct attention_setup *s = &a->setup;
    s->width = s->width ? s->width : 8;
    s->heads = s->heads ? s->heads : 2;
    a->D = s->width;
    a->B = s->batch ? s->batch : 2;
    a->T = s->queries ? s->queries : 6;
    a->S = s->mode == CROSS ? (s->keys ? s->keys : 5) : a->T;
    a->N = s->length ? s->length : 7;
    OA_TRY(oa_spec_parse(c, s->spec, &a->spec));
    OA_TRY(oa_device_open(c, s->precision, false, &a->device));
    oa_store_init(&a->store, a->device);
    oa_tape_init(&a->tape, a->device);
    struct oa_layer_shape shape = attention_shape(a);
    OA_TRY(oa_layer_open(c, &a->spec, 0, &shape, &a->store, "", &a->layer));
    OA_TRY(oa_store_allocate(&a->store, 9, true));
    attention_inputs(a);
    attention_parameters(a);
    return OA_OK;
}

static inline void attention_close(struct attention_case *a)
{
    double *numbers[] = { a->x, a->memory, a->dy, a->y, a->dx, a->dmemory, a->cosine, a->sine };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        free(numbers[i]);
    free(a->lengths);
    free(a->words);
    oa_layer_close(&a->layer);
    if (a->device) {
        oa_tape_free(&a->tape);
        oa_store_free(&a->store);
    }
    oa_device_close(a->device);
    oa_spec_free(&a->spec);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static inline void *attention_reals(struct attention_case *a, const double *x, long count)
{
    void *out = oa_tape_take(&a->tape, (size_t)count * a->device->kernels.real_size);
    for (long i = 0; x && i < count; i++)
        oa_real_set(a->device, out, i, x[i]);
    return out;
}

static inline void *attention_acts(struct attention_case *a, const double *x, long count)
{
    void *real = attention_reals(a, x, count);
    if (a->device->kernels.act == a->device->kernels.real)
        return real;
    void *act = oa_tape_take(&a->tape, (size_t)count * a->device->kernels.act_size);
    a->device->ops->act_from_real(a->device, count, real, act);
    return act;
}

static inline void attention_read(struct attention_case *a, const void *acts, long count, double *out)
{
    void *real = attention_reals(a, NULL, count);
    a->device->ops->real_from_act(a->device, count, acts, real);
    for (long i = 0; i < count; i++)
        out[i] = oa_real_get(a->device, real, i);
}

/* The gradient of x or memory; nothing that reached it is zeros. */
static inline void attention_gradient(struct attention_case *a, const oa_tensor *x, double *out)
{
    memset(out, 0, (size_t)(x->rows * x->cols) * sizeof *out);
    if (x->gradient)
        attention_read(a, x->gradient, x->rows * x->cols, out);
}

/* Forward, and backward from dy: fills y, dx, dmemory and the gradients in the store. */
static inline enum oa_error attention_run(struct attention_case *a)
{
    oa_tape *t = &a->tape;
    long rows = a->B * a->T, memory_rows = a->B * a->S, D = a->D, half = D / a->setup.heads / 2;
    oa_tape_reset(t, !a->no_gradients, false, oa_stream_named(1, "step"));
    oa_store_zero_gradients(&a->store);
    struct oa_layer_input in = {
        .batch = a->B, .queries = a->T, .keys = a->S, .lengths = a->lengths, .words = a->words
    };
    in.x = oa_tensor_from(t, attention_acts(a, a->x, rows * D), rows, D, D, true);
    if (a->memory)
        in.memory = oa_tensor_from(t, attention_acts(a, a->memory, memory_rows * D), memory_rows, D, D, true);
    in.cosine = a->cosine ? attention_reals(a, a->cosine, a->N * half) : NULL;
    in.sine = a->sine ? attention_reals(a, a->sine, a->N * half) : NULL;
    oa_tensor *y = oa_layer_forward(t, &a->layer, &in);
    OA_TRY(oa_status(a->context));
    attention_read(a, y->data, rows * D, a->y);
    if (a->no_gradients)
        return oa_status(a->context);
    y->gradient = attention_acts(a, a->dy, rows * D);
    oa_tape_backward(t);
    attention_gradient(a, in.x, a->dx);
    if (in.memory)
        attention_gradient(a, in.memory, a->dmemory);
    return oa_status(a->context);
}

#endif
