/* SPDX-License-Identifier: Apache-2.0
 * The logits engine over a support that is a union of disjoint pieces. Each piece is dense in an
 * order of its own, so its rows are copied into that order, and the engine runs on each as if it
 * were all. With O_p, lse_p of piece p:
 *
 *     lse = log Σ_p e^{lse_p},   O = Σ_p e^{lse_p − lse} O_p
 *
 * which is the softmax over the union. Backward, given O and lse of the union, the formulas of
 * cpu_logits_gradient.c are sums over the visible pairs (P_ij = e^{S_ij − lse_i}, δ_i = dO_i·O_i):
 * those of the pieces add up. A row that sees nothing in a piece has lse_p = −∞ there and adds
 * nothing. A sink joins the union.
 *
 * Copies of q, k, v and O of a piece, backward also of dO, dq, dk and dv: O(B·n·H·(K + V)) of the
 * device's scratch. Dropout has a stream for each piece, whose masks are addressed by its rows. */
#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

struct piece_work {
    struct oa_device *d;
    const struct oa_logits *a; /* of the whole */
    struct oa_piece p;
    struct oa_logits own; /* of this piece */
    bool failed;
};

bool oa_pieces_wanted(const struct oa_logits *a)
{
    const struct oa_logits_part *p = &a->part[0];
    const struct oa_support_functions *f = oa_support_functions_of(&a->support);
    return f && f->piece && a->shape.queries == a->shape.keys && a->parts == 1 &&
           p->kind == OA_PART_DOT && !p->q_table && !p->k_table && !p->bias && !a->alpha &&
           !a->forgetting.query && !oa_weighs(a) && a->shape.logit_cap == 0;
}

/* ---- orders ---- */

static bool is_in_order(const struct oa_row_order *o)
{
    return o->stride == o->take;
}

static long ordered_row(const struct oa_row_order *o, long sequence, long i)
{
    return i / o->take * o->stride + o->first + sequence + i % o->take;
}

/* How many of the first `length` rows are in a sequence. */
static long ordered_rows(const struct oa_row_order *o, long sequence, long length)
{
    long rest = length % o->stride - o->first - sequence;
    return length / o->stride * o->take + oa_max(0, oa_min(rest, o->take));
}

/* ---- walking over the rows of a piece ---- */

struct piece_walk;
typedef void walker(const struct piece_walk *k, const struct oa_worker *w, long sequence, long i,
                    long b, long from);

/* Rows of the whole [B·n, ld] and of the piece [B·sequences·rows, own_ld]. */
struct piece_walk {
    const struct piece_work *c;
    const struct oa_row_order *order;
    long n, rows, run; /* of a sequence: the whole, the piece; rows of an item */
    long cols, whole_ld, own_ld;
    void *whole, *own;
    walker *visit;
};

static void walk_piece_item(void *argument, long item, const struct oa_worker *w)
{
    const struct piece_walk *k = argument;
    long all = k->c->a->shape.batch * k->order->sequences * k->rows;
    for (long at = item * k->run; at < oa_min(all, (item + 1) * k->run); at++) {
        size_t mark = oa_arena_mark(w->scratch);
        long sequence = at / k->rows, i = at % k->rows;
        k->visit(k, w, sequence, i, sequence / k->order->sequences,
                 ordered_row(k->order, sequence % k->order->sequences, i));
        oa_arena_release(w->scratch, mark);
    }
}

static void walk_piece(struct piece_walk *k)
{
    const struct piece_work *c = k->c;
    k->n = c->a->shape.queries;
    k->rows = ordered_rows(k->order, 0, k->n);
    k->run = oa_item_rows(k->cols);
    if (!c->failed && !c->d->dry)
        oa_parallel(c->d->context,
                    oa_blocks(c->a->shape.batch * k->order->sequences * k->rows, k->run),
                    walk_piece_item, k);
}

static void *walk_whole_row(const struct piece_walk *k, long b, long from)
{
    return oa_act_at(k->c->d, k->whole, (b * k->n + from) * k->whole_ld);
}

static void *walk_piece_row(const struct piece_walk *k, long sequence, long i)
{
    return oa_act_at(k->c->d, k->own, (sequence * k->rows + i) * k->own_ld);
}

/* A sequence may end a row before the first one does. */
static void gather_row(const struct piece_walk *k, const struct oa_worker *w, long sequence, long i,
                       long b, long from)
{
    size_t bytes = (size_t)k->cols * k->c->d->numbers.act_size;
    (void)w;
    if (from < k->n)
        memcpy(walk_piece_row(k, sequence, i), walk_whole_row(k, b, from), bytes);
    else
        memset(walk_piece_row(k, sequence, i), 0, bytes);
}

