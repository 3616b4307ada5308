/* SPDX-License-Identifier: Apache-2.0
 * Attention with polynomial weights (Kacham et al. 2023, arXiv 2310.01655), exact, in O(n²) without
 * n×n memory:
 *
 *     w_ij = (τ q_i·k_j)^p over visible keys, p even
 *     O_i = Σ_j w_ij v_j / den_i,   den_i = Σ_j w_ij + bias
 *
 * A row whose denominator is exactly 0 is 0 and has no gradient. Backward, with N_i = dO_i/den_i,
 * e_i = −(dO_i·O_i)/den_i and s = q_i·k_j:
 *
 *     dw_ij = N_i·v_j + e_i,        ds_ij = τ p (τ s)^{p−1} dw_ij
 *     dq_i = Σ_j ds_ij k_j,         dk_j = Σ_i ds_ij q_i,         dv_j = Σ_i w_ij N_i
 *
 * An item is a (b,h), which goes over tiles of TILE queries × KEYS keys; dk and dv are summed in
 * reals. Where products read packed panels, keys and values are packed once per head, N and τ q
 * once per tile of queries.
 *
 * [B·T, H·K] × [B·S, H·K] × [B·S, H·V] → [B·T, H·V]; 2(K + V) FLOPs per pair forward, 2(3K + 2V)
 * backward. */
#include "device/cpu/cpu_panels.h"

#include <string.h>

enum { TILE = 64, KEYS = 256 };

struct polynomial_call {
    struct oa_device *d;
    const struct oa_polynomial *a;
};

struct polynomial_work {
    struct oa_device *d;
    const struct oa_polynomial *a;
    struct oa_gemm_state *gemm;
    long b, h, queries, keys; /* that are not padding */
    long i0, rows, j0, cols;  /* the tile */
    void *q;                  /* act [TILE, K]: τ q */
    void *s, *dw;             /* real [TILE, KEYS] */
    void *act;                /* act [TILE, KEYS] */
    void *sum;                /* real [TILE, max(K, V)] */
    void *n;                  /* act [TILE, V] */
    void *den, *factor, *e;   /* real [TILE] */
    void *scales, *ones;      /* real [K], real [KEYS] */
    void *dk, *dv;            /* real [S, K], [S, V] */
    int32_t *low, *high;
    struct oa_panels k_pair, v_pair; /* right operands of q kᵀ and N vᵀ */
    struct oa_panels k_rows, v_rows; /* … of ds k and w v */
    struct oa_panels q_rows, n_rows; /* … of dsᵀ q and wᵀ N */
};

static void *take_polynomial_memory(const struct oa_worker *worker, long n, size_t size,
                                    bool *failed)
{
    void *memory = oa_arena_take(worker->scratch, (size_t)n * size);
    *failed |= !memory;
    return memory;
}

static void take_all_panels(struct polynomial_work *w, struct oa_arena *scratch, bool *failed)
{
    long keys = w->a->shape.keys, K = w->a->width, V = w->a->shape.value_width;
    if (w->a->shape.queries < OA_PANEL)
        return;
    w->k_pair = oa_panels_take(w->d, scratch, keys, K, true, failed);
    if (!w->a->d_o) {
        w->v_rows = oa_panels_take(w->d, scratch, keys, V, false, failed);
        return;
    }
    w->v_pair = oa_panels_take(w->d, scratch, keys, V, true, failed);
    w->k_rows = oa_panels_take(w->d, scratch, keys, K, false, failed);
    w->q_rows = oa_panels_take(w->d, scratch, TILE, K, false, failed);
    w->n_rows = oa_panels_take(w->d, scratch, TILE, V, false, failed);
}

