/* SPDX-License-Identifier: Apache-2.0
 * The logits engine, backward (logits.cl). What the batch shares, tables of queries and keys and
 * biases, gets sums of each (b,h), which are added up in the order of batch items and heads. */
#include "device/gpu/gpu_logits.h"

struct gradient_wanted { /* wanted of logits.cl */
    void *out;
    long ld, table;
    long part;
    void *forget;
    const void *bucket;
    void *distances;
    long buckets;
    void *bias;
};

/* ---- sums of each (b,h) ---- */

/* to[h·stride …] += factor·Σ partial [B, H, blocks, n]; no stride: all heads have one place. */
static void add_heads(struct oa_device *d, const struct oa_gpu_attention *x, long blocks, long n,
                      double factor, const void *partial, void *to, long stride)
{
    OA_GPU_EACH(d, add_partials, (stride ? x->heads : 1) * n, OA_GPU_LONG(x->batch),
                OA_GPU_LONG(x->heads), OA_GPU_LONG(blocks), OA_GPU_LONG(n), OA_GPU_DOUBLE(factor),
                OA_GPU_AT(partial), OA_GPU_AT(to), OA_GPU_LONG(stride), OA_GPU_LONG(stride != 0));
}

static void *take_heads(struct oa_device *d, const struct oa_gpu_attention *x, long n)
{
    return oa_gpu_take_reals(d, x->batch * x->heads * n);
}

/* ---- queries ---- */

/* dq of part c, and with the first part what is wanted of rows of dS. */
static void query_side(struct oa_device *d, const struct oa_logits *a,
                       const struct oa_gpu_attention *x, int c)
{
    const struct oa_logits_part *p = &a->part[c];
    bool dq = p->kind == OA_PART_DOT && p->dq;
    const struct oa_gpu_part own = oa_gpu_part_of(p);
    long blocks = oa_blocks(x->queries, OA_GPU_TILE);
    size_t mark = oa_gpu_mark(d);
    struct gradient_wanted g = { .out = dq ? p->dq : NULL, .ld = p->ldq, .part = c };
    if (dq && p->q_table) {
        g.table = true;
        g.out = take_heads(d, x, x->queries * p->width);
    }
    if (c == 0 && a->forgetting.dquery)
        g.forget = a->forgetting.dquery;
    if (c == 0 && a->distances.dbias) {
        g.bucket = a->distances.bucket;
        g.buckets = a->distances.buckets;
        g.distances = take_heads(d, x, blocks * g.buckets);
    }
    if (g.out || g.forget || g.distances)
        OA_GPU_INDIRECT(d, query_gradient, oa_gpu_query_blocks(x),
                        g.out ? oa_blocks(p->width, OA_GPU_CHUNK) : 1, OA_GPU_STRUCT(*x),
                        OA_GPU_STRUCT(g), OA_GPU_STRUCT(own));
    if (g.table)
        add_heads(d, x, 1, x->queries * p->width, 1, g.out, p->dq, p->q_head_stride);
    if (g.distances)
        add_heads(d, x, blocks, g.buckets, 1, g.distances, a->distances.dbias, g.buckets);
    oa_gpu_give_back(d, mark);
}

/* ---- keys ---- */

/* each: of query heads. */
static void launch_keys(struct oa_device *d, const struct oa_gpu_attention *x,
                        const struct gradient_wanted *g, const struct oa_logits_part *p, long width,
                        bool each)
{
    const struct oa_gpu_part own = oa_gpu_part_of(p);
    oa_gpu_launch(d, g->part < 0 ? OA_GPU_KERNEL_value_gradient : OA_GPU_KERNEL_key_gradient,
                  &(struct oa_gpu_grid){
                      .groups = { x->batch * (each ? x->heads : x->key_heads) * oa_gpu_key_tiles(x),
                                  g->out ? oa_blocks(width, OA_GPU_CHUNK) : 1, 1 },
                      .threads = OA_GPU_GROUP,
                      .indirect = true,
                      OA_GPU_ARGUMENTS(OA_GPU_STRUCT(*x), OA_GPU_STRUCT(*g), OA_GPU_STRUCT(own),
                                       OA_GPU_LONG(each)) });
}

/* dk and dbias of part c, and with the first part the sums of columns of dS. */
static void key_side(struct oa_device *d, const struct oa_logits *a,
                     const struct oa_gpu_attention *x, int c)
{
    const struct oa_logits_part *p = &a->part[c];
    size_t mark = oa_gpu_mark(d);
    bool dot = p->kind == OA_PART_DOT, each = p->k_table || x->heads == x->key_heads;
    struct gradient_wanted rows = { .part = c, .ld = p->ldk, .out = dot ? p->dk : NULL },
                           sums = { .part = c };
    if (rows.out && p->k_table) {
        rows.table = true;
        rows.out = take_heads(d, x, x->keys * p->width);
    }
    if (dot && p->bias && p->dbias)
        sums.bias = take_heads(d, x, x->keys);
    if (c == 0 && a->forgetting.dkey)
        sums.forget = a->forgetting.dkey;
    if (rows.out && each) {
        rows.bias = sums.bias;
        rows.forget = sums.forget;
    }
    if (rows.out)
        launch_keys(d, x, &rows, p, p->width, each);
    if ((sums.bias || sums.forget) && !(rows.out && each))
        launch_keys(d, x, &sums, p, 1, true);
    if (rows.table)
        add_heads(d, x, 1, x->keys * p->width, 1, rows.out, p->dk, p->k_head_stride);
    if (sums.bias)
        add_heads(d, x, 1, x->keys, 1, sums.bias, p->dbias, p->bias_head_stride);
    oa_gpu_give_back(d, mark);
}

