/* SPDX-License-Identifier: Apache-2.0
 * Token mixing (docs/attention.md: mixer): an MLP along the length, shared by all channels. With
 * X [n, C] the rows of one sequence,
 *
 *     U = W1[:, :n] X + b1 1ᵀ,   A = gelu(U),   Y = W2[:n] A + b2[:n] 1ᵀ
 *
 *     dA = W2ᵀ dY,   dU = dA ∘ gelu'(U),   dX = W1ᵀ dU,   dW2 += dY Aᵀ,   dW1 += dU Xᵀ,
 *     db1, db2: sums over channels and sequences
 *
 * Causal: unit u has time t(u) = ⌊uN/D_S⌋; W1[u, j] is used for j ≤ t(u), W2[i, u] for t(u) ≤ i.
 * The products then run on masked copies, and gradients of masked elements are dropped.
 *
 * U and A are stored transposed, [B·C, D_S], so that b1 is a bias of columns. Sequences are
 * processed in order, so that the sums of the weight gradients have one order. */
#include "ops/ops.h"

struct mixer_op {
    struct oa_mixer m;
    oa_tensor *x, *y;
    long first, channels, batch, length; /* columns of x; B, n */
    void *u, *a;                         /* act [B·C, D_S] */
    const int32_t *high1, *high2;        /* causal: unmasked length of each row of W1, W2 */
    const void *w1, *w2;                 /* act: the weights, or masked copies */
};

static long mixer_units(const struct mixer_op *m)
{
    return m->m.in_weight->dim[0];
}

static long mixer_op_length(const struct mixer_op *m)
{
    return m->m.in_weight->dim[1];
}

/* ---- masks ---- */

/* t(u) ≥ j for j < high1[u] = t(u) + 1; t(u) ≤ i for u < high2[i] = ⌈(i + 1)D_S/N⌉. */
static bool mixer_make_masks(oa_tape *t, struct mixer_op *m)
{
    long N = mixer_op_length(m), D = mixer_units(m);
    int32_t *high1 = oa_tape_take_host(t, (size_t)D * sizeof *high1),
            *high2 = oa_tape_take_host(t, (size_t)N * sizeof *high2);
    for (long u = 0; high1 && u < D; u++)
        high1[u] = (int32_t)oa_min(N, u * N / D + 1);
    for (long i = 0; high2 && i < N; i++)
        high2[i] = (int32_t)oa_min(D, oa_blocks((i + 1) * D, N));
    m->high1 = oa_tape_upload(t, high1, (size_t)D * sizeof *high1);
    m->high2 = oa_tape_upload(t, high2, (size_t)N * sizeof *high2);
    return m->high1 && m->high2;
}

static const void *mixer_weights(oa_tape *t, const struct oa_parameter *p, const int32_t *high)
{
    struct oa_device *d = t->device;
    if (!high)
        return p->act;
    void *copy = oa_tape_take(t, (size_t)p->count * d->numbers.act_size);
    if (copy)
        d->ops->mask_rows(d, p->dim[0], p->dim[1], high, p->value, copy);
    return copy;
}

/* Where products accumulate the gradient of a weight: in the parameter, or if masked in new memory.
 */
static void *mixer_weight_gradient(oa_tape *t, const struct oa_parameter *p, bool masked)
{
    size_t bytes = (size_t)p->count * t->device->numbers.real_size;
    if (!p->gradient || !masked)
        return p->gradient;
    void *sum = oa_tape_take(t, bytes);
    if (sum)
        t->device->ops->zero(t->device, bytes, sum);
    return sum;
}

static void mixer_weight_end(oa_tape *t, const struct oa_parameter *p, const int32_t *high,
                             const void *sum)
{
    if (high && p->gradient && sum)
        t->device->ops->mask_rows_gradient(t->device, p->dim[0], p->dim[1], high, sum, p->gradient);
}

/* ---- backward ---- */

static void *mixer_hidden_at(const oa_tape *t, const struct mixer_op *m, const void *hidden, long b)
{
    return oa_act_at(t->device, hidden, b * m->channels * mixer_units(m));
}

