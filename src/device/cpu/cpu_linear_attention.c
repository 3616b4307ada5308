/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel engine: attention whose weights are products of feature maps (Katharopoulos et al. 2020), in O(n):
 *
 *     O_i = φ_q,iᵀ S / den_i,  den_i = φ_q,i·z (and a policy),  S = Σ_j φ_k,j v_jᵀ,  z = Σ_j φ_k,j,
 *
 * with sums over all real keys, or in the causal form over j ≤ i. That form goes chunk by chunk: S and z at the start
 * of the chunk serve all its rows, and what its own keys add is an explicit masked product of chunk × chunk. S and z
 * are reals throughout; S is rounded to `act` once a chunk as the operand of a product, z never is.
 *
 * Backward, with N_i = dO_i/den_i and e_i = −(dO_i·O_i)/den_i (0 where a clamp holds the denominator fixed), since
 * dO_i·dO_i/dnumerator gives N_i, and the quotient rule gives e_i as the gradient of den_i:
 *
 *     dφ_q,i = S_i N_i + e_i z_i
 *     dφ_k,j = G_j v_j + g_j,   dv_j = G_jᵀ φ_k,j,   with G_j = Σ_i φ_q,i N_iᵀ, g_j = Σ_i e_i φ_q,i, the i that see j
 *
 * S runs forward a second time for dφ_q, G runs in reverse for dφ_k and dv. Recovering S_i by subtracting from the
 * final state would lose all digits of early terms. Inside a chunk, with M_ij = N_i·v_j + e_i for j ≤ i and
 * A = φ_q φ_kᵀ:
 *
 *     dφ_q += M φ_k,   dφ_k += Mᵀ φ_q,   dv += Aᵀ N.
 *
 * Exponential features come with a logarithmic scale c_j of each key (mechanisms.md §1.12): φ_k,j is e^{c_j} times
 * what is stored. Row i then counts relative to the largest scale that it sees, m_i = max_{j ≤ i} c_j (without
 * causality: of all keys), which cancels in O_i: the weight of pair (i, j) gets e^{c_j − m_i} ≤ 1. With M the m of the
 * last row of a chunk, S and z are kept relative to M of the chunk before, G and g relative to M of the chunk they are
 * read in. Every exponent is ≤ 0, and nothing that row i reads depends on a later key, to the last bit.
 *
 * [B·T, H·r] × [B·S, H·r] × [B·S, H·V] → [B·T, H·V]; per row and head 4rV + 2·chunk·(r + V) FLOPs forward. An item is
 * a (b,h); memory a worker O(chunk·(r + V) + r·V), backward T·V more for N.
 */
#include "base/bugs.h"
#include "device/cpu/cpu.h"
#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

/* Rows of a chunk. The causal form does chunk·(r + V) multiplications a row beside those of the definition, so chunks
 * are as small as the products allow: those of bf16 need more rows to reach their speed. */
enum { CHUNK_CAUSAL = 32, CHUNK_CAUSAL_BF16 = 64, CHUNK_FULL = 128 };

enum { AHEAD = 8 }; /* rows that are fetched ahead of packing: those of a head are far apart */

struct linear {
    struct oa_device *d;
    const struct oa_linear_attention *a;
};

/* One worker on one (b,h). */
struct work {
    struct oa_device *d;
    const struct oa_linear_attention *a;
    struct oa_gemm_state *gemm;
    struct oa_arena *scratch;
    bool failed;
    long b, h, queries, keys; /* real ones */
    long chunk;
    long wide; /* numbers from one row of features to the next: r, or where products read panels whole ones */

    /* the chunk at work: first row, real rows of queries and keys, both filled up with zeros to `padded` */
    long i0, rows, cols, padded;
    void *q, *k, *v;       /* act [chunk, wide], [chunk, wide], [chunk, V]: φ_q, φ_k, v; zeros from r on */
    void *n, *e;           /* act [chunk, V], real [chunk]: N and e, within the two below */
    void *all_n, *all_e;   /* act [T, V], real [T], T filled up to whole chunks; only backward */
    void *den, *factor;    /* real [chunk] */
    void *tile, *tile_act; /* [chunk, chunk] */
    void *sum;             /* real [chunk, max(wide, V)] */
    void *row, *ones;      /* real [r], real [chunk] */
    void *dphi;            /* act [chunk, wide]: gradients of features that are made here */
    int32_t *low, *high;
    void *scale, *seen; /* real [S]: c_j, m_j; NULL without scales */
    double start;       /* the scale of a state that was begun before */

