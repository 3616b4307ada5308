/* SPDX-License-Identifier: Apache-2.0
 * The logits engine, forward (logits.cl), and attention with polynomial weights, which is the same
 * walk with other weights. */
#include "device/gpu/gpu_logits.h"

/* ---- arguments of the kernels ---- */

struct oa_gpu_part oa_gpu_part_of(const struct oa_logits_part *p)
{
    return (struct oa_gpu_part){ .kind = p->kind,
                                 .width = p->width,
                                 .scale = p->scale,
                                 .q = p->q,
                                 .ldq = p->ldq,
                                 .q_table = p->q_table,
                                 .q_head_stride = p->q_head_stride,
                                 .k = p->k,
                                 .ldk = p->ldk,
                                 .folds = p->folds,
                                 .k_table = p->k_table,
                                 .k_head_stride = p->k_head_stride,
                                 .bias = p->bias,
                                 .bias_head_stride = p->bias_head_stride,
                                 .table = p->table,
                                 .table_length = p->table_length };
}

static void *keep_parts(struct oa_device *d, const struct oa_logits *a)
{
    void *parts = oa_gpu_take(d, (size_t)a->parts * sizeof(struct oa_gpu_part));
    for (long c = 1; parts && c < a->parts; c++) {
        struct oa_gpu_part p = oa_gpu_part_of(a->part + c);
        OA_GPU_GROUPS(d, keep_part, 1, 1, OA_GPU_STRUCT(p), OA_GPU_AT(parts), OA_GPU_LONG(c - 1));
    }
    return parts;
}

struct oa_gpu_attention oa_gpu_attention_of(struct oa_device *d, const struct oa_logits *a)
{
    const struct oa_attention_shape *s = &a->shape;
    struct oa_gpu_attention x = {
        .batch = s->batch,
        .queries = s->queries,
        .keys = s->keys,
        .heads = s->heads,
        .key_heads = oa_key_heads(s),
        .value_width = s->value_width,
        .causal = s->causal,
        .first = s->first,
        .summaries = s->summaries,
        .key_head_rows = s->key_head_rows,
        .cap = s->logit_cap,
        .key_lengths = s->key_lengths,
        .query_lengths = s->query_lengths,
        .form = a->support.form,
        .layout = a->support.layout,
        .alpha = a->alpha,
        .distances = a->distances.table,
        .distance_length = a->distances.length,
        .query_position = a->distances.query,
        .key_position = a->distances.key,
        .forget_query = a->forgetting.query,
        .forget_key = a->forgetting.key,
        .forget_query_rows = a->forgetting.query_rows,
        .forget_key_rows = a->forgetting.key_rows,
        .v = a->v,
        .ldv = a->ldv,
        .o = a->o,
        .ldo = a->ldo,
        .d_o = a->d_o,
        .normaliser = a->normaliser,
        .sink = a->sink,
        .lse = a->lse,
        .drop = oa_gpu_dropout_of(a->dropout, a->keep),
        .query_order = { 1, 1, 0, 1 },
        .key_order = { 1, 1, 0, 1 },
        .query_rows = s->queries,
        .key_rows = s->keys,
        .parts = a->parts,
        .more = a->parts > 1 ? keep_parts(d, a) : NULL,
        .first_part = oa_gpu_part_of(a->part),
    };
    for (int i = 0; i < 4; i++)
        x.parameter[i] = a->support.parameter[i];
    return x;
}

/* ---- pieces ---- */

bool oa_gpu_pieces_wanted(const struct oa_logits *a)
{
    const struct oa_logits_part *p = &a->part[0];
    const struct oa_support_functions *f = oa_support_functions_of(&a->support);
    return f && f->piece && a->shape.queries == a->shape.keys && a->parts == 1 &&
           p->kind == OA_PART_DOT && !p->q_table && !p->k_table && !p->bias && !a->alpha &&
           !a->forgetting.query && a->normaliser <= OA_NORMALISE_SINK && a->shape.logit_cap == 0;
}

/* How many of the first `length` rows are in the first sequence. */
static long rows_of_piece(const struct oa_row_order *o, long length)
{
    long rest = length % o->stride - o->first;
    return length / o->stride * o->take + oa_max(0, oa_min(rest, o->take));
}

bool oa_gpu_piece(const struct oa_logits *a, const struct oa_gpu_attention *x, int number,
                  struct oa_gpu_attention *piece)
{
    struct oa_piece p;
    if (!oa_support_functions_of(&a->support)->piece(&a->support, &a->shape, number, &p))
        return false;
    *piece = *x;
    piece->form = p.support.form;
    for (int i = 0; i < 4; i++)
        piece->parameter[i] = p.support.parameter[i];
    piece->normaliser = OA_NORMALISE_SOFTMAX;
    if (number == 0)
        return true;
    piece->merge = true;
    piece->causal = false;
    piece->batch = x->batch * p.queries.sequences;
    piece->query_order = p.queries;
    piece->key_order = p.keys;
    piece->queries = rows_of_piece(&p.queries, x->queries);
    piece->keys = rows_of_piece(&p.keys, x->keys);
    piece->drop = oa_gpu_dropout_of(oa_stream_child(a->dropout, (uint64_t)number), a->keep);
    return true;
}

