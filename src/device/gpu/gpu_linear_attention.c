/* SPDX-License-Identifier: Apache-2.0
 * Linear attention (formulas: cpu_linear_attention.c): states between chunks by a scan, everything
 * else for all chunks at once (chunks.cl, linear_attention.cl). Scratch is a state for each chunk,
 * for as many (b,h) at once as there is room for. */
#include "device/gpu/gpu_chunks.h"

struct linear_rows { /* of linear_attention.cl */
    long heads, key_heads, queries, keys, chunks, key_chunks, first, pairs, features, width;
    long causal, begun, policy, ldo;
    double epsilon;
    const int32_t *query_lengths, *key_lengths;
    const void *key_scale, *query_scale;
    void *state;
    const void *o, *d_o;
    void *den;
    void *seen, *row_scale, *scale, *key_factor, *share, *decay;
    void *states, *sums, *inverse, *error;
};

/* A run of (b,h). */
struct linear_run {
    struct oa_device *d;
    const struct oa_linear_attention *a;
    struct linear_rows r;
    long columns;                          /* of a head in fq and fk */
    void *tiles, *slopes;                  /* pairs of tokens of a chunk: A; M */
    void *gradients;                       /* G and g, as S and z in r.states */
    void *d_features;                      /* SQUARED: real [pairs, chunks, CHUNK, features] */
    void *pairs, *coefficients;            /* SQUARED */
    struct oa_chunk_matrix fq, fk, v, d_o; /* of the tokens */
};

/* ---- matrices ---- */

static struct oa_chunk_matrix linear_tokens(const struct oa_linear_attention *a, bool keys,
                                            const void *x, long ld, long width)
{
    const struct oa_attention_shape *s = &a->shape;
    return (struct oa_chunk_matrix){ .x = x,
                                     .form = OA_CHUNK_ACTS,
                                     .ld = ld,
                                     .batch = (keys ? s->keys : s->queries) * ld,
                                     .sharing = keys ? s->heads / oa_key_heads(s) : 1,
                                     .head = width,
                                     .chunk = OA_GPU_CHUNK * ld,
                                     .lengths = keys ? s->key_lengths : s->query_lengths,
                                     .rows = keys ? s->keys : s->queries };
}

/* S, or G, of the chunk: in the causal form before it, or after it, else that of all. z or g is a
 * row of another matrix. */
static struct oa_chunk_matrix linear_state_of(const struct linear_run *f, void *states, bool sums)
{
    long size = f->r.features * f->r.width + f->r.features,
         chunks = states == f->gradients ? f->r.chunks : f->r.key_chunks;
    struct oa_chunk_matrix m = {
        .x = states, .ld = f->r.width, .sharing = 1, .pair = (chunks + 1) * size, .chunk = size
    };
    if (!f->r.causal) {
        m.x = oa_real_at(f->d, states, chunks * size);
        m.chunk = 0;
    }
    if (sums)
        m.x = oa_real_at(f->d, m.x, f->r.features * f->r.width);
    return m;
}

static struct oa_chunk_matrix linear_tile(const struct linear_run *f, const void *x)
{
    return oa_chunk_scratch(x, OA_GPU_CHUNK, OA_GPU_CHUNK, f->r.chunks, 0);
}

static struct oa_chunk_product linear_product(const struct linear_run *f, long chunks, long m,
                                              long n, long k)
{
    return (struct oa_chunk_product){ .heads = f->r.heads,
                                      .chunks = chunks,
                                      .first = f->r.first,
                                      .m = m,
                                      .n = n,
                                      .k = k,
                                      .scale = 1,
                                      .pairs = f->pairs,
                                      .coefficients = f->coefficients };
}

/* ---- a run ---- */

static void *linear_vector(const struct linear_run *f, long chunks)
{
    return oa_gpu_take_reals(f->d, f->r.pairs * chunks * OA_GPU_CHUNK);
}

