/* SPDX-License-Identifier: Apache-2.0
 * Activations, feature maps, row selection, rotation and scaling of heads. */
#include "ops/ops.h"

/* Saved by the ops of this file. */
struct elementwise_op {
    oa_tensor *x, *up, *y;
    enum oa_unary unary;
    enum oa_feature feature;
    int degree;
    long length, heads;
    const int32_t *lengths;
    struct oa_rotary rotary;
    double scale;
    struct oa_parameter *temperature, *diagonal;
    void *factor; /* real [cols] */
};

static struct elementwise_op *elementwise_new(oa_tape *t, oa_tensor *x, long cols)
{
    oa_tensor *y = x ? oa_tensor_new(t, x->rows, cols) : NULL;
    struct elementwise_op *m = y ? oa_tape_take_host(t, sizeof *m) : NULL;
    if (m)
        *m = (struct elementwise_op){ .x = x, .y = y };
    return m;
}

/* ---- activations: x is contiguous ---- */

static void unary_backward(oa_tape *t, void *saved)
{
    const struct elementwise_op *m = saved;
    const void *dy = oa_gradient_of(t, m->y);
    void *dx = dy ? oa_gradient_begin(t, m->x) : NULL;
    if (dx)
        t->device->ops->unary_gradient(t->device, m->unary, m->x->rows * m->x->cols, m->x->data, dy,
                                       dx);
    oa_gradient_end(t, m->x, dx);
}

oa_tensor *oa_activate(oa_tape *t, oa_tensor *x, enum oa_unary kind)
{
#define KIND(id, name) "oa_" #name,
    static const char *const names[] = { OA_UNARY_KINDS(KIND) };
#undef KIND
    struct elementwise_op *m = elementwise_new(t, x, x ? x->cols : 0);
    if (!m)
        return NULL;
    m->unary = kind;
    t->device->ops->unary(t->device, kind, x->rows * x->cols, x->data, m->y->data);
    oa_record_as(t, names[kind], unary_backward, m);
    return m->y;
}

oa_tensor *oa_gelu(oa_tape *t, oa_tensor *x)
{
    return oa_activate(t, x, OA_UNARY_GELU);
}

oa_tensor *oa_relu(oa_tape *t, oa_tensor *x)
{
    return oa_activate(t, x, OA_UNARY_RELU);
}

/* dx = dy − dy·y² */
static void tanh_backward(oa_tape *t, void *saved)
{
    const struct elementwise_op *m = saved;
    struct oa_device *d = t->device;
    long n = m->x->rows * m->x->cols;
    const void *dy = oa_gradient_of(t, m->y);
    void *dx = dy ? oa_gradient_begin(t, m->x) : NULL,
         *product = dx ? oa_tape_take(t, (size_t)n * d->numbers.act_size) : NULL;
    if (product) {
        d->ops->binary(d, OA_BINARY_PRODUCT, n, 1, m->y->data, m->y->data, product);
        d->ops->binary(d, OA_BINARY_PRODUCT, n, -1, dy, product, product);
        d->ops->binary(d, OA_BINARY_ADD, n, 1, dy, product, dx);
    }
    oa_gradient_end(t, m->x, dx);
}

/* Computed in reals, as the soft cap at 1. */
oa_tensor *oa_tanh(oa_tape *t, oa_tensor *x)
{
    struct elementwise_op *m = elementwise_new(t, x, x ? x->cols : 0);
    struct oa_device *d = t->device;
    long n = m ? x->rows * x->cols : 0;
    void *real = m ? oa_tape_take(t, (size_t)n * d->numbers.real_size) : NULL;
    if (!real)
        return NULL;
    d->ops->real_from_act(d, n, x->data, real);
    d->ops->soft_cap(d, n, 1, real);
    d->ops->act_from_real(d, n, real, m->y->data);
    oa_record(t, tanh_backward, m);
    return m->y;
}

/* ---- gated activations: x is the gate ---- */

