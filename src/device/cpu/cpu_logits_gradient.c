/* SPDX-License-Identifier: Apache-2.0
 * The logits engine, backward. With dO given, P recomputed from S and lse, u the dropout mask and p
 * its keep rate, D = P∘u/p what the forward pass multiplied V by, and δ_i = dO_i·O_i (Dao et al.
 * 2022, app. B):
 *
 *     O_i = Σ_j D_ij v_j            ⇒  dv_j = Σ_i D_ij dO_i,   dP_ij = (u_ij/p) dO_i·v_j
 *     P = softmax(S)                ⇒  dS_ij = P_ij (dP_ij − Σ_l P_il dP_il) = P_ij (dP_ij − δ_i)
 *       as Σ_l P_il dP_il = Σ_l P_il (u_il/p) dO_i·v_l = dO_i·O_i, dropped or not
 *       other weights than softmax: cpu_logits_weights.c; a sink: cpu_sink.c
 *     S = Σ_c α_c S^c               ⇒  dS^c = α_c dS,  dα_c = Σ_ij dS_ij S^c_ij
 *     S^c_ij = τ q_i·k_j + bias_j   ⇒  dq_i = α_c τ Σ_j dS_ij k_j,  dk_j = α_c τ Σ_i dS_ij q_i,
 *                                      dbias_j = α_c Σ_i dS_ij
 *     S += b[bucket(j − i)]         ⇒  db[c] = Σ dS_ij over the pairs of bucket c (cpu_relative.c)
 *     S^c_ij = table_ij             ⇒  dtable_ij = α_c dS_ij
 *     S^c_ij = q_i[j mod a]·k_i[⌊j/a⌋]
 *                                   ⇒  dq_i[p] = α_c Σ_{j mod a = p} dS_ij k_i[⌊j/a⌋],
 *                                      dk_i[f] = α_c Σ_{⌊j/a⌋ = f} dS_ij q_i[j mod a]
 *
 * dα of a product needs no second look at S^c: Σ_ij dS_ij τ q_i·k_j = τ Σ_i q_i·G_i, where G_i =
 * Σ_j dS_ij k_j is computed for dq anyway; that of a fold is Σ_i k_i·dk_i/α_c for the same reason.
 * Invisible pairs and empty rows have P = 0 and dS = 0 and contribute nothing.
 *
 * Items. One pass gives all gradients of a (b,h): query blocks in the outer loop, tiles in the
 * inner one, dq_i in a small buffer, dk and dv in buffers of the length of the sequence. Where the
 * batch shares a gradient (of a table of queries or keys, a bias, a table of logits), everything
 * that adds to it is one item, so that the sum has one order. If this leaves too few items,
 * gradients of keys have separate sums (cpu_logits_shared.c). If that does not help, there are two
 * passes: items of blocks of keys give dk, dv and the shared gradients, items of blocks of queries
 * give dq (and both sides of a fold, which are rows of queries); S and dP are computed twice. */
#include "device/cpu/cpu_logits_gradient.h"

#include <string.h>

enum {
    ENOUGH_ITEMS = 8, /* of one pass; fewer take two passes */
    CUT_ITEMS = 32,   /* of each of two passes, about, … */
    MOST_BLOCKS = 8   /* … of at most so many query blocks */
};

/* ---- items ---- */

static struct oa_bounds nth_piece(long number, long size, long n)
{
    return (struct oa_bounds){ number * size, oa_min(number * size + size, n) };
}

static void logits_gradient_item(void *argument, long item, const struct oa_worker *w)
{
    const struct oa_logits_backward *f = argument;
    const struct oa_attention_shape *s = &f->a->shape;
    long row_cuts = oa_blocks(s->queries, f->row_cut),
         col_cuts = oa_max(1, oa_blocks(s->keys, f->col_cut));
    struct oa_bounds rows = nth_piece(item % row_cuts, f->row_cut, s->queries);
    struct oa_bounds cols = nth_piece(item / row_cuts % col_cuts, f->col_cut, s->keys);
    long group = item / row_cuts / col_cuts, b0 = group / f->head_items, h0 = group % f->head_items;
    struct oa_tiles t;
    struct oa_gradients g;
    oa_tiles_open(&t, f->d, f->a, w, f->d->cpu->kernels.key_block);
    oa_gradient_open(&t, &g, f);
    for (long b = b0; b < (f->merge_batch ? s->batch : b0 + 1); b++)
        for (long h = h0; h < (f->merge_heads ? s->heads : h0 + 1) && !t.failed; h++) {
            oa_tiles_head(&t, b, h);
            if (f->shared.sums)
                oa_shared_clear(&f->shared, b, h);
            oa_gradient_head(&t, &g, rows, cols);
        }
}

