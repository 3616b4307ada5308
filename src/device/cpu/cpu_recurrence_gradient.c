/* SPDX-License-Identifier: Apache-2.0
 * Backward pass of state updates; cpu_recurrence.c has the formulas. */
#include "device/cpu/cpu_recurrence.h"

#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

struct gradient_work {
    struct oa_recurrence_work w;
    void *states, *all_u;         /* [chunks, r, V], [chunks·chunk, V] */
    void *d_state;                /* [r, V]: dS */
    void *d_o, *d_u;              /* [chunk, V]: dO; dU, then dR and W */
    void *d_pairs, *d_key_pairs;  /* [padded, padded]: dP, da */
    void *d_q, *d_left, *d_right; /* [chunk, r] */
    void *d_decay;                /* [chunk, decays]: db, then d ln γ */
    void *d_beta;                 /* [chunk] */
    void *d_end;                  /* [r]: of b_C, by channel */
    void *diagonal, *negated;     /* [chunk]: of dP; −b, HEAD and FIXED */
};

static void open_gradient(struct gradient_work *g, const struct oa_recurrence_call *f, long item,
                          const struct oa_worker *worker)
{
    enum { C = OA_RECURRENCE_CHUNK };
    struct oa_recurrence_work *w = &g->w;
    oa_recurrence_open(w, f, item, worker);
    long r = w->r, v = w->v, chunks = oa_blocks(w->tokens, C);
    g->states = oa_recurrence_take(w, oa_max(1, chunks * r * v));
    g->all_u = oa_recurrence_take(w, oa_max(1, chunks * C * v));
    g->d_state = oa_recurrence_take(w, r * v);
    g->d_o = oa_recurrence_take(w, C * v);
    g->d_u = oa_recurrence_take(w, C * v);
    g->d_pairs = oa_recurrence_take(w, C * C);
    g->d_key_pairs = oa_recurrence_take(w, C * C);
    g->d_q = oa_recurrence_take(w, C * r);
    g->d_left = oa_recurrence_take(w, C * r);
    g->d_right = oa_recurrence_take(w, C * r);
    g->d_decay = oa_recurrence_take(w, C * w->decays);
    g->d_beta = oa_recurrence_take(w, C);
    g->d_end = oa_recurrence_take(w, r);
    g->diagonal = oa_recurrence_take(w, C);
    g->negated = oa_recurrence_take(w, C);
}

/* The states before the chunks, and U. */
static void keep_states(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    long size = w->r * w->v;
    for (long i0 = 0; i0 < w->tokens; i0 += OA_RECURRENCE_CHUNK) {
        oa_recurrence_go_to(w, i0);
        memcpy(oa_real_at(w->d, g->states, i0 / OA_RECURRENCE_CHUNK * size), w->state,
               (size_t)size * w->d->numbers.real_size);
        oa_recurrence_values(w);
        memcpy(oa_real_at(w->d, g->all_u, i0 * w->v), w->u,
               (size_t)(w->padded * w->v) * w->d->numbers.real_size);
        oa_recurrence_advance(w);
    }
}

/* dU, then W; dP and da. */
static void value_gradients(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    long n = w->padded, v = w->v;
    struct oa_gemm outer = { .m = n, .n = n, .k = v, .tb = true };
    oa_recurrence_product(w, &(struct oa_gemm){ .m = n, .n = v, .k = n, .ta = true }, w->pairs,
                          g->d_o, g->d_u);
    oa_recurrence_product(w, &(struct oa_gemm){ .m = n, .n = v, .k = w->r, .accumulate = true },
                          w->key_right, g->d_state, g->d_u);
    oa_recurrence_product(w, &outer, g->d_o, w->u, w->tile);
    w->k->mask_tile(n, n, w->low, w->through, w->tile, n, g->d_pairs, n, NULL);
    if (!w->a->beta_logits)
        return;
    oa_recurrence_solve(w, true, g->d_u);
    w->k->row_dots(n, v, g->d_u, v, w->u, v, g->d_beta);
    for (long i = 0; i < n; i++)
        oa_real_set(w->d, g->d_beta, i,
                    oa_real_get(w->d, g->d_beta, i) * (1 - oa_real_get(w->d, w->beta, i)));
    w->k->scale_rows(n, v, w->beta, g->d_u, v);
    oa_recurrence_product(w, &outer, g->d_u, w->u, w->tile);
    oa_real_fill(w->d, n, -1, w->factor);
    w->k->scale_rows(n, n, w->factor, w->tile, n);
    w->k->mask_tile(n, n, w->low, w->below, w->tile, n, g->d_key_pairs, n, NULL);
}

