/* SPDX-License-Identifier: Apache-2.0
 * State updates, chunk by chunk: operands, decays, the products of pairs, and the state; see
 * cpu_recurrence.c. */
#include "device/cpu/cpu_recurrence.h"

#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

/* ---- memory ---- */

void *oa_recurrence_take(struct oa_recurrence_work *w, long n)
{
    void *memory = oa_arena_take(w->scratch, (size_t)n * w->d->numbers.real_size);
    w->failed |= !memory;
    return memory;
}

static void take_rows(struct oa_recurrence_work *w)
{
    enum { C = OA_RECURRENCE_CHUNK, BLOCK = OA_RECURRENCE_BLOCK };
    long r = w->r, v = w->v, wide = oa_max(r, v);
    w->q = oa_recurrence_take(w, C * r);
    w->key = oa_recurrence_take(w, C * r);
    w->value = oa_recurrence_take(w, C * v);
    w->log_decay = oa_recurrence_take(w, C * w->decays);
    w->sums = oa_recurrence_take(w, C * w->decays);
    w->beta = oa_recurrence_take(w, C);
    w->query_left = oa_recurrence_take(w, C * r);
    w->key_left = oa_recurrence_take(w, C * r);
    w->key_right = oa_recurrence_take(w, C * r);
    w->pairs = oa_recurrence_take(w, C * C);
    w->key_pairs = oa_recurrence_take(w, C * C);
    w->u = oa_recurrence_take(w, C * v);
    w->tile = oa_recurrence_take(w, C * C);
    w->rows_sum = oa_recurrence_take(w, C * wide);
    w->row = oa_recurrence_take(w, wide);
    w->zeros = oa_recurrence_take(w, r);
    w->ones = oa_recurrence_take(w, r);
    w->factor = oa_recurrence_take(w, oa_max(C, r));
    if (w->a->decay != OA_DECAY_CHANNEL)
        return;
    w->block_q = oa_recurrence_take(w, BLOCK * r);
    w->block_k = oa_recurrence_take(w, BLOCK * r);
    w->block_left = oa_recurrence_take(w, BLOCK * r);
    w->block_keys = oa_recurrence_take(w, C * r);
    w->block_right = oa_recurrence_take(w, C * r);
}

static void take_bounds(struct oa_recurrence_work *w)
{
    int32_t *bounds = oa_arena_take(w->scratch, 3 * (size_t)OA_RECURRENCE_CHUNK * sizeof *bounds);
    w->failed |= !bounds;
    w->low = bounds;
    w->below = bounds + OA_RECURRENCE_CHUNK;
    w->through = bounds + 2 * OA_RECURRENCE_CHUNK;
    for (int i = 0; bounds && i < OA_RECURRENCE_CHUNK; i++) {
        w->low[i] = 0;
        w->below[i] = i;
        w->through[i] = i + 1;
    }
}

void oa_recurrence_open(struct oa_recurrence_work *w, const struct oa_recurrence_call *f, long item,
                        const struct oa_worker *worker)
{
    const struct oa_attention_shape *s = &f->a->shape;
    *w = (struct oa_recurrence_work){ .d = f->d,
                                      .a = f->a,
                                      .k = &f->d->cpu->real_kernels,
                                      .gemm = f->d->cpu->real_gemm[worker->index],
                                      .scratch = worker->scratch,
                                      .b = item / s->heads,
                                      .h = item % s->heads,
                                      .r = f->a->features,
                                      .v = s->value_width };
    w->tokens = oa_real_length(s->key_lengths, w->b, s->queries);
    w->decays = f->a->decay == OA_DECAY_CHANNEL ? w->r : 1;
    take_rows(w);
    take_bounds(w);
    w->state = oa_real_at(w->d, f->a->state, item * w->r * w->v);
    if (!w->state)
        w->state = oa_recurrence_take(w, w->r * w->v);
    if (w->failed)
        return;
    memset(w->zeros, 0, (size_t)w->r * w->d->numbers.real_size);
    oa_real_fill(w->d, w->r, 1, w->ones);
    if (!f->a->begun)
        memset(w->state, 0, (size_t)(w->r * w->v) * w->d->numbers.real_size);
}

void oa_recurrence_product(struct oa_recurrence_work *w, const struct oa_gemm *g, const void *a,
                           const void *b, void *c)
{
    struct oa_gemm full = *g;
    full.lda = g->lda ? g->lda : g->ta ? g->m : g->k;
    full.ldb = g->ldb ? g->ldb : g->tb ? g->k : g->n;
    full.ldc = g->ldc ? g->ldc : g->n;
    full.real_out = true;
    w->k->gemm(w->gemm, &full, a, b, c);
}

