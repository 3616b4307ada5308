/* SPDX-License-Identifier: Apache-2.0
 * Heads of keys and values that query heads share (grouped-query attention, Ainslie et al. 2023,
 * arXiv 2305.13245). Engines read them where they are; gradients of the query heads of a group are
 * summed here:
 *
 *     dx[row, n·width + c] = Σ of each[row, h·width + c] over h with ⌊h·N/H⌋ = n
 *
 * and the other way round, rows of N heads are repeated for H. Sums are of reals, in the order of
 * the query heads. Runs of rows are items. */
#include "device/cpu/cpu.h"

#include <string.h>

struct key_heads_call {
    struct oa_device *d;
    const struct oa_head_repeat *a;
    long run;
    bool backward;
};

static void repeat_heads_row(const struct oa_device *d, const struct oa_head_repeat *a, long i)
{
    size_t bytes = (size_t)a->width * d->numbers.act_size;
    for (long h = 0; h < a->heads; h++)
        memcpy(oa_act_at(d, a->y, (i * a->heads + h) * a->width),
               oa_act_at(d, a->x, i * a->ldx + h * a->key_heads / a->heads * a->width), bytes);
}

/* sum: real [width] */
static void sum_heads_row(const struct oa_device *d, const struct oa_head_repeat *a, long i,
                          void *sum)
{
    const struct oa_kernels *k = &d->cpu->kernels;
    long each = a->heads / a->key_heads;
    for (long h = 0; h < a->heads; h++) {
        const void *dy = oa_act_at(d, a->dy, (i * a->heads + h) * a->width);
        if (h % each == 0)
            k->real_from_act(a->width, dy, sum);
        else
            k->add_to_real(a->width, 1, dy, sum);
        if (h % each == each - 1)
            k->act_from_real(a->width, sum, oa_act_at(d, a->dx, i * a->ldx + h / each * a->width));
    }
}

static void key_heads_item(void *argument, long item, const struct oa_worker *w)
{
    const struct key_heads_call *c = argument;
    void *sum = oa_arena_take(w->scratch, (size_t)c->a->width * c->d->numbers.real_size);
    for (long i = item * c->run; sum && i < oa_min((item + 1) * c->run, c->a->rows); i++) {
        if (c->backward)
            sum_heads_row(c->d, c->a, i, sum);
        else
            repeat_heads_row(c->d, c->a, i);
    }
}

static void run_key_heads(struct oa_device *d, const struct oa_head_repeat *a, bool backward)
{
    struct key_heads_call c = {
        .d = d, .a = a, .run = oa_item_rows(a->heads * a->width), .backward = backward
    };
    oa_parallel(d->context, oa_blocks(a->rows, c.run), key_heads_item, &c);
}

void oa_cpu_repeat_heads(struct oa_device *d, const struct oa_head_repeat *a)
{
    run_key_heads(d, a, false);
}

void oa_cpu_repeat_heads_gradient(struct oa_device *d, const struct oa_head_repeat *a)
{
    run_key_heads(d, a, true);
}

/* ---- gradients of an engine ---- */

size_t oa_key_gradient_bytes(const struct oa_device *d, const struct oa_attention_shape *s,
                             long width)
{
    return oa_shares_key_heads(s)
               ? (size_t)(s->batch * s->keys * s->heads * width) * d->numbers.act_size
               : 0;
}

void *oa_key_gradient_open(struct oa_device *d, const struct oa_attention_shape *s, long width,
                           void *x)
{
    size_t bytes = oa_key_gradient_bytes(d, s, width);
    return x && bytes ? oa_arena_take(&d->scratch, bytes) : x;
}

void oa_key_gradient_close(struct oa_device *d, const struct oa_attention_shape *s, long width,
                           const void *written, void *x, long ld)
{
    if (!x || !written || written == x)
        return;
    run_key_heads(d,
                  &(struct oa_head_repeat){ .rows = s->batch * s->keys,
                                            .heads = s->heads,
                                            .key_heads = oa_key_heads(s),
                                            .width = width,
                                            .dy = written,
                                            .dx = x,
                                            .ldx = ld },
                  true);
}