static bool open_polynomial_work(struct polynomial_work *w, const struct polynomial_call *c,
                                 long item, const struct oa_worker *worker)
{
    const struct oa_polynomial *a = c->a;
    const struct oa_attention_shape *s = &a->shape;
    size_t act = c->d->numbers.act_size, real = c->d->numbers.real_size;
    long K = a->width, V = s->value_width;
    bool failed = false;
    *w = (struct polynomial_work){
        .d = c->d, .a = a, .gemm = c->d->cpu->gemm[worker->index], .b = item / s->heads
    };
    w->h = item % s->heads;
    w->queries = oa_real_length(s->query_lengths, w->b, s->queries);
    w->keys = oa_real_length(s->key_lengths, w->b, s->keys);
    w->q = take_polynomial_memory(worker, TILE * K, act, &failed);
    w->s = take_polynomial_memory(worker, TILE * KEYS, real, &failed);
    w->dw = take_polynomial_memory(worker, TILE * KEYS, real, &failed);
    w->act = take_polynomial_memory(worker, TILE * KEYS, act, &failed);
    w->sum = take_polynomial_memory(worker, TILE * oa_max(K, V), real, &failed);
    w->n = take_polynomial_memory(worker, TILE * V, act, &failed);
    w->den = take_polynomial_memory(worker, TILE, real, &failed);
    w->factor = take_polynomial_memory(worker, TILE, real, &failed);
    w->e = take_polynomial_memory(worker, TILE, real, &failed);
    w->scales = take_polynomial_memory(worker, K, real, &failed);
    w->ones = take_polynomial_memory(worker, KEYS, real, &failed);
    w->low = take_polynomial_memory(worker, TILE, sizeof *w->low, &failed);
    w->high = take_polynomial_memory(worker, TILE, sizeof *w->high, &failed);
    if (a->d_o) {
        w->dk = take_polynomial_memory(worker, s->keys * K, real, &failed);
        w->dv = take_polynomial_memory(worker, s->keys * V, real, &failed);
    }
    take_all_panels(w, worker->scratch, &failed);
    for (long i = 0; !failed && i < K; i++)
        oa_real_set(w->d, w->scales, i, a->scale);
    for (long i = 0; !failed && i < KEYS; i++)
        oa_real_set(w->d, w->ones, i, 1);
    return !failed;
}

/* ---- tiles ---- */

static void multiply_panels(const struct polynomial_work *w, struct oa_gemm g, const void *a,
                            const void *b, const struct oa_panels *p, long first, void *c)
{
    g.real_out = true;
    oa_panels_multiply(w->d, w->gemm, &g, a, b, p, first, c);
}

static void *polynomial_query_row(const struct polynomial_work *w, const void *x, long ld,
                                  long width)
{
    return oa_act_at(w->d, x, (w->b * w->a->shape.queries + w->i0) * ld + w->h * width);
}

static void *polynomial_key_row(const struct polynomial_work *w, const void *x, long ld, long width)
{
    long head = oa_key_head(&w->a->shape, w->h);
    return oa_act_at(w->d, x, (w->b * w->a->shape.keys + w->j0) * ld + head * width);
}

static void go_to_queries(struct polynomial_work *w, long i0)
{
    const struct oa_polynomial *a = w->a;
    w->i0 = i0;
    w->rows = oa_max(0, oa_min(TILE, w->queries - i0));
    const void *q = polynomial_query_row(w, a->q, a->ldq, a->width);
    for (long i = 0; i < w->rows; i++)
        w->d->cpu->kernels.multiply(a->width, w->scales, oa_act_at(w->d, q, i * a->ldq),
                                    oa_act_at(w->d, w->q, i * a->width));
}

/* The end of the keys visible to any row of the tile of queries. */
static long end_of_keys(const struct polynomial_work *w)
{
    if (w->rows == 0)
        return 0;
    return w->a->shape.causal ? oa_min(w->keys, w->a->shape.first + w->i0 + w->rows) : w->keys;
}

