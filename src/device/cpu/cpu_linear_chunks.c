/* SPDX-License-Identifier: Apache-2.0
 * Linear attention, chunk by chunk: the operands, products and state of a worker; see
 * cpu_linear_attention.h. */
#include "device/cpu/cpu_linear_attention.h"

#include <math.h>
#include <string.h>

/* Rows of a chunk. The causal form needs chunk·(r + V) multiplications per row on top of the
 * definition, so chunks are as small as efficient products allow: those of bf16 need more rows. */
enum { CHUNK_CAUSAL = 32, CHUNK_CAUSAL_BF16 = 64, CHUNK_FULL = 128 };

enum {
    AHEAD = 8
}; /* prefetch distance of packing, in rows: those of a head are far apart in memory */

/* ---- memory ---- */

void *oa_linear_take(struct oa_linear_work *w, long n, size_t size)
{
    void *memory = oa_arena_take(w->scratch, (size_t)n * size);
    w->failed |= !memory;
    return memory;
}

/* Rows of n elements of which `count` are used; the others are zeroed once and never written. */
static void *take_padded(struct oa_linear_work *w, long rows, long count, long n, size_t size)
{
    void *x = oa_linear_take(w, rows * n, size);
    if (x && n > count)
        oa_zero_rows((char *)x + (size_t)count * size, (size_t)n * size, (size_t)(n - count) * size,
                     rows);
    return x;
}

/* The stored state of the current key head, with which all query heads that read it begin. */
static void *linear_kept_state(const struct oa_linear_work *w)
{
    const struct oa_attention_shape *s = &w->a->shape;
    long r = w->a->features, v = s->value_width;
    return oa_real_at(w->d, w->a->state,
                      (w->b * oa_key_heads(s) + oa_key_head(s, w->h)) * (r * v + r + 1));
}

static long state_numbers(const struct oa_linear_work *w)
{
    return (w->turned ? w->wide : w->a->features) * w->a->shape.value_width;
}

/* The state, z and its scale; the state as the operand of products. */
static void take_linear_state(struct oa_linear_work *w)
{
    size_t real = w->d->numbers.real_size;
    long n = state_numbers(w), r = w->a->features, all = w->wide * w->a->shape.value_width;
    void *kept = linear_kept_state(w);
    w->state = kept && !w->copies ? kept : oa_linear_take(w, n + r + 1, real);
    w->z = oa_real_at(w->d, w->state, n);
    if (kept && w->copies && !w->failed)
        memcpy(w->state, kept, (size_t)(n + r + 1) * real);
    w->state_act = take_padded(w, 1, n, all, w->d->numbers.act_size);
    if (w->turned)
        w->panels = oa_panels_take(w->d, w->scratch, w->chunk, w->wide, false, &w->failed);
}

static void take_linear_work(struct oa_linear_work *w)
{
    size_t act = w->d->numbers.act_size, real = w->d->numbers.real_size;
    long r = w->a->features, v = w->a->shape.value_width;
    w->q = take_padded(w, w->chunk, r, w->wide, act);
    w->k = take_padded(w, w->chunk, r, w->wide, act);
    w->v = oa_linear_take(w, w->chunk * v, act);
    w->den = oa_linear_take(w, w->chunk, real);
    w->factor = oa_linear_take(w, w->chunk, real);
    w->tile = oa_linear_take(w, w->chunk * w->chunk, real);
    w->tile_act = oa_linear_take(w, w->chunk * w->chunk, act);
    w->sum = oa_linear_take(w, w->chunk * oa_max(w->wide, v), real);
    w->ones = oa_linear_take(w, w->chunk, real);
    w->low = oa_linear_take(w, w->chunk, sizeof *w->low);
    w->high = oa_linear_take(w, w->chunk, sizeof *w->high);
    if (w->a->key_scale)
        w->scaled = oa_linear_take(w, w->chunk * v, act);
    take_linear_state(w);
    if (w->a->squared_width && w->turned)
        w->dphi = oa_linear_take(w, w->chunk * w->wide, act);
}

void oa_linear_clear_state(struct oa_linear_work *w)
{
    memset(w->state, 0, (size_t)state_numbers(w) * w->d->numbers.real_size);
    memset(w->z, 0, (size_t)w->a->features * w->d->numbers.real_size);
}

/* m_i: the running maximum of the scales of real keys, or without causality the maximum of all;
 * those of earlier calls come first. */
