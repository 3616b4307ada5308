/* SPDX-License-Identifier: Apache-2.0
 * Backward pass of linear attention; cpu_linear_attention.c has the formulas. */
#include "device/cpu/cpu_linear_attention.h"

#include <math.h>
#include <string.h>

/* The denominator does not depend on its sum. */
static bool is_clamped(const struct oa_linear_work *w, long i, double den)
{
    double epsilon = oa_linear_epsilon(w, i),
           limit = w->d->cpu->kernels.real == OA_F64 ? epsilon : (double)(float)epsilon;
    if (w->a->policy == OA_DENOMINATOR_CONSTANT)
        return true;
    if (w->a->policy == OA_DENOMINATOR_SIGN)
        return fabs(den) <= limit;
    return w->a->policy == OA_DENOMINATOR_CLAMP && den <= limit;
}

/* N and e of the chunk's queries. */
static void make_gradient(struct oa_linear_work *w)
{
    const struct oa_linear_attention *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long v = a->shape.value_width;
    const void *d_o = oa_linear_query_place(w, a->d_o, a->ldo, v),
               *saved = oa_linear_denominators(w);
    k->row_dots(w->rows, v, d_o, a->ldo, oa_linear_query_place(w, a->o, a->ldo, v), a->ldo, w->e);
    for (long i = 0; i < w->rows; i++) {
        double den = oa_real_get(w->d, saved, i), inverse = den == 0 ? 0 : 1 / den;
        oa_real_set(w->d, w->factor, i, inverse);
        oa_real_set(w->d, w->e, i,
                    is_clamped(w, i, den) ? 0 : -oa_real_get(w->d, w->e, i) * inverse);
    }
    k->tile_to_real(w->rows, v, d_o, a->ldo, w->sum, v);
    k->scale_rows(w->rows, v, w->factor, w->sum, v);
    k->act_from_real(w->rows * v, w->sum, w->n);
}

/* N and e of all queries, computed once for both sweeps; zeros for the padding of the last chunk.
 * */
static bool make_gradients(struct oa_linear_work *w)
{
    size_t act = w->d->numbers.act_size;
    long v = w->a->shape.value_width, rows = oa_blocks(w->a->shape.queries, w->chunk) * w->chunk;
    w->all_n = oa_linear_take(w, rows * v, act);
    w->all_e = oa_linear_take(w, rows, w->d->numbers.real_size);
    if (w->failed)
        return false;
    memset(oa_at(w->all_n, act, w->queries * v), 0, (size_t)((rows - w->queries) * v) * act);
    for (long i0 = 0; i0 < w->queries; i0 += w->chunk) {
        oa_linear_go_to(w, i0, 0);
        w->rows = oa_min(w->chunk, w->queries - i0);
        make_gradient(w);
    }
    return true;
}

/* M of the chunk into w->tile_act. */
static void mixed_tile(struct oa_linear_work *w)
{
    oa_linear_product_tb(w, w->padded, w->padded, w->a->shape.value_width, w->n, w->v, w->tile,
                         false);
    for (long i = 0; i < w->rows; i++)
        w->d->cpu->kernels.axpy(w->high[i], oa_real_get(w->d, w->e, i), w->ones,
                                oa_real_at(w->d, w->tile, i * w->padded));
    oa_linear_decay_pairs(w);
    w->d->cpu->kernels.mask_tile(w->padded, w->padded, w->low, w->high, w->tile, w->padded,
                                 w->tile_act, w->padded, NULL);
}

/* A gradient has two terms: one of the state (S for queries; G, of later queries, for keys), which
 * is 0 in the first chunk of a sweep, and in the causal form one of the chunk itself, by masked
 * products. */
enum { STATE = 1, OWN = 2 };

/* dφ_q of the chunk. */
static void finish_queries(struct oa_linear_work *w, int from)
{
    const struct oa_linear_attention *a = w->a;
    long r = a->features, wide = w->wide;
    if (from & STATE) {
        oa_linear_product(w, w->padded, wide, a->shape.value_width, w->n, w->state_act, w->sum,
                          false);
        for (long i = 0; i < w->rows; i++)
            w->d->cpu->kernels.axpy(r, oa_real_get(w->d, w->e, i), w->z,
                                    oa_real_at(w->d, w->sum, i * wide));
        oa_linear_decay_rows(w, wide);
    }
    if (from & OWN) {
        mixed_tile(w);
        oa_linear_product_features(w, w->padded, false, w->tile_act, w->k, w->sum, from & STATE);
    }
    long width = oa_linear_feature_columns(a);
    oa_linear_store_features(w, w->rows, oa_min(w->chunk, a->shape.queries - w->i0),
                             oa_linear_query_place(w, a->fq, a->ldfq, width), a->ldfq,
                             oa_linear_query_place(w, a->dfq, a->ldfq, width), a->ldfq);
}