    void *state, *z, *state_act; /* real [r, V], real [r], act [wide, V]: S, z; then G, g */
};

/* ---- memory --------------------------------------------------------------------------------------------------- */

static void *take(struct work *w, long n, size_t size)
{
    void *memory = oa_arena_take(w->scratch, (size_t)n * size);
    w->failed |= !memory;
    return memory;
}

/* Zeros behind `count` of n elements, once: what is written there later ends before them. */
static void *take_padded(struct work *w, long rows, long count, long n, size_t size)
{
    void *x = take(w, rows * n, size);
    if (x && n > count)
        oa_zero_rows((char *)x + (size_t)count * size, (size_t)n * size, (size_t)(n - count) * size, rows);
    return x;
}

static void take_all(struct work *w)
{
    size_t act = w->d->numbers.act_size, real = w->d->numbers.real_size;
    long r = w->a->features, v = w->a->shape.value_width;
    void *kept = oa_real_at(w->d, w->a->state, (w->b * w->a->shape.heads + w->h) * (r * v + r + 1));
    w->q = take_padded(w, w->chunk, r, w->wide, act);
    w->k = take_padded(w, w->chunk, r, w->wide, act);
    w->v = take(w, w->chunk * v, act);
    w->den = take(w, w->chunk, real);
    w->factor = take(w, w->chunk, real);
    w->tile = take(w, w->chunk * w->chunk, real);
    w->tile_act = take(w, w->chunk * w->chunk, act);
    w->sum = take(w, w->chunk * oa_max(w->wide, v), real);
    w->row = take(w, r, real);
    w->ones = take(w, w->chunk, real);
    w->low = take(w, w->chunk, sizeof *w->low);
    w->high = take(w, w->chunk, sizeof *w->high);
    w->state = kept ? kept : take(w, r * v, real);
    w->z = kept ? oa_real_at(w->d, kept, r * v) : take(w, r, real);
    w->state_act = take_padded(w, 1, r * v, w->wide * v, act);
    if (w->a->squared_width && w->a->d_o)
        w->dphi = take(w, w->chunk * w->wide, act);
}

static void clear_state(struct work *w)
{
    memset(w->state, 0, (size_t)(w->a->features * w->a->shape.value_width) * w->d->numbers.real_size);
    memset(w->z, 0, (size_t)w->a->features * w->d->numbers.real_size);
}

/* m_i: the running maximum of the scales of real keys, or without causality the maximum of all; those of earlier calls
 * come first. */
static void find_scales(struct work *w)
{
    const struct oa_attention_shape *s = &w->a->shape;
    long rows = oa_max(s->queries, s->keys), keys = w->a->key_scale ? w->keys : 0;
    double most = w->a->begun ? w->start : -INFINITY;
    w->scale = oa_real_at(w->d, w->a->key_scale, (w->b * s->heads + w->h) * s->keys);
    w->seen = take(w, rows, w->d->numbers.real_size);
    for (long j = 0; j < keys && (!s->causal || OA_BUG(KEY_MAXIMUM_OF_THE_FUTURE)); j++)
        most = fmax(most, oa_real_get(w->d, w->scale, j));
    for (long i = 0; i < rows && !w->failed; i++) { /* rows may outnumber real keys */
        if (s->causal && i < keys)
            most = fmax(most, oa_real_get(w->d, w->scale, i));
        oa_real_set(w->d, w->seen, i, isfinite(most) ? most : 0);
    }
}

/* The scale that S and z have after this call, next to them. */
static void keep_scale(struct work *w)
{
    long r = w->a->features, rows = oa_max(w->a->shape.queries, w->a->shape.keys);
    oa_real_set(w->d, w->z, r, w->seen ? oa_real_get(w->d, w->seen, rows - 1) : 0);
}

