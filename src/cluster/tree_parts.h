/* SPDX-License-Identifier: Apache-2.0
 * Buckets and shards of what ranks exchange. Private to cluster/: tree_exchange.c sums,
 * tree_shards.c has what stays with the ranks that own it. */
#ifndef ORTHANT_CLUSTER_TREE_PARTS_H
#define ORTHANT_CLUSTER_TREE_PARTS_H

#include "cluster/tree_sum.h"

enum oa_bucket_state { OA_BUCKET_MAKING, OA_BUCKET_SUMS, OA_BUCKET_TOTALS, OA_BUCKET_DONE };
struct oa_bucket {
    enum oa_bucket_state state;
    long first, end; /* in the array */
    bool scattered;  /* its sum stays in shards */
    struct oa_messages *sums, *totals;
    void **shard; /* [size · OA_TREE_SUMS] this rank's shard of the sums of each rank: received, or
                     where its own are */
};

struct oa_tree_exchange {
    struct oa_bucket *bucket;
    int buckets;
    struct oa_tree_nodes *nodes; /* [size] of every rank */
    struct oa_view total, sum[OA_TREE_SUMS], incoming;
    bool last;      /* the last leaf is being made */
    double polled;  /* clock, when something was under way at the newest poll; else 0 */
    double joining; /* seconds */
};

/* tree_shards.c. Ends of a rank's shard of a bucket: first elements in the array; of rank `size`:
 * the bucket's end. */
long oa_shard_begin(const struct oa_tree_sum *t, const struct oa_bucket *b, int rank);
long oa_shard_size(const struct oa_tree_sum *t, const struct oa_bucket *b, int rank);
size_t oa_shard_bytes(const struct oa_tree_sum *t, const struct oa_bucket *b, int rank);
/* Elements of a bucket, among `size` ranks. */
long oa_bucket_size(int size);
/* Sends this rank's shard of `host`, the whole array, to all others and receives theirs: b->totals,
 * under `tag`. */
void oa_shard_spread(const struct oa_tree_sum *t, const struct oa_bucket *b, void *host, int tag);
enum oa_error oa_tree_shards_open(struct oa_tree_sum *t);

#endif
