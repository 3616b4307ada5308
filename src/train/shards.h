/* SPDX-License-Identifier: Apache-2.0
 * The optimiser of a run on several ranks. With cluster.shard each rank has the moments of its
 * shards of the flat array only, updates these parameters alone and sends them to the others
 * (ZeRO-1). Rules that look at one number at a time do not see where an array is cut, and the
 * gradient norm is made of the same runs in the same order: no bit differs. Without it, and alone,
 * everything here is whole. */
#ifndef ORTHANT_SHARDS_H
#define ORTHANT_SHARDS_H

#include "cluster/tree_sum.h"
#include "model/model.h"

struct oa_shards {
    struct oa_store *store;
    struct oa_tree_sum *sum;
    double *run;         /* sums of squares of all runs; NULL: whole */
    struct oa_view view; /* of the gradients, which have room for a whole moment between steps */
};

/* A model to be trained on so many ranks. OA_ARGUMENT where its optimiser cannot be sharded. */
enum oa_error oa_shards_model(struct oa_device *d, const struct oa_options *o,
                              const struct oa_model_form *form, long ranks, struct oa_model **out);
/* The sum of its gradients over a step, and room for its moments. `sum` stays, and is closed by the
 * caller. */
enum oa_error oa_shards_open(struct oa_model *m, struct oa_cluster *cluster,
                             struct oa_tree_sum *sum, struct oa_shards *out);
void oa_shards_close(struct oa_shards *k);
/* The square of the gradient norm, on every rank. */
enum oa_error oa_shards_squares(struct oa_shards *k, double *out);
/* An optimiser step (train.h: oa_optimizer_update); afterwards every rank has all values. */
enum oa_error oa_shards_step(struct oa_shards *k, const struct oa_options *o, long step, double lr,
                             double scale);

/* When the first rank saves a checkpoint the others give it their moments. Those of the first have
 * a folder. */
enum oa_error oa_shards_help_saving(struct oa_shards *k);
/* Takes this rank's shards of a whole moment, which is in the memory of the gradients. */
void oa_shards_keep(struct oa_shards *k, int moment);

#endif