static void *mixer_input_at(const oa_tape *t, const struct mixer_op *m, const void *x, long b)
{
    return oa_act_at(t->device, x, b * m->length * m->x->ld + m->first);
}

static void *mixer_output_at(const oa_tape *t, const struct mixer_op *m, const void *y, long b)
{
    return oa_act_at(t->device, y, b * m->length * m->y->ld);
}

/* dAᵀ = dYᵀ W2, dW2 += dY Aᵀ of one sequence. */
static void mixer_output_backward(oa_tape *t, const struct mixer_op *m, long b, const void *dy,
                                  void *da, void *dw2)
{
    struct oa_device *d = t->device;
    long C = m->channels, D = mixer_units(m), n = m->length, ld = m->y->ld;
    d->ops->gemm(
        d, &(struct oa_gemm){ .m = C, .n = D, .k = n, .lda = ld, .ldb = D, .ldc = D, .ta = true },
        mixer_output_at(t, m, dy, b), m->w2, mixer_hidden_at(t, m, da, b));
    if (dw2)
        d->ops->gemm(d,
                     &(struct oa_gemm){ .m = n,
                                        .n = D,
                                        .k = C,
                                        .lda = ld,
                                        .ldb = D,
                                        .ldc = D,
                                        .real_out = true,
                                        .accumulate = true },
                     mixer_output_at(t, m, dy, b), mixer_hidden_at(t, m, m->a, b), dw2);
}

/* dX = W1ᵀ dU, dW1 += dU Xᵀ of one sequence. */
static void mixer_input_backward(oa_tape *t, const struct mixer_op *m, long b, const void *du,
                                 void *dx, void *dw1)
{
    struct oa_device *d = t->device;
    long C = m->channels, D = mixer_units(m), N = mixer_op_length(m), n = m->length, ld = m->x->ld;
    if (dx)
        d->ops->gemm(
            d,
            &(struct oa_gemm){
                .m = n, .n = C, .k = D, .lda = N, .ldb = D, .ldc = ld, .ta = true, .tb = true },
            m->w1, mixer_hidden_at(t, m, du, b), mixer_input_at(t, m, dx, b));
    if (dw1)
        d->ops->gemm(d,
                     &(struct oa_gemm){ .m = D,
                                        .n = n,
                                        .k = C,
                                        .lda = D,
                                        .ldb = ld,
                                        .ldc = N,
                                        .ta = true,
                                        .tb = true,
                                        .real_out = true,
                                        .accumulate = true },
                     mixer_hidden_at(t, m, du, b), mixer_input_at(t, m, m->x->data, b), dw1);
}

static void mixer_bias_backward(oa_tape *t, const struct mixer_op *m, const void *dy,
                                const void *du)
{
    struct oa_device *d = t->device;
    if (m->m.in_bias->gradient)
        d->ops->column_sums(d, m->batch * m->channels, mixer_units(m), du, mixer_units(m),
                            m->m.in_bias->gradient);
    if (m->m.out_bias->gradient)
        d->ops->position_sums(d, m->batch * m->length, m->channels, m->length, dy, m->y->ld,
                              m->m.out_bias->gradient);
}

static void mixer_backward(oa_tape *t, void *saved)
{
    const struct mixer_op *m = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, m->y);
    long hidden = m->batch * m->channels * mixer_units(m);
    void *du = dy ? oa_tape_take(t, (size_t)hidden * d->numbers.act_size) : NULL;
    if (!du)
        return;
    void *dw1 = mixer_weight_gradient(t, m->m.in_weight, m->high1),
         *dw2 = mixer_weight_gradient(t, m->m.out_weight, m->high2);
    for (long b = 0; b < m->batch; b++)
        mixer_output_backward(t, m, b, dy, du, dw2);
    d->ops->unary_gradient(d, OA_UNARY_GELU_EXACT, hidden, m->u, du, du);
    void *dx = oa_gradient_begin(t, m->x);
    if (dx && m->channels < m->x->cols) /* columns of other heads */
        d->ops->zero(d, (size_t)(m->x->rows * m->x->ld) * d->numbers.act_size, dx);
    for (long b = 0; b < m->batch; b++)
        mixer_input_backward(t, m, b, du, dx, dw1);
    oa_gradient_end(t, m->x, dx);
    mixer_bias_backward(t, m, dy, du);
    mixer_weight_end(t, m->m.in_weight, m->high1, dw1);
    mixer_weight_end(t, m->m.out_weight, m->high2, dw2);
}

