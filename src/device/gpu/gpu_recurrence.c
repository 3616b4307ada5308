/* SPDX-License-Identifier: Apache-2.0
 * State updates (formulas: cpu_recurrence.c). Plain sums go between chunks by a scan, the delta
 * rule by a loop over chunks for some columns of V; everything else is for all chunks at once
 * (chunks.cl, recurrence.cl). Scratch is a state for each chunk, for as many (b,h) at once as there
 * is room for.
 */
#include "device/gpu/gpu_chunks.h"

enum { CHUNK = OA_GPU_CHUNK };

struct recurrence_rows { /* of recurrence.cl */
    long heads, length, chunks, first, pairs, features, width, decay, decays;
    long begun, ldq, ldk, ldv, ld_decay, ld_beta;
    double scale;
    const int32_t *lengths;
    const void *q, *k, *v, *decay_logits, *rate, *beta_logits;
    void *state;
    void *dq, *dk, *dv, *d_decay_logits, *d_beta_logits;
    void *query, *key, *query_left, *key_left, *key_right, *log_decay, *sums, *negated, *ends,
        *beta;
    void *pairs_of, *key_pairs, *u, *states;
    void *d_states, *d_u, *d_pairs, *d_key_pairs;
    void *d_query, *d_left, *d_right, *d_end, *d_decay;
    void *diagonal, *along;
};

/* A run of (b,h). */
struct recurrence_run {
    struct oa_device *d;
    const struct oa_recurrence *a;
    struct recurrence_rows r;
    long items; /* chunks of all (b,h) */
};

/* At least n threads of a kernel of recurrence.cl; its arguments. */
#define RECURRENCE_EACH(f, kernel, n, ...)                                                         \
    OA_GPU_INDIRECT((f)->d, kernel, oa_blocks(n, OA_GPU_GROUP), 1, __VA_ARGS__)

/* ---- matrices ---- */

static struct oa_chunk_matrix recurrence_tokens(const struct recurrence_run *f, const void *x,
                                                long ld, long width)
{
    return (struct oa_chunk_matrix){ .x = x,
                                     .form = OA_CHUNK_ACTS,
                                     .ld = ld,
                                     .batch = f->r.length * ld,
                                     .sharing = 1,
                                     .head = width,
                                     .chunk = CHUNK * ld,
                                     .lengths = f->r.lengths,
                                     .rows = f->r.length };
}

/* Reals [CHUNK, cols] of each chunk; a state [features, width]. */
static struct oa_chunk_matrix recurrence_rows_of(const struct recurrence_run *f, const void *x,
                                                 long cols)
{
    return oa_chunk_scratch(x, CHUNK, cols, f->r.chunks, 0);
}

static struct oa_chunk_matrix recurrence_state_of(const struct recurrence_run *f, const void *x)
{
    return oa_chunk_scratch(x, f->r.features, f->r.width, f->r.chunks, 1);
}

static struct oa_chunk_product recurrence_product(const struct recurrence_run *f, long m, long n,
                                                  long k)
{
    return (struct oa_chunk_product){ .heads = f->r.heads,
                                      .chunks = f->r.chunks,
                                      .first = f->r.first,
                                      .m = m,
                                      .n = n,
                                      .k = k,
                                      .scale = 1 };
}

/* to = a b, or += */
static void multiply_chunks(const struct recurrence_run *f, long m, long n, long k,
                            struct oa_chunk_matrix a, struct oa_chunk_matrix b,
                            struct oa_chunk_matrix to, bool accumulate)
{
    struct oa_chunk_product p = recurrence_product(f, m, n, k);
    p.a = a;
    p.b = b;
    p.c = to;
    p.accumulate = accumulate;
    oa_gpu_chunk_products(f->d, f->r.pairs, &p);
}

/* ---- forward ---- */

