/* SPDX-License-Identifier: Apache-2.0
 * The causal token mixer (ops/mixer_op.c), token by token. Hidden unit u has the time
 * t(u) = ⌊uN/D_S⌋: its inputs are the tokens p ≤ t(u), its outputs the tokens p ≥ t(u). With
 * low(p) = ⌈pD_S/N⌉, the first unit with t(u) ≥ p, token p of channel c computes
 *
 *     U_cu += W1[u, p] x_pc                 for u ≥ low(p)
 *     A_cu  = gelu(U_cu + b1[u])            for low(p) ≤ u < low(p + 1)
 *     y_pc  = Σ_{u < low(p+1)} W2[p, u] A_cu + b2[p]
 *
 * A unit stores U until its time and A from then on: one number, D_S per channel. About 2·D_S FLOPs
 * per token and channel, half of the products of the parallel form. An item is a block of channels.
 */
#include "device/cpu/cpu.h"

struct mixer_steps_call {
    struct oa_device *d;
    const struct oa_mixer_steps *a;
    long block; /* channels an item */
};

struct mixer_work {
    struct oa_device *d;
    const struct oa_mixer_steps *a;
    long channel, channels;
    void *in, *out; /* real [D_S]: column p of W1, row p of W2 */
    void *x;        /* real [channels] */
    void *act;      /* act [D_S] */
};

static long first_unit(const struct oa_mixer_steps *a, long position)
{
    return oa_min(a->units, oa_blocks(position * a->units, a->length));
}

static bool open_mixer_work(struct mixer_work *w, const struct mixer_steps_call *f, long item,
                            const struct oa_worker *worker)
{
    size_t real = f->d->numbers.real_size, units = (size_t)f->a->units;
    *w = (struct mixer_work){ .d = f->d, .a = f->a, .channel = item * f->block };
    w->channels = oa_min(f->block, f->a->channels - w->channel);
    w->in = oa_arena_take(worker->scratch, units * real);
    w->out = oa_arena_take(worker->scratch, units * real);
    w->x = oa_arena_take(worker->scratch, (size_t)f->block * real);
    w->act = oa_arena_take(worker->scratch, units * f->d->numbers.act_size);
    return w->in && w->out && w->x && w->act;
}

static void read_mixer_weights(struct mixer_work *w, long position, long low, long high)
{
    const struct oa_mixer_steps *a = w->a;
    for (long u = low; u < a->units; u++)
        w->d->cpu->kernels.real_from_act(1, oa_act_at(w->d, a->in_weight, u * a->length + position),
                                         oa_real_at(w->d, w->in, u));
    w->d->cpu->kernels.real_from_act(high, oa_act_at(w->d, a->out_weight, position * a->units),
                                     w->out);
}

/* Units low … high−1 of a channel have all their inputs: adds biases and applies gelu. */
static void finish_hidden_units(struct mixer_work *w, long low, long high, void *units)
{
    void *u = oa_real_at(w->d, units, low);
    w->d->cpu->kernels.axpy(high - low, 1, oa_real_at(w->d, w->a->in_bias, low), u);
    w->d->cpu->kernels.act_from_real(high - low, u, w->act);
    w->d->cpu->kernels.gelu_exact(high - low, w->act, w->act);
    w->d->cpu->kernels.real_from_act(high - low, w->act, u);
}

static void mixer_step(struct mixer_work *w, long token)
{
    const struct oa_mixer_steps *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long position = a->first + token, low = first_unit(a, position),
         high = first_unit(a, position + 1);
    double bias = oa_real_get(w->d, a->out_bias, position);
    read_mixer_weights(w, position, low, high);
    k->real_from_act(w->channels, oa_act_at(w->d, a->x, token * a->ldx + w->channel), w->x);
    for (long c = 0; c < w->channels; c++) {
        void *units = oa_real_at(w->d, a->state, (w->channel + c) * a->units);
        k->axpy(a->units - low, oa_real_get(w->d, w->x, c), oa_real_at(w->d, w->in, low),
                oa_real_at(w->d, units, low));
        finish_hidden_units(w, low, high, units);
        oa_real_set(w->d, w->x, c, k->dot(high, w->out, units) + bias);
    }
    k->act_from_real(w->channels, w->x, oa_act_at(w->d, a->y, token * a->ldy + w->channel));
}

static void mixer_steps_item(void *argument, long item, const struct oa_worker *worker)
{
    struct mixer_work w;
    if (!open_mixer_work(&w, argument, item, worker))
        return;
    for (long token = 0; token < w.a->tokens; token++)
        mixer_step(&w, token);
}

void oa_cpu_mixer_steps(struct oa_device *d, const struct oa_mixer_steps *a)
{
    struct mixer_steps_call f = { .d = d, .a = a, .block = oa_item_rows(a->units) };
    oa_parallel(d->context, oa_blocks(a->channels, f.block), mixer_steps_item, &f);
}
