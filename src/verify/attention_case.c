/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/attention_case.h"

#include <math.h>
#include <string.h>

/* ---- numbers ---- */

double *oa_case_array(struct oa_attention_case *a, long count)
{
    return oa_arena_take(&a->arena, (size_t)(count + 1) * sizeof(double));
}

double *oa_case_normals(struct oa_attention_case *a, const char *name, long count)
{
    double *out = oa_case_array(a, count);
    struct oa_stream s = oa_stream_named(11, name);
    for (long i = 0; out && i < count; i++)
        out[i] = oa_random_normal(s, (uint64_t)i);
    return out;
}

static void *case_reals(struct oa_attention_case *a, const double *x, long count)
{
    void *out = oa_tape_take(&a->single.tape, (size_t)count * a->single.device->numbers.real_size);
    if (out)
        oa_reals_write(a->single.device, count, x, out);
    return out;
}

static void *case_acts(struct oa_attention_case *a, const double *x, long count)
{
    void *out = oa_tape_take(&a->single.tape, (size_t)count * a->single.device->numbers.act_size);
    if (out)
        oa_acts_write(a->single.device, count, x, out);
    return out;
}

/* Normals rounded to the precision of activations. */
static double *rounded_normals(struct oa_attention_case *a, const char *name, long count)
{
    double *out = oa_case_normals(a, name, count);
    void *act = out ? case_acts(a, out, count) : NULL;
    if (act)
        oa_acts_read(a->single.device, count, act, out);
    return out;
}

/* ---- opening ---- */

static struct oa_layer_shape case_shape(const struct oa_attention_case *a)
{
    const struct oa_setup *s = &a->setup;
    struct oa_layer_shape shape = oa_equal_heads_shape(a->D, s->heads, a->N);
    shape.head_width = shape.value_width =
        a->D / s->heads; /* mechanisms reject a width that does not divide */
    shape.causal = s->mode == OA_MODE_CAUSAL;
    shape.cross = s->mode == OA_MODE_CROSS;
    shape.bias = s->bias;
    return shape;
}

static void fill_case_angles(struct oa_attention_case *a)
{
    long count = a->N * (a->D / a->setup.heads / 2);
    a->cosine = oa_case_normals(a, "angles", count);
    a->sine = oa_case_array(a, count);
    for (long i = 0; a->cosine && a->sine && i < count; i++) {
        double angle = a->cosine[i];
        a->cosine[i] = cos(angle);
        a->sine[i] = sin(angle);
    }
}

static void fill_case_inputs(struct oa_attention_case *a)
{
    long rows = a->B * a->T, memory_rows = a->B * a->S;
    oa_tape_reset(&a->single.tape, false, false, oa_stream_named(1, "inputs"));
    a->x = rounded_normals(a, "x", rows * a->D);
    a->dy = rounded_normals(a, "dy", rows * a->D);
    a->y = oa_case_array(a, rows * a->D);
    a->dx = oa_case_array(a, rows * a->D);
    if (a->setup.mode == OA_MODE_CROSS) {
        a->memory = rounded_normals(a, "memory", memory_rows * a->D);
        a->dmemory = oa_case_array(a, memory_rows * a->D);
    }
    a->words = oa_arena_take(&a->arena, (size_t)rows * sizeof *a->words);
    for (long i = 0; a->words && i < rows; i++)
        a->words[i] = (int32_t)(i % a->T * 2 / 3);
    a->lengths =
        a->setup.padding ? oa_arena_take(&a->arena, (size_t)a->B * sizeof *a->lengths) : NULL;
    for (long b = 0; a->lengths && b < a->B; b++)
        a->lengths[b] = (int32_t)(b == 0 ? a->S : b == 1 ? a->S - 2 : 0);
    a->query_lengths =
        a->setup.query_padding ? oa_arena_take(&a->arena, (size_t)a->B * sizeof *a->lengths) : NULL;
    for (long b = 0; a->query_lengths && b < a->B; b++)
        a->query_lengths[b] = (int32_t)(b == 1 ? a->T - 2 : a->T);
    if (a->setup.rotary)
        fill_case_angles(a);
}

/* Initial values are special (zeros, ones): trainable ones become random, rounded to the precision
 * of activations. */