static void take_recurrence_operands(struct recurrence_run *f)
{
    struct recurrence_rows *r = &f->r;
    f->items = r->pairs * r->chunks;
    long rows = f->items * CHUNK;
    r->query = oa_gpu_take_reals(f->d, rows * r->features);
    r->key = oa_gpu_take_reals(f->d, rows * r->features);
    r->query_left = oa_gpu_take_reals(f->d, rows * r->features);
    r->key_left = oa_gpu_take_reals(f->d, rows * r->features);
    r->key_right = oa_gpu_take_reals(f->d, rows * r->features);
    r->log_decay = oa_gpu_take_reals(f->d, rows * r->decays);
    r->sums = oa_gpu_take_reals(f->d, rows * r->decays);
    r->negated = oa_gpu_take_reals(f->d, rows);
    r->ends = oa_gpu_take_reals(f->d, f->items * r->decays);
    r->beta = oa_gpu_take_reals(f->d, rows);
    r->pairs_of = oa_gpu_take_reals(f->d, rows * CHUNK);
    r->states = oa_gpu_take_reals(f->d, r->pairs * (r->chunks + 1) * r->features * r->width);
    if (!r->beta_logits)
        return;
    r->key_pairs = oa_gpu_take_reals(f->d, rows * CHUNK);
    r->u = oa_gpu_take_reals(f->d, rows * r->width);
}

/* P, and −A, where all columns have the same decay. */
static void recurrence_head_pairs(const struct recurrence_run *f)
{
    const struct recurrence_rows *r = &f->r;
    struct oa_chunk_product p = recurrence_product(f, CHUNK, CHUNK, r->features);
    p.a = recurrence_rows_of(f, r->query, r->features);
    p.b = oa_chunk_turned(recurrence_rows_of(f, r->key, r->features));
    p.c = recurrence_rows_of(f, r->pairs_of, CHUNK);
    p.mask = OA_CHUNK_THROUGH;
    if (r->decay != OA_DECAY_NONE)
        p.row_exponent = p.column_exponent = r->negated;
    oa_gpu_chunk_products(f->d, r->pairs, &p);
    if (!r->beta_logits)
        return;
    p.a = recurrence_rows_of(f, r->key, r->features);
    p.c = recurrence_rows_of(f, r->key_pairs, CHUNK);
    p.mask = OA_CHUNK_BELOW;
    p.factor = r->beta;
    p.scale = -1;
    oa_gpu_chunk_products(f->d, r->pairs, &p);
}

/* What the tokens add to the state with their keys: v, or U. */
static struct oa_chunk_matrix recurrence_values(const struct recurrence_run *f)
{
    return f->r.beta_logits ? recurrence_rows_of(f, f->r.u, f->r.width)
                            : recurrence_tokens(f, f->r.v, f->r.ldv, f->r.width);
}

/* Operands, pairs, U and the states before chunks. */
static void open_recurrence(struct recurrence_run *f)
{
    struct recurrence_rows *r = &f->r;
    enum { DELTA_COLUMNS = 16 }; /* of recurrence.cl */
    take_recurrence_operands(f);
    RECURRENCE_EACH(f, recurrence_decays, f->items * r->decays, OA_GPU_STRUCT(f->r));
    RECURRENCE_EACH(f, recurrence_operands, f->items * CHUNK * r->features, OA_GPU_STRUCT(f->r));
    if (r->decay == OA_DECAY_CHANNEL)
        RECURRENCE_EACH(f, recurrence_channel_pairs, f->items * CHUNK * CHUNK, OA_GPU_STRUCT(f->r));
    else
        recurrence_head_pairs(f);
    if (r->beta_logits) {
        OA_GPU_INDIRECT(f->d, recurrence_delta_states,
                        r->pairs * oa_blocks(r->width, DELTA_COLUMNS), 1, OA_GPU_STRUCT(*r));
        return;
    }
    multiply_chunks(f, r->features, r->width, CHUNK,
                    oa_chunk_turned(recurrence_rows_of(f, r->key_right, r->features)),
                    recurrence_values(f), recurrence_state_of(f, r->states), false);
    if (r->begun)
        RECURRENCE_EACH(f, recurrence_move_state, r->pairs * r->features * r->width,
                        OA_GPU_STRUCT(f->r), OA_GPU_LONG(0));
    oa_gpu_chunk_scan(f->d, r->pairs, r->chunks, r->features * r->width, false, r->begun, r->ends,
                      r->decays, r->width, r->states);
}

