/* SPDX-License-Identifier: Apache-2.0
 * The logits engine for one query, as decoding asks for it: a product of a row with a matrix, which
 * memory feeds, not the matrix units. Keys and values are read where they lie, once, a block of
 * them at a time with the online softmax of cpu_logits.c; nothing is packed, and the scratch does
 * not grow with the keys. Blocks that the support leaves empty are skipped. Weights that are no
 * softmax take two walks, and τ a row of logits with room for all that a state will keep.
 *
 * An item is a (b,h) of one of the attentions. 2·(K + V) FLOPs a visible key. */
#include "device/cpu/cpu.h"
#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

enum { KEYS = 64 }; /* of a block */

struct logits_row_call {
    struct oa_device *d;
    const struct oa_logits *const *a;
    long items; /* of each: the most that any has */
};

struct logits_row {
    struct oa_device *d;
    const struct oa_logits *a;
    long b, h;
    long begin, end;             /* the block of keys */
    void *s, *part;              /* real [KEYS] */
    void *o;                     /* real [V] */
    void *m, *z, *rescale;       /* real, one each */
    void *fold_query, *fold_key; /* real: both sides of a FOLD */
    void *row;                   /* SPARSEMAX, ENTMAX: real [room], logits of all keys */
    double *x;                   /* the same: [room] */
    long room;
    double count; /* SIGMOID: visible keys */
};

bool oa_row_wanted(const struct oa_logits *a)
{
    return a->shape.queries == 1 && a->keep >= 1 && a->shape.logit_cap == 0 &&
           !oa_tables_shared(a) && !oa_pieces_wanted(a);
}

/* 0: it is computed elsewhere. */
static long row_items(const struct oa_logits *a)
{
    return oa_row_wanted(a) ? a->shape.batch * a->shape.heads : 0;
}

/* ---- logits ---- */

static void add_row_dots(struct logits_row *r, const struct oa_logits_part *p, double alpha)
{
    const struct oa_kernels *k = &r->d->cpu->kernels;
    const struct oa_attention_shape *s = &r->a->shape;
    long n = r->end - r->begin;
    long query = p->q_table ? r->h * p->q_head_stride + s->first * p->width
                            : r->b * p->ldq + r->h * p->width;
    const void *keys = p->k_table
                           ? oa_act_at(r->d, p->k, r->h * p->k_head_stride + r->begin * p->ldk)
                           : oa_key_row(r->d, s, r->b, r->h, r->begin, p->width, p->k, p->ldk);
    k->row_dots(n, p->width, keys, p->ldk, oa_act_at(r->d, p->q, query), 0, r->part);
    k->axpy(n, alpha * p->scale, r->part, r->s);
    if (p->bias)
        k->axpy(n, alpha, oa_real_at(r->d, p->bias, r->h * p->bias_head_stride + r->begin), r->s);
}

static void add_row_table(struct logits_row *r, const struct oa_logits_part *p, double alpha)
{
    long n = p->table_length, row = r->h * n + r->a->shape.first;
    r->d->cpu->kernels.axpy(r->end - r->begin, alpha,
                            oa_real_at(r->d, p->table, row * n + r->begin), r->s);
}

/* S_j = q[j mod width]·k[⌊j/width⌋], both of the query's token. */
static void add_row_fold(struct logits_row *r, const struct oa_logits_part *p, double alpha)
{
    const struct oa_kernels *k = &r->d->cpu->kernels;
    k->real_from_act(p->width, oa_act_at(r->d, p->q, r->b * p->ldq + r->h * p->width),
                     r->fold_query);
    k->real_from_act(p->folds, oa_act_at(r->d, p->k, r->b * p->ldk + r->h * p->folds), r->fold_key);
    for (long j = r->begin, next; j < r->end; j = next) {
        next = oa_min((j / p->width + 1) * p->width, r->end);
        k->axpy(next - j, alpha * oa_real_get(r->d, r->fold_key, j / p->width),
                oa_real_at(r->d, r->fold_query, j % p->width),
                oa_real_at(r->d, r->s, j - r->begin));
    }
}

static void fill_row_logits(struct logits_row *r)
{
    const struct oa_logits *a = r->a;
    memset(r->s, 0, KEYS * r->d->numbers.real_size);
    for (int c = 0; c < a->parts; c++) {
        double alpha = a->alpha ? oa_real_get(r->d, a->alpha, r->h * a->parts + c) : 1;
        if (a->part[c].kind == OA_PART_DOT)
            add_row_dots(r, &a->part[c], alpha);
        else if (a->part[c].kind == OA_PART_TABLE)
            add_row_table(r, &a->part[c], alpha);
        else
            add_row_fold(r, &a->part[c], alpha);
    }
    if (a->distances.table)
        oa_distances_add(r->d, a, r->h, 0, r->begin, r->end - r->begin, 1, r->s);
    if (a->forgetting.query)
        oa_forgetting_row(r->d, a, r->b, r->h, r->begin, r->end - r->begin, r->s);
}

