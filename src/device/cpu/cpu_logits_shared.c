/* SPDX-License-Identifier: Apache-2.0
 * Gradients of keys and biases that are parameters, which the batch shares, and with one table for
 * all heads the heads too. An item that goes through the whole batch would leave too few items if
 * there are few heads; then every (b,h) has separate sums, which are added up afterwards in the
 * order of batch items and heads. That costs B·H·S·(K + 1) reals of scratch and one pass over them;
 * the alternative, two passes over the pairs, computes S and dP twice. */
#include "device/cpu/cpu_logits.h"

#include <string.h>

enum { RUN = 4096 }; /* numbers of an item */

static bool has_keys(const struct oa_logits_part *p)
{
    return p->kind == OA_PART_DOT && p->k_table && p->dk;
}

static bool has_bias(const struct oa_logits_part *p)
{
    return p->kind == OA_PART_DOT && p->bias && p->dbias;
}

/* Numbers of a (b,h) of the parts before part `count`. */
static long shared_numbers(const struct oa_logits *a, int count)
{
    long sum = 0;
    for (int c = 0; c < count; c++)
        sum += (has_keys(&a->part[c]) ? a->part[c].width : 0) + (has_bias(&a->part[c]) ? 1 : 0);
    return sum * a->shape.keys;
}

size_t oa_shared_bytes(const struct oa_device *d, const struct oa_logits *a)
{
    const struct oa_attention_shape *s = &a->shape;
    return (size_t)(s->batch * s->heads * shared_numbers(a, a->parts)) * d->numbers.real_size;
}

static void *shared_sums(const struct oa_shared *s, long b, long h, int part)
{
    const struct oa_logits *a = s->a;
    return oa_real_at(s->d, s->sums,
                      (b * a->shape.heads + h) * shared_numbers(a, a->parts) +
                          shared_numbers(a, part));
}

void oa_shared_clear(const struct oa_shared *s, long b, long h)
{
    memset(shared_sums(s, b, h, 0), 0,
           (size_t)shared_numbers(s->a, s->a->parts) * s->d->numbers.real_size);
}

void *oa_shared_keys(const struct oa_shared *s, long b, long h, int part)
{
    const struct oa_logits_part *p = &s->a->part[part];
    return s->sums ? shared_sums(s, b, h, part) : oa_real_at(s->d, p->dk, h * p->k_head_stride);
}

void *oa_shared_bias(const struct oa_shared *s, long b, long h, int part)
{
    const struct oa_logits_part *p = &s->a->part[part];
    long keys = has_keys(p) ? p->width * s->a->shape.keys : 0;
    return s->sums ? oa_real_at(s->d, shared_sums(s, b, h, part), keys)
                   : oa_real_at(s->d, p->dbias, h * p->bias_head_stride);
}

/* ---- adding up ---- */

struct shared_addition {
    const struct oa_shared *from, *to; /* `to` has no separate sums: it adds to the gradients */
    void *(*place)(const struct oa_shared *s, long b, long h, int part);
    int part;
    long count;
};

static void add_shared_item(void *argument, long item, const struct oa_worker *w)
{
    const struct shared_addition *f = argument;
    const struct oa_shared *s = f->from;
    long at = item * RUN, n = oa_min(RUN, f->count - at);
    (void)w;
    for (long b = 0; b < s->a->shape.batch; b++)
        for (long h = 0; h < s->a->shape.heads; h++)
            s->d->cpu->kernels.axpy(n, 1, oa_real_at(s->d, f->place(s, b, h, f->part), at),
                                    oa_real_at(s->d, f->place(f->to, b, h, f->part), at));
}

static void add_shared_sums(struct shared_addition f)
{
    oa_parallel(f.from->d->context, oa_blocks(f.count, RUN), add_shared_item, &f);
}

void oa_shared_add(const struct oa_shared *s)
{
    const struct oa_shared to = { .d = s->d, .a = s->a };
    long keys = s->a->shape.keys;
    for (int c = 0; c < s->a->parts; c++) {
        const struct oa_logits_part *p = &s->a->part[c];
        if (has_keys(p))
            add_shared_sums((struct shared_addition){ s, &to, oa_shared_keys, c, keys * p->width });
        if (has_bias(p))
            add_shared_sums((struct shared_addition){ s, &to, oa_shared_bias, c, keys });
    }
}
