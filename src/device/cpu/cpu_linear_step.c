/* SPDX-License-Identifier: Apache-2.0
 * Linear attention for one token with a state, as in decoding: the recurrence itself (Katharopoulos
 * et al. 2020; scales as in cpu_linear_attention.c),
 *
 *     c' = max(c, c_j)
 *     S ← e^{c−c'} S + e^{c_j−c'} φ_k vᵀ,   z ← e^{c−c'} z + e^{c_j−c'} φ_k,   c ← c'
 *     O = φ_qᵀS / (φ_q·z with the denominator policy)
 *
 * Chunks of one token would fill the matrix units with zeros. In cross-attention, after the memory
 * has been read, there is no key and only the last line remains. 4rV FLOPs per head; an item is a
 * batch item and a head of keys, with all query heads that read it. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

struct linear_step_call {
    struct oa_device *d;
    const struct oa_linear_attention *a;
};

struct linear_token {
    struct oa_device *d;
    const struct oa_linear_attention *a;
    long b, n, h;   /* n: the head of keys and values */
    void *sums, *z; /* real [r, V], [r]: the state; its scale comes after z */
    double scale;
    void *phi, *v, *o; /* real [r], [V], [V] */
    void *act;         /* act [r] */
};

static bool open_linear_token(struct linear_token *t, const struct linear_step_call *f, long item,
                              const struct oa_worker *w)
{
    const struct oa_linear_attention *a = f->a;
    size_t real = f->d->numbers.real_size;
    long r = a->features, V = a->shape.value_width;
    *t = (struct linear_token){
        .d = f->d, .a = a, .b = item / oa_key_heads(&a->shape), .n = item % oa_key_heads(&a->shape)
    };
    t->sums = oa_real_at(f->d, a->state, item * (r * V + r + 1));
    t->z = oa_real_at(f->d, t->sums, r * V);
    t->phi = oa_arena_take(w->scratch, (size_t)r * real);
    t->v = oa_arena_take(w->scratch, (size_t)V * real);
    t->o = oa_arena_take(w->scratch, (size_t)V * real);
    t->act = oa_arena_take(w->scratch, (size_t)r * f->d->numbers.act_size);
    if (!t->phi || !t->v || !t->o || !t->act)
        return false;
    t->scale = a->begun ? oa_real_get(f->d, t->z, r) : -INFINITY;
    if (!a->begun)
        memset(t->sums, 0, (size_t)(r * V + r) * real);
    return true;
}

/* The features of the query or key into t->phi. */
static void read_features(struct linear_token *t, const void *x, long ld, long head)
{
    const struct oa_linear_attention *a = t->a;
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long width = a->squared_width ? a->squared_width : a->features;
    const void *row = oa_act_at(t->d, x, t->b * ld + head * width);
    if (a->squared_width) {
        k->quadratic(1, width, a->squared, row, width, t->act, a->features);
        row = t->act;
    }
    k->real_from_act(a->features, row, t->phi);
}

/* Of `heads` heads. */
static double token_scale(const struct linear_token *t, const void *scales, long heads, long head)
{
    return scales ? oa_real_get(t->d, scales, t->b * heads + head) : 0;
}

static void rescale_state(struct linear_token *t, double to)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long r = t->a->features, V = t->a->shape.value_width;
    double from = t->scale;
    t->scale = to;
    if (from == to || isinf(from)) /* nothing to do; nothing there */
        return;
    oa_real_set(t->d, t->v, 0, exp(from - to));
    k->scale_rows(1, r * V + r, t->v, t->sums, 0);
}

static void add_key_to_state(struct linear_token *t)
{
    const struct oa_linear_attention *a = t->a;
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long V = a->shape.value_width;
    double own = token_scale(t, a->key_scale, oa_key_heads(&a->shape), t->n);
    rescale_state(t, fmax(t->scale, own));
    double weight = exp(own - t->scale);
    read_features(t, a->fk, a->ldfk, t->n);
    k->real_from_act(V, oa_act_at(t->d, a->v, t->b * a->ldv + t->n * V), t->v);
    k->axpy(a->features, weight, t->phi, t->z);
    for (long c = 0; c < a->features; c++)
        k->axpy(V, weight * oa_real_get(t->d, t->phi, c), t->v, oa_real_at(t->d, t->sums, c * V));
}

static void read_state(struct linear_token *t)
{
    const struct oa_linear_attention *a = t->a;
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long V = a->shape.value_width;
    double epsilon =
        a->epsilon * (a->query_scale
                          ? exp(-token_scale(t, a->query_scale, a->shape.heads, t->h) - t->scale)
                          : 1);
    read_features(t, a->fq, a->ldfq, t->h);
    memset(t->o, 0, (size_t)V * k->real_size);
    for (long c = 0; c < a->features; c++)
        k->axpy(V, oa_real_get(t->d, t->phi, c), oa_real_at(t->d, t->sums, c * V), t->o);
    double den = oa_guarded_denominator(a->policy, epsilon, k->dot(a->features, t->phi, t->z));
    oa_real_set(t->d, a->den, t->b * a->shape.heads + t->h, den);
    oa_real_set(t->d, t->v, 0, den == 0 ? 0 : 1 / den);
    k->scale_rows(1, V, t->v, t->o, 0);
    k->act_from_real(V, t->o, oa_act_at(t->d, a->o, t->b * a->ldo + t->h * V));
}

static void linear_step_item(void *argument, long item, const struct oa_worker *w)
{
    struct linear_token t;
    if (!open_linear_token(&t, argument, item, w))
        return;
    if (t.a->shape.keys > 0)
        add_key_to_state(&t);
    long each = t.a->shape.heads / oa_key_heads(&t.a->shape);
    for (t.h = t.n * each; t.h < (t.n + 1) * each; t.h++)
        read_state(&t);
    oa_real_set(t.d, t.z, t.a->features, t.scale);
}

bool oa_linear_step_wanted(const struct oa_linear_attention *a)
{
    return a->state && a->shape.queries == 1 &&
           (a->shape.causal || (a->begun && a->shape.keys == 0));
}

void oa_linear_step(struct oa_device *d, const struct oa_linear_attention *a)
{
    struct linear_step_call f = { d, a };
    oa_parallel(d->context, a->shape.batch * oa_key_heads(&a->shape), linear_step_item, &f);
}