static void open_work(struct work *w, const struct linear *f, long item, const struct oa_worker *worker)
{
    const struct oa_attention_shape *s = &f->a->shape;
    *w = (struct work){ .d = f->d, .a = f->a, .gemm = f->d->cpu->gemm[worker->index], .scratch = worker->scratch };
    w->chunk = !s->causal ? CHUNK_FULL : f->d->cpu->kernels.act == OA_BF16 ? CHUNK_CAUSAL_BF16 : CHUNK_CAUSAL;
    if (OA_BUG(CHUNKS_BY_THREADS))
        w->chunk = OA_TILE_GRANULE * oa_thread_count(f->d->context);
    w->wide = f->d->cpu->kernels.gemm_part ? oa_round_up(f->a->features, OA_PANEL) : f->a->features;
    w->b = item / s->heads;
    w->h = item % s->heads;
    w->queries = oa_real_length(s->query_lengths, w->b, s->queries);
    w->keys = oa_real_length(s->key_lengths, w->b, s->keys);
    take_all(w);
    if (w->failed)
        return;
    if (f->a->begun)
        w->start = oa_real_get(w->d, w->z, f->a->features);
    else
        clear_state(w);
    oa_real_fill(w->d, w->chunk, 1, w->ones);
    if (f->a->key_scale || f->a->begun)
        find_scales(w);
}

/* ---- chunks --------------------------------------------------------------------------------------------------- */

static void *place(const struct work *w, const void *x, long ld, long length, long width, long i)
{
    return oa_act_at(w->d, x, (w->b * length + i) * ld + w->h * width);
}

static void *query_place(const struct work *w, const void *x, long ld, long width)
{
    return place(w, x, ld, w->a->shape.queries, width, w->i0);
}

static void *key_place(const struct work *w, const void *x, long ld, long width)
{
    return place(w, x, ld, w->a->shape.keys, width, w->i0);
}

/* Rows of `width` numbers, `next` from one to the next; then zeros. */
static void pack(const struct work *w, const void *x, long ld, long rows, long width, void *to, long next)
{
    size_t size = w->d->numbers.act_size, bytes = (size_t)width * size, row = (size_t)next * size;
    for (long i = 0; i < rows; i++) {
        for (size_t line = 0; line < bytes; line += OA_ALIGN)
            __builtin_prefetch((const char *)oa_at(x, size, (i + AHEAD) * ld) + line);
        memcpy((char *)to + (size_t)i * row, oa_at(x, size, i * ld), bytes);
    }
    memset((char *)to + (size_t)rows * row, 0, (size_t)(w->padded - rows) * row);
}

/* Features of rows of the chunk: packed, or made of the rows they belong to. */
static void pack_features(const struct work *w, const void *x, long ld, long rows, void *to)
{
    const struct oa_linear_attention *a = w->a;
    long r = a->features;
    if (a->squared_width == 0) {
        pack(w, x, ld, rows, r, to, w->wide);
        return;
    }
    w->d->cpu->kernels.quadratic(rows, a->squared_width, a->squared, x, ld, to, w->wide);
    memset(oa_act_at(w->d, to, rows * w->wide), 0, (size_t)((w->padded - rows) * w->wide) * w->d->numbers.act_size);
}

/* Columns of a head in fq and fk. */
static long feature_columns(const struct oa_linear_attention *a)
{
    return a->squared_width ? a->squared_width : a->features;
}

/* What of a chunk is at work: its queries (QUERIES: their features as well), its keys with their values. */
enum { ROWS = 1, QUERIES = 3, KEYS = 4 };

/* Goes to the chunk at i0 and packs what is at work. */
static void go_to(struct work *w, long i0, int what)
{
    const struct oa_linear_attention *a = w->a;
    long v = a->shape.value_width;
    w->i0 = i0;
    w->n = oa_act_at(w->d, w->all_n, i0 * v);
    w->e = oa_real_at(w->d, w->all_e, i0);
    w->rows = what & ROWS ? oa_max(0, oa_min(w->chunk, w->queries - i0)) : 0;
    w->cols = what & KEYS ? oa_max(0, oa_min(w->chunk, w->keys - i0)) : 0;
    w->padded = oa_tile_round(oa_max(w->rows, w->cols));
    if ((what & QUERIES) == QUERIES)
        pack_features(w, query_place(w, a->fq, a->ldfq, feature_columns(a)), a->ldfq, w->rows, w->q);
    if (what & KEYS) {
        pack_features(w, key_place(w, a->fk, a->ldfk, feature_columns(a)), a->ldfk, w->cols, w->k);
        pack(w, key_place(w, a->v, a->ldv, v), a->ldv, w->cols, v, w->v, v);
    }
    for (long i = 0; i < w->padded; i++) {
        w->low[i] = 0;
        w->high[i] = i < w->rows ? (int32_t)oa_min(i + 1 + OA_BUG(CAUSAL_MASK_LATE), w->cols) : 0;
    }
}