/* ---- rows ---- */

void *oa_recurrence_place(const struct oa_recurrence_work *w, const void *x, long ld, long width)
{
    return oa_act_at(w->d, x, (w->b * w->a->shape.queries + w->i0) * ld + w->h * width);
}

void oa_recurrence_load(const struct oa_recurrence_work *w, const void *x, long ld, long width,
                        void *to)
{
    w->d->cpu->kernels.tile_to_real(w->rows, width, oa_recurrence_place(w, x, ld, width), ld, to,
                                    width);
    memset(oa_real_at(w->d, to, w->rows * width), 0,
           (size_t)((w->padded - w->rows) * width) * w->d->numbers.real_size);
}

void oa_recurrence_store(const struct oa_recurrence_work *w, const void *rows, long ld, long width,
                         void *x)
{
    size_t size = w->d->numbers.act_size;
    void *to = oa_recurrence_place(w, x, ld, width);
    w->d->cpu->kernels.tile_to_act(w->rows, width, rows, width, to, ld);
    oa_zero_rows(oa_at(to, size, w->rows * ld), (size_t)ld * size, (size_t)width * size,
                 oa_min(OA_RECURRENCE_CHUNK, w->a->shape.queries - w->i0) - w->rows);
}

/* ---- decays ---- */

double oa_recurrence_logit(const struct oa_recurrence_work *w, const void *x, long ld, long i)
{
    const void *at = oa_act_at(w->d, oa_recurrence_place(w, x, ld, 1), i * ld);
    w->d->cpu->kernels.real_from_act(1, at, w->row);
    return oa_real_get(w->d, w->row, 0);
}

/* ln γ of row i of the chunk, FIXED and HEAD. */
static double head_log_decay(const struct oa_recurrence_work *w, long i)
{
    if (w->a->decay == OA_DECAY_FIXED)
        return log1p(-exp2(-5 - (double)w->h));
    double x = oa_recurrence_logit(w, w->a->decay_logits, w->a->ld_decay, i);
    return -exp(oa_real_get(w->d, w->a->rate, w->h)) * (fmax(x, 0) + log1p(exp(-fabs(x))));
}

static void load_decays(struct oa_recurrence_work *w)
{
    long n = w->decays;
    memset(w->log_decay, 0, (size_t)(w->padded * n) * w->d->numbers.real_size);
    for (long i = 0; i < w->rows; i++) {
        if (w->a->decay == OA_DECAY_CHANNEL)
            w->d->cpu->kernels.log_sigmoid(
                n, 1.0 / 16,
                oa_act_at(w->d, oa_recurrence_place(w, w->a->decay_logits, w->a->ld_decay, n),
                          i * w->a->ld_decay),
                oa_real_at(w->d, w->log_decay, i * n));
        else if (w->a->decay != OA_DECAY_NONE)
            oa_real_set(w->d, w->log_decay, i, head_log_decay(w, i));
    }
    memcpy(w->sums, w->log_decay, (size_t)(w->padded * n) * w->d->numbers.real_size);
    for (long i = 1; i < w->padded; i++)
        w->k->add(n, oa_real_at(w->d, w->sums, i * n), oa_real_at(w->d, w->sums, (i - 1) * n),
                  oa_real_at(w->d, w->sums, i * n));
}

static void load_beta(struct oa_recurrence_work *w)
{
    for (long i = 0; i < w->padded; i++) {
        double x =
            i < w->rows ? oa_recurrence_logit(w, w->a->beta_logits, w->a->ld_beta, i) : -INFINITY;
        oa_real_set(w->d, w->beta, i, 1 / (1 + exp(-x)));
    }
}

void oa_recurrence_decay_rows(struct oa_recurrence_work *w, bool rest, void *x, long width)
{
    const void *all = oa_real_at(w->d, w->sums, (w->padded - 1) * w->decays);
    if (w->a->decay == OA_DECAY_NONE)
        return;
    if (w->decays == 1) {
        for (long i = 0; i < w->padded; i++) {
            double own = oa_real_get(w->d, w->sums, i);
            oa_real_set(w->d, w->factor, i, exp(rest ? oa_real_get(w->d, all, 0) - own : own));
        }
        w->k->scale_rows(w->padded, width, w->factor, x, width);
        return;
    }
    for (long i = 0; i < w->padded; i++) {
        const void *own = oa_real_at(w->d, w->sums, i * w->r);
        void *row = oa_real_at(w->d, x, i * w->r);
        w->k->exp_difference(w->r, rest ? all : own, rest ? own : w->zeros, w->factor);
        w->k->multiply(w->r, w->factor, row, row);
    }
}

