/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/tree_sum.h"

long oa_tree_cut(long first, long end)
{
    long half = 1;
    while (2 * half < end - first)
        half *= 2;
    return first + half;
}

static void find_nodes(long first, long end, long from, long to, struct oa_tree_nodes *out)
{
    if (end <= from || first >= to)
        return;
    if (first >= from && end <= to) {
        out->first[out->count] = first;
        out->end[out->count++] = end;
        return;
    }
    long cut = oa_tree_cut(first, end);
    find_nodes(first, cut, from, to, out);
    find_nodes(cut, end, from, to, out);
}

void oa_tree_nodes_in(long leaves, long first, long end, struct oa_tree_nodes *out)
{
    out->count = 0;
    find_nodes(0, leaves, first, end, out);
}

/* ---- what a rank sums alone ---- */

struct leaf_maker {
    struct oa_tree_sum *t;
    oa_leaf *leaf;
    void *argument;
};

static size_t sum_bytes(const struct oa_tree_sum *t)
{
    return (size_t)t->count * t->device->numbers.real_size;
}

/* A rank's last leaf, to which the sums at all levels above it are added when it, or a part of it,
 * is final. */
static enum oa_error make_last_leaf(const struct leaf_maker *m, long leaf, int level)
{
    struct oa_tree_sum *t = m->t;
    t->waiting = level;
    if (t->exchange)
        oa_tree_exchange_last(t, true);
    enum oa_error e = m->leaf(m->argument, leaf);
    if (t->exchange)
        oa_tree_exchange_last(t, false);
    return e;
}

/* Leaves the sum of the node in `total`; the first child's waits while the second is made, and, if
 * that ends with the rank's last leaf, until its parts are final. */
static enum oa_error make_node(const struct leaf_maker *m, long first, long end, int level,
                               bool last)
{
    struct oa_tree_sum *t = m->t;
    struct oa_device *d = t->device;
    if (end - first == 1)
        return last ? make_last_leaf(m, first, level) : m->leaf(m->argument, first);
    long cut = oa_tree_cut(first, end);
    OA_TRY(make_node(m, first, cut, level + 1, false));
    d->ops->copy(d, sum_bytes(t), t->total, t->pending[level]);
    OA_TRY(make_node(m, cut, end, level + 1, last));
    if (!last)
        d->ops->axpy(d, t->count, 1, t->pending[level], t->total);
    return OA_OK;
}

void oa_tree_add_waiting(const struct oa_tree_sum *t, long first, long end)
{
    struct oa_device *d = t->device;
    for (int level = t->waiting - 1; level >= 0; level--)
        d->ops->axpy(d, end - first, 1, oa_real_at(d, t->pending[level], first),
                     oa_real_at(d, t->total, first));
}

enum oa_error oa_tree_sum_make(struct oa_tree_sum *t, oa_leaf *leaf, void *argument)
{
    struct leaf_maker m = { t, leaf, argument };
    struct oa_device *d = t->device;
    int last = t->own.count - 1;
    if (t->exchange)
        oa_tree_exchange_begin(t);
    for (int i = 0; i < last; i++) {
        OA_TRY(make_node(&m, t->own.first[i], t->own.end[i], 0, false));
        d->ops->copy(d, sum_bytes(t), t->total, t->sum[i]);
    }
    OA_TRY(make_node(&m, t->own.first[last], t->own.end[last], 0, true));
    if (t->exchange)
        return oa_tree_exchange_end(t);
    oa_tree_add_waiting(t, 0, t->count);
    return OA_OK;
}

/* ---- opening ---- */

static enum oa_error allocate_sums(struct oa_tree_sum *t)
{
    int levels = 0;
    for (int i = 0; i < t->own.count; i++)
        while ((1L << levels) < t->own.end[i] - t->own.first[i])
            levels++;
    for (int i = 0; i < levels; i++)
        t->pending[i] = oa_arena_take(&t->arena, sum_bytes(t));
    for (int i = 0; i < t->own.count - 1; i++)
        t->sum[i] = oa_arena_take(&t->arena, sum_bytes(t));
    t->sum[t->own.count - 1] = t->total;
    return oa_status(t->device->context);
}

enum oa_error oa_tree_sum_open(struct oa_device *d, struct oa_cluster *cluster, long leaves,
                               void *total, long count, long scattered, struct oa_tree_sum *out)
{
    long ranks = oa_rank_count(cluster);
    *out = (struct oa_tree_sum){ .device = d,
                                 .cluster = cluster,
                                 .total = total,
                                 .count = count,
                                 .leaves = leaves,
                                 .scattered = ranks > 1 ? scattered : 0,
                                 .rank = oa_rank_of(cluster),
                                 .size = (int)ranks };
    oa_device_arena(&out->arena, d);
    if (leaves % ranks)
        return oa_fail(
            d->context, OA_ARGUMENT,
            "train.accumulate = %ld is not a multiple of the %ld ranks: change one of them", leaves,
            ranks);
    out->first = leaves / ranks * out->rank;
    out->end = out->first + leaves / ranks;
    oa_tree_nodes_in(leaves, out->first, out->end, &out->own);
    OA_TRY(allocate_sums(out));
    return ranks > 1 ? oa_tree_exchange_open(out) : OA_OK;
}

void oa_tree_sum_close(struct oa_tree_sum *t)
{
    oa_tree_exchange_close(t);
    if (t->device)
        oa_arena_free(&t->arena);
    *t = (struct oa_tree_sum){ 0 };
}