static void gated_backward(oa_tape *t, void *saved)
{
    const struct elementwise_op *m = saved;
    const void *dy = oa_gradient_of(t, m->y);
    if (!dy)
        return;
    void *dg = oa_gradient_begin(t, m->x), *du = oa_gradient_begin(t, m->up);
    t->device->ops->gated_gradient(t->device, m->unary, m->x->rows * m->x->cols, m->x->data,
                                   m->up->data, dy, dg, du);
    oa_gradient_end(t, m->up, du);
    oa_gradient_end(t, m->x, dg);
}

oa_tensor *oa_gated(oa_tape *t, oa_tensor *gate, oa_tensor *up, enum oa_unary kind)
{
    struct elementwise_op *m = up ? elementwise_new(t, gate, gate ? gate->cols : 0) : NULL;
    if (!m)
        return NULL;
    m->up = up;
    m->unary = kind;
    t->device->ops->gated(t->device, kind, gate->rows * gate->cols, gate->data, up->data,
                          m->y->data);
    oa_record(t, gated_backward, m);
    return m->y;
}

/* ---- feature maps: head by head where a head's width changes ---- */

static long feature_groups(const struct elementwise_op *m)
{
    return m->feature == OA_FEATURE_POWER ? m->heads : 1;
}

static void feature_backward(oa_tape *t, void *saved)
{
    const struct elementwise_op *m = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, m->y);
    void *dx = dy ? oa_gradient_begin(t, m->x) : NULL;
    long heads = feature_groups(m), in = m->x->cols / heads, out = m->y->cols / heads;
    for (long h = 0; dx && h < heads; h++)
        d->ops->feature_gradient(
            d, m->feature, m->degree, m->x->rows, in, oa_act_at(d, m->x->data, h * in), m->x->ld,
            oa_act_at(d, dy, h * out), m->y->ld, oa_act_at(d, dx, h * in), m->x->ld);
    oa_gradient_end(t, m->x, dx);
}

oa_tensor *oa_feature(oa_tape *t, oa_tensor *x, enum oa_feature f, int degree, long heads)
{
    struct oa_device *d = t->device;
    struct elementwise_op *m =
        elementwise_new(t, x, x ? (f == OA_FEATURE_POWER ? x->cols * degree : x->cols) : 0);
    if (!m)
        return NULL;
    m->feature = f;
    m->degree = degree;
    m->heads = heads;
    long n = feature_groups(m), in = x->cols / n, out = m->y->cols / n;
    for (long h = 0; h < n; h++)
        d->ops->feature(d, f, degree, x->rows, in, oa_act_at(d, x->data, h * in), x->ld,
                        oa_act_at(d, m->y->data, h * out), m->y->ld);
    oa_record(t, feature_backward, m);
    return m->y;
}

/* ---- rows of padding ---- */

static void select_backward(oa_tape *t, void *saved)
{
    const struct elementwise_op *m = saved;
    const void *dy = oa_gradient_of(t, m->y);
    void *dx = dy ? oa_gradient_begin(t, m->x) : NULL;
    if (dx)
        t->device->ops->select_rows(t->device, m->x->rows, m->x->cols, m->length, m->lengths, dy,
                                    m->y->ld, dx, m->x->ld);
    oa_gradient_end(t, m->x, dx);
}

oa_tensor *oa_select_rows(oa_tape *t, oa_tensor *x, long length, const int32_t *lengths)
{
    struct elementwise_op *m = elementwise_new(t, x, x ? x->cols : 0);
    if (!m)
        return NULL;
    m->length = length;
    m->lengths = lengths;
    t->device->ops->select_rows(t->device, x->rows, x->cols, length, lengths, x->data, x->ld,
                                m->y->data, m->y->ld);
    oa_record(t, select_backward, m);
    return m->y;
}

/* ---- rotary positions, in place: backward is the inverse rotation ---- */

static struct oa_rotated_rows rows_to_rotate(const struct elementwise_op *m, double sign, void *x)
{
    const struct oa_rotary *r = &m->rotary;
    return (struct oa_rotated_rows){ .rotation = { .heads = m->heads,
                                                   .width = m->x->cols / m->heads,
                                                   .turned = r->width,
                                                   .interleaved = r->interleaved,
                                                   .cosine = r->cosine,
                                                   .sine = r->sine },
                                     .tokens = m->x->rows,
                                     .length = m->length,
                                     .sign = sign,
                                     .x = x,
                                     .ldx = m->x->ld };
}