/* The terms of the states before and after the chunk in dq and dk_left, and in dk_right and b_C. */
static void state_gradients(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    long n = w->padded, r = w->r;
    struct oa_gemm rows = { .m = n, .n = r, .k = w->v, .tb = true };
    size_t bytes = (size_t)(n * r) * w->d->numbers.real_size;
    oa_recurrence_product(w, &rows, g->d_o, w->state, g->d_q);
    oa_recurrence_decay_rows(w, false, g->d_q, r);
    memset(g->d_left, 0, bytes);
    if (w->a->beta_logits) {
        oa_recurrence_product(w, &rows, g->d_u, w->state, g->d_left);
        oa_recurrence_decay_rows(w, false, g->d_left, r);
        oa_real_fill(w->d, n, -1, w->factor);
        w->k->scale_rows(n, r, w->factor, g->d_left, r);
    }
    oa_recurrence_product(w, &rows, w->u, g->d_state, g->d_right);
    oa_recurrence_decay_rows(w, true, g->d_right, r);
    memset(g->d_end, 0, (size_t)r * w->d->numbers.real_size);
    for (long i = 0; i < n; i++)
        w->k->multiply_gradient(r, oa_real_at(w->d, w->key, i * r),
                                oa_real_at(w->d, g->d_right, i * r), g->d_end);
    oa_recurrence_state_decay(w);
    for (long c = 0; c < r; c++) {
        double both = w->k->dot(w->v, oa_real_at(w->d, w->state, c * w->v),
                                oa_real_at(w->d, g->d_state, c * w->v));
        oa_real_set(w->d, g->d_end, c,
                    oa_real_get(w->d, g->d_end, c) + both * oa_real_get(w->d, w->factor, c));
    }
}

/* dS: from after the chunk to before it. */
static void state_back(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    struct oa_gemm sum = { .m = w->r, .n = w->v, .k = w->padded, .ta = true, .accumulate = true };
    oa_recurrence_state_decay(w);
    w->k->scale_rows(w->r, w->v, w->factor, g->d_state, w->v);
    oa_recurrence_product(w, &sum, w->query_left, g->d_o, g->d_state);
    if (!w->a->beta_logits)
        return;
    oa_real_fill(w->d, w->padded, -1, w->factor);
    w->k->scale_rows(w->padded, w->r, w->factor, w->key_left, w->r);
    oa_recurrence_product(w, &sum, w->key_left, g->d_u, g->d_state);
}

/* ---- pairs ---- */

/* The diagonal of dP into g->diagonal, and zeros in its place. */
static void take_diagonal(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    for (long i = 0; i < w->padded; i++) {
        long at = i * w->padded + i;
        oa_real_set(w->d, g->diagonal, i, oa_real_get(w->d, g->d_pairs, at));
        oa_real_set(w->d, g->d_pairs, at, 0);
    }
}