static void find_scales(struct oa_linear_work *w)
{
    const struct oa_attention_shape *s = &w->a->shape;
    long rows = oa_max(s->queries, s->keys), keys = w->a->key_scale ? w->keys : 0;
    double most = w->a->begun ? w->start : -INFINITY;
    w->scale = oa_real_at(w->d, w->a->key_scale,
                          (w->b * oa_key_heads(s) + oa_key_head(s, w->h)) * s->keys);
    w->seen = oa_linear_take(w, rows, w->d->numbers.real_size);
    for (long j = 0; j < keys && !s->causal; j++)
        most = fmax(most, oa_real_get(w->d, w->scale, j));
    for (long i = 0; i < rows && !w->failed; i++) { /* rows may outnumber real keys */
        if (s->causal && i < keys)
            most = fmax(most, oa_real_get(w->d, w->scale, i));
        oa_real_set(w->d, w->seen, i, isfinite(most) ? most : 0);
    }
}

/* The scale that S and z have after this call, next to them. */
void oa_linear_keep_scale(struct oa_linear_work *w)
{
    long r = w->a->features, rows = oa_max(w->a->shape.queries, w->a->shape.keys);
    oa_real_set(w->d, w->z, r, w->seen ? oa_real_get(w->d, w->seen, rows - 1) : 0);
}

void oa_linear_open(struct oa_linear_work *w, const struct oa_linear_call *f, long item,
                    const struct oa_worker *worker)
{
    const struct oa_attention_shape *s = &f->a->shape;
    *w = (struct oa_linear_work){
        .d = f->d, .a = f->a, .gemm = f->d->cpu->gemm[worker->index], .scratch = worker->scratch
    };
    w->chunk = !s->causal                          ? CHUNK_FULL
               : f->d->cpu->kernels.act == OA_BF16 ? CHUNK_CAUSAL_BF16
                                                   : CHUNK_CAUSAL;
    w->wide = f->d->cpu->kernels.gemm_part ? oa_round_up(f->a->features, OA_PANEL) : f->a->features;
    w->turned = f->gradient;
    w->b = item / s->heads;
    w->h = item % s->heads;
    w->copies = f->a->state && oa_key_head(s, w->h + 1) == oa_key_head(s, w->h);
    w->queries = oa_real_length(s->query_lengths, w->b, s->queries);
    w->keys = oa_real_length(s->key_lengths, w->b, s->keys);
    take_linear_work(w);
    if (w->failed)
        return;
    if (f->a->begun)
        w->start = oa_real_get(w->d, w->z, f->a->features);
    else
        oa_linear_clear_state(w);
    oa_real_fill(w->d, w->chunk, 1, w->ones);
    if (f->a->key_scale || f->a->begun)
        find_scales(w);
}

/* ---- chunks ---- */

void *oa_linear_query_place(const struct oa_linear_work *w, const void *x, long ld, long width)
{
    return oa_act_at(w->d, x, (w->b * w->a->shape.queries + w->i0) * ld + w->h * width);
}

void *oa_linear_key_place(const struct oa_linear_work *w, const void *x, long ld, long width)
{
    long head = oa_key_head(&w->a->shape, w->h);
    return oa_act_at(w->d, x, (w->b * w->a->shape.keys + w->i0) * ld + head * width);
}

void *oa_linear_key_gradient(const struct oa_linear_work *w, void *x, long width, long *ld)
{
    *ld = oa_key_gradient_ld(&w->a->shape, width, *ld);
    return oa_act_at(w->d, x, (w->b * w->a->shape.keys + w->i0) * *ld + w->h * width);
}

/* Rows of `width` numbers, `next` from one to the next; then zeros. */
static void pack_chunk(const struct oa_linear_work *w, const void *x, long ld, long rows,
                       long width, void *to, long next)
{
    size_t size = w->d->numbers.act_size, bytes = (size_t)width * size, row = (size_t)next * size;
    for (long i = 0; i < rows; i++) {
        for (size_t line = 0; line < bytes; line += OA_ALIGN)
            __builtin_prefetch((const char *)oa_at(x, size, (i + AHEAD) * ld) + line);
        memcpy((char *)to + (size_t)i * row, oa_at(x, size, i * ld), bytes);
    }
    memset((char *)to + (size_t)rows * row, 0, (size_t)(w->padded - rows) * row);
}