static void fill_case_parameters(struct oa_attention_case *a)
{
    for (int i = 0; i < a->single.store.count; i++) {
        struct oa_parameter *p = a->single.store.parameter[i];
        struct oa_stream s = oa_stream_named(12, p->name);
        for (long j = 0; p->trainable && j < p->count; j++) {
            double value = (p->init == OA_INIT_ONE) + 0.5 * oa_random_normal(s, (uint64_t)j);
            if (a->single.device->numbers.act == OA_BF16)
                value = (double)oa_bf16_to_float(oa_float_to_bf16((float)value));
            oa_real_write(a->single.device, p->value, j, value);
        }
    }
    oa_store_refresh(&a->single.store);
}

bool oa_layer_needs_all_tokens(const struct oa_layer *l)
{
    for (int g = 0; g < l->groups; g++) {
        if (l->group[g].needs_all)
            return true;
    }
    return false;
}

long oa_case_heads(const struct oa_layer_spec *l)
{
    long given = 0, open = 0;
    for (int g = 0; g < l->groups; g++) {
        given += l->group[g].heads;
        open += l->group[g].heads == 0;
    }
    return open ? oa_max(2, given + open) : given;
}

static void set_case_sizes(struct oa_attention_case *a)
{
    struct oa_setup *s = &a->setup;
    s->heads = s->heads ? s->heads : oa_case_heads(&a->single.spec.layer[0]);
    s->width = s->width ? s->width : 4 * s->heads;
    a->D = s->width;
    a->B = s->batch ? s->batch : 2;
    a->T = s->queries ? s->queries : 6;
    a->S = s->mode == OA_MODE_CROSS ? (s->keys ? s->keys : 5) : a->T;
    a->N = s->length ? s->length : 7;
}

static oa_tensor *case_forward(struct oa_attention_case *a, struct oa_layer_input *in)
{
    long D = a->D, half = D / a->setup.heads / 2;
    in->x = oa_tensor_from(&a->single.tape, case_acts(a, a->x, a->B * a->T * D), a->B * a->T, D, D,
                           true);
    if (a->memory)
        in->memory = oa_tensor_from(&a->single.tape, case_acts(a, a->memory, a->B * a->S * D),
                                    a->B * a->S, D, D, true);
    in->rotary.cosine = a->cosine ? case_reals(a, a->cosine, a->N * half) : NULL;
    in->rotary.sine = a->sine ? case_reals(a, a->sine, a->N * half) : NULL;
    return oa_status(a->context) == OA_OK ? oa_layer_forward(&a->single.tape, &a->single.layer, in)
                                          : NULL;
}

static struct oa_layer_input case_input(const struct oa_attention_case *a)
{
    return (struct oa_layer_input){ .batch = a->B,
                                    .queries = a->T,
                                    .keys = a->S,
                                    .lengths = a->lengths,
                                    .query_lengths = a->query_lengths,
                                    .words = a->words };
}

enum oa_error oa_case_open(oa_context *c, const struct oa_setup *setup, struct oa_attention_case *a)
{
    *a = (struct oa_attention_case){ .setup = *setup, .context = c };
    oa_arena_init(&a->arena, c, false);
    OA_TRY(oa_single_layer_open(c, a->setup.spec, a->setup.precision, false, &a->single));
    if (a->setup.substitute)
        a->single.spec.layer[0].group[0].atom.mechanism = a->setup.substitute;
    set_case_sizes(a);
    struct oa_layer_shape shape = case_shape(a);
    OA_TRY(oa_single_layer_layer(&a->single, 0, &shape));
    OA_TRY(oa_store_allocate(&a->single.store, 9, true));
    fill_case_inputs(a);
    OA_TRY(oa_status(c));
    fill_case_parameters(a);
    OA_TRY(oa_status(c));
    /* Statistics that training updates get the values of a step, since initial ones are special (no
     * correlations, all heads equal). */
    if (a->single.store.live == a->single.store.updated)
        return OA_OK;
    struct oa_layer_input in = case_input(a);
    oa_tape_reset(&a->single.tape, true, true, oa_stream_named(1, "past"));
    case_forward(a, &in);
    return oa_layer_after_step(&a->single.layer, 1);
}

void oa_case_close(struct oa_attention_case *a)
{
    oa_single_layer_close(&a->single);
    oa_arena_free(&a->arena);
}