static void run_pass(struct oa_logits_backward *f, int sides, long row_cut, long col_cut)
{
    const struct oa_attention_shape *s = &f->a->shape;
    f->sides = sides;
    f->row_cut = oa_max(1, row_cut);
    f->col_cut = oa_max(1, col_cut);
    if (!oa_wants_dv(f) && !oa_wants_logits(f))
        return;
    f->batch_items = f->merge_batch ? 1 : s->batch;
    f->head_items = f->merge_heads ? 1 : s->heads;
    long cuts = oa_blocks(s->queries, f->row_cut) * oa_max(1, oa_blocks(s->keys, f->col_cut));
    oa_parallel(f->d->context, f->batch_items * f->head_items * cuts, logits_gradient_item, f);
}

static void find_shared(struct oa_logits_backward *f)
{
    for (int c = 0; c < f->a->parts; c++) {
        const struct oa_logits_part *p = &f->a->part[c];
        bool keys = p->kind == OA_PART_DOT && p->k_table && p->dk,
             bias = p->kind == OA_PART_DOT && p->dbias;
        bool table = p->kind == OA_PART_TABLE && p->dtable;
        f->merge_queries |= p->q_table && p->dq;
        f->merge_batch |= keys || bias || table || f->merge_queries;
        f->merge_heads |= (keys && p->k_head_stride == 0) || (bias && p->bias_head_stride == 0);
    }
}

/* Rows or keys of an item when `items` long sequences are cut. */
static long rows_per_item(long items, long length, long block)
{
    return block * oa_max(1, oa_min(items * oa_blocks(length, block) / CUT_ITEMS, MOST_BLOCKS));
}

static long one_pass_items(const struct oa_logits_backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    return (f->merge_batch ? 1 : s->batch) * (f->merge_heads ? 1 : s->heads);
}

/* With separate sums each (b,h) is an item, if nothing else is shared. */
bool oa_shared_wanted(const struct oa_logits *a)
{
    struct oa_logits_backward f = { .a = a };
    bool others = false;
    find_shared(&f);
    for (int c = 0; c < a->parts; c++)
        others |= a->part[c].kind == OA_PART_TABLE && a->part[c].dtable;
    return !others && !f.merge_queries && one_pass_items(&f) < ENOUGH_ITEMS &&
           a->shape.batch * a->shape.heads >= ENOUGH_ITEMS;
}

static bool take_shared(struct oa_logits_backward *f)
{
    f->shared = (struct oa_shared){ .d = f->d, .a = f->a };
    if (!oa_shared_wanted(f->a))
        return true;
    f->merge_batch = f->merge_heads = false;
    f->shared.sums = oa_arena_take(&f->d->scratch, oa_shared_bytes(f->d, f->a));
    return f->shared.sums;
}

static void run_passes(struct oa_logits_backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    long block = oa_tiles_query_block(f->d, f->a, f->d->cpu->kernels.key_block),
         items = one_pass_items(f);
    if (items >= ENOUGH_ITEMS || (s->queries <= block && s->keys <= block)) {
        run_pass(f, OA_QUERY_SIDE | OA_KEY_SIDE, s->queries, s->keys);
        return;
    }
    run_pass(f, OA_KEY_SIDE, s->queries, rows_per_item(items, s->keys, block));
    f->merge_batch = f->merge_queries;
    f->merge_heads = false;
    run_pass(f, OA_QUERY_SIDE,
             rows_per_item((f->merge_batch ? 1 : s->batch) * s->heads, s->queries, block), s->keys);
}

/* ---- dα ---- */

static long dalpha_blocks(const struct oa_logits_backward *f)
{
    long block = oa_tiles_query_block(f->d, f->a, f->d->cpu->kernels.key_block),
         rows = oa_tile_round(oa_min(block, f->a->shape.queries));
    return oa_blocks(f->a->shape.queries, rows);
}