void oa_recurrence_state_decay(struct oa_recurrence_work *w)
{
    const void *all = oa_real_at(w->d, w->sums, (w->padded - 1) * w->decays);
    if (w->decays == 1)
        oa_real_fill(w->d, w->r, exp(oa_real_get(w->d, all, 0)), w->factor);
    else
        w->k->exp_difference(w->r, all, w->zeros, w->factor);
}

/* ---- pairs ---- */

/* x y ᵀ of the chunk, decayed, where j < high[i]; zeros elsewhere. */
static void head_pairs(struct oa_recurrence_work *w, const void *x, const int32_t *high, void *to)
{
    long n = w->padded;
    oa_recurrence_product(w, &(struct oa_gemm){ .m = n, .n = n, .k = w->r, .tb = true }, x, w->key,
                          w->tile);
    if (w->a->decay != OA_DECAY_NONE) {
        for (long i = 0; i < n; i++)
            oa_real_set(w->d, w->factor, i, -oa_real_get(w->d, w->sums, i));
        w->k->decay_tile(n, n, w->low, high, w->factor, w->factor, w->tile, n);
    }
    w->k->mask_tile(n, n, w->low, high, w->tile, n, to, n, NULL);
}

/* The decays of rows of a block at j0, relative to the row before it: own e^{b − b_{j0−1}} of its
 * rows, and e^{b_{j0−1} − b} of the rows before. All at most 1. */
void oa_recurrence_block_decays(struct oa_recurrence_work *w, long j0, void *own, void *before)
{
    const void *from = oa_real_at(w->d, w->sums, (j0 - 1) * w->r);
    for (long i = 0; i < OA_RECURRENCE_BLOCK; i++)
        w->k->exp_difference(w->r, oa_real_at(w->d, w->sums, (j0 + i) * w->r), from,
                             oa_real_at(w->d, own, i * w->r));
    for (long j = 0; j < j0; j++)
        w->k->exp_difference(w->r, from, oa_real_at(w->d, w->sums, j * w->r),
                             oa_real_at(w->d, before, j * w->r));
}

/* The pairs of a block's rows with the rows before it. */
static void channel_pairs_before(struct oa_recurrence_work *w, long j0)
{
    long block = OA_RECURRENCE_BLOCK * w->r;
    struct oa_gemm g = {
        .m = OA_RECURRENCE_BLOCK, .n = j0, .k = w->r, .tb = true, .ldc = w->padded
    };
    oa_recurrence_block_decays(w, j0, w->block_left, w->block_keys);
    w->k->multiply(block, w->block_left, oa_real_at(w->d, w->q, j0 * w->r), w->block_q);
    w->k->multiply(block, w->block_left, oa_real_at(w->d, w->key, j0 * w->r), w->block_k);
    w->k->multiply(j0 * w->r, w->block_keys, w->key, w->block_keys);
    oa_recurrence_product(w, &g, w->block_q, w->block_keys,
                          oa_real_at(w->d, w->pairs, j0 * w->padded));
    if (w->a->beta_logits)
        oa_recurrence_product(w, &g, w->block_k, w->block_keys,
                              oa_real_at(w->d, w->key_pairs, j0 * w->padded));
}

/* γ of the rows of a block. */
void oa_recurrence_block_factors(struct oa_recurrence_work *w, long j0, void *decay)
{
    for (long i = 0; i < OA_RECURRENCE_BLOCK; i++)
        w->k->exp_difference(w->r, oa_real_at(w->d, w->log_decay, (j0 + i) * w->r), w->zeros,
                             oa_real_at(w->d, decay, i * w->r));
}

static void channel_pairs(struct oa_recurrence_work *w)
{
    long n = w->padded;
    size_t bytes = (size_t)(n * n) * w->d->numbers.real_size;
    memset(w->pairs, 0, bytes);
    memset(w->key_pairs, 0, bytes);
    for (long j0 = 0; j0 < n; j0 += OA_RECURRENCE_BLOCK) {
        long corner = j0 * n + j0;
        if (j0 > 0)
            channel_pairs_before(w, j0);
        oa_recurrence_block_factors(w, j0, w->block_left);
        w->k->decay_pairs(
            OA_RECURRENCE_BLOCK, w->r, w->block_left, oa_real_at(w->d, w->q, j0 * w->r),
            oa_real_at(w->d, w->key, j0 * w->r), oa_real_at(w->d, w->pairs, corner),
            w->a->beta_logits ? oa_real_at(w->d, w->key_pairs, corner) : NULL, n, w->row);
    }
}