/* ---- the other parts ---- */

static void alpha_side(struct oa_device *d, const struct oa_logits *a,
                       const struct oa_gpu_attention *x, long c)
{
    const struct oa_gpu_part own = oa_gpu_part_of(a->part + c);
    long blocks = oa_blocks(x->queries, OA_GPU_TILE);
    size_t mark = oa_gpu_mark(d);
    void *partial = take_heads(d, x, blocks);
    if (!partial)
        return;
    OA_GPU_INDIRECT(d, alpha_gradient, oa_gpu_query_blocks(x), 1, OA_GPU_STRUCT(*x),
                    OA_GPU_STRUCT(own), OA_GPU_AT(partial));
    add_heads(d, x, blocks, 1, 1, partial, oa_real_at(d, a->dalpha, c), a->parts);
    oa_gpu_give_back(d, mark);
}

/* From rows of dS that are stored for a band of blocks at a time. */
static void fold_side(struct oa_device *d, const struct oa_logits_part *p,
                      const struct oa_gpu_attention *x, long c)
{
    const struct {
        void *dq, *dk;
    } to = { p->dq, p->dk };
    const struct oa_gpu_part own = oa_gpu_part_of(p);
    long all = oa_gpu_query_blocks(x), step = oa_min(all, oa_gpu_band_blocks(d, x));
    size_t mark = oa_gpu_mark(d);
    void *rows = oa_gpu_take_reals(d, step * OA_GPU_TILE * x->keys);
    for (long first = 0; rows && first < all; first += step) {
        long blocks = oa_min(step, all - first);
        OA_GPU_INDIRECT(d, gradient_rows, blocks * oa_gpu_key_tiles(x), 1, OA_GPU_STRUCT(*x),
                        OA_GPU_LONG(first), OA_GPU_AT(rows));
        OA_GPU_INDIRECT(d, fold_gradient, blocks * OA_GPU_TILE, 1, OA_GPU_STRUCT(*x),
                        OA_GPU_STRUCT(own), OA_GPU_LONG(c), OA_GPU_LONG(first), OA_GPU_AT(rows),
                        OA_GPU_STRUCT(to));
    }
    oa_gpu_give_back(d, mark);
}

static void sink_side(struct oa_device *d, const struct oa_logits *a,
                      const struct oa_gpu_attention *x)
{
    size_t mark = oa_gpu_mark(d);
    void *partial = take_heads(d, x, 1);
    if (!partial)
        return;
    OA_GPU_INDIRECT(d, sink_gradient, x->batch * x->heads, 1, OA_GPU_STRUCT(*x),
                    OA_GPU_AT(partial));
    add_heads(d, x, 1, 1, -1, partial, a->dsink, 1);
    oa_gpu_give_back(d, mark);
}

/* ---- all of them ---- */

static void find_row_deltas(struct oa_device *d, const struct oa_gpu_attention *x)
{
    if (x->normaliser == OA_NORMALISE_SPARSEMAX || x->normaliser == OA_NORMALISE_ENTMAX)
        OA_GPU_INDIRECT(d, weight_deltas, oa_gpu_query_blocks(x), 1, OA_GPU_STRUCT(*x));
    else if (x->normaliser != OA_NORMALISE_SIGMOID)
        OA_GPU_INDIRECT(d, logits_deltas, oa_blocks(x->batch * x->heads * x->queries, 16), 1,
                        OA_GPU_STRUCT(*x));
}

static void gradients_of(struct oa_device *d, const struct oa_logits *a,
                         const struct oa_gpu_attention *x)
{
    if (a->dv)
        launch_keys(d, x, &(struct gradient_wanted){ .part = -1, .out = a->dv, .ld = a->ldv },
                    a->part, x->value_width, false);
    for (int c = 0; c < a->parts; c++) {
        const struct oa_logits_part *p = &a->part[c];
        query_side(d, a, x, c);
        key_side(d, a, x, c);
        if (a->dalpha)
            alpha_side(d, a, x, c);
        if (p->kind == OA_PART_FOLD && (p->dq || p->dk))
            fold_side(d, p, x, c);
        if (p->kind == OA_PART_TABLE && p->dtable)
            OA_GPU_INDIRECT(d, table_gradient,
                            x->heads * oa_blocks(x->queries, OA_GPU_TILE) * oa_gpu_key_tiles(x), 1,
                            OA_GPU_STRUCT(*x), OA_GPU_LONG(c), OA_GPU_LONG(p->table_length),
                            OA_GPU_AT(p->dtable));
    }
}

void oa_gpu_attend_gradient(struct oa_device *d, const struct oa_logits *a,
                            struct oa_gpu_attention *x)
{
    struct oa_gpu_attention piece;
    size_t mark = oa_gpu_mark(d);
    x->delta = take_heads(d, x, x->queries);
    if (!x->delta)
        return;
    find_row_deltas(d, x);
    if (oa_gpu_pieces_wanted(a))
        for (int number = 0; oa_gpu_piece(a, x, number, &piece); number++)
            gradients_of(d, a, &piece);
    else
        gradients_of(d, a, x);
    if (a->dsink)
        sink_side(d, a, x);
    oa_gpu_give_back(d, mark);
}

void oa_gpu_logits_gradient(struct oa_device *d, const struct oa_logits *a)
{
    if (oa_gpu_attention_units_gradient(d, a))
        return;
    size_t mark = oa_gpu_mark(d);
    struct oa_gpu_attention x = oa_gpu_attention_of(d, a);
    oa_gpu_attend_gradient(d, a, &x);
    oa_gpu_give_back(d, mark);
}