/* ---- running ---- */

/* The gradient of x or memory, zeros if there is none. */
static void read_case_gradient(struct oa_attention_case *a, const oa_tensor *x, double *out)
{
    memset(out, 0, (size_t)(x->rows * x->cols) * sizeof *out);
    if (x->gradient)
        oa_acts_read(a->single.device, x->rows * x->cols, x->gradient, out);
}

enum oa_error oa_case_run(struct oa_attention_case *a)
{
    struct oa_layer_input in = case_input(a);
    long count = a->B * a->T * a->D;
    in.dropout = a->setup.dropout;
    oa_tape_reset(&a->single.tape, !a->no_gradients, a->setup.dropout > 0,
                  oa_stream_named(1, "step"));
    oa_store_zero_gradients(&a->single.store);
    oa_tensor *y = case_forward(a, &in);
    OA_TRY(oa_status(a->context));
    oa_acts_read(a->single.device, count, y->data, a->y);
    if (a->no_gradients)
        return oa_status(a->context);
    y->gradient = case_acts(a, a->dy, count);
    OA_TRY(oa_status(a->context));
    oa_tape_backward(&a->single.tape);
    read_case_gradient(a, in.x, a->dx);
    if (in.memory)
        read_case_gradient(a, in.memory, a->dmemory);
    return oa_status(a->context);
}

enum oa_error oa_case_step(struct oa_attention_case *a, struct oa_state *s, long b, long first,
                           long count, double *y)
{
    oa_tape *t = &a->single.tape;
    long D = a->D, half = D / a->setup.heads / 2;
    struct oa_layer_input in = { .batch = 1, .queries = count, .keys = a->S, .state = s };
    oa_tape_reset(t, false, false, oa_stream_named(1, "step"));
    in.x = oa_tensor_from(t, case_acts(a, a->x + (b * a->T + first) * D, count * D), count, D, D,
                          false);
    if (a->memory) {
        in.memory =
            oa_tensor_from(t, case_acts(a, a->memory + b * a->S * D, a->S * D), a->S, D, D, false);
        in.lengths = a->lengths ? a->lengths + b : NULL;
    }
    in.rotary.cosine = a->cosine ? case_reals(a, a->cosine, a->N * half) : NULL;
    in.rotary.sine = a->sine ? case_reals(a, a->sine, a->N * half) : NULL;
    OA_TRY(oa_status(a->context));
    oa_tensor *out = oa_layer_forward(t, &a->single.layer, &in);
    OA_TRY(oa_status(a->context));
    oa_acts_read(a->single.device, count * D, out->data, y);
    return oa_status(a->context);
}

struct oa_oracle oa_case_oracle(const struct oa_attention_case *a, long b)
{
    const double *memory = a->memory ? a->memory + b * a->S * a->D : NULL;
    return (struct oa_oracle){ .x = a->x + b * a->T * a->D,
                               .memory = memory,
                               .queries = a->T,
                               .keys = a->S,
                               .length = a->lengths ? a->lengths[b] : a->S,
                               .words = a->words + b * a->T,
                               .cosine = a->cosine,
                               .sine = a->sine };
}

void oa_case_copy_values(const struct oa_attention_case *from, struct oa_attention_case *to)
{
    struct oa_view v;
    size_t bytes = (size_t)from->single.store.total * from->single.device->numbers.real_size;
    const void *values =
        oa_view_open(&v, from->single.device, from->single.store.values, bytes, OA_VIEW_READ);
    if (values)
        to->single.device->ops->upload(to->single.device, bytes, values, to->single.store.values);
    oa_view_close(&v);
}

double *oa_case_results(struct oa_attention_case *a, long *count)
{
    long n = a->B * a->T * a->D, m = a->memory ? a->B * a->S * a->D : 0, at = 0;
    const double *parts[] = { a->y, a->dx, a->dmemory };
    const long sizes[] = { n, n, m };
    *count = 2 * n + m + a->single.store.updated;
    double *out = oa_case_array(a, *count);
    for (int p = 0; out && p < 3; p++) {
        for (long i = 0; i < sizes[p]; i++)
            out[at++] = parts[p][i];
    }
    if (out)
        oa_reals_read(a->single.device, a->single.store.updated, a->single.store.gradients,
                      out + at);
    return out;
}