/* ---- forward ---- */

long oa_gpu_band_blocks(const struct oa_device *d, const struct oa_gpu_attention *x)
{
    long bytes = OA_GPU_TILE * x->keys * (long)d->numbers.real_size;
    return oa_max(1, OA_GPU_BAND_BYTES / oa_max(1, bytes));
}

/* τ of all rows, from logits that are stored for a band of blocks at a time. */
static void find_thresholds(struct oa_device *d, const struct oa_gpu_attention *x)
{
    long all = oa_gpu_query_blocks(x), step = oa_min(all, oa_gpu_band_blocks(d, x));
    size_t mark = oa_gpu_mark(d);
    void *rows = oa_gpu_take_reals(d, step * OA_GPU_TILE * x->keys);
    for (long first = 0; rows && first < all; first += step) {
        long blocks = oa_min(step, all - first);
        OA_GPU_INDIRECT(d, logits_rows, blocks * oa_gpu_key_tiles(x), 1, OA_GPU_STRUCT(*x),
                        OA_GPU_LONG(first), OA_GPU_AT(rows));
        OA_GPU_INDIRECT(d, row_thresholds, blocks * OA_GPU_TILE, 1, OA_GPU_STRUCT(*x),
                        OA_GPU_LONG(first), OA_GPU_AT(rows));
    }
    oa_gpu_give_back(d, mark);
}

/* The kernels of an attention are chosen here, those of its gradients in gpu_logits_gradient.c.
 * With earlier pieces one chunk of columns after the other, since the last one changes lse. */
void oa_gpu_attend(struct oa_device *d, const struct oa_gpu_attention *x)
{
    long chunks = oa_blocks(x->value_width, OA_GPU_CHUNK), at_once = x->merge ? 1 : chunks;
    if (x->normaliser == OA_NORMALISE_SIGMOID)
        OA_GPU_INDIRECT(d, count_keys, x->batch * x->heads * x->queries, 1, OA_GPU_STRUCT(*x));
    else if (x->normaliser == OA_NORMALISE_SPARSEMAX || x->normaliser == OA_NORMALISE_ENTMAX)
        find_thresholds(d, x);
    for (long chunk = 0; chunk < chunks; chunk += at_once)
        OA_GPU_INDIRECT(d, logits, oa_gpu_query_blocks(x), at_once, OA_GPU_STRUCT(*x),
                        OA_GPU_LONG(chunk), OA_GPU_LONG(chunks - 1));
}

void oa_gpu_logits(struct oa_device *d, const struct oa_logits *a)
{
    if (oa_gpu_attention_units(d, a))
        return;
    size_t mark = oa_gpu_mark(d);
    struct oa_gpu_attention x = oa_gpu_attention_of(d, a), piece;
    if (oa_gpu_pieces_wanted(a)) {
        for (int number = 0; oa_gpu_piece(a, &x, number, &piece); number++)
            oa_gpu_attend(d, &piece);
        if (a->normaliser == OA_NORMALISE_SINK)
            OA_GPU_INDIRECT(d, join_sink, x.batch * x.heads * x.queries, 1, OA_GPU_STRUCT(x));
    } else
        oa_gpu_attend(d, &x);
    oa_gpu_give_back(d, mark);
}

/* ---- polynomial weights ---- */

static struct oa_logits logits_of_polynomial(const struct oa_polynomial *a)
{
    return (struct oa_logits){ .shape = a->shape,
                               .parts = 1,
                               .part = { { .kind = OA_PART_DOT,
                                           .width = a->width,
                                           .scale = a->scale,
                                           .q = a->q,
                                           .ldq = a->ldq,
                                           .dq = a->dq,
                                           .k = a->k,
                                           .ldk = a->ldk,
                                           .dk = a->dk } },
                               .v = a->v,
                               .ldv = a->ldv,
                               .dv = a->dv,
                               .o = a->o,
                               .ldo = a->ldo,
                               .d_o = a->d_o,
                               .lse = a->den,
                               .keep = 1 };
}

static struct oa_gpu_attention attention_of_polynomial(struct oa_device *d,
                                                       const struct oa_polynomial *a,
                                                       const struct oa_logits *l)
{
    struct oa_gpu_attention x = oa_gpu_attention_of(d, l);
    x.normaliser = OA_GPU_NORMALISE_POLYNOMIAL;
    x.degree = a->degree;
    x.bias = a->bias;
    return x;
}

void oa_gpu_polynomial(struct oa_device *d, const struct oa_polynomial *a)
{
    struct oa_logits l = logits_of_polynomial(a);
    struct oa_gpu_attention x = attention_of_polynomial(d, a, &l);
    oa_gpu_attend(d, &x);
}

void oa_gpu_polynomial_gradient(struct oa_device *d, const struct oa_polynomial *a)
{
    struct oa_logits l = logits_of_polynomial(a);
    struct oa_gpu_attention x = attention_of_polynomial(d, a, &l);
    oa_gpu_attend_gradient(d, &l, &x);
}
