/* SPDX-License-Identifier: Apache-2.0
 * A causal convolution of each column by itself, then z·σ(z), as in front of state updates (Yang et
 * al. 2024, arXiv 2412.06464):
 *
 *     z_t = Σ_{u < W} w_u ⊙ x_{t−W+1+u},   y = z σ(z)
 *     dz = dy (σ(z) + z σ(z)(1 − σ(z)))
 *     dx_t = Σ_u w_u ⊙ dz_{t+W−1−u},   dw_u = Σ_t dz_t ⊙ x_{t−W+1+u}
 *
 * Rows before the first are those of the state. [B·T, cols] → the same; an item is a block of
 * columns of all sequences, so that dw has one owner.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/cpu_logits.h"

#include <string.h>

enum { CONV_COLUMNS = 64 };

struct conv_call {
    struct oa_device *d;
    const struct oa_causal_conv *a;
};

struct conv_block {
    struct oa_device *d;
    const struct oa_causal_conv *a;
    const struct oa_kernels *k;
    long first, cols;
    void *w, *dw;     /* act, real [W, cols] */
    void *sum;        /* real [cols] */
    void *dz, *other; /* act [cols] */
    void *dx;         /* real [length, cols] */
};

static bool open_conv_block(struct conv_block *b, const struct conv_call *f, long item,
                            const struct oa_worker *worker)
{
    const struct oa_causal_conv *a = f->a;
    size_t real = f->d->numbers.real_size, act = f->d->numbers.act_size;
    *b = (struct conv_block){
        .d = f->d, .a = a, .k = &f->d->cpu->kernels, .first = item * CONV_COLUMNS
    };
    b->cols = oa_min(CONV_COLUMNS, a->cols - b->first);
    size_t cols = (size_t)b->cols, taps = (size_t)a->taps;
    b->w = oa_arena_take(worker->scratch, taps * cols * act);
    b->dw = oa_arena_take(worker->scratch, taps * cols * real);
    b->sum = oa_arena_take(worker->scratch, cols * real);
    b->dz = oa_arena_take(worker->scratch, cols * act);
    b->other = oa_arena_take(worker->scratch, cols * act);
    if (a->dy)
        b->dx = oa_arena_take(worker->scratch, (size_t)a->length * cols * real);
    if (!b->w || !b->dw || !b->sum || !b->dz || !b->other || (a->dy && !b->dx))
        return false;
    for (long u = 0; u < a->taps; u++)
        for (long c = 0; c < b->cols; c++)
            oa_real_set(b->d, b->dw, u * b->cols + c,
                        oa_real_get(b->d, a->w, (b->first + c) * a->taps + u));
    b->k->act_from_real(a->taps * b->cols, b->dw, b->w);
    oa_real_fill(b->d, a->taps * b->cols, 0, b->dw);
    return true;
}

/* Columns of the block of row t of a sequence; t < 0: of the state, or NULL. */
static const void *conv_row(const struct conv_block *b, long sequence, long t)
{
    const struct oa_causal_conv *a = b->a;
    if (t >= 0)
        return oa_act_at(b->d, a->x, (sequence * a->length + t) * a->ldx + b->first);
    return oa_act_at(b->d, a->state, (a->taps - 1 + t) * a->cols + b->first);
}

static void conv_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct conv_call *f = argument;
    const struct oa_causal_conv *a = f->a;
    struct conv_block b;
    if (!open_conv_block(&b, f, item, worker))
        return;
    for (long i = 0; i < a->batch * a->length; i++) {
        long at = i * a->cols + b.first;
        oa_real_fill(b.d, b.cols, 0, b.sum);
        for (long u = 0; u < a->taps; u++) {
            const void *x = conv_row(&b, i / a->length, i % a->length - a->taps + 1 + u);
            if (x)
                b.k->multiply_gradient(b.cols, oa_act_at(b.d, b.w, u * b.cols), x, b.sum);
        }
        void *z = oa_act_at(b.d, a->z, at);
        b.k->act_from_real(b.cols, b.sum, z);
        b.k->gate(b.cols, z, z, oa_act_at(b.d, a->y, at));
    }
}

/* The last W − 1 rows become the state. */
static void keep_last_rows(struct oa_device *d, const struct oa_causal_conv *a)
{
    size_t bytes = (size_t)a->cols * d->numbers.act_size;
    for (long i = 0; i < a->taps - 1; i++) {
        long t = a->length - (a->taps - 1) + i;
        const void *from = t < 0 ? oa_act_at(d, a->state, (a->taps - 1 + t) * a->cols)
                                 : oa_act_at(d, a->x, t * a->ldx);
        memcpy(oa_act_at(d, a->state, i * a->cols), from, bytes);
    }
}

void oa_cpu_causal_conv(struct oa_device *d, const struct oa_causal_conv *a)
{
    struct conv_call f = { d, a };
    oa_parallel(d->context, oa_blocks(a->cols, CONV_COLUMNS), conv_item, &f);
    if (a->state)
        keep_last_rows(d, a);
}

static void conv_sequence_gradient(struct conv_block *b, long sequence)
{
    const struct oa_causal_conv *a = b->a;
    oa_real_fill(b->d, a->length * b->cols, 0, b->dx);
    for (long s = 0; s < a->length; s++) {
        long at = (sequence * a->length + s) * a->cols + b->first;
        const void *z = oa_act_at(b->d, a->z, at);
        b->k->gate_gradient(b->cols, z, z, oa_act_at(b->d, a->dy, at), b->dz, b->other);
        b->k->add(b->cols, b->dz, b->other, b->dz);
        for (long u = 0; u < a->taps; u++) {
            long t = s - a->taps + 1 + u;
            if (t < 0)
                continue;
            b->k->multiply_gradient(b->cols, oa_act_at(b->d, b->w, u * b->cols), b->dz,
                                    oa_real_at(b->d, b->dx, t * b->cols));
            b->k->multiply_gradient(b->cols, conv_row(b, sequence, t), b->dz,
                                    oa_real_at(b->d, b->dw, u * b->cols));
        }
    }
    if (a->dx)
        b->k->tile_to_act(a->length, b->cols, b->dx, b->cols,
                          oa_act_at(b->d, a->dx, sequence * a->length * a->ldx + b->first), a->ldx);
}

static void conv_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct conv_call *f = argument;
    const struct oa_causal_conv *a = f->a;
    struct conv_block b;
    if (!open_conv_block(&b, f, item, worker))
        return;
    for (long sequence = 0; sequence < a->batch; sequence++)
        conv_sequence_gradient(&b, sequence);
    for (long u = 0; a->dw && u < a->taps; u++)
        for (long c = 0; c < b.cols; c++) {
            long at = (b.first + c) * a->taps + u;
            oa_real_set(b.d, a->dw, at,
                        oa_real_get(b.d, a->dw, at) + oa_real_get(b.d, b.dw, u * b.cols + c));
        }
}

void oa_cpu_causal_conv_gradient(struct oa_device *d, const struct oa_causal_conv *a)
{
    struct conv_call f = { d, a };
    oa_parallel(d->context, oa_blocks(a->cols, CONV_COLUMNS), conv_gradient_item, &f);
}