/* ---- forward ---- */

static bool mixer_take_hidden(oa_tape *t, struct mixer_op *m)
{
    size_t bytes = (size_t)(m->batch * m->channels * mixer_units(m)) * t->device->numbers.act_size;
    m->u = oa_tape_take(t, bytes);
    m->a = oa_tape_take(t, bytes);
    m->w1 = mixer_weights(t, m->m.in_weight, m->high1);
    m->w2 = mixer_weights(t, m->m.out_weight, m->high2);
    return m->u && m->a && m->w1 && m->w2;
}

static void mixer_op_forward(oa_tape *t, const struct mixer_op *m)
{
    struct oa_device *d = t->device;
    long C = m->channels, D = mixer_units(m), N = mixer_op_length(m), n = m->length;
    for (long b = 0; b < m->batch; b++)
        d->ops->gemm(d,
                     &(struct oa_gemm){ .m = C,
                                        .n = D,
                                        .k = n,
                                        .lda = m->x->ld,
                                        .ldb = N,
                                        .ldc = D,
                                        .ta = true,
                                        .tb = true },
                     mixer_input_at(t, m, m->x->data, b), m->w1, mixer_hidden_at(t, m, m->u, b));
    d->ops->add_bias(d, m->batch * C, D, m->m.in_bias->value, m->u, D);
    d->ops->unary(d, OA_UNARY_GELU_EXACT, m->batch * C * D, m->u, m->a);
    for (long b = 0; b < m->batch; b++)
        d->ops->gemm(d,
                     &(struct oa_gemm){
                         .m = n, .n = C, .k = D, .lda = D, .ldb = D, .ldc = m->y->ld, .tb = true },
                     m->w2, mixer_hidden_at(t, m, m->a, b), mixer_output_at(t, m, m->y->data, b));
    d->ops->add_position_bias(d, m->batch * n, C, n, m->m.out_bias->value, m->y->data, m->y->ld);
}

/* Caches the hidden units. */
static void mixer_decode(oa_tape *t, const struct oa_mixer *m, oa_tensor *x, long first,
                         oa_tensor *y)
{
    struct oa_device *d = t->device;
    struct oa_mixer_steps a = { .first = t->state->tokens,
                                .tokens = x->rows,
                                .channels = y->cols,
                                .units = m->in_weight->dim[0],
                                .length = m->in_weight->dim[1],
                                .in_weight = m->in_weight->act,
                                .in_bias = m->in_bias->value,
                                .out_weight = m->out_weight->act,
                                .out_bias = m->out_bias->value,
                                .x = oa_act_at(d, x->data, first),
                                .ldx = x->ld,
                                .y = y->data,
                                .ldy = y->ld };
    a.state = oa_cache_numbers(t, a.channels * a.units, d->numbers.real_size);
    if (a.state)
        d->ops->mixer_steps(d, &a);
}

void oa_mixer_op(oa_tape *t, const struct oa_mixer *mixer, oa_tensor *x, long first, long batch,
                 oa_tensor *y)
{
    struct mixer_op *m = x && y ? oa_tape_take_host(t, sizeof *m) : NULL;
    if (!m)
        return;
    if (t->state) {
        mixer_decode(t, mixer, x, first, y);
        return;
    }
    *m = (struct mixer_op){ .m = *mixer,
                            .x = x,
                            .y = y,
                            .first = first,
                            .channels = y->cols,
                            .batch = batch,
                            .length = x->rows / batch };
    if ((mixer->causal && !mixer_make_masks(t, m)) || !mixer_take_hidden(t, m))
        return;
    mixer_op_forward(t, m);
    oa_record(t, mixer_backward, m);
}