static void finish_values(struct oa_linear_work *w, int from)
{
    const struct oa_linear_attention *a = w->a;
    long wide = w->wide, v = a->shape.value_width;
    if (from & STATE) {
        oa_linear_product_tb(w, w->padded, v, wide, w->k, w->state_act, w->sum, false);
        oa_linear_decay_columns(w, v);
    }
    if (from & OWN) {
        oa_linear_product_tb(w, w->padded, w->padded, wide, w->q, w->k, w->tile, false);
        oa_linear_decay_pairs(w);
        w->d->cpu->kernels.mask_tile(w->padded, w->padded, w->low, w->high, w->tile, w->padded,
                                     w->tile_act, w->padded, NULL);
        oa_linear_product_ta(w, w->padded, v, w->padded, w->tile_act, w->n, w->sum, from & STATE);
    }
    long ld = a->ldv;
    void *dv = oa_linear_key_gradient(w, a->dv, v, &ld);
    oa_linear_store(w, w->cols, oa_min(w->chunk, a->shape.keys - w->i0), v, v, dv, ld);
}

/* dφ_k of the chunk. */
static void finish_keys(struct oa_linear_work *w, int from)
{
    const struct oa_linear_attention *a = w->a;
    long r = a->features, wide = w->wide, v = a->shape.value_width;
    if (from & STATE) {
        oa_linear_product(w, w->padded, wide, v, w->v, w->state_act, w->sum, false);
        for (long j = 0; j < w->cols; j++)
            w->d->cpu->kernels.axpy(r, 1, w->z, oa_real_at(w->d, w->sum, j * wide));
        oa_linear_decay_columns(w, wide);
    }
    if (from & OWN) {
        mixed_tile(w);
        oa_linear_product_features(w, w->padded, true, w->tile_act, w->q, w->sum, from & STATE);
    }
    long width = oa_linear_feature_columns(a), ld = a->ldfk;
    void *dfk = oa_linear_key_gradient(w, a->dfk, width, &ld);
    oa_linear_store_features(w, w->cols, oa_min(w->chunk, a->shape.keys - w->i0),
                             oa_linear_key_place(w, a->fk, a->ldfk, width), a->ldfk, dfk, ld);
}

static void finish_keys_and_values(struct oa_linear_work *w, int from)
{
    if (w->a->dv)
        finish_values(w, from);
    if (w->a->dfk)
        finish_keys(w, from);
}

static void causal_queries(struct oa_linear_work *w)
{
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        oa_linear_go_to(w, i0, OA_LINEAR_ROWS | OA_LINEAR_KEYS);
        if (i0 > 0)
            oa_linear_round_state(w);
        finish_queries(w, i0 > 0 ? OWN | STATE : OWN);
        if (!oa_linear_last_chunk(w))
            oa_linear_add_keys(w);
    }
}

static void causal_keys(struct oa_linear_work *w)
{
    long chunks = oa_blocks(w->a->shape.keys, w->chunk);
    oa_linear_clear_state(w);
    for (long c = chunks - 1; c >= 0; c--) {
        oa_linear_go_to(w, c * w->chunk, OA_LINEAR_QUERIES | OA_LINEAR_KEYS);
        if (!oa_linear_last_chunk(w))
            oa_linear_round_state(w);
        finish_keys_and_values(w, oa_linear_last_chunk(w) ? OWN : OWN | STATE);
        if (c > 0)
            oa_linear_add_queries(w);
    }
}

static void full_queries(struct oa_linear_work *w)
{
    oa_linear_add_all_keys(w);
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        oa_linear_go_to(w, i0, OA_LINEAR_ROWS);
        finish_queries(w, STATE);
    }
}

static void full_keys(struct oa_linear_work *w)
{
    oa_linear_clear_state(w);
    for (long i0 = 0; i0 < w->queries; i0 += w->chunk) {
        oa_linear_go_to(w, i0, OA_LINEAR_QUERIES);
        oa_linear_add_queries(w);
    }
    oa_linear_round_state(w);
    for (long j0 = 0; j0 < w->a->shape.keys; j0 += w->chunk) {
        oa_linear_go_to(w, j0, OA_LINEAR_KEYS);
        finish_keys_and_values(w, STATE);
    }
}

static void linear_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    struct oa_linear_work w;
    oa_linear_open(&w, argument, item, worker);
    if (w.failed || !make_gradients(&w))
        return;
    if (w.a->dfq)
        (w.a->shape.causal ? causal_queries : full_queries)(&w);
    if (w.a->dfk || w.a->dv)
        (w.a->shape.causal ? causal_keys : full_keys)(&w);
}

void oa_cpu_linear_attention_gradient(struct oa_device *d, const struct oa_linear_attention *a)
{
    const struct oa_attention_shape *s = &a->shape;
    struct oa_linear_attention own = *a;
    struct oa_linear_call f = { .d = d, .a = &own, .gradient = true };
    long width = oa_linear_feature_columns(a);
    size_t mark = oa_arena_mark(&d->scratch);
    own.dfk = oa_key_gradient_open(d, s, width, a->dfk);
    own.dv = oa_key_gradient_open(d, s, s->value_width, a->dv);
    if ((own.dfk || !a->dfk) && (own.dv || !a->dv)) {
        oa_parallel(d->context, s->batch * s->heads, linear_gradient_item, &f);
        oa_key_gradient_close(d, s, width, own.dfk, a->dfk, a->ldfk);
        oa_key_gradient_close(d, s, s->value_width, own.dv, a->dv, a->ldv);
    }
    oa_arena_release(&d->scratch, mark);
}
