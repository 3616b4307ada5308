/* SPDX-License-Identifier: Apache-2.0
 * A sink of each head: a logit b whose weight takes part in the softmax and is then dropped
 * (gpt-oss, OpenAI 2025). With lse the logarithm of the sum without it:
 *
 *     lse' = log(e^lse + e^b),   O' = e^{lse − lse'} O
 *     db = −Σ_i e^{b − lse'_i} δ_i,   δ_i = dO_i·O'_i
 *
 * since the sink's weight p has dP = 0 and dS = p (0 − δ). An empty row (lse' = −∞, or O = 0) adds
 * nothing. An item is a (b,h), of the gradient a head. */
#include "device/cpu/cpu_logits.h"

enum { SINK_ROWS = 64 };

struct sink_call {
    struct oa_device *d;
    const struct oa_logits *a;
};

static void sink_join_item(void *argument, long item, const struct oa_worker *w)
{
    const struct sink_call *c = argument;
    const struct oa_device *d = c->d;
    const struct oa_attention_shape *s = &c->a->shape;
    long V = s->value_width, h = item % s->heads;
    double sink = oa_sink_logit(d, c->a, h);
    void *row = oa_arena_take(w->scratch, (size_t)V * d->numbers.real_size), *factor;
    factor = oa_arena_take(w->scratch, d->numbers.real_size);
    for (long i = 0; i < s->queries && row && factor; i++) {
        double lse = oa_real_get(d, c->a->lse, item * s->queries + i), top = fmax(lse, sink);
        if (lse == -INFINITY)
            continue;
        double both = top + log(exp(lse - top) + exp(sink - top));
        void *o = oa_act_at(d, c->a->o, (item / s->heads * s->queries + i) * c->a->ldo + h * V);
        d->cpu->kernels.real_from_act(V, o, row);
        oa_real_set(d, factor, 0, exp(lse - both));
        d->cpu->kernels.scale_rows(1, V, factor, row, V);
        d->cpu->kernels.act_from_real(V, row, o);
        oa_real_set(d, c->a->lse, item * s->queries + i, both);
    }
}

void oa_sink_join(struct oa_device *d, const struct oa_logits *a)
{
    struct sink_call c = { d, a };
    oa_parallel(d->context, a->shape.batch * a->shape.heads, sink_join_item, &c);
}

/* Σ e^{b − lse} δ over n rows from row i on of batch item b; delta: real [SINK_ROWS]. */
static double sink_sum(const struct sink_call *c, long b, long h, long i, long n, void *delta)
{
    const struct oa_device *d = c->d;
    const struct oa_logits *a = c->a;
    const struct oa_attention_shape *s = &a->shape;
    long at = (b * s->queries + i) * a->ldo + h * s->value_width;
    double sum = 0;
    d->cpu->kernels.row_dots(n, s->value_width, oa_act_at(d, a->d_o, at), a->ldo,
                             oa_act_at(d, a->o, at), a->ldo, delta);
    for (long k = 0; k < n; k++) {
        double lse = oa_real_get(d, a->lse, (b * s->heads + h) * s->queries + i + k);
        if (lse != -INFINITY)
            sum += exp(oa_sink_logit(d, a, h) - lse) * oa_real_get(d, delta, k);
    }
    return sum;
}

static void sink_gradient_item(void *argument, long h, const struct oa_worker *w)
{
    const struct sink_call *c = argument;
    const struct oa_attention_shape *s = &c->a->shape;
    void *delta = oa_arena_take(w->scratch, SINK_ROWS * c->d->numbers.real_size);
    double sum = 0;
    for (long b = 0; b < s->batch && delta; b++) {
        long rows = oa_real_length(s->query_lengths, b, s->queries);
        for (long i = 0; i < rows; i += SINK_ROWS)
            sum += sink_sum(c, b, h, i, oa_min(SINK_ROWS, rows - i), delta);
    }
    oa_real_set(c->d, c->a->dsink, h, oa_real_get(c->d, c->a->dsink, h) - sum);
}

void oa_sink_gradient(struct oa_device *d, const struct oa_logits *a)
{
    struct sink_call c = { d, a };
    oa_parallel(d->context, a->shape.heads, sink_gradient_item, &c);
}
