/* SPDX-License-Identifier: Apache-2.0
 * Sums of flat arrays over the micro-batches of a step ("leaves"), in one order: a binary tree over
 * the leaves, in which the first child of a node of n leaves has the largest power of two that is
 * less than n. Each rank makes the leaves of one stretch; what it can sum alone it sums, and the
 * sums that are left, mostly one, go to where the tree joins them. Sums of two numbers do not
 * depend on their order, so the bits are those of one rank that makes all leaves.
 *
 * What is exchanged is cut into buckets, and each of these into a shard for each rank. A rank gets
 * its shards of the sums of all others, joins them, and sends the result to all: it sends and
 * receives 2 (R−1)/R of the array a step, if the tree leaves one sum a rank. Whoever makes a rank's
 * last leaf can report when the values of each bucket are final; its exchange then overlaps with
 * the rest of the work. The time of the report changes no bit.
 *
 * A part of the sum, at the beginning of the array, can stay scattered: each rank has it where its
 * shards are. That is for what is computed shard by shard (ZeRO-1: Rajbhandari et al. 2020,
 * section 5.1), whose results are spread after it. */
#ifndef ORTHANT_CLUSTER_TREE_SUM_H
#define ORTHANT_CLUSTER_TREE_SUM_H

#include "cluster/cluster.h"
#include "device/device.h"

enum { OA_TREE_LEVELS = 17, OA_TREE_SUMS = 2 * OA_TREE_LEVELS }; /* up to 65,536 leaves */

/* Where the node [first, end) of two leaves or more is cut. */
long oa_tree_cut(long first, long end);

/* The largest nodes within a stretch of leaves. */
struct oa_tree_nodes {
    long first[OA_TREE_SUMS], end[OA_TREE_SUMS];
    int count;
};
void oa_tree_nodes_in(long leaves, long first, long end, struct oa_tree_nodes *out);

/* Makes leaf number `leaf`: leaves its values in the array. */
typedef enum oa_error oa_leaf(void *argument, long leaf);

/* Elements [first, end) of the array, which begin at element `at` where a rank stores its shards
 * alone. */
struct oa_tree_shard {
    long first, end, at;
};

struct oa_tree_sum {
    struct oa_device *device;
    struct oa_cluster *cluster; /* NULL: alone */
    void *total; /* real [count]: of the leaf that was made last, of all at the end */
    long count, leaves, first, end; /* this rank's leaves */
    long scattered; /* elements of the sum that are right in this rank's shards alone; 0: none */
    int rank, size;
    struct oa_arena arena; /* of the device: */
    void *pending[OA_TREE_LEVELS];
    int waiting; /* of these, for the last leaf */
    struct oa_tree_nodes own;
    void *sum[OA_TREE_SUMS];           /* of own nodes; the last is `total` itself */
    struct oa_tree_exchange *exchange; /* NULL: alone */
    double hidden; /* seconds in which messages were under way while a leaf was made */
    struct oa_tree_shard
        *shard; /* [shards] of this rank in what is scattered, in the order of the array */
    int shards;
    long held; /* elements of them all */
    double *runs;
};

/* `cluster` may be one that there is only talk of: with a dry device memory is counted. OA_ARGUMENT
 * when the ranks do not divide the leaves. scattered: of `count`, counts for nothing alone. Close
 * in any case. */
enum oa_error oa_tree_sum_open(struct oa_device *d, struct oa_cluster *cluster, long leaves,
                               void *total, long count, long scattered, struct oa_tree_sum *out);
void oa_tree_sum_close(struct oa_tree_sum *t);
/* Makes this rank's leaves, in order, and leaves the sum over the leaves of all ranks in `total`,
 * on every rank; what is scattered, in its own shards. */
enum oa_error oa_tree_sum_make(struct oa_tree_sum *t, oa_leaf *leaf, void *argument);
/* Of an array like what is scattered every rank has its shards; afterwards all have all. */
enum oa_error oa_tree_spread(struct oa_tree_sum *t, void *array, const char *what);
/* The same of a number for each run of OA_SQUARES_RUN elements: shards have whole runs. */
enum oa_error oa_tree_gather_runs(struct oa_tree_sum *t, double *runs);

/* The buckets [first, end) of the array, in its order; alone there are none. */
int oa_tree_bucket_count(const struct oa_tree_sum *t);
/* While this rank's last leaf is made: as many; each may be reported, once, as no longer changed
 * by the leaf. Else 0. */
int oa_tree_buckets(const struct oa_tree_sum *t);
void oa_tree_bucket(const struct oa_tree_sum *t, int bucket, long *first, long *end);
void oa_tree_bucket_ready(struct oa_tree_sum *t, int bucket);
/* Handles what has come in. Messages progress only while they are polled. */
void oa_tree_poll(struct oa_tree_sum *t);

/* What this rank exchanges with the others for a sum. */
struct oa_traffic {
    double sent, received; /* bytes */
    long messages;         /* sent */
};
void oa_tree_traffic(const struct oa_tree_sum *t, struct oa_traffic *out);

/* Private: tree_sum.c. What waits for the last leaf, added to it. */
void oa_tree_add_waiting(const struct oa_tree_sum *t, long first, long end);
/* Private: tree_exchange.c. */
enum oa_error oa_tree_exchange_open(struct oa_tree_sum *t);
void oa_tree_exchange_close(struct oa_tree_sum *t);
void oa_tree_exchange_begin(struct oa_tree_sum *t);            /* before the first leaf of a sum */
void oa_tree_exchange_last(struct oa_tree_sum *t, bool begun); /* before and after the last one */
enum oa_error oa_tree_exchange_end(struct oa_tree_sum *t);

#endif