static void recurrence_run_forward(struct recurrence_run *f)
{
    const struct recurrence_rows *r = &f->r;
    open_recurrence(f);
    struct oa_chunk_product p = recurrence_product(f, CHUNK, r->width, r->features);
    p.a = recurrence_rows_of(f, r->query_left, r->features);
    p.b = recurrence_state_of(f, r->states);
    p.own_a = recurrence_rows_of(f, r->pairs_of, CHUNK);
    p.own_b = recurrence_values(f);
    p.own_k = CHUNK;
    p.ordered = r->beta_logits != NULL;
    p.c = recurrence_tokens(f, f->a->o, f->a->ldo, r->width);
    oa_gpu_chunk_products(f->d, r->pairs, &p);
    if (r->state)
        RECURRENCE_EACH(f, recurrence_move_state, r->pairs * r->features * r->width,
                        OA_GPU_STRUCT(f->r), OA_GPU_LONG(1));
}

/* ---- backward ---- */

static void take_recurrence_gradients(struct recurrence_run *f)
{
    struct recurrence_rows *r = &f->r;
    long rows = f->items * CHUNK;
    r->d_states = oa_gpu_take_reals(f->d, r->pairs * (r->chunks + 1) * r->features * r->width);
    r->d_pairs = oa_gpu_take_reals(f->d, rows * CHUNK);
    r->d_query = oa_gpu_take_reals(f->d, rows * r->features);
    r->d_right = oa_gpu_take_reals(f->d, rows * r->features);
    r->d_decay = oa_gpu_take_reals(f->d, rows * r->features);
    r->d_end = oa_gpu_take_reals(f->d, f->items * r->features);
    r->diagonal = oa_gpu_take_reals(f->d, rows);
    r->along = oa_gpu_take_reals(f->d, f->items);
    if (!r->beta_logits)
        return;
    r->d_u = oa_gpu_take_reals(f->d, rows * r->width);
    r->d_key_pairs = oa_gpu_take_reals(f->d, rows * CHUNK);
    r->d_left = oa_gpu_take_reals(f->d, rows * r->features);
}

/* dS after chunks; dv, and dR with the gradient of β. */
static void recurrence_value_gradients(const struct recurrence_run *f, struct oa_chunk_matrix d_o)
{
    enum { DELTA_COLUMNS = 16 }; /* of recurrence.cl */
    const struct recurrence_rows *r = &f->r;
    struct oa_chunk_matrix pairs = oa_chunk_turned(recurrence_rows_of(f, r->pairs_of, CHUNK));
    multiply_chunks(f, r->features, r->width, CHUNK,
                    oa_chunk_turned(recurrence_rows_of(f, r->query_left, r->features)), d_o,
                    recurrence_state_of(f, r->d_states), false);
    if (r->beta_logits) {
        multiply_chunks(f, CHUNK, r->width, CHUNK, pairs, d_o,
                        recurrence_rows_of(f, r->d_u, r->width), false);
        OA_GPU_INDIRECT(f->d, recurrence_delta_gradients,
                        r->pairs * oa_blocks(r->width, DELTA_COLUMNS), 1, OA_GPU_STRUCT(*r));
        OA_GPU_INDIRECT(f->d, recurrence_delta_rows, f->items * CHUNK, 1, OA_GPU_STRUCT(*r));
        return;
    }
    oa_gpu_chunk_scan(f->d, r->pairs, r->chunks, r->features * r->width, true, false, r->ends,
                      r->decays, r->width, r->d_states);
    if (!r->dv)
        return;
    struct oa_chunk_product p = recurrence_product(f, CHUNK, r->width, r->features);
    p.a = recurrence_rows_of(f, r->key_right, r->features);
    p.b = recurrence_state_of(f, r->d_states);
    p.own_a = pairs;
    p.own_b = d_o;
    p.own_k = CHUNK;
    p.c = recurrence_tokens(f, r->dv, r->ldv, r->width);
    oa_gpu_chunk_products(f->d, r->pairs, &p);
}