static bool last_chunk(const struct work *w)
{
    return w->i0 + w->chunk >= w->a->shape.queries;
}

/* ---- products: lengths and widths of packed operands follow from m, n, k ---------------------------------------- */

static void multiply(struct work *w, struct oa_gemm g, const void *a, const void *b, void *c, bool accumulate)
{
    g.accumulate = accumulate;
    g.real_out = true;
    w->d->cpu->kernels.gemm(w->gemm, &g, a, b, c);
}

static void product(struct work *w, long m, long n, long k, const void *a, const void *b, void *c, bool accumulate)
{
    multiply(w, (struct oa_gemm){ .m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n }, a, b, c, accumulate);
}

static void product_tb(struct work *w, long m, long n, long k, const void *a, const void *b, void *c, bool accumulate)
{
    multiply(w, (struct oa_gemm){ .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n, .tb = true }, a, b, c,
             accumulate);
}

static void product_ta(struct work *w, long m, long n, long k, const void *a, const void *b, void *c, bool accumulate)
{
    multiply(w, (struct oa_gemm){ .m = m, .n = n, .k = k, .lda = m, .ldb = n, .ldc = n, .ta = true }, a, b, c,
             accumulate);
}

/* The state += features of the chunk ᵀ · rows [chunk, V]. */
static void add_to_state(struct work *w, const void *features, const void *rows)
{
    long v = w->a->shape.value_width;
    struct oa_gemm g = { .m = w->a->features, .n = v, .k = w->padded, .lda = w->wide, .ldb = v, .ldc = v, .ta = true };
    multiply(w, g, features, rows, w->state, true);
}

static const void *row_as_reals(struct work *w, const void *x, long i)
{
    const void *row = oa_act_at(w->d, x, i * w->wide);
    if (w->d->cpu->kernels.act == w->d->cpu->kernels.real)
        return row;
    w->d->cpu->kernels.real_from_act(w->a->features, row, w->row);
    return w->row;
}

/* M of the chunk that begins at i0; what comes before the first is relative to the first. */
static double chunk_scale(const struct work *w, long i0)
{
    return w->keys ? oa_real_get(w->d, w->seen, oa_min(oa_max(i0, 0) + w->chunk, w->keys) - 1) : 0;
}

/* Has the state keys before the chunk? And the scale that it has then. */
static bool begun(const struct work *w)
{
    return w->i0 > 0 || w->a->begun;
}

static double state_scale(const struct work *w)
{
    return w->i0 > 0 ? chunk_scale(w, w->i0 - w->chunk) : w->start;
}

/* The state, from one scale to another. */
static void move_state(struct work *w, double from, double to)
{
    if (from == to) /* times 1 */
        return;
    oa_real_set(w->d, w->factor, 0, exp(from - to));
    w->d->cpu->kernels.scale_rows(1, w->a->features * w->a->shape.value_width, w->factor, w->state, 0);
    w->d->cpu->kernels.scale_rows(1, w->a->features, w->factor, w->z, 0);
}

/* Packed features times w->factor of their row. */
static void scale_packed(struct work *w, long rows, void *x)
{
    for (long i = 0; i < rows; i++) {
        void *row = oa_act_at(w->d, x, i * w->wide);
        oa_real_fill(w->d, w->wide, oa_real_get(w->d, w->factor, i), w->sum);
        w->d->cpu->kernels.multiply(w->wide, w->sum, row, row);
    }
}

/* factor[i] = e^{scale of key i of the chunk − m}, or with `queries` e^{m − m_i}. */
static void fill_factor(struct work *w, long rows, double m, bool queries)
{
    for (long i = 0; i < rows; i++) {
        double own = oa_real_get(w->d, queries ? w->seen : w->scale, w->i0 + i);
        oa_real_set(w->d, w->factor, i, exp(queries ? m - own : own - m));
    }
}