/* w->s = τ q·k. A single query, as in decoding, does not use the matrix units. */
static void multiply_keys(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    const void *k = polynomial_key_row(w, a->k, a->ldk, a->width);
    struct oa_gemm g = { .m = w->rows,
                         .n = w->cols,
                         .k = a->width,
                         .lda = a->width,
                         .ldb = a->ldk,
                         .ldc = w->cols,
                         .tb = true };
    if (w->rows == 1)
        w->d->cpu->kernels.row_dots(w->cols, a->width, k, a->ldk, w->q, 0, w->s);
    else
        multiply_panels(w, g, w->q, k, &w->k_pair, w->j0, w->s);
}

/* Goes to the keys at j0. */
static void go_to_keys(struct polynomial_work *w, long j0)
{
    const struct oa_polynomial *a = w->a;
    long end = a->shape.first + w->i0 + 1 -
               j0; /* of the keys visible to the first row of a causal layer */
    w->j0 = j0;
    w->cols = oa_min(KEYS, end_of_keys(w) - j0);
    for (long i = 0; i < w->rows; i++) {
        w->low[i] = 0;
        w->high[i] = (int32_t)(a->shape.causal ? oa_max(0, oa_min(w->cols, end + i)) : w->cols);
    }
    multiply_keys(w);
}

static void mask_weights(struct polynomial_work *w, const void *x, void *sums)
{
    w->d->cpu->kernels.mask_tile(w->rows, w->cols, w->low, w->high, x, w->cols, w->act, w->cols,
                                 sums);
}

/* Keys and values of the head. */
static void pack_polynomial_keys(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    long V = a->shape.value_width;
    w->j0 = 0;
    const void *k = polynomial_key_row(w, a->k, a->ldk, a->width),
               *v = polynomial_key_row(w, a->v, a->ldv, V);
    oa_panels_pair(w->d, &w->k_pair, k, a->ldk, w->keys, a->width);
    oa_panels_rows(w->d, &w->k_rows, k, a->ldk, w->keys, a->width);
    oa_panels_pair(w->d, &w->v_pair, v, a->ldv, w->keys, V);
    oa_panels_rows(w->d, &w->v_rows, v, a->ldv, w->keys, V);
}

static void store_real_rows(const struct polynomial_work *w, const void *x, long rows, long all,
                            long width, void *to, long ld)
{
    w->d->cpu->kernels.tile_to_act(rows, width, x, width, to, ld);
    for (long i = rows; i < all; i++)
        memset(oa_act_at(w->d, to, i * ld), 0, (size_t)width * w->d->numbers.act_size);
}

/* ---- forward ---- */

static void *saved_denominators(const struct polynomial_work *w)
{
    const struct oa_attention_shape *s = &w->a->shape;
    return oa_real_at(w->d, w->a->den, (w->b * s->heads + w->h) * s->queries + w->i0);
}

/* A row whose denominator is 0 is 0; in single precision also one of less than 1e-30, by which a
 * quotient, or its derivative, would leave the range of numbers: (0.01)^20 does. */
static void invert_denominators(const struct polynomial_work *w, const void *den)
{
    double least = w->d->numbers.real_size == sizeof(float) ? 1e-30 : 0;
    for (long i = 0; i < w->rows; i++) {
        double x = oa_real_get(w->d, den, i);
        oa_real_set(w->d, w->factor, i, x <= least ? 0 : 1 / x);
    }
}

/* w->sum += w V, with the weights as reals in w->s, as acts in w->act. */
static void add_weighted_values(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    long V = a->shape.value_width;
    const void *v = polynomial_key_row(w, a->v, a->ldv, V);
    struct oa_gemm g = { .m = w->rows,
                         .n = V,
                         .k = w->cols,
                         .lda = w->cols,
                         .ldb = a->ldv,
                         .ldc = V,
                         .accumulate = true };
    if (w->rows == 1)
        w->d->cpu->kernels.weigh_rows(w->high[0], V, w->s, v, a->ldv, w->sum);
    else
        multiply_panels(w, g, w->act, v, &w->v_rows, w->j0, w->sum);
}