/* The same for keys stored head by head. */
static void gather_key(const struct piece_walk *k, const struct oa_worker *w, long sequence, long i,
                       long b, long from)
{
    const struct oa_attention_shape *s = &k->c->a->shape;
    long heads = oa_key_heads(s), width = k->cols / heads;
    size_t bytes = (size_t)width * k->c->d->numbers.act_size;
    (void)w;
    if (from >= k->n)
        memset(walk_piece_row(k, sequence, i), 0, bytes * (size_t)heads);
    else
        for (long n = 0; n < heads; n++)
            memcpy(
                oa_at(walk_piece_row(k, sequence, i), bytes, n),
                oa_key_row(k->c->d, s, b, n * s->heads / heads, from, width, k->whole, k->whole_ld),
                bytes);
}

static void add_piece_row(const struct piece_walk *k, const struct oa_worker *w, long sequence,
                          long i, long b, long from)
{
    void *sum = walk_whole_row(k, b, from);
    (void)w;
    if (from < k->n)
        k->c->d->cpu->kernels.add(k->cols, sum, walk_piece_row(k, sequence, i), sum);
}

/* lse of all heads of a row: [B, H, n] and [B·sequences, H, rows]. */
static void gather_lse(const struct piece_walk *k, const struct oa_worker *w, long sequence, long i,
                       long b, long from)
{
    const struct oa_device *d = k->c->d;
    long heads = k->c->a->shape.heads;
    (void)w;
    for (long h = 0; h < heads; h++)
        oa_real_set(d, k->own, (sequence * heads + h) * k->rows + i,
                    from < k->n ? oa_real_get(d, k->whole, (b * heads + h) * k->n + from)
                                : -INFINITY);
}

/* ---- opening a piece ---- */

static void *take_piece_memory(struct piece_work *c, long n, size_t size)
{
    void *memory = oa_arena_take(&c->d->scratch, (size_t)n * size);
    c->failed |= !memory;
    return memory;
}

static long piece_rows(const struct piece_work *c, const struct oa_row_order *o)
{
    return c->a->shape.batch * o->sequences * ordered_rows(o, 0, c->a->shape.queries);
}

/* Act rows of `cols` columns in the order of the piece; *ld changes when they are copied. */
static const void *gather_by(walker *visit, struct piece_work *c, const struct oa_row_order *o,
                             const void *x, long cols, long *ld)
{
    if (is_in_order(o))
        return x;
    struct piece_walk k = {
        .c = c, .order = o, .cols = cols, .whole_ld = *ld, .own_ld = cols, .visit = visit
    };
    k.whole = oa_at(x, 1, 0);
    k.own = take_piece_memory(c, piece_rows(c, o) * cols, c->d->numbers.act_size);
    walk_piece(&k);
    *ld = cols;
    return k.own;
}

static const void *gather_rows(struct piece_work *c, const struct oa_row_order *o, const void *x,
                               long cols, long *ld)
{
    return gather_by(gather_row, c, o, x, cols, ld);
}

/* Keys and values, of all heads side by side if they have to be copied. */
static void gather_keys(struct piece_work *c)
{
    const struct oa_attention_shape *s = &c->a->shape;
    const struct oa_row_order *o = &c->p.keys;
    struct oa_logits_part *part = &c->own.part[0];
    walker *visit = s->key_head_rows ? gather_key : gather_row;
    part->k = gather_by(visit, c, o, part->k, oa_key_heads(s) * part->width, &part->ldk);
    c->own.v = gather_by(visit, c, o, c->a->v, oa_key_heads(s) * s->value_width, &c->own.ldv);
    if (!is_in_order(o))
        c->own.shape.key_head_rows = 0;
}

static void *take_piece_rows(struct piece_work *c, const struct oa_row_order *o, const void *wanted,
                             long ld)
{
    return wanted ? take_piece_memory(c, piece_rows(c, o) * ld, c->d->numbers.act_size) : NULL;
}

static const int32_t *piece_lengths(struct piece_work *c, const struct oa_row_order *o,
                                    const int32_t *whole)
{
    const struct oa_attention_shape *s = &c->a->shape;
    if (is_in_order(o))
        return whole;
    int32_t *own = take_piece_memory(c, s->batch * o->sequences, sizeof *own);
    for (long b = 0; b < s->batch * o->sequences && !c->failed && !c->d->dry; b++) {
        long length = whole ? oa_max(0, oa_min(whole[b / o->sequences], s->queries)) : s->queries;
        own[b] = (int32_t)ordered_rows(o, b % o->sequences, length);
    }
    return own;
}