/* Features of rows of the chunk: packed, or computed from the rows. */
static void pack_features(const struct oa_linear_work *w, const void *x, long ld, long rows,
                          void *to)
{
    const struct oa_linear_attention *a = w->a;
    long r = a->features;
    if (a->squared_width == 0) {
        pack_chunk(w, x, ld, rows, r, to, w->wide);
        return;
    }
    w->d->cpu->kernels.quadratic(rows, a->squared_width, a->squared, x, ld, to, w->wide);
    memset(oa_act_at(w->d, to, rows * w->wide), 0,
           (size_t)((w->padded - rows) * w->wide) * w->d->numbers.act_size);
}

/* Columns of a head in fq and fk. */
long oa_linear_feature_columns(const struct oa_linear_attention *a)
{
    return a->squared_width ? a->squared_width : a->features;
}

void oa_linear_go_to(struct oa_linear_work *w, long i0, int what)
{
    const struct oa_linear_attention *a = w->a;
    long v = a->shape.value_width;
    w->i0 = i0;
    w->packed = NULL;
    w->n = oa_act_at(w->d, w->all_n, i0 * v);
    w->e = oa_real_at(w->d, w->all_e, i0);
    w->rows = what & OA_LINEAR_ROWS ? oa_max(0, oa_min(w->chunk, w->queries - i0)) : 0;
    w->cols = what & OA_LINEAR_KEYS ? oa_max(0, oa_min(w->chunk, w->keys - i0)) : 0;
    w->padded = oa_tile_round(oa_max(w->rows, w->cols));
    if ((what & OA_LINEAR_QUERIES) == OA_LINEAR_QUERIES)
        pack_features(w, oa_linear_query_place(w, a->fq, a->ldfq, oa_linear_feature_columns(a)),
                      a->ldfq, w->rows, w->q);
    if (what & OA_LINEAR_KEYS) {
        pack_features(w, oa_linear_key_place(w, a->fk, a->ldfk, oa_linear_feature_columns(a)),
                      a->ldfk, w->cols, w->k);
        pack_chunk(w, oa_linear_key_place(w, a->v, a->ldv, v), a->ldv, w->cols, v, w->v, v);
    }
    for (long i = 0; i < w->padded; i++) {
        w->low[i] = 0;
        w->high[i] = i < w->rows ? (int32_t)oa_min(i + 1, w->cols) : 0;
    }
}

bool oa_linear_last_chunk(const struct oa_linear_work *w)
{
    return w->i0 + w->chunk >= w->a->shape.queries;
}

/* ---- products: lengths and widths of packed operands follow from m, n, k ---- */

static void multiply_real(struct oa_linear_work *w, struct oa_gemm g, const void *a, const void *b,
                          void *c, bool accumulate)
{
    g.accumulate = accumulate;
    g.real_out = true;
    w->d->cpu->kernels.gemm(w->gemm, &g, a, b, c);
}

void oa_linear_product(struct oa_linear_work *w, long m, long n, long k, const void *a,
                       const void *b, void *c, bool accumulate)
{
    multiply_real(w, (struct oa_gemm){ .m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n }, a, b,
                  c, accumulate);
}

void oa_linear_product_tb(struct oa_linear_work *w, long m, long n, long k, const void *a,
                          const void *b, void *c, bool accumulate)
{
    multiply_real(
        w, (struct oa_gemm){ .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n, .tb = true }, a,
        b, c, accumulate);
}

void oa_linear_product_ta(struct oa_linear_work *w, long m, long n, long k, const void *a,
                          const void *b, void *c, bool accumulate)
{
    multiply_real(
        w, (struct oa_gemm){ .m = m, .n = n, .k = k, .lda = m, .ldb = n, .ldc = n, .ta = true }, a,
        b, c, accumulate);
}

void oa_linear_product_features(struct oa_linear_work *w, long m, bool turned, const void *a,
                                const void *features, void *c, bool accumulate)
{
    struct oa_gemm g = { .m = m,
                         .n = w->wide,
                         .k = w->padded,
                         .lda = turned ? m : w->padded,
                         .ldb = w->wide,
                         .ldc = w->wide,
                         .ta = turned,
                         .accumulate = accumulate,
                         .real_out = true };
    if (oa_panels_serve(&w->panels, &g) && w->packed != features) {
        oa_panels_rows(w->d, &w->panels, features, w->wide, w->padded, w->wide);
        w->packed = features;
    }
    oa_panels_multiply(w->d, w->gemm, &g, a, features, &w->panels, 0, c);
}