/* The scales, where there are some. */
static void find_linear_scales(struct linear_run *f)
{
    struct linear_rows *r = &f->r;
    long rows = oa_max(r->queries, r->keys);
    if (!f->a->key_scale && !f->a->begun)
        return;
    r->seen = oa_gpu_take_reals(f->d, r->pairs * rows);
    OA_GPU_INDIRECT(f->d, linear_scales, r->pairs, 1, OA_GPU_STRUCT(*r), OA_GPU_LONG(rows));
    if (!f->a->key_scale)
        return;
    r->scale = linear_vector(f, r->key_chunks);
    r->key_factor = linear_vector(f, r->key_chunks);
    r->decay = oa_gpu_take_reals(f->d, r->pairs * r->key_chunks);
    r->share = linear_vector(f, r->chunks);
    r->row_scale = linear_vector(f, r->chunks);
    long longest = oa_max(r->chunks, r->key_chunks) * OA_GPU_CHUNK;
    OA_GPU_INDIRECT(f->d, linear_factors, oa_blocks(r->pairs * longest, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(*r));
}

static void open_linear_run(struct linear_run *f)
{
    const struct oa_linear_attention *a = f->a;
    f->fq = linear_tokens(a, false, a->fq, a->ldfq, f->columns);
    f->fk = linear_tokens(a, true, a->fk, a->ldfk, f->columns);
    f->fq.form = f->fk.form = a->squared_width ? OA_CHUNK_SQUARED : OA_CHUNK_ACTS;
    f->v = linear_tokens(a, true, a->v, a->ldv, a->shape.value_width);
    f->r.states = oa_gpu_take_reals(f->d, f->r.pairs * (f->r.key_chunks + 1) * (f->r.width + 1) *
                                              f->r.features);
    f->r.sums = linear_vector(f, f->r.chunks);
    f->r.inverse = linear_vector(f, f->r.chunks);
    if (f->r.causal)
        f->tiles = oa_gpu_take_reals(f->d, f->r.pairs * f->r.chunks * OA_GPU_CHUNK * OA_GPU_CHUNK);
    find_linear_scales(f);
}

/* Of each chunk Xᵀ Y [features, width], then the sums of weight_i x_i. */
static void chunk_states(const struct linear_run *f, long chunks, struct oa_chunk_matrix x,
                         struct oa_chunk_matrix y, const void *weight, void *states)
{
    long size = f->r.features * f->r.width + f->r.features;
    struct oa_chunk_product p = linear_product(f, chunks, f->r.features, f->r.width, OA_GPU_CHUNK);
    p.a = oa_chunk_turned(x);
    p.b = y;
    p.c = (struct oa_chunk_matrix){
        .x = states, .ld = f->r.width, .sharing = 1, .pair = (chunks + 1) * size, .chunk = size
    };
    oa_gpu_chunk_products(f->d, f->r.pairs, &p);
    p.a = x;
    p.n = f->r.features;
    p.c.x = oa_real_at(f->d, states, f->r.features * f->r.width);
    long items = f->r.pairs * chunks;
    OA_GPU_INDIRECT(f->d, chunk_column_sums, oa_blocks(items * p.n, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(p), OA_GPU_LONG(items), OA_GPU_AT(weight));
}

/* S and z of all chunks. */
static void linear_states(const struct linear_run *f)
{
    const struct linear_rows *r = &f->r;
    long size = r->features * r->width + r->features;
    chunk_states(f, r->key_chunks, oa_chunk_times(f->fk, r->key_factor), f->v, NULL, r->states);
    if (r->begun)
        OA_GPU_INDIRECT(f->d, linear_load_state, oa_blocks(r->pairs * size, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(*r));
    oa_gpu_chunk_scan(f->d, r->pairs, r->key_chunks, size, false, r->begun, r->decay, 1, 1,
                      r->states);
}

/* A = φ_q φ_kᵀ of the pairs of each chunk. */
static void linear_pairs(const struct linear_run *f)
{
    struct oa_chunk_product p =
        linear_product(f, f->r.chunks, OA_GPU_CHUNK, OA_GPU_CHUNK, f->r.features);
    p.a = f->fq;
    p.b = oa_chunk_turned(f->fk);
    p.c = linear_tile(f, f->tiles);
    p.mask = OA_CHUNK_THROUGH;
    p.row_exponent = f->r.row_scale;
    p.column_exponent = f->r.scale;
    oa_gpu_chunk_products(f->d, f->r.pairs, &p);
}

static void linear_outputs(const struct linear_run *f)
{
    const struct oa_linear_attention *a = f->a;
    const struct linear_rows *r = &f->r;
    long own = r->causal ? OA_GPU_CHUNK : 0;
    struct oa_chunk_product p = linear_product(f, r->chunks, OA_GPU_CHUNK, r->width, r->features);
    p.a = f->fq;
    p.b = linear_state_of(f, r->states, true);
    p.factor = r->share;
    p.own_a = linear_tile(f, f->tiles);
    p.own_k = own;
    long rows = r->pairs * r->chunks * OA_GPU_CHUNK;
    OA_GPU_INDIRECT(f->d, chunk_row_sums, rows, 1, OA_GPU_STRUCT(p), OA_GPU_AT(r->sums));
    OA_GPU_INDIRECT(f->d, linear_denominators, oa_blocks(rows, OA_GPU_GROUP), 1, OA_GPU_STRUCT(*r));
    p.b = linear_state_of(f, r->states, false);
    p.own_b = f->v;
    p.last_factor = r->inverse;
    p.c = linear_tokens(a, false, a->o, a->ldo, r->width);
    oa_gpu_chunk_products(f->d, r->pairs, &p);
}

static void linear_run_forward(struct linear_run *f)
{
    const struct linear_rows *r = &f->r;
    open_linear_run(f);
    linear_states(f);
    if (r->causal)
        linear_pairs(f);
    linear_outputs(f);
    if (r->state)
        OA_GPU_INDIRECT(
            f->d, linear_keep_state,
            oa_blocks(r->pairs * (r->features * r->width + r->features + 1), OA_GPU_GROUP), 1,
            OA_GPU_STRUCT(*r));
}

/* ---- backward ---- */

/* Gradients of features, or of the rows that they are made of. */
static void store_feature_gradients(const struct linear_run *f, struct oa_chunk_product *p,
                                    struct oa_chunk_matrix x, struct oa_chunk_matrix to)
{
    const double *c = f->a->squared;
    p->c = to;
    if (!f->a->squared_width) {
        oa_gpu_chunk_products(f->d, f->r.pairs, p);
        return;
    }
    p->c = oa_chunk_scratch(f->d_features, OA_GPU_CHUNK, f->r.features, p->chunks, 0);
    oa_gpu_chunk_products(f->d, f->r.pairs, p);
    p->a = p->c;
    p->own_a = x;
    p->own_a.form = OA_CHUNK_ACTS;
    p->n = f->a->squared_width;
    p->c = to;
    p->last_factor = NULL;
    long items = f->r.pairs * p->chunks;
    OA_GPU_INDIRECT(f->d, chunk_squares_gradient,
                    oa_blocks(items * OA_GPU_CHUNK * p->n, OA_GPU_GROUP), 1, OA_GPU_STRUCT(*p),
                    OA_GPU_LONG(items), OA_GPU_DOUBLE(c[0]), OA_GPU_DOUBLE(c[1]),
                    OA_GPU_DOUBLE(c[2]));
}

/* M_ij = N_i·v_j + e_i of the pairs of each chunk. */
static void linear_slopes(const struct linear_run *f)
{
    struct oa_chunk_product p =
        linear_product(f, f->r.chunks, OA_GPU_CHUNK, OA_GPU_CHUNK, f->r.width);
    p.a = f->d_o;
    p.b = oa_chunk_turned(f->v);
    p.outer_row = f->r.error;
    p.c = linear_tile(f, f->slopes);
    p.mask = OA_CHUNK_THROUGH;
    p.row_exponent = f->r.row_scale;
    p.column_exponent = f->r.scale;
    oa_gpu_chunk_products(f->d, f->r.pairs, &p);
}

/* dφ_q = S N + e z, and M φ_k. */
static void linear_query_gradients(const struct linear_run *f)
{
    const struct linear_rows *r = &f->r;
    struct oa_chunk_product p = linear_product(f, r->chunks, OA_GPU_CHUNK, r->features, r->width);
    p.a = f->d_o;
    p.b = oa_chunk_turned(linear_state_of(f, r->states, false));
    p.outer_row = r->error;
    p.outer_column = linear_state_of(f, r->states, true).x;
    p.factor = r->share;
    p.own_a = linear_tile(f, f->slopes);
    p.own_b = f->fk;
    p.own_k = r->causal ? OA_GPU_CHUNK : 0;
    store_feature_gradients(f, &p, f->fq,
                            linear_tokens(f->a, false, f->a->dfq, f->a->ldfq, f->columns));
}

/* G and g of all chunks. */
static void linear_gradient_states(const struct linear_run *f)
{
    const struct linear_rows *r = &f->r;
    long size = r->features * r->width + r->features;
    chunk_states(f, r->chunks, oa_chunk_times(f->fq, r->share), f->d_o, r->error, f->gradients);
    oa_gpu_chunk_scan(f->d, r->pairs, r->chunks, size, r->causal, false,
                      r->causal ? r->decay : NULL, 1, 1, f->gradients);
}

/* A matrix of keys' gradients: by query heads, if these share keys. */
static struct oa_chunk_matrix linear_key_gradients(const struct linear_run *f, void *x, long width,
                                                   long ld)
{
    const struct oa_attention_shape *s = &f->a->shape;
    struct oa_chunk_matrix m =
        linear_tokens(f->a, true, x, oa_key_heads(s) < s->heads ? s->heads * width : ld, width);
    m.sharing = 1;
    return m;
}

/* dv = Gᵀ φ_k, and Aᵀ N. */
static void linear_value_gradients(const struct linear_run *f, void *dv)
{
    const struct linear_rows *r = &f->r;
    struct oa_chunk_product p =
        linear_product(f, r->key_chunks, OA_GPU_CHUNK, r->width, r->features);
    p.a = f->fk;
    p.b = linear_state_of(f, f->gradients, false);
    p.factor = r->key_factor;
    p.own_a = oa_chunk_turned(linear_tile(f, f->tiles));
    p.own_b = f->d_o;
    p.own_k = r->causal ? OA_GPU_CHUNK : 0;
    p.c = linear_key_gradients(f, dv, r->width, f->a->ldv);
    oa_gpu_chunk_products(f->d, r->pairs, &p);
}

/* dφ_k = G v + g, and Mᵀ φ_q. */
static void linear_feature_gradients(const struct linear_run *f, void *dfk)
{
    const struct linear_rows *r = &f->r;
    struct oa_chunk_product p =
        linear_product(f, r->key_chunks, OA_GPU_CHUNK, r->features, r->width);
    p.a = f->v;
    p.b = oa_chunk_turned(linear_state_of(f, f->gradients, false));
    p.outer_column = linear_state_of(f, f->gradients, true).x;
    p.factor = r->key_factor;
    p.own_a = oa_chunk_turned(linear_tile(f, f->slopes));
    p.own_b = f->fq;
    p.own_k = r->causal ? OA_GPU_CHUNK : 0;
    store_feature_gradients(f, &p, f->fk, linear_key_gradients(f, dfk, f->columns, f->a->ldfk));
}

static void linear_run_backward(struct linear_run *f, void *dfk, void *dv)
{
    struct linear_rows *r = &f->r;
    open_linear_run(f);
    r->error = linear_vector(f, r->chunks);
    f->gradients =
        oa_gpu_take_reals(f->d, r->pairs * (r->chunks + 1) * (r->width + 1) * r->features);
    if (r->causal)
        f->slopes = oa_gpu_take_reals(f->d, r->pairs * r->chunks * OA_GPU_CHUNK * OA_GPU_CHUNK);
    if (f->a->squared_width)
        f->d_features = oa_gpu_take_reals(f->d, r->pairs * oa_max(r->chunks, r->key_chunks) *
                                                    OA_GPU_CHUNK * r->features);
    OA_GPU_INDIRECT(f->d, linear_errors, r->pairs * r->chunks * OA_GPU_CHUNK, 1, OA_GPU_STRUCT(*r));
    f->d_o = oa_chunk_times(linear_tokens(f->a, false, f->a->d_o, f->a->ldo, r->width), r->inverse);
    if (r->causal)
        linear_slopes(f);
    if (f->a->dfq) {
        linear_states(f);
        linear_query_gradients(f);
    }
    if (!dfk && !dv)
        return;
    linear_gradient_states(f);
    if (dv && r->causal)
        linear_pairs(f);
    if (dv)
        linear_value_gradients(f, dv);
    if (dfk)
        linear_feature_gradients(f, dfk);
}

/* ---- runs ---- */

static struct linear_run linear_run_of(struct oa_device *d, const struct oa_linear_attention *a)
{
    const struct oa_attention_shape *s = &a->shape;
    return (struct linear_run){ .d = d,
                                .a = a,
                                .columns = a->squared_width ? a->squared_width : a->features,
                                .r = { .heads = s->heads,
                                       .key_heads = oa_key_heads(s),
                                       .queries = s->queries,
                                       .keys = s->keys,
                                       .chunks = oa_blocks(s->queries, OA_GPU_CHUNK),
                                       .key_chunks = oa_blocks(s->keys, OA_GPU_CHUNK),
                                       .features = a->features,
                                       .width = s->value_width,
                                       .causal = s->causal,
                                       .begun = a->begun,
                                       .policy = a->policy,
                                       .ldo = a->ldo,
                                       .epsilon = a->epsilon,
                                       .query_lengths = s->query_lengths,
                                       .key_lengths = s->key_lengths,
                                       .key_scale = a->key_scale,
                                       .query_scale = a->query_scale,
                                       .state = a->state,
                                       .o = a->o,
                                       .d_o = a->d_o,
                                       .den = a->den } };
}

static void make_squares_table(struct linear_run *f)
{
    const double *c = f->a->squared;
    if (!f->a->squared_width)
        return;
    int32_t *pairs = oa_gpu_take(f->d, (size_t)(2 * f->a->features) * sizeof *pairs);
    void *coefficients = oa_gpu_take_reals(f->d, f->a->features);
    f->pairs = pairs;
    f->coefficients = coefficients;
    if (pairs && coefficients)
        OA_GPU_EACH(f->d, chunk_squares, f->a->squared_width, OA_GPU_LONG(f->a->squared_width),
                    OA_GPU_DOUBLE(c[0]), OA_GPU_DOUBLE(c[1]), OA_GPU_DOUBLE(c[2]), OA_GPU_AT(pairs),
                    OA_GPU_AT(coefficients));
}

static long linear_scratch_of_pair(const struct linear_run *f, bool backward)
{
    const struct linear_rows *r = &f->r;
    long chunks = oa_max(r->chunks, r->key_chunks), state = r->features * (r->width + 1),
         tile = OA_GPU_CHUNK * OA_GPU_CHUNK,
         squares = backward && f->a->squared_width ? OA_GPU_CHUNK * r->features : 0;
    return (chunks + 1) * ((backward ? 2 : 1) * (state + tile) + squares);
}

/* One token with a state. */
static void step_linear_attention(struct oa_device *d, const struct oa_linear_attention *a)
{
    struct linear_run f = linear_run_of(d, a);
    OA_GPU_INDIRECT(d, linear_step, a->shape.batch * f.r.key_heads, 1, OA_GPU_STRUCT(f.r),
                    OA_GPU_AT(a->fq), OA_GPU_LONG(a->ldfq), OA_GPU_AT(a->fk), OA_GPU_LONG(a->ldfk),
                    OA_GPU_AT(a->v), OA_GPU_LONG(a->ldv), OA_GPU_AT(a->o));
}

void oa_gpu_linear_attention(struct oa_device *d, const struct oa_linear_attention *a)
{
    bool reads_only = a->begun && a->shape.keys == 0; /* cross-attention, after the first token */
    if (a->state && a->shape.queries == 1 && (a->shape.causal || reads_only) && !a->squared_width) {
        step_linear_attention(d, a);
        return;
    }
    struct linear_run f = linear_run_of(d, a);
    long all = a->shape.batch * a->shape.heads,
         each = oa_gpu_pairs_at_once(d, all, linear_scratch_of_pair(&f, false));
    size_t mark = oa_gpu_mark(d);
    make_squares_table(&f);
    for (long first = 0; first < all; first += each) {
        struct linear_run run = f;
        size_t inner = oa_gpu_mark(d);
        run.r.first = first;
        run.r.pairs = oa_min(each, all - first);
        linear_run_forward(&run);
        oa_gpu_give_back(d, inner);
    }
    oa_gpu_give_back(d, mark);
}

/* Memory for the gradient of keys by query heads, if these share them; else the gradient. */
static void *open_key_gradient(struct oa_device *d, const struct oa_attention_shape *s, long width,
                               void *x)
{
    bool shared = oa_key_heads(s) < s->heads;
    return x && shared ? oa_gpu_take_acts(d, s->batch * s->keys * s->heads * width) : x;
}

static void close_key_gradient(struct oa_device *d, const struct oa_attention_shape *s, long width,
                               const void *each, void *x, long ld)
{
    if (!x || each == x)
        return;
    oa_gpu_repeat_heads_gradient(d, &(struct oa_head_repeat){ .rows = s->batch * s->keys,
                                                              .heads = s->heads,
                                                              .key_heads = oa_key_heads(s),
                                                              .width = width,
                                                              .dy = each,
                                                              .dx = x,
                                                              .ldx = ld });
}

void oa_gpu_linear_attention_gradient(struct oa_device *d, const struct oa_linear_attention *a)
{
    const struct oa_attention_shape *s = &a->shape;
    struct linear_run f = linear_run_of(d, a);
    long all = s->batch * s->heads,
         each = oa_gpu_pairs_at_once(d, all, linear_scratch_of_pair(&f, true));
    size_t mark = oa_gpu_mark(d);
    make_squares_table(&f);
    void *dfk = open_key_gradient(d, s, f.columns, a->dfk),
         *dv = open_key_gradient(d, s, s->value_width, a->dv);
    for (long first = 0; first < all && !oa_status(d->context); first += each) {
        struct linear_run run = f;
        size_t inner = oa_gpu_mark(d);
        run.r.first = first;
        run.r.pairs = oa_min(each, all - first);
        linear_run_backward(&run, dfk, dv);
        oa_gpu_give_back(d, inner);
    }
    close_key_gradient(d, s, f.columns, dfk, a->dfk, a->ldfk);
    close_key_gradient(d, s, s->value_width, dv, a->dv, a->ldv);
    oa_gpu_give_back(d, mark);
}