static void head_pair_gradients(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    long n = w->padded;
    struct oa_gemm rows = { .m = n, .n = w->r, .k = n, .accumulate = true }, columns = rows;
    columns.ta = true;
    if (w->a->decay != OA_DECAY_NONE) {
        for (long i = 0; i < n; i++)
            oa_real_set(w->d, g->negated, i, -oa_real_get(w->d, w->sums, i));
        w->k->decay_tile(n, n, w->low, w->below, g->negated, g->negated, g->d_pairs, n);
        if (w->a->beta_logits)
            w->k->decay_tile(n, n, w->low, w->below, g->negated, g->negated, g->d_key_pairs, n);
    }
    oa_recurrence_product(w, &rows, g->d_pairs, w->key, g->d_q);
    oa_recurrence_product(w, &columns, g->d_pairs, w->q, g->d_right);
    if (!w->a->beta_logits)
        return;
    oa_recurrence_product(w, &rows, g->d_key_pairs, w->key, g->d_left);
    oa_recurrence_product(w, &columns, g->d_key_pairs, w->key, g->d_right);
}

/* Rows [n, r] of `to` += x ⊙ factors. */
static void add_products(struct oa_recurrence_work *w, long n, const void *factors, void *x,
                         void *to)
{
    w->k->multiply(n * w->r, factors, x, x);
    w->k->add(n * w->r, to, x, to);
}

/* Pairs of the rows of a block at j0 with the rows before it. */
static void channel_gradients_before(struct gradient_work *g, long j0)
{
    enum { BLOCK = OA_RECURRENCE_BLOCK };
    struct oa_recurrence_work *w = &g->w;
    long n = w->padded, r = w->r, at = j0 * n;
    struct oa_gemm rows = { .m = BLOCK, .n = r, .k = j0, .lda = n },
                   columns = { .m = j0, .n = r, .k = BLOCK, .ta = true, .lda = n };
    oa_recurrence_block_decays(w, j0, w->block_left, w->block_right);
    w->k->multiply(j0 * r, w->block_right, w->key, w->block_keys);
    w->k->multiply(BLOCK * r, w->block_left, oa_real_at(w->d, w->q, j0 * r), w->block_q);
    oa_recurrence_product(w, &columns, oa_real_at(w->d, g->d_pairs, at), w->block_q, w->rows_sum);
    oa_recurrence_product(w, &rows, oa_real_at(w->d, g->d_pairs, at), w->block_keys, w->block_q);
    add_products(w, BLOCK, w->block_left, w->block_q, oa_real_at(w->d, g->d_q, j0 * r));
    if (w->a->beta_logits) {
        columns.accumulate = true;
        w->k->multiply(BLOCK * r, w->block_left, oa_real_at(w->d, w->key, j0 * r), w->block_k);
        oa_recurrence_product(w, &columns, oa_real_at(w->d, g->d_key_pairs, at), w->block_k,
                              w->rows_sum);
        oa_recurrence_product(w, &rows, oa_real_at(w->d, g->d_key_pairs, at), w->block_keys,
                              w->block_k);
        add_products(w, BLOCK, w->block_left, w->block_k, oa_real_at(w->d, g->d_left, j0 * r));
    }
    add_products(w, j0, w->block_right, w->rows_sum, g->d_right);
}

static void channel_pair_gradients(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    long n = w->padded, r = w->r;
    for (long j0 = 0; j0 < n; j0 += OA_RECURRENCE_BLOCK) {
        long corner = j0 * n + j0;
        if (j0 > 0)
            channel_gradients_before(g, j0);
        oa_recurrence_block_factors(w, j0, w->block_left);
        w->k->decay_pairs_gradient(
            OA_RECURRENCE_BLOCK, r, w->block_left, oa_real_at(w->d, w->q, j0 * r),
            oa_real_at(w->d, w->key, j0 * r), oa_real_at(w->d, g->d_pairs, corner),
            w->a->beta_logits ? oa_real_at(w->d, g->d_key_pairs, corner) : NULL, n,
            oa_real_at(w->d, g->d_q, j0 * r), oa_real_at(w->d, g->d_left, j0 * r),
            oa_real_at(w->d, g->d_right, j0 * r), w->row);
    }
}

/* ---- decays ---- */

/* d ln γ into g->d_decay: db of the rows, summed from the last to the first on top of that of b_C.
 */