/* S += features of the chunk ᵀ · rows [chunk, V], or Sᵀ += rowsᵀ · features. */
static void add_to_linear_state(struct oa_linear_work *w, const void *features, const void *rows)
{
    long v = w->a->shape.value_width;
    struct oa_gemm g = {
        .m = w->a->features, .n = v, .k = w->padded, .lda = w->wide, .ldb = v, .ldc = v, .ta = true
    };
    if (w->turned)
        oa_linear_product_features(w, v, true, rows, features, w->state, true);
    else
        multiply_real(w, g, features, rows, w->state, true);
}

/* M of the chunk that begins at i0; the state before the first chunk is relative to the first. */
static double chunk_scale(const struct oa_linear_work *w, long i0)
{
    return w->keys ? oa_real_get(w->d, w->seen, oa_min(oa_max(i0, 0) + w->chunk, w->keys) - 1) : 0;
}

/* Has the state keys before the chunk? And the scale that it has then. */
bool oa_linear_begun(const struct oa_linear_work *w)
{
    return w->i0 > 0 || w->a->begun;
}

double oa_linear_state_scale(const struct oa_linear_work *w)
{
    return w->i0 > 0 ? chunk_scale(w, w->i0 - w->chunk) : w->start;
}

/* The state, from one scale to another. */
static void move_state(struct oa_linear_work *w, double from, double to)
{
    if (from == to) /* times 1 */
        return;
    oa_real_set(w->d, w->factor, 0, exp(from - to));
    w->d->cpu->kernels.scale_rows(1, state_numbers(w), w->factor, w->state, 0);
    w->d->cpu->kernels.scale_rows(1, w->a->features, w->factor, w->z, 0);
}

/* Rows of width V times w->factor of their row, in w->scaled; then zeros. */
static const void *scaled_rows(struct oa_linear_work *w, long rows, const void *x)
{
    long v = w->a->shape.value_width;
    size_t size = w->d->numbers.act_size;
    for (long i = 0; i < rows; i++)
        w->d->cpu->kernels.add_scaled(v, oa_real_get(w->d, w->factor, i), NULL,
                                      oa_at(x, size, i * v), oa_act_at(w->d, w->scaled, i * v));
    memset(oa_act_at(w->d, w->scaled, rows * v), 0, (size_t)((w->padded - rows) * v) * size);
    return w->scaled;
}

/* factor[i] = e^{scale of key i of the chunk − m}, or with `queries` e^{m − m_i}. */
static void fill_factor(struct oa_linear_work *w, long rows, double m, bool queries)
{
    for (long i = 0; i < rows; i++) {
        double own = oa_real_get(w->d, queries ? w->seen : w->scale, w->i0 + i);
        oa_real_set(w->d, w->factor, i, exp(queries ? m - own : own - m));
    }
}

/* Pairs of the chunk: e^{c_j − m_i}. */
void oa_linear_decay_pairs(struct oa_linear_work *w)
{
    if (w->scale)
        w->d->cpu->kernels.decay_tile(w->rows, w->padded, w->low, w->high,
                                      oa_real_at(w->d, w->scale, w->i0),
                                      oa_real_at(w->d, w->seen, w->i0), w->tile, w->padded);
}

/* The product of the chunk's rows with the state, in w->sum: from the scale of the state to that of
 * each row. */
void oa_linear_decay_rows(struct oa_linear_work *w, long width)
{
    if (!w->scale || !w->a->shape.causal || !oa_linear_begun(w))
        return;
    fill_factor(w, w->rows, oa_linear_state_scale(w), true);
    w->d->cpu->kernels.scale_rows(w->rows, width, w->factor, w->sum, width);
}

/* The product of the chunk's keys with G, in w->sum: times e^{c_j − M}. */
void oa_linear_decay_columns(struct oa_linear_work *w, long width)
{
    if (!w->scale)
        return;
    fill_factor(w, w->cols, chunk_scale(w, w->i0), false);
    w->d->cpu->kernels.scale_rows(w->cols, width, w->factor, w->sum, width);
}

/* S += φ_kᵀ V, z += Σ φ_k. With scales, V and the terms of z are multiplied by factors of the keys.
 * */