static void rotate_backward(oa_tape *t, void *saved)
{
    const struct elementwise_op *m = saved;
    struct oa_rotated_rows a = rows_to_rotate(m, -1, m->x->gradient);
    if (m->x->gradient)
        t->device->ops->rotate(t->device, &a);
}

oa_tensor *oa_rotate(oa_tape *t, oa_tensor *x, long length, long heads,
                     const struct oa_rotary *rotary)
{
    struct elementwise_op *m = x ? oa_tape_take_host(t, sizeof *m) : NULL;
    if (!m)
        return NULL;
    *m = (struct elementwise_op){ .x = x, .length = length, .heads = heads, .rotary = *rotary };
    if (!rotary->width)
        m->rotary.width = x->cols / heads;
    long first = t->state ? t->state->tokens * (m->rotary.width / 2) : 0;
    m->rotary.cosine = oa_real_at(t->device, rotary->cosine, first);
    m->rotary.sine = oa_real_at(t->device, rotary->sine, first);
    struct oa_rotated_rows a = rows_to_rotate(m, 1, x->data);
    t->device->ops->rotate(t->device, &a);
    oa_record(t, rotate_backward, m);
    return x;
}

/* ---- y = x·f, f[h, c] = s·temperature[h]·diagonal[h, c] ----
 * dx = dy·f; with g[h, c] = Σ_rows dy·x: d temperature[h] += s·Σ_c diagonal·g, d diagonal[h, c] +=
 * s·temperature[h]·g. */

static struct oa_head_factors head_factors_of(const struct elementwise_op *m)
{
    return (struct oa_head_factors){ .cols = m->x->cols,
                                     .width = m->x->cols / m->heads,
                                     .scale = m->scale,
                                     .temperature = m->temperature ? m->temperature->value : NULL,
                                     .diagonal = m->diagonal ? m->diagonal->value : NULL,
                                     .factor = m->factor };
}

static void scale_backward(oa_tape *t, void *saved)
{
    const struct elementwise_op *m = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, m->y);
    if (!dy)
        return;
    void *dx = oa_gradient_begin(t, m->x);
    if (dx)
        d->ops->scale_columns(d, m->x->rows, m->x->cols, m->factor, dy, m->y->ld, dx, m->x->ld);
    oa_gradient_end(t, m->x, dx);
    if (!m->temperature && !m->diagonal)
        return;
    size_t bytes = (size_t)m->x->cols * d->numbers.real_size;
    void *dfactor = oa_tape_take(t, bytes);
    if (!dfactor)
        return;
    d->ops->zero(d, bytes, dfactor);
    d->ops->scale_columns_gradient(d, m->x->rows, m->x->cols, m->x->data, m->x->ld, dy, m->y->ld,
                                   dfactor);
    struct oa_head_factors f = head_factors_of(m);
    f.dfactor = dfactor;
    f.dtemperature = m->temperature ? m->temperature->gradient : NULL;
    f.ddiagonal = m->diagonal ? m->diagonal->gradient : NULL;
    d->ops->head_factors_gradient(d, &f);
}

oa_tensor *oa_scale_heads(oa_tape *t, oa_tensor *x, long heads, double s,
                          struct oa_parameter *temperature, struct oa_parameter *diagonal)
{
    struct oa_device *d = t->device;
    struct elementwise_op *m = elementwise_new(t, x, x ? x->cols : 0);
    void *factor = m ? oa_tape_take(t, (size_t)x->cols * d->numbers.real_size) : NULL;
    if (!factor)
        return NULL;
    m->heads = heads;
    m->scale = s;
    m->temperature = temperature;
    m->diagonal = diagonal;
    m->factor = factor;
    struct oa_head_factors f = head_factors_of(m);
    d->ops->head_factors(d, &f);
    d->ops->scale_columns(d, x->rows, x->cols, factor, x->data, x->ld, m->y->data, m->y->ld);
    oa_record(t, scale_backward, m);
    return m->y;
}