static void decay_gradients(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    long n = w->padded, r = w->r;
    void *sum = g->d_end;
    for (long i = n - 1; i >= 0; i--) {
        long at = i * r;
        const void *key = oa_real_at(w->d, w->key, at);
        w->k->multiply_gradient(r, oa_real_at(w->d, w->q, at), oa_real_at(w->d, g->d_q, at), sum);
        w->k->multiply_gradient(r, key, oa_real_at(w->d, g->d_left, at), sum);
        w->k->multiply(r, key, oa_real_at(w->d, g->d_right, at), w->row);
        w->k->axpy(r, -1, w->row, sum);
        if (w->decays == 1)
            oa_real_set(w->d, g->d_decay, i, w->k->dot(r, sum, w->ones));
        else
            memcpy(oa_real_at(w->d, g->d_decay, at), sum, (size_t)r * w->d->numbers.real_size);
    }
}

/* ln γ = −e^rate·ln(1 + e^x): dx = −dln γ·e^rate·σ(x), drate = Σ dln γ·ln γ. */
static void store_head_decays(struct gradient_work *g, const struct oa_recurrence_call *f)
{
    struct oa_recurrence_work *w = &g->w;
    const struct oa_recurrence *a = w->a;
    long item = w->b * a->shape.heads + w->h;
    double rate = exp(oa_real_get(w->d, a->rate, w->h)),
           along = w->k->dot(w->rows, g->d_decay, w->log_decay);
    oa_real_set(w->d, f->d_rate, item, oa_real_get(w->d, f->d_rate, item) + along);
    for (long i = 0; i < w->rows; i++) {
        double x = oa_recurrence_logit(w, a->decay_logits, a->ld_decay, i),
               slope = -rate / (1 + exp(-x));
        oa_real_set(w->d, g->d_decay, i, oa_real_get(w->d, g->d_decay, i) * slope);
    }
    if (a->d_decay_logits)
        oa_recurrence_store(w, g->d_decay, a->ld_decay, 1, a->d_decay_logits);
}

static void store_channel_decays(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    const struct oa_recurrence *a = w->a;
    void *dx = oa_recurrence_place(w, a->d_decay_logits, a->ld_decay, w->r);
    const void *x = oa_recurrence_place(w, a->decay_logits, a->ld_decay, w->r);
    for (long i = 0; i < w->rows; i++)
        w->d->cpu->kernels.log_sigmoid_gradient(w->r, 1.0 / 16, oa_act_at(w->d, x, i * a->ld_decay),
                                                oa_real_at(w->d, g->d_decay, i * w->r),
                                                oa_act_at(w->d, dx, i * a->ld_decay));
    size_t size = w->d->numbers.act_size;
    oa_zero_rows(oa_at(dx, size, w->rows * a->ld_decay), (size_t)a->ld_decay * size,
                 (size_t)w->r * size,
                 oa_min(OA_RECURRENCE_CHUNK, a->shape.queries - w->i0) - w->rows);
}

/* ---- chunks ---- */

static void store_gradients(struct gradient_work *g)
{
    struct oa_recurrence_work *w = &g->w;
    const struct oa_recurrence *a = w->a;
    long n = w->padded, r = w->r;
    w->k->add(n * r, g->d_left, g->d_right, g->d_left);
    for (long i = 0; i < n; i++) {
        double own = oa_real_get(w->d, g->diagonal, i);
        w->k->axpy(r, own, oa_real_at(w->d, w->key, i * r), oa_real_at(w->d, g->d_q, i * r));
        w->k->axpy(r, own, oa_real_at(w->d, w->q, i * r), oa_real_at(w->d, g->d_left, i * r));
    }
    oa_real_fill(w->d, 1, a->scale, w->row);
    w->k->scale_rows(1, n * r, w->row, g->d_q, 0);
    if (a->dq)
        oa_recurrence_store(w, g->d_q, a->ldq, r, a->dq);
    if (a->dk)
        oa_recurrence_store(w, g->d_left, a->ldk, r, a->dk);
    if (a->dv)
        oa_recurrence_store(w, g->d_u, a->ldv, w->v, a->dv);
    if (a->d_beta_logits)
        oa_recurrence_store(w, g->d_beta, a->ld_beta, 1, a->d_beta_logits);
}