static bool take_distance_sums(struct oa_logits_backward *f)
{
    size_t bytes = oa_distances_bytes(f->d, f->a);
    if (bytes == 0)
        return true;
    f->distances = oa_arena_take(&f->d->scratch, bytes);
    if (f->distances)
        memset(f->distances, 0, bytes);
    return f->distances;
}

/* δ of weights whose sum is fixed. */
static bool make_deltas(struct oa_logits_backward *f)
{
    if (!oa_weighs_sums(f->a))
        return true;
    void *delta = oa_arena_take(&f->d->scratch, oa_deltas_bytes(f->d, f->a));
    if (!delta)
        return false;
    struct oa_logits_backward sums = *f;
    sums.delta = delta;
    oa_weights_deltas(&sums);
    f->delta = delta;
    return true;
}

static bool take_alpha_gradients(struct oa_logits_backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    if (!f->a->dalpha)
        return true;
    size_t bytes = (size_t)(s->batch * s->heads * dalpha_blocks(f) * f->a->parts) * sizeof(double);
    f->dalpha = oa_arena_take(&f->d->scratch, bytes);
    if (f->dalpha)
        memset(f->dalpha, 0, bytes);
    return f->dalpha;
}

/* Adds the partial sums of a head in the order of batch items and blocks. */
static void add_alpha_gradients(const struct oa_logits_backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    long blocks = dalpha_blocks(f), parts = f->a->parts;
    for (long at = 0; f->dalpha && at < s->heads * parts; at++) {
        double sum = 0;
        for (long b = 0; b < s->batch; b++)
            for (long i = 0; i < blocks; i++)
                sum += f->dalpha[((b * s->heads + at / parts) * blocks + i) * parts + at % parts];
        oa_real_set(f->d, f->a->dalpha, at, oa_real_get(f->d, f->a->dalpha, at) + sum);
    }
}

/* ---- heads of keys that are shared ---- */

static bool sums_key_heads(const struct oa_logits_part *p)
{
    return p->kind == OA_PART_DOT && !p->k_table && p->dk;
}

/* False: no memory. */
static bool open_key_gradients(struct oa_device *d, const struct oa_logits *a,
                               struct oa_logits *own)
{
    bool good = true;
    for (int c = 0; c < a->parts; c++) {
        struct oa_logits_part *p = &own->part[c];
        if (sums_key_heads(p))
            good &= (p->dk = oa_key_gradient_open(d, &a->shape, p->width, p->dk)) != NULL;
    }
    if (a->dv)
        good &= (own->dv = oa_key_gradient_open(d, &a->shape, a->shape.value_width, a->dv)) != NULL;
    return good;
}

void oa_key_gradients_take(struct oa_device *d, const struct oa_logits *a)
{
    struct oa_logits own = *a;
    open_key_gradients(d, a, &own);
}

static void close_key_gradients(struct oa_device *d, const struct oa_logits *a,
                                const struct oa_logits *own)
{
    for (int c = 0; c < a->parts; c++) {
        const struct oa_logits_part *p = &a->part[c];
        if (sums_key_heads(p))
            oa_key_gradient_close(d, &a->shape, p->width, own->part[c].dk, p->dk, p->ldk);
    }
    oa_key_gradient_close(d, &a->shape, a->shape.value_width, own->dv, a->dv, a->ldv);
}

void oa_cpu_logits_gradient(struct oa_device *d, const struct oa_logits *a)
{
    if (oa_tables_shared(a)) {
        oa_tables_gradient(d, a);
        return;
    }
    if (oa_pieces_wanted(a)) {
        oa_pieces_gradient(d, a);
        if (a->dsink)
            oa_sink_gradient(d, a);
        return;
    }
    size_t mark = oa_arena_mark(&d->scratch);
    struct oa_logits own = *a;
    if (!open_key_gradients(d, a, &own)) {
        oa_arena_release(&d->scratch, mark);
        return;
    }
    struct oa_logits_backward f = { .d = d, .a = &own };
    find_shared(&f);
    if (take_alpha_gradients(&f) && take_distance_sums(&f) && take_shared(&f) && make_deltas(&f)) {
        run_passes(&f);
        add_alpha_gradients(&f);
        oa_distances_finish(d, a, f.distances);
        if (f.shared.sums)
            oa_shared_add(&f.shared);
        close_key_gradients(d, a, &own);
        if (a->dsink)
            oa_sink_gradient(d, a);
    }
    oa_arena_release(&d->scratch, mark);
}
