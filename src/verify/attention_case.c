/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/attention_case.h"

#include <math.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------------------------
 */

double *oa_case_room(struct oa_case *a, long count)
{
    return oa_arena_take(&a->arena, (size_t)(count + 1) * sizeof(double));
}

double *oa_case_numbers(struct oa_case *a, const char *name, long count)
{
    double *out = oa_case_room(a, count);
    struct oa_stream s = oa_stream_named(11, name);
    for (long i = 0; out && i < count; i++)
        out[i] = oa_random_normal(s, (uint64_t)i);
    return out;
}

static void *reals(struct oa_case *a, const double *x, long count)
{
    void *out = oa_tape_take(&a->tape, (size_t)count * a->device->kernels.real_size);
    for (long i = 0; x && out && i < count; i++)
        oa_real_set(a->device, out, i, x[i]);
    return out;
}

static void *acts(struct oa_case *a, const double *x, long count)
{
    void *real = reals(a, x, count);
    if (a->device->kernels.act == a->device->kernels.real)
        return real;
    void *act = oa_tape_take(&a->tape, (size_t)count * a->device->kernels.act_size);
    if (real && act)
        a->device->ops->act_from_real(a->device, count, real, act);
    return act;
}

static void read_acts(struct oa_case *a, const void *act, long count, double *out)
{
    void *real = reals(a, NULL, count);
    if (!real || !act)
        return;
    a->device->ops->real_from_act(a->device, count, act, real);
    for (long i = 0; i < count; i++)
        out[i] = oa_real_get(a->device, real, i);
}

/* Numbers as activations can hold them. */
static double *rounded(struct oa_case *a, const char *name, long count)
{
    double *out = oa_case_numbers(a, name, count);
    void *act = out ? acts(a, out, count) : NULL;
    if (act)
        read_acts(a, act, count, out);
    return out;
}

/* ---- opening ------------------------------------------------------------------------------------------------------
 */

static struct oa_layer_shape shape_of(const struct oa_case *a)
{
    const struct oa_setup *s = &a->setup;
    return (struct oa_layer_shape){ .width = a->D,
                                    .heads = s->heads,
                                    .head_width = a->D / s->heads,
                                    .value_width = a->D / s->heads,
                                    .length = a->N,
                                    .memory_length = a->N,
                                    .causal = s->mode == OA_MODE_CAUSAL,
                                    .cross = s->mode == OA_MODE_CROSS,
                                    .bias = s->bias };
}

static void fill_angles(struct oa_case *a)
{
    long count = a->N * (a->D / a->setup.heads / 2);
    a->cosine = oa_case_numbers(a, "angles", count);
    a->sine = oa_case_room(a, count);
    for (long i = 0; a->cosine && a->sine && i < count; i++) {
        double angle = a->cosine[i];
        a->cosine[i] = cos(angle);
        a->sine[i] = sin(angle);
    }
}

static void fill_inputs(struct oa_case *a)
{
    long rows = a->B * a->T, memory_rows = a->B * a->S;
    oa_tape_reset(&a->tape, false, false, oa_stream_named(1, "inputs"));
    a->x = rounded(a, "x", rows * a->D);
    a->dy = rounded(a, "dy", rows * a->D);
    a->y = oa_case_room(a, rows * a->D);
    a->dx = oa_case_room(a, rows * a->D);
    if (a->setup.mode == OA_MODE_CROSS) {
        a->memory = rounded(a, "memory", memory_rows * a->D);
        a->dmemory = oa_case_room(a, memory_rows * a->D);
    }
    a->words = oa_arena_take(&a->arena, (size_t)rows * sizeof *a->words);
    for (long i = 0; a->words && i < rows; i++)
        a->words[i] = (int32_t)(i % a->T * 2 / 3);
    a->lengths = a->setup.padding ? oa_arena_take(&a->arena, (size_t)a->B * sizeof *a->lengths) : NULL;
    for (long b = 0; a->lengths && b < a->B; b++)
        a->lengths[b] = (int32_t)(b == 0 ? a->S : b == 1 ? a->S - 2 : 0);
    if (a->setup.rotary)
        fill_angles(a);
}

/* Initialised values are special (zeros, ones): trainable ones become random, as activations can hold them. */
static void fill_parameters(struct oa_case *a)
{
    for (int i = 0; i < a->store.count; i++) {
        struct oa_parameter *p = a->store.parameter[i];
        struct oa_stream s = oa_stream_named(12, p->name);
        for (long j = 0; p->trainable && j < p->count; j++) {
            double value = (p->init == OA_INIT_ONE) + 0.5 * oa_random_normal(s, (uint64_t)j);
            if (a->device->kernels.act == OA_BF16)
                value = (double)oa_bf16_to_float(oa_float_to_bf16((float)value));
            oa_real_set(a->device, p->value, j, value);
        }
    }
    oa_store_refresh(&a->store);
}

/* Two heads, unless the text asks for more. */
static long heads_of(const struct oa_layer_spec *l)
{
    long given = 0, open = 0;
    for (int g = 0; g < l->groups; g++) {
        given += l->group[g].heads;
        open += l->group[g].heads == 0;
    }
    return open ? oa_max(2, given + open) : given;
}

static void set_sizes(struct oa_case *a)
{
    struct oa_setup *s = &a->setup;
    s->heads = s->heads ? s->heads : heads_of(&a->spec.layer[0]);
    s->width = s->width ? s->width : 4 * s->heads;
    a->D = s->width;
    a->B = s->batch ? s->batch : 2;
    a->T = s->queries ? s->queries : 6;
    a->S = s->mode == OA_MODE_CROSS ? (s->keys ? s->keys : 5) : a->T;
    a->N = s->length ? s->length : 7;
}

