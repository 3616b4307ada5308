/* SPDX-License-Identifier: Apache-2.0
 * Joins the sums of the ranks, bucket by bucket, each in two rounds: in the first a rank receives
 * its shard of every sum of the others, in the second it sends the joined shard to all. A bucket
 * begins when this rank's last leaf has its values, and progresses when it is polled. */
#include "cluster/tree_parts.h"

/* ---- opening ---- */

static long incoming_size(const struct oa_tree_sum *t, const struct oa_tree_exchange *x)
{
    long sums = 0, n = 0;
    for (int r = 0; r < t->size; r++)
        sums += r == t->rank ? 0 : x->nodes[r].count;
    for (int i = 0; i < x->buckets; i++)
        n += sums * oa_shard_size(t, &x->bucket[i], t->rank);
    return n;
}

static void place_shards(const struct oa_tree_sum *t, const struct oa_tree_exchange *x,
                         struct oa_bucket *b, void *incoming, long *used)
{
    for (int r = 0; r < t->size; r++)
        for (int i = 0; i < x->nodes[r].count; i++) {
            void **at = &b->shard[r * OA_TREE_SUMS + i];
            if (r == t->rank) {
                *at = oa_real_at(t->device, t->sum[i], oa_shard_begin(t, b, r));
                continue;
            }
            *at = oa_real_at(t->device, incoming, *used);
            *used += oa_shard_size(t, b, t->rank);
        }
}

/* None has elements on both sides of the end of what stays in shards. */
static enum oa_error open_buckets(struct oa_tree_sum *t, struct oa_tree_exchange *x)
{
    const struct oa_cluster_ops *ops = t->cluster->ops;
    long size = oa_bucket_size(t->size);
    long most = oa_blocks(t->scattered, size) + oa_blocks(t->count - t->scattered, size);
    x->bucket = oa_alloc(t->device->context, (size_t)most * sizeof *x->bucket);
    for (long first = 0, end; x->bucket && first < t->count; first = end) {
        end = oa_min(first < t->scattered ? t->scattered : t->count, first + size);
        struct oa_bucket *b = &x->bucket[x->buckets++];
        *b = (struct oa_bucket){ .first = first, .end = end, .scattered = first < t->scattered };
        b->shard = oa_alloc(t->device->context, (size_t)t->size * OA_TREE_SUMS * sizeof *b->shard);
        b->sums = ops ? ops->open(t->cluster) : NULL;
        b->totals = ops ? ops->open(t->cluster) : NULL;
        OA_TRY(oa_status(t->device->context));
    }
    return oa_status(t->device->context);
}

enum oa_error oa_tree_exchange_open(struct oa_tree_sum *t)
{
    struct oa_tree_exchange *x = t->exchange = oa_alloc(t->device->context, sizeof *x);
    struct oa_device *d = t->device;
    long used = 0, each = t->leaves / t->size;
    if (!x)
        return OA_NO_MEMORY;
    x->nodes = oa_alloc(d->context, (size_t)t->size * sizeof *x->nodes);
    for (int r = 0; x->nodes && r < t->size; r++)
        oa_tree_nodes_in(t->leaves, r * each, (r + 1) * each, &x->nodes[r]);
    OA_TRY(oa_status(d->context));
    OA_TRY(open_buckets(t, x));
    size_t incoming_bytes = (size_t)incoming_size(t, x) * d->numbers.real_size;
    void *incoming = oa_arena_take(&t->arena, incoming_bytes);
    OA_TRY(oa_status(d->context));
    for (int i = 0; i < x->buckets; i++)
        place_shards(t, x, &x->bucket[i], incoming, &used);
    size_t bytes = (size_t)t->count * d->numbers.real_size;
    oa_view_open(&x->total, d, t->total, bytes, OA_VIEW_READ);
    for (int i = 0; i < t->own.count - 1; i++)
        oa_view_open(&x->sum[i], d, t->sum[i], bytes, OA_VIEW_READ);
    oa_view_open(&x->incoming, d, incoming, incoming_bytes, 0);
    return oa_tree_shards_open(t);
}