/* Of the rows of the first sequence: the others are as far from each other. */
static const int32_t *piece_positions(struct piece_work *c, const struct oa_row_order *o)
{
    long rows = ordered_rows(o, 0, c->a->shape.queries);
    int32_t *own = take_piece_memory(c, rows, sizeof *own);
    for (long i = 0; i < rows && !c->failed && !c->d->dry; i++)
        own[i] = (int32_t)ordered_row(o, 0, i);
    return own;
}

static void *piece_lse(struct piece_work *c, bool gradient)
{
    const struct oa_row_order *o = &c->p.queries;
    if (gradient && is_in_order(o))
        return c->a->lse;
    struct piece_walk k = {
        .c = c, .order = o, .cols = c->a->shape.heads, .whole = c->a->lse, .visit = gather_lse
    };
    k.own = take_piece_memory(c, piece_rows(c, o) * c->a->shape.heads, c->d->numbers.real_size);
    if (gradient)
        walk_piece(&k);
    return k.own;
}

/* Memory of O of the piece, backward also of the gradients of O, q, k and v. */
static void open_outputs(struct piece_work *c, bool gradient)
{
    const struct oa_logits *a = c->a;
    const struct oa_row_order *q = &c->p.queries, *k = &c->p.keys;
    struct oa_logits_part *part = &c->own.part[0];
    long cols = a->shape.heads * a->shape.value_width;
    c->own.lse = piece_lse(c, gradient);
    if (!gradient) {
        c->own.ldo = cols;
        c->own.o = take_piece_rows(c, q, a->o, cols);
        return;
    }
    long ld = a->ldo;
    c->own.o = oa_at(gather_rows(c, q, a->o, cols, &c->own.ldo), 1, 0);
    c->own.d_o = gather_rows(c, q, a->d_o, cols, &ld);
    part->dq = take_piece_rows(c, q, part->dq, part->ldq);
    part->dk = take_piece_rows(c, k, part->dk, part->ldk);
    c->own.dv = take_piece_rows(c, k, a->dv, c->own.ldv);
}

/* False: no such piece. */
static bool describe_piece(struct piece_work *c, struct oa_device *d, const struct oa_logits *a,
                           int number)
{
    const struct oa_attention_shape *s = &a->shape;
    *c = (struct piece_work){ .d = d, .a = a, .own = *a };
    if (!oa_support_functions_of(&a->support)->piece(&a->support, s, number, &c->p))
        return false;
    c->own.support = c->p.support;
    c->own.normaliser = OA_NORMALISE_SOFTMAX;
    c->own.dsink = NULL;
    if (number == 0)
        return true;
    c->own.shape.causal = false;
    c->own.shape.batch = s->batch * c->p.queries.sequences;
    c->own.shape.queries = ordered_rows(&c->p.queries, 0, s->queries);
    c->own.shape.keys = ordered_rows(&c->p.keys, 0, s->queries);
    return true;
}

/* Takes and fills the memory of the piece. Piece 0 needs none: it writes to the memory of the
 * whole. */
static bool open_piece(struct piece_work *c, struct oa_device *d, const struct oa_logits *a,
                       int number, bool gradient)
{
    if (!describe_piece(c, d, a, number))
        return false;
    if (number == 0)
        return true;
    const struct oa_attention_shape *s = &a->shape;
    struct oa_logits_part *part = &c->own.part[0];
    const struct oa_row_order *q = &c->p.queries, *k = &c->p.keys;
    c->own.shape.query_lengths = piece_lengths(c, q, s->query_lengths);
    c->own.shape.key_lengths = piece_lengths(c, k, s->key_lengths);
    if (a->distances.table) {
        c->own.distances.query = piece_positions(c, q);
        c->own.distances.key = piece_positions(c, k);
    }
    c->own.dropout = oa_stream_child(a->dropout, (uint64_t)number);
    part->q = gather_rows(c, q, part->q, s->heads * part->width, &part->ldq);
    gather_keys(c);
    open_outputs(c, gradient);
    return true;
}

double oa_pieces_copies(struct oa_device *d, const struct oa_logits *a, bool gradient)
{
    size_t mark = oa_arena_mark(&d->scratch);
    double bytes = 0;
    struct piece_work c;
    for (int number = 0; open_piece(&c, d, a, number, gradient); number++) {
        bytes += (double)(oa_arena_mark(&d->scratch) - mark);
        if (gradient)
            oa_key_gradients_take(d, &c.own);
        oa_arena_release(&d->scratch, mark);
    }
    return bytes;
}

double oa_pieces_pairs(struct oa_device *d, const struct oa_logits *a)
{
    double pairs = 0;
    struct piece_work c;
    for (int number = 0; describe_piece(&c, d, a, number); number++)
        pairs += oa_tiles_pairs(d, &c.own);
    return pairs;
}