/* P, and −A where there is one. */
static void recurrence_pairs(struct oa_recurrence_work *w)
{
    long n = w->padded;
    if (w->a->decay == OA_DECAY_CHANNEL)
        channel_pairs(w);
    else
        head_pairs(w, w->q, w->through, w->pairs);
    if (!w->a->beta_logits)
        return;
    if (w->a->decay != OA_DECAY_CHANNEL)
        head_pairs(w, w->key, w->below, w->key_pairs);
    for (long i = 0; i < n; i++)
        oa_real_set(w->d, w->factor, i, -oa_real_get(w->d, w->beta, i));
    w->k->scale_rows(n, n, w->factor, w->key_pairs, n);
}

/* ---- chunks ---- */

void oa_recurrence_read(struct oa_recurrence_work *w, long i0, long granule)
{
    const struct oa_recurrence *a = w->a;
    w->i0 = i0;
    w->rows = oa_max(0, oa_min(OA_RECURRENCE_CHUNK, w->tokens - i0));
    w->padded = oa_round_up(w->rows, granule);
    oa_recurrence_load(w, a->q, a->ldq, w->r, w->q);
    oa_recurrence_load(w, a->k, a->ldk, w->r, w->key);
    oa_recurrence_load(w, a->v, a->ldv, w->v, w->value);
    oa_real_fill(w->d, 1, a->scale, w->factor);
    w->k->scale_rows(1, w->padded * w->r, w->factor, w->q, 0);
    load_decays(w);
    if (a->beta_logits)
        load_beta(w);
}

void oa_recurrence_go_to(struct oa_recurrence_work *w, long i0)
{
    bool delta = w->a->beta_logits != NULL;
    oa_recurrence_read(w, i0, OA_RECURRENCE_BLOCK);
    size_t bytes = (size_t)(w->padded * w->r) * w->d->numbers.real_size;
    memcpy(w->query_left, w->q, bytes);
    memcpy(w->key_left, w->key, bytes);
    memcpy(w->key_right, w->key, bytes);
    oa_recurrence_decay_rows(w, false, w->query_left, w->r);
    if (delta)
        oa_recurrence_decay_rows(w, false, w->key_left, w->r);
    oa_recurrence_decay_rows(w, true, w->key_right, w->r);
    recurrence_pairs(w);
}

/* x [padded, V] ← (I + A)⁻¹ x, or (I + A)⁻ᵀ x, block by block; terms of other blocks are products.
 * */
void oa_recurrence_solve(struct oa_recurrence_work *w, bool transposed, void *x)
{
    enum { BLOCK = OA_RECURRENCE_BLOCK };
    long n = w->padded, v = w->v;
    for (long step = 0; step < n; step += BLOCK) {
        long i = transposed ? n - BLOCK - step : step, done = i + BLOCK;
        void *rows = oa_real_at(w->d, x, i * v);
        struct oa_gemm g = { .m = BLOCK,
                             .n = v,
                             .k = transposed ? n - done : i,
                             .ta = transposed,
                             .lda = n,
                             .accumulate = true };
        if (step > 0)
            oa_recurrence_product(w, &g,
                                  oa_real_at(w->d, w->key_pairs, transposed ? done * n + i : i * n),
                                  transposed ? oa_real_at(w->d, x, done * v) : x, rows);
        w->k->solve_unit_lower(BLOCK, v, transposed, oa_real_at(w->d, w->key_pairs, i * n + i), n,
                               rows, v);
    }
}

/* U = (I + A)⁻¹ β(V − K e^b S). */
void oa_recurrence_values(struct oa_recurrence_work *w)
{
    long n = w->padded, v = w->v;
    if (!w->a->beta_logits) {
        memcpy(w->u, w->value, (size_t)(n * v) * w->d->numbers.real_size);
        return;
    }
    oa_recurrence_product(w, &(struct oa_gemm){ .m = n, .n = v, .k = w->r }, w->key_left, w->state,
                          w->u);
    oa_real_fill(w->d, n, -1, w->factor);
    w->k->scale_rows(n, v, w->factor, w->u, v);
    w->k->add(n * v, w->u, w->value, w->u);
    w->k->scale_rows(n, v, w->beta, w->u, v);
    oa_recurrence_solve(w, false, w->u);
}

void oa_recurrence_advance(struct oa_recurrence_work *w)
{
    oa_recurrence_state_decay(w);
    w->k->scale_rows(w->r, w->v, w->factor, w->state, w->v);
    oa_recurrence_product(
        w,
        &(struct oa_gemm){ .m = w->r, .n = w->v, .k = w->padded, .ta = true, .accumulate = true },
        w->key_right, w->u, w->state);
}