void oa_tree_exchange_close(struct oa_tree_sum *t)
{
    struct oa_tree_exchange *x = t->exchange;
    for (int i = 0; x && x->bucket && i < x->buckets; i++) {
        struct oa_bucket *b = &x->bucket[i];
        if (b->sums)
            t->cluster->ops->close(b->sums);
        if (b->totals)
            t->cluster->ops->close(b->totals);
        oa_free(b->shard);
    }
    oa_free(t->shard);
    oa_free(t->runs);
    if (!x)
        return;
    oa_view_close(&x->total);
    for (int i = 0; i < t->own.count - 1; i++)
        oa_view_close(&x->sum[i]);
    oa_view_close(&x->incoming);
    oa_free(x->nodes);
    oa_free(x->bucket);
    oa_free(x);
}

/* ---- a step ---- */

/* Downloads a part of a view, where host and device do not share memory. */
static void fetch_part(const struct oa_tree_sum *t, const struct oa_view *v, const void *memory,
                       size_t bytes)
{
    if (v->host && v->host != v->memory)
        t->device->ops->download(t->device, bytes, memory,
                                 (char *)v->host + ((const char *)memory - (char *)v->memory));
}

static void receive_sums(const struct oa_tree_sum *t, const struct oa_bucket *b, int tag)
{
    const struct oa_tree_exchange *x = t->exchange;
    for (int r = 0; r < t->size; r++)
        for (int i = 0; r != t->rank && i < x->nodes[r].count; i++) {
            const char *part = b->shard[r * OA_TREE_SUMS + i];
            t->cluster->ops->receive(b->sums, r, tag,
                                     (char *)x->incoming.host +
                                         (part - (const char *)x->incoming.memory),
                                     oa_shard_bytes(t, b, t->rank));
        }
}

static void send_sums(const struct oa_tree_sum *t, const struct oa_bucket *b, int tag)
{
    const struct oa_tree_exchange *x = t->exchange;
    for (int r = 0; r < t->size; r++)
        for (int i = 0; r != t->rank && i < t->own.count; i++) {
            const struct oa_view *v = t->sum[i] == t->total ? &x->total : &x->sum[i];
            t->cluster->ops->send(b->sums, r, tag,
                                  oa_real_at(t->device, v->host, oa_shard_begin(t, b, r)),
                                  oa_shard_bytes(t, b, r));
        }
}

/* The sum of a node that a rank has made, or of both children, which is left in the place of the
 * first. */
static void *join_node(const struct oa_tree_sum *t, const struct oa_bucket *b, long first, long end)
{
    const struct oa_tree_exchange *x = t->exchange;
    long each = t->leaves / t->size;
    int owner = (int)(first / each);
    for (int i = 0; i < x->nodes[owner].count; i++)
        if (x->nodes[owner].first[i] == first && x->nodes[owner].end[i] == end)
            return b->shard[owner * OA_TREE_SUMS + i];
    long cut = oa_tree_cut(first, end);
    void *left = join_node(t, b, first, cut), *right = join_node(t, b, cut, end);
    t->device->ops->axpy(t->device, oa_shard_size(t, b, t->rank), 1, right, left);
    return left;
}

static void join_tree(const struct oa_tree_sum *t, const struct oa_bucket *b)
{
    struct oa_device *d = t->device;
    void *joined = join_node(t, b, 0, t->leaves),
         *place = oa_real_at(d, t->total, oa_shard_begin(t, b, t->rank));
    if (joined != place)
        d->ops->copy(d, oa_shard_bytes(t, b, t->rank), joined, place);
    fetch_part(t, &t->exchange->total, place, oa_shard_bytes(t, b, t->rank));
}

/* ---- the life of a bucket ---- */

static void step_bucket(struct oa_tree_sum *t, int i)
{
    const struct oa_cluster_ops *ops = t->cluster->ops;
    struct oa_bucket *b = &t->exchange->bucket[i];
    if (b->state == OA_BUCKET_SUMS && ops->arrived(b->sums)) {
        double began = oa_clock();
        oa_view_store(&t->exchange->incoming);
        join_tree(t, b);
        t->exchange->joining += oa_clock() - began;
        if (!b->scattered)
            oa_shard_spread(t, b, t->exchange->total.host, 2 * i + 1);
        b->state = b->scattered ? OA_BUCKET_DONE : OA_BUCKET_TOTALS;
    }
    if (b->state == OA_BUCKET_TOTALS && ops->arrived(b->totals))
        b->state = OA_BUCKET_DONE;
}

/* Messages of a bucket that is not done: sums first, since totals may lack because another rank
 * lacks sums. */