/* Pairs of the chunk: e^{c_j − m_i}. */
static void decay_pairs(struct work *w)
{
    if (w->scale)
        w->d->cpu->kernels.decay_tile(w->rows, w->padded, w->low, w->high, oa_real_at(w->d, w->scale, w->i0),
                                      oa_real_at(w->d, w->seen, w->i0), w->tile, w->padded);
}

/* What the state gave to the chunk's rows, in w->sum: from its own scale to that of each row. */
static void decay_rows(struct work *w, long width)
{
    if (!w->scale || !w->a->shape.causal || !begun(w))
        return;
    fill_factor(w, w->rows, state_scale(w), true);
    w->d->cpu->kernels.scale_rows(w->rows, width, w->factor, w->sum, width);
}

/* What G gave to the chunk's keys, in w->sum: times e^{c_j − M}. */
static void decay_columns(struct work *w, long width)
{
    if (!w->scale)
        return;
    fill_factor(w, w->cols, chunk_scale(w, w->i0), false);
    w->d->cpu->kernels.scale_rows(w->cols, width, w->factor, w->sum, width);
}

/* S += φ_kᵀ V, z += Σ φ_k. Overwrites w->k where there are scales. */
static void add_keys(struct work *w)
{
    if (w->scale && w->cols > 0) {
        double m = chunk_scale(w, w->i0);
        if (begun(w) && !OA_BUG(RECURRENCE_KEEPS_SCALE))
            move_state(w, state_scale(w), m);
        fill_factor(w, w->cols, m, false);
        scale_packed(w, w->cols, w->k);
    }
    add_to_state(w, w->k, w->v);
    w->d->cpu->kernels.column_sums(w->cols, w->a->features, w->k, w->wide, w->z);
}

/* G += φ_qᵀ N, g += Σ e φ_q. Overwrites w->q where there are scales. */
static void add_queries(struct work *w)
{
    long r = w->a->features;
    if (w->scale && w->a->shape.causal && w->rows > 0) {
        double before = chunk_scale(w, w->i0 - w->chunk);
        move_state(w, before, chunk_scale(w, w->i0)); /* the inverse of S: its scale divides */
        fill_factor(w, w->rows, before, true);
        scale_packed(w, w->rows, w->q);
    }
    add_to_state(w, w->q, w->n);
    for (long i = 0; i < w->rows; i++)
        w->d->cpu->kernels.axpy(r, oa_real_get(w->d, w->e, i), row_as_reals(w, w->q, i), w->z);
}

static void round_state(struct work *w)
{
    w->d->cpu->kernels.act_from_real(w->a->features * w->a->shape.value_width, w->state, w->state_act);
}

/* Rows of w->sum, `next` from one to the next, go to x, and zeros behind them. */
static void store(const struct work *w, long rows, long all, long width, long next, void *x, long ld)
{
    size_t size = w->d->numbers.act_size;
    w->d->cpu->kernels.tile_to_act(rows, width, w->sum, next, x, ld);
    oa_zero_rows(oa_act_at(w->d, x, rows * ld), (size_t)ld * size, (size_t)width * size, all - rows);
}

/* The gradient of the chunk's features, in w->sum, goes to those of the rows x that they were made of. */
static void store_features(const struct work *w, long rows, long all, const void *x, long ld, void *dx)
{
    const struct oa_linear_attention *a = w->a;
    size_t size = w->d->numbers.act_size;
    long r = a->features, width = a->squared_width;
    if (width == 0) {
        store(w, rows, all, r, w->wide, dx, ld);
        return;
    }
    w->d->cpu->kernels.act_from_real(rows * w->wide, w->sum, w->dphi);
    w->d->cpu->kernels.quadratic_gradient(rows, width, a->squared, x, ld, w->dphi, w->wide, dx, ld);
    oa_zero_rows(oa_act_at(w->d, dx, rows * ld), (size_t)ld * size, (size_t)width * size, all - rows);
}

/* ---- forward -------------------------------------------------------------------------------------------------- */