/* dP and da, decayed unless the decays are by channel. */
static void pair_gradients(const struct recurrence_run *f, struct oa_chunk_matrix d_o)
{
    const struct recurrence_rows *r = &f->r;
    struct oa_chunk_product p = recurrence_product(f, CHUNK, CHUNK, r->width);
    p.a = d_o;
    p.b = oa_chunk_turned(recurrence_values(f));
    p.c = recurrence_rows_of(f, r->d_pairs, CHUNK);
    p.mask = OA_CHUNK_THROUGH;
    if (r->decay == OA_DECAY_FIXED || r->decay == OA_DECAY_HEAD)
        p.row_exponent = p.column_exponent = r->negated;
    oa_gpu_chunk_products(f->d, r->pairs, &p);
    RECURRENCE_EACH(f, recurrence_diagonal, f->items * CHUNK, OA_GPU_STRUCT(f->r));
    if (!r->beta_logits)
        return;
    p.a = oa_chunk_times(recurrence_rows_of(f, r->d_u, r->width), r->beta);
    p.c = recurrence_rows_of(f, r->d_key_pairs, CHUNK);
    p.mask = OA_CHUNK_BELOW;
    p.scale = -1;
    oa_gpu_chunk_products(f->d, r->pairs, &p);
}

/* What the states on both sides give to dq, dk on the left and on the right. */
static void recurrence_state_products(const struct recurrence_run *f, struct oa_chunk_matrix d_o)
{
    const struct recurrence_rows *r = &f->r;
    struct oa_chunk_matrix state = oa_chunk_turned(recurrence_state_of(f, r->states)),
                           after = oa_chunk_turned(recurrence_state_of(f, r->d_states));
    multiply_chunks(f, CHUNK, r->features, r->width, d_o, state,
                    recurrence_rows_of(f, r->d_query, r->features), false);
    multiply_chunks(f, CHUNK, r->features, r->width, recurrence_values(f), after,
                    recurrence_rows_of(f, r->d_right, r->features), false);
    if (r->beta_logits) {
        struct oa_chunk_product p = recurrence_product(f, CHUNK, r->features, r->width);
        p.a = oa_chunk_times(recurrence_rows_of(f, r->d_u, r->width), r->beta);
        p.b = state;
        p.c = recurrence_rows_of(f, r->d_left, r->features);
        p.scale = -1;
        oa_gpu_chunk_products(f->d, r->pairs, &p);
    }
    RECURRENCE_EACH(f, recurrence_state_gradients, f->items * r->features, OA_GPU_STRUCT(f->r));
}

/* And what the pairs add to them. */
static void recurrence_pair_products(const struct recurrence_run *f)
{
    const struct recurrence_rows *r = &f->r;
    long n = r->features;
    struct oa_chunk_matrix pairs = recurrence_rows_of(f, r->d_pairs, CHUNK),
                           key_pairs = recurrence_rows_of(f, r->d_key_pairs, CHUNK),
                           query = recurrence_rows_of(f, r->query, n),
                           key = recurrence_rows_of(f, r->key, n),
                           right = recurrence_rows_of(f, r->d_right, n);
    multiply_chunks(f, CHUNK, n, CHUNK, pairs, key, recurrence_rows_of(f, r->d_query, n), true);
    multiply_chunks(f, CHUNK, n, CHUNK, oa_chunk_turned(pairs), query, right, true);
    if (!r->beta_logits)
        return;
    multiply_chunks(f, CHUNK, n, CHUNK, key_pairs, key, recurrence_rows_of(f, r->d_left, n), true);
    multiply_chunks(f, CHUNK, n, CHUNK, oa_chunk_turned(key_pairs), key, right, true);
}