static void polynomial_rows(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long V = a->shape.value_width, all = oa_min(TILE, a->shape.queries - w->i0);
    memset(w->sum, 0, (size_t)(w->rows * V) * k->real_size);
    for (long i = 0; i < w->rows; i++)
        oa_real_set(w->d, w->den, i, a->bias);
    for (long j0 = 0; j0 < end_of_keys(w); j0 += KEYS) {
        go_to_keys(w, j0);
        k->power(w->rows * w->cols, a->degree, w->s);
        mask_weights(w, w->s, w->den);
        add_weighted_values(w);
    }
    memset(saved_denominators(w), 0, (size_t)all * k->real_size);
    memcpy(saved_denominators(w), w->den, (size_t)w->rows * k->real_size);
    invert_denominators(w, w->den);
    k->scale_rows(w->rows, V, w->factor, w->sum, V);
    store_real_rows(w, w->sum, w->rows, all, V, polynomial_query_row(w, a->o, a->ldo, V), a->ldo);
}

static void polynomial_item(void *argument, long item, const struct oa_worker *worker)
{
    struct polynomial_work w;
    if (!open_polynomial_work(&w, argument, item, worker))
        return;
    pack_polynomial_keys(&w);
    for (long i0 = 0; i0 < w.a->shape.queries; i0 += TILE) {
        go_to_queries(&w, i0);
        polynomial_rows(&w);
    }
}

/* ---- backward ---- */

/* N and e of the tile's queries. */
static void load_polynomial_gradient(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long V = a->shape.value_width;
    const void *d_o = polynomial_query_row(w, a->d_o, a->ldo, V);
    k->row_dots(w->rows, V, d_o, a->ldo, polynomial_query_row(w, a->o, a->ldo, V), a->ldo, w->e);
    invert_denominators(w, saved_denominators(w));
    for (long i = 0; i < w->rows; i++)
        oa_real_set(w->d, w->e, i, -oa_real_get(w->d, w->e, i) * oa_real_get(w->d, w->factor, i));
    k->tile_to_real(w->rows, V, d_o, a->ldo, w->sum, V);
    k->scale_rows(w->rows, V, w->factor, w->sum, V);
    k->tile_to_act(w->rows, V, w->sum, V, w->n, V);
}

/* Adds the contribution of the tile's queries to its keys: x real += actᵀ · rows of `from`, which
 * are also packed in panels. */
static void add_to_keys(struct polynomial_work *w, long width, const void *from,
                        const struct oa_panels *p, void *x)
{
    struct oa_gemm g = { .m = w->cols,
                         .n = width,
                         .k = w->rows,
                         .lda = w->cols,
                         .ldb = width,
                         .ldc = width,
                         .ta = true,
                         .accumulate = true };
    multiply_panels(w, g, w->act, from, p, 0, oa_real_at(w->d, x, w->j0 * width));
}

/* w->dw = N vᵀ + e. */
static void polynomial_weights_gradient(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    long V = a->shape.value_width;
    struct oa_gemm g = {
        .m = w->rows, .n = w->cols, .k = V, .lda = V, .ldb = a->ldv, .ldc = w->cols, .tb = true
    };
    multiply_panels(w, g, w->n, polynomial_key_row(w, a->v, a->ldv, V), &w->v_pair, w->j0, w->dw);
    for (long i = 0; i < w->rows; i++)
        w->d->cpu->kernels.axpy(w->cols, oa_real_get(w->d, w->e, i), w->ones,
                                oa_real_at(w->d, w->dw, i * w->cols));
}

/* dq is summed in w->sum without the factor τ; dk uses τ q. */
static void polynomial_gradient_tile(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    polynomial_weights_gradient(w);
    k->power_gradient(w->rows * w->cols, a->degree, w->dw, w->s);
    mask_weights(w, w->s, NULL);
    struct oa_gemm g = { .m = w->rows,
                         .n = a->width,
                         .k = w->cols,
                         .lda = w->cols,
                         .ldb = a->ldk,
                         .ldc = a->width,
                         .accumulate = true };
    multiply_panels(w, g, w->act, polynomial_key_row(w, a->k, a->ldk, a->width), &w->k_rows, w->j0,
                    w->sum);
    add_to_keys(w, a->width, w->q, &w->q_rows, w->dk);
}