double oa_guarded_denominator(enum oa_denominator p, double epsilon, double den)
{
    switch (p) {
    case OA_DENOMINATOR_ADD:
        return den + epsilon;
    case OA_DENOMINATOR_SIGN:
        return fabs(den) >= epsilon ? den : den < 0 ? -epsilon : epsilon;
    case OA_DENOMINATOR_CLAMP:
        return den < epsilon ? epsilon : den;
    default:
        return den;
    }
}

/* ε of row i of the chunk, at the scale of its denominator. */
static double row_epsilon(const struct work *w, long i)
{
    const struct oa_attention_shape *s = &w->a->shape;
    if (!w->a->query_scale || (w->keys == 0 && !w->a->begun))
        return w->a->epsilon;
    double own = oa_real_get(w->d, w->a->query_scale, (w->b * s->heads + w->h) * s->queries + w->i0 + i);
    return w->a->epsilon * exp(-own - oa_real_get(w->d, w->seen, s->causal ? w->i0 + i : 0));
}

static void *saved_denominators(const struct work *w)
{
    const struct oa_attention_shape *s = &w->a->shape;
    return oa_real_at(w->d, w->a->den, (w->b * s->heads + w->h) * s->queries + w->i0);
}

/* e^{scale of the state − m_i}, also where no state is read yet. */
static double state_share(const struct work *w, long i)
{
    if (!w->scale || !w->a->shape.causal || !begun(w))
        return 1;
    return exp(state_scale(w) - oa_real_get(w->d, w->seen, w->i0 + i));
}

/* w->sum holds numerators, w->den what the chunk's own keys add to the denominators. */
static void finish_rows(struct work *w)
{
    const struct oa_linear_attention *a = w->a;
    long all = oa_min(w->chunk, a->shape.queries - w->i0);
    void *saved = saved_denominators(w);
    oa_real_fill(w->d, all, 0, saved);
    for (long i = 0; i < w->rows; i++) {
        double den = oa_real_get(w->d, w->den, i) +
                     state_share(w, i) * w->d->cpu->kernels.dot(a->features, row_as_reals(w, w->q, i), w->z);
        oa_real_set(w->d, saved, i, oa_guarded_denominator(a->policy, row_epsilon(w, i), den));
        den = oa_real_get(w->d, saved, i);
        oa_real_set(w->d, w->factor, i, den == 0 ? 0 : 1 / den);
    }
    w->d->cpu->kernels.scale_rows(w->rows, a->shape.value_width, w->factor, w->sum, a->shape.value_width);
    store(w, w->rows, all, a->shape.value_width, a->shape.value_width,
          query_place(w, a->o, a->ldo, a->shape.value_width), a->ldo);
}

static void causal_forward(struct work *w)
{
    long v = w->a->shape.value_width;
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        go_to(w, i0, QUERIES | KEYS);
        oa_real_fill(w->d, w->padded, 0, w->den);
        product_tb(w, w->padded, w->padded, w->wide, w->q, w->k, w->tile, false);
        decay_pairs(w);
        w->d->cpu->kernels.mask_tile(w->padded, w->padded, w->low, w->high, w->tile, w->padded, w->tile_act, w->padded,
                                     w->den);
        if (begun(w)) {
            round_state(w);
            product(w, w->padded, v, w->wide, w->q, w->state_act, w->sum, false);
            decay_rows(w, v);
        }
        product(w, w->padded, v, w->padded, w->tile_act, w->v, w->sum, begun(w));
        finish_rows(w);
        if (!last_chunk(w) || w->a->state)
            add_keys(w);
    }
}

static void add_all_keys(struct work *w)
{
    for (long j0 = 0; j0 < w->keys; j0 += w->chunk) {
        go_to(w, j0, KEYS);
        add_keys(w);
    }
    round_state(w);
}

static void full_forward(struct work *w)
{
    add_all_keys(w);
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        go_to(w, i0, QUERIES);
        oa_real_fill(w->d, w->padded, 0, w->den);
        product(w, w->padded, w->a->shape.value_width, w->wide, w->q, w->state_act, w->sum, false);
        finish_rows(w);
    }
}

static void forward_item(void *argument, long item, const struct oa_worker *worker)
{
    struct work w;
    open_work(&w, argument, item, worker);
    if (w.failed)
        return;
    if (w.a->shape.causal)
        causal_forward(&w);
    else
        full_forward(&w);
    if (w.a->state)
        keep_scale(&w);
}