void oa_linear_add_keys(struct oa_linear_work *w)
{
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long r = w->a->features;
    const void *values = w->v;
    if (w->scale && w->cols > 0) {
        double m = chunk_scale(w, w->i0);
        if (oa_linear_begun(w))
            move_state(w, oa_linear_state_scale(w), m);
        fill_factor(w, w->cols, m, false);
        values = scaled_rows(w, w->cols, w->v);
        k->weigh_rows(w->cols, r, w->factor, w->k, w->wide, w->z);
    } else {
        k->column_sums(w->cols, r, w->k, w->wide, w->z);
    }
    add_to_linear_state(w, w->k, values);
}

/* G += φ_qᵀ N, g += Σ e φ_q. With scales, N and e are multiplied by factors of the queries. */
void oa_linear_add_queries(struct oa_linear_work *w)
{
    const void *n = w->n, *e = w->e;
    if (w->scale && w->a->shape.causal && w->rows > 0) {
        double before = chunk_scale(w, w->i0 - w->chunk);
        move_state(w, before, chunk_scale(w, w->i0)); /* the inverse of S: its scale divides */
        fill_factor(w, w->rows, before, true);
        n = scaled_rows(w, w->rows, w->n);
        for (long i = 0; i < w->rows; i++)
            oa_real_set(w->d, w->factor, i,
                        oa_real_get(w->d, w->factor, i) * oa_real_get(w->d, w->e, i));
        e = w->factor;
    }
    add_to_linear_state(w, w->q, n);
    w->d->cpu->kernels.weigh_rows(w->rows, w->a->features, e, w->q, w->wide, w->z);
}

void oa_linear_round_state(struct oa_linear_work *w)
{
    w->d->cpu->kernels.act_from_real(state_numbers(w), w->state, w->state_act);
}

/* Stores rows of w->sum, `next` apart, in x, then zeros up to row `all`. */
void oa_linear_store(const struct oa_linear_work *w, long rows, long all, long width, long next,
                     void *x, long ld)
{
    size_t size = w->d->numbers.act_size;
    w->d->cpu->kernels.tile_to_act(rows, width, w->sum, next, x, ld);
    oa_zero_rows(oa_act_at(w->d, x, rows * ld), (size_t)ld * size, (size_t)width * size,
                 all - rows);
}

/* Stores the gradient of the features in w->sum as that of the rows x they were computed from. */
void oa_linear_store_features(const struct oa_linear_work *w, long rows, long all, const void *x,
                              long ld, void *dx, long lddx)
{
    const struct oa_linear_attention *a = w->a;
    size_t size = w->d->numbers.act_size;
    long r = a->features, width = a->squared_width;
    if (width == 0) {
        oa_linear_store(w, rows, all, r, w->wide, dx, lddx);
        return;
    }
    w->d->cpu->kernels.act_from_real(rows * w->wide, w->sum, w->dphi);
    w->d->cpu->kernels.quadratic_gradient(rows, width, a->squared, x, ld, w->dphi, w->wide, dx,
                                          lddx);
    oa_zero_rows(oa_act_at(w->d, dx, rows * lddx), (size_t)lddx * size, (size_t)width * size,
                 all - rows);
}

void oa_linear_add_all_keys(struct oa_linear_work *w)
{
    for (long j0 = 0; j0 < w->keys; j0 += w->chunk) {
        oa_linear_go_to(w, j0, OA_LINEAR_KEYS);
        oa_linear_add_keys(w);
    }
    oa_linear_round_state(w);
}

/* ---- denominators ---- */

/* ε of row i of the chunk, at the scale of its denominator. */
double oa_linear_epsilon(const struct oa_linear_work *w, long i)
{
    const struct oa_attention_shape *s = &w->a->shape;
    if (!w->a->query_scale || (w->keys == 0 && !w->a->begun))
        return w->a->epsilon;
    double own =
        oa_real_get(w->d, w->a->query_scale, (w->b * s->heads + w->h) * s->queries + w->i0 + i);
    return w->a->epsilon * exp(-own - oa_real_get(w->d, w->seen, s->causal ? w->i0 + i : 0));
}

void *oa_linear_denominators(const struct oa_linear_work *w)
{
    const struct oa_attention_shape *s = &w->a->shape;
    return oa_real_at(w->d, w->a->den, (w->b * s->heads + w->h) * s->queries + w->i0);
}