/* ---- forward ---- */

/* sum [n] += weight · act x; row [n] is scratch, both real. */
static void add_weighted(const struct oa_device *d, long n, double weight, const void *x, void *row,
                         void *sum)
{
    d->cpu->kernels.real_from_act(n, x, row);
    d->cpu->kernels.axpy(n, weight, row, sum);
}

/* Combines O and lse of the earlier pieces with those of this one. */
static void unite_row(const struct piece_walk *k, const struct oa_worker *w, long sequence, long i,
                      long b, long from)
{
    const struct oa_device *d = k->c->d;
    long heads = k->c->a->shape.heads, V = k->c->a->shape.value_width;
    size_t bytes = (size_t)V * d->numbers.real_size;
    void *row = oa_arena_take(w->scratch, bytes), *sum = oa_arena_take(w->scratch, bytes);
    for (long h = 0; h < heads && sum && from < k->n; h++) {
        long at = (b * heads + h) * k->n + from;
        double one = oa_real_get(d, k->c->a->lse, at);
        double two = oa_real_get(d, k->c->own.lse, (sequence * heads + h) * k->rows + i);
        if (two == -INFINITY)
            continue;
        double top = fmax(one, two), both = top + log(exp(one - top) + exp(two - top));
        void *o = oa_act_at(d, walk_whole_row(k, b, from), h * V);
        memset(sum, 0, bytes);
        add_weighted(d, V, exp(one - both), o, row, sum);
        add_weighted(d, V, exp(two - both), oa_act_at(d, walk_piece_row(k, sequence, i), h * V),
                     row, sum);
        d->cpu->kernels.act_from_real(V, sum, o);
        oa_real_set(d, k->c->a->lse, at, both);
    }
}

/* In a sequence shorter than a stride the far pieces have no keys, or no queries. */
static bool piece_has_pairs(const struct piece_work *c)
{
    return !c->failed && c->own.shape.queries > 0 && c->own.shape.keys > 0;
}

static void forward_piece(struct piece_work *c, int number)
{
    long cols = c->a->shape.heads * c->a->shape.value_width;
    oa_cpu_logits(c->d, &c->own);
    if (number > 0)
        walk_piece(&(struct piece_walk){ .c = c,
                                         .order = &c->p.queries,
                                         .cols = cols,
                                         .whole = c->a->o,
                                         .whole_ld = c->a->ldo,
                                         .own = c->own.o,
                                         .own_ld = cols,
                                         .visit = unite_row });
}

void oa_pieces_forward(struct oa_device *d, const struct oa_logits *a)
{
    size_t mark = oa_arena_mark(&d->scratch);
    struct piece_work c;
    for (int number = 0; open_piece(&c, d, a, number, false); number++) {
        if (piece_has_pairs(&c))
            forward_piece(&c, number);
        oa_arena_release(&d->scratch, mark);
    }
    if (a->normaliser == OA_NORMALISE_SINK)
        oa_sink_join(d, a);
}

/* ---- backward ---- */

static void add_back(const struct piece_work *c, const struct oa_row_order *o, long cols, void *own,
                     long own_ld, void *whole, long ld)
{
    if (own)
        walk_piece(&(struct piece_walk){ .c = c,
                                         .order = o,
                                         .cols = cols,
                                         .whole = whole,
                                         .whole_ld = ld,
                                         .own = own,
                                         .own_ld = own_ld,
                                         .visit = add_piece_row });
}

static void gradient_piece(struct piece_work *c, int number)
{
    const struct oa_logits *a = c->a;
    const struct oa_logits_part *p = &a->part[0], *own = &c->own.part[0];
    long cols = a->shape.heads * p->width, heads = oa_key_heads(&a->shape);
    oa_cpu_logits_gradient(c->d, &c->own);
    if (number == 0)
        return;
    add_back(c, &c->p.queries, cols, own->dq, own->ldq, p->dq, p->ldq);
    add_back(c, &c->p.keys, heads * p->width, own->dk, own->ldk, p->dk, p->ldk);
    add_back(c, &c->p.keys, heads * a->shape.value_width, c->own.dv, c->own.ldv, a->dv, a->ldv);
}

void oa_pieces_gradient(struct oa_device *d, const struct oa_logits *a)
{
    size_t mark = oa_arena_mark(&d->scratch);
    struct piece_work c;
    for (int number = 0; open_piece(&c, d, a, number, true); number++) {
        if (piece_has_pairs(&c))
            gradient_piece(&c, number);
        oa_arena_release(&d->scratch, mark);
    }
}