void oa_cpu_linear_attention(struct oa_device *d, const struct oa_linear_attention *a)
{
    struct linear f = { d, a };
    if (oa_linear_step_wanted(a))
        oa_linear_step(d, a);
    else
        oa_parallel(d->context, a->shape.batch * a->shape.heads, forward_item, &f);
}

/* ---- backward ------------------------------------------------------------------------------------------------- */

/* The denominator does not depend on its sum. */
static bool clamped(const struct work *w, long i, double den)
{
    double epsilon = row_epsilon(w, i), limit = w->d->cpu->kernels.real == OA_F64 ? epsilon : (double)(float)epsilon;
    if (w->a->policy == OA_DENOMINATOR_SIGN)
        return fabs(den) <= limit;
    return w->a->policy == OA_DENOMINATOR_CLAMP && den <= limit;
}

/* N and e of the chunk's queries. */
static void make_gradient(struct work *w)
{
    const struct oa_linear_attention *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long v = a->shape.value_width;
    const void *d_o = query_place(w, a->d_o, a->ldo, v), *saved = saved_denominators(w);
    k->row_dots(w->rows, v, d_o, a->ldo, query_place(w, a->o, a->ldo, v), a->ldo, w->e);
    for (long i = 0; i < w->rows; i++) {
        double den = oa_real_get(w->d, saved, i), inverse = den == 0 ? 0 : 1 / den;
        oa_real_set(w->d, w->factor, i, inverse);
        oa_real_set(w->d, w->e, i, clamped(w, i, den) ? 0 : -oa_real_get(w->d, w->e, i) * inverse);
    }
    k->tile_to_real(w->rows, v, d_o, a->ldo, w->sum, v);
    k->scale_rows(w->rows, v, w->factor, w->sum, v);
    k->act_from_real(w->rows * v, w->sum, w->n);
}

/* Those of all queries, once for both sweeps; zeros for the padding of the last chunk. */
static bool make_gradients(struct work *w)
{
    size_t act = w->d->numbers.act_size;
    long v = w->a->shape.value_width, rows = oa_blocks(w->a->shape.queries, w->chunk) * w->chunk;
    w->all_n = take(w, rows * v, act);
    w->all_e = take(w, rows, w->d->numbers.real_size);
    if (w->failed)
        return false;
    memset(oa_at(w->all_n, act, w->queries * v), 0, (size_t)((rows - w->queries) * v) * act);
    for (long i0 = 0; i0 < w->queries; i0 += w->chunk) {
        go_to(w, i0, 0);
        w->rows = oa_min(w->chunk, w->queries - i0);
        make_gradient(w);
    }
    return true;
}

/* M of the chunk into w->tile_act. */
static void mixed_tile(struct work *w)
{
    product_tb(w, w->padded, w->padded, w->a->shape.value_width, w->n, w->v, w->tile, false);
    for (long i = 0; i < w->rows; i++)
        w->d->cpu->kernels.axpy(w->high[i], oa_real_get(w->d, w->e, i), w->ones,
                                oa_real_at(w->d, w->tile, i * w->padded));
    decay_pairs(w);
    w->d->cpu->kernels.mask_tile(w->padded, w->padded, w->low, w->high, w->tile, w->padded, w->tile_act, w->padded,
                                 NULL);
}

/* A gradient has two sources: the state (S for queries; G, what later queries give, for keys), which is 0 in the first
 * chunk of a sweep, and in the causal form the chunk itself by masked products. */
enum { STATE = 1, OWN = 2 };

/* dφ_q of the chunk. */
static void finish_queries(struct work *w, int from)
{
    const struct oa_linear_attention *a = w->a;
    long r = a->features, wide = w->wide;
    if (from & STATE) {
        product_tb(w, w->padded, wide, a->shape.value_width, w->n, w->state_act, w->sum, false);
        for (long i = 0; i < w->rows; i++)
            w->d->cpu->kernels.axpy(r, oa_real_get(w->d, w->e, i), w->z, oa_real_at(w->d, w->sum, i * wide));
        decay_rows(w, wide);
    }
    if (from & OWN) {
        mixed_tile(w);
        product(w, w->padded, wide, w->padded, w->tile_act, w->k, w->sum, from & STATE);
    }
    long width = feature_columns(a);
    store_features(w, w->rows, oa_min(w->chunk, a->shape.queries - w->i0), query_place(w, a->fq, a->ldfq, width),
                   a->ldfq, query_place(w, a->dfq, a->ldfq, width));
}

