/* SPDX-License-Identifier: Apache-2.0
 * Shards: which elements of a bucket are whose, and what stays with the ranks that own it. */
#include "cluster/tree_parts.h"

/* Elements. A shard of a bucket is a message: not so small that its latency counts. */
enum { BUCKET = 1 << 18, SHARD = 1 << 16, ALIGN = 16 };

/* In whole shards of all ranks. */
long oa_bucket_size(int size)
{
    long all = (long)size * SHARD;
    return oa_blocks(BUCKET, all) * all;
}

/* Those that stay apart have whole runs of a sum of squares. */
long oa_shard_begin(const struct oa_tree_sum *t, const struct oa_bucket *b, int rank)
{
    long all = b->end - b->first, at = all / t->size * rank + all % t->size * rank / t->size;
    long align = b->scattered ? OA_SQUARES_RUN : ALIGN;
    return rank == t->size ? b->end : b->first + at / align * align;
}

long oa_shard_size(const struct oa_tree_sum *t, const struct oa_bucket *b, int rank)
{
    return oa_shard_begin(t, b, rank + 1) - oa_shard_begin(t, b, rank);
}

size_t oa_shard_bytes(const struct oa_tree_sum *t, const struct oa_bucket *b, int rank)
{
    return (size_t)oa_shard_size(t, b, rank) * t->device->numbers.real_size;
}

void oa_shard_spread(const struct oa_tree_sum *t, const struct oa_bucket *b, void *host, int tag)
{
    const struct oa_cluster_ops *ops = t->cluster->ops;
    for (int r = 0; r < t->size; r++) {
        if (r == t->rank)
            continue;
        ops->receive(b->totals, r, tag, oa_real_at(t->device, host, oa_shard_begin(t, b, r)),
                     oa_shard_bytes(t, b, r));
        ops->send(b->totals, r, tag, oa_real_at(t->device, host, oa_shard_begin(t, b, t->rank)),
                  oa_shard_bytes(t, b, t->rank));
    }
}

/* ---- runs of a sum of squares ---- */

/* Between all runs of the array and those of a rank one after another, of which it returns the
 * number. */
static long move_runs(const struct oa_tree_sum *t, int rank, double *all, double *of_rank,
                      bool back)
{
    const struct oa_tree_exchange *x = t->exchange;
    long n = 0;
    for (int i = 0; i < t->shards; i++)
        for (long e = oa_shard_begin(t, &x->bucket[i], rank);
             e < oa_shard_begin(t, &x->bucket[i], rank + 1); e += OA_SQUARES_RUN, n++)
            if (all && back)
                all[e / OA_SQUARES_RUN] = of_rank[n];
            else if (all)
                of_rank[n] = all[e / OA_SQUARES_RUN];
    return n;
}

static long most_runs(const struct oa_tree_sum *t)
{
    long most = 0;
    for (int r = 0; r < t->size; r++)
        most = oa_max(most, move_runs(t, r, NULL, NULL, false));
    return most;
}

enum oa_error oa_tree_gather_runs(struct oa_tree_sum *t, double *runs)
{
    long each = most_runs(t);
    double *all = t->runs + each;
    move_runs(t, t->rank, runs, t->runs, false);
    OA_TRY(oa_cluster_gather(t->cluster, "the gradient norm", t->runs, (size_t)each * sizeof *all,
                             all));
    for (int r = 0; r < t->size; r++)
        move_runs(t, r, runs, all + r * each, true);
    return OA_OK;
}

/* ---- what stays with the ranks that own it ---- */

enum oa_error oa_tree_shards_open(struct oa_tree_sum *t)
{
    const struct oa_tree_exchange *x = t->exchange;
    t->shard = oa_alloc(t->device->context, (size_t)x->buckets * sizeof *t->shard);
    for (int i = 0; t->shard && i < x->buckets && x->bucket[i].scattered; i++) {
        const struct oa_bucket *b = &x->bucket[i];
        t->shard[t->shards++] =
            (struct oa_tree_shard){ oa_shard_begin(t, b, t->rank),
                                    oa_shard_begin(t, b, t->rank + 1), t->held };
        t->held += oa_shard_size(t, b, t->rank);
    }
    t->runs =
        oa_alloc(t->device->context, (size_t)(most_runs(t) * (t->size + 1) + 1) * sizeof *t->runs);
    return oa_status(t->device->context);
}

enum oa_error oa_tree_spread(struct oa_tree_sum *t, void *array, const char *what)
{
    const struct oa_tree_exchange *x = t->exchange;
    struct oa_view v;
    if (t->device->dry || t->shards == 0)
        return OA_OK;
    size_t bytes = (size_t)t->scattered * t->device->numbers.real_size;
    oa_view_open(&v, t->device, array, bytes, OA_VIEW_READ | OA_VIEW_WRITE);
    enum oa_error e = oa_status(t->device->context);
    for (int i = 0; i < t->shards && e == OA_OK; i++)
        oa_shard_spread(t, &x->bucket[i], v.host, 2 * i + 1);
    for (int i = 0; i < t->shards && e == OA_OK; i++)
        e = oa_messages_wait(t->cluster, x->bucket[i].totals, what);
    oa_view_close(&v);
    return e;
}