/* ---- what is visible ---- */

static struct oa_bounds row_sees_keys(const struct logits_row *r)
{
    const struct oa_support_functions *f = oa_support_functions_of(&r->a->support);
    const struct oa_attention_shape *shape = &r->a->shape;
    long keys = oa_real_length(shape->key_lengths, r->b, shape->keys);
    struct oa_bounds all = { 0, shape->causal ? oa_min(keys, shape->first + 1) : keys },
                     range = all;
    if (oa_real_length(shape->query_lengths, r->b, 1) == 0)
        return (struct oa_bounds){ 0, 0 };
    if (f)
        f->range(&r->a->support, shape, r->h, shape->first, shape->first + 1, &range.begin,
                 &range.end);
    return oa_bounds_cut(all, range);
}

static bool is_empty_block(const struct logits_row *r)
{
    const struct oa_support_functions *f = oa_support_functions_of(&r->a->support);
    long i = r->a->shape.first;
    return f && f->empty &&
           f->empty(&r->a->support, &r->a->shape, r->h, i, i + 1, r->begin, r->end);
}

static void hide_row_keys(struct logits_row *r)
{
    const struct oa_support_functions *f = oa_support_functions_of(&r->a->support);
    if (!f || f->row || !f->visible)
        return;
    for (long j = r->begin; j < r->end; j++)
        if (!f->visible(&r->a->support, &r->a->shape, r->h, r->a->shape.first, j))
            oa_real_set(r->d, r->s, j - r->begin, -INFINITY);
}

/* ---- one row ---- */

/* Looks at the block for the number of the row. */
static void look_at_key_block(struct logits_row *r)
{
    long n = r->end - r->begin;
    fill_row_logits(r);
    hide_row_keys(r);
    if (r->row)
        memcpy(oa_real_at(r->d, r->row, r->begin), r->s, (size_t)n * r->d->numbers.real_size);
    for (long j = 0; j < n && !r->row; j++)
        r->count += oa_real_get(r->d, r->s, j) != -INFINITY;
}

/* Rows of a head, all lines of them: memory answers meanwhile, and its own prefetchers do not go
 * from one head's pages to the next's. */
static void prefetch_head_rows(const struct logits_row *r, long h, long width, const void *x,
                               long ld)
{
    const char *first = oa_key_row(r->d, &r->a->shape, r->b, h, r->begin, width, x, ld);
    long bytes = (r->end - r->begin) * width * (long)r->d->numbers.act_size;
    for (long i = 0; ld == width && i < bytes; i += OA_ALIGN)
        __builtin_prefetch(first + i, 0, 2);
}

/* The values of the first block, and the next head's keys, which the worker probably reads next.
 * Further blocks come in memory order. */
static void prefetch_key_block(const struct logits_row *r)
{
    const struct oa_logits *a = r->a;
    const struct oa_logits_part *p = &a->part[0];
    prefetch_head_rows(r, r->h, a->shape.value_width, a->v, a->ldv);
    if (r->h + 1 < a->shape.heads && p->kind == OA_PART_DOT && !p->k_table)
        prefetch_head_rows(r, r->h + 1, p->width, p->k, p->ldk);
}

static void add_key_block(struct logits_row *r)
{
    static const int32_t none = 0;
    const struct oa_kernels *k = &r->d->cpu->kernels;
    const struct oa_logits *a = r->a;
    int32_t all = (int32_t)(r->end - r->begin);
    long V = a->shape.value_width;
    const void *v = oa_key_row(r->d, &a->shape, r->b, r->h, r->begin, V, a->v, a->ldv);
    if (r->begin < KEYS)
        prefetch_key_block(r);
    fill_row_logits(r);
    hide_row_keys(r);
    if (oa_weighs(a)) {
        k->weigh_tile(oa_weighing_of(a), 1, all, 1, &none, &all, r->m, r->s, KEYS);
    } else {
        k->softmax_tile(1, all, 1, &none, &all, r->s, KEYS, r->m, r->z, r->rescale);
        k->scale_rows(1, V, r->rescale, r->o, V);
    }
    k->weigh_rows(all, V, r->s, v, a->ldv, r->o);
}