static void finish_values(struct work *w, int from)
{
    const struct oa_linear_attention *a = w->a;
    long wide = w->wide, v = a->shape.value_width;
    if (from & STATE) {
        product(w, w->padded, v, wide, w->k, w->state_act, w->sum, false);
        decay_columns(w, v);
    }
    if (from & OWN) {
        product_tb(w, w->padded, w->padded, wide, w->q, w->k, w->tile, false);
        decay_pairs(w);
        w->d->cpu->kernels.mask_tile(w->padded, w->padded, w->low, w->high, w->tile, w->padded, w->tile_act, w->padded,
                                     NULL);
        product_ta(w, w->padded, v, w->padded, w->tile_act, w->n, w->sum, from & STATE);
    }
    store(w, w->cols, oa_min(w->chunk, a->shape.keys - w->i0), v, v, key_place(w, a->dv, a->ldv, v), a->ldv);
}

/* dφ_k of the chunk. */
static void finish_keys(struct work *w, int from)
{
    const struct oa_linear_attention *a = w->a;
    long r = a->features, wide = w->wide, v = a->shape.value_width;
    if (from & STATE) {
        product_tb(w, w->padded, wide, v, w->v, w->state_act, w->sum, false);
        for (long j = 0; j < w->cols; j++)
            w->d->cpu->kernels.axpy(r, 1, w->z, oa_real_at(w->d, w->sum, j * wide));
        decay_columns(w, wide);
    }
    if (from & OWN) {
        mixed_tile(w);
        product_ta(w, w->padded, wide, w->padded, w->tile_act, w->q, w->sum, from & STATE);
    }
    long width = feature_columns(a);
    store_features(w, w->cols, oa_min(w->chunk, a->shape.keys - w->i0), key_place(w, a->fk, a->ldfk, width), a->ldfk,
                   key_place(w, a->dfk, a->ldfk, width));
}

static void finish_key_side(struct work *w, int from)
{
    if (w->a->dv)
        finish_values(w, from);
    if (w->a->dfk)
        finish_keys(w, from);
}

static void causal_queries(struct work *w)
{
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        go_to(w, i0, ROWS | KEYS);
        if (i0 > 0)
            round_state(w);
        finish_queries(w, i0 > 0 ? OWN | STATE : OWN);
        if (!last_chunk(w))
            add_keys(w);
    }
}

static void causal_keys(struct work *w)
{
    long chunks = oa_blocks(w->a->shape.keys, w->chunk);
    clear_state(w);
    for (long c = chunks - 1; c >= 0; c--) {
        go_to(w, c * w->chunk, QUERIES | KEYS);
        if (!last_chunk(w))
            round_state(w);
        finish_key_side(w, last_chunk(w) ? OWN : OWN | STATE);
        if (c > 0)
            add_queries(w);
    }
}

static void full_queries(struct work *w)
{
    add_all_keys(w);
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        go_to(w, i0, ROWS);
        finish_queries(w, STATE);
    }
}

static void full_keys(struct work *w)
{
    clear_state(w);
    for (long i0 = 0; i0 < w->queries; i0 += w->chunk) {
        go_to(w, i0, QUERIES);
        add_queries(w);
    }
    round_state(w);
    for (long j0 = 0; j0 < w->a->shape.keys; j0 += w->chunk) {
        go_to(w, j0, KEYS);
        finish_key_side(w, STATE);
    }
}

static void gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    struct work w;
    open_work(&w, argument, item, worker);
    if (w.failed || !make_gradients(&w))
        return;
    if (w.a->dfq)
        (w.a->shape.causal ? causal_queries : full_queries)(&w);
    if (w.a->dfk || w.a->dv)
        (w.a->shape.causal ? causal_keys : full_keys)(&w);
}

void oa_cpu_linear_attention_gradient(struct oa_device *d, const struct oa_linear_attention *a)
{
    struct linear f = { d, a };
    oa_parallel(d->context, a->shape.batch * a->shape.heads, gradient_item, &f);
}