static void chunk_gradients(struct gradient_work *g, const struct oa_recurrence_call *f)
{
    struct oa_recurrence_work *w = &g->w;
    long size = w->r * w->v;
    oa_recurrence_load(w, w->a->d_o, w->a->ldo, w->v, g->d_o);
    memcpy(w->state, oa_real_at(w->d, g->states, w->i0 / OA_RECURRENCE_CHUNK * size),
           (size_t)size * w->d->numbers.real_size);
    memcpy(w->u, oa_real_at(w->d, g->all_u, w->i0 * w->v),
           (size_t)(w->padded * w->v) * w->d->numbers.real_size);
    value_gradients(g);
    state_gradients(g);
    state_back(g);
    take_diagonal(g);
    if (w->a->decay == OA_DECAY_CHANNEL)
        channel_pair_gradients(g);
    else
        head_pair_gradients(g);
    if (f->d_rate || w->a->d_decay_logits)
        decay_gradients(g);
    if (f->d_rate)
        store_head_decays(g, f);
    else if (w->a->d_decay_logits)
        store_channel_decays(g);
    store_gradients(g);
}

/* Zeros for the chunks of padding after the tokens. */
static void clear_gradients(struct gradient_work *g, long i0)
{
    struct oa_recurrence_work *w = &g->w;
    const struct oa_recurrence *a = w->a;
    const struct {
        void *x;
        long ld, width;
    } all[] = { { a->dq, a->ldq, w->r },
                { a->dk, a->ldk, w->r },
                { a->dv, a->ldv, w->v },
                { a->d_beta_logits, a->ld_beta, 1 },
                { a->d_decay_logits, a->ld_decay, w->decays } };
    w->i0 = i0;
    w->rows = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].x)
            oa_recurrence_store(w, w->row, all[i].ld, all[i].width, all[i].x);
}

static void recurrence_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct oa_recurrence_call *f = argument;
    struct gradient_work g;
    open_gradient(&g, f, item, worker);
    if (g.w.failed)
        return;
    keep_states(&g);
    memset(g.d_state, 0, (size_t)(g.w.r * g.w.v) * g.w.d->numbers.real_size);
    long last = (oa_blocks(g.w.tokens, OA_RECURRENCE_CHUNK) - 1) * OA_RECURRENCE_CHUNK;
    for (long i0 = last; i0 >= 0; i0 -= OA_RECURRENCE_CHUNK) {
        if (i0 < last) /* keep_states ended at the last one */
            oa_recurrence_go_to(&g.w, i0);
        chunk_gradients(&g, f);
    }
    for (long i0 = last + OA_RECURRENCE_CHUNK; i0 < f->a->shape.queries; i0 += OA_RECURRENCE_CHUNK)
        clear_gradients(&g, i0);
}

void oa_cpu_recurrence_gradient(struct oa_device *d, const struct oa_recurrence *a)
{
    struct oa_recurrence_call f = { .d = d, .a = a };
    long H = a->shape.heads;
    size_t mark = oa_arena_mark(&d->scratch),
           bytes = (size_t)(a->shape.batch * H) * d->numbers.real_size;
    if (a->d_rate) {
        f.d_rate = oa_arena_take(&d->scratch, bytes);
        if (!f.d_rate)
            return;
        memset(f.d_rate, 0, bytes);
    }
    oa_parallel(d->context, a->shape.batch * H, recurrence_gradient_item, &f);
    for (long b = 0; a->d_rate && b < a->shape.batch; b++)
        d->cpu->real_kernels.axpy(H, 1, oa_real_at(d, f.d_rate, b * H), a->d_rate);
    oa_arena_release(&d->scratch, mark);
}