static void recurrence_run_backward(struct recurrence_run *f)
{
    const struct recurrence_rows *r = &f->r;
    open_recurrence(f);
    take_recurrence_gradients(f);
    struct oa_chunk_matrix d_o = recurrence_tokens(f, f->a->d_o, f->a->ldo, r->width);
    long elements = f->items * CHUNK * r->features;
    recurrence_value_gradients(f, d_o);
    pair_gradients(f, d_o);
    recurrence_state_products(f, d_o);
    if (r->decay == OA_DECAY_CHANNEL)
        RECURRENCE_EACH(f, recurrence_channel_gradients, elements, OA_GPU_STRUCT(f->r));
    else
        recurrence_pair_products(f);
    if (f->a->d_rate || r->d_decay_logits)
        RECURRENCE_EACH(f, recurrence_decay_sums, f->items * r->features, OA_GPU_STRUCT(f->r));
    RECURRENCE_EACH(f, recurrence_store, elements, OA_GPU_STRUCT(f->r));
    if (r->decay == OA_DECAY_HEAD && (f->a->d_rate || r->d_decay_logits))
        OA_GPU_INDIRECT(f->d, recurrence_head_decays, f->items, 1, OA_GPU_STRUCT(*r));
    if (f->a->d_rate)
        RECURRENCE_EACH(f, recurrence_rate_gradient, r->heads, OA_GPU_STRUCT(f->r),
                        OA_GPU_AT(f->a->d_rate));
}

/* ---- runs ---- */

static struct recurrence_rows recurrence_rows_for(const struct oa_recurrence *a)
{
    return (struct recurrence_rows){ .heads = a->shape.heads,
                                     .length = a->shape.queries,
                                     .chunks = oa_blocks(a->shape.queries, CHUNK),
                                     .features = a->features,
                                     .width = a->shape.value_width,
                                     .decay = a->decay,
                                     .decays = a->decay == OA_DECAY_CHANNEL ? a->features : 1,
                                     .begun = a->begun,
                                     .ldq = a->ldq,
                                     .ldk = a->ldk,
                                     .ldv = a->ldv,
                                     .ld_decay = a->ld_decay,
                                     .ld_beta = a->ld_beta,
                                     .scale = a->scale,
                                     .lengths = a->shape.key_lengths,
                                     .q = a->q,
                                     .k = a->k,
                                     .v = a->v,
                                     .decay_logits = a->decay_logits,
                                     .rate = a->rate,
                                     .beta_logits = a->beta_logits,
                                     .state = a->state,
                                     .dq = a->dq,
                                     .dk = a->dk,
                                     .dv = a->dv,
                                     .d_decay_logits = a->d_decay_logits,
                                     .d_beta_logits = a->d_beta_logits };
}

static void run_recurrence(struct oa_device *d, const struct oa_recurrence *a, bool backward)
{
    long all = a->shape.batch * a->shape.heads, r = a->features, v = a->shape.value_width,
         rows = CHUNK * (backward ? 11 * r + 4 * v + 4 * CHUNK : 7 * r + 2 * v + 2 * CHUNK),
         chunks = oa_blocks(a->shape.queries, CHUNK),
         each = oa_gpu_pairs_at_once(d, all, (chunks + 1) * (rows + (backward ? 2 : 1) * r * v));
    for (long first = 0; first < all && !oa_status(d->context); first += each) {
        struct recurrence_run f = { .d = d, .a = a, .r = recurrence_rows_for(a) };
        size_t mark = oa_gpu_mark(d);
        f.r.first = first;
        f.r.pairs = oa_min(each, all - first);
        (backward ? recurrence_run_backward : recurrence_run_forward)(&f);
        oa_gpu_give_back(d, mark);
    }
}

static void step_recurrence(struct oa_device *d, const struct oa_recurrence *a)
{
    struct recurrence_run f = { .d = d, .a = a, .r = recurrence_rows_for(a) };
    f.r.pairs = a->shape.batch * a->shape.heads;
    RECURRENCE_EACH(&f, recurrence_step, f.r.pairs * f.r.width, OA_GPU_STRUCT(f.r), OA_GPU_AT(a->o),
                    OA_GPU_LONG(a->ldo));
}

void oa_gpu_recurrence(struct oa_device *d, const struct oa_recurrence *a)
{
    if (a->state && a->shape.queries == 1)
        step_recurrence(d, a);
    else
        run_recurrence(d, a, false);
}

void oa_gpu_recurrence_gradient(struct oa_device *d, const struct oa_recurrence *a)
{
    run_recurrence(d, a, true);
}