static void polynomial_gradient_rows(struct polynomial_work *w)
{
    const struct oa_polynomial *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    load_polynomial_gradient(w);
    oa_panels_rows(w->d, &w->q_rows, w->q, a->width, w->rows, a->width);
    oa_panels_rows(w->d, &w->n_rows, w->n, a->shape.value_width, w->rows, a->shape.value_width);
    memset(w->sum, 0, (size_t)(w->rows * a->width) * k->real_size);
    for (long j0 = 0; j0 < end_of_keys(w); j0 += KEYS) {
        go_to_keys(w, j0);
        memcpy(w->dw, w->s, (size_t)(w->rows * w->cols) * k->real_size);
        k->power(w->rows * w->cols, a->degree, w->dw);
        mask_weights(w, w->dw, NULL);
        add_to_keys(w, a->shape.value_width, w->n, &w->n_rows, w->dv);
        polynomial_gradient_tile(w);
    }
    for (long i = 0; i < w->rows; i++)
        oa_real_set(w->d, w->factor, i, a->scale);
    k->scale_rows(w->rows, a->width, w->factor, w->sum, a->width);
    if (a->dq)
        store_real_rows(w, w->sum, w->rows, oa_min(TILE, a->shape.queries - w->i0), a->width,
                        polynomial_query_row(w, a->dq, a->ldq, a->width), a->ldq);
}

static void store_key_gradient(struct polynomial_work *w, const void *sums, long width, void *x,
                               long ld)
{
    const struct oa_attention_shape *s = &w->a->shape;
    ld = oa_key_gradient_ld(s, width, ld);
    store_real_rows(w, sums, w->keys, s->keys, width,
                    oa_act_at(w->d, x, w->b * s->keys * ld + w->h * width), ld);
}

static void polynomial_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    struct polynomial_work w;
    if (!open_polynomial_work(&w, argument, item, worker))
        return;
    const struct oa_polynomial *a = w.a;
    long V = a->shape.value_width, S = a->shape.keys;
    memset(w.dk, 0, (size_t)(S * a->width) * w.d->numbers.real_size);
    memset(w.dv, 0, (size_t)(S * V) * w.d->numbers.real_size);
    pack_polynomial_keys(&w);
    for (long i0 = 0; i0 < a->shape.queries; i0 += TILE) {
        go_to_queries(&w, i0);
        polynomial_gradient_rows(&w);
    }
    if (a->dk)
        store_key_gradient(&w, w.dk, a->width, a->dk, a->ldk);
    if (a->dv)
        store_key_gradient(&w, w.dv, V, a->dv, a->ldv);
}

static void run_polynomial(struct oa_device *d, const struct oa_polynomial *a, oa_task *task)
{
    struct polynomial_call c = { d, a };
    oa_parallel(d->context, a->shape.batch * a->shape.heads, task, &c);
}

void oa_cpu_polynomial(struct oa_device *d, const struct oa_polynomial *a)
{
    run_polynomial(d, a, polynomial_item);
}

void oa_cpu_polynomial_gradient(struct oa_device *d, const struct oa_polynomial *a)
{
    const struct oa_attention_shape *s = &a->shape;
    struct oa_polynomial own = *a;
    size_t mark = oa_arena_mark(&d->scratch);
    own.dk = oa_key_gradient_open(d, s, a->width, a->dk);
    own.dv = oa_key_gradient_open(d, s, s->value_width, a->dv);
    if ((own.dk || !a->dk) && (own.dv || !a->dv)) {
        run_polynomial(d, &own, polynomial_gradient_item);
        oa_key_gradient_close(d, s, a->width, own.dk, a->dk, a->ldk);
        oa_key_gradient_close(d, s, s->value_width, own.dv, a->dv, a->ldv);
    }
    oa_arena_release(&d->scratch, mark);
}