static struct oa_messages *step_buckets(void *argument)
{
    struct oa_tree_sum *t = argument;
    const struct oa_tree_exchange *x = t->exchange;
    struct oa_messages *sums = NULL, *totals = NULL;
    for (int i = 0; i < x->buckets; i++) {
        const struct oa_bucket *b = &x->bucket[i];
        step_bucket(t, i);
        if (!sums && b->state == OA_BUCKET_SUMS)
            sums = b->sums;
        if (!totals && b->state == OA_BUCKET_TOTALS)
            totals = b->totals;
    }
    return sums ? sums : totals;
}

void oa_tree_poll(struct oa_tree_sum *t)
{
    struct oa_tree_exchange *x = t->exchange;
    if (!x || t->device->dry)
        return;
    bool more = step_buckets(t) != NULL;
    double now = oa_clock();
    t->hidden += x->polled > 0 ? now - x->polled : 0;
    x->polled = more ? now : 0;
}

static void start_bucket(struct oa_tree_sum *t, int i)
{
    struct oa_bucket *b = &t->exchange->bucket[i];
    if (b->state != OA_BUCKET_MAKING)
        return;
    oa_tree_add_waiting(t, b->first, b->end);
    const struct oa_tree_exchange *x = t->exchange;
    size_t bytes = (size_t)(b->end - b->first) * t->device->numbers.real_size;
    for (int k = 0; k < t->own.count; k++)
        fetch_part(t, t->sum[k] == t->total ? &x->total : &x->sum[k],
                   oa_real_at(t->device, t->sum[k], b->first), bytes);
    b->state = OA_BUCKET_SUMS;
    if (t->device->dry)
        join_tree(t, b);
    else
        send_sums(t, b, 2 * i);
}

int oa_tree_bucket_count(const struct oa_tree_sum *t)
{
    return t->exchange && !t->device->dry ? t->exchange->buckets : 0;
}

int oa_tree_buckets(const struct oa_tree_sum *t)
{
    return t->exchange && t->exchange->last ? oa_tree_bucket_count(t) : 0;
}

void oa_tree_bucket(const struct oa_tree_sum *t, int bucket, long *first, long *end)
{
    *first = t->exchange->bucket[bucket].first;
    *end = t->exchange->bucket[bucket].end;
}

void oa_tree_bucket_ready(struct oa_tree_sum *t, int bucket)
{
    start_bucket(t, bucket);
}

/* ---- a step ---- */

/* What comes in has its place before it is sent. */
void oa_tree_exchange_begin(struct oa_tree_sum *t)
{
    struct oa_tree_exchange *x = t->exchange;
    for (int i = 0; i < x->buckets; i++) {
        x->bucket[i].state = OA_BUCKET_MAKING;
        if (!t->device->dry)
            receive_sums(t, &x->bucket[i], 2 * i);
    }
}

void oa_tree_exchange_last(struct oa_tree_sum *t, bool begun)
{
    t->exchange->last = begun;
    if (!begun)
        oa_tree_poll(t);
    t->exchange->polled = 0;
}

enum oa_error oa_tree_exchange_end(struct oa_tree_sum *t)
{
    struct oa_tree_exchange *x = t->exchange;
    for (int i = 0; i < x->buckets; i++)
        start_bucket(t, i);
    if (t->device->dry)
        return OA_OK;
    x->joining = 0;
    enum oa_error e = oa_cluster_wait(t->cluster, step_buckets, t, "gradients");
    t->cluster->waited -= x->joining;
    oa_view_store(&x->total);
    return e;
}

void oa_tree_traffic(const struct oa_tree_sum *t, struct oa_traffic *out)
{
    const struct oa_tree_exchange *x = t->exchange;
    *out = (struct oa_traffic){ 0 };
    for (int i = 0; x && i < x->buckets; i++) {
        const struct oa_bucket *b = &x->bucket[i];
        double own = (double)oa_shard_bytes(t, b, t->rank), all = 0;
        for (int r = 0; r < t->size; r++) {
            all += (double)oa_shard_bytes(t, b, r);
            if (r != t->rank)
                out->received += own * x->nodes[r].count + (double)oa_shard_bytes(t, b, r);
        }
        out->sent += (all - own) * t->own.count + own * (t->size - 1);
        out->messages += (t->size - 1) * (t->own.count + 1);
    }
}