static void finish_logits_row(struct logits_row *r)
{
    const struct oa_logits *a = r->a;
    long V = a->shape.value_width;
    double m = oa_real_get(r->d, r->m, 0), z = oa_weighs(a) ? 1 : oa_real_get(r->d, r->z, 0);
    bool empty = !oa_weighs(a) && oa_softmax_is_empty(m, z, oa_sink_logit(r->d, a, r->h));
    oa_real_set(r->d, a->lse, r->b * a->shape.heads + r->h, empty ? -INFINITY : m + log(z));
    oa_real_set(r->d, r->z, 0, z == 0 ? 0 : 1 / z);
    r->d->cpu->kernels.scale_rows(1, V, r->z, r->o, V);
    r->d->cpu->kernels.act_from_real(V, r->o, oa_act_at(r->d, a->o, r->b * a->ldo + r->h * V));
}

static void *take_row_reals(const struct logits_row *r, const struct oa_worker *w, long n,
                            bool *failed)
{
    void *x = oa_arena_take(w->scratch, (size_t)n * r->d->numbers.real_size);
    *failed |= !x;
    return x;
}

static bool open_logits_row(struct logits_row *r, struct oa_device *d, const struct oa_logits *a,
                            long item, const struct oa_worker *w)
{
    long V = a->shape.value_width, width = 1, folds = 1;
    bool failed = false;
    for (int c = 0; c < a->parts; c++) {
        bool fold = a->part[c].kind == OA_PART_FOLD;
        width = fold ? oa_max(width, a->part[c].width) : width;
        folds = fold ? oa_max(folds, a->part[c].folds) : folds;
    }
    *r = (struct logits_row){
        .d = d, .a = a, .b = item / a->shape.heads, .h = item % a->shape.heads
    };
    r->s = take_row_reals(r, w, KEYS, &failed);
    r->part = take_row_reals(r, w, KEYS, &failed);
    r->o = take_row_reals(r, w, V, &failed);
    r->m = take_row_reals(r, w, 1, &failed);
    r->z = take_row_reals(r, w, 1, &failed);
    r->rescale = take_row_reals(r, w, 1, &failed);
    r->fold_query = take_row_reals(r, w, width, &failed);
    r->fold_key = take_row_reals(r, w, folds, &failed);
    r->room = oa_max(a->shape.keys, a->shape.key_head_rows);
    if (oa_weighs_sums(a)) {
        r->row = take_row_reals(r, w, r->room, &failed);
        r->x = oa_arena_take(w->scratch, (size_t)r->room * sizeof *r->x);
        failed |= !r->x;
    }
    if (failed)
        return false;
    oa_real_fill(r->d, V, 0, r->o);
    double sink = oa_sink_logit(r->d, a, r->h);
    oa_real_fill(r->d, 1, sink, r->m);
    oa_real_fill(r->d, 1, sink > -INFINITY, r->z);
    return true;
}

static void walk_key_blocks(struct logits_row *r, void (*visit)(struct logits_row *r))
{
    struct oa_bounds seen = row_sees_keys(r);
    for (r->begin = seen.begin; r->begin < seen.end; r->begin = r->end) {
        r->end = oa_min(r->begin / KEYS * KEYS + KEYS, seen.end);
        if (!is_empty_block(r))
            visit(r);
    }
}

/* ln |V| or τ (cpu_logits_weights.c), into r->m. */
static void find_row_number(struct logits_row *r)
{
    long n = r->a->shape.keys;
    double number;
    if (r->row)
        oa_real_fill(r->d, n, -INFINITY, r->row);
    walk_key_blocks(r, look_at_key_block);
    if (r->row)
        number = oa_row_threshold(r->d, r->a, r->row, n, 1, r->x);
    else
        number = r->count > 0 ? log(r->count) : INFINITY;
    oa_real_set(r->d, r->m, 0, number);
}

static void logits_row_item(void *argument, long item, const struct oa_worker *w)
{
    const struct logits_row_call *f = argument;
    const struct oa_logits *a = f->a[item / f->items];
    struct logits_row r;
    long own = item % f->items;
    if (own >= row_items(a) || !open_logits_row(&r, f->d, a, own, w))
        return;
    if (oa_weighs(r.a))
        find_row_number(&r);
    walk_key_blocks(&r, add_key_block);
    finish_logits_row(&r);
}

void oa_row_forward(struct oa_device *d, long n, const struct oa_logits *const *a)
{
    struct logits_row_call f = { d, a, 0 };
    for (long i = 0; i < n; i++)
        f.items = oa_max(f.items, row_items(a[i]));
    oa_parallel(d->context, n * f.items, logits_row_item, &f);
}

void oa_cpu_logits_of_rows(struct oa_device *d, long n, const struct oa_logits *const *a)
{
    for (long i = 0; i < n; i++)
        if (row_items(a[i]) == 0)
            oa_cpu_logits(d, a[i]);
    oa_row_forward(d, n, a);
}