static oa_tensor *forward(struct oa_case *a, struct oa_layer_input *in)
{
    long D = a->D, half = D / a->setup.heads / 2;
    in->x = oa_tensor_from(&a->tape, acts(a, a->x, a->B * a->T * D), a->B * a->T, D, D, true);
    if (a->memory)
        in->memory = oa_tensor_from(&a->tape, acts(a, a->memory, a->B * a->S * D), a->B * a->S, D, D, true);
    in->cosine = a->cosine ? reals(a, a->cosine, a->N * half) : NULL;
    in->sine = a->sine ? reals(a, a->sine, a->N * half) : NULL;
    return oa_status(a->context) == OA_OK ? oa_layer_forward(&a->tape, &a->layer, in) : NULL;
}

/* What training moves gets values as a step gives them: first values are special (no correlations, all heads alike). */
static enum oa_error move_parameters(struct oa_case *a)
{
    if (a->store.live == a->store.updated)
        return OA_OK;
    struct oa_layer_input in = {
        .batch = a->B, .queries = a->T, .keys = a->S, .lengths = a->lengths, .words = a->words
    };
    oa_tape_reset(&a->tape, true, true, oa_stream_named(1, "past"));
    forward(a, &in);
    return oa_layer_after_step(&a->layer, 1);
}

enum oa_error oa_case_open(oa_context *c, const struct oa_setup *setup, struct oa_case *a)
{
    *a = (struct oa_case){ .setup = *setup, .context = c };
    oa_arena_init(&a->arena, c, false);
    OA_TRY(oa_spec_parse(c, a->setup.spec, &a->spec));
    set_sizes(a);
    OA_TRY(oa_device_open(c, a->setup.precision, false, &a->device));
    oa_store_init(&a->store, a->device);
    oa_tape_init(&a->tape, a->device);
    struct oa_layer_shape shape = shape_of(a);
    OA_TRY(oa_layer_open(c, &a->spec, 0, &shape, &a->store, "", &a->layer));
    OA_TRY(oa_store_allocate(&a->store, 9, true));
    fill_inputs(a);
    fill_parameters(a);
    return move_parameters(a);
}

void oa_case_close(struct oa_case *a)
{
    oa_layer_close(&a->layer);
    if (a->device) {
        oa_tape_free(&a->tape);
        oa_store_free(&a->store);
    }
    oa_device_close(a->device);
    oa_spec_free(&a->spec);
    oa_arena_free(&a->arena);
}

/* ---- running ------------------------------------------------------------------------------------------------------
 */

/* The gradient of x or memory; nothing that reached it is zeros. */
static void read_gradient(struct oa_case *a, const oa_tensor *x, double *out)
{
    memset(out, 0, (size_t)(x->rows * x->cols) * sizeof *out);
    if (x->gradient)
        read_acts(a, x->gradient, x->rows * x->cols, out);
}

enum oa_error oa_case_run(struct oa_case *a)
{
    struct oa_layer_input in = {
        .batch = a->B, .queries = a->T, .keys = a->S, .lengths = a->lengths, .words = a->words
    };
    long count = a->B * a->T * a->D;
    oa_tape_reset(&a->tape, !a->no_gradients, false, oa_stream_named(1, "step"));
    oa_store_zero_gradients(&a->store);
    oa_tensor *y = forward(a, &in);
    OA_TRY(oa_status(a->context));
    read_acts(a, y->data, count, a->y);
    if (a->no_gradients)
        return oa_status(a->context);
    y->gradient = acts(a, a->dy, count);
    OA_TRY(oa_status(a->context));
    oa_tape_backward(&a->tape);
    read_gradient(a, in.x, a->dx);
    if (in.memory)
        read_gradient(a, in.memory, a->dmemory);
    return oa_status(a->context);
}

enum oa_error oa_case_step(struct oa_case *a, struct oa_state *s, long b, long first, long count, double *y)
{
    oa_tape *t = &a->tape;
    long D = a->D, half = D / a->setup.heads / 2;
    struct oa_layer_input in = { .batch = 1, .queries = count, .keys = a->S, .state = s };
    oa_tape_reset(t, false, false, oa_stream_named(1, "step"));
    in.x = oa_tensor_from(t, acts(a, a->x + (b * a->T + first) * D, count * D), count, D, D, false);
    if (a->memory) {
        in.memory = oa_tensor_from(t, acts(a, a->memory + b * a->S * D, a->S * D), a->S, D, D, false);
        in.lengths = a->lengths ? a->lengths + b : NULL;
    }
    in.cosine = a->cosine ? reals(a, a->cosine, a->N * half) : NULL;
    in.sine = a->sine ? reals(a, a->sine, a->N * half) : NULL;
    OA_TRY(oa_status(a->context));
    oa_tensor *out = oa_layer_forward(t, &a->layer, &in);
    OA_TRY(oa_status(a->context));
    read_acts(a, out->data, count * D, y);
    return oa_status(a->context);
}

double *oa_case_results(struct oa_case *a, long *count)
{
    long n = a->B * a->T * a->D, m = a->memory ? a->B * a->S * a->D : 0, at = 0;
    const double *parts[] = { a->y, a->dx, a->dmemory };
    const long sizes[] = { n, n, m };
    *count = 2 * n + m + a->store.updated;
    double *out = oa_case_room(a, *count);
    for (int p = 0; out && p < 3; p++) {
        for (long i = 0; i < sizes[p]; i++)
            out[at++] = parts[p][i];
    }
    for (long i = 0; out && i < a->store.updated; i++)
        out[at++] = oa_real_get(a->device, a->store.gradients, i);
    return out;
}
